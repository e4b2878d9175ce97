/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "codec/zstd.h"

/* The custom-allocator constructor is in the "static" part of the header but exported by the shared library
 * of every release since 1.0; without it the decoder's tables would be the one allocation that passes the
 * budget by. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define FRAME_MAGIC UINT32_C(0xFD2FB528)

/* zstd frees without a size: each block carries its own in front. */
typedef struct head {
    uint64_t size;
    uint64_t pad; /* keeps the alignment of 16 that malloc gives */
} head;

static void *zstd_alloc(void *opaque, size_t size)
{
    cv_ctx *x = opaque;
    uint64_t total = 0;
    head *h;

    if (CV_NEVER(!cv_add(size, sizeof(head), &total)))
        return NULL;
    h = cv_mem_get_raw(&x->mem, total);
    if (!h)
        return NULL;
    h->size = total;
    return h + 1;
}

static void zstd_free(void *opaque, void *p)
{
    cv_ctx *x = opaque;
    head *h = p;

    if (!p)
        return;
    h--;
    cv_mem_put(&x->mem, h, h->size);
}

void cv_codec_free(cv_ctx *x, cv_codec *c)
{
    (void)x;                      /* the context is remembered by the decoder's allocator */
    (void)ZSTD_freeDCtx(c->zstd); /* cannot fail: NULL is allowed and there is nothing to flush */
    c->zstd = NULL;
}

/* Frame_Header of RFC 8878, 3.1.1.1: descriptor, window, dictionary id, content size. */
cuvet_status cv_zstd_read_frame(cv_ctx *x, cv_span in, cv_zstd_frame *out)
{
    static const uint8_t DICT_LEN[] = { 0, 1, 2, 4 }, SIZE_LEN[] = { 0, 2, 4, 8 };
    cv_cur c = cv_cur_of(in);
    cv_zstd_frame f = { 0 };
    uint32_t magic = cv_cur_u32(&c);
    uint8_t desc = cv_cur_u8(&c), window = 0;
    unsigned size_len;

    if (!c.failed && magic != FRAME_MAGIC)
        return cv_reject(x, CV_R_ZSTD_MAGIC, in.off, magic, FRAME_MAGIC);
    f.single_segment = (desc & 0x20) != 0;
    f.has_checksum = (desc & 4) != 0;
    f.has_dictionary = (desc & 3) != 0;
    if (!f.single_segment)
        window = cv_cur_u8(&c);
    cv_cur_skip(&c, CV_AT(DICT_LEN, desc & 3));
    size_len = CV_AT(SIZE_LEN, desc >> 6);
    if (size_len == 0 && f.single_segment)
        size_len = 1;
    f.has_size = size_len != 0;
    f.size = size_len == 1   ? cv_cur_u8(&c)
             : size_len == 2 ? (uint64_t)cv_cur_u16(&c) + 256
             : size_len == 4 ? cv_cur_u32(&c)
             : size_len == 8 ? cv_cur_u64(&c)
                             : 0;
    if (c.failed)
        return cv_reject(x, CV_R_ZSTD_TRUNCATED, in.off + c.bad_at, in.len - c.bad_at, c.bad_want);
    if (desc & 8)
        return cv_reject(x, CV_R_ZSTD_RESERVED_BIT, in.off + 4, desc, 0);
    /* Window_Size = 2^(10 + exponent) * (1 + mantissa / 8) */
    f.window = f.single_segment ? f.size : (UINT64_C(1) << (10 + (window >> 3))) / 8 * (8u + (window & 7u));
    f.header_len = c.pos;
    *out = f;
    return CUVET_OK;
}

static cuvet_status check_frame(cv_ctx *x, cv_span in, uint64_t size)
{
    cv_zstd_frame f = { 0 };
    cuvet_status s = cv_zstd_read_frame(x, in, &f);
    size_t frame;

    if (s != CUVET_OK)
        return s;
    if (!f.has_size || f.size != size)
        return cv_reject(x, CV_R_ZSTD_CONTENT_SIZE, in.off + 4, f.has_size ? f.size : 0, size);
    if (f.has_dictionary)
        return cv_reject(x, CV_R_ZSTD_DICTIONARY, in.off + 4, 1, 0);
    if (f.has_checksum)
        cv_report(x, CV_R_ZSTD_CHECKSUM, in.off + 4, 1, 1, 0);
    if (!f.single_segment && f.window > x->lim.window)
        return cv_reject(x, CV_R_LIMIT_WINDOW, in.off + 5, f.window, x->lim.window);
    frame = ZSTD_findFrameCompressedSize(in.base, (size_t)in.len);
    if (ZSTD_isError(frame))
        return cv_reject(x, CV_R_ZSTD_CORRUPT, in.off, in.len, size);
    if (frame != in.len)
        return cv_reject(x, CV_R_ZSTD_FRAME_LENGTH, in.off, frame, in.len);
    return CUVET_OK;
}

cuvet_status cv_zstd_decode(cv_ctx *x, cv_codec *c, cv_span in, uint64_t size, cv_block *out)
{
    cuvet_status s = check_frame(x, in, size);
    uint64_t ratio = size / in.len + (size % in.len != 0);
    size_t n;

    if (s != CUVET_OK)
        return s;
    if (ratio > x->lim.ratio)
        return cv_reject(x, CV_R_LIMIT_RATIO, in.off, ratio, x->lim.ratio);
    if (!c->zstd)
        c->zstd = ZSTD_createDCtx_advanced((ZSTD_customMem){ zstd_alloc, zstd_free, x });
    if (!c->zstd)
        return cv_nomem(x, in.off);
    s = cv_block_room(x, out, size, in.off);
    if (s != CUVET_OK)
        return s;
    n = ZSTD_decompressDCtx(c->zstd, out->mem, (size_t)size, in.base, (size_t)in.len);
    if (ZSTD_isError(n))
        return cv_reject(x, CV_R_ZSTD_CORRUPT, in.off, in.len, size);
    if (CV_NEVER(n != size)) /* the frame header said so */
        return cv_reject(x, CV_R_CODEC_SIZE, in.off, n, size);
    cv_block_filled(out, size);
    out->span.off = 0; /* content counts from its own start */
    return CUVET_OK;
}

const char *cv_codec_zstd_version(void)
{
    return ZSTD_versionString();
}
