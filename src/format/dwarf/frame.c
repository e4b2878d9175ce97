/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/dwarf/dwarf.h"

#define WIDE UINT32_MAX /* length that follows in 8 bytes */

bool cv_frame_read(cv_span s, uint64_t at, cv_frame *f, cv_dwarf_bad *bad)
{
    uint64_t left = s.len - cv_min(s.len, at), len, head, word;

    *f = (cv_frame){ .at = at, .wide = left >= 4 && cv_u32_at(s, at) == WIDE };
    head = f->wide ? 12 : 4;
    word = f->wide ? 8 : 4;
    len = f->wide ? cv_u64_at(s, at + 4) : cv_u32_at(s, at);
    if (left < head || len < word || len > left - head)
        return cv_dwarf_no(bad, CV_R_DWARF_LENGTH, at, len, left < head ? left : left - head);
    f->pointer = at + head;
    f->names = f->wide ? cv_u64_at(s, f->pointer) : cv_u32_at(s, f->pointer);
    f->common = f->names == (f->wide ? UINT64_MAX : UINT32_MAX);
    f->body = f->pointer + word;
    f->end = f->pointer + len;
    return true;
}

bool cv_frame_common_read(cv_span s, const cv_frame *f, cv_frame_common *c, cv_dwarf_bad *bad)
{
    uint64_t at = f->body, skipped = 0;
    uint8_t version = cv_u8_at(s, at);

    if (f->end - at < 2)
        return cv_dwarf_no(bad, CV_R_DWARF_LENGTH, f->at, f->end - at, 2);
    if (version != 1 && version != 3 && version != 4)
        return cv_dwarf_no(bad, CV_R_DWARF_VERSION, at, version, 4);
    if (cv_u8_at(s, at + 1) != 0)
        return cv_dwarf_no(bad, CV_R_DWARF_FRAME, at + 1, cv_u8_at(s, at + 1), 0);
    at += 2;
    if (version == 4) { /* size of an address and of a segment */
        if (f->end - at < 2 || cv_u16_at(s, at) != 8)
            return cv_dwarf_no(bad, CV_R_DWARF_FRAME, at, cv_u16_at(s, at), 8);
        at += 2;
    }
    if (!cv_uleb_read(s, f->end, &at, &c->step, bad) || !cv_uleb_read(s, f->end, &at, &skipped, bad))
        return false;
    if (c->step == 0)
        return cv_dwarf_no(bad, CV_R_DWARF_STEP, f->body, 0, 1);
    if (version > 1 && !cv_uleb_read(s, f->end, &at, &skipped, bad))
        return false;
    if (version == 1 && at++ >= f->end)
        return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, f->body, 1, 0);
    c->operations = at;
    return true;
}

/* What follows an operation, as skip_operand() wants to know it: r a number, b a block with its length before
 * it, a digit: as many bytes. Addresses are those of 64-bit files: no other ones are relocated. */
typedef struct operands {
    char first, second;
} operands;

enum { NONE = 0, R = 'r', U = 'r', S = 'r', A = '8', B = 'b', C = 0, D0 = 0, D1 = '1', D2 = '2', D4 = '4' };

static const operands LOW[] = {
#define CFA(code, name, text, first, second) [code] = { first, second },
#include "cfi.def"
};
static const operands SHORT[] = {
    { 0 }, /* of the operations without an operand in their byte */
#define CFA_SHORT(code, name, text, first, second) { first, second },
#include "cfi.def"
};

static bool skip_operand(cv_span s, const cv_frame *f, char what, cv_frame_op *op, cv_dwarf_bad *bad)
{
    uint64_t v = what >= '0' && what <= '9' ? (uint64_t)(what - '0') : 0;

    if (what == 0)
        return true;
    if ((what == 'r' || what == 'b') && !cv_uleb_read(s, f->end, &op->end, &v, bad))
        return false;
    if (what == 'r')
        return true;
    if (v > f->end - op->end)
        return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, op->at, v, f->end - op->end);
    op->end += v;
    return true;
}

bool cv_frame_op_read(cv_span s, const cv_frame *f, uint64_t at, cv_frame_op *op, cv_dwarf_bad *bad)
{
    uint8_t byte = cv_u8_at(s, at);
    operands follow;

    *op = (cv_frame_op){ .at = at, .end = at + 1, .code = byte & 0xC0 ? byte & 0xC0 : byte };
    if (op->code < CV_CFA_ADVANCE && op->code >= CV_COUNT(LOW))
        return cv_dwarf_no(bad, CV_R_DWARF_FRAME, at, byte, 0);
    follow = op->code < CV_CFA_ADVANCE ? CV_AT(LOW, op->code) : CV_AT(SHORT, op->code / CV_CFA_ADVANCE);
    if (!skip_operand(s, f, follow.first, op, bad) || !skip_operand(s, f, follow.second, op, bad))
        return false;
    op->advances = true;
    switch (op->code) {
    case CV_CFA_ADVANCE: op->steps = byte & 0x3F; break;
    case CV_CFA_ADVANCE1: op->steps = cv_u8_at(s, at + 1); break;
    case CV_CFA_ADVANCE2: op->steps = cv_u16_at(s, at + 1); break;
    case CV_CFA_ADVANCE4: op->steps = cv_u32_at(s, at + 1); break;
    default: op->advances = false;
    }
    return true;
}
