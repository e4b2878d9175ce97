/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fault loops over links: the Nth allocation fails, alone and with every later one, and less and less memory
 * is allowed. Each time the link says so or does what it would have done, gives out nothing else, and the
 * same link afterwards is what it was; nothing stays allocated. The links are the golden cases: one in six,
 * all with CV_FULL; and one whose inputs are for another machine. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "support/heap.h"
#include "support/link_cases.h"

enum { SAMPLE = 6 };

typedef struct outcome {
    cuvet_status status; /* of the first call that failed */
    uint64_t hash;       /* of the result; 0: none */
} outcome;

static bool is_full(void)
{
    const char *full = getenv("CV_FULL");

    return full && *full;
}

static uint64_t hash_of(const void *p, size_t n)
{
    uint64_t h = n;

    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)p)[i]) * UINT64_C(0x100000001B3);
    return h;
}

static outcome once(cuvet_ctx *ctx, const lc_case *c, const char *target)
{
    bool r = strstr(c->options, "-r") == c->options;
    cuvet_linker_options o = {
        .size = sizeof(o),
        .flags = (r ? CUVET_LINK_RELOCATABLE | CUVET_LINK_EXACT_RELOCATABLE : 0) |
                 (strcmp(c->options, "-g") == 0 ? CUVET_LINK_DEBUG : 0) |
                 (strcmp(c->options, "--preserve-relocs") == 0 ? CUVET_LINK_PRESERVE_RELOCS : 0)
    };
    cuvet_link_result made = { .size = sizeof(made) };
    outcome out = { 0 };
    cuvet_linker l;

    ck_assert_int_eq(cuvet_target_parse(target, &o.target), CUVET_OK);
    out.status = cuvet_linker_create(ctx, &o, &l);
    if (out.status != CUVET_OK)
        return out;
    for (unsigned i = 0; i < c->n && out.status == CUVET_OK; i++) {
        size_t n;
        const uint8_t *p = lc_file(c->input[i], &n);

        out.status = cuvet_linker_add(ctx, l, p, n, "input");
    }
    if (out.status == CUVET_OK)
        out.status = cuvet_linker_complete(ctx, l);
    if (out.status == CUVET_OK)
        ck_assert_int_eq(cuvet_linker_result(ctx, l, &made), CUVET_OK);
    if (made.bytes)
        out.hash = hash_of(made.bytes, made.n);
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &l), CUVET_OK);
    return out;
}

static bool same(const outcome *a, const outcome *b)
{
    return a->status == b->status && a->hash == b->hash;
}

static void check_failed(const outcome *o, const outcome *want, const lc_case *c, unsigned long n)
{
    bool out_of = o->status == CUVET_E_NOMEM || o->status == CUVET_E_LIMIT;

    ck_assert_msg((out_of && o->hash == 0) || same(o, want), "%s for %s, allocation %lu: status %d", c->name,
                  c->target, n, (int)o->status);
}

static void fail_each(const lc_case *c, const char *target)
{
    heap h = { 0 };
    const cuvet_alloc a = heap_alloc(&h);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &a };
    unsigned long n = 1, failures = 0;
    outcome want;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    want = once(ctx, c, target);
    for (bool more = true; more; n++) {
        for (unsigned all = 0; all < 2; all++) {
            outcome o;

            heap_fail(&h, n, all != 0);
            o = once(ctx, c, target);
            heap_mend(&h);
            more = h.failed != 0;
            failures += o.status == CUVET_E_NOMEM;
            check_failed(&o, &want, c, n);
        }
        if (n % 16 == 0 || !more) { /* what failed has left nothing behind */
            outcome o = once(ctx, c, target);

            ck_assert(same(&o, &want));
        }
    }
    ck_assert_uint_gt(n, 10);
    ck_assert_uint_gt(failures, 10);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(h.live, 0);
}

START_TEST(allocations)
{
    const lc_case *c = lc_get((unsigned)_i);

    if (_i % SAMPLE == 0 || is_full())
        fail_each(c, c->target);
}
END_TEST

START_TEST(off_target)
{
    fail_each(lc_find("extern_basic", "sm_100"), "sm_103");
}
END_TEST

START_TEST(budgets)
{
    const lc_case *c = lc_find("virtual_calls", "sm_90");
    unsigned good = 0;
    outcome want = { 0 };

    for (uint64_t live = UINT64_C(1) << 26; live > 256; live -= live / 4) {
        heap h = { 0 };
        const cuvet_alloc a = heap_alloc(&h);
        cuvet_ctx_options co = { .size = sizeof(co), .alloc = &a };
        cuvet_limits lim = { .size = sizeof(lim) };
        cuvet_ctx *ctx;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = live;
        co.limits = &lim;
        if (cuvet_ctx_create(&co, &ctx) == CUVET_OK) {
            outcome o = once(ctx, c, c->target);

            if (o.status == CUVET_OK) {
                want = good++ == 0 ? o : want;
                ck_assert(same(&o, &want));
            } else {
                check_failed(&o, &want, c, 0);
            }
            cuvet_ctx_destroy(ctx);
        }
        ck_assert_int_eq(h.live, 0);
    }
    ck_assert_uint_gt(good, 3);
}
END_TEST

Suite *suite_fault_link(void);
Suite *suite_fault_link(void)
{
    Suite *s = suite_create("fault/link");
    TCase *c = tcase_create("fault");

    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, allocations, 0, lc_rows());
    tcase_add_test(c, off_target);
    tcase_add_test(c, budgets);
    suite_add_tcase(s, c);
    return s;
}
