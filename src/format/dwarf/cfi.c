/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/dwarf/cfi.h"

#include "format/dwarf/read.h"

/* Fields of one entry, or operands of one operation; the first that is not whole ends it. */
typedef struct cursor {
    cv_span in;
    uint64_t pos;
    bool failed;
} cursor;

static uint64_t take(cursor *cur, uint64_t bytes)
{
    uint64_t value = 0;

    if (cur->failed || bytes > cur->in.len - cur->pos) {
        cur->failed = true;
        return 0;
    }
    for (uint64_t i = 0; i < bytes; i++)
        value |= (uint64_t)cv_u8_at(cur->in, cur->pos + i) << 8 * i;
    cur->pos += bytes;
    return value;
}

/* LEB128; what needs more than 64 bits is none. */
static uint64_t take_leb(cursor *cur, bool is_signed)
{
    const uint64_t from = cur->pos;
    uint64_t value = 0, bits;
    cv_dwarf_bad why;

    if (cur->failed || !cv_uleb_read(cur->in, cur->in.len, &cur->pos, &value, &why)) {
        cur->failed = true;
        return 0;
    }
    bits = 7 * (cur->pos - from);
    if (is_signed && bits < 64 && value >> (bits - 1) != 0)
        value |= ~((UINT64_C(1) << bits) - 1);
    return value;
}

static void take_common(cursor *cur, cuvet_cfi_entry *out)
{
    out->version = (uint32_t)take(cur, 1);
    out->augmentation = (uint32_t)take(cur, 1);
    if (out->version >= 4)
        (void)take(cur, 2); /* sizes of an address and of a segment */
    out->code_alignment = take_leb(cur, false);
    out->data_alignment = (int64_t)take_leb(cur, true);
    out->return_register = out->version == 1 ? take(cur, 1) : take_leb(cur, false);
}

cuvet_status cv_cfi_next(cv_span section, uint32_t address_bytes, uint64_t *pos, uint64_t *program,
                         cuvet_cfi_entry *out)
{
    cursor cur = { .failed = false };
    cv_dwarf_bad why;
    cv_frame frame;

    if (*pos >= section.len)
        return CUVET_END;
    if (!cv_frame_read(section, *pos, &frame, &why) ||
        CV_NEVER(!cv_span_sub(section, frame.body, frame.end - frame.body, &cur.in)))
        return CUVET_E_MALFORMED;
    *out = (cuvet_cfi_entry){
        .flags = frame.common ? CUVET_CFI_COMMON : 0,
        .off = frame.at,
        .length = cur.in.len,
        .start_off = frame.body,
        .address_bytes = address_bytes,
    };
    if (frame.common) {
        take_common(&cur, out);
    } else {
        out->parent = frame.names;
        out->start = take(&cur, address_bytes);
        out->range = take(&cur, address_bytes);
    }
    if (cur.failed)
        out->flags |= CUVET_CFI_CUT;
    *program = frame.body + cur.pos;
    if (!cur.failed)
        out->program.n = (size_t)(frame.end - *program);
    *pos = frame.end;
    return CUVET_OK;
}

/* What an operand of spec/cfi.def is, and how many bytes it has when that is known. */
typedef enum operand { NONE, R, C, U, S, A, B, D0, D1, D2, D4 } operand;

typedef struct op_row {
    const char *text;
    uint8_t first, second;
} op_row;

static const op_row OPS[] = {
#define CFA(code, name, text, first, second) { text, first, second },
#include "cfi.def"
};
static const op_row SHORT_OPS[] = {
    { 0 },
#define CFA_SHORT(code, name, text, first, second) { text, first, second },
#include "cfi.def"
};
enum { SHORT_BIT = 6, SHORT_OPERAND = 0x3F };

static cuvet_cfi_operand take_operand(cursor *cur, uint8_t what, uint8_t low, uint32_t address_bytes,
                                      uint64_t *value)
{
    switch (what) {
    case NONE: *value = 0; return CUVET_CFI_NONE;
    case R: *value = take_leb(cur, false); return CUVET_CFI_REGISTER;
    case C: *value = low; return CUVET_CFI_COLUMN;
    case U: *value = take_leb(cur, false); return CUVET_CFI_UNSIGNED;
    case S: *value = take_leb(cur, true); return CUVET_CFI_SIGNED;
    case A: *value = take(cur, address_bytes); return CUVET_CFI_ADDRESS;
    case D0: *value = low; return CUVET_CFI_DISTANCE;
    case D1: *value = take(cur, 1); return CUVET_CFI_DISTANCE;
    case D2: *value = take(cur, 2); return CUVET_CFI_DISTANCE;
    case D4: *value = take(cur, 4); return CUVET_CFI_DISTANCE;
    default: break; /* B: so many bytes follow */
    }
    *value = take_leb(cur, false);
    if (*value > cur->in.len - cur->pos)
        cur->failed = true;
    else
        cur->pos += *value;
    return CUVET_CFI_BLOCK;
}

cuvet_status cv_cfi_op_next(cv_span program, uint32_t address_bytes, uint64_t *pos, cuvet_cfi_op *out)
{
    cursor cur = { program, *pos, false };
    uint8_t byte, low;
    op_row row;

    if (*pos >= program.len)
        return CUVET_END;
    byte = (uint8_t)take(&cur, 1);
    low = byte & SHORT_OPERAND;
    *out = (cuvet_cfi_op){ .off = *pos,
                           .code = byte > SHORT_OPERAND ? (uint32_t)(byte & ~SHORT_OPERAND) : byte };
    if (byte <= SHORT_OPERAND && byte >= CV_COUNT(OPS))
        return CUVET_E_UNSUPPORTED;
    row = byte > SHORT_OPERAND ? CV_AT(SHORT_OPS, byte >> SHORT_BIT) : CV_AT(OPS, byte);
    out->name = row.text;
    out->first = take_operand(&cur, row.first, low, address_bytes, &out->first_value);
    out->second = take_operand(&cur, row.second, low, address_bytes, &out->second_value);
    if (cur.failed)
        return CUVET_E_MALFORMED;
    *pos = cur.pos;
    return CUVET_OK;
}

/* The high byte of a number tells the class of the register. */
enum { CLASS_BIT = 24, CLASS_GENERAL = 5 };

uint64_t cv_cfi_register(uint64_t value)
{
    if (value >> CLASS_BIT != CLASS_GENERAL)
        return UINT64_MAX;
    return value & ((UINT64_C(1) << CLASS_BIT) - 1);
}
