/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* LZ4 blocks. The declared size is the upper half of the parameters; 0: four times the input. */
#include "common.h"

#include <lz4.h>
#include <stdlib.h>

#include "codec/codec.h"

/* What was decoded is encoded again and decoded to the same. */
static void again(fz *f, cv_codec *c, cv_span out)
{
    int room = LZ4_compressBound((int)out.len), n;
    char *packed = malloc((size_t)room);
    cv_block b = { 0 };

    if (!packed)
        abort();
    n = LZ4_compress_default((const char *)out.base, packed, (int)out.len, room);
    FZ_CHECK(n > 0, "what was decoded can be encoded");
    if (out.len / (uint64_t)n < f->x.lim.lz4_ratio) {
        cuvet_status st =
            cv_codec_decode(&f->x, c, CV_CODEC_LZ4, cv_span_of(packed, (uint64_t)n, f->base), out.len, &b);

        FZ_CHECK(st == CUVET_OK || st == CUVET_E_LIMIT, "what was encoded can be decoded");
        FZ_CHECK(st != CUVET_OK || cv_span_eq(b.span, out), "decoded, encoded, decoded: the same");
    }
    cv_block_free(&f->x, &b);
    free(packed);
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    uint64_t declared = f->in->param >> 16, before = fz_reported(f);
    cv_codec c = { 0 };
    cv_block out = { 0 };
    cuvet_status st;

    if (s.len == 0)
        return;
    if (declared == 0)
        declared = 4 * s.len;
    st = cv_codec_decode(&f->x, &c, CV_CODEC_LZ4, s, declared, &out);
    fz_status(f, st, before);
    FZ_CHECK(out.span.len == (st == CUVET_OK ? declared : 0), "exactly the declared size, or nothing");
    if (st == CUVET_OK) {
        fz_note_bytes(f, out.span.base, out.span.len);
        if (f->pass == 0 && (f->hash & 7) == 0)
            again(f, &c, out.span);
        f->hash =
            fz_mix_bytes(0, out.span.base, out.span.len); /* the second encoding is no part of the result */
    }
    cv_block_free(&f->x, &out);
    cv_codec_free(&f->x, &c);
}

CV_FUZZ_TARGET(lz4)
{
    return fz_twice(data, size, FZ_OFF, run);
}
