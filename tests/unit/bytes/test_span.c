/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bounded-exhaustive: every (length, offset, size) triple in 0..17, every input of up to three bytes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bytes/span.h"

static uint8_t BYTES[17];

static void fill(void)
{
    for (unsigned i = 0; i < sizeof(BYTES); i++)
        BYTES[i] = (uint8_t)(0x11 * (i + 1));
}

static uint64_t model(uint64_t len, uint64_t off, unsigned count)
{
    uint64_t value = 0;

    if (off > len || len - off < count)
        return 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)BYTES[off + i] << (8 * i);
    return value;
}

START_TEST(loads_are_total)
{
    static const uint64_t FAR[] = { UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, 18 };
    cv_row row;

    fill();
    for (uint64_t len = 0; len <= 17; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        cv_span span = cv_span_of(exact, len, 100);

        memcpy(exact, BYTES, len);
        for (uint64_t off = 0; off <= 18; off++) {
            ck_assert_uint_eq(cv_u8_at(span, off), model(len, off, 1));
            ck_assert_uint_eq(cv_u16_at(span, off), model(len, off, 2));
            ck_assert_uint_eq(cv_u32_at(span, off), model(len, off, 4));
            ck_assert_uint_eq(cv_u64_at(span, off), model(len, off, 8));
            row = cv_row_at(span, off, 2);
            ck_assert_uint_eq(row.first, off <= len && len - off >= 16 ? model(len, off, 8) : 0);
            ck_assert_uint_eq(row.second, off <= len && len - off >= 16 ? model(len, off + 8, 8) : 0);
            ck_assert_uint_eq(row.third, 0);
        }
        for (unsigned i = 0; i < 4; i++) {
            ck_assert_uint_eq(cv_u8_at(span, FAR[i]), 0);
            ck_assert_uint_eq(cv_u16_at(span, FAR[i]), 0);
            ck_assert_uint_eq(cv_u32_at(span, FAR[i]), 0);
            ck_assert_uint_eq(cv_u64_at(span, FAR[i]), 0);
            row = cv_row_at(span, FAR[i], 2);
            ck_assert((row.first | row.second | row.third) == 0);
        }
        free(exact);
    }
}
END_TEST

START_TEST(rows_of_three_words)
{
    uint8_t bytes[25];
    cv_row row;

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i + 1);
    row = cv_row_at(cv_span_of(bytes, 23, 0), 0, 3);
    ck_assert((row.first | row.second | row.third) == 0);
    row = cv_row_at(cv_span_of(bytes, 25, 0), 2, 3);
    ck_assert((row.first | row.second | row.third) == 0);
    row = cv_row_at(cv_span_of(bytes, 25, 0), 1, 3);
    ck_assert_uint_eq(row.first, UINT64_C(0x0908070605040302));
    ck_assert_uint_eq(row.second, UINT64_C(0x11100F0E0D0C0B0A));
    ck_assert_uint_eq(row.third, UINT64_C(0x1918171615141312));
}
END_TEST

START_TEST(sub_fits_or_fails)
{
    fill();
    for (uint64_t len = 0; len <= 17; len++) {
        cv_span span = cv_span_of(BYTES, len, 1000);

        for (uint64_t off = 0; off <= 18; off++) {
            cv_span out = { 0 };

            ck_assert_int_eq(cv_span_from(span, off, &out), off <= len);
            if (off <= len)
                ck_assert_uint_eq(out.len, len - off);
            for (uint64_t count = 0; count <= 18; count++) {
                cv_span sub = { NULL, 77, 77 };
                bool want = off <= len && count <= len - off;

                ck_assert_int_eq(cv_span_has(span, off, count), want);
                ck_assert_int_eq(cv_span_sub(span, off, count, &sub), want);
                ck_assert_uint_eq(sub.len, want ? count : 77);
                ck_assert_uint_eq(sub.off, want ? 1000 + off : 77);
                for (uint64_t i = 0; want && i < count; i++)
                    ck_assert_uint_eq(cv_u8_at(sub, i), BYTES[off + i]);
            }
            ck_assert(!cv_span_sub(span, off, UINT64_MAX, &out));
            ck_assert(!cv_span_sub(span, UINT64_MAX, off, &out));
            ck_assert(!cv_span_sub(span, UINT64_MAX - off, UINT64_MAX, &out));
        }
    }
    cv_islands_drop();
}
END_TEST

/* All inputs of up to three bytes out of an alphabet that has every class of byte the functions tell apart.
 */
START_TEST(strings_exhaustive)
{
    static const uint8_t ALPHA[] = { 0, 1, '0', '9', 'a', 0xFF };
    uint8_t byte[3];

    for (unsigned len = 0; len <= 3; len++) {
        for (unsigned code = 0; code < 216; code++) {
            cv_span span = cv_span_of(byte, len, 5), str;
            uint64_t nul = len, nonzero = len;

            byte[0] = ALPHA[code % 6], byte[1] = ALPHA[code / 6 % 6], byte[2] = ALPHA[code / 36];
            for (unsigned i = len; i-- > 0;) {
                nul = byte[i] == 0 ? i : nul;
                nonzero = byte[i] != 0 ? i : nonzero;
            }
            ck_assert_uint_eq(cv_span_find_byte(span, 0), nul);
            ck_assert_uint_eq(cv_span_find_nonzero(span), nonzero);
            ck_assert_int_eq(cv_span_cstr(span, 0, &str), nul < len);
            if (nul < len)
                ck_assert_uint_eq(str.len, nul);
            ck_assert(!cv_span_cstr(span, len, &str));
            ck_assert(!cv_span_cstr(span, UINT64_MAX, &str));
            ck_assert(cv_span_eq(span, span));
            ck_assert_int_eq(cv_span_eq_str(span, "a"), len == 1 && byte[0] == 'a');
            ck_assert_int_eq(cv_span_starts(span, "a"), len >= 1 && byte[0] == 'a');
            ck_assert_int_eq(cv_span_after(span, "a", &str), len >= 1 && byte[0] == 'a');
            ck_assert_uint_eq(cv_span_tail(span, 2).len, len > 2 ? len - 2 : 0);
            ck_assert_uint_eq(cv_span_tail(span, UINT64_MAX).len, 0);
        }
    }
}
END_TEST

START_TEST(find_nonzero_every_place)
{
    uint8_t byte[40] = { 0 };

    for (unsigned len = 0; len <= sizeof(byte); len++) {
        ck_assert_uint_eq(cv_span_find_nonzero(cv_span_of(byte, len, 0)), len);
        for (unsigned i = 0; i < len; i++) {
            byte[i] = 1;
            ck_assert_uint_eq(cv_span_find_nonzero(cv_span_of(byte, len, 0)), i);
            byte[i] = 0;
        }
    }
}
END_TEST

START_TEST(compare)
{
    cv_span left = cv_span_of("abc", 3, 0), right = cv_span_of("abd", 3, 9), span = cv_span_of(NULL, 0, 0);

    ck_assert(!cv_span_eq(left, right));
    ck_assert(!cv_span_eq(left, cv_span_of("ab", 2, 0)));
    ck_assert(cv_span_eq(span, cv_span_of("", 0, 4)));
    ck_assert(cv_span_eq_str(span, ""));
    ck_assert(cv_span_starts(span, ""));
    ck_assert(cv_span_eq_str(left, "abc"));
    ck_assert(!cv_span_eq_str(left, "abx"));
    ck_assert(!cv_span_starts(left, "abcd"));
}
END_TEST

START_TEST(decimal)
{
    static const struct {
        const char *text;
        uint64_t off;
        bool ok;
        uint32_t value;
        uint64_t end;
    } callback[] = {
        { "", 0, false, 0, 0 },
        { "x", 0, false, 0, 0 },
        { "0", 0, true, 0, 1 },
        { "90a", 0, true, 90, 2 },
        { "sm_120", 3, true, 120, 6 },
        { "4294967295", 0, true, UINT32_MAX, 10 },
        { "4294967296", 0, false, 0, 0 },
        { "99999999999999999999", 0, false, 0, 0 },
        { "7", 1, false, 0, 0 },
        { "7", 9, false, 0, 0 },
        { "0000000000000000000000012", 0, true, 12, 25 },
    };

    for (unsigned i = 0; i < sizeof(callback) / sizeof(callback[0]); i++) {
        uint32_t value = 0;
        uint64_t end = 0;

        ck_assert_int_eq(cv_span_decimal(cv_span_of(callback[i].text, strlen(callback[i].text), 0),
                                         callback[i].off, &value, &end),
                         callback[i].ok);
        ck_assert_uint_eq(value, callback[i].value);
        ck_assert_uint_eq(end, callback[i].end);
    }
}
END_TEST

Suite *suite_span(void)
{
    Suite *suite = suite_create("span");
    TCase *tcase = tcase_create("span");

    tcase_add_test(tcase, loads_are_total);
    tcase_add_test(tcase, rows_of_three_words);
    tcase_add_test(tcase, sub_fits_or_fails);
    tcase_add_test(tcase, strings_exhaustive);
    tcase_add_test(tcase, find_nonzero_every_place);
    tcase_add_test(tcase, compare);
    tcase_add_test(tcase, decimal);
    suite_add_tcase(suite, tcase);
    return suite;
}
