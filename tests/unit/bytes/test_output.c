/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Builder, slice list, search. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bytes/builder.h"
#include "bytes/search.h"
#include "bytes/slices.h"

START_TEST(builder_writes_little_endian)
{
    static const uint8_t WANT[] = { 0x11, 0x22, 0x33, 0x78, 0x56, 0x34, 0x12, 8, 7, 6, 5, 4,
                                    3,    2,    1,    'x',  'y',  0,    0,    0, 0, 0, 0, 0 };
    cv_builder b;
    cv_mem m;

    cv_mem_init(&m, NULL, 4096);
    cv_builder_init(&b, &m);
    cv_put_u8(&b, 0x11);
    cv_put_u16(&b, 0x3322);
    cv_put_u32(&b, 0x12345678);
    cv_put_u64(&b, UINT64_C(0x0102030405060708));
    cv_put_str(&b, "xy");
    cv_put_zero(&b, 1);
    cv_put_align(&b, 8);
    cv_put_span(&b, cv_span_of(NULL, 0, 0));
    cv_put_zero(&b, 0);
    ck_assert_uint_eq(cv_builder_span(&b).len, sizeof(WANT));
    ck_assert(cv_span_eq(cv_builder_span(&b), cv_span_of(WANT, sizeof(WANT), 0)));
    cv_patch_u32(&b, 20, 0xAABBCCDD);
    cv_patch_u64(&b, 16, UINT64_C(0x1122334455667788));
    ck_assert_uint_eq(cv_u64_at(cv_builder_span(&b), 16), UINT64_C(0x1122334455667788));
    ck_assert(!b.failed);
    cv_patch_u32(&b, 21, 0);
    ck_assert(b.failed);
    ck_assert_uint_eq(cv_builder_span(&b).len, 0);
    cv_put_u8(&b, 1);
    ck_assert_uint_eq(b.len, sizeof(WANT));
    cv_builder_free(&b);
    ck_assert_uint_eq(m.live, 0);
}
END_TEST

START_TEST(builder_fails_once)
{
    cv_builder b;
    cv_mem m;

    cv_mem_init(&m, NULL, 100);
    cv_builder_init(&b, &m);
    cv_put_zero(&b, 64);
    ck_assert(!b.failed);
    cv_put_zero(&b, 64);
    ck_assert(b.failed);
    cv_builder_free(&b);
    cv_put_align(&b, 3);
    ck_assert(b.failed);
    cv_builder_init(&b, &m);
    cv_patch_u64(&b, UINT64_MAX, 0);
    ck_assert(b.failed);
    cv_builder_init(&b, &m);
    cv_put_u8(&b, 1);
    cv_put_zero(&b, UINT64_MAX);
    ck_assert(b.failed);
    cv_builder_free(&b);
}
END_TEST

/* Room that was asked for is there without growing again; what cannot be had fails once. */
START_TEST(builder_reserves)
{
    cv_builder b;
    cv_mem m;

    cv_mem_init(&m, NULL, 4096);
    cv_builder_init(&b, &m);
    cv_builder_reserve(&b, 100);
    ck_assert_uint_eq(m.live, 100);
    cv_put_zero(&b, 100);
    cv_builder_reserve(&b, 0);
    ck_assert_uint_eq(m.live, 100);
    ck_assert(!b.failed);
    cv_builder_reserve(&b, 8192);
    ck_assert(b.failed);
    cv_builder_reserve(&b, 1);
    ck_assert(b.failed);
    cv_builder_free(&b);
    cv_builder_init(&b, &m);
    cv_put_u8(&b, 1);
    cv_builder_reserve(&b, UINT64_MAX);
    ck_assert(b.failed);
    cv_builder_free(&b);
    ck_assert_uint_eq(m.live, 0);
}
END_TEST

START_TEST(slices_read_back)
{
    cv_slices s = { 0 };
    uint8_t got[9000], want[9000] = { 0 };
    cv_mem m;

    cv_mem_init(&m, NULL, 1 << 20);
    memcpy(want, "abc", 3);
    memcpy(want + 3 + 5000, "defg", 4);
    cv_slices_borrow(&m, &s, cv_span_of("abc", 3, 0));
    cv_slices_borrow(&m, &s, cv_span_of("", 0, 0));
    cv_slices_zero(&m, &s, 5000);
    cv_slices_copy(&m, &s, cv_span_of("defg", 4, 7));
    cv_slices_copy(&m, &s, cv_span_of("", 0, 0));
    cv_slices_zero(&m, &s, 0);
    cv_slices_align(&m, &s, 64);
    ck_assert_uint_eq(s.len, 5056);
    ck_assert(!s.failed);
    for (uint64_t off = 0; off <= 5056; off += 1 + off / 7) {
        uint64_t n = 5056 - off;

        ck_assert(cv_slices_read(&s, off, got, n));
        ck_assert_mem_eq(got, want + off, n);
        ck_assert(!cv_slices_read(&s, off, got, n + 1));
    }
    ck_assert(!cv_slices_read(&s, UINT64_MAX, got, 1));
    cv_slices_free(&m, &s);
    ck_assert_uint_eq(m.live, 0);
}
END_TEST

START_TEST(slices_fail_once)
{
    cv_slices s = { 0 };
    uint8_t b[4];
    cv_span run;
    cv_mem m;

    cv_mem_init(&m, NULL, 0);
    cv_slices_zero(&m, &s, 5);
    ck_assert(s.failed);
    cv_slices_copy(&m, &s, cv_span_of("x", 1, 0));
    ck_assert(!cv_slices_read(&s, 0, b, 0));
    ck_assert(!cv_slices_next(&s, &(cv_slice_pos){ 0 }, &run));
    cv_slices_free(&m, &s);
    cv_mem_init(&m, NULL, 4096);
    cv_slices_zero(&m, &s, UINT64_MAX);
    cv_slices_copy(&m, &s, cv_span_of("x", 1, 0));
    ck_assert(s.failed);
    cv_slices_free(&m, &s);
    cv_slices_align(&m, &s, 12);
    ck_assert(s.failed);
    cv_slices_free(&m, &s);
    cv_mem_init(&m, NULL, 1);
    cv_slices_copy(&m, &s, cv_span_of("xy", 2, 0));
    ck_assert(s.failed);
    cv_slices_free(&m, &s);
    ck_assert_uint_eq(m.live, 0);
}
END_TEST

/* Both vector searches against the obvious loop, with the values at every place of every length around the
 * block sizes. */
START_TEST(search_equals_loop)
{
    const uint32_t a = 0xBA55ED50, b = 0x464C457F;

    for (unsigned len = 0; len <= 290; len++) {
        uint8_t *p = calloc(len ? len : 1, 1);

        for (unsigned at = 0; at <= len; at++) {
            cv_span s = cv_span_of(p, len, 0);
            uint64_t want = at + 4 <= len ? at : len;

            memset(p, 0x50, len);
            for (unsigned i = 0; i < 4 && at + i < len; i++)
                p[at + i] = (uint8_t)((at % 2 ? a : b) >> (8 * i));
            ck_assert_uint_eq(cv_span_find_u32(s, 0, a, b), want);
            ck_assert_uint_eq(cv_span_find_u32(s, at, a, b), want);
            if (at + 4 <= len)
                ck_assert_uint_eq(cv_span_find_u32(s, at + 1, a, b), len);
            ck_assert_uint_eq(cv_span_find_u32_plain(s, 0, a, b), want);
            ck_assert_uint_eq(cv_span_find_u32_plain(s, at, a, b), want);
            ck_assert_uint_eq(cv_span_find_u32_plain(s, cv_min(at + 1, len), a, b), len);
        }
        ck_assert_uint_eq(cv_span_find_u32(cv_span_of(p, len, 0), len, a, b), len);
        free(p);
    }
}
END_TEST

START_TEST(text_equals_loop)
{
    for (unsigned len = 0; len <= 40; len++) {
        uint8_t *p = malloc(len ? len : 1);

        memset(p, 'x', len);
        ck_assert(cv_span_is_text(cv_span_of(p, len, 0)));
        for (unsigned at = 0; at < len; at++) {
            for (unsigned b = 0; b < 256; b++) {
                p[at] = (uint8_t)b;
                ck_assert_int_eq(cv_span_is_text(cv_span_of(p, len, 0)),
                                 (b >= 9 && b <= 13) || (b >= ' ' && b < 0x7F));
            }
            p[at] = 'x';
        }
        free(p);
    }
}
END_TEST

Suite *suite_output(void)
{
    Suite *s = suite_create("output");
    TCase *t = tcase_create("output");

    tcase_add_test(t, builder_writes_little_endian);
    tcase_add_test(t, builder_fails_once);
    tcase_add_test(t, builder_reserves);
    tcase_add_test(t, slices_read_back);
    tcase_add_test(t, slices_fail_once);
    tcase_add_test(t, search_equals_loop);
    tcase_add_test(t, text_equals_loop);
    suite_add_tcase(s, t);
    return s;
}
