/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The byte ledger: coverage of a range is proved or the first place without an owner is named, and a
 * ledger that could not store a claim proves nothing. */
#include <check.h>
#include <string.h>

#include "bytes/ledger.h"

static cv_ctx context;
static cv_ledger ledger;

static void setup(void)
{
    cuvet_limits limits = { .size = sizeof(limits) };

    memset(&limits, 0xFF, sizeof(limits)); /* nothing is limited */
    cv_ctx_init(&context, NULL, &limits);
    ledger = (cv_ledger){ 0 };
}

static void teardown(void)
{
    cv_ledger_free(&context, &ledger);
    ck_assert_uint_eq(context.mem.live, 0);
}

static void claim(uint64_t off, uint64_t len, bool shared)
{
    cv_ledger_claim(&context, &ledger, off, len, (cv_claim_kind)0, 0, shared);
}

static void expect(bool complete, uint64_t off, uint64_t len, uint64_t bad)
{
    uint64_t at = 0;

    ck_assert_int_eq(cv_ledger_complete(&context, &ledger, off, len, &at), complete);
    ck_assert_uint_eq(at, bad);
}

START_TEST(covers)
{
    expect(true, 5, 0, 5);
    expect(false, 5, 1, 5);
    claim(32, 8, false);
    claim(16, 16, false);
    claim(20, 0, false); /* nothing is owned, so nothing overlaps */
    expect(true, 16, 24, 40);
    expect(false, 16, 25, 40);
    expect(false, 15, 25, 15);
    claim(0, 16, false);
    claim(40, 8, false);
    expect(true, 16, 24, 40); /* claims before and behind the range are somebody else's */
    expect(true, 0, 48, 48);
}
END_TEST

/* Every byte counts, and so does the owner of one. */
START_TEST(single_bytes)
{
    for (uint64_t i = 0; i < 4; i++)
        claim(7 + i, 1, false);
    expect(true, 7, 4, 11);
    claim(9, 1, false);
    expect(false, 7, 4, 10);
}
END_TEST

START_TEST(shares_only_what_may_be_shared)
{
    claim(0, 16, false);
    claim(4, 8, true);
    expect(true, 0, 16, 16);
    claim(8, 8, false);
    expect(false, 0, 16, 16);
}
END_TEST

/* Found by the model of fuzz/target_ledger.c: such an owner was taken for one of other bytes. */
START_TEST(reaches_in)
{
    claim(4, 4, false);
    expect(false, 6, 2, 6);
    claim(6, 2, false);
    expect(false, 6, 2, 6);
    expect(false, 4, 4, 8);
}
END_TEST

START_TEST(shared_may_reach_in)
{
    claim(4, 4, true);
    claim(6, 2, false);
    expect(true, 6, 2, 8);
}
END_TEST

START_TEST(overlap_is_named)
{
    claim(0, 16, false);
    claim(15, 17, false);
    expect(false, 0, 32, 16);
}
END_TEST

START_TEST(end_of_all_numbers)
{
    claim(UINT64_MAX - 4, 4, false);
    expect(true, UINT64_MAX - 4, UINT64_MAX, UINT64_MAX);
}
END_TEST

START_TEST(sorts)
{
    static const uint64_t OFF[] = { 48, 0, 32, 16 };

    for (unsigned i = 0; i < 4; i++)
        claim(OFF[i], 16, false);
    ck_assert(cv_ledger_sort(&context, &ledger));
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(cv_claims_at(&ledger.claims, i)->off, i * 16);
    expect(true, 0, 64, 64);
}
END_TEST

START_TEST(nobody_listens)
{
    cv_ledger_claim(&context, NULL, 0, 16, (cv_claim_kind)0, 0, false);
    ck_assert_uint_eq(context.mem.live, 0);
}
END_TEST

/* A claim that is lost spoils the proof for good, even when there is memory again. */
START_TEST(no_memory_for_a_claim)
{
    uint64_t limit = context.mem.limit, count;

    claim(0, 16, false);
    context.mem.limit = context.mem.live;
    for (count = 1; !ledger.failed; count++) {
        ck_assert_uint_lt(count, 1000);
        claim(count * 16, 16, false);
    }
    context.mem.limit = limit;
    claim(count * 16, 16, false);
    ck_assert_uint_eq(ledger.claims.count, count - 1);
    expect(false, 0, 16, 0);
}
END_TEST

/* With less and less memory a proof or an order is right or not there; the claims stay. */
START_TEST(no_memory_for_the_proof)
{
    uint64_t refused[2] = { 0 }, done[2] = { 0 };

    for (uint64_t i = 0; i < 64; i++)
        claim((63 - i) * 16, 16, false);
    for (uint64_t room = 0; done[1] == 0; room += 256) {
        uint64_t bad = 0;
        bool ok;

        context.mem.limit = context.mem.live + room;
        ok = cv_ledger_complete(&context, &ledger, 0, 1024, &bad);
        ck_assert_uint_eq(bad, ok ? 1024 : 0);
        (ok ? done : refused)[0]++;
        ok = cv_ledger_sort(&context, &ledger);
        ck_assert_uint_eq(cv_claims_at(&ledger.claims, 0)->off, ok ? 0 : 1008);
        (ok ? done : refused)[1]++;
        ck_assert_uint_eq(ledger.claims.count, 64);
    }
    ck_assert_uint_gt(refused[0], 0);
    ck_assert_uint_gt(refused[1], refused[0]); /* an order needs a second list */
}
END_TEST

Suite *suite_ledger(void);
Suite *suite_ledger(void)
{
    Suite *suite = suite_create("bytes/ledger");
    TCase *tcase = tcase_create("ledger");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, covers);
    tcase_add_test(tcase, single_bytes);
    tcase_add_test(tcase, shares_only_what_may_be_shared);
    tcase_add_test(tcase, reaches_in);
    tcase_add_test(tcase, shared_may_reach_in);
    tcase_add_test(tcase, overlap_is_named);
    tcase_add_test(tcase, end_of_all_numbers);
    tcase_add_test(tcase, sorts);
    tcase_add_test(tcase, nobody_listens);
    tcase_add_test(tcase, no_memory_for_a_claim);
    tcase_add_test(tcase, no_memory_for_the_proof);
    suite_add_tcase(suite, tcase);
    return suite;
}
