/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "codec/codec.h"

#include "codec/lz4.h"
#include "codec/zstd.h"

cuvet_status cv_codec_decode(cv_ctx *x, cv_codec *c, cv_codec_kind kind, cv_span in, uint64_t size,
                             cv_block *out)
{
    if (CV_NEVER(in.len == 0 || size == 0))
        return CUVET_E_INTERNAL;
    if (size > x->lim.member)
        return cv_reject(x, CV_R_LIMIT_MEMBER, in.off, size, x->lim.member);
    return kind == CV_CODEC_LZ4 ? cv_lz4_decode(x, in, size, out) : cv_zstd_decode(x, c, in, size, out);
}
