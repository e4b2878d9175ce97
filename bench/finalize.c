/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A finalization of each of many objects that are in memory, against a plain copy of the same bytes. usage:
 * finalize copy|strip TARGET TIMES FILE...; TARGET 0: their own. One line: objects, bytes, nanoseconds of
 * both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuvet/cuvet.h>

typedef struct object {
    uint8_t *bytes, *copy;
    size_t n;
} object;

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static int load(const char *name, object *p)
{
    FILE *f = fopen(name, "rb");
    long n;

    if (!f || fseek(f, 0, SEEK_END) != 0 || (n = ftell(f)) <= 0 || fseek(f, 0, SEEK_SET) != 0) {
        fprintf(stderr, "finalize: cannot read %s\n", name);
        return 3;
    }
    p->n = (size_t)n;
    p->bytes = malloc(p->n);
    p->copy = malloc(p->n);
    if (!p->bytes || !p->copy || fread(p->bytes, 1, p->n, f) != p->n)
        return 3;
    fclose(f);
    return 0;
}

static int finalize(cuvet_ctx *ctx, cuvet_finalizer f, const object *p)
{
    cuvet_final_result r;

    if (cuvet_finalize(ctx, f, p->bytes, p->n, NULL) != CUVET_OK ||
        cuvet_finalizer_result(ctx, f, &r) != CUVET_OK || r.code) {
        fprintf(stderr, "finalize: refused\n");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    cuvet_finalize_options o = { .size = sizeof(o) };
    uint64_t bytes = 0, ns = 0, plain = 0, times, sum = 0;
    cuvet_finalizer f;
    cuvet_ctx *ctx;
    object *all;
    int n = argc - 4;

    if (n < 1)
        return 2;
    o.kind = strcmp(argv[1], "strip") == 0 ? CUVET_FORM_SASS : CUVET_FORM_SAME;
    o.target.sm = (uint32_t)strtoul(argv[2], NULL, 10);
    times = strtoull(argv[3], NULL, 10);
    all = calloc((size_t)n, sizeof(*all));
    if (!all || cuvet_ctx_create(NULL, &ctx) != CUVET_OK || cuvet_finalizer_create(ctx, &o, &f) != CUVET_OK)
        return 5;
    for (int i = 0; i < n; i++) {
        if (load(argv[4 + i], &all[i]) != 0 || finalize(ctx, f, &all[i]) != 0)
            return 3;
        bytes += all[i].n;
    }
    for (uint64_t t = 0; t < times; t++) {
        uint64_t start = cpu_ns();

        for (int i = 0; i < n; i++)
            if (finalize(ctx, f, &all[i]) != 0)
                return 1;
        ns += cpu_ns() - start;
        start = cpu_ns();
        for (int i = 0; i < n; i++) {
            memcpy(all[i].copy, all[i].bytes, all[i].n);
            sum += all[i].copy[t % all[i].n]; /* or the copy would not be made */
        }
        plain += cpu_ns() - start;
    }
    printf("objects %d bytes %" PRIu64 " ns %.0f plain %.0f sum %" PRIu64 "\n", n, bytes,
           (double)ns / (double)times, (double)plain / (double)times, sum);
    cuvet_ctx_destroy(ctx);
    return 0;
}
