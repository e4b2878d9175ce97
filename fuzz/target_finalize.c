/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One finalization of any file: parameters say target, form, phase and switches. What comes out is compared
 * with what went in by code that shares nothing with the comparison of the engine. */
#include "common.h"

#include "finalize/job.h"
#include "mutate.h"

/* Parameters above those of the limits. */
enum {
    TARGET = 8,
    KIND = 12,
    PHASE = 14,
    SELF_CHECK = 16,
    FASTPATH_OFF,
    NOTE,
    EXACT,
    LEVEL = 20,
    SUFFIX = 23
};

static const uint32_t TARGETS[16] = {
    0, 100, 103, 110, 120, 121, 90, 75, 80, 89, 99, 101, 104, 130, 102, 107
};

static cv_final_options options(uint32_t p)
{
    static const cv_backend_use BOTH[] = { { .backend = &cv_backend_copy },
                                           { .backend = &cv_backend_strip } };
    static const cv_kind KINDS[] = { CV_KIND_NONE, CV_KIND_SASS, CV_KIND_CAPMERC, CV_KIND_MERCURY };

    return (cv_final_options){
        .target_sm = TARGETS[p >> TARGET & 15],
        .target_suffix = (const char[]){ 0, 'a', 'f', 0 }[p >> SUFFIX & 3],
        .kind = KINDS[p >> KIND & 3],
        .phase = (cv_final_phase)((p >> PHASE & 3) % 3),
        .self_check = (p >> SELF_CHECK & 1) != 0,
        .fastpath_off = (p >> FASTPATH_OFF & 1) != 0,
        .tool = cv_span_of("fuzz", (p >> NOTE & 1) ? 4 : 0, 0),
        .exact = (p >> EXACT & 1) != 0,
        .level_most = (uint8_t)((p >> LEVEL & 7) ^ 2),
        .key = { p, ~(uint64_t)p },
        .backend = BOTH,
        .n_backends = 2,
    };
}

static bool goes(const cv_elf_section *s, bool stripped)
{
    return stripped && (s->flags & CV_SHF_CUDA_MERC);
}

/* Sections of the result are those that stay, in their order, with their bytes. */
static void same_sections(cv_span in, cv_span out, bool stripped, bool note)
{
    cv_elf_header a, b;
    cv_elf_section x, y;
    uint64_t n, k = 1;

    FZ_CHECK(cv_elf_peek(in, &a) && cv_elf_peek(out, &b), "both have headers");
    cv_elf_read_section(cv_span_tail(in, a.shoff), false, 0, &x);
    n = a.shnum ? a.shnum : x.size;
    for (uint64_t i = 1; i < n; i++) {
        cv_elf_read_section(cv_span_tail(in, a.shoff), false, i, &x);
        if (goes(&x, stripped))
            continue;
        cv_elf_read_section(cv_span_tail(out, b.shoff), false, k++, &y);
        FZ_CHECK(x.type == y.type && x.flags == y.flags && x.align == y.align, "a section stays what it is");
        if (x.type == CV_SHT_SYMTAB || x.type == CV_SHT_STRTAB || x.type == CV_SHT_SYMTAB_SHNDX ||
            x.type == CV_SHT_NULL || (note && x.type == CV_SHT_NOTE))
            continue;
        FZ_CHECK(x.size == y.size, "a section keeps its size");
        for (uint64_t at = 0; !cv_elf_type_exempt(x.type) && at < x.size; at++)
            FZ_CHECK(cv_u8_at(in, x.off + at) == cv_u8_at(out, y.off + at), "a section keeps its bytes");
    }
    FZ_CHECK(k == (b.shnum ? b.shnum : k), "no section is added");
}

static void check_result(const cv_final_job *j, const cv_final_options *o, cv_span in, cv_span out)
{
    bool stripped = j->in_kind != j->out_kind, note = o->tool.len != 0;
    cv_elf_header h;
    uint64_t differ = 0;

    FZ_CHECK(cv_elf_peek(out, &h), "the result has a header");
    if (h.osabi == CV_OSABI_CUDA)
        FZ_CHECK((h.flags & 0xFF) == (uint32_t)j->out_kind && (h.flags >> 8 & 0xFFFF) == j->dst_sm,
                 "the result is what was asked for");
    FZ_CHECK(o->kind == CV_KIND_NONE || o->kind == j->out_kind, "never another form");
    FZ_CHECK(o->target_sm == 0 || o->target_sm == j->dst_sm, "never another target");
    if (j->code == CV_FINAL_NOT_NEEDED) {
        FZ_CHECK(cv_span_eq(in, out), "what needs nothing is copied");
        return;
    }
    same_sections(in, out, stripped, note);
    if (stripped || note)
        return;
    FZ_CHECK(in.len == out.len, "a copy has the same length");
    for (uint64_t i = 0; i < in.len; i++)
        differ += cv_u8_at(in, i) != cv_u8_at(out, i);
    FZ_CHECK(differ <= 1, "at most one byte differs");
}

static cv_final_job job, again;

static void run(fz *f)
{
    cv_final_options o = options(f->in->param);
    cv_span in = fz_span(f);
    cv_block out = { 0 }, other = { 0 };
    uint64_t before = fz_reported(f);
    cuvet_status st;

    cv_ctx_unit(&f->x, 4 * in.len);
    st = cv_final_run(&job, &f->x, &o, in, NULL, &out);
    FZ_CHECK(st != CUVET_E_INTERNAL && job.code != CV_FINAL_INTERNAL && job.code != CV_FINAL_PASSES,
             "no stage breaks an invariant");
    FZ_CHECK((st == CUVET_OK) == (job.code == CV_FINAL_OK || job.code == CV_FINAL_NOT_NEEDED),
             "the code says how it ended");
    FZ_CHECK((st == CUVET_OK) == (out.span.len != 0), "a result or none");
    FZ_CHECK(job.code != CV_FINAL_BACKEND_BAD_OUTPUT && job.code < CV_FINAL_BACKEND_TIMEOUT,
             "our own backends do what is asked");
    if (st == CUVET_E_REFUSED)
        FZ_CHECK(fz_reported(f) > before, "a refusal is reported");
    else
        fz_status(f, st, before);
    fz_note(f, job.code);
    fz_note_bytes(f, out.mem, out.span.len);
    if (st == CUVET_OK)
        check_result(&job, &o, in, out.span);
    if (st == CUVET_OK) { /* what is done is not done again */
        cv_ctx_unit(&f->x, 64 * out.span.len);
        st = cv_final_run(&again, &f->x, &o, out.span, NULL, &other);
        FZ_CHECK(st != CUVET_OK || again.code == CV_FINAL_NOT_NEEDED, "twice is not needed");
        FZ_CHECK(st == CUVET_OK || st == CUVET_E_NOMEM || st == CUVET_E_LIMIT || o.phase == CV_PHASE_POSTLINK,
                 "a result is an input");
        cv_final_end(&again);
    }
    cv_block_free(&f->x, &other);
    cv_block_free(&f->x, &out);
    cv_final_end(&job);
    cv_ctx_unit(&f->x, 0);
}

CV_FUZZ_TARGET(finalize)
{
    return fz_some_twice(data, size, 0, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
