/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Questions about places of an output that is put together of slices, against the same bytes in one piece:
 * every offset, every length, slices shorter and longer than what is asked for. */
#include <check.h>
#include <string.h>

#include "bytes/slices.h"

enum { MOST = 256, PAIR = 16 };

static cv_mem mem;
static cv_slices slices;
static cv_slices_index places;
static uint8_t flat[MOST];
static uint64_t length;

static void setup(void)
{
    static const uint8_t LETTERS[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-+0123456789abc";
    static const struct {
        uint64_t zeros, len;
    } PARTS[] = { { 0, 3 }, { 5, 1 }, { 40, 0 }, { 0, 77 }, { 1, 20 } };

    cv_mem_init(&mem, NULL, CV_MIB);
    length = 0;
    for (unsigned i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (PARTS[i].zeros)
            cv_slices_zero(&mem, &slices, PARTS[i].zeros);
        memset(flat + length, 0, (size_t)PARTS[i].zeros);
        length += PARTS[i].zeros;
        if (PARTS[i].len)
            cv_slices_borrow(&mem, &slices, cv_span_of(LETTERS, PARTS[i].len, 0));
        memcpy(flat + length, LETTERS, (size_t)PARTS[i].len);
        length += PARTS[i].len;
    }
    ck_assert(!slices.failed && slices.len == length);
    ck_assert(cv_slices_index_of(&mem, &slices, &places));
}

static void teardown(void)
{
    cv_u64s_free(&mem, &places.starts);
    cv_slices_free(&mem, &slices);
    places = (cv_slices_index){ 0 };
    ck_assert_uint_eq(mem.live, 0);
}

START_TEST(pairs)
{
    for (uint64_t off = 0; off < length + 4; off++)
        for (uint64_t len = 0; len <= PAIR + 1; len++) {
            uint8_t want[PAIR] = { 0 };
            cv_pair pair = cv_slices_pair(&places, off, len);

            for (uint64_t i = 0; i < len && i < PAIR && off + i < length; i++)
                want[i] = flat[off + i];
            for (unsigned i = 0; i < PAIR; i++)
                ck_assert_uint_eq((i < 8 ? pair.low >> 8 * i : pair.high >> 8 * (i - 8)) & 0xFF, want[i]);
        }
}
END_TEST

START_TEST(agreement)
{
    uint8_t other[MOST];

    for (uint64_t off = 0; off <= length; off++)
        for (uint64_t wrong = off; wrong <= length; wrong += 7) {
            memcpy(other, flat, sizeof(other));
            other[wrong] ^= 1;
            ck_assert_uint_eq(cv_slices_agree(&places, off, cv_span_of(other + off, length - off, 0)),
                              wrong - off);
        }
    ck_assert_uint_eq(cv_slices_agree(&places, length - 2, cv_span_of(flat + length - 2, 9, 0)), 2);
    ck_assert_uint_eq(cv_slices_agree(&places, UINT64_MAX, cv_span_of(flat, 1, 0)), 0);
}
END_TEST

/* Within a slice and across several: the same bytes, the same but for the last one, and more than there
 * are. */
START_TEST(sameness)
{
    uint8_t other[MOST];

    memcpy(other, flat, sizeof(other));
    for (uint64_t off = 0; off <= length; off++)
        for (uint64_t len = 0; len <= length - off; len++) {
            uint64_t agree = 77;

            ck_assert(cv_slices_same(&places, off, cv_span_of(flat + off, len, 0), &agree));
            if (len == 0)
                continue;
            other[off + len - 1] ^= 1;
            for (unsigned again = 0; again < 2; again++) {
                ck_assert(!cv_slices_same(&places, off, cv_span_of(other + off, len, 0), &agree));
                ck_assert_uint_eq(agree, len - 1);
            }
            other[off + len - 1] ^= 1;
            ck_assert(!cv_slices_same(&places, off, cv_span_of(flat + off, length - off + 1, 0), &agree));
            ck_assert_uint_eq(agree, length - off);
        }
}
END_TEST

START_TEST(nothing)
{
    cv_slices none = { 0 };
    cv_slices_index index = { 0 };
    cv_mem small;

    ck_assert(cv_slices_index_of(&mem, &none, &index));
    ck_assert_uint_eq(cv_slices_agree(&index, 0, cv_span_of(flat, 1, 0)), 0);
    ck_assert_uint_eq(cv_slices_pair(&index, 0, PAIR).low, 0);
    cv_u64s_free(&mem, &index.starts);
    cv_mem_init(&small, NULL, 8);
    ck_assert(!cv_slices_index_of(&small, &slices, &index));
}
END_TEST

Suite *suite_places(void)
{
    Suite *suite = suite_create("places of an output");
    TCase *tcase = tcase_create("places");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, pairs);
    tcase_add_test(tcase, agreement);
    tcase_add_test(tcase, sameness);
    tcase_add_test(tcase, nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
