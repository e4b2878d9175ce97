/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LZ4 blocks. The declared size is the upper half of the parameters; 0: four times the input. */
#include "common.h"

#include <lz4.h>
#include <stdlib.h>

#include "codec/codec.h"

/* What was decoded is encoded again and decoded to the same. */
static void again(fz_state *fuzz, cv_codec *codec, cv_span out)
{
    int room = LZ4_compressBound((int)out.len), count;
    char *packed = malloc((size_t)room);
    cv_block block = { 0 };

    if (!packed)
        abort();
    count = LZ4_compress_default((const char *)out.base, packed, (int)out.len, room);
    FZ_CHECK(count > 0, "what was decoded can be encoded");
    if (out.len / (uint64_t)count < fuzz->ctx.lim.lz4_ratio) {
        cuvet_status st = cv_codec_decode(&fuzz->ctx, codec, CV_CODEC_LZ4,
                                          cv_span_of(packed, (uint64_t)count, fuzz->base), out.len, &block);

        FZ_CHECK(st == CUVET_OK || st == CUVET_E_LIMIT, "what was encoded can be decoded");
        FZ_CHECK(st != CUVET_OK || cv_span_eq(block.span, out), "decoded, encoded, decoded: the same");
    }
    cv_block_free(&fuzz->ctx, &block);
    free(packed);
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    uint64_t declared = fuzz->in->param >> 16, before = fz_reported(fuzz);
    cv_codec codec = { 0 };
    cv_block out = { 0 };
    cuvet_status st;

    if (span.len == 0)
        return;
    if (declared == 0)
        declared = 4 * span.len;
    st = cv_codec_decode(&fuzz->ctx, &codec, CV_CODEC_LZ4, span, declared, &out);
    fz_status(fuzz, st, before);
    FZ_CHECK(out.span.len == (st == CUVET_OK ? declared : 0), "exactly the declared size, or nothing");
    if (st == CUVET_OK) {
        fz_note_bytes(fuzz, out.span.base, out.span.len);
        if (fuzz->pass == 0 && (fuzz->hash & 7) == 0)
            again(fuzz, &codec, out.span);
        fuzz->hash =
            fz_mix_bytes(0, out.span.base, out.span.len); /* the second encoding is no part of the result */
    }
    cv_block_free(&fuzz->ctx, &out);
    cv_codec_free(&fuzz->ctx, &codec);
}

CV_FUZZ_TARGET(lz4)
{
    return fz_twice(data, size, FZ_OFF, run);
}
