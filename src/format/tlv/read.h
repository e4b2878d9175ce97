/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of .nv.info*, their Mercury clones and .nv.compat: format byte, code byte, two bytes of value or
 * length, payload. No header, no count, no terminator: a section is records from its start to its end. Pure
 * functions over the section. */
#ifndef CV_FORMAT_TLV_READ_H
#define CV_FORMAT_TLV_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

#define CV_TLV_HEAD 4u /* bytes before a payload */

enum { CV_TLV_NVAL = 1, CV_TLV_BVAL = 2, CV_TLV_HVAL = 3, CV_TLV_SVAL = 4 };

typedef struct cv_tlv {
    uint64_t off;   /* of the record in the section */
    uint64_t next;  /* of what follows it */
    uint8_t format; /* CV_TLV_NVAL … CV_TLV_SVAL */
    uint8_t code;
    uint16_t value;   /* NVAL: 0; BVAL: byte 2; HVAL and SVAL: bytes 2..3 */
    uint16_t stored;  /* bytes 2..3, whatever the format */
    uint64_t payload; /* offset in the section, SVAL only; its length is value */
    bool padding;     /* a byte that must be zero is not: kept, reported by cv_tlv_next */
} cv_tlv;

/* What stands at pos, without a report: for dumps. ODD: a payload that is not whole words, which is there;
 * what is next begins aligned, or at the end. CUT, FORMAT: *out untouched. */
typedef enum cv_tlv_state { CV_TLV_OK = 0, CV_TLV_END, CV_TLV_CUT, CV_TLV_FORMAT, CV_TLV_ODD } cv_tlv_state;
CV_MUST static inline cv_tlv_state cv_tlv_at(cv_span span, uint64_t pos, cv_tlv *out)
{
    uint32_t word;
    uint16_t value;
    uint8_t format;

    if (pos >= span.len)
        return CV_TLV_END;
    if (span.len - pos < CV_TLV_HEAD)
        return CV_TLV_CUT;
    word = cv_u32_at(span, pos);
    format = (uint8_t)word;
    value = (uint16_t)(word >> 16);
    if (format < CV_TLV_NVAL || format > CV_TLV_SVAL)
        return CV_TLV_FORMAT;
    if (format == CV_TLV_SVAL && value > span.len - pos - CV_TLV_HEAD)
        return CV_TLV_CUT;
    *out = (cv_tlv){ .off = pos,
                     .next = pos + CV_TLV_HEAD,
                     .format = format,
                     .code = (uint8_t)(word >> 8),
                     .value = value,
                     .stored = value,
                     .payload = pos + CV_TLV_HEAD };
    if (format == CV_TLV_SVAL) {
        out->next = cv_min(cv_sat_align(out->next + value, CV_TLV_HEAD), span.len);
        if (value % CV_TLV_HEAD != 0)
            return CV_TLV_ODD;
    } else if (format == CV_TLV_BVAL) {
        out->padding = value > UINT8_MAX;
        out->value = value & UINT8_MAX;
    } else if (format == CV_TLV_NVAL) {
        out->padding = value != 0;
        out->value = 0;
    }
    return CV_TLV_OK;
}

/* Payload of a record of the section, empty for formats without one. */
static inline cv_span cv_tlv_payload(cv_span section, const cv_tlv *record)
{
    cv_span payload = cv_span_tail(section, record->payload);

    payload.len = record->format == CV_TLV_SVAL ? cv_min(payload.len, record->value) : 0;
    return payload;
}

/* Next record at *pos, which is advanced. OK, END at the end of the section, MALFORMED (reported). */
CV_MUST cuvet_status cv_tlv_next(cv_ctx *ctx, cv_span span, uint64_t *pos, cv_tlv *out);

#endif
