/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <string.h>

#include "bytes/sized.h"

typedef struct one {
    size_t size;
    uint64_t a, b;
} one;

/* What one version later knows. */
typedef struct two {
    one first;
    uint64_t c;
} two;

START_TEST(shorter_keeps_defaults)
{
    const one given = { .size = offsetof(one, b), .a = 5, .b = 6 };
    one ours = { .size = 1, .a = 1, .b = 2 };

    ck_assert(cv_sized_take(&given, &ours, sizeof(ours)));
    ck_assert_uint_eq(ours.size, sizeof(ours));
    ck_assert_uint_eq(ours.a, 5);
    ck_assert_uint_eq(ours.b, 2);
}
END_TEST

START_TEST(longer_must_be_zero)
{
    two given = { .first = { .size = sizeof(given), .a = 5, .b = 6 } };
    one ours = { 0 };

    ck_assert(cv_sized_take(&given, &ours, sizeof(ours)));
    ck_assert_uint_eq(ours.size, sizeof(ours));
    ck_assert_uint_eq(ours.b, 6);
    given.first.b = 7;
    for (size_t i = 0; i < sizeof(given.c); i++) {
        given.c = UINT64_C(1) << 8 * i;
        ck_assert(!cv_sized_take(&given, &ours, sizeof(ours)));
        ck_assert_uint_eq(ours.b, 6);
    }
}
END_TEST

START_TEST(sizes_that_are_none)
{
    static const size_t BAD[] = { 0,         1,        sizeof(size_t) - 1, sizeof(size_t) + 1,
                                  16384 + 8, SIZE_MAX, SIZE_MAX - 7 };
    one given = { 0 }, ours = { .a = 3 };

    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        given = (one){ .size = BAD[i], .a = 9 };
        ck_assert(!cv_sized_take(&given, &ours, sizeof(ours)));
        ck_assert_uint_eq(ours.a, 3);
        ck_assert(!cv_sized_give(&given, &ours, sizeof(ours)));
        ck_assert_uint_eq(given.a, 9);
        ck_assert_uint_eq(given.size, BAD[i]);
    }
}
END_TEST

START_TEST(given_back)
{
    const one ours = { .size = sizeof(ours), .a = 1, .b = 2 };
    two given = { .first = { .size = offsetof(one, b), .a = 9, .b = 9 }, .c = 9 };

    ck_assert(cv_sized_give(&given, &ours, sizeof(ours)));
    ck_assert_uint_eq(given.first.size, offsetof(one, b));
    ck_assert_uint_eq(given.first.a, 1);
    ck_assert_uint_eq(given.first.b, 9); /* not his */
    given.first.size = sizeof(given);
    ck_assert(cv_sized_give(&given, &ours, sizeof(ours)));
    ck_assert_uint_eq(given.first.size, sizeof(given));
    ck_assert_uint_eq(given.first.b, 2);
    ck_assert_uint_eq(given.c, 0);
}
END_TEST

Suite *suite_bytes_sized(void);
Suite *suite_bytes_sized(void)
{
    Suite *suite = suite_create("bytes/sized");
    TCase *tcase = tcase_create("sized");

    tcase_add_test(tcase, shorter_keeps_defaults);
    tcase_add_test(tcase, longer_must_be_zero);
    tcase_add_test(tcase, sizes_that_are_none);
    tcase_add_test(tcase, given_back);
    suite_add_tcase(suite, tcase);
    return suite;
}
