/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A section .nv.compat, and what the queries make of its claims. */
#include "common.h"

#include "format/tlv/attr.h"
#include "format/tlv/read.h"
#include "format/tlv/write.h"
#include "target/retarget.h"

static const uint32_t SM[] = { 80, 89, 90, 100, 101, 102, 103, 104, 105, 107, 110, 111, 120, 121, 130 };
#define N_SM (sizeof(SM) / sizeof(SM[0]))

/* Written again it is the same bytes. */
static void round_trip(fz_state *fuzz, cv_span span)
{
    uint64_t pos = 0;
    bool padding = false, ok = true;
    cv_builder builder;
    cv_tlv tlv;

    cv_builder_init(&builder, &fuzz->ctx.mem);
    while (cv_tlv_at(span, pos, &tlv) == CV_TLV_OK) {
        cv_span payload = cv_span_tail(span, tlv.payload);

        payload.len = tlv.format == CV_TLV_SVAL ? tlv.value : 0;
        padding = padding || tlv.padding;
        switch (tlv.format) {
        case CV_TLV_NVAL: cv_tlv_put_nval(&builder, tlv.code); break;
        case CV_TLV_BVAL: cv_tlv_put_bval(&builder, tlv.code, (uint8_t)tlv.value); break;
        case CV_TLV_HVAL: cv_tlv_put_hval(&builder, tlv.code, tlv.value); break;
        default: ok = cv_tlv_put_sval(&builder, tlv.code, payload) && ok; break;
        }
        pos = tlv.next;
    }
    if (pos == span.len && !builder.failed)
        FZ_CHECK(ok && (padding || cv_span_eq(cv_builder_span(&builder), span)),
                 "write after read gives the same bytes");
    cv_builder_free(&builder);
}

static void query(fz_state *fuzz, const cv_compat *compat, uint32_t source, uint32_t dest)
{
    cv_final all = cv_can_finalize(compat, source, dest), most;
    bool level, before = false;

    fz_note(fuzz, all);
    FZ_CHECK(all == CV_FINAL_OK || all == CV_FINAL_NO_COMPAT || all == CV_FINAL_ISA ||
                 all == CV_FINAL_INCOMPATIBLE,
             "only the codes that the reference gives");
    FZ_CHECK(source != dest || all != CV_FINAL_INCOMPATIBLE, "the own machine is always allowed");
    for (uint8_t other_most = 0; other_most <= 4; other_most++) {
        most = cv_can_finalize_most(compat, source, dest, other_most, &level);
        FZ_CHECK(most != CV_FINAL_OK || all == CV_FINAL_OK, "less belief allows no more");
        FZ_CHECK(level == (most != all), "and says when it is what stands in the way");
        FZ_CHECK(!before || most == CV_FINAL_OK, "more belief allows no less");
        before = most == CV_FINAL_OK;
    }
    FZ_CHECK(before == (all == CV_FINAL_OK) || (compat && compat->level > 4),
             "full belief is that of the reference");
    FZ_CHECK(!cv_can_fastpath(compat, source, dest, false), "a fast path that is off");
    FZ_CHECK(source != dest || cv_can_fastpath(compat, source, dest, true), "the own bytes run");
    fz_note(fuzz, cv_can_fastpath(compat, source, dest, true));
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    cv_compat compat = { 0 };
    uint64_t before = fz_reported(fuzz);
    cuvet_status st = cv_compat_read(&fuzz->ctx, span, &compat);
    size_t row = (size_t)(fz_mix_bytes(0, fuzz->in->bytes, fuzz->in->len) % N_SM);

    fz_status(fuzz, st, before);
    round_trip(fuzz, span);
    /* All sources in a replay; one of them, which the bytes say, where speed counts. */
    for (size_t i = 0; i < N_SM; i++)
        for (size_t j = 0; j < N_SM && (fz_thorough || i == row); j++) {
            query(fuzz, &compat, SM[i], SM[j]);
            FZ_CHECK(cv_can_finalize(NULL, SM[i], SM[j]) == CV_FINAL_NO_COMPAT,
                     "nothing claimed, nothing allowed");
        }
}

CV_FUZZ_TARGET(compat)
{
    return fz_twice(data, size, FZ_OFF, run);
}
