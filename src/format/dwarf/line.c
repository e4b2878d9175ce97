/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/dwarf/dwarf.h"

enum { FIRST_VERSION = 2, OPS_VERSION = 4, LAST_VERSION = 4, ADDRESS_BYTES = 8 };

bool cv_uleb_read(cv_span span, uint64_t end, uint64_t *pos, uint64_t *out, cv_dwarf_bad *bad)
{
    uint64_t value = 0, at = *pos;
    unsigned shift = 0;

    for (;; shift += 7) {
        uint8_t byte = cv_u8_at(span, at);

        if (at >= end || shift > 63 || (shift == 63 && (byte & 0x7F) > 1))
            return cv_dwarf_no(bad, CV_R_DWARF_NUMBER, *pos, at - *pos + 1, cv_min(end - *pos, 10));
        value |= (uint64_t)(byte & 0x7F) << shift;
        at++;
        if (!(byte & 0x80))
            break;
    }
    *pos = at;
    *out = value;
    return true;
}

/* Operands of the standard opcodes, as every reader knows them. */
static bool operands_usual(cv_span span, uint64_t at, uint8_t base, cv_dwarf_bad *bad)
{
    static const uint8_t USUAL[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };

    for (uint8_t i = 0; i + 1 < base && i < CV_COUNT(USUAL); i++)
        if (cv_u8_at(span, at + i) != CV_AT(USUAL, i))
            return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + i, cv_u8_at(span, at + i), CV_AT(USUAL, i));
    return true;
}

/* From the least instruction length on. */
static bool read_tail(cv_span span, cv_line_unit *unit, uint64_t at, cv_dwarf_bad *bad)
{
    bool ops = unit->version >= OPS_VERSION;

    if (unit->program - at < (ops ? 6u : 5u))
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at - 4, unit->program - at, ops ? 6 : 5);
    unit->least = cv_u8_at(span, at);
    if (unit->least == 0)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at, 0, 1);
    if (ops && cv_u8_at(span, ++at) != 1)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at, cv_u8_at(span, at), 1);
    unit->range = cv_u8_at(span, at + 3);
    unit->base = cv_u8_at(span, at + 4);
    if (unit->range == 0)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + 3, 0, 1);
    if (unit->base == 0 || unit->program - at < 4u + unit->base)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + 4, unit->base, 10);
    return operands_usual(span, at + 5, unit->base, bad);
}

bool cv_line_unit_read(cv_span span, uint64_t at, cv_line_unit *unit, cv_dwarf_bad *bad)
{
    uint64_t len = cv_u32_at(span, at), left = span.len - cv_min(span.len, at);

    *unit = (cv_line_unit){ .at = at };
    if (left < 4 || (len < CV_DWARF_LENGTHS && (len > left - 4 || len < 6)))
        return cv_dwarf_no(bad, CV_R_DWARF_LENGTH, at, len, left < 4 ? left : left - 4);
    if (len >= CV_DWARF_LENGTHS)
        return cv_dwarf_no(bad, CV_R_DWARF_VERSION, at, len, CV_DWARF_LENGTHS);
    unit->end = at + 4 + len;
    unit->version = cv_u16_at(span, at + 4);
    if (unit->version < FIRST_VERSION || unit->version > LAST_VERSION)
        return cv_dwarf_no(bad, CV_R_DWARF_VERSION, at + 4, unit->version, LAST_VERSION);
    len = cv_u32_at(span, at + 6);
    if (len > unit->end - (at + 10))
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + 6, len, unit->end - (at + 10));
    unit->program = at + 10 + len;
    return read_tail(span, unit, at + 10, bad);
}

static bool read_extended(cv_span span, const cv_line_unit *unit, cv_line_op *op, cv_dwarf_bad *bad)
{
    uint64_t at = op->at + 1, len = 0;

    if (!cv_uleb_read(span, unit->end, &at, &len, bad))
        return false;
    if (len == 0 || len > unit->end - at)
        return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, op->at, len, unit->end - at);
    op->end = at + len;
    switch (cv_u8_at(span, at)) {
    case CV_LINE_END_SEQUENCE: op->kind = CV_LINE_END; break;
    case CV_LINE_SET_ADDRESS:
        if (len != 1 + ADDRESS_BYTES)
            return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, op->at, len, 1 + ADDRESS_BYTES);
        op->kind = CV_LINE_ADDRESS;
        op->address = at + 1;
        break;
    default: break;
    }
    return true;
}

static bool read_standard(cv_span span, const cv_line_unit *unit, cv_line_op *op, cv_dwarf_bad *bad)
{
    uint64_t value = 0;

    if (op->code == CV_LINE_FIXED_ADVANCE_PC) {
        op->kind = CV_LINE_STEP;
        op->step = cv_u16_at(span, op->end);
        if (unit->end - op->end < 2)
            return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, op->at, 2, unit->end - op->end);
        op->end += 2;
        return true;
    }
    for (uint8_t left = cv_u8_at(span, unit->at + 14u + (unit->version >= OPS_VERSION) + op->code); left > 0;
         left--)
        if (!cv_uleb_read(span, unit->end, &op->end, &value, bad))
            return false;
    if (op->code == CV_LINE_COPY)
        op->kind = CV_LINE_ROW;
    if (op->code != CV_LINE_ADVANCE_PC && op->code != CV_LINE_CONST_ADD_PC)
        return true;
    op->kind = CV_LINE_STEP;
    if (op->code == CV_LINE_CONST_ADD_PC)
        value = (255u - unit->base) / unit->range;
    op->step = cv_sat_mul(value, unit->least);
    return true;
}

bool cv_line_op_read(cv_span span, const cv_line_unit *unit, uint64_t at, cv_line_op *op, cv_dwarf_bad *bad)
{
    *op = (cv_line_op){ .at = at, .end = at + 1, .code = cv_u8_at(span, at) };
    if (op->code == 0)
        return read_extended(span, unit, op, bad);
    if (op->code < unit->base)
        return read_standard(span, unit, op, bad);
    op->kind = CV_LINE_SPECIAL;
    op->step = (uint64_t)((unsigned)(op->code - unit->base) / unit->range) * unit->least;
    return true;
}
