/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/dwarf/dwarf.h"

bool cv_frame_read(cv_span span, uint64_t at, cv_frame *frame, cv_dwarf_bad *bad)
{
    uint64_t left = span.len - cv_min(span.len, at), len, head, word;

    *frame = (cv_frame){ .at = at, .wide = left >= 4 && cv_u32_at(span, at) == CV_FRAME_WIDE };
    head = frame->wide ? CV_FRAME_POINTER : 4;
    word = frame->wide ? CV_FRAME_WORD : 4;
    len = frame->wide ? cv_u64_at(span, at + 4) : cv_u32_at(span, at);
    if (left < head || len < word || len > left - head)
        return cv_dwarf_no(bad, CV_R_DWARF_LENGTH, at, len, left < head ? left : left - head);
    frame->pointer = at + head;
    frame->names = frame->wide ? cv_u64_at(span, frame->pointer) : cv_u32_at(span, frame->pointer);
    frame->common = frame->names == (frame->wide ? UINT64_MAX : UINT32_MAX);
    frame->body = frame->pointer + word;
    frame->end = frame->pointer + len;
    return true;
}

bool cv_frame_common_read(cv_span span, const cv_frame *frame, cv_frame_common *common, cv_dwarf_bad *bad)
{
    uint64_t at = frame->body, skipped = 0;
    uint8_t version = cv_u8_at(span, at);

    if (frame->end - at < 2)
        return cv_dwarf_no(bad, CV_R_DWARF_LENGTH, frame->at, frame->end - at, 2);
    if (version != 1 && version != 3 && version != 4)
        return cv_dwarf_no(bad, CV_R_DWARF_VERSION, at, version, 4);
    if (cv_u8_at(span, at + 1) != 0)
        return cv_dwarf_no(bad, CV_R_DWARF_FRAME, at + 1, cv_u8_at(span, at + 1), 0);
    at += 2;
    if (version == 4) { /* size of an address and of a segment */
        if (frame->end - at < 2 || cv_u16_at(span, at) != 8)
            return cv_dwarf_no(bad, CV_R_DWARF_FRAME, at, cv_u16_at(span, at), 8);
        at += 2;
    }
    if (!cv_uleb_read(span, frame->end, &at, &common->step, bad) ||
        !cv_uleb_read(span, frame->end, &at, &skipped, bad))
        return false;
    if (common->step == 0)
        return cv_dwarf_no(bad, CV_R_DWARF_STEP, frame->body, 0, 1);
    if (version > 1 && !cv_uleb_read(span, frame->end, &at, &skipped, bad))
        return false;
    if (version == 1 && at++ >= frame->end)
        return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, frame->body, 1, 0);
    common->operations = at;
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

static bool skip_operand(cv_span span, const cv_frame *frame, char what, cv_frame_op *op, cv_dwarf_bad *bad)
{
    uint64_t value = what >= '0' && what <= '9' ? (uint64_t)(what - '0') : 0;

    if (what == 0)
        return true;
    if ((what == 'r' || what == 'b') && !cv_uleb_read(span, frame->end, &op->end, &value, bad))
        return false;
    if (what == 'r')
        return true;
    if (value > frame->end - op->end)
        return cv_dwarf_no(bad, CV_R_DWARF_OPERAND, op->at, value, frame->end - op->end);
    op->end += value;
    return true;
}

bool cv_frame_op_read(cv_span span, const cv_frame *frame, uint64_t at, cv_frame_op *op, cv_dwarf_bad *bad)
{
    uint8_t byte = cv_u8_at(span, at);
    operands follow;

    *op = (cv_frame_op){ .at = at, .end = at + 1, .code = byte & 0xC0 ? byte & 0xC0 : byte };
    if (op->code < CV_CFA_ADVANCE && op->code >= CV_COUNT(LOW))
        return cv_dwarf_no(bad, CV_R_DWARF_FRAME, at, byte, 0);
    follow = op->code < CV_CFA_ADVANCE ? CV_AT(LOW, op->code) : CV_AT(SHORT, op->code / CV_CFA_ADVANCE);
    if (!skip_operand(span, frame, follow.first, op, bad) ||
        !skip_operand(span, frame, follow.second, op, bad))
        return false;
    op->advances = true;
    switch (op->code) {
    case CV_CFA_ADVANCE: op->steps = byte & 0x3F; break;
    case CV_CFA_ADVANCE1: op->steps = cv_u8_at(span, at + 1); break;
    case CV_CFA_ADVANCE2: op->steps = cv_u16_at(span, at + 1); break;
    case CV_CFA_ADVANCE4: op->steps = cv_u32_at(span, at + 1); break;
    default: op->advances = false;
    }
    return true;
}
