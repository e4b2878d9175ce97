/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts the device code in a file and says what cuvet makes of it. Usage: count_members FILE */
#include <cuvet/cuvet.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    cuvet_ctx *ctx = NULL;
    cuvet_source source = { .size = sizeof(source) };
    cuvet_scan scan;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_summary sum = { .size = sizeof(sum), .verdict = CUVET_V_ERROR };
    cuvet_status st = CUVET_E_IO;

    if (fd >= 0 && cuvet_source_fd(fd, &source) == CUVET_OK && cuvet_ctx_create(NULL, &ctx) == CUVET_OK)
        st = cuvet_scan_create(ctx, &source, NULL, &scan);
    if (st == CUVET_OK) {
        while ((st = cuvet_scan_next(ctx, scan, &item)) == CUVET_OK)
            continue;
        if (cuvet_scan_summary(ctx, scan, &sum) != CUVET_OK)
            st = CUVET_E_INTERNAL;
    }
    printf(
        "%s: %" PRIu64 " containers, %" PRIu64 " members, %" PRIu64 " other images, %" PRIu64 " findings\n",
        cuvet_verdict_name(sum.verdict), sum.containers, sum.members, sum.images, sum.warnings + sum.errors);
    cuvet_ctx_destroy(ctx); /* takes the scan with it */
    return st == CUVET_END ? 0 : 1;
}
