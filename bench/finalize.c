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
#include <time.h>
#include <unistd.h>

#include <cuvet/cuvet.h>

typedef struct object {
    const char *name;
    uint8_t *bytes;
    size_t n;
} object;

static char out_name[4096];

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The file again, into memory that is there. */
static int fetch(const object *p)
{
    int fd = open(p->name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, p->bytes, p->n) : -1;

    if (fd >= 0)
        (void)close(fd);
    return got != (ssize_t)p->n;
}

static int put(const void *bytes, size_t n)
{
    int fd = open(out_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ssize_t put = fd >= 0 ? write(fd, bytes, n) : -1;

    return (fd >= 0 && close(fd) != 0) || put != (ssize_t)n;
}

static int load(const char *name, object *p)
{
    struct stat st;

    p->name = name;
    if (stat(name, &st) != 0 || st.st_size <= 0)
        return 3;
    p->n = (size_t)st.st_size;
    p->bytes = malloc(p->n);
    return !p->bytes || fetch(p) ? 3 : 0;
}

static int finalize(cuvet_ctx *ctx, cuvet_finalizer f, const object *p, cuvet_final_result *r)
{
    if (cuvet_finalizer_run(ctx, f, p->bytes, p->n, NULL) != CUVET_OK ||
        cuvet_finalizer_get_result(ctx, f, r) != CUVET_OK || r->code) {
        fprintf(stderr, "finalize: refused\n");
        return 1;
    }
    return 0;
}

/* All of them once. files: from file to file; f NULL: a plain copy. @return nanoseconds, 0: it failed */
static uint64_t round_of(cuvet_ctx *ctx, const cuvet_finalizer *f, const object *all, int n, bool files)
{
    uint64_t start = cpu_ns();

    for (int i = 0; i < n; i++) {
        cuvet_final_result r = { .size = sizeof(r), .bytes = all[i].bytes, .n = all[i].n };

        if ((files && fetch(&all[i])) || (f && finalize(ctx, *f, &all[i], &r)) ||
            (files && put(r.bytes, r.n)))
            return 0;
    }
    return cpu_ns() - start;
}

int main(int argc, char **argv)
{
    cuvet_finalize_options o = { .size = sizeof(o) };
    uint64_t bytes = 0, times, sum[3] = { 0 };
    cuvet_final_result r = { .size = sizeof(r) };
    cuvet_finalizer f;
    cuvet_ctx *ctx;
    object *all;
    int n = argc - 5;

    if (n < 1)
        return 2;
    o.kind = strcmp(argv[1], "strip") == 0 ? CUVET_FORM_SASS : CUVET_FORM_SAME;
    o.target.sm = (uint32_t)strtoul(argv[2], NULL, 10);
    times = strtoull(argv[3], NULL, 10);
    (void)snprintf(out_name, sizeof(out_name), "%s/out", argv[4]);
    all = calloc((size_t)n, sizeof(*all));
    if (!all || cuvet_ctx_create(NULL, &ctx) != CUVET_OK || cuvet_finalizer_create(ctx, &o, &f) != CUVET_OK)
        return 5;
    for (int i = 0; i < n; i++) {
        if (load(argv[5 + i], &all[i]) != 0 || finalize(ctx, f, &all[i], &r) != 0) {
            fprintf(stderr, "finalize: %s\n", argv[5 + i]);
            return 3;
        }
        bytes += all[i].n;
    }
    for (uint64_t t = 0; t < times; t++) {
        uint64_t took[3] = { round_of(ctx, &f, all, n, true), round_of(ctx, NULL, all, n, true),
                             round_of(ctx, &f, all, n, false) };

        for (int i = 0; i < 3; i++) {
            if (took[i] == 0)
                return 3;
            sum[i] += took[i];
        }
    }
    (void)unlink(out_name);
    printf("objects %d bytes %" PRIu64 " ns %.0f plain %.0f memory %.0f\n", n, bytes,
           (double)sum[0] / (double)times, (double)sum[1] / (double)times, (double)sum[2] / (double)times);
    cuvet_ctx_destroy(ctx);
    return 0;
}
