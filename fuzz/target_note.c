/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF notes: iteration, the three descriptors, the writer. */
#include "common.h"

#include "format/note/read.h"
#include "format/note/write.h"

/* A tool note that was accepted without a word is what the writer makes of it, which fills its last word with
 * NULs. */
static void write_back(fz *f, cv_span s, const cv_note *n, const cv_tkinfo *t)
{
    cv_builder b;
    cv_span rec = cv_span_tail(s, n->off);

    rec.len = n->next - n->off;
    cv_builder_init(&b, &f->x.mem);
    FZ_CHECK(cv_tkinfo_put(&b, t), "strings that were read can be written");
    if (!b.failed)
        FZ_CHECK(cv_span_eq(cv_builder_span(&b), rec), "write after read is the same bytes");
    cv_builder_free(&b);
}

static void tool(fz *f, cv_span s, const cv_note *n, bool clean)
{
    uint64_t before = fz_reported(f);
    cv_tkinfo t = { 0 };
    uint32_t sm = 0;
    char suffix = 0;
    cuvet_status st = cv_tkinfo_read(&f->x, s, n, &t);

    fz_status(f, st, before);
    if (st != CUVET_OK)
        return;
    fz_note_bytes(f, t.command.base, t.command.len);
    fz_inside(f, t.object);
    fz_note(f, cv_tkinfo_arch(&t, &sm, &suffix));
    fz_note(f, (uint64_t)sm << 8 | (uint8_t)suffix);
    if (clean && fz_reported(f) == before && n->descsz % 4 == 0)
        write_back(f, s, n, &t);
}

static void iterate(fz *f, cv_span s, uint64_t type)
{
    uint64_t pos = 0, last, before;
    cuvet_status st;
    cv_note n;

    for (;;) {
        before = fz_reported(f);
        last = pos;
        st = cv_note_next(&f->x, s, type, &pos, &n);
        fz_status(f, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(n.off == last && n.next == pos && pos >= last + CV_NOTE_HEAD && pos <= s.len,
                 "notes follow each other");
        FZ_CHECK(n.desc >= n.name && n.desc + n.descsz <= n.next, "a descriptor lies in its note");
        if (type == CV_NOTE_TKINFO)
            tool(f, s, &n, fz_reported(f) == before);
    }
    FZ_CHECK(st != CUVET_END || pos == s.len, "the end is the end of the section");
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    cv_cuinfo info = { 0 };
    cv_cuver ver = { 0 };
    uint32_t stored = 0;
    uint64_t before = 0;
    cv_note n = { 0 };

    for (uint64_t pos = 0; cv_note_at(s, pos, &n) == CV_NOTE_OK; pos = n.next)
        FZ_CHECK(n.off == pos && n.next > pos && n.next <= s.len, "a silent look goes forward");
    iterate(f, s, CV_NOTE_TKINFO);
    iterate(f, s, CV_NOTE_CUINFO);
    before = fz_reported(f);
    fz_status(f, cv_cuinfo_read(&f->x, s, &info, &stored), before);
    before = fz_reported(f);
    fz_status(f, cv_cuver_read(&f->x, s, &ver), before);
    fz_note(f, (uint64_t)info.virtual_sm << 32 | (uint64_t)info.toolkit << 16 | ver.sm);
    fz_note(f, stored);
}

CV_FUZZ_TARGET(note)
{
    return fz_twice(data, size, FZ_OFF, run);
}
