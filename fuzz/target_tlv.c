/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .nv.info and .nv.compat: records, the attribute table, the compat tags, and the writer. */
#include "common.h"

#include "format/tlv/attr.h"
#include "format/tlv/read.h"
#include "format/tlv/write.h"

/* What was read and is written again is the same bytes. */
static void write_back(fz *f, cv_span s, const cv_tlv *t)
{
    cv_builder b;
    cv_span out, rec = cv_span_tail(s, t->off), payload;
    bool ok = true;

    cv_builder_init(&b, &f->x.mem);
    payload = cv_span_tail(s, t->payload);
    payload.len = t->format == CV_TLV_SVAL ? t->value : 0;
    rec.len = t->next - t->off;
    switch (t->format) {
    case CV_TLV_NVAL: cv_tlv_put_nval(&b, t->code); break;
    case CV_TLV_BVAL: cv_tlv_put_bval(&b, t->code, (uint8_t)t->value); break;
    case CV_TLV_HVAL: cv_tlv_put_hval(&b, t->code, t->value); break;
    default: ok = cv_tlv_put_sval(&b, t->code, payload); break;
    }
    out = cv_builder_span(&b);
    if (!b.failed)
        FZ_CHECK(ok && (t->padding ? out.len == rec.len : cv_span_eq(out, rec)),
                 "write after read is the same bytes");
    cv_builder_free(&b);
}

static void walk_attr(fz *f, cv_span s, const cv_tlv *t, const cv_attr *row)
{
    uint64_t at, last = 0;
    cv_kparam p;

    if (t->format != CV_TLV_SVAL)
        return;
    if (row->shape == CV_SHAPE_BRANCHES || row->shape == CV_SHAPE_NOTES) {
        cv_attr_walk w;

        for (cv_attr_walk_init(&w, t); cv_attr_walk_next(&w, s, row, &at); last = at) {
            FZ_CHECK(at >= t->payload && at + 4 <= t->next && at > last,
                     "the offsets of a record lie in it, in order");
            fz_note(f, at);
        }
    }
    if (t->code == CV_ATTR_KPARAM_INFO || t->code == CV_ATTR_KPARAM_INFO_V2) {
        cv_attr_kparam(s, t, &p);
        fz_note(f, (uint64_t)p.ordinal << 32 | p.size);
    }
}

static void attributes(fz *f, cv_span s)
{
    uint64_t pos = 0, before, last;
    const cv_attr *row;
    cuvet_status st;
    cv_tlv t;

    for (;;) {
        before = fz_reported(f);
        last = pos;
        st = cv_tlv_next(&f->x, s, &pos, &t);
        fz_status(f, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(t.off == last && t.next == pos && pos >= last + 4 && pos <= s.len,
                 "a record follows the one before");
        write_back(f, s, &t);
        if (cv_attr_check(&f->x, s, &t, &row)) {
            FZ_CHECK(row != NULL, "an accepted record has a row");
            walk_attr(f, s, &t, row);
        }
        fz_note(f, cv_eiattr_name(t.code) != NULL);
    }
    FZ_CHECK(st != CUVET_END || pos == s.len, "the end is the end of the section");
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    cv_compat c = { 0 };
    uint64_t before;

    attributes(f, s);
    before = fz_reported(f);
    fz_status(f, cv_compat_read(&f->x, s, &c), before);
    fz_note(f, (uint64_t)c.has << 32 | c.isa);
    FZ_CHECK(c.has >> CV_N_COMPAT == 0, "only known tags are present");
}

CV_FUZZ_TARGET(tlv)
{
    return fz_twice(data, size, FZ_OFF, run);
}
