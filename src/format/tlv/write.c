/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/tlv/write.h"

#include "format/tlv/read.h"

void cv_tlv_put_head(cv_builder *out, uint8_t format, uint8_t code, uint16_t value)
{
    cv_put_u8(out, format);
    cv_put_u8(out, code);
    cv_put_u16(out, value);
}

void cv_tlv_put_nval(cv_builder *out, uint8_t code)
{
    cv_tlv_put_head(out, CV_TLV_NVAL, code, 0);
}

void cv_tlv_put_bval(cv_builder *out, uint8_t code, uint8_t value)
{
    cv_tlv_put_head(out, CV_TLV_BVAL, code, value);
}

void cv_tlv_put_hval(cv_builder *out, uint8_t code, uint16_t value)
{
    cv_tlv_put_head(out, CV_TLV_HVAL, code, value);
}

bool cv_tlv_put_sval(cv_builder *out, uint8_t code, cv_span payload)
{
    if (payload.len > UINT16_MAX || payload.len % 4 != 0)
        return false;
    cv_tlv_put_head(out, CV_TLV_SVAL, code, (uint16_t)payload.len);
    cv_put_span(out, payload);
    return true;
}
