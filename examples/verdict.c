/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/cuvet.h>

#include <fcntl.h>
#include <stdio.h>

int main(int argc, char **argv) /* verdict FILE: clean, unsupported, suspicious, malformed, limit or error */
{
    cuvet_ctx *ctx = NULL;
    cuvet_source source = { .size = sizeof(source) };
    cuvet_scan scan;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_summary sum = { .size = sizeof(sum), .verdict = CUVET_V_ERROR };

    if (argc == 2 && cuvet_source_fd(open(argv[1], O_RDONLY), &source) == CUVET_OK &&
        cuvet_ctx_create(NULL, &ctx) == CUVET_OK &&
        cuvet_scan_create(ctx, &source, NULL, &scan) == CUVET_OK) {
        while (cuvet_scan_next(ctx, scan, &item) == CUVET_OK)
            continue; /* one piece of device code: kind, architecture, sizes, verdict */
        if (cuvet_scan_summary(ctx, scan, &sum) != CUVET_OK)
            sum.verdict = CUVET_V_ERROR;
    }
    printf("%s\n", cuvet_verdict_name(sum.verdict));
    cuvet_ctx_destroy(ctx); /* the scan goes with it */
    return sum.verdict == CUVET_V_ERROR;
}
