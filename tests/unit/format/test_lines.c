/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Units of line programs: heads of each version and with any number of standard opcodes, and their
 * operations. */
#include <check.h>
#include <string.h>

#include "format/dwarf/read.h"

static uint8_t bytes[64];

/* A head of that version with the usual operands for 'base' - 1 opcodes, and 'program' behind it. */
static uint64_t put_unit(unsigned version, unsigned base, const uint8_t *program, size_t count)
{
    static const uint8_t USUAL[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
    uint64_t at = 10;

    memset(bytes, 0, sizeof(bytes));
    bytes[4] = (uint8_t)version;
    bytes[at++] = 4; /* least instruction length */
    if (version >= 4)
        bytes[at++] = 1;
    bytes[at++] = 1;
    bytes[at++] = 0xFB; /* line base */
    bytes[at++] = 14;   /* line range */
    bytes[at++] = (uint8_t)base;
    for (unsigned i = 0; i + 1 < base; i++)
        bytes[at++] = i < sizeof(USUAL) ? USUAL[i] : 2;
    bytes[6] = (uint8_t)(at - 10);
    for (size_t i = 0; i < count; i++)
        bytes[at + i] = program[i];
    bytes[0] = (uint8_t)(at + count - 4);
    return at + count;
}

static bool read_unit(uint64_t size, cv_line_unit *unit, cv_dwarf_bad *bad)
{
    return cv_line_unit_read(cv_span_of(bytes, size, 0), 0, unit, bad);
}

START_TEST(heads)
{
    for (unsigned version = 2; version <= 4; version++) {
        for (unsigned base = 1; base <= 20; base++) {
            uint64_t size = put_unit(version, base, NULL, 0);
            cv_dwarf_bad bad = { 0 };
            cv_line_unit unit;

            ck_assert(read_unit(size, &unit, &bad));
            ck_assert_uint_eq(unit.version, version);
            ck_assert_uint_eq(unit.base, base);
            ck_assert_uint_eq(unit.range, 14);
            ck_assert_uint_eq(unit.least, 4);
            ck_assert(unit.program == size && unit.end == size);
            for (unsigned i = 0; i + 1 < base;
                 i++) { /* other operands than the usual; new opcodes have any */
                uint64_t at = size - base + 1 + i;

                bytes[at] ^= 3;
                ck_assert_int_eq(read_unit(size, &unit, &bad), i >= 12);
                ck_assert(i >= 12 || (bad.rule == CV_R_DWARF_HEADER && bad.at == at));
                bytes[at] ^= 3;
            }
        }
    }
}
END_TEST

/* The head ends before its fields do, which are one more from version 4 on. */
START_TEST(short_heads)
{
    for (unsigned version = 3; version <= 4; version++) {
        uint64_t fields = version == 4 ? 6 : 5;
        uint64_t size = put_unit(version, 1, NULL, 0);

        for (uint64_t count = 0; count <= fields; count++) {
            cv_dwarf_bad bad = { 0 };
            cv_line_unit unit;

            bytes[6] = (uint8_t)count;
            ck_assert_int_eq(read_unit(size, &unit, &bad), count == fields);
            if (count == fields)
                continue;
            ck_assert_int_eq(bad.rule, CV_R_DWARF_HEADER);
            ck_assert_uint_eq(bad.at, 6);
            ck_assert_uint_eq(bad.got, count);
            ck_assert_uint_eq(bad.want, fields);
        }
    }
}
END_TEST

START_TEST(operations)
{
    static const struct {
        uint8_t bytes[12];
        size_t count;
        cv_line_kind kind;
        uint64_t step;
    } ROWS[] = {
        { { 0, 1, 1 }, 3, CV_LINE_END, 0 },
        { { 0, 9, 2, 1, 2, 3, 4, 5, 6, 7, 8 }, 11, CV_LINE_ADDRESS, 0 },
        { { 0, 2, 3, 'x' }, 4, CV_LINE_PLAIN, 0 },
        { { 1 }, 1, CV_LINE_ROW, 0 },
        { { 2, 0x81, 1 }, 3, CV_LINE_STEP, 4 * 129 },
        { { 3, 0x7F }, 2, CV_LINE_PLAIN, 0 },
        { { 8 }, 1, CV_LINE_STEP, 4 * ((255 - 10) / 14) },
        { { 9, 1, 2 }, 3, CV_LINE_STEP, 0x201 },
        { { 10 }, 1, CV_LINE_SPECIAL, 0 },
        { { 255 }, 1, CV_LINE_SPECIAL, 4 * ((255 - 10) / 14) },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        uint64_t size = put_unit(3, 10, ROWS[i].bytes, ROWS[i].count);
        cv_dwarf_bad bad = { 0 };
        cv_line_unit unit;
        cv_line_op op;

        ck_assert(read_unit(size, &unit, &bad));
        ck_assert(cv_line_op_read(cv_span_of(bytes, size, 0), &unit, unit.program, &op, &bad));
        ck_assert_int_eq(op.kind, ROWS[i].kind);
        ck_assert_uint_eq(op.end, size);
        ck_assert_uint_eq(op.step, ROWS[i].step);
        ck_assert(op.kind != CV_LINE_ADDRESS || op.address == unit.program + 3);
        for (size_t count = 1; count < ROWS[i].count; count++) { /* cut anywhere it is none */
            bytes[0] = (uint8_t)(unit.program + count - 4);
            ck_assert(read_unit(unit.program + count, &unit, &bad));
            ck_assert(!cv_line_op_read(cv_span_of(bytes, unit.end, 0), &unit, unit.program, &op, &bad));
            ck_assert(bad.rule == CV_R_DWARF_OPERAND || bad.rule == CV_R_DWARF_NUMBER);
        }
    }
}
END_TEST

Suite *suite_lines(void);
Suite *suite_lines(void)
{
    Suite *suite = suite_create("format/lines");
    TCase *tcase = tcase_create("lines");

    tcase_add_test(tcase, heads);
    tcase_add_test(tcase, short_heads);
    tcase_add_test(tcase, operations);
    suite_add_tcase(suite, tcase);
    return suite;
}
