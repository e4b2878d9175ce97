/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/dwarf/write.h"
#include "format/dwarf/read.h"

enum { LEB_BITS = 7, LEB_MORE = 1 << LEB_BITS };

void cv_put_uleb(cv_builder *out, uint64_t value)
{
    for (; value >= LEB_MORE; value >>= LEB_BITS)
        cv_put_u8(out, (uint8_t)(value | LEB_MORE));
    cv_put_u8(out, (uint8_t)value);
}

void cv_put_frame(cv_builder *out, uint64_t pointer, cv_span body, uint64_t pad)
{
    cv_put_u32(out, CV_FRAME_WIDE);
    cv_put_u64(out, CV_FRAME_WORD + body.len + pad);
    cv_put_u64(out, pointer);
    cv_put_span(out, body);
    cv_put_zero(out, pad);
}
