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

static uint64_t model(uint64_t len, uint64_t off, unsigned n)
{
    uint64_t v = 0;

    if (off > len || len - off < n)
        return 0;
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)BYTES[off + i] << (8 * i);
    return v;
}

START_TEST(loads_are_total)
{
    static const uint64_t FAR[] = { UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, 18 };
    cv_row row;

    fill();
    for (uint64_t len = 0; len <= 17; len++) {
        uint8_t *exact = malloc(len ? len : 1);
        cv_span s = cv_span_of(exact, len, 100);

        memcpy(exact, BYTES, len);
        for (uint64_t off = 0; off <= 18; off++) {
            ck_assert_uint_eq(cv_u8_at(s, off), model(len, off, 1));
            ck_assert_uint_eq(cv_u16_at(s, off), model(len, off, 2));
            ck_assert_uint_eq(cv_u32_at(s, off), model(len, off, 4));
            ck_assert_uint_eq(cv_u64_at(s, off), model(len, off, 8));
            row = cv_row_at(s, off, 2);
            ck_assert_uint_eq(row.first, off <= len && len - off >= 16 ? model(len, off, 8) : 0);
            ck_assert_uint_eq(row.second, off <= len && len - off >= 16 ? model(len, off + 8, 8) : 0);
            ck_assert_uint_eq(row.third, 0);
        }
        for (unsigned i = 0; i < 4; i++) {
            ck_assert_uint_eq(cv_u8_at(s, FAR[i]), 0);
            ck_assert_uint_eq(cv_u16_at(s, FAR[i]), 0);
            ck_assert_uint_eq(cv_u32_at(s, FAR[i]), 0);
            ck_assert_uint_eq(cv_u64_at(s, FAR[i]), 0);
            row = cv_row_at(s, FAR[i], 2);
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
        cv_span s = cv_span_of(BYTES, len, 1000);

        for (uint64_t off = 0; off <= 18; off++) {
            cv_span out = { 0 };

            ck_assert_int_eq(cv_span_from(s, off, &out), off <= len);
            if (off <= len)
                ck_assert_uint_eq(out.len, len - off);
            for (uint64_t n = 0; n <= 18; n++) {
                cv_span sub = { NULL, 77, 77 };
                bool want = off <= len && n <= len - off;

                ck_assert_int_eq(cv_span_has(s, off, n), want);
                ck_assert_int_eq(cv_span_sub(s, off, n, &sub), want);
                ck_assert_uint_eq(sub.len, want ? n : 77);
                ck_assert_uint_eq(sub.off, want ? 1000 + off : 77);
                for (uint64_t i = 0; want && i < n; i++)
                    ck_assert_uint_eq(cv_u8_at(sub, i), BYTES[off + i]);
            }
            ck_assert(!cv_span_sub(s, off, UINT64_MAX, &out));
            ck_assert(!cv_span_sub(s, UINT64_MAX, off, &out));
            ck_assert(!cv_span_sub(s, UINT64_MAX - off, UINT64_MAX, &out));
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
    uint8_t b[3];

    for (unsigned len = 0; len <= 3; len++) {
        for (unsigned code = 0; code < 216; code++) {
            cv_span s = cv_span_of(b, len, 5), str;
            uint64_t nul = len, nonzero = len;

            b[0] = ALPHA[code % 6], b[1] = ALPHA[code / 6 % 6], b[2] = ALPHA[code / 36];
            for (unsigned i = len; i-- > 0;) {
                nul = b[i] == 0 ? i : nul;
                nonzero = b[i] != 0 ? i : nonzero;
            }
            ck_assert_uint_eq(cv_span_find_byte(s, 0), nul);
            ck_assert_uint_eq(cv_span_find_nonzero(s), nonzero);
            ck_assert_int_eq(cv_span_cstr(s, 0, &str), nul < len);
            if (nul < len)
                ck_assert_uint_eq(str.len, nul);
            ck_assert(!cv_span_cstr(s, len, &str));
            ck_assert(!cv_span_cstr(s, UINT64_MAX, &str));
            ck_assert(cv_span_eq(s, s));
            ck_assert_int_eq(cv_span_eq_str(s, "a"), len == 1 && b[0] == 'a');
            ck_assert_int_eq(cv_span_starts(s, "a"), len >= 1 && b[0] == 'a');
            ck_assert_int_eq(cv_span_after(s, "a", &str), len >= 1 && b[0] == 'a');
            ck_assert_uint_eq(cv_span_tail(s, 2).len, len > 2 ? len - 2 : 0);
            ck_assert_uint_eq(cv_span_tail(s, UINT64_MAX).len, 0);
        }
    }
}
END_TEST

START_TEST(find_nonzero_every_place)
{
    uint8_t b[40] = { 0 };

    for (unsigned len = 0; len <= sizeof(b); len++) {
        ck_assert_uint_eq(cv_span_find_nonzero(cv_span_of(b, len, 0)), len);
        for (unsigned i = 0; i < len; i++) {
            b[i] = 1;
            ck_assert_uint_eq(cv_span_find_nonzero(cv_span_of(b, len, 0)), i);
            b[i] = 0;
        }
    }
}
END_TEST

START_TEST(compare)
{
    cv_span a = cv_span_of("abc", 3, 0), b = cv_span_of("abd", 3, 9), e = cv_span_of(NULL, 0, 0);

    ck_assert(!cv_span_eq(a, b));
    ck_assert(!cv_span_eq(a, cv_span_of("ab", 2, 0)));
    ck_assert(cv_span_eq(e, cv_span_of("", 0, 4)));
    ck_assert(cv_span_eq_str(e, ""));
    ck_assert(cv_span_starts(e, ""));
    ck_assert(cv_span_eq_str(a, "abc"));
    ck_assert(!cv_span_eq_str(a, "abx"));
    ck_assert(!cv_span_starts(a, "abcd"));
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
    } T[] = {
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

    for (unsigned i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        uint32_t v = 0;
        uint64_t end = 0;

        ck_assert_int_eq(cv_span_decimal(cv_span_of(T[i].text, strlen(T[i].text), 0), T[i].off, &v, &end),
                         T[i].ok);
        ck_assert_uint_eq(v, T[i].value);
        ck_assert_uint_eq(end, T[i].end);
    }
}
END_TEST

Suite *suite_span(void)
{
    Suite *s = suite_create("span");
    TCase *t = tcase_create("span");

    tcase_add_test(t, loads_are_total);
    tcase_add_test(t, rows_of_three_words);
    tcase_add_test(t, sub_fits_or_fails);
    tcase_add_test(t, strings_exhaustive);
    tcase_add_test(t, find_nonzero_every_place);
    tcase_add_test(t, compare);
    tcase_add_test(t, decimal);
    suite_add_tcase(s, t);
    return s;
}
