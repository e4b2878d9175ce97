/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "codec/codec.h"

#include "codec/lz4.h"
#include "codec/zstd.h"

cuvet_status cv_codec_decode(cv_ctx *ctx, cv_codec *codec, cv_codec_kind kind, cv_span in, uint64_t size,
                             cv_block *out)
{
    if (CV_NEVER(in.len == 0 || size == 0))
        return CUVET_E_INTERNAL;
    if (size > ctx->lim.member)
        return cv_reject(ctx, CV_R_LIMIT_MEMBER, in.off, size, ctx->lim.member);
    return kind == CV_CODEC_LZ4 ? cv_lz4_decode(ctx, in, size, out)
                                : cv_zstd_decode(ctx, codec, in, size, out);
}
