/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small tables of device ELFs and host objects: call graph, prototypes, relocation actions, unified function
 * and data entries, host reference lists. Pure functions over one section; what the numbers refer to is
 * checked in src/cubin. */
#ifndef CV_FORMAT_META_READ_H
#define CV_FORMAT_META_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

/* .nv.callgraph: records of two words in four parts, each opened by a marker {0, -part}. */
typedef enum cv_call_part {
    CV_CALL_NONE = 0,
    CV_CALL_DIRECT = 1,   /* caller symbol, callee symbol */
    CV_CALL_ADDRESS = 2,  /* function whose address is taken, .strtab offset of its prototype or 0 */
    CV_CALL_INDIRECT = 3, /* function with an indirect call, .strtab offset of the prototype */
    CV_CALL_POSSIBLE = 4  /* function with an indirect call, function whose address is taken */
} cv_call_part;

typedef struct cv_call {
    uint64_t off; /* in the section */
    cv_call_part part;
    uint32_t from, to;
} cv_call;

typedef struct cv_call_cur {
    uint64_t pos;
    uint32_t part;
    /* Hand-assembled files repeat parts 1 to 3 for each function; they and tools before 12 have no part 4. */
    bool loose;
} cv_call_cur;
/* Next record that is no marker. OK, END, MALFORMED (reported). */
CV_MUST cuvet_status cv_callgraph_next(cv_ctx *ctx, cv_span span, cv_call_cur *cur, cv_call *out);

/* The same without a word and for any bytes: what they say if nothing is wrong with them. */
CV_MUST bool cv_callgraph_peek(cv_span span, cv_call_cur *cur, cv_call *out);

/* One record after the other, markers as well, for people: *part is what the last marker said. OK, END, or
 * MALFORMED: what is at *pos is no whole record. */
CV_MUST cuvet_status cv_callgraph_each(cv_span span, uint64_t *pos, cv_call_part *part, bool *marker,
                                       cv_call *out);

/* .nv.prototype: {function symbol, .strtab offset}. END past the last whole record; a rest of a record is
 * reported once. */
typedef struct cv_proto {
    uint64_t off;
    uint32_t symbol, string;
} cv_proto;
CV_MUST cuvet_status cv_prototype_next(cv_ctx *ctx, cv_span span, uint64_t *pos, cv_proto *out);

/* .nv.uft.entry, .nv.udt.entry: 32 bytes each. */
typedef struct cv_unified {
    uint64_t off;
    uint32_t symbol, flags;
    uint64_t slot, uuid_lo, uuid_hi;
} cv_unified;
CV_MUST cuvet_status cv_unified_next(cv_ctx *ctx, cv_span span, uint64_t *pos, cv_unified *out);

/* .nv.rel.action: what the loader does for each relocation kind. The content is the driver's; newer_ok: a
 * tool newer than those described wrote it. */
void cv_rel_action_check(cv_ctx *ctx, cv_span span, bool legacy, bool newer_ok);

/* .nv.capmerc*: the code section that it goes with, a word that says the format, a count, and a stream whose
 * last two bytes end code. */
#define CV_CAPSULE_FORMAT 4u          /* place of the second word … */
#define CV_CAPSULE_WORD   0xC0000001u /* … which all tools of 13.x write */
#define CV_CAPSULE_COUNT  8u          /* place of the third: never 0, 37,887 at most seen … */
#define CV_CAPSULE_MOST   0x1000000u  /* … so that this is beyond all */
#define CV_CAPSULE_HEAD   10u         /* two words, and the two bytes at the end */
#define CV_CAPSULE_LEAST  16u
/* Does its stream end as code does? A stub of a unified function ends otherwise. */
static inline bool cv_capsule_ends(cv_span body)
{
    uint8_t low = cv_u8_at(body, body.len - 2), high = cv_u8_at(body, body.len - 1);

    return (low == 0x50 && high >= 5 && high <= 8) || (low == 0xD0 && high >= 4 && high <= 7);
}

/* .nvHR?? of host objects: NUL-terminated name patterns; an empty list is one NUL per object. The next
 * pattern, empty ones skipped, without its NUL. False: no more; a last one without an end does not count
 * (format/hostobj reports it). */
CV_MUST bool cv_hostref_next(cv_span span, uint64_t *pos, cv_span *pattern);

#endif
