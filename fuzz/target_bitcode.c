/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode: the way to the target triple, with all of the object and with a part of it. */
#include "common.h"

#include "format/bitcode/read.h"

static void check(const cv_bc *bitcode, cv_span head, uint64_t size)
{
    FZ_CHECK(bitcode->n_triple <= CV_BC_TRIPLE_MAX, "a triple is bounded");
    FZ_CHECK(bitcode->off <= bitcode->end && bitcode->end <= size, "the stream lies in the object");
    FZ_CHECK(bitcode->next == 0 || (bitcode->next > bitcode->off && bitcode->next <= bitcode->end),
             "the module lies in the stream");
    FZ_CHECK(bitcode->more == 0 || (bitcode->more > head.len && bitcode->more <= size),
             "more is asked where there is more");
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz), part = span;
    uint64_t before = fz_reported(fuzz), at;
    cv_bc whole = { 0 }, first = { 0 };
    cuvet_status st = CUVET_OK;
    uint32_t n_first;

    if (cv_bc_probe(span) == CV_BC_NONE)
        return;
    st = cv_bc_read(&fuzz->ctx, span, span.len, &whole);
    fz_status(fuzz, st, before);
    check(&whole, span, span.len);
    FZ_CHECK(whole.more == 0, "there is no more than all");
    n_first = whole.n_triple;
    fz_note_bytes(fuzz, (const uint8_t *)whole.triple, whole.n_triple);
    fz_note(fuzz, (uint64_t)cv_bc_machine_of(cv_span_of(whole.triple, whole.n_triple, 0)));
    while (st == CUVET_OK && whole.at != 0 && !whole.whole) { /* the rest, in parts */
        uint64_t was = whole.at, at_byte = was / 8;
        cv_span rest = cv_span_tail(span, whole.off + at_byte);

        rest.len = cv_min(rest.len, 64);
        before = fz_reported(fuzz);
        st = cv_bc_rest(&fuzz->ctx, span, rest, at_byte, &whole);
        if (st != CUVET_E_LIMIT)
            fz_status(fuzz, st, before);
        check(&whole, span, span.len);
        FZ_CHECK(whole.at >= was, "it goes on");
        if (whole.at == was)
            break;
    }
    fz_note(fuzz, whole.n_triples);
    part.len = span.len / 2;
    if (cv_bc_probe(part) == CV_BC_NONE || st != CUVET_OK)
        return;
    before = fz_reported(fuzz);
    fz_status(fuzz, cv_bc_read(&fuzz->ctx, part, span.len, &first), before);
    check(&first, part, span.len);
    FZ_CHECK(first.n_triple == 0 || first.n_triple == n_first, "a part says the same, or nothing");
    for (at = whole.next; at != 0 && at < whole.end;) {
        uint64_t size = 0;
        bool module = false;

        if (!cv_bc_block(cv_span_tail(span, at), &module, &size))
            break;
        FZ_CHECK(size >= 8 && size % 4 == 0, "a block has a header");
        at = cv_sat_add(at, size);
    }
}

CV_FUZZ_TARGET(bitcode)
{
    return fz_twice(data, size, FZ_OFF, run);
}
