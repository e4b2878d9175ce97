/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writer of the records read by read.h: what cv_tlv_next gives, written back, is the same bytes. */
#ifndef CV_FORMAT_TLV_WRITE_H
#define CV_FORMAT_TLV_WRITE_H

#include "bytes/builder.h"

/* The first word of a record whose format is in a variable; a payload of `value` bytes is the caller's. */
void cv_tlv_put_head(cv_builder *out, uint8_t format, uint8_t code, uint16_t value);
void cv_tlv_put_nval(cv_builder *out, uint8_t code);
void cv_tlv_put_bval(cv_builder *out, uint8_t code, uint8_t value);
void cv_tlv_put_hval(cv_builder *out, uint8_t code, uint16_t value);
/* Payload of a multiple of 4 and at most 65,532 bytes; false and nothing written otherwise. */
CV_MUST bool cv_tlv_put_sval(cv_builder *out, uint8_t code, cv_span payload);

#endif
