/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/tlv/read.h"

/* The record at pos is broken: say how. */
static cuvet_status broken(cv_ctx *ctx, cv_span span, uint64_t pos, cv_tlv_state why)
{
    uint64_t count = cv_u16_at(span, pos + 2);

    if (why == CV_TLV_FORMAT)
        return cv_reject(ctx, CV_R_TLV_FORMAT, span.off + pos, cv_u8_at(span, pos), CV_TLV_SVAL);
    if (why == CV_TLV_ODD)
        return cv_reject(ctx, CV_R_TLV_LENGTH, span.off + pos + 2, count, 4);
    if (span.len - pos < CV_TLV_HEAD)
        return cv_reject(ctx, CV_R_TLV_CUT, span.off + pos, span.len - pos, CV_TLV_HEAD);
    return cv_reject(ctx, CV_R_TLV_CUT, span.off + pos, span.len - pos, CV_TLV_HEAD + count);
}

cuvet_status cv_tlv_next(cv_ctx *ctx, cv_span span, uint64_t *pos, cv_tlv *out)
{
    cv_tlv_state st = cv_tlv_at(span, *pos, out);

    if (CV_LIKELY(st == CV_TLV_OK)) {
        *pos = out->next;
        if (CV_UNLIKELY(out->padding))
            cv_report(ctx, CV_R_TLV_PADDING, span.off + out->off + (out->format == CV_TLV_BVAL ? 3 : 2), 0,
                      cv_u16_at(span, out->off + 2), 0);
        return CUVET_OK;
    }
    return st == CV_TLV_END ? CUVET_END : broken(ctx, span, *pos, st);
}
