/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .nv.info and .nv.compat: records, the attribute table, the compat tags, and the writer. */
#include "common.h"

#include "format/tlv/attr.h"
#include "format/tlv/read.h"
#include "format/tlv/write.h"

/* What was read and is written again is the same bytes. */
static void write_back(fz_state *fuzz, cv_span span, const cv_tlv *tlv)
{
    cv_builder builder;
    cv_span out, rec = cv_span_tail(span, tlv->off), payload;
    bool ok = true;

    cv_builder_init(&builder, &fuzz->ctx.mem);
    payload = cv_span_tail(span, tlv->payload);
    payload.len = tlv->format == CV_TLV_SVAL ? tlv->value : 0;
    rec.len = tlv->next - tlv->off;
    switch (tlv->format) {
    case CV_TLV_NVAL: cv_tlv_put_nval(&builder, tlv->code); break;
    case CV_TLV_BVAL: cv_tlv_put_bval(&builder, tlv->code, (uint8_t)tlv->value); break;
    case CV_TLV_HVAL: cv_tlv_put_hval(&builder, tlv->code, tlv->value); break;
    default: ok = cv_tlv_put_sval(&builder, tlv->code, payload); break;
    }
    out = cv_builder_span(&builder);
    if (!builder.failed)
        FZ_CHECK(ok && (tlv->padding ? out.len == rec.len : cv_span_eq(out, rec)),
                 "write after read is the same bytes");
    cv_builder_free(&builder);
}

static void walk_attr(fz_state *fuzz, cv_span span, const cv_tlv *tlv, const cv_attr *row)
{
    uint64_t at, last = 0;
    cv_kparam param;

    if (tlv->format != CV_TLV_SVAL)
        return;
    if (row->shape == CV_SHAPE_BRANCHES || row->shape == CV_SHAPE_NOTES) {
        cv_attr_walk walk;

        for (cv_attr_walk_init(&walk, tlv); cv_attr_walk_next(&walk, span, row, &at); last = at) {
            FZ_CHECK(at >= tlv->payload && at + 4 <= tlv->next && at > last,
                     "the offsets of a record lie in it, in order");
            fz_note(fuzz, at);
        }
    }
    if (tlv->code == CV_ATTR_KPARAM_INFO || tlv->code == CV_ATTR_KPARAM_INFO_V2) {
        cv_attr_kparam(span, tlv, &param);
        fz_note(fuzz, (uint64_t)param.ordinal << 32 | param.size);
    }
}

static void attributes(fz_state *fuzz, cv_span span)
{
    uint64_t pos = 0, before, last;
    const cv_attr *row;
    cuvet_status st;
    cv_tlv tlv;

    for (;;) {
        before = fz_reported(fuzz);
        last = pos;
        st = cv_tlv_next(&fuzz->ctx, span, &pos, &tlv);
        fz_status(fuzz, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(tlv.off == last && tlv.next == pos && pos >= last + 4 && pos <= span.len,
                 "a record follows the one before");
        write_back(fuzz, span, &tlv);
        if (cv_attr_check(&fuzz->ctx, span, &tlv, &row)) {
            FZ_CHECK(row != NULL, "an accepted record has a row");
            walk_attr(fuzz, span, &tlv, row);
        }
        fz_note(fuzz, cv_eiattr_name(tlv.code) != NULL);
    }
    FZ_CHECK(st != CUVET_END || pos == span.len, "the end is the end of the section");
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    cv_compat compat = { 0 };
    uint64_t before;

    attributes(fuzz, span);
    before = fz_reported(fuzz);
    fz_status(fuzz, cv_compat_read(&fuzz->ctx, span, &compat), before);
    fz_note(fuzz, (uint64_t)compat.has << 32 | compat.isa);
    FZ_CHECK(compat.has >> CV_N_COMPAT == 0, "only known tags are present");
}

CV_FUZZ_TARGET(tlv)
{
    return fz_twice(data, size, FZ_OFF, run);
}
