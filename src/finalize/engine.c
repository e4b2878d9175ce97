/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A finalization: the stages, each with what must hold after it. */
#include "base/text.h"
#include "finalize/job.h"
#include "finalize/rewrite.h"

enum { LINE = 320 };

cuvet_status cv_final_refuse(cv_final_job *job, cv_final code, cv_rule rule, uint64_t off, uint64_t got,
                             uint64_t want)
{
    if (job->code == CV_FINAL_OK)
        job->code = code;
    return cv_reject(job->ctx, rule, off, got, want);
}

cuvet_status cv_final_broken(cv_final_job *job)
{
    return cv_final_refuse(job, CV_FINAL_INTERNAL, CV_R_FINAL_INVARIANT, 0, job->stage, 0);
}

cuvet_status cv_final_nomem(cv_final_job *job)
{
    if (job->code == CV_FINAL_OK)
        job->code = CV_FINAL_MEMORY;
    return cv_nomem(job->ctx, 0);
}

/* What the backend wrote is the result. */
static void adopt_input(cv_final_job *job)
{
    const cv_block all = *job->out;

    *job->out = job->made;
    job->made = all;
    cv_cubin_free(job->ctx, &job->result);
    job->result = job->made_cubin;
    cv_cubin_init(&job->made_cubin);
}

/* What the backend wrote, with what the stages before have to change in it. */
static cuvet_status write_file(cv_final_job *job)
{
    cv_rewrite rewrite = {
        .cubin = &job->made_cubin, .bodies = &job->bodies, .kind = job->out_kind, .sm = job->dst_sm
    };
    cv_final_sink sink = { .ctx = job->ctx, .to = job->out, .most = job->req.max_output };
    cuvet_status status;

    if (job->verbatim)
        return cv_block_copy(job->ctx, job->out, job->in);
    if (job->bodies.count == 0) {
        adopt_input(job);
        return CUVET_OK;
    }
    status = cv_rewrite_plan(job->ctx, &rewrite);
    if (status == CUVET_OK)
        status = cv_rewrite_write(job->ctx, &rewrite, &sink);
    cv_rewrite_free(job->ctx, &rewrite);
    return status;
}

static bool write_holds(const cv_final_job *job)
{
    return job->out->span.len != 0 && (!job->verbatim || job->out->span.len == job->in.len);
}

static bool is_same_section(const cv_elf_section *left, const cv_elf_section *right)
{
    return left->name == right->name && left->type == right->type && left->flags == right->flags &&
           left->addr == right->addr && left->off == right->off && left->size == right->size &&
           left->link == right->link && left->info == right->info && left->align == right->align &&
           left->entsize == right->entsize;
}

/* Header and section table of the file are those that were examined: its contents were compared. */
static bool is_as_examined(const cv_final_job *job)
{
    const cv_elf_header *seen = &job->result.header;
    cv_elf_section section;
    cv_elf_header header;

    if (!cv_elf_peek(job->out->span, &header) || header.type != seen->type ||
        header.machine != seen->machine || header.version != seen->version || header.flags != seen->flags ||
        header.osabi != seen->osabi || header.abiversion != seen->abiversion || header.entry != seen->entry ||
        header.phoff != seen->phoff || header.shoff != seen->shoff || header.phnum != seen->phnum ||
        header.shnum != seen->shnum || header.shstrndx != seen->shstrndx)
        return false;
    for (uint64_t i = 0; i < job->result.sec.count; i++) {
        cv_elf_read_section(cv_span_tail(job->out->span, header.shoff), header.is32, i, &section);
        if (!is_same_section(&section, &cv_cubin_sec(&job->result, i)->header))
            return false;
    }
    return true;
}

/* The result is another file only by what was meant to change. */
static bool verify_holds(const cv_final_job *job)
{
    return job->verbatim || (is_as_examined(job) && job->result.extent == job->out->span.len &&
                             job->result.sm == job->dst_sm && job->result.n_kernels == job->cubin.n_kernels);
}

typedef struct final_stage {
    const char *name;
    cuvet_status (*run)(cv_final_job *job);
    bool (*holds)(const cv_final_job *job);
} final_stage;

static const final_stage STAGES[] = {
    { "prepare", cv_final_prepare, cv_final_prepare_holds },
    { "admit", cv_final_admit, cv_final_admit_holds },
    { "classify", cv_final_classify, cv_final_classify_holds },
    { "read", cv_final_read, cv_final_read_holds },
    { "fast path", cv_final_fastpath, cv_final_fastpath_holds },
    { "choose", cv_final_choose, cv_final_choose_holds },
    { "transform", cv_final_transform, cv_final_transform_holds },
    { "debug remap", cv_final_follow, cv_final_notes_holds },
    { "notes", cv_final_notes, cv_final_notes_holds },
    { "write", write_file, write_holds },
    { "verify", cv_final_verify, verify_holds },
};
enum { CHOOSE = 5 };

const char *cv_final_stage(uint64_t index)
{
    return index < CV_COUNT(STAGES) ? CV_AT(STAGES, index).name : NULL;
}

/* A line of the trace, in the words of the reference. */
static void trace_line(const cv_final_job *job, const char *text, const char *name)
{
    char line[LINE];
    cv_text out = { line, sizeof(line), 0 };

    if (!job->options->trace)
        return;
    cv_text_str(&out, "FNLZR: ");
    cv_text_str(&out, text);
    if (name)
        cv_text_str(&out, name);
    cv_text_end(&out);
    job->options->trace(job->options->trace_user, line);
}

/* The form that will come out, as far as options and header say it. */
static cv_kind form_to_be(const cv_final_job *job)
{
    cv_kind out = job->options->kind;
    cv_elf_header header;

    if (out == CV_KIND_NONE && job->options->phase != CV_PHASE_PRELINK && cv_elf_peek(job->in, &header) &&
        !cv_final_kind_of(&header, &out))
        return CV_KIND_NONE;
    return out;
}

static void trace_begin(const cv_final_job *job)
{
    bool post = job->options->phase == CV_PHASE_POSTLINK, alone = job->options->phase == CV_PHASE_ALONE;
    cv_kind out = form_to_be(job);
    const char *flags = out == CV_KIND_CAPMERC   ? "Flags [ 1 | 0 ]"
                        : out == CV_KIND_MERCURY ? "Flags [ 0 | 1 ]"
                                                 : "Flags [ 0 | 0 ]";

    trace_line(job, "Input ELF: ", job->name ? job->name : "in-memory-ELF-image");
    if (!job->name)
        trace_line(job, "JIT Path", NULL);
    if (!alone)
        trace_line(job,
                   job->name ? (post ? "Post-Link Mode" : "Pre-Link Mode")
                             : (post ? "postLink Mode" : "preLink Mode"),
                   NULL);
    trace_line(job, flags, NULL);
    trace_line(job, "Starting ", job->name ? job->name : "JIT");
}

static void begin_job(cv_final_job *job, cv_ctx *ctx, const cv_final_options *options, cv_span in,
                      const char *name)
{
    *job = (cv_final_job){ .ctx = ctx, .options = options, .in = in, .name = name };
    ctx->strict = true;
    cv_cubin_init(&job->cubin);
    cv_cubin_init(&job->made_cubin);
    cv_cubin_init(&job->result);
}

static cuvet_status run_to(cv_final_job *job, size_t last)
{
    cuvet_status status = CUVET_OK;

    for (size_t i = 0; i <= last && status == CUVET_OK; i++) {
        uint64_t errors = job->ctx->n_errors, wrong = cv_trap_count();

        job->stage = i;
        status = CV_AT(STAGES, i).run(job);
        if (CV_PLANTED && status == CUVET_OK)
            cv_final_plant(job, CV_AT(STAGES, i).name);
        if (status == CUVET_OK && job->ctx->work_out)
            status = CUVET_E_LIMIT;
        if (CV_NEVER(status == CUVET_OK && (job->ctx->n_errors != errors || !CV_AT(STAGES, i).holds(job))))
            status = cv_final_broken(job);
        if (CV_NEVER(wrong != cv_trap_count()))
            status = cv_final_broken(job);
    }
    if (status != CUVET_OK && job->code == CV_FINAL_OK)
        job->code = status == CUVET_E_NOMEM   ? CV_FINAL_MEMORY
                    : status == CUVET_E_LIMIT ? (cv_cancelled(job->ctx) ? CV_FINAL_CANCELLED : CV_FINAL_LIMIT)
                    : CV_NEVER(status == CUVET_E_INTERNAL) ? CV_FINAL_INTERNAL
                                                           : CV_FINAL_TYPE;
    if (status == CUVET_OK && job->verbatim)
        job->code = CV_FINAL_NOT_NEEDED;
    return status;
}

cuvet_status cv_final_run(cv_final_job *job, cv_ctx *ctx, const cv_final_options *options, cv_span in,
                          const char *name, cv_block *out)
{
    cuvet_status status;

    begin_job(job, ctx, options, in, name);
    job->out = out;
    trace_begin(job);
    status = run_to(job, CV_COUNT(STAGES) - 1);
    if (status != CUVET_OK)
        cv_block_free(ctx, out);
    trace_line(job, "Ending ", name ? name : "JIT");
    return status;
}

cuvet_status cv_final_explain(cv_final_job *job, cv_ctx *ctx, const cv_final_options *options, cv_span in,
                              const char *name)
{
    begin_job(job, ctx, options, in, name);
    return run_to(job, CHOOSE);
}

void cv_final_end(cv_final_job *job)
{
    cv_mem *mem = &job->ctx->mem;

    for (uint64_t i = 0; i < job->bodies.count; i++)
        cv_builder_free(&cv_final_bodies_at(&job->bodies, i)->bytes);
    cv_final_bodies_free(mem, &job->bodies);
    cv_cubin_free(job->ctx, &job->result);
    cv_cubin_free(job->ctx, &job->made_cubin);
    cv_cubin_free(job->ctx, &job->cubin);
    cv_block_free(job->ctx, &job->made);
    cv_offset_maps_free(mem, &job->said.maps);
    cv_moves_free(mem, &job->said.moves);
    cv_u8s_free(mem, &job->part);
}
