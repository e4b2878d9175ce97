/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* zstd frames. The declared size is the upper half of the parameters; 0: what the frame says. */
#include "common.h"

#include "codec/codec.h"

static void header(fz_state *fuzz, cv_span span, cv_zstd_frame *frame)
{
    uint64_t before = fz_reported(fuzz);
    cuvet_status st = cv_zstd_read_frame(&fuzz->ctx, span, frame);

    fz_status(fuzz, st, before);
    if (st != CUVET_OK)
        return;
    FZ_CHECK(frame->header_len >= 5 && frame->header_len <= 18 && frame->header_len <= span.len,
             "a frame header has 5 to 18 bytes");
    FZ_CHECK(!frame->single_segment || (frame->has_size && frame->window == frame->size),
             "single segment: the window is the content");
    fz_note(fuzz, frame->size ^ frame->window << 8);
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    uint64_t declared = fuzz->in->param >> 16, before;
    cv_zstd_frame frame = { 0 };
    cv_codec codec = { 0 };
    cv_block out = { 0 };
    cuvet_status st;

    header(fuzz, span, &frame);
    if (declared == 0)
        declared = frame.size;
    if (span.len == 0 || declared == 0)
        return;
    /* Twice with the same decoder, as members follow each other. */
    for (int i = 0; i < 2; i++) {
        before = fz_reported(fuzz);
        st = cv_codec_decode(&fuzz->ctx, &codec, CV_CODEC_ZSTD, span, declared, &out);
        fz_status(fuzz, st, before);
        FZ_CHECK(out.span.len == (st == CUVET_OK ? declared : 0), "exactly the declared size, or nothing");
        fz_note_bytes(fuzz, out.span.base, out.span.len);
        if (st != CUVET_OK)
            break;
    }
    cv_block_free(&fuzz->ctx, &out);
    cv_codec_free(&fuzz->ctx, &codec);
}

CV_FUZZ_TARGET(zstd)
{
    return fz_twice(data, size, FZ_OFF, run);
}
