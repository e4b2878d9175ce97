/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The search for device code alone, through the source's window, over every byte of the file: it does not
 * skip what it finds, so the figure is the worst case of what a scan pays. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "intake/search.h"

static int search_file(cv_ctx *ctx, const char *name, uint64_t *bytes, uint64_t *hits)
{
    cuvet_source src = { .size = sizeof(src) };
    cv_window window = { 0 };
    int fd = open(name, O_RDONLY);
    uint64_t at = 0;
    bool found = true;

    if (fd < 0 || cuvet_source_fd(fd, &src) != CUVET_OK) {
        fprintf(stderr, "search: cannot open %s\n", name);
        return 3;
    }
    cv_ctx_unit(ctx, src.length);
    while (found) {
        cv_span head;

        if (cv_search(ctx, &window, &src, at, src.length, &found, &at, &head) != CUVET_OK) {
            fprintf(stderr, "search: %s: the search failed at %" PRIu64 "\n", name, at);
            return 5;
        }
        *hits += found;
        at += 4;
    }
    *bytes += src.length;
    cv_window_free(ctx, &window);
    cuvet_source_destroy(&src);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };
    uint64_t bytes = 0, hits = 0;

    if (cuvet_limits_preset("roomy", &lim) != CUVET_OK)
        return 5;
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    for (int i = 1; i < argc; i++) {
        int rc = search_file(&ctx, argv[i], &bytes, &hits);

        if (rc != 0)
            return rc;
    }
    printf("bytes %" PRIu64 " hits %" PRIu64 "\n", bytes, hits);
    return 0;
}
