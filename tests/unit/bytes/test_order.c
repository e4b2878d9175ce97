/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The list sort of the reference: what happens to equal elements is the layout of a file. */
#include <check.h>
#include <string.h>

#include "bytes/order.h"

#define MOST 70

static cv_mem mem;

static void setup(void)
{
    cv_mem_init(&mem, NULL, CV_MIB);
}

static void teardown(void)
{
    ck_assert_uint_eq(mem.live, 0);
}

/* The key of an element is its value modulo *user; 1: all are equal. */
static bool before(void *user, uint32_t left, uint32_t right)
{
    uint32_t keys = *(const uint32_t *)user;

    return left % keys < right % keys;
}

static void sorted(uint32_t count, uint32_t keys, bool second, uint32_t *out)
{
    cv_u32s list = { 0 };

    for (uint32_t i = 0; i < count; i++)
        ck_assert(cv_u32s_push(&mem, &list, i));
    ck_assert(cv_list_sort(&mem, &list, before, &keys, second));
    ck_assert_uint_eq(list.count, count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = *cv_u32s_at(&list, i);
    cv_u32s_free(&mem, &list);
}

static void expect_seven(bool second, const uint32_t *want)
{
    uint32_t got[7];

    sorted(7, 1, second, got);
    for (unsigned i = 0; i < 7; i++)
        ck_assert_uint_eq(got[i], want[i]);
}

START_TEST(equal_elements)
{
    expect_seven(true, (const uint32_t[]){ 3, 5, 1, 4, 0, 6, 2 });
    expect_seven(false, (const uint32_t[]){ 2, 6, 0, 4, 1, 5, 3 });
}
END_TEST

/* The same with lists, as the rule is told: elements go alternately to the front of two lists, which are
 * sorted and merged. */
static void naive(uint32_t *value, uint32_t count, uint32_t keys, bool second)
{
    uint32_t list[2][MOST], len[2] = { 0, 0 }, at[2] = { 0, 0 };

    if (count < 2)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *other_len = list[i % 2];

        memmove(other_len + 1, other_len, len[i % 2]++ * sizeof(*other_len));
        other_len[0] = value[i];
    }
    naive(list[0], len[0], keys, second);
    naive(list[1], len[1], keys, second);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = at[0] < len[0] ? list[0][at[0]] % keys : UINT32_MAX;
        uint32_t other_second = at[1] < len[1] ? list[1][at[1]] % keys : UINT32_MAX;
        unsigned from = first < other_second ? 0 : other_second < first ? 1 : second;

        value[i] = list[from][at[from]++];
    }
}

START_TEST(all_lengths)
{
    for (uint32_t count = 0; count <= MOST; count++)
        for (uint32_t keys = 1; keys <= 9; keys++) {
            uint32_t got[MOST + 1], want[MOST + 1];

            for (uint32_t i = 0; i < count; i++)
                want[i] = i;
            naive(want, count, keys, _i != 0);
            sorted(count, keys, _i != 0, got);
            ck_assert_msg(memcmp(got, want, count * sizeof(*got)) == 0, "%u elements, %u keys", count, keys);
        }
}
END_TEST

/* Without memory nothing is lost: the elements are still there, in whatever order. */
START_TEST(no_memory)
{
    cv_u32s list = { 0 };
    uint32_t keys = 3, sum = 0;
    uint64_t most = 0;

    for (uint32_t i = 0; i < 1000; i++)
        ck_assert(cv_u32s_push(&mem, &list, i));
    do {
        mem.limit = mem.live + most;
        most += 64;
    } while (!cv_list_sort(&mem, &list, before, &keys, true));
    ck_assert_uint_gt(most, 64);
    for (uint32_t i = 0; i < 1000; i++) {
        sum += *cv_u32s_at(&list, i);
        ck_assert(i == 0 || !before(&keys, *cv_u32s_at(&list, i), *cv_u32s_at(&list, i - 1)));
    }
    ck_assert_uint_eq(sum, 999 * 500);
    cv_u32s_free(&mem, &list);
}
END_TEST

Suite *suite_link_sort(void)
{
    Suite *suite = suite_create("link sort");
    TCase *tcase = tcase_create("sort");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, equal_elements);
    tcase_add_loop_test(tcase, all_lengths, 0, 2);
    tcase_add_test(tcase, no_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}
