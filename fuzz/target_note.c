/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF notes: iteration, the three descriptors, the writer. */
#include "common.h"

#include "format/note/read.h"
#include "format/note/write.h"

/* A tool note that was accepted without a word is what the writer makes of it, which fills its last word with
 * NULs. */
static void write_back(fz_state *fuzz, cv_span span, const cv_note *note, const cv_tkinfo *tkinfo)
{
    cv_builder builder;
    cv_span rec = cv_span_tail(span, note->off);

    rec.len = note->next - note->off;
    cv_builder_init(&builder, &fuzz->ctx.mem);
    FZ_CHECK(cv_tkinfo_put(&builder, tkinfo), "strings that were read can be written");
    if (!builder.failed)
        FZ_CHECK(cv_span_eq(cv_builder_span(&builder), rec), "write after read is the same bytes");
    cv_builder_free(&builder);
}

static void tool(fz_state *fuzz, cv_span span, const cv_note *note, bool clean)
{
    uint64_t before = fz_reported(fuzz);
    cv_tkinfo tkinfo = { 0 };
    uint32_t sm = 0;
    char suffix = 0;
    cuvet_status st = cv_tkinfo_read(&fuzz->ctx, span, note, &tkinfo);

    fz_status(fuzz, st, before);
    if (st != CUVET_OK)
        return;
    fz_note_bytes(fuzz, tkinfo.command.base, tkinfo.command.len);
    fz_inside(fuzz, tkinfo.object);
    fz_note(fuzz, cv_tkinfo_arch(&tkinfo, &sm, &suffix));
    fz_note(fuzz, (uint64_t)sm << 8 | (uint8_t)suffix);
    if (clean && fz_reported(fuzz) == before && note->descsz % 4 == 0)
        write_back(fuzz, span, note, &tkinfo);
}

static void iterate(fz_state *fuzz, cv_span span, uint64_t type)
{
    uint64_t pos = 0, last, before;
    cuvet_status st;
    cv_note note;

    for (;;) {
        before = fz_reported(fuzz);
        last = pos;
        st = cv_note_next(&fuzz->ctx, span, type, &pos, &note);
        fz_status(fuzz, st, before);
        if (st != CUVET_OK)
            break;
        FZ_CHECK(note.off == last && note.next == pos && pos >= last + CV_NOTE_HEAD && pos <= span.len,
                 "notes follow each other");
        FZ_CHECK(note.desc >= note.name && note.desc + note.descsz <= note.next,
                 "a descriptor lies in its note");
        if (type == CV_NOTE_TKINFO)
            tool(fuzz, span, &note, fz_reported(fuzz) == before);
    }
    FZ_CHECK(st != CUVET_END || pos == span.len, "the end is the end of the section");
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    cv_cuinfo info = { 0 };
    cv_cuver ver = { 0 };
    uint32_t stored = 0;
    uint64_t before = 0;
    cv_note note = { 0 };

    for (uint64_t pos = 0; cv_note_at(span, pos, &note) == CV_NOTE_OK; pos = note.next)
        FZ_CHECK(note.off == pos && note.next > pos && note.next <= span.len, "a silent look goes forward");
    iterate(fuzz, span, CV_NOTE_TKINFO);
    iterate(fuzz, span, CV_NOTE_CUINFO);
    before = fz_reported(fuzz);
    fz_status(fuzz, cv_cuinfo_read(&fuzz->ctx, span, &info, &stored), before);
    before = fz_reported(fuzz);
    fz_status(fuzz, cv_cuver_read(&fuzz->ctx, span, &ver), before);
    fz_note(fuzz, (uint64_t)info.virtual_sm << 32 | (uint64_t)info.toolkit << 16 | ver.sm);
    fz_note(fuzz, stored);
}

CV_FUZZ_TARGET(note)
{
    return fz_twice(data, size, FZ_OFF, run);
}
