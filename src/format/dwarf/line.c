/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/dwarf/dwarf.h"

#define WIDEST UINT32_C(0xFFFFFFF0) /* lengths from here on say something else */

enum { FIRST_VERSION = 2, OPS_VERSION = 4, LAST_VERSION = 4, ADDRESS_BYTES = 8 };

bool cv_uleb_read(cv_span s, uint64_t end, uint64_t *pos, uint64_t *v, cv_dwarf_bad *bad)
{
    uint64_t value = 0, at = *pos;
    unsigned shift = 0;

    for (;; shift += 7) {
        uint8_t byte = cv_u8_at(s, at);

        if (at >= end || shift > 63 || (shift == 63 && (byte & 0x7F) > 1))
            return cv_dwarf_no(bad, CV_R_DWARF_NUMBER, *pos, at - *pos + 1, cv_min(end - *pos, 10));
        value |= (uint64_t)(byte & 0x7F) << shift;
        at++;
        if (!(byte & 0x80))
            break;
    }
    *pos = at;
    *v = value;
    return true;
}

/* Operands of the standard opcodes, as every reader knows them. */
static bool operands_usual(cv_span s, uint64_t at, uint8_t base, cv_dwarf_bad *bad)
{
    static const uint8_t USUAL[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };

    for (uint8_t i = 0; i + 1 < base && i < CV_COUNT(USUAL); i++)
        if (cv_u8_at(s, at + i) != CV_AT(USUAL, i))
            return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + i, cv_u8_at(s, at + i), CV_AT(USUAL, i));
    return true;
}

/* From the least instruction length on. */
static bool read_tail(cv_span s, cv_line_unit *u, uint64_t at, cv_dwarf_bad *bad)
{
    bool ops = u->version >= OPS_VERSION;

    if (u->program - at < (ops ? 6u : 5u))
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at - 4, u->program - at, ops ? 6 : 5);
    u->least = cv_u8_at(s, at);
    if (u->least == 0)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at, 0, 1);
    if (ops && cv_u8_at(s, ++at) != 1)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at, cv_u8_at(s, at), 1);
    u->range = cv_u8_at(s, at + 3);
    u->base = cv_u8_at(s, at + 4);
    if (u->range == 0)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + 3, 0, 1);
    if (u->base == 0 || u->program - at < 4u + u->base)
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + 4, u->base, 10);
    return operands_usual(s, at + 5, u->base, bad);
}

bool cv_line_unit_read(cv_span s, uint64_t at, cv_line_unit *u, cv_dwarf_bad *bad)
{
    uint64_t len = cv_u32_at(s, at), left = s.len - cv_min(s.len, at);

    *u = (cv_line_unit){ .at = at };
    if (left < 4 || (len < WIDEST && (len > left - 4 || len < 6)))
        return cv_dwarf_no(bad, CV_R_DWARF_LENGTH, at, len, left < 4 ? left : left - 4);
    if (len >= WIDEST)
        return cv_dwarf_no(bad, CV_R_DWARF_VERSION, at, len, WIDEST);
    u->end = at + 4 + len;
    u->version = cv_u16_at(s, at + 4);
    if (u->version < FIRST_VERSION || u->version > LAST_VERSION)
        return cv_dwarf_no(bad, CV_R_DWARF_VERSION, at + 4, u->version, LAST_VERSION);
    len = cv_u32_at(s, at + 6);
    if (len > u->end - (at + 10))
        return cv_dwarf_no(bad, CV_R_DWARF_HEADER, at + 6, len, u->end - (at + 10));
    u->program = at + 10 + len;
    return read_tail(s, u, at + 10, bad);
}

static bool read_extended(cv_span s, const cv_line_unit *u, cv_line_op *op, cv_dwarf_bad *bad)
{
    uint64_t at = op->at + 1, len = 0;

    if (!cv_uleb_read(s, u->end, &at, &len, bad))
        return false;
    if (len == 0 || len > u->end - at)
        return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, op->at, len, u->end - at);
    op->end = at + len;
    switch (cv_u8_at(s, at)) {
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

static bool read_standard(cv_span s, const cv_line_unit *u, cv_line_op *op, cv_dwarf_bad *bad)
{
    uint64_t v = 0;

    if (op->code == CV_LINE_FIXED_ADVANCE_PC) {
        op->kind = CV_LINE_STEP;
        op->step = cv_u16_at(s, op->end);
        if (u->end - op->end < 2)
            return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, op->at, 2, u->end - op->end);
        op->end += 2;
        return true;
    }
    for (uint8_t n = cv_u8_at(s, u->at + 14u + (u->version >= OPS_VERSION) + op->code); n > 0; n--)
        if (!cv_uleb_read(s, u->end, &op->end, &v, bad))
            return false;
    if (op->code == CV_LINE_COPY)
        op->kind = CV_LINE_ROW;
    if (op->code != CV_LINE_ADVANCE_PC && op->code != CV_LINE_CONST_ADD_PC)
        return true;
    op->kind = CV_LINE_STEP;
    if (op->code == CV_LINE_CONST_ADD_PC)
        v = (255u - u->base) / u->range;
    op->step = cv_sat_mul(v, u->least);
    return true;
}

bool cv_line_op_read(cv_span s, const cv_line_unit *u, uint64_t at, cv_line_op *op, cv_dwarf_bad *bad)
{
    *op = (cv_line_op){ .at = at, .end = at + 1, .code = cv_u8_at(s, at) };
    if (op->code == 0 && u->base > 0)
        return read_extended(s, u, op, bad);
    if (op->code < u->base)
        return read_standard(s, u, op, bad);
    op->kind = CV_LINE_SPECIAL;
    op->step = (uint64_t)((unsigned)(op->code - u->base) / u->range) * u->least;
    return true;
}
