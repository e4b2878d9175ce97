/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fault loops over the short way (cuvet/simple.h): the Nth allocation fails, alone and with every later one.
 * Each time the call says so and gives out nothing, the same call afterwards gives what it would have given,
 * and nothing stays allocated. Less and less memory is allowed: then it is a limit. */
#include <check.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static const char BAD[] = "corpus/hostile/CV-FATBIN-014.fatbin",
                  CUBIN[] = "corpus/samples/plain.sm_100.rdc.cubin";
static const char *const TWO[] = { "corpus/samples/host-two_a.o", "corpus/samples/host-two_b.o" };

enum { SCAN_FILE, SCAN_MEMORY, LINK_FILES, SELECT_FILE, FINALIZE_FILE, CALLS };

/* What came of it: findings, or bytes of an image. */
static cuvet_status once(cuvet_ctx *ctx, int call, uint64_t *amount)
{
    cuvet_image_info info = { .size = sizeof(info) };
    cuvet_finding finding = { .size = sizeof(finding) };
    cuvet_findings list = { 0 };
    cuvet_image image = { 0 };
    cuvet_status status;

    *amount = 0;
    switch (call) {
    case SCAN_FILE: status = cuvet_scan_file(ctx, BAD, NULL, &list); break;
    case SCAN_MEMORY: status = cuvet_scan_memory(ctx, BAD, sizeof(BAD), NULL, &list); break;
    case LINK_FILES: status = cuvet_link_files(ctx, NULL, "sm_75", TWO, N(TWO), &image); break;
    case SELECT_FILE: status = cuvet_select_file(ctx, NULL, "sm_75", TWO[0], &image); break;
    default: status = cuvet_finalize_file(ctx, NULL, "sm_103", CUBIN, &image);
    }
    ck_assert_int_eq(status == CUVET_OK, list.bits != 0 || image.bits != 0);
    if (list.bits != 0) {
        while (cuvet_findings_get(ctx, list, *amount, &finding) == CUVET_OK)
            ++*amount;
        ck_assert_int_eq(cuvet_findings_destroy(ctx, &list), CUVET_OK);
    }
    if (image.bits != 0) {
        ck_assert_int_eq(cuvet_image_get_info(ctx, image, &info), CUVET_OK);
        *amount = info.n;
        ck_assert_int_eq(cuvet_image_destroy(ctx, &image), CUVET_OK);
    }
    return status;
}

START_TEST(allocations)
{
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);
    const cuvet_ctx_options co = { .size = sizeof(co), .alloc = &alloc };
    uint64_t want, amount;
    unsigned long count = 0, failed;
    cuvet_status status;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    ck_assert_int_eq(once(ctx, _i, &want), CUVET_OK);
    do {
        count++;
        failed = 0;
        for (unsigned all = 0; all < 2; all++) {
            long live = heap.live;

            heap_fail(&heap, count, all != 0);
            status = once(ctx, _i, &amount);
            if (status == CUVET_OK)
                ck_assert_uint_eq(amount, want); /* it did without */
            else
                ck_assert_msg(status == CUVET_E_NOMEM && heap.failed > 0 && amount == 0, "allocation %lu: %s",
                              count, cuvet_status_name(status));
            failed += heap.failed;
            heap_mend(&heap);
            ck_assert_int_eq(heap.live, live);
        }
    } while (failed != 0);
    ck_assert_uint_gt(count, 4);
    ck_assert_int_eq(once(ctx, _i, &amount), CUVET_OK);
    ck_assert_uint_eq(amount, want);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(heap.live, 0);
}
END_TEST

/* From nothing to enough: a limit, and then the same as ever. */
START_TEST(limits)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    const cuvet_ctx_options co = { .size = sizeof(co), .limits = &lim };
    uint64_t want, amount;
    unsigned refused = 0;
    cuvet_status status;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(once(ctx, _i, &want), CUVET_OK);
    cuvet_ctx_destroy(ctx);
    for (uint64_t live = 64; live <= UINT64_C(64) << 20; live += live / 8 + 1) {
        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = live;
        ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
        status = once(ctx, _i, &amount);
        /* A scan that has no room says so, and goes on to its summary. */
        ck_assert_msg(status == CUVET_E_LIMIT || status == CUVET_OK, "%s with %llu",
                      cuvet_status_name(status), (unsigned long long)live);
        ck_assert_msg(status != CUVET_E_LIMIT || strncmp(cuvet_ctx_last_text(ctx), "CV-LIMIT-", 9) == 0,
                      "nothing is said with %llu", (unsigned long long)live);
        ck_assert(status == CUVET_OK || amount == 0);
        refused += status != CUVET_OK || amount != want;
        cuvet_ctx_destroy(ctx);
    }
    ck_assert_int_eq(status, CUVET_OK);
    ck_assert_uint_eq(amount, want);
    ck_assert_uint_gt(refused, 0);
}
END_TEST

/* A file that is larger than inputs may be is refused by that limit, whoever reads it. */
START_TEST(too_large)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    const cuvet_ctx_options co = { .size = sizeof(co), .limits = &lim };
    uint64_t amount;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.input = 20;
    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
    if (_i == SCAN_FILE || _i == SCAN_MEMORY) /* there it is a finding */
        ck_assert_int_eq(once(ctx, _i, &amount), CUVET_OK);
    else
        ck_assert_int_eq(once(ctx, _i, &amount), CUVET_E_LIMIT);
    ck_assert_msg(strncmp(cuvet_ctx_last_text(ctx), "CV-LIMIT-001 ", 13) == 0, "call %d: %s", _i,
                  cuvet_ctx_last_text(ctx));
    cuvet_ctx_destroy(ctx);
}
END_TEST

Suite *suite_fault_simple(void);
Suite *suite_fault_simple(void)
{
    Suite *suite = suite_create("fault_simple");
    TCase *tcase = tcase_create("simple");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, allocations, 0, CALLS);
    tcase_add_loop_test(tcase, limits, 0, CALLS);
    tcase_add_loop_test(tcase, too_large, 0, CALLS);
    suite_add_tcase(suite, tcase);
    return suite;
}
