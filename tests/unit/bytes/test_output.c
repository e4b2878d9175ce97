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
    cv_builder builder;
    cv_mem mem;

    cv_mem_init(&mem, NULL, 4096);
    cv_builder_init(&builder, &mem);
    cv_put_u8(&builder, 0x11);
    cv_put_u16(&builder, 0x3322);
    cv_put_u32(&builder, 0x12345678);
    cv_put_u64(&builder, UINT64_C(0x0102030405060708));
    cv_put_str(&builder, "xy");
    cv_put_zero(&builder, 1);
    cv_put_align(&builder, 8);
    cv_put_span(&builder, cv_span_of(NULL, 0, 0));
    cv_put_zero(&builder, 0);
    ck_assert_uint_eq(cv_builder_span(&builder).len, sizeof(WANT));
    ck_assert(cv_span_eq(cv_builder_span(&builder), cv_span_of(WANT, sizeof(WANT), 0)));
    cv_patch_u32(&builder, 20, 0xAABBCCDD);
    cv_patch_u64(&builder, 16, UINT64_C(0x1122334455667788));
    ck_assert_uint_eq(cv_u64_at(cv_builder_span(&builder), 16), UINT64_C(0x1122334455667788));
    ck_assert(!builder.failed);
    cv_patch_u32(&builder, 21, 0);
    ck_assert(builder.failed);
    ck_assert_uint_eq(cv_builder_span(&builder).len, 0);
    cv_put_u8(&builder, 1);
    ck_assert_uint_eq(builder.len, sizeof(WANT));
    cv_builder_free(&builder);
    ck_assert_uint_eq(mem.live, 0);
}
END_TEST

START_TEST(builder_fails_once)
{
    cv_builder builder;
    cv_mem mem;

    cv_mem_init(&mem, NULL, 100);
    cv_builder_init(&builder, &mem);
    cv_put_zero(&builder, 64);
    ck_assert(!builder.failed);
    cv_put_zero(&builder, 64);
    ck_assert(builder.failed);
    cv_builder_free(&builder);
    cv_put_align(&builder, 3);
    ck_assert(builder.failed);
    cv_builder_init(&builder, &mem);
    cv_patch_u64(&builder, UINT64_MAX, 0);
    ck_assert(builder.failed);
    cv_builder_init(&builder, &mem);
    cv_put_u8(&builder, 1);
    cv_put_zero(&builder, UINT64_MAX);
    ck_assert(builder.failed);
    cv_builder_free(&builder);
}
END_TEST

/* Room that was asked for is there without growing again; what cannot be had fails once. */
START_TEST(builder_reserves)
{
    cv_builder builder;
    cv_mem mem;

    cv_mem_init(&mem, NULL, 4096);
    cv_builder_init(&builder, &mem);
    cv_builder_reserve(&builder, 100);
    ck_assert_uint_eq(mem.live, 100);
    cv_put_zero(&builder, 100);
    cv_builder_reserve(&builder, 0);
    ck_assert_uint_eq(mem.live, 100);
    ck_assert(!builder.failed);
    cv_builder_reserve(&builder, 8192);
    ck_assert(builder.failed);
    cv_builder_reserve(&builder, 1);
    ck_assert(builder.failed);
    cv_builder_free(&builder);
    cv_builder_init(&builder, &mem);
    cv_put_u8(&builder, 1);
    cv_builder_reserve(&builder, UINT64_MAX);
    ck_assert(builder.failed);
    cv_builder_free(&builder);
    ck_assert_uint_eq(mem.live, 0);
}
END_TEST

/* A place of somebody else is filled to its last byte, and not beyond. */
START_TEST(builder_at_a_place)
{
    uint8_t place[13] = { 0 };
    const uint8_t want[13] = { 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 7 };
    cv_builder builder;

    cv_builder_at(&builder, place, 12);
    place[12] = 7;
    cv_put_u64(&builder, 1);
    cv_put_u32(&builder, 2);
    ck_assert(!builder.failed);
    ck_assert_uint_eq(builder.len, 12);
    ck_assert_mem_eq(place, want, 13);
    cv_put_u8(&builder, 9);
    ck_assert(builder.failed);
    cv_builder_free(&builder);
    cv_builder_at(&builder, place, 12);
    cv_builder_reserve(&builder, 12);
    ck_assert(!builder.failed);
    cv_builder_reserve(&builder, 13);
    ck_assert(builder.failed);
    cv_builder_at(&builder, place, 12);
    cv_put_zero(&builder, 13);
    ck_assert(builder.failed);
    ck_assert_mem_eq(place, want, 13);
}
END_TEST

/* A small builder doubles, a large one grows by half: what is asked for stays linear, and so does what is
 * too much. */
START_TEST(builder_grows)
{
    static const struct {
        uint64_t cap, then;
    } ROWS[] = { { 64, 128 }, { 65535, 131070 }, { 65536, 98304 }, { 65538, 98307 } };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cv_mem mem;
        cv_builder builder;

        cv_mem_init(&mem, NULL, UINT64_MAX);
        cv_builder_init(&builder, &mem);
        cv_put_u8(&builder, 1);
        ck_assert_uint_eq(builder.cap, 64);
        cv_builder_reserve(&builder, ROWS[i].cap - builder.len);
        ck_assert_uint_eq(builder.cap, ROWS[i].cap);
        cv_put_zero(&builder, ROWS[i].cap - builder.len);
        ck_assert_uint_eq(builder.cap, ROWS[i].cap);
        cv_put_u8(&builder, 1);
        ck_assert_uint_eq(builder.cap, ROWS[i].then);
        cv_builder_free(&builder);
        ck_assert_uint_eq(mem.live, 0);
    }
}
END_TEST

START_TEST(slices_read_back)
{
    cv_slices slices = { 0 };
    uint8_t got[9000], want[9000] = { 0 };
    cv_mem mem;

    cv_mem_init(&mem, NULL, 1 << 20);
    memcpy(want, "abc", 3);
    memcpy(want + 3 + 5000, "defg", 4);
    cv_slices_borrow(&mem, &slices, cv_span_of("abc", 3, 0));
    cv_slices_borrow(&mem, &slices, cv_span_of("", 0, 0));
    cv_slices_zero(&mem, &slices, 5000);
    cv_slices_copy(&mem, &slices, cv_span_of("defg", 4, 7));
    cv_slices_copy(&mem, &slices, cv_span_of("", 0, 0));
    cv_slices_zero(&mem, &slices, 0);
    cv_slices_align(&mem, &slices, 64);
    ck_assert_uint_eq(slices.len, 5056);
    ck_assert(!slices.failed);
    for (uint64_t off = 0; off <= 5056; off += 1 + off / 7) {
        uint64_t count = 5056 - off;

        ck_assert(cv_slices_read(&slices, off, got, count));
        ck_assert_mem_eq(got, want + off, count);
        ck_assert(!cv_slices_read(&slices, off, got, count + 1));
    }
    ck_assert(!cv_slices_read(&slices, UINT64_MAX, got, 1));
    cv_slices_free(&mem, &slices);
    ck_assert_uint_eq(mem.live, 0);
}
END_TEST

START_TEST(slices_fail_once)
{
    cv_slices slices = { 0 };
    uint8_t byte[4];
    cv_span run;
    cv_mem mem;

    cv_mem_init(&mem, NULL, 0);
    cv_slices_zero(&mem, &slices, 5);
    ck_assert(slices.failed);
    cv_slices_copy(&mem, &slices, cv_span_of("x", 1, 0));
    ck_assert(!cv_slices_read(&slices, 0, byte, 0));
    ck_assert(!cv_slices_next(&slices, &(cv_slice_pos){ 0 }, &run));
    cv_slices_free(&mem, &slices);
    cv_mem_init(&mem, NULL, 4096);
    cv_slices_zero(&mem, &slices, UINT64_MAX);
    cv_slices_copy(&mem, &slices, cv_span_of("x", 1, 0));
    ck_assert(slices.failed);
    cv_slices_free(&mem, &slices);
    cv_slices_align(&mem, &slices, 12);
    ck_assert(slices.failed);
    cv_slices_free(&mem, &slices);
    cv_mem_init(&mem, NULL, 1);
    cv_slices_copy(&mem, &slices, cv_span_of("xy", 2, 0));
    ck_assert(slices.failed);
    cv_slices_free(&mem, &slices);
    ck_assert_uint_eq(mem.live, 0);
}
END_TEST

/* Both vector searches against the obvious loop, with the values at every place of every length around the
 * block sizes. */
START_TEST(search_equals_loop)
{
    const uint32_t left = 0xBA55ED50, right = 0x464C457F;

    for (unsigned len = 0; len <= 290; len++) {
        uint8_t *bytes = calloc(len ? len : 1, 1);

        for (unsigned at = 0; at <= len; at++) {
            cv_span span = cv_span_of(bytes, len, 0);
            uint64_t want = at + 4 <= len ? at : len;

            memset(bytes, 0x50, len);
            for (unsigned i = 0; i < 4 && at + i < len; i++)
                bytes[at + i] = (uint8_t)((at % 2 ? left : right) >> (8 * i));
            ck_assert_uint_eq(cv_span_find_u32(span, 0, left, right), want);
            ck_assert_uint_eq(cv_span_find_u32(span, at, left, right), want);
            if (at + 4 <= len)
                ck_assert_uint_eq(cv_span_find_u32(span, at + 1, left, right), len);
            ck_assert_uint_eq(cv_span_find_u32_plain(span, 0, left, right), want);
            ck_assert_uint_eq(cv_span_find_u32_plain(span, at, left, right), want);
            ck_assert_uint_eq(cv_span_find_u32_plain(span, cv_min(at + 1, len), left, right), len);
        }
        ck_assert_uint_eq(cv_span_find_u32(cv_span_of(bytes, len, 0), len, left, right), len);
        free(bytes);
    }
}
END_TEST

START_TEST(text_equals_loop)
{
    for (unsigned len = 0; len <= 40; len++) {
        uint8_t *bytes = malloc(len ? len : 1);

        memset(bytes, 'x', len);
        ck_assert(cv_span_is_text(cv_span_of(bytes, len, 0)));
        for (unsigned at = 0; at < len; at++) {
            for (unsigned right = 0; right < 256; right++) {
                bytes[at] = (uint8_t)right;
                ck_assert_int_eq(cv_span_is_text(cv_span_of(bytes, len, 0)),
                                 (right >= 9 && right <= 13) || (right >= ' ' && right < 0x7F));
            }
            bytes[at] = 'x';
        }
        free(bytes);
    }
}
END_TEST

Suite *suite_output(void)
{
    Suite *suite = suite_create("output");
    TCase *tcase = tcase_create("output");

    tcase_add_test(tcase, builder_writes_little_endian);
    tcase_add_test(tcase, builder_fails_once);
    tcase_add_test(tcase, builder_reserves);
    tcase_add_test(tcase, builder_at_a_place);
    tcase_add_test(tcase, builder_grows);
    tcase_add_test(tcase, slices_read_back);
    tcase_add_test(tcase, slices_fail_once);
    tcase_add_test(tcase, search_equals_loop);
    tcase_add_test(tcase, text_equals_loop);
    suite_add_tcase(suite, tcase);
    return suite;
}
