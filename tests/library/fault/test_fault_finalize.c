/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fault loops over a finalization: the Nth allocation fails, alone and with every later one, and less and
 * less memory is allowed. Each time the call says so, gives out nothing, and the same call afterwards gives
 * what it would have given; nothing stays allocated. And each write to the file of the result fails once:
 * then there is no file. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cuvet/cuvet.h>

#include "support/fatbins.h"
#include "support/heap.h"
#include "support/scratch.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    const char *sample;
    uint32_t target;
    cuvet_form form;
    bool check, note, made; /* made: by a code generator */
} SCENARIOS[] = {
    { "plain.sm_100.rdc.cubin", 0, CUVET_FORM_SAME, false, false, false },
    { "plain.sm_100.cubin", 103, CUVET_FORM_SAME, true, false, false },
    { "plain.sm_100.cubin", 103, CUVET_FORM_SAME, false, true, false },
    { "plain.sm_100.g.cubin", 103, CUVET_FORM_SASS, true, true, false },
    { "plain.sm_120.lineinfo.cubin", 0, CUVET_FORM_SASS, false, false, false },
    { "../finalize/lines.sm_100.g.rdc.cubin", 103, CUVET_FORM_SAME, true, true, true },
};

static void drop(cuvet_compile_result *result, void *user)
{
    (void)user;
    free(result->bytes);
    result->bytes = NULL;
}

/* A code generator that changes nothing but the machine. */
static cuvet_status make(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    static char log[] = "made\n";
    uint8_t *bytes = malloc(request->n);

    (void)user;
    if (!bytes)
        return CUVET_E_NOMEM;
    memcpy(bytes, request->bytes, request->n);
    bytes[49] = (uint8_t)request->sm;
    out->end = CUVET_COMPILED;
    out->bytes = bytes;
    out->n = request->n;
    out->log = log;
    out->n_log = sizeof(log) - 1;
    out->release = drop;
    return CUVET_OK;
}

static void hear(void *user, const char *log)
{
    (void)user;
    ck_assert_str_eq(log, "made\n");
}

static uint64_t hash_of(const void *block, size_t size)
{
    uint64_t hash = size;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)block)[i]) * UINT64_C(0x100000001B3);
    return hash;
}

typedef struct fault_finalize_outcome {
    cuvet_status create, run;
    uint64_t hash; /* of the result; 0: none */
    uint32_t code;
} fault_finalize_outcome;

static fault_finalize_outcome once(cuvet_ctx *ctx, int index)
{
    cuvet_finalize_options options = { .size = sizeof(options),
                                       .target = { SCENARIOS[index].target, 0 },
                                       .kind = SCENARIOS[index].form,
                                       .flags = (SCENARIOS[index].check ? CUVET_FINALIZE_SELF_CHECK : 0) |
                                                (SCENARIOS[index].note ? CUVET_FINALIZE_TOOL_NOTE : 0) };
    const cuvet_compiler generator = { sizeof(generator), make, NULL };
    fault_finalize_outcome out = { 0 };
    cuvet_final_result result = { .size = sizeof(result) };
    cuvet_finalizer finalizer;
    size_t count;
    const uint8_t *bytes = sample(SCENARIOS[index].sample, &count, 0);

    if (SCENARIOS[index].made) {
        options.generator = &generator;
        options.generator_log = hear;
        options.backend = "external";
    }
    out.create = cuvet_finalizer_create(ctx, &options, &finalizer);
    if (out.create != CUVET_OK)
        return out;
    out.run = cuvet_finalizer_run(ctx, finalizer, bytes, count, "sample");
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result), CUVET_OK);
    ck_assert_int_eq(out.run == CUVET_OK, result.bytes != NULL);
    out.code = result.code;
    if (result.bytes)
        out.hash = hash_of(result.bytes, result.n);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &finalizer), CUVET_OK);
    return out;
}

static void check_failed(const fault_finalize_outcome *outcome)
{
    cuvet_status status = outcome->create != CUVET_OK ? outcome->create : outcome->run;

    ck_assert(status == CUVET_E_NOMEM || status == CUVET_E_LIMIT);
    if (outcome->create == CUVET_OK)
        ck_assert(outcome->code == 11 || outcome->code == 256);
}

START_TEST(allocations)
{
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &alloc };
    unsigned long count = 1;
    fault_finalize_outcome want;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    want = once(ctx, _i);
    ck_assert_int_eq(want.run, CUVET_OK);
    for (;; count++) {
        unsigned long before = 0;

        for (unsigned all = 0; all < 2; all++) {
            fault_finalize_outcome outcome;

            heap_fail(&heap, count, all != 0);
            outcome = once(ctx, _i);
            heap_mend(&heap);
            before = heap.failed;
            if (heap.failed)
                check_failed(&outcome);
            else
                ck_assert_uint_eq(outcome.hash, want.hash);
            outcome = once(ctx, _i);
            ck_assert_int_eq(outcome.run, CUVET_OK);
            ck_assert_uint_eq(outcome.hash, want.hash);
        }
        if (!before)
            break;
    }
    ck_assert_uint_gt(count, 3);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(heap.live, 0);
}
END_TEST

START_TEST(budgets)
{
    uint64_t want = 0;

    for (unsigned k = 30; k > 8; k--) {
        heap_state heap = { 0 };
        const cuvet_alloc alloc = heap_alloc(&heap);
        cuvet_ctx_options co = { .size = sizeof(co), .alloc = &alloc };
        cuvet_limits lim = { .size = sizeof(lim) };
        fault_finalize_outcome outcome;
        cuvet_ctx *ctx;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = UINT64_C(1) << k;
        co.limits = &lim;
        if (cuvet_ctx_create(&co, &ctx) == CUVET_OK) {
            outcome = once(ctx, _i);
            if (outcome.create == CUVET_OK && outcome.run == CUVET_OK) {
                want = want ? want : outcome.hash;
                ck_assert_uint_eq(outcome.hash, want);
            } else {
                check_failed(&outcome);
            }
            cuvet_ctx_destroy(ctx);
        }
        ck_assert_int_eq(heap.live, 0);
    }
    ck_assert(want != 0);
}
END_TEST

/* A file that may not grow beyond any size below its own. */
START_TEST(writes)
{
    char dir[SCRATCH_MAX];
    cuvet_finalize_options options = { .size = sizeof(options), .kind = CUVET_FORM_SASS };
    struct rlimit old, small;
    cuvet_finalizer finalizer;
    size_t count;
    const uint8_t *bytes = sample("plain.sm_100.cubin", &count, 0);
    cuvet_ctx *ctx;
    int fd;

    scratch_make(dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &options, &finalizer), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, bytes, count, NULL), CUVET_OK);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t size = 0; size < 3000; size += 499) {
        cuvet_status st;
        int gone;

        small = (struct rlimit){ size, old.rlim_max };
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) /* no assertion in between: they write files as well */
            ck_abort();
        st = cuvet_finalizer_save(ctx, finalizer, fd, "out", CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC);
        gone = faccessat(fd, "out", F_OK, 0);
        if (setrlimit(RLIMIT_FSIZE, &old) != 0)
            ck_abort();
        ck_assert_int_eq(st, CUVET_E_IO);
        ck_assert_int_ne(gone, 0);
    }
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, fd, "out", CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC),
                     CUVET_OK);
    ck_assert_int_eq(unlinkat(fd, "out", 0), 0);
    close(fd);
    ck_assert_int_eq(rmdir(dir), 0); /* no temporary was left */
    cuvet_ctx_destroy(ctx);
}
END_TEST

Suite *suite_fault_finalize(void)
{
    Suite *suite = suite_create("fault/finalize");
    TCase *tcase = tcase_create("fault");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, allocations, 0, (int)N(SCENARIOS));
    tcase_add_loop_test(tcase, budgets, 0, (int)N(SCENARIOS));
    tcase_add_test(tcase, writes);
    suite_add_tcase(suite, tcase);
    return suite;
}
