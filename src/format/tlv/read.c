/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/tlv/read.h"

#define HEAD 4u

cv_tlv_state cv_tlv_at(cv_span s, uint64_t pos, cv_tlv *out)
{
    uint32_t w;
    uint16_t value;
    uint8_t format;

    if (pos >= s.len)
        return CV_TLV_END;
    if (s.len - pos < HEAD)
        return CV_TLV_CUT;
    w = cv_u32_at(s, pos);
    format = (uint8_t)w;
    value = (uint16_t)(w >> 16);
    if (format < CV_TLV_NVAL || format > CV_TLV_SVAL)
        return CV_TLV_FORMAT;
    if (format == CV_TLV_SVAL && value > s.len - pos - HEAD)
        return CV_TLV_CUT;
    if (format == CV_TLV_SVAL && value % 4 != 0)
        return CV_TLV_ODD;
    *out = (cv_tlv){ pos, pos + HEAD, format, (uint8_t)(w >> 8), value, pos + HEAD, false };
    if (format == CV_TLV_SVAL) {
        out->next += value;
    } else if (format == CV_TLV_BVAL) {
        out->padding = value > UINT8_MAX;
        out->value = value & UINT8_MAX;
    } else if (format == CV_TLV_NVAL) {
        out->padding = value != 0;
        out->value = 0;
    }
    return CV_TLV_OK;
}

/* The record at pos is broken: say how. */
static cuvet_status broken(cv_ctx *x, cv_span s, uint64_t pos, cv_tlv_state why)
{
    uint64_t n = cv_u16_at(s, pos + 2);

    if (why == CV_TLV_FORMAT)
        return cv_reject(x, CV_R_TLV_FORMAT, s.off + pos, cv_u8_at(s, pos), CV_TLV_SVAL);
    if (why == CV_TLV_ODD)
        return cv_reject(x, CV_R_TLV_LENGTH, s.off + pos + 2, n, 4);
    if (s.len - pos < HEAD)
        return cv_reject(x, CV_R_TLV_CUT, s.off + pos, s.len - pos, HEAD);
    return cv_reject(x, CV_R_TLV_CUT, s.off + pos, s.len - pos, HEAD + n);
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
