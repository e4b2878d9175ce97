/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/meta/read.h"

#define CALL_RECORD    8u
#define PROTO_RECORD   8u
#define UNIFIED_RECORD 32u
#define LAST_PART      4u

static cuvet_status ragged(cv_ctx *ctx, cv_span span, uint64_t pos, uint64_t record)
{
    return cv_reject(ctx, CV_R_META_RAGGED, span.off + pos, span.len - pos, record);
}

/* After part p comes p + 1; in a loose table a new round may start after part 3. */
static bool marker_ok(const cv_call_cur *cur, uint32_t part)
{
    return part == cur->part + 1 || (cur->loose && cur->part == CV_CALL_INDIRECT && part == CV_CALL_DIRECT);
}

static bool end_ok(const cv_call_cur *cur)
{
    return cur->part == LAST_PART || (cur->loose && cur->part == CV_CALL_INDIRECT);
}

cuvet_status cv_callgraph_next(cv_ctx *ctx, cv_span span, cv_call_cur *cur, cv_call *out)
{
    while (span.len - cur->pos >= CALL_RECORD) {
        uint64_t off = cur->pos;
        uint32_t from = cv_u32_at(span, off), to = cv_u32_at(span, off + 4);

        if (from != 0 || to < UINT32_C(0x80000000)) {
            if (cur->part == CV_CALL_NONE)
                return cv_reject(ctx, CV_R_CALL_MARKER, span.off + off, 0, 1);
            cur->pos += CALL_RECORD;
            *out = (cv_call){ off, (cv_call_part)cur->part, from, to };
            return CUVET_OK;
        }
        to = UINT32_MAX - to + 1;
        if (to > LAST_PART || !marker_ok(cur, to))
            return cv_reject(ctx, CV_R_CALL_MARKER, span.off + off, to, cur->part + 1);
        cur->pos += CALL_RECORD;
        cur->part = to;
    }
    if (cur->pos != span.len)
        return ragged(ctx, span, cur->pos, CALL_RECORD);
    return end_ok(cur) ? CUVET_END : cv_reject(ctx, CV_R_CALL_MARKER, span.off + span.len, 0, cur->part + 1);
}

bool cv_callgraph_peek(cv_span span, cv_call_cur *cur, cv_call *out)
{
    while (span.len - cur->pos >= CALL_RECORD) {
        uint64_t off = cur->pos;
        uint32_t from = cv_u32_at(span, off), to = cv_u32_at(span, off + 4);

        cur->pos += CALL_RECORD;
        if (from != 0 || to < UINT32_C(0x80000000)) {
            *out = (cv_call){ off, (cv_call_part)cur->part, from, to };
            return true;
        }
        to = UINT32_MAX - to + 1;
        cur->part = to <= LAST_PART ? to : 0;
    }
    return false;
}

cuvet_status cv_callgraph_each(cv_span span, uint64_t *pos, cv_call_part *part, bool *marker, cv_call *out)
{
    if (*pos >= span.len)
        return CUVET_END;
    if (span.len - *pos < CALL_RECORD)
        return CUVET_E_MALFORMED;
    *out = (cv_call){ *pos, *part, cv_u32_at(span, *pos), cv_u32_at(span, *pos + 4) };
    *marker = out->to > UINT32_MAX - LAST_PART;
    if (*marker)
        *part = out->part = (cv_call_part)(UINT32_MAX - out->to + 1);
    *pos += CALL_RECORD;
    return CUVET_OK;
}

cuvet_status cv_prototype_next(cv_ctx *ctx, cv_span span, uint64_t *pos, cv_proto *out)
{
    if (*pos >= span.len)
        return CUVET_END;
    if (span.len - *pos < PROTO_RECORD)
        return ragged(ctx, span, *pos, PROTO_RECORD);
    *out = (cv_proto){ *pos, cv_u32_at(span, *pos), cv_u32_at(span, *pos + 4) };
    *pos += PROTO_RECORD;
    return CUVET_OK;
}

cuvet_status cv_unified_next(cv_ctx *ctx, cv_span span, uint64_t *pos, cv_unified *out)
{
    uint64_t at = *pos;

    if (at >= span.len)
        return CUVET_END;
    if (span.len - at < UNIFIED_RECORD)
        return ragged(ctx, span, at, UNIFIED_RECORD);
    *out = (cv_unified){ at,
                         cv_u32_at(span, at),
                         cv_u32_at(span, at + 4),
                         cv_u64_at(span, at + 8),
                         cv_u64_at(span, at + 16),
                         cv_u64_at(span, at + 24) };
    *pos += UNIFIED_RECORD;
    return CUVET_OK;
}

void cv_rel_action_check(cv_ctx *ctx, cv_span span, bool legacy, bool newer_ok)
{
    /* Observed: files of 12.7 to 13.1 tools hold these 16 bytes; older tools a table that starts with 75. */
    const uint64_t first = 0x73, second = UINT64_C(0x3605002511000000), old = 0x4B;
    bool now = span.len == 16 && cv_u64_at(span, 0) == first && cv_u64_at(span, 8) == second;
    bool then = legacy && span.len % 8 == 0 && cv_u64_at(span, 0) == old;

    cv_rule rule = newer_ok ? CV_R_REL_ACTION_NEW : CV_R_REL_ACTION;

    if (now || then)
        return;
    if (cv_u64_at(span, 0) != first)
        cv_report(ctx, rule, span.off, span.len, cv_u64_at(span, 0), first);
    else if (cv_u64_at(span, 8) != second)
        cv_report(ctx, rule, span.off, span.len, cv_u64_at(span, 8), second);
    else
        cv_report(ctx, rule, span.off, span.len, span.len, 16);
}

bool cv_hostref_next(cv_span span, uint64_t *pos, cv_span *pattern)
{
    cv_span prefix;

    while (cv_span_cstr(span, *pos, &prefix)) {
        *pos += prefix.len + 1;
        if (prefix.len) {
            *pattern = prefix;
            return true;
        }
    }
    return false;
}
