/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records with fixed fields: the table itself, every layout's fields, lists, tails and what does not fit. */
#include <check.h>
#include <string.h>

#include "format/record/fields.h"

/* The table once more, as numbers. */
static const struct {
    const char *layout, *text;
    unsigned size, off, bit, bits;
} ROWS[] = {
#define LAYOUT(name, size, repeat, tail)                          { #name, NULL, size, 0, 0, 0 },
#define FIELD(layout, name, text, kind, off, bit, bits, presence) { #layout, text, 0, off, bit, bits },
#include "fields.def"
};

/* A row that reads beyond its record, or stands below another layout, would be a silent wrong answer. */
START_TEST(table_holds_together)
{
    const char *layout = "";
    unsigned size = 0, n_fields = 0;

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (!ROWS[i].text) {
            layout = ROWS[i].layout;
            size = ROWS[i].size;
            continue;
        }
        n_fields++;
        ck_assert_str_eq(ROWS[i].layout, layout);
        ck_assert_uint_gt(ROWS[i].bits, 0);
        ck_assert_uint_le(ROWS[i].bit + ROWS[i].bits, 64);
        ck_assert_msg(8 * ROWS[i].off + ROWS[i].bit + ROWS[i].bits <= 8 * size, "%s: %s", layout,
                      ROWS[i].text);
    }
    ck_assert_uint_gt(n_fields, 50);
}
END_TEST

typedef struct record_want {
    const char *name;
    cuvet_field_kind kind;
    uint64_t group, off, value;
} record_want;

static void expect(cv_layout layout, const uint8_t *bytes, uint64_t size, const record_want *wanted,
                   size_t count)
{
    cuvet_field_pos pos = { 0 };
    cuvet_field got;

    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(cv_field_next(layout, cv_span_of(bytes, size, 0), &pos, &got), "field %zu", i);
        ck_assert_str_eq(got.name, wanted[i].name);
        ck_assert_int_eq(got.kind, wanted[i].kind);
        ck_assert_uint_eq(got.group, wanted[i].group);
        ck_assert_uint_eq(got.off, wanted[i].off);
        ck_assert_uint_eq(got.value, wanted[i].value);
    }
    ck_assert(!cv_field_next(layout, cv_span_of(bytes, size, 0), &pos, &got));
    ck_assert(!cv_field_next(layout, cv_span_of(bytes, size, 0), &pos, &got));
}
#define EXPECT(layout, bytes, wanted)                                                                        \
    expect(layout, bytes, sizeof(bytes), wanted, sizeof(wanted) / sizeof((wanted)[0]))

/* A pointer parameter of a kernel: 8 bytes at 0x10, the second one, in the bank, and every bit field set
 * apart. */
START_TEST(parameter)
{
    static const uint8_t BYTES[] = { 0x01, 0, 0, 0, 0x02, 0, 0x10, 0, 0x05, 0xF3, 0x23, 0x00 };
    static const record_want WANT[] = {
        { "ordinal", CUVET_FIELD_NUMBER, 0, 4, 2 },
        { "offset", CUVET_FIELD_BITS, 0, 6, 0x10 },
        { "size", CUVET_FIELD_BITS, 0, 8, 8 },
        { "pointee-align-log2", CUVET_FIELD_NUMBER, 0, 8, 5 },
        { "space", CUVET_FIELD_NUMBER, 0, 8, 3 },
        { "bank", CUVET_FIELD_BITS, 0, 8, 0x1F },
        { "parameter-space", CUVET_FIELD_FLAG, 0, 8, 1 },
        { "index", CUVET_FIELD_BITS, 0, 0, 1 },
    };

    EXPECT(CV_LAYOUT_PARAM, BYTES, WANT);
    ck_assert(cv_layout_fits(CV_LAYOUT_PARAM, 12));
    ck_assert(!cv_layout_fits(CV_LAYOUT_PARAM, 24));
    ck_assert(!cv_layout_fits(CV_LAYOUT_PARAM, 11));
}
END_TEST

START_TEST(list_of_pairs)
{
    static const uint8_t BYTES[] = { 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0x80 };
    static const record_want WANT[] = {
        { "", CUVET_FIELD_PLACE, 0, 0, 1 },
        { "", CUVET_FIELD_BITS, 0, 4, 2 },
        { "", CUVET_FIELD_PLACE, 1, 8, 3 },
        { "", CUVET_FIELD_BITS, 1, 12, 0x80000004 },
    };

    EXPECT(CV_LAYOUT_PAIRS, BYTES, WANT);
    ck_assert(cv_layout_fits(CV_LAYOUT_PAIRS, 0));
    ck_assert(!cv_layout_fits(CV_LAYOUT_PAIRS, 12));
}
END_TEST

/* Two branches with two and no targets, then words that are no branch. */
START_TEST(words_behind_a_record)
{
    static const uint8_t BYTES[] = { 0x10, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x20, 0, 0, 0, 0x30, 0, 0, 0,
                                     0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7,    0, 0, 0, 8,    0, 0, 0 };
    static const record_want WANT[] = {
        { "branch", CUVET_FIELD_PLACE, 0, 0, 0x10 }, { "word", CUVET_FIELD_BITS, 0, 4, 0 },
        { "targets", CUVET_FIELD_TOTAL, 0, 8, 2 },   { "", CUVET_FIELD_WORD, 0, 12, 0x20 },
        { "", CUVET_FIELD_WORD, 0, 16, 0x30 },       { "branch", CUVET_FIELD_PLACE, 1, 20, 0x40 },
        { "word", CUVET_FIELD_BITS, 1, 24, 1 },      { "targets", CUVET_FIELD_TOTAL, 1, 28, 0 },
        { "words", CUVET_FIELD_WORD, 2, 32, 7 },     { "words", CUVET_FIELD_WORD, 2, 36, 8 },
    };

    EXPECT(CV_LAYOUT_BRANCHES, BYTES, WANT);
}
END_TEST

/* A total that no record can hold gives the words that are there. */
START_TEST(total_that_lies)
{
    static const uint8_t BYTES[] = { 0x10, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 9, 0, 0, 0, 1, 2, 3 };
    static const record_want WANT[] = {
        { "branch", CUVET_FIELD_PLACE, 0, 0, 0x10 },
        { "word", CUVET_FIELD_BITS, 0, 4, 0 },
        { "targets", CUVET_FIELD_TOTAL, 0, 8, 0xFFFFFFFF },
        { "", CUVET_FIELD_WORD, 0, 12, 9 },
    };

    EXPECT(CV_LAYOUT_BRANCHES, BYTES, WANT);
    ck_assert(!cv_layout_fits(CV_LAYOUT_BRANCHES, sizeof(BYTES)));
}
END_TEST

/* A place that another record gave: no field is read where no bytes are, in the record or behind it. */
START_TEST(place_of_another)
{
    static const uint8_t BYTES[] = { 0x10, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x20, 0, 0, 0, 0x30, 0, 0, 0 };

    for (unsigned given = 0; given <= 5; given++) {
        for (uint64_t count = 0; count <= sizeof(BYTES); count++) {
            cuvet_field_pos pos = { 0 };
            cuvet_field got = { .off = 99 };
            uint64_t need = given < 3 ? 12 : 4 * given + 4;

            for (unsigned i = 0; i < given; i++)
                ck_assert(cv_field_next(CV_LAYOUT_BRANCHES, cv_span_of(BYTES, sizeof(BYTES), 0), &pos, &got));
            if (cv_field_next(CV_LAYOUT_BRANCHES, cv_span_of(BYTES, count, 0), &pos, &got)) {
                ck_assert_uint_lt(given, 5);
                ck_assert_uint_le(given ? need : 4, count);
                ck_assert_uint_eq(got.off, 4 * given);
            } else {
                ck_assert(given == 5 || count < (given ? need : 4));
            }
        }
    }
}
END_TEST

START_TEST(annotations)
{
    static const uint8_t BYTES[] = { 1, 0, 0, 0, 0x50, 0, 0, 0, 1, 0, 0, 0, 0x60, 0,
                                     0, 0, 2, 0, 0,    0, 4, 0, 0, 0, 1, 0, 0,    0 };
    static const record_want WANT[] = {
        { "spill-refill", CUVET_FIELD_WORD, 0, 4, 0x50 }, { "spill-refill", CUVET_FIELD_WORD, 0, 12, 0x60 },
        { "words", CUVET_FIELD_WORD, 1, 16, 2 },          { "words", CUVET_FIELD_WORD, 1, 20, 4 },
        { "words", CUVET_FIELD_WORD, 1, 24, 1 },
    };

    EXPECT(CV_LAYOUT_ANNOTATIONS, BYTES, WANT);
}
END_TEST

START_TEST(versions)
{
    static const uint8_t TENTHS[] = { 130, 0, 0, 0 }, BYTES[] = { 2, 1 };
    static const record_want want[] = { { "", CUVET_FIELD_VERSION, 0, 0, UINT64_C(13) << 32 } };
    static const record_want other_want[] = { { "", CUVET_FIELD_VERSION, 0, 0, UINT64_C(1) << 32 | 2 } };

    EXPECT(CV_LAYOUT_TOOLKIT, TENTHS, want);
    EXPECT(CV_LAYOUT_ISA, BYTES, other_want);
}
END_TEST

/* Numbers of 64 bits keep all of them. */
START_TEST(wide)
{
    static const uint8_t BYTES[] = { 8, 7, 6, 5, 4, 3, 2, 0x81 };
    static const record_want WANT[] = { { "", CUVET_FIELD_BITS, 0, 0, UINT64_C(0x8102030405060708) } };

    EXPECT(CV_LAYOUT_MASK, BYTES, WANT);
}
END_TEST

START_TEST(nothing_fits_opaque)
{
    static const uint8_t BYTES[16] = { 1 };

    expect(CV_LAYOUT_OPAQUE, BYTES, sizeof(BYTES), NULL, 0);
    for (uint64_t count = 0; count < 64; count++)
        ck_assert(!cv_layout_fits(CV_LAYOUT_OPAQUE, count));
}
END_TEST

/* Codes and tags beyond the tables, and those without a row, are lists of words and numbers. */
START_TEST(codes)
{
    ck_assert_int_eq(cv_layout_of_attr(0x2F), CV_LAYOUT_REGISTERS);
    ck_assert_int_eq(cv_layout_of_attr(0x1C), CV_LAYOUT_WORDS);
    ck_assert_int_eq(cv_layout_of_attr(0x5A), CV_LAYOUT_OPAQUE);
    ck_assert_int_eq(cv_layout_of_attr(0xFF), CV_LAYOUT_WORDS);
    ck_assert_int_eq(cv_layout_of_attr(UINT32_MAX), CV_LAYOUT_WORDS);
    ck_assert_int_eq(cv_layout_of_attr_value(0x5F, true), CV_LAYOUT_ISA);
    ck_assert_int_eq(cv_layout_of_attr_value(0x1B, true), CV_LAYOUT_HALF);
    ck_assert_int_eq(cv_layout_of_attr_value(UINT32_MAX, false), CV_LAYOUT_BYTE);
    ck_assert_int_eq(cv_layout_of_compat(11), CV_LAYOUT_MASK);
    ck_assert_int_eq(cv_layout_of_compat(200), CV_LAYOUT_WORDS);
    ck_assert_int_eq(cv_layout_of_compat_value(7, true), CV_LAYOUT_ISA);
    ck_assert_int_eq(cv_layout_of_compat_value(200, false), CV_LAYOUT_BYTE);
}
END_TEST

/* Whatever the bytes and their length: fields lie in them, parts go forward, and there is an end. */
START_TEST(any_bytes)
{
    uint8_t bytes[70];
    uint64_t seed = 88172645463325252U;

    for (unsigned round = 0; round < 20000; round++) {
        cv_layout layout = (cv_layout)(round % CV_N_LAYOUTS);
        uint64_t count = round / CV_N_LAYOUTS % sizeof(bytes), last = 0, fields = 0;
        cuvet_field_pos pos = { 0 };
        cuvet_field got;

        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bytes[i] = seed >> 60 > 9 ? (uint8_t)(seed >> 32 & 3) : (uint8_t)(seed >> 24);
        }
        while (cv_field_next(layout, cv_span_of(bytes, count, 0), &pos, &got)) {
            ck_assert_uint_lt(got.off, count);
            ck_assert_uint_ge(got.group, last);
            ck_assert_uint_lt(++fields, 200);
            last = got.group;
        }
        ck_assert(fields > 0 || !cv_layout_fits(layout, count) || count == 0);
    }
}
END_TEST

Suite *suite_record(void);
Suite *suite_record(void)
{
    Suite *suite = suite_create("format/record");
    TCase *tcase = tcase_create("fields");

    tcase_add_test(tcase, table_holds_together);
    tcase_add_test(tcase, parameter);
    tcase_add_test(tcase, list_of_pairs);
    tcase_add_test(tcase, words_behind_a_record);
    tcase_add_test(tcase, total_that_lies);
    tcase_add_test(tcase, place_of_another);
    tcase_add_test(tcase, annotations);
    tcase_add_test(tcase, versions);
    tcase_add_test(tcase, wide);
    tcase_add_test(tcase, nothing_fits_opaque);
    tcase_add_test(tcase, codes);
    tcase_add_test(tcase, any_bytes);
    suite_add_tcase(suite, tcase);
    return suite;
}
