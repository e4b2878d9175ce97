/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/tlv/read.h"

/* The record at pos is broken: say how. */
static cuvet_status broken(cv_ctx *x, cv_span s, uint64_t pos, cv_tlv_state why)
{
    uint64_t n = cv_u16_at(s, pos + 2);

    if (why == CV_TLV_FORMAT)
        return cv_reject(x, CV_R_TLV_FORMAT, s.off + pos, cv_u8_at(s, pos), CV_TLV_SVAL);
    if (why == CV_TLV_ODD)
        return cv_reject(x, CV_R_TLV_LENGTH, s.off + pos + 2, n, 4);
    if (s.len - pos < CV_TLV_HEAD)
        return cv_reject(x, CV_R_TLV_CUT, s.off + pos, s.len - pos, CV_TLV_HEAD);
    return cv_reject(x, CV_R_TLV_CUT, s.off + pos, s.len - pos, CV_TLV_HEAD + n);
}

cuvet_status cv_tlv_next(cv_ctx *x, cv_span s, uint64_t *pos, cv_tlv *out)
{
    cv_tlv_state st = cv_tlv_at(s, *pos, out);

    if (CV_LIKELY(st == CV_TLV_OK)) {
        *pos = out->next;
        if (CV_UNLIKELY(out->padding))
            cv_report(x, CV_R_TLV_PADDING, s.off + out->off + (out->format == CV_TLV_BVAL ? 3 : 2), 0,
                      cv_u16_at(s, out->off + 2), 0);
        return CUVET_OK;
    }
    return st == CV_TLV_END ? CUVET_END : broken(x, s, *pos, st);
}
