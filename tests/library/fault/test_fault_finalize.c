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

#define N(a) (sizeof(a) / sizeof((a)[0]))

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

static void drop(cuvet_compile_result *r, void *user)
{
    (void)user;
    free(r->bytes);
    r->bytes = NULL;
}

/* A code generator that changes nothing but the machine. */
static cuvet_status make(void *user, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    static char log[] = "made\n";
    uint8_t *p = malloc(q->n);

    (void)user;
    if (!p)
        return CUVET_E_NOMEM;
    memcpy(p, q->bytes, q->n);
    p[49] = (uint8_t)q->sm;
    out->end = CUVET_COMPILED;
    out->bytes = p;
    out->n = q->n;
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

static uint64_t hash_of(const void *p, size_t n)
{
    uint64_t h = n;

    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)p)[i]) * UINT64_C(0x100000001B3);
    return h;
}

typedef struct outcome {
    cuvet_status create, run;
    uint64_t hash; /* of the result; 0: none */
    uint32_t code;
} outcome;

static outcome once(cuvet_ctx *ctx, int i)
{
    cuvet_finalize_options o = { .size = sizeof(o),
                                 .target = { SCENARIOS[i].target, 0 },
                                 .kind = SCENARIOS[i].form,
                                 .flags = (SCENARIOS[i].check ? CUVET_FINALIZE_SELF_CHECK : 0) |
                                          (SCENARIOS[i].note ? CUVET_FINALIZE_TOOL_NOTE : 0) };
    const cuvet_compiler generator = { sizeof(generator), make, NULL };
    outcome out = { 0 };
    cuvet_final_result r = { .size = sizeof(r) };
    cuvet_finalizer f;
    size_t n;
    const uint8_t *p = sample(SCENARIOS[i].sample, &n, 0);

    if (SCENARIOS[i].made) {
        o.generator = &generator;
        o.generator_log = hear;
        o.backend = "external";
    }
    out.create = cuvet_finalizer_create(ctx, &o, &f);
    if (out.create != CUVET_OK)
        return out;
    out.run = cuvet_finalizer_run(ctx, f, p, n, "sample");
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_OK);
    ck_assert_int_eq(out.run == CUVET_OK, r.bytes != NULL);
    out.code = r.code;
    if (r.bytes)
        out.hash = hash_of(r.bytes, r.n);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &f), CUVET_OK);
    return out;
}

static void check_failed(const outcome *o)
{
    cuvet_status s = o->create != CUVET_OK ? o->create : o->run;

    ck_assert(s == CUVET_E_NOMEM || s == CUVET_E_LIMIT);
    if (o->create == CUVET_OK)
        ck_assert(o->code == 11 || o->code == 256);
}

START_TEST(allocations)
{
    heap h = { 0 };
    const cuvet_alloc a = heap_alloc(&h);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &a };
    unsigned long n = 1;
    outcome want;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    want = once(ctx, _i);
    ck_assert_int_eq(want.run, CUVET_OK);
    for (;; n++) {
        unsigned long before = 0;

        for (unsigned all = 0; all < 2; all++) {
            outcome o;

            heap_fail(&h, n, all != 0);
            o = once(ctx, _i);
            heap_mend(&h);
            before = h.failed;
            if (h.failed)
                check_failed(&o);
            else
                ck_assert_uint_eq(o.hash, want.hash);
            o = once(ctx, _i);
            ck_assert_int_eq(o.run, CUVET_OK);
            ck_assert_uint_eq(o.hash, want.hash);
        }
        if (!before)
            break;
    }
    ck_assert_uint_gt(n, 3);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(h.live, 0);
}
END_TEST

START_TEST(budgets)
{
    uint64_t want = 0;

    for (unsigned k = 30; k > 8; k--) {
        heap h = { 0 };
        const cuvet_alloc a = heap_alloc(&h);
        cuvet_ctx_options co = { .size = sizeof(co), .alloc = &a };
        cuvet_limits lim = { .size = sizeof(lim) };
        outcome o;
        cuvet_ctx *ctx;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = UINT64_C(1) << k;
        co.limits = &lim;
        if (cuvet_ctx_create(&co, &ctx) == CUVET_OK) {
            o = once(ctx, _i);
            if (o.create == CUVET_OK && o.run == CUVET_OK) {
                want = want ? want : o.hash;
                ck_assert_uint_eq(o.hash, want);
            } else {
                check_failed(&o);
            }
            cuvet_ctx_destroy(ctx);
        }
        ck_assert_int_eq(h.live, 0);
    }
    ck_assert(want != 0);
}
END_TEST

/* A file that may not grow beyond any size below its own. */
START_TEST(writes)
{
    char dir[SCRATCH_MAX];
    cuvet_finalize_options o = { .size = sizeof(o), .kind = CUVET_FORM_SASS };
    struct rlimit old, small;
    cuvet_finalizer f;
    size_t n;
    const uint8_t *p = sample("plain.sm_100.cubin", &n, 0);
    cuvet_ctx *ctx;
    int fd;

    scratch_make(dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, p, n, NULL), CUVET_OK);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t size = 0; size < 3000; size += 499) {
        cuvet_status st;
        int gone;

        small = (struct rlimit){ size, old.rlim_max };
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) /* no assertion in between: they write files as well */
            ck_abort();
        st = cuvet_finalizer_save(ctx, f, fd, "out", CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC);
        gone = faccessat(fd, "out", F_OK, 0);
        if (setrlimit(RLIMIT_FSIZE, &old) != 0)
            ck_abort();
        ck_assert_int_eq(st, CUVET_E_IO);
        ck_assert_int_ne(gone, 0);
    }
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, fd, "out", CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC), CUVET_OK);
    ck_assert_int_eq(unlinkat(fd, "out", 0), 0);
    close(fd);
    ck_assert_int_eq(rmdir(dir), 0); /* no temporary was left */
    cuvet_ctx_destroy(ctx);
}
END_TEST

Suite *suite_fault_finalize(void)
{
    Suite *s = suite_create("fault/finalize");
    TCase *c = tcase_create("fault");

    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, allocations, 0, (int)N(SCENARIOS));
    tcase_add_loop_test(c, budgets, 0, (int)N(SCENARIOS));
    tcase_add_test(c, writes);
    suite_add_tcase(s, c);
    return s;
}
