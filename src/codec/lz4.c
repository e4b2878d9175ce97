/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "codec/lz4.h"

#include "base/platform.h"

#include <limits.h>
#include <lz4.h>

/* The library's API counts in int; a block it can hold is below that anyway. */
cuvet_status cv_lz4_decode(cv_ctx *ctx, cv_span in, uint64_t size, cv_block *out)
{
    uint64_t ratio = size / in.len + (size % in.len != 0);
    cuvet_status status;
    int count;

    if (ratio > ctx->lim.lz4_ratio)
        return cv_reject(ctx, CV_R_LIMIT_LZ4_RATIO, in.off, ratio, ctx->lim.lz4_ratio);
    if (in.len > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE)
        return cv_reject(ctx, CV_R_LZ4_TOO_LARGE, in.off, cv_max(in.len, size), LZ4_MAX_INPUT_SIZE);
    status = cv_block_room(ctx, out, size, in.off);
    if (status != CUVET_OK)
        return status;
    count = LZ4_decompress_safe((const char *)in.base, (char *)out->mem, (int)in.len, (int)size);
    if (count < 0)
        return cv_reject(ctx, CV_R_LZ4_CORRUPT, in.off, 0, size);
    CV_FOREIGN_WROTE(out->mem, (size_t)count);
    if ((uint64_t)count != size)
        return cv_reject(ctx, CV_R_CODEC_SIZE, in.off, (uint64_t)count, size);
    cv_block_filled(out, size);
    out->span.off = 0; /* content counts from its own start */
    return CUVET_OK;
}

const char *cv_codec_lz4_version(void)
{
    return LZ4_versionString();
}
