/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The entry of a payload: what one call costs when the bytes are in memory and warm. usage: bench_input
 * FILE...; one line of words and values per file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cuvet/cuvet.h>

#define BATCHES 15u
#define MIN_NS  UINT64_C(20000000)

typedef struct payload {
    uint8_t *bytes;
    size_t n;
} payload;

static int load(const char *name, payload *p)
{
    FILE *f = fopen(name, "rb");
    long n;

    if (!f || fseek(f, 0, SEEK_END) != 0 || (n = ftell(f)) <= 0 || fseek(f, 0, SEEK_SET) != 0) {
        fprintf(stderr, "bench_input: cannot read %s\n", name);
        return 3;
    }
    p->n = (size_t)n;
    p->bytes = malloc(p->n);
    if (!p->bytes || fread(p->bytes, 1, p->n, f) != p->n)
        return 3;
    fclose(f);
    return 0;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One call of what is measured; non-zero ends the bench. */
typedef int call(const payload *p);

/* Median over batches of the nanoseconds of one call; a batch is long enough for the clock. */
static int measure(call *fn, const payload *p, double *ns)
{
    double batch[BATCHES];
    uint64_t n = 1, start, took;

    for (;; n *= 2) {
        start = cpu_ns();
        for (uint64_t i = 0; i < n; i++)
            if (fn(p))
                return 5;
        took = cpu_ns() - start;
        if (took >= MIN_NS)
            break;
    }
    for (unsigned b = 0; b < BATCHES; b++) {
        start = cpu_ns();
        for (uint64_t i = 0; i < n; i++)
            if (fn(p))
                return 5;
        batch[b] = (double)(cpu_ns() - start) / (double)n;
    }
    qsort(batch, BATCHES, sizeof(batch[0]), by_value);
    *ns = batch[BATCHES / 2];
    return 0;
}

static int classify(const payload *p)
{
    cuvet_content_info i = { .size = sizeof(i) };

    return cuvet_classify(p->bytes, p->n, NULL, 0, &i, NULL) != CUVET_OK || i.type == CUVET_K_NONE;
}

static cuvet_ctx *ctx;

/* An input from its beginning to its end: bound only, or with its member selected, examined and admitted. */
static int input(const payload *p, bool whole)
{
    const cuvet_input_config cfg = { .size = sizeof(cfg), .target = { 90, 'a' } };
    cuvet_input in;
    int bad = cuvet_input_create(ctx, &cfg, &in) != CUVET_OK;

    if (bad)
        return bad;
    bad = cuvet_input_bind(ctx, in, p->bytes, p->n, CUVET_BIND_BORROW, NULL) != CUVET_OK;
    if (!bad && whole)
        bad = cuvet_input_select(ctx, in) != CUVET_OK;
    return cuvet_input_destroy(ctx, &in) != CUVET_OK || bad;
}

static int bind_only(const payload *p)
{
    return input(p, false);
}

static int bind_and_select(const payload *p)
{
    return input(p, true);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        cuvet_content_info info = { .size = sizeof(info) };
        double ns = 0, bind_ns = 0, select_ns = 0;
        payload p;
        int rc = load(argv[i], &p);

        if (rc != 0)
            return rc;
        if (cuvet_classify(p.bytes, p.n, NULL, 0, &info, NULL) != CUVET_OK ||
            measure(classify, &p, &ns) != 0) {
            fprintf(stderr, "bench_input: %s: refused\n", argv[i]);
            return 5;
        }
        if (info.type == CUVET_K_FATBIN &&
            (cuvet_ctx_create(NULL, &ctx) != CUVET_OK || measure(bind_only, &p, &bind_ns) != 0 ||
             measure(bind_and_select, &p, &select_ns) != 0)) {
            fprintf(stderr, "bench_input: %s: no member for sm_90a\n", argv[i]);
            return 5;
        }
        cuvet_ctx_destroy(ctx);
        ctx = NULL;
        printf("type %s bytes %zu classify_ns %.1f bind_ns %.1f select_ns %.1f\n", cuvet_kind_name(info.type),
               p.n, ns, bind_ns, select_ns);
        free(p.bytes);
    }
    return 0;
}
