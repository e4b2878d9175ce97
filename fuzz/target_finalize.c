/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One finalization of any file: parameters say target, form, phase and switches. What comes out is compared
 * with what went in by code that shares nothing with the comparison of the engine. */
#include <string.h>

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

static cv_final_options options(uint32_t place)
{
    static const cv_backend_use BOTH[] = { { .backend = &cv_backend_copy },
                                           { .backend = &cv_backend_strip } };
    static const cv_kind KINDS[] = { CV_KIND_NONE, CV_KIND_SASS, CV_KIND_CAPMERC, CV_KIND_MERCURY };

    return (cv_final_options){
        .target_sm = TARGETS[place >> TARGET & 15],
        .target_suffix = (const char[]){ 0, 'a', 'f', 0 }[place >> SUFFIX & 3],
        .kind = KINDS[place >> KIND & 3],
        .phase = (cv_final_phase)((place >> PHASE & 3) % 3),
        .self_check = (place >> SELF_CHECK & 1) != 0,
        .fastpath_off = (place >> FASTPATH_OFF & 1) != 0,
        .tool = cv_span_of("fuzz", (place >> NOTE & 1) ? 4 : 0, 0),
        .exact = (place >> EXACT & 1) != 0,
        .level_most = (uint8_t)((place >> LEVEL & 7) ^ 2),
        .key = { place, ~(uint64_t)place },
        .backend = BOTH,
        .n_backends = 2,
    };
}

static bool goes(const cv_elf_section *section, bool stripped)
{
    return stripped && (section->flags & CV_SHF_CUDA_MERC);
}

/* Sections of the result are those that stay, in their order, with their bytes. */
static void same_sections(cv_span in, cv_span out, bool stripped, bool note)
{
    cv_elf_header left, right;
    cv_elf_section first, second;
    uint64_t count, key = 1;

    FZ_CHECK(cv_elf_peek(in, &left) && cv_elf_peek(out, &right), "both have headers");
    cv_elf_read_section(cv_span_tail(in, left.shoff), false, 0, &first);
    count = left.shnum ? left.shnum : first.size;
    for (uint64_t i = 1; i < count; i++) {
        cv_elf_read_section(cv_span_tail(in, left.shoff), false, i, &first);
        if (goes(&first, stripped))
            continue;
        cv_elf_read_section(cv_span_tail(out, right.shoff), false, key++, &second);
        FZ_CHECK(first.type == second.type && first.flags == second.flags && first.align == second.align,
                 "a section stays what it is");
        if (first.type == CV_SHT_SYMTAB || first.type == CV_SHT_STRTAB || first.type == CV_SHT_SYMTAB_SHNDX ||
            first.type == CV_SHT_NULL || (note && first.type == CV_SHT_NOTE))
            continue;
        FZ_CHECK(first.size == second.size, "a section keeps its size");
        for (uint64_t at = 0; !cv_elf_type_exempt(first.type) && at < first.size; at++)
            FZ_CHECK(cv_u8_at(in, first.off + at) == cv_u8_at(out, second.off + at),
                     "a section keeps its bytes");
    }
    FZ_CHECK(key == (right.shnum ? right.shnum : key), "no section is added");
}

static void check_result(const cv_final_job *other_job, const cv_final_options *options, cv_span in,
                         cv_span out)
{
    bool stripped = other_job->in_kind != other_job->out_kind, note = options->tool.len != 0;
    cv_elf_header header;
    uint64_t differ = 0;

    FZ_CHECK(cv_elf_peek(out, &header), "the result has a header");
    if (header.osabi == CV_OSABI_CUDA)
        FZ_CHECK((header.flags & 0xFF) == (uint32_t)other_job->out_kind &&
                     (header.flags >> 8 & 0xFFFF) == other_job->dst_sm,
                 "the result is what was asked for");
    FZ_CHECK(options->kind == CV_KIND_NONE || options->kind == other_job->out_kind, "never another form");
    FZ_CHECK(options->target_sm == 0 || options->target_sm == other_job->dst_sm, "never another target");
    if (other_job->code == CV_FINAL_NOT_NEEDED) {
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

static bool is_stage(const char *name)
{
    bool found = false;

    for (uint64_t i = 0; cv_final_stage(i) && !found; i++)
        found = strcmp(cv_final_stage(i), name) == 0;
    return found;
}

/* Stages behind the backend: what it made is followed, written and compared with the input. */
static bool is_behind_backend(const char *stage)
{
    static const char *const BEHIND[] = { "debug remap", "notes", "write", "verify" };
    bool found = false;

    for (size_t i = 0; i < CV_COUNT(BEHIND); i++) {
        FZ_CHECK(is_stage(BEHIND[i]), "the stages have these names");
        found = found || strcmp(stage, BEHIND[i]) == 0;
    }
    return found;
}

static cv_final_job job, again;

static void run(fz_state *fuzz)
{
    cv_final_options other_options = options(fuzz->in->param);
    cv_span in = fz_span(fuzz);
    cv_block out = { 0 }, other = { 0 };
    uint64_t before = fz_reported(fuzz);
    cuvet_status st;

    cv_ctx_unit(&fuzz->ctx, 4 * in.len);
    st = cv_final_run(&job, &fuzz->ctx, &other_options, in, NULL, &out);
    FZ_CHECK(st != CUVET_E_INTERNAL && job.code != CV_FINAL_INTERNAL && job.code != CV_FINAL_PASSES,
             "no stage breaks an invariant");
    FZ_CHECK((st == CUVET_OK) == (job.code == CV_FINAL_OK || job.code == CV_FINAL_NOT_NEEDED),
             "the code says how it ended");
    FZ_CHECK((st == CUVET_OK) == (out.span.len != 0), "a result or none");
    FZ_CHECK(job.code != CV_FINAL_BACKEND_BAD_OUTPUT && job.code < CV_FINAL_BACKEND_TIMEOUT,
             "our own backends do what is asked");
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_NOMEM || st == CUVET_E_LIMIT ||
                 !is_behind_backend(cv_final_stage(job.stage)),
             "what our own backends made is not refused");
    if (st == CUVET_E_REFUSED)
        FZ_CHECK(fz_reported(fuzz) > before, "a refusal is reported");
    else
        fz_status(fuzz, st, before);
    fz_note(fuzz, job.code);
    fz_note_bytes(fuzz, out.mem, out.span.len);
    if (st == CUVET_OK)
        check_result(&job, &other_options, in, out.span);
    if (st == CUVET_OK) { /* what is done is not done again */
        cv_ctx_unit(&fuzz->ctx, 64 * out.span.len);
        st = cv_final_run(&again, &fuzz->ctx, &other_options, out.span, NULL, &other);
        FZ_CHECK(st != CUVET_OK || again.code == CV_FINAL_NOT_NEEDED, "twice is not needed");
        FZ_CHECK(st == CUVET_OK || st == CUVET_E_NOMEM || st == CUVET_E_LIMIT ||
                     other_options.phase == CV_PHASE_POSTLINK,
                 "a result is an input");
        cv_final_end(&again);
    }
    cv_block_free(&fuzz->ctx, &other);
    cv_block_free(&fuzz->ctx, &out);
    cv_final_end(&job);
    cv_ctx_unit(&fuzz->ctx, 0);
}

CV_FUZZ_TARGET(finalize)
{
    return fz_twice(data, size, 0, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
