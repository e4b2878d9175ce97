/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call frame information as people read it, and against the strict reader: what that one accepts has the same
 * ends. */
#include <check.h>
#include <string.h>

#include "format/dwarf/cfi.h"
#include "format/dwarf/read.h"
#include "format/dwarf/write.h"

static cuvet_status operation(const uint8_t *bytes, size_t size, uint64_t *pos, cuvet_cfi_op *op)
{
    return cv_cfi_op_next(cv_span_of(bytes, size, 0), 8, pos, op);
}

START_TEST(operations)
{
    static const struct {
        uint8_t bytes[12];
        size_t count;
        const char *name;
        cuvet_cfi_operand first, second;
        uint64_t first_value, second_value;
    } ROWS[] = {
        { { 0x00 }, 1, "nop", CUVET_CFI_NONE, CUVET_CFI_NONE, 0, 0 },
        { { 0x01, 8, 7, 6, 5, 4, 3, 2, 1 },
          9,
          "set_loc",
          CUVET_CFI_ADDRESS,
          CUVET_CFI_NONE,
          0x0102030405060708,
          0 },
        { { 0x02, 9 }, 2, "advance", CUVET_CFI_DISTANCE, CUVET_CFI_NONE, 9, 0 },
        { { 0x03, 9, 1 }, 3, "advance", CUVET_CFI_DISTANCE, CUVET_CFI_NONE, 0x109, 0 },
        { { 0x04, 9, 1, 0, 1 }, 5, "advance", CUVET_CFI_DISTANCE, CUVET_CFI_NONE, 0x1000109, 0 },
        { { 0x05, 0x81, 0x01, 3 }, 4, "offset", CUVET_CFI_REGISTER, CUVET_CFI_UNSIGNED, 129, 3 },
        { { 0x09, 1, 2 }, 3, "register", CUVET_CFI_REGISTER, CUVET_CFI_REGISTER, 1, 2 },
        { { 0x0F, 2, 7, 7 }, 4, "def_cfa_expression", CUVET_CFI_BLOCK, CUVET_CFI_NONE, 2, 0 },
        { { 0x11, 1, 0x7F }, 3, "offset", CUVET_CFI_REGISTER, CUVET_CFI_SIGNED, 1, UINT64_MAX },
        { { 0x12, 1, 0x3F }, 3, "def_cfa", CUVET_CFI_REGISTER, CUVET_CFI_SIGNED, 1, 63 },
        { { 0x13, 0x80, 0x7F }, 3, "def_cfa_offset", CUVET_CFI_SIGNED, CUVET_CFI_NONE, (uint64_t)-128, 0 },
        { { 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1 },
          11,
          "def_cfa_offset",
          CUVET_CFI_SIGNED,
          CUVET_CFI_NONE,
          UINT64_MAX,
          0 },
        { { 0x16, 5, 1, 0x96 }, 4, "val_expression", CUVET_CFI_REGISTER, CUVET_CFI_BLOCK, 5, 1 },
        { { 0x4A }, 1, "advance", CUVET_CFI_DISTANCE, CUVET_CFI_NONE, 10, 0 },
        { { 0x87, 0x10 }, 2, "offset", CUVET_CFI_COLUMN, CUVET_CFI_UNSIGNED, 7, 16 },
        { { 0xFF }, 1, "restore", CUVET_CFI_COLUMN, CUVET_CFI_NONE, 63, 0 },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cuvet_cfi_op op;
        uint64_t pos = 0;

        ck_assert_int_eq(operation(ROWS[i].bytes, ROWS[i].count, &pos, &op), CUVET_OK);
        ck_assert_str_eq(op.name, ROWS[i].name);
        ck_assert_int_eq(op.first, ROWS[i].first);
        ck_assert_int_eq(op.second, ROWS[i].second);
        ck_assert_uint_eq(op.first_value, ROWS[i].first_value);
        ck_assert_uint_eq(op.second_value, ROWS[i].second_value);
        ck_assert_uint_eq(pos, ROWS[i].count);
        ck_assert_int_eq(operation(ROWS[i].bytes, ROWS[i].count, &pos, &op), CUVET_END);
        for (size_t count = 1; count < ROWS[i].count; count++) { /* cut anywhere it is no operation */
            pos = 0;
            ck_assert_int_eq(operation(ROWS[i].bytes, count, &pos, &op), CUVET_E_MALFORMED);
            ck_assert_uint_eq(pos, 0);
        }
    }
}
END_TEST

START_TEST(unknown_code)
{
    for (unsigned code = 0x17; code < 0x40; code++) {
        const uint8_t byte = (uint8_t)code;
        cuvet_cfi_op op;
        uint64_t pos = 0;

        ck_assert_int_eq(operation(&byte, 1, &pos, &op), CUVET_E_UNSUPPORTED);
        ck_assert_uint_eq(op.code, code);
        ck_assert_ptr_null(op.name);
    }
}
END_TEST

/* A common entry of 64-bit form with the registers that compilers name, and one of a function. */
static const uint8_t FRAMES[] = {
    0xFF, 0xFF, 0xFF, 0xFF, 18,   0,    0,    0,    0,    0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xFF, 0xFF,                                              /* common */
    3,    0,    4,    0x7C, 0xFF, 0xFF, 0xFF, 0x2F, 0x0D, 1, /* its fields */
    0xFF, 0xFF, 0xFF, 0xFF, 26,   0,    0,    0,    0,    0, 0, 0, 0,    0,    0,    0,    0,    0,
    0,    0, /* function */
    0x10, 0,    0,    0,    0,    0,    0,    0,    0x80, 0, 0, 0, 0,    0,    0,    0,    0x41, 0x00,
};

START_TEST(entries)
{
    cv_span section = cv_span_of(FRAMES, sizeof(FRAMES), 0);
    cuvet_cfi_entry entry;
    uint64_t pos = 0, program = 0;

    ck_assert_int_eq(cv_cfi_next(section, 8, &pos, &program, &entry), CUVET_OK);
    ck_assert_uint_eq(entry.flags, CUVET_CFI_COMMON);
    ck_assert_uint_eq(entry.version, 3);
    ck_assert_uint_eq(entry.code_alignment, 4);
    ck_assert_int_eq(entry.data_alignment, -4);
    ck_assert_uint_eq(entry.return_register, 0x5FFFFFF);
    ck_assert_uint_eq(cv_cfi_register(entry.return_register), 0xFFFFFF);
    ck_assert_uint_eq(cv_cfi_register(0x6000001), UINT64_MAX);
    ck_assert_uint_eq(entry.program.n, 2);
    ck_assert_uint_eq(program, 28);
    ck_assert_uint_eq((entry.flags & CUVET_CFI_CUT) != 0, 0);
    ck_assert_int_eq(cv_cfi_next(section, 8, &pos, &program, &entry), CUVET_OK);
    ck_assert_uint_eq(entry.flags, 0);
    ck_assert_uint_eq(entry.off, 30);
    ck_assert_uint_eq(entry.start_off, 50);
    ck_assert_uint_eq(entry.start, 0x10);
    ck_assert_uint_eq(entry.range, 0x80);
    ck_assert_uint_eq(entry.program.n, 2);
    ck_assert_int_eq(cv_cfi_next(section, 8, &pos, &program, &entry), CUVET_END);
    for (size_t count = 31; count < sizeof(FRAMES); count++) {
        pos = 30;
        ck_assert_int_eq(cv_cfi_next(cv_span_of(FRAMES, count, 0), 8, &pos, &program, &entry),
                         CUVET_E_MALFORMED);
        ck_assert_uint_eq(pos, 30);
    }
}
END_TEST

/* An entry whose fields do not fit it is shown as far as it goes. */
START_TEST(cut_fields)
{
    uint8_t bytes[sizeof(FRAMES)];
    cuvet_cfi_entry entry;
    uint64_t pos = 30, program = 0;

    memcpy(bytes, FRAMES, sizeof(bytes));
    bytes[34] = 20; /* its length: the start and half of the range */
    ck_assert_int_eq(cv_cfi_next(cv_span_of(bytes, sizeof(bytes), 0), 8, &pos, &program, &entry), CUVET_OK);
    ck_assert_uint_eq((entry.flags & CUVET_CFI_CUT) != 0, 1);
    ck_assert_uint_eq(entry.start, 0x10);
    ck_assert_uint_eq(entry.range, 0);
    ck_assert_uint_eq(entry.program.n, 0);
}
END_TEST

START_TEST(same_ends_as_the_strict_reader)
{
    uint8_t bytes[24];
    uint64_t seed = 2463534242U, both = 0;

    for (unsigned round = 0; round < 20000; round++) {
        cv_frame frame = { .body = 0, .end = sizeof(bytes) };
        cv_frame_op strict;
        cv_dwarf_bad why;
        cuvet_cfi_op op;
        uint64_t pos = 0;
        cuvet_status st;

        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            bytes[i] = (uint8_t)(seed >> 40);
        }
        bytes[0] &= round & 1 ? 0x1F : 0xFF;
        st = operation(bytes, sizeof(bytes), &pos, &op);
        if (!cv_frame_op_read(cv_span_of(bytes, sizeof(bytes), 0), &frame, 0, &strict, &why)) {
            ck_assert_int_ne(st, CUVET_OK);
            continue;
        }
        ck_assert_int_eq(st, CUVET_OK);
        ck_assert_uint_eq(pos, strict.end);
        ck_assert_uint_eq(op.code, strict.code);
        ck_assert(!strict.advances || op.first_value == strict.steps);
        both++;
    }
    ck_assert_uint_gt(both, 10000);
}
END_TEST

/* Fields of a common entry as each version has them, for people and for the strict reader; then cut at each
 * byte. */
static const struct {
    uint8_t bytes[8];
    uint64_t count, program, at;
    cv_rule rule;
} COMMON[] = {
    { { 1, 0, 4, 0x7C, 9, 0x0D }, 6, 5, 0, CV_N_RULES },
    { { 3, 0, 4, 0x7C, 0x89, 0, 0x0D }, 7, 6, 0, CV_N_RULES },
    { { 4, 0, 8, 0, 4, 0x7C, 9, 0x0D }, 8, 7, 0, CV_N_RULES },
    { { 4, 0, 4, 0, 4, 0x7C, 9, 0x0D }, 8, 7, 2, CV_R_DWARF_FRAME },
    { { 4, 0, 8, 1, 4, 0x7C, 9, 0x0D }, 8, 7, 2, CV_R_DWARF_FRAME },
    { { 3, 0, 0, 0x7C, 9 }, 5, 5, 0, CV_R_DWARF_STEP },
    { { 2, 0, 4, 0x7C, 9 }, 5, 5, 0, CV_R_DWARF_VERSION },
    { { 3, 'z', 4, 0x7C, 9 }, 5, 5, 1, CV_R_DWARF_FRAME },
};

static cv_span common_entry(uint8_t *bytes, size_t row, uint64_t count)
{
    memset(bytes, 0, 24);
    bytes[0] = (uint8_t)(4 + count);
    memset(bytes + 4, 0xFF, 4);
    memcpy(bytes + 8, COMMON[row].bytes, count);
    return cv_span_of(bytes, 8 + count, 0);
}

START_TEST(common_versions)
{
    for (size_t row = 0; row < sizeof(COMMON) / sizeof(COMMON[0]); row++) {
        for (uint64_t count = 0; count <= COMMON[row].count; count++) {
            bool whole = count >= COMMON[row].program;
            uint64_t pos = 0, program = 0;
            cv_dwarf_bad bad = { 0 };
            cuvet_cfi_entry entry;
            cv_frame_common common;
            cv_frame frame;
            uint8_t bytes[24];
            cv_span section = common_entry(bytes, row, count);

            ck_assert_int_eq(cv_cfi_next(section, 8, &pos, &program, &entry), CUVET_OK);
            ck_assert_uint_eq(pos, section.len);
            ck_assert_uint_eq(entry.flags, CUVET_CFI_COMMON | (whole ? 0 : CUVET_CFI_CUT));
            ck_assert(cv_frame_read(section, 0, &frame, &bad) && frame.common);
            ck_assert_int_eq(cv_frame_common_read(section, &frame, &common, &bad),
                             whole && COMMON[row].rule == CV_N_RULES);
            if (!whole)
                continue;
            ck_assert_uint_eq(entry.version, COMMON[row].bytes[0]);
            ck_assert_uint_eq(program, 8 + COMMON[row].program);
            ck_assert_uint_eq(entry.return_register, 9);
            ck_assert_int_eq(entry.data_alignment, -4);
            if (COMMON[row].rule == CV_N_RULES) {
                ck_assert_uint_eq(common.step, 4);
                ck_assert_uint_eq(common.operations, program);
            } else {
                ck_assert_int_eq(bad.rule, COMMON[row].rule);
                ck_assert_uint_eq(bad.at, 8 + COMMON[row].at);
            }
        }
    }
}
END_TEST

/* What is written is what is read, and no byte longer than it has to be. */
START_TEST(leb_written)
{
    static const struct {
        uint64_t value, bytes;
    } ROWS[] = { { 0, 1 },          { 127, 1 },   { 128, 2 },
                 { 16383, 2 },      { 16384, 3 }, { UINT64_MAX >> 1, 9 },
                 { UINT64_MAX, 10 } };
    cv_dwarf_bad bad;
    cv_builder builder;
    cv_mem mem;

    cv_mem_init(&mem, NULL, CV_MIB);
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        uint64_t pos = 0, value = 1;

        cv_builder_init(&builder, &mem);
        cv_put_uleb(&builder, ROWS[i].value);
        ck_assert_uint_eq(builder.len, ROWS[i].bytes);
        ck_assert(cv_uleb_read(cv_builder_span(&builder), builder.len, &pos, &value, &bad));
        ck_assert_uint_eq(value, ROWS[i].value);
        ck_assert_uint_eq(pos, builder.len);
        cv_builder_free(&builder);
    }
}
END_TEST

Suite *suite_cfi(void);
Suite *suite_cfi(void)
{
    Suite *suite = suite_create("format/cfi");
    TCase *tcase = tcase_create("cfi");

    tcase_add_test(tcase, operations);
    tcase_add_test(tcase, unknown_code);
    tcase_add_test(tcase, entries);
    tcase_add_test(tcase, cut_fields);
    tcase_add_test(tcase, common_versions);
    tcase_add_test(tcase, same_ends_as_the_strict_reader);
    tcase_add_test(tcase, leb_written);
    suite_add_tcase(suite, tcase);
    return suite;
}
