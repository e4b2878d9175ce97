/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The entry of a payload: what one call costs when the bytes are in memory and warm. usage: bench_input
 * FILE...; one line of words and values per file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuvet/cuvet.h>

#include "timing.h"

#define BATCHES 15u
#define MIN_NS  UINT64_C(20000000)

typedef struct input_payload {
    uint8_t *bytes;
    size_t size;
} input_payload;

static int load(const char *name, input_payload *payload)
{
    FILE *file = fopen(name, "rb");
    long count;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (count = ftell(file)) <= 0 ||
        fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "bench_input: cannot read %s\n", name);
        return 3;
    }
    payload->size = (size_t)count;
    payload->bytes = malloc(payload->size);
    if (!payload->bytes || fread(payload->bytes, 1, payload->size, file) != payload->size)
        return 3;
    fclose(file);
    return 0;
}

/* One call of what is measured; non-zero ends the bench. */
typedef int call(const input_payload *payload);

/* Median over batches of the nanoseconds of one call; a batch is long enough for the clock. */
static int measure(call *fn, const input_payload *payload, double *ns)
{
    double batch[BATCHES];
    uint64_t count = 1, start, took;

    for (;; count *= 2) {
        start = bench_cpu_ns();
        for (uint64_t i = 0; i < count; i++)
            if (fn(payload))
                return 5;
        took = bench_cpu_ns() - start;
        if (took >= MIN_NS)
            break;
    }
    for (unsigned right = 0; right < BATCHES; right++) {
        start = bench_cpu_ns();
        for (uint64_t i = 0; i < count; i++)
            if (fn(payload))
                return 5;
        batch[right] = (double)(bench_cpu_ns() - start) / (double)count;
    }
    *ns = bench_median(batch, BATCHES);
    return 0;
}

static int classify(const input_payload *payload)
{
    cuvet_content_info info = { .size = sizeof(info) };

    return cuvet_classify(payload->bytes, payload->size, NULL, 0, &info, NULL) != CUVET_OK ||
           info.type == CUVET_K_NONE;
}

static cuvet_ctx *ctx;

/* An input from its beginning to its end: bound only, or with its member selected, examined and admitted. */
static int input(const input_payload *payload, bool whole)
{
    const cuvet_select_options cfg = { .size = sizeof(cfg), .target = { 90, 'a' } };
    cuvet_select in;
    int bad = cuvet_select_create(ctx, &cfg, &in) != CUVET_OK;

    if (bad)
        return bad;
    bad = cuvet_select_bind(ctx, in, payload->bytes, payload->size, CUVET_BIND_BORROW, NULL) != CUVET_OK;
    if (!bad && whole)
        bad = cuvet_select_run(ctx, in) != CUVET_OK;
    return cuvet_select_destroy(ctx, &in) != CUVET_OK || bad;
}

static int bind_only(const input_payload *payload)
{
    return input(payload, false);
}

static int bind_and_select(const input_payload *payload)
{
    return input(payload, true);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        cuvet_content_info info = { .size = sizeof(info) };
        double ns = 0, bind_ns = 0, select_ns = 0;
        input_payload payload;
        int rc = load(argv[i], &payload);

        if (rc != 0)
            return rc;
        if (cuvet_classify(payload.bytes, payload.size, NULL, 0, &info, NULL) != CUVET_OK ||
            measure(classify, &payload, &ns) != 0) {
            fprintf(stderr, "bench_input: %s: refused\n", argv[i]);
            return 5;
        }
        if (info.type == CUVET_K_FATBIN &&
            (cuvet_ctx_create(NULL, &ctx) != CUVET_OK || measure(bind_only, &payload, &bind_ns) != 0 ||
             measure(bind_and_select, &payload, &select_ns) != 0)) {
            fprintf(stderr, "bench_input: %s: no member for sm_90a\n", argv[i]);
            return 5;
        }
        cuvet_ctx_destroy(ctx);
        ctx = NULL;
        printf("type %s bytes %zu classify_ns %.1f bind_ns %.1f select_ns %.1f\n", cuvet_kind_name(info.type),
               payload.size, ns, bind_ns, select_ns);
        free(payload.bytes);
    }
    return 0;
}
