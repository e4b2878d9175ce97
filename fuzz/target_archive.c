/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives: magic, member headers one after the other, names in all their forms. */
#include "common.h"

#include "format/archive/read.h"

static void name_of(fz_state *fuzz, cv_span span, uint64_t at, const cv_ar_header *header, cv_span names)
{
    uint64_t before = fz_reported(fuzz);
    cv_span name = header->name, part = cv_span_tail(span, at + CV_AR_HEADER_SIZE);

    if (header->entry == CV_AR_LONG_NAME) {
        cuvet_status st = cv_ar_long_name(&fuzz->ctx, names, header->name_at, span.off + at, &name);

        fz_status(fuzz, st, before);
        if (st != CUVET_OK)
            return;
        FZ_CHECK(name.len <= CV_AR_NAME_MAX, "names are bounded");
    } else if (header->entry == CV_AR_BSD_NAME) {
        part.len = cv_min(part.len, header->name_size);
        name = cv_ar_bsd_name(part);
        FZ_CHECK(name.len <= header->name_size, "a name is part of what is stored");
    }
    fz_inside(fuzz, name);
    fz_note_bytes(fuzz, name.base, name.len);
    fz_note(fuzz, cv_ar_is_symbols(name));
}

static void member(fz_state *fuzz, cv_span span, uint64_t at, const cv_ar_header *header, cv_span *names)
{
    uint64_t left = span.len - at;
    cv_span body = cv_span_tail(span, at + header->body);

    FZ_CHECK(header->body >= CV_AR_HEADER_SIZE && header->body + header->body_size <= header->end &&
                 header->end <= header->next && header->next <= left,
             "a member lies in its archive");
    FZ_CHECK(header->stored || header->body_size == 0, "members of thin archives have no bytes");
    name_of(fuzz, span, at, header, *names);
    if (header->next > header->end) {
        cv_span pad = cv_span_tail(span, at + header->end);

        FZ_CHECK(header->next - header->end == 1, "at most one byte of padding");
        pad.len = 1;
        cv_ar_check_padding(&fuzz->ctx, pad);
    }
    body.len = header->body_size;
    fz_inside(fuzz, body);
    if (header->entry == CV_AR_NAMES)
        *names = body;
    fz_note(fuzz, header->next << 4 | (unsigned)header->entry);
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz), names = { NULL, 0, fuzz->base };
    uint64_t before = 0, at = CV_AR_MAGIC_SIZE;
    cv_ar_kind kind = CV_AR_NONE;
    cuvet_status st = cv_ar_read_magic(&fuzz->ctx, span, &kind);

    fz_status(fuzz, st, before);
    FZ_CHECK((st == CUVET_OK) == (cv_ar_probe(span) != CV_AR_NONE), "probe and read agree");
    while (st == CUVET_OK && at < span.len) {
        cv_ar_header header = { 0 };
        cv_span head = cv_span_tail(span, at);

        head.len = cv_min(head.len, CV_AR_HEADER_SIZE);
        if (!cv_work(&fuzz->ctx, 1, head.off))
            break;
        before = fz_reported(fuzz);
        st = cv_ar_read_header(&fuzz->ctx, head, span.len - at, kind, &header);
        fz_status(fuzz, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(header.next >= CV_AR_HEADER_SIZE, "every member takes its header at least");
        member(fuzz, span, at, &header, &names);
        at += header.next;
    }
}

CV_FUZZ_TARGET(archive)
{
    return fz_twice(data, size, FZ_OFF, run);
}
