/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "codec/zstd.h"

#include "base/platform.h"

/* The custom-allocator constructor is in the "static" part of the header but exported by the shared library
 * of every release since 1.0; without it the decoder's tables would be the one allocation that passes the
 * budget by. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define FRAME_MAGIC UINT32_C(0xFD2FB528)

/* zstd frees without a size: each block carries its own in front. */
typedef struct block_head {
    uint64_t size;
    uint64_t pad; /* keeps the alignment of 16 that malloc gives */
} block_head;

static void *zstd_alloc(void *opaque, size_t size)
{
    cv_ctx *ctx = opaque;
    uint64_t total = 0;
    block_head *head;

    if (CV_NEVER(!cv_add(size, sizeof(block_head), &total)))
        return NULL;
    head = cv_mem_get_raw(&ctx->mem, total);
    if (!head)
        return NULL;
    head->size = total;
    return head + 1;
}

static void zstd_free(void *opaque, void *block)
{
    cv_ctx *ctx = opaque;
    block_head *head = block;

    if (CV_NEVER(!block)) /* libzstd asks before it calls */
        return;
    head--;
    cv_mem_put(&ctx->mem, head, head->size);
}

void cv_codec_free(cv_ctx *ctx, cv_codec *codec)
{
    (void)ctx;                        /* the context is remembered by the decoder's allocator */
    (void)ZSTD_freeDCtx(codec->zstd); /* cannot fail: NULL is allowed and there is nothing to flush */
    codec->zstd = NULL;
}

/* Frame_Header of RFC 8878, 3.1.1.1: descriptor, window, dictionary id, content size. */
cuvet_status cv_zstd_read_frame(cv_ctx *ctx, cv_span in, cv_zstd_frame *out)
{
    static const uint8_t DICT_LEN[] = { 0, 1, 2, 4 }, SIZE_LEN[] = { 0, 2, 4, 8 };
    cv_cur cursor = cv_cur_of(in);
    cv_zstd_frame frame = { 0 };
    uint32_t magic = cv_cur_u32(&cursor);
    uint8_t desc = cv_cur_u8(&cursor), window = 0;
    unsigned size_len;

    if (!cursor.failed && magic != FRAME_MAGIC)
        return cv_reject(ctx, CV_R_ZSTD_MAGIC, in.off, magic, FRAME_MAGIC);
    frame.single_segment = (desc & 0x20) != 0;
    frame.has_checksum = (desc & 4) != 0;
    frame.has_dictionary = (desc & 3) != 0;
    if (!frame.single_segment)
        window = cv_cur_u8(&cursor);
    cv_cur_skip(&cursor, CV_AT(DICT_LEN, desc & 3));
    size_len = CV_AT(SIZE_LEN, desc >> 6);
    if (size_len == 0 && frame.single_segment)
        size_len = 1;
    frame.has_size = size_len != 0;
    frame.size = size_len == 1   ? cv_cur_u8(&cursor)
                 : size_len == 2 ? (uint64_t)cv_cur_u16(&cursor) + 256
                 : size_len == 4 ? cv_cur_u32(&cursor)
                 : size_len == 8 ? cv_cur_u64(&cursor)
                                 : 0;
    if (cursor.failed)
        return cv_reject(ctx, CV_R_ZSTD_TRUNCATED, in.off + cursor.bad_at, in.len - cursor.bad_at,
                         cursor.bad_want);
    if (desc & 8)
        return cv_reject(ctx, CV_R_ZSTD_RESERVED_BIT, in.off + 4, desc, 0);
    /* Window_Size = 2^(10 + exponent) * (1 + mantissa / 8) */
    frame.window =
        frame.single_segment ? frame.size : (UINT64_C(1) << (10 + (window >> 3))) / 8 * (8u + (window & 7u));
    frame.header_len = cursor.pos;
    *out = frame;
    return CUVET_OK;
}

static cuvet_status check_frame(cv_ctx *ctx, cv_span in, uint64_t size)
{
    cv_zstd_frame info = { 0 };
    cuvet_status status = cv_zstd_read_frame(ctx, in, &info);
    size_t frame;

    if (status != CUVET_OK)
        return status;
    if (!info.has_size || info.size != size)
        return cv_reject(ctx, CV_R_ZSTD_CONTENT_SIZE, in.off + 4, info.has_size ? info.size : 0, size);
    if (info.has_dictionary)
        return cv_reject(ctx, CV_R_ZSTD_DICTIONARY, in.off + 4, 1, 0);
    if (info.has_checksum)
        cv_report(ctx, CV_R_ZSTD_CHECKSUM, in.off + 4, 1, 1, 0);
    if (!info.single_segment && info.window > ctx->lim.window)
        return cv_reject(ctx, CV_R_LIMIT_WINDOW, in.off + 5, info.window, ctx->lim.window);
    frame = ZSTD_findFrameCompressedSize(in.base, (size_t)in.len);
    if (ZSTD_isError(frame))
        return cv_reject(ctx, CV_R_ZSTD_CORRUPT, in.off, in.len, size);
    if (frame != in.len)
        return cv_reject(ctx, CV_R_ZSTD_FRAME_LENGTH, in.off, frame, in.len);
    return CUVET_OK;
}

cuvet_status cv_zstd_decode(cv_ctx *ctx, cv_codec *codec, cv_span in, uint64_t size, cv_block *out)
{
    cuvet_status status = check_frame(ctx, in, size);
    uint64_t ratio = size / in.len + (size % in.len != 0);
    size_t count;

    if (status != CUVET_OK)
        return status;
    if (ratio > ctx->lim.ratio)
        return cv_reject(ctx, CV_R_LIMIT_RATIO, in.off, ratio, ctx->lim.ratio);
    if (!codec->zstd)
        codec->zstd = ZSTD_createDCtx_advanced((ZSTD_customMem){ zstd_alloc, zstd_free, ctx });
    if (!codec->zstd)
        return cv_nomem(ctx, in.off);
    status = cv_block_room(ctx, out, size, in.off);
    if (status != CUVET_OK)
        return status;
    count = ZSTD_decompressDCtx(codec->zstd, out->mem, (size_t)size, in.base, (size_t)in.len);
    if (ZSTD_isError(count))
        return cv_reject(ctx, CV_R_ZSTD_CORRUPT, in.off, in.len, size);
    CV_FOREIGN_WROTE(out->mem, count);
    if (CV_NEVER(count != size)) /* the frame header said so */
        return cv_reject(ctx, CV_R_CODEC_SIZE, in.off, count, size);
    cv_block_filled(out, size);
    out->span.off = 0; /* content counts from its own start */
    return CUVET_OK;
}

const char *cv_codec_zstd_version(void)
{
    return ZSTD_versionString();
}
