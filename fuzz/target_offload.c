/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload binaries, one behind the other: header, entries, strings; tests/model/offload.c says what each has
 * to be. */
#include <string.h>

#include "common.h"

#include "format/offload/read.h"
#include "model/offload.h"

/* Images of one binary that are looked at. */
#define MOST_IMAGES 16u

static fz_said said_so_far(const fz_state *fuzz)
{
    return fz_said_so_far(fuzz, CV_R_OFFLOAD_TRUNCATED, CV_R_OFFLOAD_ACROSS);
}

/* Of the input itself, and not of a copy that a span may be. */
static const uint8_t *bytes_of(const fz_state *fuzz, cv_span span)
{
    return fuzz->in->bytes + (span.off - fuzz->base);
}

static void check_image(fz_state *fuzz, cv_span span, const cv_offload_header *header,
                        const md_offload *binary, uint64_t index)
{
    uint64_t size = header->n_entries * CV_OFFLOAD_ENTRY, before = fz_reported(fuzz);
    fz_said said = said_so_far(fuzz);
    cv_span entries, tables, triple;
    cv_offload_image image;
    md_offload_image model;
    cuvet_status status;

    FZ_CHECK(cv_span_sub(span, header->entries, size, &entries), "entries lie in the binary");
    cv_offload_read_entry(&fuzz->ctx, entries, header, index, &image);
    /* Whatever the entry says: some strings in front of its image, and some behind. */
    tables = span;
    tables.len = cv_min(header->size, index % 2 ? header->size : image.off);
    md_offload_image_at(bytes_of(fuzz, span), binary, index, (size_t)tables.len, &model);
    FZ_CHECK(fz_was_said(fuzz, &said, model.fits ? NULL : "CV-OFFLOAD-007", NULL), "an image fits or not");
    FZ_CHECK(model.fits ? image.off == model.off && image.size == model.size : image.size == 0,
             "and lies where its entry says");
    FZ_CHECK(image.off <= header->size && image.size <= header->size - image.off, "in the binary");
    said = said_so_far(fuzz);
    before = fz_reported(fuzz);
    status = cv_offload_read_triple(&fuzz->ctx, tables, header, &image, &triple);
    fz_status(fuzz, status, before);
    fz_inside(fuzz, triple);
    if (status == CUVET_E_LIMIT)
        return;
    FZ_CHECK((status == CUVET_OK) == !model.bad_strings, "strings can be read or not");
    FZ_CHECK(fz_was_said(fuzz, &said,
                         model.bad_strings ? model.bad_strings
                         : model.twice     ? "CV-OFFLOAD-010"
                                           : NULL,
                         NULL),
             "what is wrong with them is said");
    if (status != CUVET_OK)
        return;
    FZ_CHECK(triple.len == model.n_triple, "a triple is the last one");
    FZ_CHECK(!model.triple || triple.off == fuzz->base + (uint64_t)(model.triple - fuzz->in->bytes),
             "and lies where its string says");
    FZ_CHECK(cv_offload_is_cuda(&image, triple) == model.cuda, "whose it is, triple or kinds say");
    fz_note(fuzz, triple.off);
}

/* One binary; where the next one begins, 0: nowhere. */
static uint64_t one_binary(fz_state *fuzz, cv_span span)
{
    uint64_t before = fz_reported(fuzz);
    fz_said said = said_so_far(fuzz);
    cv_offload_header header;
    md_offload model;
    cv_span head = span;
    cuvet_status status;

    head.len = cv_min(head.len, CV_OFFLOAD_HEADER_MOST);
    status = cv_offload_read_header(&fuzz->ctx, head, span.len, &header);
    fz_status(fuzz, status, before);
    md_offload_read(bytes_of(fuzz, span), (size_t)span.len, &model);
    FZ_CHECK((status == CUVET_OK) == !model.broken, "a header can be read or not");
    FZ_CHECK(fz_was_said(fuzz, &said,
                         model.broken       ? model.broken
                         : model.compressed ? "CV-OFFLOAD-011"
                                            : NULL,
                         model.odd_entry ? "CV-OFFLOAD-006" : NULL),
             "what is wrong with it is said");
    if (status != CUVET_OK)
        return 0;
    FZ_CHECK(header.version == model.version && header.size == model.size && header.next == model.next &&
                 header.compressed == model.compressed && header.n_entries == model.n_entries,
             "a header says what its bytes do");
    FZ_CHECK(header.next >= CV_OFFLOAD_HEADER && header.next <= span.len, "the next one lies behind it");
    span.len = header.size;
    for (uint64_t i = 0; i < cv_min(header.n_entries, MOST_IMAGES); i++)
        check_image(fuzz, span, &header, &model, i);
    fz_note(fuzz, header.next << 8 | header.version);
    return header.next;
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    uint64_t next = span.len;

    while (span.len != 0 && next != 0 && cv_work(&fuzz->ctx, 1, span.off)) {
        next = one_binary(fuzz, span);
        span = cv_span_tail(span, next);
    }
}

CV_FUZZ_TARGET(offload)
{
    return fz_twice(data, size, FZ_OFF, run);
}
