/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line programs (.debug_line, .nv_debug_line_sass) and call frame information (.debug_frame): units, entries,
 * and one operation after the other. No state machine, no allocation, no reports: whoever reads knows what a
 * broken one means. Offsets are in the section. */
#ifndef CV_FORMAT_DWARF_READ_H
#define CV_FORMAT_DWARF_READ_H

#include "base/rules.h"
#include "bytes/span.h"

/* Lengths of units and entries from here on say something else. */
#define CV_DWARF_LENGTHS UINT32_C(0xFFFFFFF0)

/* Why something could not be read, ready for cv_reject(). */
typedef struct cv_dwarf_bad {
    cv_rule rule;
    uint64_t at, got, want;
} cv_dwarf_bad;

/* LEB128 at *pos, which is advanced; false: it does not end before 'end', or has more than 64 bits. */
CV_MUST bool cv_uleb_read(cv_span span, uint64_t end, uint64_t *pos, uint64_t *out, cv_dwarf_bad *bad);

/* ---- lines ---- */

enum {
    CV_LINE_COPY = 1,
    CV_LINE_ADVANCE_PC = 2,
    CV_LINE_CONST_ADD_PC = 8,
    CV_LINE_FIXED_ADVANCE_PC = 9,
    CV_LINE_END_SEQUENCE = 1, /* extended */
    CV_LINE_SET_ADDRESS = 2
};

typedef struct cv_line_unit {
    uint64_t at, program, end; /* beginning of its length, of its operations, and behind it */
    uint16_t version;
    uint8_t least; /* instruction length */
    uint8_t range; /* of lines that one special opcode can go */
    uint8_t base;  /* first special opcode */
} cv_line_unit;

typedef enum cv_line_kind {
    CV_LINE_PLAIN = 0, /* changes no address, makes no row */
    CV_LINE_ROW,       /* a row where the address is */
    CV_LINE_STEP,      /* the address goes on */
    CV_LINE_SPECIAL,   /* it goes on, then a row */
    CV_LINE_ADDRESS,   /* the address is set */
    CV_LINE_END        /* of a sequence */
} cv_line_kind;

typedef struct cv_line_op {
    uint64_t at, end;
    cv_line_kind kind;
    uint8_t code;     /* as it stands; extended ones are 0 */
    uint64_t step;    /* bytes; of STEP and SPECIAL */
    uint64_t address; /* of ADDRESS: where its eight bytes stand */
} cv_line_op;

/* Unit that begins at 'at'. */
CV_MUST bool cv_line_unit_read(cv_span span, uint64_t at, cv_line_unit *unit, cv_dwarf_bad *bad);
/* Operation at 'at', which is before the end of the unit. */
CV_MUST bool cv_line_op_read(cv_span span, const cv_line_unit *unit, uint64_t at, cv_line_op *op,
                             cv_dwarf_bad *bad);

/* ---- frames ---- */

enum {
#define CFA(code, name, text, first, second) CV_CFA_##name = code,
#define CFA_SHORT(code, name, text, first, second)                                                           \
    CV_CFA_##name = code, /* its operand in the lower six bits */
#include "cfi.def"
};

/* The body of a description begins with the address and the size of the code that it is about. */
#define CV_FRAME_WORD  UINT64_C(8)
#define CV_FRAME_RANGE (2 * CV_FRAME_WORD)

/* The wide form of an entry: where its pointer and what follows stand, and of a description its address and
 * its size. */
enum { CV_FRAME_POINTER = 12, CV_FRAME_BODY = 20, CV_FRAME_CODE = CV_FRAME_BODY, CV_FRAME_CODE_SIZE = 28 };

/* A length that says that the length follows, in 8 bytes. */
#define CV_FRAME_WIDE UINT32_MAX

typedef struct cv_frame {
    uint64_t at, body, end; /* beginning of its length; what follows the pointer; behind it */
    uint64_t pointer;       /* where the pointer to the common part stands */
    uint64_t names;         /* … and what it says */
    bool wide;              /* 64-bit form: what compilers write */
    bool common;
} cv_frame;

typedef struct cv_frame_common {
    uint64_t step;       /* bytes of code that one step means */
    uint64_t operations; /* where they begin */
} cv_frame_common;

typedef struct cv_frame_op {
    uint64_t at, end;
    uint8_t code;  /* without a step in its lower bits */
    bool advances; /* by 'steps' */
    uint64_t steps;
} cv_frame_op;

/* Entry that begins at 'at'. */
CV_MUST bool cv_frame_read(cv_span span, uint64_t at, cv_frame *frame, cv_dwarf_bad *bad);
/* Inside of a common part. */
CV_MUST bool cv_frame_common_read(cv_span span, const cv_frame *frame, cv_frame_common *common,
                                  cv_dwarf_bad *bad);
/* Operation at 'at', before frame->end. */
CV_MUST bool cv_frame_op_read(cv_span span, const cv_frame *frame, uint64_t at, cv_frame_op *op,
                              cv_dwarf_bad *bad);

#endif
