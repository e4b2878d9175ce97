/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The small tables: call graph, prototypes, unified entries, relocation actions, host references. */
#include "common.h"

#include "format/hostobj/read.h"
#include "format/meta/read.h"

static void callgraph(fz *f, cv_span s, bool loose)
{
    cv_call_cur cur = { .loose = loose };
    uint64_t before, next = 0;
    cuvet_status st;
    cv_call c;

    for (;;) {
        before = fz_reported(f);
        st = cv_callgraph_next(&f->x, s, &cur, &c);
        fz_status(f, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(c.off >= next && c.off + 8 <= s.len && c.part >= CV_CALL_DIRECT &&
                     c.part <= CV_CALL_POSSIBLE,
                 "records of a call graph lie in it, in order");
        next = c.off + 8;
        fz_note(f, (uint64_t)c.from << 32 | c.to);
    }
    FZ_CHECK(st != CUVET_END || cur.pos == s.len, "the end is the end of the section");
}

static void tables(fz *f, cv_span s)
{
    uint64_t before = fz_reported(f), pos = 0;
    cuvet_status st;
    cv_unified u;
    cv_proto p;

    while ((st = cv_prototype_next(&f->x, s, &pos, &p)) == CUVET_OK)
        fz_note(f, (uint64_t)p.symbol << 32 | p.string);
    fz_status(f, st, before);
    FZ_CHECK(st != CUVET_END || pos == s.len, "prototypes up to the end");
    before = fz_reported(f);
    pos = 0;
    while ((st = cv_unified_next(&f->x, s, &pos, &u)) == CUVET_OK)
        fz_note(f, u.slot ^ u.uuid_lo ^ u.uuid_hi ^ u.symbol);
    fz_status(f, st, before);
    FZ_CHECK(st != CUVET_END || pos == s.len, "entries up to the end");
}

static void host(fz *f, cv_span s)
{
    uint64_t before, pos = 0, cut;
    cv_wrapper w;
    cv_span p;
    bool ok;

    while (cv_hostref_next(s, &pos, &p)) {
        FZ_CHECK(p.len > 0 && pos <= s.len, "a pattern has characters");
        fz_inside(f, p);
    }
    for (uint64_t i = 0; i < s.len / CV_WRAPPER_SIZE; i++) {
        before = fz_reported(f);
        fz_status(f, cv_wrapper_read(&f->x, s, i, &w), before);
    }
    /* In two parts or in one: the same answer. */
    cut = f->in->param >> 8 & 0xFF;
    cut = cv_min(cut, s.len);
    before = fz_reported(f);
    ok = cv_hostobj_check_text(&f->x, s, true);
    FZ_CHECK(ok == (fz_reported(f) == before), "text is good exactly when nothing is reported");
    if (cut < s.len) {
        p = cv_span_tail(s, 0);
        p.len = cut;
        FZ_CHECK(ok == (cv_hostobj_check_text(&f->x, p, false) &&
                        cv_hostobj_check_text(&f->x, cv_span_tail(s, cut), true)),
                 "parts of a text are judged as the whole");
    }
    fz_note(f, (uint64_t)cv_hostobj_section(s));
}

static void run(fz *f)
{
    cv_span s = fz_span(f);

    callgraph(f, s, false);
    callgraph(f, s, true);
    tables(f, s);
    cv_rel_action_check(&f->x, s, false, false);
    cv_rel_action_check(&f->x, s, true, false);
    cv_rel_action_check(&f->x, s, false, true);
    host(f, s);
}

CV_FUZZ_TARGET(meta)
{
    return fz_twice(data, size, FZ_OFF, run);
}
