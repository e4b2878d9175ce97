/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* zstd frames. The declared size is the upper half of the parameters; 0: what the frame says. */
#include "common.h"

#include "codec/codec.h"

static void header(fz *f, cv_span s, cv_zstd_frame *h)
{
    uint64_t before = fz_reported(f);
    cuvet_status st = cv_zstd_read_frame(&f->x, s, h);

    fz_status(f, st, before);
    if (st != CUVET_OK)
        return;
    FZ_CHECK(h->header_len >= 5 && h->header_len <= 18 && h->header_len <= s.len,
             "a frame header has 5 to 18 bytes");
    FZ_CHECK(!h->single_segment || (h->has_size && h->window == h->size),
             "single segment: the window is the content");
    fz_note(f, h->size ^ h->window << 8);
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    uint64_t declared = f->in->param >> 16, before;
    cv_zstd_frame h = { 0 };
    cv_codec c = { 0 };
    cv_block out = { 0 };
    cuvet_status st;

    header(f, s, &h);
    if (declared == 0)
        declared = h.size;
    if (s.len == 0 || declared == 0)
        return;
    /* Twice with the same decoder, as members follow each other. */
    for (int i = 0; i < 2; i++) {
        before = fz_reported(f);
        st = cv_codec_decode(&f->x, &c, CV_CODEC_ZSTD, s, declared, &out);
        fz_status(f, st, before);
        FZ_CHECK(out.span.len == (st == CUVET_OK ? declared : 0), "exactly the declared size, or nothing");
        fz_note_bytes(f, out.span.base, out.span.len);
        if (st != CUVET_OK)
            break;
    }
    cv_block_free(&f->x, &out);
    cv_codec_free(&f->x, &c);
}

CV_FUZZ_TARGET(zstd)
{
    return fz_twice(data, size, FZ_OFF, run);
}
