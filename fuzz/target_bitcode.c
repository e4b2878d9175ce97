/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode: the way to the target triple, with all of the object and with a part of it. */
#include "common.h"

#include "format/bitcode/read.h"

static void check(const cv_bc *b, cv_span head, uint64_t size)
{
    FZ_CHECK(b->n_triple <= CV_BC_TRIPLE_MAX, "a triple is bounded");
    FZ_CHECK(b->off <= b->end && b->end <= size, "the stream lies in the object");
    FZ_CHECK(b->next == 0 || (b->next > b->off && b->next <= b->end), "the module lies in the stream");
    FZ_CHECK(b->more == 0 || (b->more > head.len && b->more <= size), "more is asked where there is more");
}

static void run(fz *f)
{
    cv_span s = fz_span(f), part = s;
    uint64_t before = fz_reported(f), at;
    cv_bc whole = { 0 }, first = { 0 };
    cuvet_status st = CUVET_OK;

    if (cv_bc_probe(s) == CV_BC_NONE)
        return;
    st = cv_bc_read(&f->x, s, s.len, &whole);
    fz_status(f, st, before);
    check(&whole, s, s.len);
    FZ_CHECK(whole.more == 0, "there is no more than all");
    fz_note_bytes(f, (const uint8_t *)whole.triple, whole.n_triple);
    fz_note(f, (uint64_t)cv_bc_machine_of(cv_span_of(whole.triple, whole.n_triple, 0)));
    part.len = s.len / 2;
    if (cv_bc_probe(part) == CV_BC_NONE || st != CUVET_OK)
        return;
    before = fz_reported(f);
    fz_status(f, cv_bc_read(&f->x, part, s.len, &first), before);
    check(&first, part, s.len);
    FZ_CHECK(first.n_triple == 0 || first.n_triple == whole.n_triple, "a part says the same, or nothing");
    for (at = whole.next; at != 0 && at < whole.end;) {
        uint64_t size = 0;
        bool module = false;

        if (!cv_bc_block(cv_span_tail(s, at), &module, &size))
            break;
        FZ_CHECK(size >= 8 && size % 4 == 0, "a block has a header");
        at = cv_sat_add(at, size);
    }
}

CV_FUZZ_TARGET(bitcode)
{
    return fz_twice(data, size, FZ_OFF, run);
}
