/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decompression of one member: LZ4 block or zstd frame into a buffer of exactly the declared size. All limits
 * are checked on the declared sizes before the buffer exists; the result must fill it exactly. */
#ifndef CV_CODEC_CODEC_H
#define CV_CODEC_CODEC_H

#include "io/source.h"

typedef enum cv_codec_kind { CV_CODEC_LZ4, CV_CODEC_ZSTD } cv_codec_kind;

/* Contexts of the decompressors, kept between members. */
typedef struct cv_codec {
    void *zstd; /* ZSTD_DCtx, made on first use */
} cv_codec;

void cv_codec_free(cv_ctx *ctx, cv_codec *codec);

/* Header of a zstd frame, as far as the rules need it. */
typedef struct cv_zstd_frame {
    uint64_t header_len;
    bool single_segment, has_checksum, has_dictionary, has_size;
    uint64_t size;   /* frame content size, when has_size */
    uint64_t window; /* bytes; the content size for single segment */
} cv_zstd_frame;

/* Pure; reports CV-CODEC rules with offsets in 'in'. */
CV_MUST cuvet_status cv_zstd_read_frame(cv_ctx *ctx, cv_span in, cv_zstd_frame *out);

/* Decompress exactly all of 'in' into out (which is given room for 'size' bytes). Offsets of diagnostics: in
 * the file.
 * @return OK · MALFORMED · LIMIT · NOMEM */
CV_MUST cuvet_status cv_codec_decode(cv_ctx *ctx, cv_codec *codec, cv_codec_kind kind, cv_span in,
                                     uint64_t size, cv_block *out);

/* Versions of the libraries that are linked in, for --version. */
const char *cv_codec_lz4_version(void);
const char *cv_codec_zstd_version(void);

#endif
