/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives: magic, member headers one after the other, names in all their forms; tests/model/archive.c says
 * what each header and each name has to be. */
#include <string.h>

#include "common.h"

#include "format/archive/read.h"
#include "model/archive.h"

/* Of the rules of a header and of a name. */
static fz_said said_so_far(const fz_state *fuzz)
{
    return fz_said_so_far(fuzz, CV_R_AR_HEADER_TRUNCATED, CV_R_AR_NAME_END);
}

static void check_header(const fz_state *fuzz, const fz_said *before, const md_ar_member *model,
                         cuvet_status status, const cv_ar_header *header)
{
    static const cv_ar_entry ENTRIES[] = { CV_AR_MEMBER, CV_AR_LONG_NAME, CV_AR_BSD_NAME, CV_AR_SYMBOLS,
                                           CV_AR_NAMES };

    FZ_CHECK(fz_was_said(fuzz, before, model->broken, model->cut ? "CV-AR-006" : NULL),
             "what is wrong with a header is said");
    FZ_CHECK((status == CUVET_OK) == !model->broken, "a header can be read or not");
    if (status != CUVET_OK)
        return;
    FZ_CHECK(header->entry == ENTRIES[model->form], "a member is what its name says");
    FZ_CHECK(model->form != MD_AR_IN_TABLE || header->name_at == model->number, "its name is there");
    FZ_CHECK(header->body == model->body && header->body_size == model->body_size, "and its content there");
    FZ_CHECK(header->end == model->end && header->next == model->next, "and the next one there");
}

static void name_of(fz_state *fuzz, cv_span span, uint64_t at, const cv_ar_header *header, cv_span names)
{
    uint64_t before = fz_reported(fuzz);
    cv_span name = header->name, part = cv_span_tail(span, at + CV_AR_HEADER_SIZE);

    if (header->entry == CV_AR_LONG_NAME) {
        fz_said said = said_so_far(fuzz);
        cuvet_status st = cv_ar_long_name(&fuzz->ctx, names, header->name_at, span.off + at, &name);
        const char *broken;
        size_t size = md_ar_name(names.len ? fuzz->in->bytes + (names.off - fuzz->base) : NULL, names.len,
                                 header->name_at, &broken);

        fz_status(fuzz, st, before);
        FZ_CHECK((st == CUVET_OK) == !broken && fz_was_said(fuzz, &said, broken, NULL),
                 "a name is there or not");
        FZ_CHECK(st != CUVET_OK || (name.len == size && name.off == names.off + header->name_at),
                 "and is the one that begins there");
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
        fz_said said = said_so_far(fuzz);
        md_ar_member model;
        cv_span head = cv_span_tail(span, at);

        head.len = cv_min(head.len, CV_AR_HEADER_SIZE);
        if (!cv_work(&fuzz->ctx, 1, head.off))
            break;
        before = fz_reported(fuzz);
        st = cv_ar_read_header(&fuzz->ctx, head, span.len - at, kind, &header);
        fz_status(fuzz, st, before);
        md_ar_read(fuzz->in->bytes + at, span.len - at, kind == CV_AR_THIN, &model);
        check_header(fuzz, &said, &model, st, &header);
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
