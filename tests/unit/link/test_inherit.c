/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table of what kernels inherit: every code has one answer, and values join as their rules say. */
#include <check.h>

#include "format/tlv/attr.h"
#include "link/in/inherit.h"

/* A record of a row, with a value. */
static void take(cv_traits *traits, cv_heir row, uint32_t value)
{
    const cv_heir_row *other_row = cv_heir_get(row);
    uint8_t bytes[8] = { other_row->format, other_row->code, 0, 0, 0, 0, 0, 0 };
    cv_span span = cv_span_of(bytes, other_row->format == CV_TLV_SVAL ? 8 : 4, 0);
    size_t at = other_row->format == CV_TLV_SVAL ? 4 : 2;
    cv_tlv record;

    if (other_row->format == CV_TLV_SVAL)
        bytes[2] = 4;
    for (unsigned i = 0; i < 4 && at + i < span.len; i++)
        bytes[at + i] = (uint8_t)(value >> (8 * i));
    ck_assert_int_eq(cv_tlv_at(span, 0, &record), CV_TLV_OK);
    cv_traits_record(traits, row, span, &record);
}

START_TEST(codes)
{
    unsigned rows = 0, unknown = 0;

    for (unsigned code = 0; code <= UINT8_MAX; code++) {
        cv_heir row = cv_heir_of((uint8_t)code);
        const cv_attr *attr = cv_attr_get(code);

        if (row < CV_N_HEIR) {
            rows++;
            ck_assert_uint_eq(cv_heir_get(row)->code, code);
            ck_assert_uint_eq(cv_heir_get(row)->format, attr->format);
        }
        unknown += row == CV_H_UNKNOWN;
        /* what compilers write into the section of a function is known, and nothing else is */
        ck_assert_msg((row != CV_H_UNKNOWN) == (attr && attr->format && attr->scope & CV_IN_FN), "code %#x",
                      code);
    }
    ck_assert_uint_eq(rows, CV_N_HEIR);
    ck_assert_uint_gt(unknown, 0x90);
}
END_TEST

START_TEST(rules)
{
    uint32_t all = 0;

    for (unsigned rule = CV_RULE_ANY; rule <= CV_RULE_NAMES; rule++) {
        uint32_t bits = cv_heir_bits((cv_heir_rule)rule);

        ck_assert_uint_ne(bits, 0);
        ck_assert_uint_eq(all & bits, 0);
        all |= bits;
    }
    ck_assert_uint_eq(all, CV_H_BIT(CV_N_HEIR) - 1);
    ck_assert(cv_heir_get(CV_H_EXTERNS)->leaves && cv_heir_get(CV_H_AT_ENTRY_FRAGEMENTS)->leaves);
    ck_assert(!cv_heir_get(CV_H_LANGUAGE)->leaves);
}
END_TEST

/* Values of one function's records, of two functions that one kernel reaches, and their sum. */
static const struct {
    cv_heir row;
    uint32_t left, right, merged, added;
} JOINED[] = {
    { CV_H_NUM_BARRIERS, 3, 7, 7, 3 },
    { CV_H_NUM_BARRIERS, 16, 2, 16, 16 },
    { CV_H_VRC_CTA_INIT_COUNT, 0x7F, 0x80, 0x80, 0x7F },
    { CV_H_SPARSE_MMA_MASK, 0x8001, 0x12, 0x8013, 0x8001 },
    { CV_H_CRS_STACK_SIZE, 8, 9, 9, 8 },
    { CV_H_NUM_MBARRIERS, 2, 5, 2, 7 },
    { CV_H_NUM_MBARRIERS, 0, 0, 0, 0 },
    { CV_H_NUM_MBARRIERS, 0xFFFE, 0, 0xFFFE, 0xFFFE },
    { CV_H_NUM_MBARRIERS, 0xFFFE, 1, 0xFFFE, CV_H_SUM_EXCEEDS },
    { CV_H_NUM_MBARRIERS, 0xFFFE, 0xFFFE, 0xFFFE, CV_H_SUM_EXCEEDS },
    { CV_H_NUM_MBARRIERS, 1, CV_SUM_UNKNOWN, 1, CV_SUM_UNKNOWN },
    { CV_H_NUM_MBARRIERS, CV_SUM_UNKNOWN, 0xFFFE, CV_SUM_UNKNOWN, CV_SUM_UNKNOWN },
    { CV_H_CTAIDZ_USED, 0, 0, 0, 0 },
};

START_TEST(join)
{
    cv_traits left = { 0 }, right = { 0 }, sum;

    take(&left, JOINED[_i].row, JOINED[_i].left);
    take(&right, JOINED[_i].row, JOINED[_i].right);
    ck_assert_uint_eq(left.has, CV_H_BIT(JOINED[_i].row));
    sum = left;
    cv_traits_add(&sum, &right);
    ck_assert_uint_eq(cv_trait(&sum, JOINED[_i].row), JOINED[_i].added);
    cv_traits_merge(&left, &right);
    ck_assert_uint_eq(cv_trait(&left, JOINED[_i].row), JOINED[_i].merged);
    ck_assert(cv_traits_cover(&left, &right));
}
END_TEST

/* Two records of one function. */
START_TEST(again)
{
    cv_traits traits = { 0 };

    take(&traits, CV_H_NUM_MBARRIERS, 0xFFF0);
    take(&traits, CV_H_NUM_MBARRIERS, 0x20);
    ck_assert_uint_eq(cv_trait(&traits, CV_H_NUM_MBARRIERS), CV_H_SUM_EXCEEDS);
    take(&traits, CV_H_NUM_MBARRIERS, CV_SUM_UNKNOWN);
    ck_assert_uint_eq(cv_trait(&traits, CV_H_NUM_MBARRIERS), CV_SUM_UNKNOWN);
    take(&traits, CV_H_NUM_BARRIERS, 2);
    take(&traits, CV_H_NUM_BARRIERS, 1);
    ck_assert_uint_eq(cv_trait(&traits, CV_H_NUM_BARRIERS), 2);
}
END_TEST

/* Each fact that is lost is seen. */
START_TEST(cover)
{
    for (unsigned row = 0; row < CV_N_HEIR; row++) {
        unsigned rule = cv_heir_get((cv_heir)row)->rule;
        bool values = rule == CV_RULE_MOST || rule == CV_RULE_BITS || rule == CV_RULE_PATH;
        cv_traits all = { 0 }, part = { 0 };

        take(&part, (cv_heir)row, 4);
        ck_assert(!cv_traits_cover(&all, &part));
        take(&all, (cv_heir)row, 3);
        ck_assert_msg(cv_traits_cover(&all, &part) == !values, "row %u", row);
        cv_traits_merge(&all, &part);
        ck_assert(cv_traits_cover(&all, &part));
    }
}
END_TEST

/* A record in another format than its row's says nothing, and no row holds nothing. */
START_TEST(others)
{
    const uint8_t bytes[] = { 3, CV_ATTR_NUM_BARRIERS, 9, 0, 4, CV_ATTR_CRS_STACK_SIZE, 0, 0 };
    cv_span span = cv_span_of(bytes, sizeof bytes, 0);
    cv_traits traits = { 0 };
    cv_tlv tlv;

    ck_assert_int_eq(cv_tlv_at(span, 0, &tlv), CV_TLV_OK);
    cv_traits_record(&traits, CV_H_NUM_BARRIERS, span, &tlv);
    cv_traits_record(&traits, CV_H_STAYS, span, &tlv);
    cv_traits_record(&traits, CV_H_UNKNOWN, span, &tlv);
    ck_assert_uint_eq(traits.has, 0);
    ck_assert_int_eq(cv_tlv_at(span, 4, &tlv), CV_TLV_OK); /* without a payload */
    cv_traits_record(&traits, CV_H_CRS_STACK_SIZE, span, &tlv);
    ck_assert_uint_eq(cv_trait(&traits, CV_H_CRS_STACK_SIZE), 0);
    cv_trait_set(&traits, CV_N_HEIR, 5);
    ck_assert_uint_eq(cv_trait(&traits, CV_N_HEIR), 0);
}
END_TEST

Suite *suite_link_inherit(void)
{
    Suite *suite = suite_create("link inherit");
    TCase *tcase = tcase_create("table");

    tcase_add_test(tcase, codes);
    tcase_add_test(tcase, rules);
    tcase_add_loop_test(tcase, join, 0, (int)(sizeof JOINED / sizeof JOINED[0]));
    tcase_add_test(tcase, again);
    tcase_add_test(tcase, cover);
    tcase_add_test(tcase, others);
    suite_add_tcase(suite, tcase);
    return suite;
}
