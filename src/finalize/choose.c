/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages fast path and transform: is there anything to do, who does it, and what came back. */
#include "finalize/job.h"

#include "cubin/admit.h"

static uint64_t flags_at(const cv_final_job *job)
{
    return job->in.off + cv_elf_ehdr_at(false, CV_EH_FLAGS);
}

static void begin_request(cv_final_job *job)
{
    const cv_final_options *options = job->options;
    const cv_cubin *cubin = &job->cubin;

    job->req =
        (cv_backend_req){ .in = job->in,
                          .cubin = cubin,
                          .name = job->name,
                          .in_kind = job->in_kind,
                          .out_kind = job->out_kind,
                          .src_sm = cubin->sm,
                          .dst_sm = job->dst_sm,
                          .src_suffix = cv_admit_suffix(cubin),
                          .dst_suffix = options->target_suffix,
                          .compat = cubin->compat.len ? &cubin->claims : NULL,
                          .level_most = options->level_most,
                          .fastpath = !options->fastpath_off,
                          .max_output = options->max_output ? cv_min(options->max_output, job->ctx->lim.input)
                                                            : job->ctx->lim.input,
                          .cancel = options->cancel };
}

/* Is the input what was asked for? */
cuvet_status cv_final_fastpath(cv_final_job *job)
{
    begin_request(job);
    job->verbatim = job->in_kind == job->out_kind && job->cubin.sm == job->dst_sm;
    if (job->verbatim)
        cv_report(job->ctx, CV_R_FINAL_NOT_NEEDED, flags_at(job), 4,
                  cv_arch_pack(job->cubin.sm, job->req.src_suffix), 0);
    return CUVET_OK;
}

/* Nobody does it: say what would be needed. */
static cuvet_status refuse_target(cv_final_job *job)
{
    uint64_t src = cv_arch_pack(job->cubin.sm, job->req.src_suffix),
             dst = cv_arch_pack(job->dst_sm, job->options->target_suffix);
    bool claims = cv_can_fastpath(job->req.compat, job->cubin.sm, job->dst_sm, true);
    cv_rule rule = CV_R_FINAL_NEEDS_CODE;

    if (job->in_kind == CV_KIND_MERCURY)
        rule = CV_R_FINAL_NEEDS_ENCODER;
    else if (job->out_kind == CV_KIND_MERCURY)
        rule = CV_R_FINAL_NEEDS_DECODER;
    else if (claims && !cv_same_family(job->cubin.sm, job->dst_sm))
        rule = CV_R_FINAL_FAMILY;
    else if (job->cubin.sm == job->dst_sm || (claims && job->req.fastpath))
        rule = CV_R_FINAL_NO_BACKEND;
    else if (claims)
        rule = CV_R_FINAL_FASTPATH_OFF;
    return cv_final_refuse(job, CV_FINAL_NO_BACKEND, rule, flags_at(job), src, dst);
}

bool cv_final_fastpath_holds(const cv_final_job *job)
{
    return job->req.cubin == &job->cubin && job->req.dst_sm == job->dst_sm && job->req.max_output != 0 &&
           job->verbatim == (job->in_kind == job->out_kind && job->cubin.sm == job->dst_sm);
}

/* What a backend says of itself is not against it. Whoever makes no code for another family takes none there,
 * also where level and mask, two claims of the file, agree on it. */
static bool is_able(const cv_backend *backend, const cv_backend_req *req)
{
    uint32_t need = req->in_kind == CV_KIND_MERCURY    ? CV_BACKEND_ENCODE
                    : req->out_kind == CV_KIND_MERCURY ? CV_BACKEND_DECODE
                    : req->out_kind != req->in_kind    ? CV_BACKEND_STRIP | CV_BACKEND_ENCODE
                                                       : CV_BACKEND_COPY | CV_BACKEND_ENCODE;

    return backend->abi == CV_BACKEND_ABI && (backend->caps & need) != 0 &&
           (!(backend->caps & CV_BACKEND_RELOC_ONLY) || req->cubin->rel) &&
           ((backend->caps & CV_BACKEND_CROSS_FAMILY) || cv_same_family(req->src_sm, req->dst_sm));
}

/* Capsules whose side of the file says something else than the native one are left out, or stay where they
 * are: nobody makes code out of them, and they go to no other target. */
static cuvet_status check_sides(cv_final_job *job)
{
    if (!job->sides_differ ||
        (job->out_kind == CV_KIND_SASS && !(job->use.backend->caps & CV_BACKEND_ENCODE)))
        return CUVET_OK;
    return cv_final_refuse(job, CV_FINAL_CHECK_TEXT, CV_R_TWIN_TAKEN, flags_at(job),
                           cv_arch_pack(job->cubin.sm, job->req.src_suffix),
                           cv_arch_pack(job->dst_sm, job->options->target_suffix));
}

/* The cheapest that can. */
cuvet_status cv_final_choose(cv_final_job *job)
{
    uint32_t best = 0;

    if (job->verbatim)
        return CUVET_OK;
    for (size_t i = 0; i < job->options->n_backends; i++) {
        const cv_backend_use *use = cv_backend_use_at(job->options, i);
        uint32_t cost = UINT32_MAX;

        if (!is_able(use->backend, &job->req) ||
            use->backend->probe(use->self, &job->req, &cost) != CV_FINAL_OK)
            continue;
        if (!job->use.backend || cost < best) {
            job->use = *use;
            best = cost;
        }
    }
    return job->use.backend ? check_sides(job) : refuse_target(job);
}

/* Somebody has to do it unless there is nothing to do, and who was taken can. */
bool cv_final_choose_holds(const cv_final_job *job)
{
    uint32_t cost;

    return job->verbatim ? !job->use.backend
                         : job->use.backend && is_able(job->use.backend, &job->req) &&
                               job->use.backend->probe(job->use.self, &job->req, &cost) == CV_FINAL_OK;
}

/* A run of the backend into a block. What it wrote is not looked at here. */
static cuvet_status run_backend(cv_final_job *job, cv_block *to, cv_backend_out *said)
{
    cv_final_sink sink = { .ctx = job->ctx, .to = to, .most = job->req.max_output };
    cuvet_status status = job->use.backend->run(job->use.self, job->ctx, &job->req, &sink, said);

    if (status == CUVET_OK && said->code != CV_FINAL_OK)
        status = cv_final_refuse(job, said->code, CV_R_FINAL_BACKEND, 0, said->code, 0);
    if (status != CUVET_OK && job->code == CV_FINAL_OK)
        job->code = said->code != CV_FINAL_OK ? said->code
                    : status == CUVET_E_NOMEM ? CV_FINAL_MEMORY
                    : status == CUVET_E_LIMIT ? CV_FINAL_LIMIT
                                              : CV_FINAL_BACKEND_FAILED;
    if (status == CUVET_OK && !sink.done)
        status =
            cv_final_refuse(job, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SHORT, 0, sink.at, sink.size);
    return status;
}

/* By the rules for strangers, and told apart from the input by its path. */
static cuvet_status examine_made(cv_final_job *job, cv_cubin *cubin, cv_span image)
{
    uint64_t errors = job->ctx->n_errors;
    cv_final before = job->code;
    cuvet_status status;

    job->of_result = true;
    cv_path_push(job->ctx, CUVET_P_ELF, true, 1);
    status = cv_final_examine(job, cubin, image);
    cv_path_pop(job->ctx);
    if (status == CUVET_OK || status == CUVET_E_NOMEM || status == CUVET_E_LIMIT)
        return status;
    job->code = before;
    return cv_final_refuse(job, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, 0,
                           job->ctx->n_errors - errors, 0);
}

static void free_said(cv_final_job *job, cv_backend_out *said)
{
    cv_offset_maps_free(&job->ctx->mem, &said->maps);
    cv_moves_free(&job->ctx->mem, &said->moves);
}

/* Once more: a backend that works does the same twice. */
static cuvet_status run_again(cv_final_job *job)
{
    cv_final_same pair = { .before = &job->made_cubin,
                           .after = &job->result,
                           .key = { CV_ARRAY_GET(job->options->key, 0),
                                    CV_ARRAY_GET(job->options->key, 1) } };
    cv_backend_out said = { 0 };
    cv_block again = { 0 };
    cuvet_status status = run_backend(job, &again, &said);

    if (status == CUVET_OK && !cv_span_eq(again.span, job->made.span)) {
        status = examine_made(job, &job->result, again.span);
        if (status == CUVET_OK)
            status = cv_final_compare(job->ctx, &pair, &job->code);
    }
    cv_block_free(job->ctx, &again);
    free_said(job, &said);
    return status;
}

cuvet_status cv_final_transform(cv_final_job *job)
{
    cuvet_status status;

    if (job->verbatim)
        return CUVET_OK;
    status = run_backend(job, &job->made, &job->said);
    if (CV_PLANTED && status == CUVET_OK)
        cv_final_plant(job, "backend");
    if (status == CUVET_OK)
        status = examine_made(job, &job->made_cubin, job->made.span);
    if (status == CUVET_OK && job->options->self_check)
        status = run_again(job);
    if (status == CUVET_OK && job->cubin.sm != job->dst_sm && !job->said.code_changed)
        cv_report(job->ctx, job->said.runs_there ? CV_R_FINAL_SAME_MADE : CV_R_FINAL_FASTPATH, flags_at(job),
                  4, job->cubin.sm, job->dst_sm);
    if (status == CUVET_OK && job->use.backend == &cv_backend_strip)
        cv_report(job->ctx, CV_R_FINAL_STRIPPED, flags_at(job), 4, job->n_capsules, 0);
    return status;
}

bool cv_final_transform_holds(const cv_final_job *job)
{
    return job->verbatim ||
           (job->use.backend && job->made_cubin.extent == job->made.span.len && job->made.span.len != 0);
}
