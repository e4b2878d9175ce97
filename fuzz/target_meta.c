/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The small tables: call graph, prototypes, unified entries, relocation actions, host references. */
#include "common.h"

#include "format/hostobj/read.h"
#include "format/meta/read.h"

static void callgraph(fz_state *fuzz, cv_span span, bool loose)
{
    cv_call_cur cur = { .loose = loose };
    uint64_t before, next = 0;
    cuvet_status st;
    cv_call call;

    for (;;) {
        before = fz_reported(fuzz);
        st = cv_callgraph_next(&fuzz->ctx, span, &cur, &call);
        fz_status(fuzz, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(call.off >= next && call.off + 8 <= span.len && call.part >= CV_CALL_DIRECT &&
                     call.part <= CV_CALL_POSSIBLE,
                 "records of a call graph lie in it, in order");
        next = call.off + 8;
        fz_note(fuzz, (uint64_t)call.from << 32 | call.to);
    }
    FZ_CHECK(st != CUVET_END || cur.pos == span.len, "the end is the end of the section");
}

static void tables(fz_state *fuzz, cv_span span)
{
    uint64_t before = fz_reported(fuzz), pos = 0;
    cuvet_status st;
    cv_unified unified;
    cv_proto proto;

    while ((st = cv_prototype_next(&fuzz->ctx, span, &pos, &proto)) == CUVET_OK)
        fz_note(fuzz, (uint64_t)proto.symbol << 32 | proto.string);
    fz_status(fuzz, st, before);
    FZ_CHECK(st != CUVET_END || pos == span.len, "prototypes up to the end");
    before = fz_reported(fuzz);
    pos = 0;
    while ((st = cv_unified_next(&fuzz->ctx, span, &pos, &unified)) == CUVET_OK)
        fz_note(fuzz, unified.slot ^ unified.uuid_lo ^ unified.uuid_hi ^ unified.symbol);
    fz_status(fuzz, st, before);
    FZ_CHECK(st != CUVET_END || pos == span.len, "entries up to the end");
}

static void host(fz_state *fuzz, cv_span span)
{
    uint64_t before, pos = 0, cut;
    cv_wrapper wrapper;
    cv_span prefix;
    bool ok;

    while (cv_hostref_next(span, &pos, &prefix)) {
        FZ_CHECK(prefix.len > 0 && pos <= span.len, "a pattern has characters");
        fz_inside(fuzz, prefix);
    }
    for (uint64_t i = 0; i < span.len / CV_WRAPPER_SIZE; i++) {
        before = fz_reported(fuzz);
        fz_status(fuzz, cv_wrapper_read(&fuzz->ctx, span, i, &wrapper), before);
    }
    /* In two parts or in one: the same answer. */
    cut = fuzz->in->param >> 8 & 0xFF;
    cut = cv_min(cut, span.len);
    before = fz_reported(fuzz);
    ok = cv_hostobj_check_text(&fuzz->ctx, span, true);
    FZ_CHECK(ok == (fz_reported(fuzz) == before), "text is good exactly when nothing is reported");
    if (cut < span.len) {
        prefix = cv_span_tail(span, 0);
        prefix.len = cut;
        FZ_CHECK(ok == (cv_hostobj_check_text(&fuzz->ctx, prefix, false) &&
                        cv_hostobj_check_text(&fuzz->ctx, cv_span_tail(span, cut), true)),
                 "parts of a text are judged as the whole");
    }
    fz_note(fuzz, (uint64_t)cv_hostobj_section(span));
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);

    callgraph(fuzz, span, false);
    callgraph(fuzz, span, true);
    tables(fuzz, span);
    cv_rel_action_check(&fuzz->ctx, span, false, false);
    cv_rel_action_check(&fuzz->ctx, span, true, false);
    cv_rel_action_check(&fuzz->ctx, span, false, true);
    host(fuzz, span);
}

CV_FUZZ_TARGET(meta)
{
    return fz_twice(data, size, FZ_OFF, run);
}
