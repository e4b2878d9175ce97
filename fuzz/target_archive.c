/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives: magic, member headers one after the other, names in all their forms. */
#include "common.h"

#include "format/archive/read.h"

static void name_of(fz *f, cv_span s, uint64_t at, const cv_ar_header *h, cv_span names)
{
    uint64_t before = fz_reported(f);
    cv_span name = h->name, part = cv_span_tail(s, at + CV_AR_HEADER_SIZE);

    if (h->entry == CV_AR_LONG_NAME) {
        cuvet_status st = cv_ar_long_name(&f->x, names, h->name_at, s.off + at, &name);

        fz_status(f, st, before);
        if (st != CUVET_OK)
            return;
        FZ_CHECK(name.len <= CV_AR_NAME_MAX, "names are bounded");
    } else if (h->entry == CV_AR_BSD_NAME) {
        part.len = cv_min(part.len, h->name_size);
        name = cv_ar_bsd_name(part);
        FZ_CHECK(name.len <= h->name_size, "a name is part of what is stored");
    }
    fz_inside(f, name);
    fz_note_bytes(f, name.base, name.len);
    fz_note(f, cv_ar_is_symbols(name));
}

static void member(fz *f, cv_span s, uint64_t at, const cv_ar_header *h, cv_span *names)
{
    uint64_t left = s.len - at;
    cv_span body = cv_span_tail(s, at + h->body);

    FZ_CHECK(h->body >= CV_AR_HEADER_SIZE && h->body + h->body_size <= h->end && h->end <= h->next &&
                 h->next <= left,
             "a member lies in its archive");
    FZ_CHECK(h->stored || h->body_size == 0, "members of thin archives have no bytes");
    name_of(f, s, at, h, *names);
    if (h->next > h->end) {
        cv_span pad = cv_span_tail(s, at + h->end);

        FZ_CHECK(h->next - h->end == 1, "at most one byte of padding");
        pad.len = 1;
        cv_ar_check_padding(&f->x, pad);
    }
    body.len = h->body_size;
    fz_inside(f, body);
    if (h->entry == CV_AR_NAMES)
        *names = body;
    fz_note(f, h->next << 4 | (unsigned)h->entry);
}

static void run(fz *f)
{
    cv_span s = fz_span(f), names = { NULL, 0, f->base };
    uint64_t before = 0, at = CV_AR_MAGIC_SIZE;
    cv_ar_kind kind = CV_AR_NONE;
    cuvet_status st = cv_ar_read_magic(&f->x, s, &kind);

    fz_status(f, st, before);
    FZ_CHECK((st == CUVET_OK) == (cv_ar_probe(s) != CV_AR_NONE), "probe and read agree");
    while (st == CUVET_OK && at < s.len) {
        cv_ar_header h = { 0 };
        cv_span head = cv_span_tail(s, at);

        head.len = cv_min(head.len, CV_AR_HEADER_SIZE);
        if (!cv_work(&f->x, 1, head.off))
            break;
        before = fz_reported(f);
        st = cv_ar_read_header(&f->x, head, s.len - at, kind, &h);
        fz_status(f, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(h.next >= CV_AR_HEADER_SIZE, "every member takes its header at least");
        member(f, s, at, &h, &names);
        at += h.next;
    }
}

CV_FUZZ_TARGET(archive)
{
    return fz_twice(data, size, FZ_OFF, run);
}
