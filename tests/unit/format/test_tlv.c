/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Attribute records: what is written is read back the same, every rule on one record fires at its place and
 * not on the legal neighbour, the tables have no holes. */
#include <check.h>
#include <string.h>

#include "fixture.h"
#include "format/tlv/attr.h"
#include "format/tlv/write.h"

#define BASE 0x100u /* the section lies here in its file */

/* All rows: bytes of a section, the rule expected (NONE: nothing) at which offset of the section. */
typedef struct tlv_row {
    const char *label;
    uint8_t len;
    uint8_t byte[48];
    cv_rule rule;
    uint64_t at, got, want;
} tlv_row;

#define OK NONE, 0, 0, 0

static void expect(const tlv_row *row)
{
    expect_finding(row->label, row->rule, BASE + row->at, row->got, row->want);
}

static const tlv_row WALK[] = {
    { "nothing", 0, { 0 }, OK },
    { "no value", 4, { 1, 0x2B, 0, 0 }, OK },
    { "byte", 4, { 2, 0x4C, 255, 0 }, OK },
    { "half", 4, { 3, 0x1B, 255, 255 }, OK },
    { "empty payload", 4, { 4, 0x1C, 0, 0 }, OK },
    { "two records", 12, { 4, 0x1C, 4, 0, 0, 0, 0, 0, 1, 0x2B, 0, 0 }, OK },
    { "format 0", 4, { 0, 0x2B, 0, 0 }, CV_R_TLV_FORMAT, 0, 0, 4 },
    { "format 5", 8, { 1, 0x2B, 0, 0, 5, 0x2B, 0, 0 }, CV_R_TLV_FORMAT, 4, 5, 4 },
    { "format 255", 4, { 255, 0x2B, 0, 0 }, CV_R_TLV_FORMAT, 0, 255, 4 },
    { "1 byte", 1, { 1 }, CV_R_TLV_CUT, 0, 1, 4 },
    { "3 bytes left", 7, { 1, 0x2B, 0, 0, 1, 0x2B, 0 }, CV_R_TLV_CUT, 4, 3, 4 },
    { "payload past the end", 7, { 4, 0x1C, 4, 0, 0, 0, 0 }, CV_R_TLV_CUT, 0, 7, 8 },
    { "payload of 64 KiB", 8, { 4, 0x1C, 0xFC, 0xFF, 0, 0, 0, 0 }, CV_R_TLV_CUT, 0, 8, 65536 },
    { "odd payload", 8, { 4, 0x1C, 2, 0, 0, 0, 0, 0 }, CV_R_TLV_LENGTH, 2, 2, 4 },
    { "padding of no value, low", 4, { 1, 0x2B, 1, 0 }, CV_R_TLV_PADDING, 2, 1, 0 },
    { "padding of no value, high", 4, { 1, 0x2B, 0, 1 }, CV_R_TLV_PADDING, 2, 256, 0 },
    { "padding of byte", 4, { 2, 0x4C, 7, 1 }, CV_R_TLV_PADDING, 3, 263, 0 },
};

START_TEST(walk)
{
    const tlv_row *row = &WALK[_i];
    cv_span span = cv_span_of(row->byte, row->len, BASE);
    uint64_t pos = 0, before = 0;
    cuvet_status st;
    cv_tlv tlv;

    while ((st = cv_tlv_next(&the_ctx, span, &pos, &tlv)) == CUVET_OK) {
        ck_assert_uint_eq(tlv.off, before);
        ck_assert_uint_eq(tlv.next, pos);
        before = pos;
    }
    expect(row);
    if (row->rule == NONE || row->rule == CV_R_TLV_PADDING) {
        ck_assert_int_eq(st, CUVET_END);
        ck_assert_uint_eq(pos, span.len);
    } else {
        ck_assert_int_eq(st, CUVET_E_MALFORMED);
    }
}
END_TEST

/* Records of every format, written, read, written again. */
START_TEST(round_trip)
{
    static const uint8_t words[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    cv_builder left, right;
    uint64_t pos = 0;
    cuvet_status st;
    cv_tlv tlv;

    cv_builder_init(&left, &the_ctx.mem);
    cv_builder_init(&right, &the_ctx.mem);
    cv_tlv_put_nval(&left, 0x2B);
    cv_tlv_put_bval(&left, 0x4C, 200);
    cv_tlv_put_hval(&left, 0x1B, 0xFFFE);
    ck_assert(cv_tlv_put_sval(&left, 0x1C, cv_span_of(words, 12, 0)));
    ck_assert(cv_tlv_put_sval(&left, 0x1C, cv_span_of(words, 0, 0)));
    ck_assert(!cv_tlv_put_sval(&left, 0x1C, cv_span_of(words, 5, 0)));
    ck_assert(!left.failed);
    ck_assert_uint_eq(left.len, 32);
    while ((st = cv_tlv_next(&the_ctx, cv_builder_span(&left), &pos, &tlv)) == CUVET_OK) {
        cv_span payload;

        switch (tlv.format) {
        case CV_TLV_NVAL: cv_tlv_put_nval(&right, tlv.code); break;
        case CV_TLV_BVAL: cv_tlv_put_bval(&right, tlv.code, (uint8_t)tlv.value); break;
        case CV_TLV_HVAL: cv_tlv_put_hval(&right, tlv.code, tlv.value); break;
        default:
            ck_assert(cv_span_sub(cv_builder_span(&left), tlv.payload, tlv.value, &payload));
            ck_assert(cv_tlv_put_sval(&right, tlv.code, payload));
        }
    }
    ck_assert_int_eq(st, CUVET_END);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert(cv_span_eq(cv_builder_span(&left), cv_builder_span(&right)));
    cv_builder_free(&left);
    cv_builder_free(&right);
}
END_TEST

/* The longest payload is the largest multiple of 4 below 64 KiB. */
START_TEST(longest)
{
    cv_builder zeros, builder;
    cv_span span;

    cv_builder_init(&zeros, &the_ctx.mem);
    cv_builder_init(&builder, &the_ctx.mem);
    cv_put_zero(&zeros, 65536);
    span = cv_builder_span(&zeros);
    ck_assert(!cv_tlv_put_sval(&builder, 1, span));
    span.len = 65532;
    ck_assert(cv_tlv_put_sval(&builder, 1, span));
    ck_assert_uint_eq(builder.len, 65536);
    cv_builder_free(&zeros);
    cv_builder_free(&builder);
}
END_TEST

/* One record each: the row of its code decides. */
static const tlv_row ATTR[] = {
    { "last known code", 4, { 2, 0x6D, 0, 0 }, OK },
    { "first unknown code", 4, { 1, 0x6E, 0, 0 }, CV_R_TLV_UNKNOWN, 1, 0x6E, 0x6D },
    { "code 255", 8, { 4, 0xFF, 4, 0, 1, 2, 3, 4 }, CV_R_TLV_UNKNOWN, 1, 0xFF, 0x6D },
    { "code nobody writes", 8, { 4, 0x18, 4, 0, 1, 2, 3, 4 }, CV_R_TLV_UNSEEN, 1, 0x18, 4 },
    { "value as no value", 4, { 1, 0x1B, 0, 0 }, CV_R_TLV_ATTR_FORMAT, 0, 1, 3 },
    { "list as half", 4, { 3, 0x1C, 0, 0 }, CV_R_TLV_ATTR_FORMAT, 0, 3, 4 },
    { "no value as list", 4, { 4, 0x2B, 0, 0 }, CV_R_TLV_ATTR_FORMAT, 0, 4, 1 },
    { "value", 4, { 3, 0x1B, 9, 0 }, OK },
    { "one register at most", 4, { 3, 0x1B, 1, 0 }, OK },
    { "no register at most", 4, { 3, 0x1B, 0, 0 }, CV_R_TLV_NO_MACHINE, 2, 0, 1 },
    { "256 registers at most", 4, { 3, 0x1B, 0, 1 }, CV_R_TLV_NO_MACHINE, 2, 256, 255 },
    { "16 barriers", 4, { 2, 0x4C, 16, 0 }, OK },
    { "17 barriers", 4, { 2, 0x4C, 17, 0 }, CV_R_TLV_NO_MACHINE, 2, 17, 16 },
    { "one register", 12, { 4, 0x2F, 8, 0, 1, 0, 0, 0, 1 }, CV_R_TLV_REGCOUNT, 8, 1, 2 },
    { "255 registers", 12, { 4, 0x2F, 8, 0, 1, 0, 0, 0, 255 }, OK },
    { "256 registers", 12, { 4, 0x2F, 8, 0, 1, 0, 0, 0, 0, 1 }, CV_R_TLV_REGCOUNT, 8, 256, 255 },
    { "all of local memory", 12, { 4, 0x11, 8, 0, 1, 0, 0, 0, 0, 0, 8 }, OK },
    { "more than local memory",
      12,
      { 4, 0x11, 8, 0, 1, 0, 0, 0, 1, 0, 8 },
      CV_R_TLV_STACK,
      8,
      0x80001,
      0x80000 },
    { "a stack of 2 GiB",
      12,
      { 4, 0x12, 8, 0, 1, 0, 0, 0, 255, 255, 255, 127 },
      CV_R_TLV_STACK,
      8,
      0x7FFFFFFF,
      0x80000 },
    { "a stack that is not known", 12, { 4, 0x12, 8, 0, 1, 0, 0, 0, 255, 255, 255, 255 }, OK },
    { "a block", 16, { 4, 0x10, 12, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 }, OK },
    { "an empty block", 16, { 4, 0x10, 12, 0, 1, 0, 0, 0, 1 }, CV_R_TLV_NO_MACHINE, 12, 0, 1 },
    { "no value", 4, { 1, 0x2B, 0, 0 }, OK },
    { "fixed", 12, { 4, 0x2F, 8, 0, 1, 0, 0, 0, 2 }, OK },
    { "fixed, short", 8, { 4, 0x2F, 4, 0 }, CV_R_TLV_SIZE, 2, 4, 8 },
    { "fixed, long", 16, { 4, 0x2F, 12, 0 }, CV_R_TLV_SIZE, 2, 12, 8 },
    { "list", 20, { 4, 0x39, 16, 0 }, OK },
    { "empty list", 4, { 4, 0x39, 0, 0 }, OK },
    { "list with a rest", 24, { 4, 0x39, 20, 0 }, CV_R_TLV_SIZE, 2, 20, 16 },
    { "opaque", 8, { 4, 0x5A, 4, 0, 9, 9, 9, 9 }, OK },
    { "parameter", 16, { 4, 0x17, 12, 0 }, OK },
    { "branch without targets", 16, { 4, 0x34, 12, 0, 16 }, OK },
    { "branch with two targets", 24, { 4, 0x34, 20, 0, 16, 0, 0, 0, 0, 0, 0, 0, 2 }, OK },
    { "branch with a target too many",
      24,
      { 4, 0x34, 20, 0, 16, 0, 0, 0, 0, 0, 0, 0, 3 },
      CV_R_TLV_BRANCHES,
      4,
      20,
      24 },
    { "branch with 4 Gi targets",
      24,
      { 4, 0x34, 20, 0, 16, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255 },
      CV_R_TLV_BRANCHES,
      4,
      20,
      12 + UINT64_C(4) * UINT32_MAX },
    { "half a branch", 24, { 4, 0x34, 20, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0 }, CV_R_TLV_BRANCHES, 16, 8, 12 },
    { "branch, second word", 16, { 4, 0x34, 12, 0, 16, 0, 0, 0, 5 }, CV_R_TLV_BRANCH_WORD, 8, 5, 0 },
    { "annotations", 20, { 4, 0x55, 16, 0, 1, 0, 0, 0, 16, 0, 0, 0, 1 }, OK },
    { "annotation cut",
      16,
      { 4, 0x55, 12, 0, 1, 0, 0, 0, 16, 0, 0, 0, 1 },
      CV_R_TLV_ANNOTATION_CUT,
      12,
      4,
      8 },
    { "annotation of type 2", 12, { 4, 0x55, 8, 0, 2 }, CV_R_TLV_ANNOTATION_TYPE, 4, 2, 1 },
};

/* Words may be interpreted unless the shape is in doubt, which a wrong value leaves intact. */
static bool leaves_shape(unsigned rule)
{
    static const unsigned VALUES[] = { NONE, CV_R_TLV_BRANCH_WORD, CV_R_TLV_STACK, CV_R_TLV_REGCOUNT,
                                       CV_R_TLV_NO_MACHINE };

    for (size_t i = 0; i < sizeof(VALUES) / sizeof(VALUES[0]); i++)
        if (VALUES[i] == rule)
            return true;
    return false;
}

START_TEST(attribute)
{
    const tlv_row *row = &ATTR[_i];
    cv_span span = cv_span_of(row->byte, row->len, BASE);
    const cv_attr *attr = NULL;
    uint64_t pos = 0;
    bool ok;
    cv_tlv tlv;

    ck_assert_int_eq(cv_tlv_next(&the_ctx, span, &pos, &tlv), CUVET_OK);
    ok = cv_attr_check(&the_ctx, span, &tlv, &attr);
    expect(row);
    if (row->rule == CV_R_TLV_ANNOTATION_TYPE || row->rule == CV_R_TLV_ANNOTATION_CUT) /* of a point */
        ck_assert_uint_eq(first.length, 0);
    ck_assert_int_eq(ok, leaves_shape(row->rule));
    ck_assert(attr == cv_attr_get(tlv.code));
}
END_TEST

START_TEST(tables)
{
    unsigned seen = 0, symbols = 0;

    for (uint32_t code = 0; code <= 0x6D; code++) {
        const cv_attr *attr = cv_attr_get(code);

        ck_assert_ptr_nonnull(attr);
        ck_assert_ptr_nonnull(attr->name);
        ck_assert_str_eq(attr->name, cv_eiattr_name(code));
        seen += attr->format != 0;
        /* A row that says what its payload is belongs to a format with a payload, and the other way round. */
        ck_assert_int_eq(attr->shape == CV_SHAPE_FIXED || attr->shape == CV_SHAPE_ARRAY, attr->size != 0);
        if (attr->size)
            ck_assert(attr->format == CV_TLV_SVAL && attr->size % 4 == 0);
        if (attr->format == CV_TLV_NVAL)
            ck_assert_uint_eq(attr->shape, CV_SHAPE_NONE);
        if (attr->format == CV_TLV_BVAL || attr->format == CV_TLV_HVAL)
            ck_assert_uint_eq(attr->shape, CV_SHAPE_VALUE);
        ck_assert_int_eq(attr->format == 0, attr->scope == CV_SCOPE_X);
        /* A linker copies the records of every input into one global section. */
        if (attr->scope & CV_IN_GLOBAL)
            ck_assert(attr->many);
        symbols += attr->words != CV_WORDS_PLAIN && attr->words != CV_WORDS_TEXT;
    }
    ck_assert_uint_eq(seen, 63);
    ck_assert_uint_eq(symbols, 17); /* what nvlink renumbers, and what it drops */
    ck_assert_ptr_null(cv_attr_get(0x6E));
    ck_assert_ptr_null(cv_eiattr_name(UINT32_MAX));
    ck_assert_str_eq(cv_eiattr_name(0x0A), "PARAM_CBANK");
    ck_assert_str_eq(cv_eiattr_name(0x5F), "MERCURY_ISA_VERSION");
    ck_assert_str_eq(cv_compat_name(2), "ISA_CLASS");
    ck_assert_str_eq(cv_compat_name(11), "CAN_FASTPATH_FINALIZE");
    ck_assert_str_eq(cv_compat_name(12), "CUDA_INTERNAL_TARGET");
    ck_assert_ptr_null(cv_compat_name(15));
    ck_assert_uint_eq(cv_compat_get(CV_COMPAT_CAN_FASTPATH_FINALIZE)->merge, CV_MERGE_AND);
    ck_assert_uint_eq(cv_compat_get(CV_COMPAT_CAN_FASTPATH_FINALIZE)->size, 8);
    ck_assert_ptr_null(cv_compat_get(CV_N_COMPAT));
    for (uint32_t tag = 0; tag < CV_N_COMPAT; tag++) { /* what is dropped has no value where it is absent */
        const cv_compat_row *row = cv_compat_get(tag);

        ck_assert(row->merge != CV_MERGE_DROP || row->absent == CV_COMPAT_NEVER);
        ck_assert(row->absent == CV_COMPAT_NEVER || (row->absent >= 0 && row->absent <= UINT16_MAX));
        ck_assert(row->absent == CV_COMPAT_NEVER || row->format != 0);
    }
}
END_TEST

/* Offsets inside structured payloads, in order. */
START_TEST(inner_offsets)
{
    static const uint8_t branches[] = { 4, 0x34, 32,   0, 0x10, 0, 0,    0, 0, 0, 0, 0, 2, 0, 0, 0, 0x20, 0,
                                        0, 0,    0x30, 0, 0,    0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0 };
    static const uint8_t notes[] = { 4, 0x55, 16, 0, 1, 0, 0, 0, 0x50, 0, 0, 0, 1, 0, 0, 0, 0x60, 0, 0, 0 };
    static const uint32_t want[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60 };
    const cv_span both[] = { cv_span_of(branches, sizeof(branches), 0), cv_span_of(notes, sizeof(notes), 0) };
    unsigned count = 0;

    for (unsigned k = 0; k < 2; k++) {
        const cv_attr *attr;
        cv_attr_walk other_walk;
        cv_tlv tlv;
        uint64_t at;

        ck_assert_int_eq(cv_tlv_at(both[k], 0, &tlv), CV_TLV_OK);
        ck_assert(cv_attr_check(&the_ctx, both[k], &tlv, &attr));
        cv_attr_walk_init(&other_walk, &tlv);
        while (cv_attr_walk_next(&other_walk, both[k], attr, &at)) {
            ck_assert_uint_lt(count, CV_COUNT(want));
            ck_assert_uint_eq(cv_u32_at(both[k], at), want[count++]);
        }
    }
    ck_assert_uint_eq(count, CV_COUNT(want));
    ck_assert_uint_eq(n_diags, 0);
}
END_TEST

START_TEST(parameters)
{
    /* Ordinal 3 at 0x20, address space 5, 8 bytes; ordinal 1 at 0x1000 with 12,000 bytes. */
    static const uint8_t small[] = { 4, 0x17, 12, 0, 0, 0, 0, 0, 3, 0, 0x20, 0, 3, 0xF5, 0x21, 0 };
    static const uint8_t large[] = { 4, 0x45, 12, 0, 7, 0, 0, 0, 1, 0, 0, 0x10, 0xE0, 0x2E, 0, 5 };
    cv_kparam param;
    cv_tlv tlv;

    ck_assert_int_eq(cv_tlv_at(cv_span_of(small, 16, 0), 0, &tlv), CV_TLV_OK);
    cv_attr_kparam(cv_span_of(small, 16, 0), &tlv, &param);
    ck_assert_uint_eq(param.index, 0);
    ck_assert_uint_eq(param.ordinal, 3);
    ck_assert_uint_eq(param.offset, 0x20);
    ck_assert_uint_eq(param.size, 8);
    ck_assert_uint_eq(param.log_align, 3);
    ck_assert_uint_eq(param.space, 5);
    ck_assert_uint_eq(param.cbank, 0x1F);
    ck_assert_int_eq(cv_tlv_at(cv_span_of(large, 16, 0), 0, &tlv), CV_TLV_OK);
    cv_attr_kparam(cv_span_of(large, 16, 0), &tlv, &param);
    ck_assert_uint_eq(param.index, 7);
    ck_assert_uint_eq(param.ordinal, 1);
    ck_assert_uint_eq(param.offset, 0x1000);
    ck_assert_uint_eq(param.size, 12000);
    ck_assert_uint_eq(param.cbank, 0);
}
END_TEST

#define FULL                                                                                                 \
    2, 9, 1, 0, 2, 2, 2, 0, 2, 5, 5, 0, 3, 7, 1, 1, 2, 3, 0, 0, 2, 6, 1, 0, 4, 11, 8, 0, 9, 0, 0, 0, 0, 0,   \
        0, 0
static const tlv_row COMPAT[] = {
    { "all tags", 36, { FULL }, OK },
    { "empty", 0, { 0 }, OK },
    { "tag twice", 40, { FULL, 2, 9, 1, 0 }, CV_R_COMPAT_TWICE, 36, 9, 1 },
    { "tag above the table", 40, { FULL, 2, 15, 1, 0 }, CV_R_COMPAT_UNKNOWN, 37, 15, 2 },
    { "tag nobody writes", 40, { FULL, 3, 8, 1, 0 }, CV_R_COMPAT_UNKNOWN, 37, 8, 3 },
    { "tag 255", 40, { FULL, 1, 255, 0, 0 }, CV_R_COMPAT_UNKNOWN, 37, 255, 1 },
    { "tag in another format", 4, { 3, 9, 1, 0 }, CV_R_COMPAT_FORMAT, 0, 3, 2 },
    { "mask of 4 bytes", 8, { 4, 11, 4, 0 }, CV_R_COMPAT_SIZE, 2, 4, 8 },
    { "ISA 1.2", 4, { 3, 7, 2, 1 }, CV_R_COMPAT_ISA_NEW, 2, 0x102, 0x101 },
    { "ISA 0.255", 4, { 3, 7, 255, 0 }, CV_R_COMPAT_ISA, 2, 0xFF, 0x101 },
    { "accelerator 2", 4, { 2, 9, 2, 0 }, CV_R_COMPAT_ACCEL_VALUE, 2, 2, 1 },
    { "cut", 6, { 2, 9, 1, 0, 2, 2 }, CV_R_TLV_CUT, 4, 2, 4 },
    { "format 5", 4, { 5, 9, 1, 0 }, CV_R_TLV_FORMAT, 0, 5, 4 },
};

START_TEST(compat)
{
    const tlv_row *row = &COMPAT[_i];
    cv_compat record;
    cuvet_status st;

    memset(&record, 0xFF, sizeof(record));
    st = cv_compat_read(&the_ctx, cv_span_of(row->byte, row->len, BASE), &record);
    expect(row);
    ck_assert_int_eq(st, row->rule == CV_R_TLV_CUT || row->rule == CV_R_TLV_FORMAT ? CUVET_E_MALFORMED
                                                                                   : CUVET_OK);
    if (row->len < 36)
        return;
    ck_assert_uint_eq(record.has, 0xAEC);
    ck_assert(cv_compat_has(&record, CV_COMPAT_CUDA_ACCELERATOR_TARGET));
    ck_assert(!cv_compat_has(&record, CV_COMPAT_MERCURY_ISA_PATCH_VERSION));
    ck_assert_uint_eq(record.accel, 1);
    ck_assert_uint_eq(record.isa_class, 2);
    ck_assert_uint_eq(record.isa, 0x101);
    ck_assert_uint_eq(record.fastpath, 9);
}
END_TEST

START_TEST(compat_work)
{
    static const uint8_t byte[] = { FULL };
    cv_compat record;

    cv_ctx_set_work(&the_ctx, sizeof(byte) / 4);
    ck_assert_int_eq(cv_compat_read(&the_ctx, cv_span_of(byte, sizeof(byte), 0), &record), CUVET_E_LIMIT);
    ck_assert_uint_eq(last.rule, CV_R_LIMIT_WORK);
}
END_TEST

Suite *suite_tlv(void)
{
    Suite *suite = suite_create("tlv");
    TCase *tcase = tcase_create("tlv");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, walk, 0, (int)CV_COUNT(WALK));
    tcase_add_test(tcase, round_trip);
    tcase_add_test(tcase, longest);
    tcase_add_loop_test(tcase, attribute, 0, (int)CV_COUNT(ATTR));
    tcase_add_test(tcase, tables);
    tcase_add_test(tcase, inner_offsets);
    tcase_add_test(tcase, parameters);
    tcase_add_loop_test(tcase, compat, 0, (int)CV_COUNT(COMPAT));
    tcase_add_test(tcase, compat_work);
    suite_add_tcase(suite, tcase);
    return suite;
}
