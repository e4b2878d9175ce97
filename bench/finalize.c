/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A finalization of each of many objects, from file to file, against a plain copy of the same files; and of
 * the same objects in memory. usage: finalize copy|strip TARGET TIMES DIR FILE...; TARGET 0: their own; DIR:
 * where the outputs go. One line: objects, bytes, nanoseconds of the three. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cuvet/cuvet.h>

#include "timing.h"

typedef struct finalize_object {
    const char *name;
    uint8_t *bytes;
    size_t size;
} finalize_object;

static char out_name[4096];

/* The file again, into memory that is there. */
static int fetch(const finalize_object *object)
{
    int fd = open(object->name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, object->bytes, object->size) : -1;

    if (fd >= 0)
        (void)close(fd);
    return got != (ssize_t)object->size;
}

static int put(const void *bytes, size_t size)
{
    int fd = open(out_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t put = fd >= 0 ? write(fd, bytes, size) : -1;

    return (fd >= 0 && close(fd) != 0) || put != (ssize_t)size;
}

static int load(const char *name, finalize_object *object)
{
    struct stat st;

    object->name = name;
    if (stat(name, &st) != 0 || st.st_size <= 0)
        return 3;
    object->size = (size_t)st.st_size;
    object->bytes = malloc(object->size);
    return !object->bytes || fetch(object) ? 3 : 0;
}

static int finalize(cuvet_ctx *ctx, cuvet_finalizer finalizer, const finalize_object *object,
                    cuvet_final_result *result)
{
    if (cuvet_finalizer_run(ctx, finalizer, object->bytes, object->size, NULL) != CUVET_OK ||
        cuvet_finalizer_get_result(ctx, finalizer, result) != CUVET_OK || result->code) {
        fprintf(stderr, "finalize: refused\n");
        return 1;
    }
    return 0;
}

/* All of them once. files: from file to file; 'finalizer' NULL: a plain copy. @return nanoseconds, 0: it
 * failed */
static uint64_t round_of(cuvet_ctx *ctx, const cuvet_finalizer *finalizer, const finalize_object *all,
                         int count, bool files)
{
    uint64_t start = bench_cpu_ns();

    for (int i = 0; i < count; i++) {
        cuvet_final_result result = { .size = sizeof(result), .bytes = all[i].bytes, .n = all[i].size };

        if ((files && fetch(&all[i])) || (finalizer && finalize(ctx, *finalizer, &all[i], &result)) ||
            (files && put(result.bytes, result.n)))
            return 0;
    }
    return bench_cpu_ns() - start;
}

int main(int argc, char **argv)
{
    cuvet_finalize_options options = { .size = sizeof(options) };
    uint64_t bytes = 0, times, sum[3] = { 0 };
    cuvet_final_result result = { .size = sizeof(result) };
    cuvet_finalizer finalizer;
    cuvet_ctx *ctx;
    finalize_object *all;
    int count = argc - 5;

    if (count < 1)
        return 2;
    options.kind = strcmp(argv[1], "strip") == 0 ? CUVET_FORM_SASS : CUVET_FORM_SAME;
    options.target.sm = (uint32_t)strtoul(argv[2], NULL, 10);
    times = strtoull(argv[3], NULL, 10);
    (void)snprintf(out_name, sizeof(out_name), "%s/out", argv[4]);
    all = calloc((size_t)count, sizeof(*all));
    if (!all || cuvet_ctx_create(NULL, &ctx) != CUVET_OK ||
        cuvet_finalizer_create(ctx, &options, &finalizer) != CUVET_OK)
        return 5;
    for (int i = 0; i < count; i++) {
        if (load(argv[5 + i], &all[i]) != 0 || finalize(ctx, finalizer, &all[i], &result) != 0) {
            fprintf(stderr, "finalize: %s\n", argv[5 + i]);
            return 3;
        }
        bytes += all[i].size;
    }
    for (uint64_t table = 0; table < times; table++) {
        uint64_t took[3] = { round_of(ctx, &finalizer, all, count, true),
                             round_of(ctx, NULL, all, count, true),
                             round_of(ctx, &finalizer, all, count, false) };

        for (int i = 0; i < 3; i++) {
            if (took[i] == 0)
                return 3;
            sum[i] += took[i];
        }
    }
    (void)unlink(out_name);
    printf("objects %d bytes %" PRIu64 " ns %.0f plain %.0f memory %.0f\n", count, bytes,
           (double)sum[0] / (double)times, (double)sum[1] / (double)times, (double)sum[2] / (double)times);
    cuvet_ctx_destroy(ctx);
    return 0;
}
