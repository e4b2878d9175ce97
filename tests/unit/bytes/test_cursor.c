/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>

#include "bytes/span.h"

static const uint8_t BYTES[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

START_TEST(reads_in_order)
{
    cv_cur cursor = cv_cur_of(cv_span_of(BYTES, 16, 50));
    cv_span span;

    ck_assert_uint_eq(cv_cur_u8(&cursor), 1);
    ck_assert_uint_eq(cv_cur_u16(&cursor), 0x0302);
    ck_assert_uint_eq(cv_cur_u32(&cursor), 0x07060504);
    ck_assert_uint_eq(cv_cur_u64(&cursor), UINT64_C(0x0F0E0D0C0B0A0908));
    span = cv_cur_bytes(&cursor, 1);
    ck_assert_uint_eq(span.len, 1);
    ck_assert_uint_eq(span.off, 65);
    ck_assert_uint_eq(cv_cur_left(&cursor), 0);
    ck_assert(!cursor.failed);
    cv_islands_drop();
}
END_TEST

/* The first failure is recorded, everything after it reads as nothing. */
START_TEST(first_failure_sticks)
{
    for (unsigned len = 0; len <= 16; len++) {
        for (unsigned kind = 0; kind < 6; kind++) {
            static const uint64_t SIZE[] = { 1, 2, 4, 8, 3, 5 };
            cv_cur cursor = cv_cur_of(cv_span_of(BYTES, len, 0));
            uint64_t pos = 0;

            for (unsigned i = 0; i < 20 && !cursor.failed; i++) {
                bool fits = len - pos >= SIZE[kind];

                switch (kind) {
                case 0: (void)cv_cur_u8(&cursor); break;
                case 1: (void)cv_cur_u16(&cursor); break;
                case 2: (void)cv_cur_u32(&cursor); break;
                case 3: (void)cv_cur_u64(&cursor); break;
                case 4: (void)cv_cur_bytes(&cursor, 3); break;
                default: cv_cur_skip(&cursor, 5);
                }
                ck_assert_int_eq(cursor.failed, !fits);
                pos += fits ? SIZE[kind] : 0;
            }
            ck_assert(cursor.failed);
            ck_assert_uint_eq(cursor.bad_at, pos);
            ck_assert_uint_eq(cursor.bad_want, SIZE[kind]);
            ck_assert_uint_eq(cv_cur_u8(&cursor), 0);
            ck_assert_uint_eq(cv_cur_u16(&cursor), 0);
            ck_assert_uint_eq(cv_cur_u32(&cursor), 0);
            ck_assert_uint_eq(cv_cur_u64(&cursor), 0);
            ck_assert_uint_eq(cv_cur_bytes(&cursor, 0).len, 0);
            ck_assert_uint_eq(cv_cur_count(&cursor, 0, 1), 0);
            ck_assert_uint_eq(cursor.bad_at, pos);
            cv_islands_drop();
        }
    }
}
END_TEST

START_TEST(counts_must_fit)
{
    for (uint64_t count = 0; count <= 17; count++) {
        for (uint64_t elem = 1; elem <= 17; elem++) {
            cv_cur cursor = cv_cur_of(cv_span_of(BYTES, 16, 0));
            bool fits = count * elem <= 16;

            ck_assert_uint_eq(cv_cur_count(&cursor, count, elem), fits ? count : 0);
            ck_assert_int_eq(cursor.failed, !fits);
        }
    }
    cv_cur cursor = cv_cur_of(cv_span_of(BYTES, 16, 0));

    ck_assert_uint_eq(cv_cur_count(&cursor, UINT64_MAX / 2, 4), 0);
    ck_assert(cursor.failed);
    ck_assert_uint_eq(cursor.bad_want, UINT64_MAX);
}
END_TEST

Suite *suite_cursor(void)
{
    Suite *suite = suite_create("cursor");
    TCase *tcase = tcase_create("cursor");

    tcase_add_test(tcase, reads_in_order);
    tcase_add_test(tcase, first_failure_sticks);
    tcase_add_test(tcase, counts_must_fit);
    suite_add_tcase(suite, tcase);
    return suite;
}
