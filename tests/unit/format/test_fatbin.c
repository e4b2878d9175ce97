/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Container and member headers: start from valid bytes, apply one edit, expect one rule at one offset. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "format/fatbin/read.h"
#include "format/fatbin/write.h"

#define AT 0x100u /* offset of the bytes in the "file" */

/* For tests of several steps. */
static cv_ctx *fresh(void)
{
    setup();
    return &the_ctx;
}

/* The first finding is the cause. */
static void expect(const char *rule, uint64_t off)
{
    if (!rule) {
        ck_assert_msg(n_diags == 0, "unexpected %s", n_diags ? cuvet_rule_get(first.rule)->id : "");
        return;
    }
    ck_assert_msg(n_diags != 0, "expected %s, nothing was reported", rule);
    ck_assert_str_eq(cuvet_rule_get(first.rule)->id, rule);
    ck_assert_uint_eq(first.file_off, AT + off);
}

static const struct {
    const char *name;
    unsigned off, width;
    uint64_t value;
    const char *rule;
    uint64_t rule_off;
    cuvet_status status;
} CONTAINER[] = {
    { "as it is", 0, 0, 0, NULL, 0, CUVET_OK },
    { "magic", 0, 4, 0xBA55ED51, "CV-FATBIN-002", 0, CUVET_E_MALFORMED },
    { "version 0", 4, 2, 0, "CV-FATBIN-003", 4, CUVET_E_MALFORMED },
    { "version 2", 4, 2, 2, "CV-FATBIN-003", 4, CUVET_E_MALFORMED },
    { "version 0x101", 4, 2, 0x101, "CV-FATBIN-003", 4, CUVET_E_MALFORMED },
    { "header size 0", 6, 2, 0, "CV-FATBIN-004", 6, CUVET_E_MALFORMED },
    { "header size 15", 6, 2, 15, "CV-FATBIN-004", 6, CUVET_E_MALFORMED },
    { "header size 24", 6, 2, 24, "CV-FATBIN-004", 6, CUVET_E_MALFORMED },
    { "size 0", 8, 8, 0, "CV-FATBIN-008", 8, CUVET_OK },
    { "size not a multiple of 8", 8, 8, 63, "CV-FATBIN-006", 8, CUVET_OK },
    { "size at the end", 8, 8, 64, NULL, 0, CUVET_OK },
    { "size one step past the end", 8, 8, 72, "CV-FATBIN-007", 8, CUVET_OK },
    { "size all ones", 8, 8, UINT64_MAX - 7, "CV-FATBIN-007", 8, CUVET_OK },
    { "size 2^63", 8, 8, UINT64_C(1) << 63, "CV-FATBIN-007", 8, CUVET_OK },
};

START_TEST(container_fields)
{
    uint8_t byte[16] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0, 64 };
    cv_fatbin_container container = { 0 };

    for (unsigned i = 0; i < CONTAINER[_i].width; i++)
        byte[CONTAINER[_i].off + i] = (uint8_t)(CONTAINER[_i].value >> (8 * i));
    ck_assert_int_eq(cv_fatbin_read_container(fresh(), cv_span_of(byte, 16, AT), 80, 0, &container),
                     CONTAINER[_i].status);
    expect(CONTAINER[_i].rule, CONTAINER[_i].rule_off);
    ck_assert_uint_le(container.body_size, 64);
}
END_TEST

START_TEST(container_prefixes)
{
    uint8_t byte[16] = { 0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0, 64 };
    cv_fatbin_container container;

    for (uint64_t count = 0; count < 16; count++) {
        ck_assert_int_eq(cv_fatbin_read_container(fresh(), cv_span_of(byte, count, AT), count, 0, &container),
                         CUVET_E_MALFORMED);
        ck_assert_str_eq(cuvet_rule_get(first.rule)->id, "CV-FATBIN-001");
    }
    ck_assert_int_eq(cv_fatbin_read_container(fresh(), cv_span_of(byte, 16, AT), 80, 4, &container),
                     CUVET_OK);
    expect("CV-FATBIN-005", 0);
    ck_assert_int_eq(cv_fatbin_read_container(fresh(), cv_span_of(byte, 16, AT), 15, 0, &container),
                     CUVET_OK);
    expect("CV-FATBIN-007", 8);
}
END_TEST

static const struct {
    const char *name;
    uint32_t header;
    uint64_t payload, left;
    const char *rule;
    uint64_t rule_off;
} EXTENT[] = {
    { "fits", 64, 8, 72, NULL, 0 },
    { "no payload", 64, 0, 64, NULL, 0 },
    { "63 bytes left", 64, 0, 63, "CV-FATBIN-009", 0 },
    { "nothing left", 64, 0, 0, "CV-FATBIN-009", 0 },
    { "header 0", 0, 8, 100, "CV-FATBIN-010", 4 },
    { "header 56", 56, 8, 100, "CV-FATBIN-010", 4 },
    { "header 68", 68, 8, 100, "CV-FATBIN-011", 4 },
    { "header past the end", 72, 0, 71, "CV-FATBIN-012", 4 },
    { "header 0x7ffffff8", 0x7FFFFFF8, 0, 100, "CV-FATBIN-012", 4 },
    { "payload not a multiple of 8", 64, 4, 100, "CV-FATBIN-013", 8 },
    { "payload one step too long", 64, 16, 72, "CV-FATBIN-014", 8 },
    { "payload 2^64 - 64", 64, UINT64_MAX - 63, 128, "CV-FATBIN-014", 8 },
};

START_TEST(member_extents)
{
    uint8_t byte[64] = { 0 };
    uint64_t hash = 1, place = 1, count = EXTENT[_i].left < 64 ? EXTENT[_i].left : 64;
    cv_span head = cv_span_of(byte, count, AT);
    bool ok;

    for (unsigned i = 0; i < 4; i++)
        byte[4 + i] = (uint8_t)(EXTENT[_i].header >> (8 * i));
    for (unsigned i = 0; i < 8; i++)
        byte[8 + i] = (uint8_t)(EXTENT[_i].payload >> (8 * i));
    ok = cv_fatbin_member_extent(head, EXTENT[_i].left, &hash, &place);
    ck_assert_int_eq(ok, EXTENT[_i].rule == NULL);
    if (ok) {
        ck_assert_uint_eq(hash, EXTENT[_i].header);
        ck_assert_uint_eq(place, EXTENT[_i].payload);
    } else {
        ck_assert_int_eq(cv_fatbin_reject_member(fresh(), head, EXTENT[_i].left), CUVET_E_MALFORMED);
        expect(EXTENT[_i].rule, EXTENT[_i].rule_off);
    }
}
END_TEST

/* Whether a member can begin there: the same question, and the version. */
START_TEST(member_begins)
{
    uint8_t byte[64] = { [2] = 1, [3] = 1 };
    uint64_t hs = 1, ps = 1, count = EXTENT[_i].left < 64 ? EXTENT[_i].left : 64;

    for (unsigned i = 0; i < 4; i++)
        byte[4 + i] = (uint8_t)(EXTENT[_i].header >> (8 * i));
    for (unsigned i = 0; i < 8; i++)
        byte[8 + i] = (uint8_t)(EXTENT[_i].payload >> (8 * i));
    ck_assert_int_eq(cv_fatbin_begins_member(cv_span_of(byte, count, AT), EXTENT[_i].left),
                     EXTENT[_i].rule == NULL);
    ck_assert(!cv_fatbin_begins_member(cv_span_of(byte, 64, AT), 63));
    ck_assert(!cv_fatbin_member_extent(cv_span_of(byte, 64, AT), 63, &hs, &ps));
    byte[2] = 2;
    ck_assert(!cv_fatbin_begins_member(cv_span_of(byte, count, AT), EXTENT[_i].left));
}
END_TEST

/* Every field of the fixed parts, from bytes that all differ; where the bytes end before it does, zero. */
START_TEST(fields_by_name)
{
    static const struct {
        cv_fatbin_field field;
        unsigned off, width;
    } FIELDS[] = {
#define FIELD(header, name, offset, bytes) { CV_FB_FIELD_##header##_##name, offset, bytes },
#include "fatbin.def"
    };
    uint8_t byte[64];

    for (unsigned i = 0; i < sizeof(byte); i++)
        byte[i] = (uint8_t)(0x80 + i);
    for (size_t i = 0; i < sizeof(FIELDS) / sizeof(FIELDS[0]); i++) {
        unsigned end = FIELDS[i].off + FIELDS[i].width;
        uint64_t want = 0;

        for (unsigned k = FIELDS[i].width; k-- > 0;)
            want = want << 8 | byte[FIELDS[i].off + k];
        ck_assert_uint_eq(cv_fatbin_get(cv_span_of(byte, end, 0), FIELDS[i].field), want);
        ck_assert_uint_eq(cv_fatbin_get(cv_span_of(byte, end - 1, 0), FIELDS[i].field), 0);
    }
}
END_TEST

/* The good members the edits start from. */
typedef enum base { ELF90, PTX, ELF100, LTO, ELF_IDENT, LTO_OLD, PTX_OLD, ELF128 } base;

static const uint8_t COMPAT[] = { 2, 9, 0, 0, 2, 2, 1, 0 };

static void build(base which, cv_builder *builder, cv_mem *mem)
{
    cv_fatbin_member member = {
        .kind = 2, .minor = 8, .major = 1, .arch = 90, .payload_size = 16, .flags = 0x11
    };

    cv_mem_init(mem, NULL, 1 << 16);
    cv_builder_init(builder, mem);
    if (which == PTX || which == PTX_OLD) {
        member = (cv_fatbin_member){ .kind = 1,
                                     .major = 9,
                                     .arch = 90,
                                     .payload_size = 16,
                                     .compressed_size = 13,
                                     .flags = 0x8011,
                                     .uncompressed_size = 40,
                                     .has_options = true,
                                     .options = cv_span_of("-O3 -v", 6, 0) };
    } else if (which == ELF100 || which == ELF128) {
        member.arch = 100, member.flags = 0x1008011, member.compressed_size = 9,
        member.uncompressed_size = 100, member.has_options = true;
        member.compat_copy = cv_span_of(COMPAT, sizeof(COMPAT), 0);
    } else if (which == LTO || which == LTO_OLD) {
        member = (cv_fatbin_member){ .kind = 8,
                                     .minor = 65,
                                     .major = 1,
                                     .arch = 75,
                                     .payload_size = 8,
                                     .compressed_size = 8,
                                     .flags = 0x18011,
                                     .key = 0x1234,
                                     .uncompressed_size = 50,
                                     .has_options = true,
                                     .options = cv_span_of("-ftz=0 ", 7, 0) };
    } else if (which == ELF_IDENT) {
        member.ident = cv_span_of("hello.cu", 8, 0);
        member.flags = 0x13;
    }
    cv_fatbin_put_member(builder, &member);
    ck_assert(!builder->failed);
}

static const struct {
    base from;
    unsigned off, width;
    uint64_t value;
    const char *rule;
    uint64_t rule_off;
    cuvet_status status;
} MEMBER[] = {
    { ELF90, 0, 0, 0, NULL, 0, CUVET_OK },
    { PTX, 0, 0, 0, NULL, 0, CUVET_OK },
    { ELF100, 0, 0, 0, NULL, 0, CUVET_OK },
    { LTO, 0, 0, 0, NULL, 0, CUVET_OK },
    { ELF_IDENT, 0, 0, 0, NULL, 0, CUVET_OK },
    { ELF90, 0, 2, 16, "CV-FATBIN-055", 0, CUVET_OK },
    { ELF90, 0, 2, 0x20, "CV-FATBIN-055", 0, CUVET_OK },
    { ELF90, 0, 2, 0x40, "CV-FATBIN-055", 0, CUVET_OK },
    { ELF90, 0, 2, 0x80, "CV-FATBIN-016", 0, CUVET_OK },
    { ELF90, 0, 2, 0, "CV-FATBIN-016", 0, CUVET_OK },
    { ELF90, 0, 2, 0x100, "CV-FATBIN-016", 0, CUVET_OK },
    { ELF90, 2, 2, 0x100, "CV-FATBIN-015", 2, CUVET_OK },
    { ELF90, 0x1C, 4, 0, "CV-FATBIN-017", 0x1C, CUVET_OK },
    { ELF90, 0x10, 4, 9, "CV-FATBIN-018", 0x10, CUVET_E_MALFORMED },
    { ELF90, 0x38, 8, 9, "CV-FATBIN-019", 0x38, CUVET_E_MALFORMED },
    { PTX, 0x28, 8, 0x1011, "CV-FATBIN-020", 0x28, CUVET_E_UNSUPPORTED },
    { PTX, 0x28, 8, 0x4011, "CV-FATBIN-020", 0x28, CUVET_E_UNSUPPORTED },
    { PTX, 0x28, 8, 0xA011, "CV-FATBIN-021", 0x28, CUVET_E_MALFORMED },
    { PTX, 0x10, 4, 0, "CV-FATBIN-022", 0x10, CUVET_E_MALFORMED },
    { PTX, 0x10, 4, 8, "CV-FATBIN-023", 0x10, CUVET_E_MALFORMED },
    { PTX, 0x10, 4, 9, NULL, 0, CUVET_OK },
    { PTX, 0x10, 4, 16, NULL, 0, CUVET_OK },
    { PTX, 0x10, 4, 17, "CV-FATBIN-023", 0x10, CUVET_E_MALFORMED },
    { PTX, 0x10, 4, UINT32_MAX, "CV-FATBIN-023", 0x10, CUVET_E_MALFORMED },
    { PTX, 0x38, 8, 0, "CV-FATBIN-024", 0x38, CUVET_E_MALFORMED },
    { PTX, 0x28, 8, 0x2011, NULL, 0, CUVET_OK },
    { ELF90, 0x28, 8, 0x15, NULL, 0, CUVET_OK }, /* of fatbinary up to 10.2; what is in it decides: agree.c */
    { ELF90, 0x28, 8, 0x19, "CV-FATBIN-025", 0x28, CUVET_OK },
    { ELF90, 0x28, 8, UINT64_C(0x8000000000000011), "CV-FATBIN-025", 0x28, CUVET_OK },
    { ELF90, 0x28, 8, 0x1, "CV-FATBIN-026", 0x28, CUVET_OK },
    { ELF90, 0x28, 8, 0x10, "CV-FATBIN-027", 0x28, CUVET_OK },
    { ELF90, 0x28, 8, 0x13, NULL, 0, CUVET_OK },
    { ELF90, 0x28, 8, 0x300011, "CV-FATBIN-028", 0x28, CUVET_OK },
    { ELF90, 0x28, 8, 0x100011, NULL, 0, CUVET_OK },
    { ELF90, 0x28, 8, 0x10011, "CV-FATBIN-029", 0x28, CUVET_OK },
    { LTO, 0x28, 8, 0x8011, "CV-FATBIN-031", 0x30, CUVET_OK },
    { ELF90, 0x28, 8, 0x1000011, "CV-FATBIN-030", 0x28, CUVET_OK },
    { ELF100, 0x28, 8, 0x8011, "CV-FATBIN-030", 0x28, CUVET_OK },
    { ELF90, 0x30, 8, 1, "CV-FATBIN-031", 0x30, CUVET_OK },
    { LTO, 0x30, 8, 0, "CV-FATBIN-031", 0x30, CUVET_OK },
    { LTO, 0x30, 8, UINT64_C(1) << 32, "CV-FATBIN-031", 0x30, CUVET_OK },
    { ELF90, 0x24, 4, 1, "CV-FATBIN-032", 0x24, CUVET_OK },
    { ELF_IDENT, 0x20, 4, 0x41, "CV-FATBIN-033", 0x20, CUVET_OK },
    { ELF_IDENT, 0x20, 4, 0x20, "CV-FATBIN-033", 0x20, CUVET_OK },
    { ELF_IDENT, 0x24, 4, 16, "CV-FATBIN-034", 0x24, CUVET_OK },
    { ELF_IDENT, 0x24, 4, UINT32_MAX, "CV-FATBIN-034", 0x24, CUVET_OK },
    { ELF_IDENT, 0x24, 4, 9, "CV-FATBIN-035", 0x40, CUVET_OK },
    { ELF_IDENT, 0x42, 1, 0, "CV-FATBIN-035", 0x40, CUVET_OK },
    { ELF_IDENT, 0x4F, 1, 1, "CV-FATBIN-036", 0x48, CUVET_OK },
    { PTX, 0x14, 4, 0x48, "CV-FATBIN-037", 0x14, CUVET_OK },
    { PTX, 0x14, 4, 0, "CV-FATBIN-042", 0x14, CUVET_OK },
    { PTX, 0x40, 4, 0x50, "CV-FATBIN-039", 0x40, CUVET_OK },
    { PTX, 0x44, 4, 8, "CV-FATBIN-040", 0x44, CUVET_OK },
    { PTX, 0x44, 4, UINT32_MAX, "CV-FATBIN-040", 0x44, CUVET_OK },
    { PTX, 0x44, 4, 5, "CV-FATBIN-041", 0x48, CUVET_OK },
    { PTX, 0x44, 4, 7, "CV-FATBIN-041", 0x48, CUVET_OK },
    { PTX, 0x4F, 1, 1, "CV-FATBIN-036", 0x4F, CUVET_OK },
    { ELF90, 0x14, 4, 0x40, "CV-FATBIN-038", 0x14, CUVET_OK },
    { ELF100, 0x14, 4, 0, "CV-FATBIN-043", 0x40, CUVET_OK },
};

START_TEST(member_fields)
{
    cv_fatbin_member out;
    cv_builder builder;
    cv_mem mem;
    uint8_t bytes[256];
    uint64_t count;

    build(MEMBER[_i].from, &builder, &mem);
    count = cv_builder_span(&builder).len;
    for (uint64_t i = 0; i < count; i++)
        bytes[i] = cv_u8_at(cv_builder_span(&builder), i);
    for (unsigned i = 0; i < MEMBER[_i].width; i++)
        bytes[MEMBER[_i].off + i] = (uint8_t)(MEMBER[_i].value >> (8 * i));
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(bytes, count, AT), &out), MEMBER[_i].status);
    expect(MEMBER[_i].rule, MEMBER[_i].rule_off);
    /* What is said of a whole field, and does not end the reading, says how long the field is. */
    if (MEMBER[_i].rule && MEMBER[_i].status == CUVET_OK && MEMBER[_i].rule_off == MEMBER[_i].off)
        ck_assert_uint_eq(first.length, MEMBER[_i].width);
    if (MEMBER[_i].rule && strcmp(MEMBER[_i].rule, "CV-FATBIN-025") == 0) /* what is known of both words */
        ck_assert_uint_eq(first.want, 0x11);
    cv_builder_free(&builder);
    cv_islands_drop();
}
END_TEST

/* PTX of fatbinary up to 10.2, which the flag 0x4 tells, has room for one byte more; no other writer has it,
 * no other kind. */
START_TEST(spare_byte)
{
    static const struct {
        base from;
        uint8_t flags;
        uint32_t stored;
        bool ok;
    } ROWS[] = {
        { PTX, 0x15, 13, true },    { PTX, 0x15, 8, true },    { PTX, 0x15, 7, false },
        { PTX, 0x15, 17, false },   { PTX, 0x11, 8, false },   { LTO, 0x15, 8, true },
        { ELF100, 0x15, 8, false }, { ELF100, 0x15, 9, true },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cv_fatbin_member out;
        cv_builder builder;
        cv_mem mem;
        uint8_t bytes[256];
        uint64_t count;

        build(ROWS[i].from, &builder, &mem);
        count = cv_builder_span(&builder).len;
        cv_span_copy(cv_builder_span(&builder), bytes);
        bytes[0x28] = ROWS[i].flags;
        bytes[0x10] = (uint8_t)ROWS[i].stored;
        ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(bytes, count, AT), &out) == CUVET_OK,
                         ROWS[i].ok);
        if (!ROWS[i].ok)
            expect("CV-FATBIN-023", 0x10);
        cv_builder_free(&builder);
        cv_islands_drop();
    }
}
END_TEST

/* write . read = identity on canonical headers. */
START_TEST(read_write_identity)
{
    static const base ALL[] = { ELF90, PTX, ELF100, LTO, ELF_IDENT };

    for (unsigned i = 0; i < 5; i++) {
        cv_fatbin_member member;
        cv_builder left, right;
        cv_mem mem;

        build(ALL[i], &left, &mem);
        ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_builder_span(&left), &member), CUVET_OK);
        ck_assert_uint_eq(n_diags, 0);
        cv_builder_init(&right, &mem);
        cv_fatbin_put_member(&right, &member);
        ck_assert(cv_span_eq(cv_builder_span(&left), cv_builder_span(&right)));
        cv_builder_free(&left);
        cv_builder_free(&right);
        cv_islands_drop();
    }
}
END_TEST

START_TEST(container_write_read)
{
    cv_fatbin_container container;
    cv_builder builder;
    cv_mem mem;

    cv_mem_init(&mem, NULL, 4096);
    cv_builder_init(&builder, &mem);
    cv_fatbin_put_container(&builder, 128);
    ck_assert_int_eq(cv_fatbin_read_container(fresh(), cv_builder_span(&builder), 144, 0, &container),
                     CUVET_OK);
    ck_assert_uint_eq(container.size, 128);
    ck_assert_uint_eq(n_diags, 0);
    cv_builder_free(&builder);
}
END_TEST

/* Header forms of older tools: an empty identifier area before LTO-IR options, PTX without a string, three
 * compat values. */
static void put_header(uint8_t *bytes, uint16_t kind, uint32_t size, uint32_t options, uint32_t arch,
                       uint64_t flags)
{
    memset(bytes, 0, 256);
    bytes[0] = (uint8_t)kind, bytes[2] = bytes[3] = 1, bytes[4] = (uint8_t)size,
    bytes[0x14] = (uint8_t)options, bytes[0x1C] = (uint8_t)arch;
    bytes[8] = 8, bytes[0x10] = 8, bytes[0x38] = 50;
    for (unsigned i = 0; i < 8; i++)
        bytes[0x28 + i] = (uint8_t)(flags >> (8 * i));
}

START_TEST(old_forms)
{
    cv_fatbin_member member;
    uint8_t byte[256];

    put_header(byte, 8, 0x58, 0x48, 75, 0x12011);
    byte[0x30] = 1, byte[0x48] = 0x50;
    byte[0x48 + 4] = 3, memcpy(byte + 0x50, "-x ", 3);
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(byte, 0x58, AT), &member), CUVET_OK);
    expect(NULL, 0);
    ck_assert(cv_span_eq_str(member.options, "-x "));
    byte[0x41] = 1;
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(byte, 0x58, AT), &member), CUVET_OK);
    expect("CV-FATBIN-037", 0x14); /* no empty identifier any more */

    put_header(byte, 1, 0x48, 0x40, 70, 0x2011);
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(byte, 0x48, AT), &member), CUVET_OK);
    expect(NULL, 0);
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(byte, 0x50, AT), &member), CUVET_OK);
    expect("CV-FATBIN-043", 0x48);

    put_header(byte, 2, 0x50, 0x40, 100, 0x1002011);
    byte[0x40] = 0x48, byte[0x44] = 3, byte[0x48] = 1, byte[0x4A] = 5;
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(byte, 0x50, AT), &member), CUVET_OK);
    expect(NULL, 0);
    ck_assert(member.compat_values);
    ck_assert_uint_eq(member.compat_copy.len, 3);
    cv_islands_drop();
}
END_TEST

START_TEST(compat_copy_is_found)
{
    cv_fatbin_member member;
    cv_builder builder;
    cv_mem mem;

    build(ELF100, &builder, &mem);
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_builder_span(&builder), &member), CUVET_OK);
    ck_assert(cv_span_eq(member.compat_copy, cv_span_of(COMPAT, sizeof(COMPAT), 0)));
    ck_assert_uint_eq(member.options.len, 0);
    cv_builder_free(&builder);
    cv_islands_drop();
}
END_TEST

START_TEST(header_area_limit)
{
    cv_fatbin_member member;
    uint8_t *bytes = calloc(1, 64 + 65536 + 8);

    bytes[0] = 2, bytes[2] = bytes[3] = 1, bytes[0x1C] = 90, bytes[0x28] = 0x11;
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(bytes, 64 + 65536 + 8, AT), &member),
                     CUVET_E_LIMIT);
    expect("CV-LIMIT-012", 4);
    ck_assert_int_eq(cv_fatbin_read_member(fresh(), cv_span_of(bytes, 64 + 65536, AT), &member), CUVET_OK);
    expect("CV-FATBIN-043", 64);
    free(bytes);
}
END_TEST

Suite *suite_fatbin(void)
{
    Suite *suite = suite_create("fatbin");
    TCase *tcase = tcase_create("fatbin");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, container_fields, 0, (int)CV_COUNT(CONTAINER));
    tcase_add_test(tcase, container_prefixes);
    tcase_add_test(tcase, fields_by_name);
    tcase_add_loop_test(tcase, member_extents, 0, (int)CV_COUNT(EXTENT));
    tcase_add_loop_test(tcase, member_begins, 0, (int)CV_COUNT(EXTENT));
    tcase_add_loop_test(tcase, member_fields, 0, (int)CV_COUNT(MEMBER));
    tcase_add_test(tcase, spare_byte);
    tcase_add_test(tcase, read_write_identity);
    tcase_add_test(tcase, container_write_read);
    tcase_add_test(tcase, old_forms);
    tcase_add_test(tcase, compat_copy_is_found);
    tcase_add_test(tcase, header_area_limit);
    suite_add_tcase(suite, tcase);
    return suite;
}
