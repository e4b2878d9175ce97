/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A finalization: the stages, each with what must hold after it. */
#include "base/text.h"
#include "finalize/job.h"
#include "finalize/rewrite.h"

enum { LINE = 320 };

cuvet_status cv_final_refuse(cv_final_job *j, cv_final code, cv_rule rule, uint64_t off, uint64_t got,
                             uint64_t want)
{
    if (j->code == CV_FINAL_OK)
        j->code = code;
    return cv_reject(j->x, rule, off, got, want);
}

cuvet_status cv_final_broken(cv_final_job *j)
{
    return cv_final_refuse(j, CV_FINAL_INTERNAL, CV_R_FINAL_INVARIANT, 0, j->stage, 0);
}

cuvet_status cv_final_nomem(cv_final_job *j)
{
    if (j->code == CV_FINAL_OK)
        j->code = CV_FINAL_MEMORY;
    return cv_nomem(j->x, 0);
}

/* What the backend wrote is the result. */
static void adopt(cv_final_job *j)
{
    const cv_block all = *j->out;

    *j->out = j->made;
    j->made = all;
    cv_cubin_free(j->x, &j->result);
    j->result = j->picture;
    cv_cubin_init(&j->picture);
}

/* What the backend wrote, with what the stages before have to change in it. */
static cuvet_status write_file(cv_final_job *j)
{
    cv_rewrite r = { .c = &j->picture, .bodies = &j->bodies, .kind = j->out_kind, .sm = j->dst_sm };
    cv_final_sink sink = { .x = j->x, .to = j->out, .most = j->req.max_output };
    cuvet_status s;

    if (j->verbatim)
        return cv_block_copy(j->x, j->out, j->in);
    if (j->bodies.n == 0) {
        adopt(j);
        return CUVET_OK;
    }
    s = cv_rewrite_plan(j->x, &r);
    if (s == CUVET_OK)
        s = cv_rewrite_write(j->x, &r, &sink);
    cv_rewrite_free(j->x, &r);
    return s;
}

static bool write_holds(const cv_final_job *j)
{
    return j->out->span.len != 0 && (!j->verbatim || j->out->span.len == j->in.len);
}

/* The result is another file only by what was meant to change. */
static bool verify_holds(const cv_final_job *j)
{
    return j->verbatim || (j->result.extent == j->out->span.len && j->result.sm == j->dst_sm &&
                           j->result.n_kernels == j->cubin.n_kernels);
}

typedef struct stage {
    const char *name;
    cuvet_status (*run)(cv_final_job *j);
    bool (*holds)(const cv_final_job *j);
} stage;

static const stage STAGES[] = {
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

const char *cv_final_stage(uint64_t i)
{
    return i < CV_COUNT(STAGES) ? CV_AT(STAGES, i).name : NULL;
}

/* A line of the trace, in the words of the reference. */
static void tell(const cv_final_job *j, const char *text, const char *name)
{
    char line[LINE];
    cv_text t = { line, sizeof(line), 0 };

    if (!j->o->trace)
        return;
    cv_text_str(&t, "FNLZR: ");
    cv_text_str(&t, text);
    if (name)
        cv_text_str(&t, name);
    cv_text_end(&t);
    j->o->trace(j->o->trace_user, line);
}

/* The form that will come out, as far as options and header say it. */
static cv_kind form_to_be(const cv_final_job *j)
{
    cv_kind out = j->o->kind;
    cv_elf_header h;

    if (out == CV_KIND_NONE && j->o->phase != CV_PHASE_PRELINK && cv_elf_peek(j->in, &h) &&
        !cv_final_kind_of(&h, &out))
        return CV_KIND_NONE;
    return out;
}

static void tell_begin(const cv_final_job *j)
{
    bool post = j->o->phase == CV_PHASE_POSTLINK, alone = j->o->phase == CV_PHASE_ALONE;
    cv_kind out = form_to_be(j);
    const char *flags = out == CV_KIND_CAPMERC   ? "Flags [ 1 | 0 ]"
                        : out == CV_KIND_MERCURY ? "Flags [ 0 | 1 ]"
                                                 : "Flags [ 0 | 0 ]";

    tell(j, "Input ELF: ", j->name ? j->name : "in-memory-ELF-image");
    if (!j->name)
        tell(j, "JIT Path", NULL);
    if (!alone)
        tell(j,
             j->name ? (post ? "Post-Link Mode" : "Pre-Link Mode")
                     : (post ? "postLink Mode" : "preLink Mode"),
             NULL);
    tell(j, flags, NULL);
    tell(j, "Starting ", j->name ? j->name : "JIT");
}

static void begin(cv_final_job *j, cv_ctx *x, const cv_final_options *o, cv_span in, const char *name)
{
    *j = (cv_final_job){ .x = x, .o = o, .in = in, .name = name };
    x->strict = true;
    cv_cubin_init(&j->cubin);
    cv_cubin_init(&j->picture);
    cv_cubin_init(&j->result);
}

static cuvet_status run_to(cv_final_job *j, size_t last)
{
    cuvet_status s = CUVET_OK;

    for (size_t i = 0; i <= last && s == CUVET_OK; i++) {
        uint64_t errors = j->x->n_errors;

        j->stage = i;
        s = CV_AT(STAGES, i).run(j);
        if (s == CUVET_OK && j->x->work_out)
            s = CUVET_E_LIMIT;
        if (CV_NEVER(s == CUVET_OK && (j->x->n_errors != errors || !CV_AT(STAGES, i).holds(j))))
            s = cv_final_broken(j);
    }
    if (s != CUVET_OK && j->code == CV_FINAL_OK)
        j->code = s == CUVET_E_NOMEM   ? CV_FINAL_MEMORY
                  : s == CUVET_E_LIMIT ? (cv_cancelled(j->x) ? CV_FINAL_CANCELLED : CV_FINAL_LIMIT)
                  : CV_NEVER(s == CUVET_E_INTERNAL) ? CV_FINAL_INTERNAL
                                                    : CV_FINAL_TYPE;
    if (s == CUVET_OK && j->verbatim)
        j->code = CV_FINAL_NOT_NEEDED;
    return s;
}

cuvet_status cv_final_run(cv_final_job *j, cv_ctx *x, const cv_final_options *o, cv_span in, const char *name,
                          cv_block *out)
{
    cuvet_status s;

    begin(j, x, o, in, name);
    j->out = out;
    tell_begin(j);
    s = run_to(j, CV_COUNT(STAGES) - 1);
    if (s != CUVET_OK)
        cv_block_free(x, out);
    tell(j, "Ending ", name ? name : "JIT");
    return s;
}

cuvet_status cv_final_explain(cv_final_job *j, cv_ctx *x, const cv_final_options *o, cv_span in,
                              const char *name)
{
    begin(j, x, o, in, name);
    return run_to(j, CHOOSE);
}

void cv_final_end(cv_final_job *j)
{
    cv_mem *m = &j->x->mem;

    for (uint64_t i = 0; i < j->bodies.n; i++)
        cv_builder_free(&cv_final_bodies_at(&j->bodies, i)->bytes);
    cv_final_bodies_free(m, &j->bodies);
    cv_cubin_free(j->x, &j->result);
    cv_cubin_free(j->x, &j->picture);
    cv_cubin_free(j->x, &j->cubin);
    cv_block_free(j->x, &j->made);
    cv_offset_maps_free(m, &j->said.maps);
    cv_moves_free(m, &j->said.moves);
    cv_u8s_free(m, &j->part);
}
