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
static void round_trip(fz *f, cv_span s)
{
    uint64_t pos = 0;
    bool padding = false, ok = true;
    cv_builder b;
    cv_tlv t;

    cv_builder_init(&b, &f->x.mem);
    while (cv_tlv_at(s, pos, &t) == CV_TLV_OK) {
        cv_span payload = cv_span_tail(s, t.payload);

        payload.len = t.format == CV_TLV_SVAL ? t.value : 0;
        padding = padding || t.padding;
        switch (t.format) {
        case CV_TLV_NVAL: cv_tlv_put_nval(&b, t.code); break;
        case CV_TLV_BVAL: cv_tlv_put_bval(&b, t.code, (uint8_t)t.value); break;
        case CV_TLV_HVAL: cv_tlv_put_hval(&b, t.code, t.value); break;
        default: ok = cv_tlv_put_sval(&b, t.code, payload) && ok; break;
        }
        pos = t.next;
    }
    if (pos == s.len && !b.failed)
        FZ_CHECK(ok && (padding || cv_span_eq(cv_builder_span(&b), s)),
                 "write after read gives the same bytes");
    cv_builder_free(&b);
}

static void query(fz *f, const cv_compat *k, uint32_t s, uint32_t d)
{
    cv_final all = cv_can_finalize(k, s, d), most;
    bool level, before = false;

    fz_note(f, all);
    FZ_CHECK(all == CV_FINAL_OK || all == CV_FINAL_NO_COMPAT || all == CV_FINAL_ISA ||
                 all == CV_FINAL_INCOMPATIBLE,
             "only the codes that the reference gives");
    FZ_CHECK(s != d || all != CV_FINAL_INCOMPATIBLE, "the own machine is always allowed");
    for (uint8_t m = 0; m <= 4; m++) {
        most = cv_can_finalize_most(k, s, d, m, &level);
        FZ_CHECK(most != CV_FINAL_OK || all == CV_FINAL_OK, "less belief allows no more");
        FZ_CHECK(level == (most != all), "and says when it is what stands in the way");
        FZ_CHECK(!before || most == CV_FINAL_OK, "more belief allows no less");
        before = most == CV_FINAL_OK;
    }
    FZ_CHECK(before == (all == CV_FINAL_OK) || (k && k->level > 4), "full belief is that of the reference");
    FZ_CHECK(!cv_can_fastpath(k, s, d, false), "a fast path that is off");
    FZ_CHECK(s != d || cv_can_fastpath(k, s, d, true), "the own bytes run");
    fz_note(f, cv_can_fastpath(k, s, d, true));
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    cv_compat k = { 0 };
    uint64_t before = fz_reported(f);
    cuvet_status st = cv_compat_read(&f->x, s, &k);
    size_t row = (size_t)(fz_mix_bytes(0, f->in->bytes, f->in->len) % N_SM);

    fz_status(f, st, before);
    round_trip(f, s);
    /* All sources in a replay; one of them, which the bytes say, where speed counts. */
    for (size_t i = 0; i < N_SM; i++)
        for (size_t j = 0; j < N_SM && (fz_thorough || i == row); j++) {
            query(f, &k, SM[i], SM[j]);
            FZ_CHECK(cv_can_finalize(NULL, SM[i], SM[j]) == CV_FINAL_NO_COMPAT,
                     "nothing claimed, nothing allowed");
        }
}

CV_FUZZ_TARGET(compat)
{
    return fz_twice(data, size, FZ_OFF, run);
}
