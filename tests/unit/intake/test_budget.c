/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a member is charged for before anybody has unpacked it: what its header claims, if it can be true. */
#include <check.h>

#include "format/fatbin/read.h"
#include "intake/budget.h"

enum { STORED = 1000, RATIO = 1000, LZ4_RATIO = 255, MOST = 2000000 };

/* A claim that no decoder follows costs nothing: else a lie would use up the budget of those that are true.
 * A zstd member may be much smaller than an LZ4 one, and is charged all the same. */
static const struct {
    uint64_t flags, unpacked, want;
} CLAIMS[] = {
    { CV_FB_64BIT, STORED, 0 }, /* stored as it is */
    { CV_FB_64BIT | CV_FB_LZ4, STORED, STORED },
    { CV_FB_64BIT | CV_FB_LZ4, STORED *LZ4_RATIO, STORED *LZ4_RATIO },
    { CV_FB_64BIT | CV_FB_LZ4, STORED *LZ4_RATIO + 1, 0 },
    { CV_FB_64BIT | CV_FB_ZSTD, STORED *LZ4_RATIO + 1, STORED *LZ4_RATIO + 1 },
    { CV_FB_64BIT | CV_FB_ZSTD, STORED *RATIO, STORED *RATIO },
    { CV_FB_64BIT | CV_FB_ZSTD, STORED *RATIO + 1, 0 },
    { CV_FB_64BIT | CV_FB_ZSTD | CV_FB_SCRAMBLED, STORED, 0 },
    { CV_FB_64BIT | CV_FB_ZSTD, UINT64_MAX, 0 },
};

START_TEST(claims)
{
    const cuvet_limits lim = { .size = sizeof(lim), .ratio = RATIO, .lz4_ratio = LZ4_RATIO, .member = MOST };
    uint8_t head[CV_FATBIN_MEMBER] = { 0 };
    const struct {
        unsigned at, width;
        uint64_t value;
    } fields[] = { { CV_FB_AT_MEMBER_PAYLOAD_SIZE, 8, STORED },
                   { CV_FB_AT_MEMBER_COMPRESSED_SIZE, 4, STORED },
                   { CV_FB_AT_MEMBER_FLAGS, 8, CLAIMS[_i].flags },
                   { CV_FB_AT_MEMBER_UNPACKED_SIZE, 8, CLAIMS[_i].unpacked } };

    for (size_t i = 0; i < CV_COUNT(fields); i++)
        for (unsigned k = 0; k < fields[i].width; k++)
            head[fields[i].at + k] = (uint8_t)(fields[i].value >> 8 * k);
    ck_assert_uint_eq(cv_budget_cost(&lim, cv_span_of(head, sizeof(head), 0)), CLAIMS[_i].want);
}
END_TEST

/* What is larger than a member may be is refused, whatever it is made of. */
START_TEST(claim_above_the_limit)
{
    cuvet_limits lim = { .size = sizeof(lim), .ratio = RATIO, .lz4_ratio = LZ4_RATIO, .member = STORED };
    uint8_t head[CV_FATBIN_MEMBER] = { 0 };

    head[CV_FB_AT_MEMBER_COMPRESSED_SIZE + 1] = head[CV_FB_AT_MEMBER_PAYLOAD_SIZE + 1] = STORED >> 8;
    head[CV_FB_AT_MEMBER_FLAGS + 1] = CV_FB_ZSTD >> 8;
    head[CV_FB_AT_MEMBER_UNPACKED_SIZE + 1] = (STORED >> 8) + 1;
    ck_assert_uint_eq(cv_budget_cost(&lim, cv_span_of(head, sizeof(head), 0)), 0);
    lim.member = ((STORED >> 8) + 1) << 8;
    ck_assert_uint_eq(cv_budget_cost(&lim, cv_span_of(head, sizeof(head), 0)), lim.member);
}
END_TEST

Suite *suite_budget(void)
{
    Suite *suite = suite_create("budget");
    TCase *tcase = tcase_create("budget");

    tcase_add_loop_test(tcase, claims, 0, (int)CV_COUNT(CLAIMS));
    tcase_add_test(tcase, claim_above_the_limit);
    suite_add_tcase(suite, tcase);
    return suite;
}
