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

enum { SAMPLE = 13 };

typedef struct fault_link_outcome {
    cuvet_status status; /* of the first call that failed */
    uint64_t hash;       /* of the result; 0: none */
} fault_link_outcome;

static bool is_full(void)
{
    const char *full = getenv("CV_FULL");

    return full && *full;
}

static uint64_t hash_of(const void *block, size_t size)
{
    uint64_t hash = size;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)block)[i]) * UINT64_C(0x100000001B3);
    return hash;
}

static fault_link_outcome once(cuvet_ctx *ctx, const lc_case *lcase, const char *target)
{
    bool result = strstr(lcase->options, "-r") == lcase->options;
    cuvet_linker_options options = {
        .size = sizeof(options),
        .flags = (result ? CUVET_LINK_RELOCATABLE | CUVET_LINK_EXACT_RELOCATABLE : 0) |
                 (strcmp(lcase->options, "-g") == 0 ? CUVET_LINK_DEBUG : 0) |
                 (strcmp(lcase->options, "--preserve-relocs") == 0 ? CUVET_LINK_PRESERVE_RELOCS : 0)
    };
    cuvet_link_result made = { .size = sizeof(made) };
    fault_link_outcome out = { 0 };
    cuvet_linker linker;

    ck_assert_int_eq(cuvet_target_parse(target, &options.target), CUVET_OK);
    out.status = cuvet_linker_create(ctx, &options, &linker);
    if (out.status != CUVET_OK)
        return out;
    for (unsigned i = 0; i < lcase->count && out.status == CUVET_OK; i++) {
        size_t count;
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        out.status = cuvet_linker_add(ctx, linker, bytes, count, "input");
    }
    if (out.status == CUVET_OK)
        out.status = cuvet_linker_complete(ctx, linker);
    if (out.status == CUVET_OK)
        ck_assert_int_eq(cuvet_linker_get_result(ctx, linker, &made), CUVET_OK);
    if (made.bytes)
        out.hash = hash_of(made.bytes, made.n);
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &linker), CUVET_OK);
    return out;
}

static bool same(const fault_link_outcome *left, const fault_link_outcome *right)
{
    return left->status == right->status && left->hash == right->hash;
}

static void check_failed(const fault_link_outcome *outcome, const fault_link_outcome *want,
                         const lc_case *lcase, unsigned long count)
{
    bool out_of = outcome->status == CUVET_E_NOMEM || outcome->status == CUVET_E_LIMIT;

    ck_assert_msg((out_of && outcome->hash == 0) || same(outcome, want),
                  "%s for %s, allocation %lu: status %d", lcase->name, lcase->target, count,
                  (int)outcome->status);
}

static void fail_each(const lc_case *lcase, const char *target)
{
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &alloc };
    unsigned long count = 1, failures = 0;
    fault_link_outcome want;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    want = once(ctx, lcase, target);
    for (bool more = true; more; count++) {
        for (unsigned all = 0; all < 2; all++) {
            fault_link_outcome outcome;

            heap_fail(&heap, count, all != 0);
            outcome = once(ctx, lcase, target);
            heap_mend(&heap);
            more = heap.failed != 0;
            failures += outcome.status == CUVET_E_NOMEM;
            check_failed(&outcome, &want, lcase, count);
        }
        if (count % 16 == 0 || !more) { /* what failed has left nothing behind */
            fault_link_outcome outcome = once(ctx, lcase, target);

            ck_assert(same(&outcome, &want));
        }
    }
    ck_assert_uint_gt(count, 10);
    ck_assert_uint_gt(failures, 10);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(heap.live, 0);
}

START_TEST(allocations)
{
    const lc_case *lcase = lc_get((unsigned)_i);

    if (_i % SAMPLE == 0 || is_full())
        fail_each(lcase, lcase->target);
}
END_TEST

START_TEST(off_target)
{
    fail_each(lc_find("extern_basic", "sm_100"), "sm_103");
}
END_TEST

START_TEST(budgets)
{
    const lc_case *lcase = lc_find("virtual_calls", "sm_90");
    unsigned good = 0;
    fault_link_outcome want = { 0 };

    for (uint64_t live = UINT64_C(1) << 26; live > 256; live -= live / 4) {
        heap_state heap = { 0 };
        const cuvet_alloc alloc = heap_alloc(&heap);
        cuvet_ctx_options co = { .size = sizeof(co), .alloc = &alloc };
        cuvet_limits lim = { .size = sizeof(lim) };
        cuvet_ctx *ctx;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = live;
        co.limits = &lim;
        if (cuvet_ctx_create(&co, &ctx) == CUVET_OK) {
            fault_link_outcome outcome = once(ctx, lcase, lcase->target);

            if (outcome.status == CUVET_OK) {
                want = good++ == 0 ? outcome : want;
                ck_assert(same(&outcome, &want));
            } else {
                check_failed(&outcome, &want, lcase, 0);
            }
            cuvet_ctx_destroy(ctx);
        }
        ck_assert_int_eq(heap.live, 0);
    }
    ck_assert_uint_gt(good, 3);
}
END_TEST

Suite *suite_fault_link(void);
Suite *suite_fault_link(void)
{
    Suite *suite = suite_create("fault/link");
    TCase *tcase = tcase_create("fault");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, allocations, 0, lc_rows());
    tcase_add_test(tcase, off_target);
    tcase_add_test(tcase, budgets);
    suite_add_tcase(suite, tcase);
    return suite;
}
