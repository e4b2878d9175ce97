/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages fast path and transform: is there anything to do, who does it, and what came back. */
#include "finalize/job.h"

#include "cubin/admit.h"

static uint64_t flags_at(const cv_final_job *j)
{
    return j->in.off + cv_elf_ehdr_at(false, CV_EH_FLAGS);
}

static void ask(cv_final_job *j)
{
    const cv_final_options *o = j->o;
    const cv_cubin *c = &j->cubin;

    j->req = (cv_backend_req){ .in = j->in,
                               .cubin = c,
                               .name = j->name,
                               .in_kind = j->in_kind,
                               .out_kind = j->out_kind,
                               .src_sm = c->sm,
                               .dst_sm = j->dst_sm,
                               .src_suffix = cv_admit_suffix(c),
                               .dst_suffix = o->target_suffix,
                               .compat = c->compat.len ? &c->claims : NULL,
                               .level_most = o->level_most,
                               .fastpath = !o->fastpath_off,
                               .max_output =
                                   o->max_output ? cv_min(o->max_output, j->x->lim.input) : j->x->lim.input,
                               .cancel = o->cancel };
}

/* Is the input what was asked for? */
cuvet_status cv_final_fastpath(cv_final_job *j)
{
    ask(j);
    j->verbatim = j->in_kind == j->out_kind && j->cubin.sm == j->dst_sm;
    if (j->verbatim)
        cv_report(j->x, CV_R_FINAL_NOT_NEEDED, flags_at(j), 4, cv_arch_pack(j->cubin.sm, j->req.src_suffix),
                  0);
    return CUVET_OK;
}

/* Nobody does it: say what would be needed. */
static cuvet_status refuse(cv_final_job *j)
{
    uint64_t src = cv_arch_pack(j->cubin.sm, j->req.src_suffix),
             dst = cv_arch_pack(j->dst_sm, j->o->target_suffix);
    bool claims = cv_can_fastpath(j->req.compat, j->cubin.sm, j->dst_sm, true);
    cv_rule rule = CV_R_FINAL_NEEDS_CODE;

    if (j->in_kind == CV_KIND_MERCURY)
        rule = CV_R_FINAL_NEEDS_ENCODER;
    else if (j->out_kind == CV_KIND_MERCURY)
        rule = CV_R_FINAL_NEEDS_DECODER;
    else if (claims && !cv_same_family(j->cubin.sm, j->dst_sm))
        rule = CV_R_FINAL_FAMILY;
    else if (j->cubin.sm == j->dst_sm || (claims && j->req.fastpath))
        rule = CV_R_FINAL_NO_BACKEND;
    else if (claims)
        rule = CV_R_FINAL_FASTPATH_OFF;
    return cv_final_refuse(j, CV_FINAL_NO_BACKEND, rule, flags_at(j), src, dst);
}

bool cv_final_fastpath_holds(const cv_final_job *j)
{
    return j->req.cubin == &j->cubin && j->req.dst_sm == j->dst_sm && j->req.max_output != 0 &&
           j->verbatim == (j->in_kind == j->out_kind && j->cubin.sm == j->dst_sm);
}

/* What a backend says of itself is not against it. Whoever makes no code for another family takes none there,
 * also where level and mask, two claims of the file, agree on it. */
static bool is_able(const cv_backend *b, const cv_backend_req *q)
{
    uint32_t need = q->in_kind == CV_KIND_MERCURY    ? CV_BACKEND_ENCODE
                    : q->out_kind == CV_KIND_MERCURY ? CV_BACKEND_DECODE
                    : q->out_kind != q->in_kind      ? CV_BACKEND_STRIP | CV_BACKEND_ENCODE
                                                     : CV_BACKEND_COPY | CV_BACKEND_ENCODE;

    return b->abi == CV_BACKEND_ABI && (b->caps & need) != 0 &&
           (!(b->caps & CV_BACKEND_RELOC_ONLY) || q->cubin->rel) &&
           ((b->caps & CV_BACKEND_CROSS_FAMILY) || cv_same_family(q->src_sm, q->dst_sm));
}

/* The cheapest that can. */
cuvet_status cv_final_choose(cv_final_job *j)
{
    uint32_t best = 0;

    if (j->verbatim)
        return CUVET_OK;
    for (size_t i = 0; i < j->o->n_backends; i++) {
        const cv_backend_use *u = cv_backend_use_at(j->o, i);
        uint32_t cost = UINT32_MAX;

        if (!is_able(u->backend, &j->req) || u->backend->probe(u->self, &j->req, &cost) != CV_FINAL_OK)
            continue;
        if (!j->use.backend || cost < best) {
            j->use = *u;
            best = cost;
        }
    }
    return j->use.backend ? CUVET_OK : refuse(j);
}

/* Somebody has to do it unless there is nothing to do, and who was taken can. */
bool cv_final_choose_holds(const cv_final_job *j)
{
    uint32_t cost;

    return j->verbatim ? !j->use.backend
                       : j->use.backend && is_able(j->use.backend, &j->req) &&
                             j->use.backend->probe(j->use.self, &j->req, &cost) == CV_FINAL_OK;
}

/* A run of the backend into a block. What it wrote is not looked at here. */
static cuvet_status run(cv_final_job *j, cv_block *to, cv_backend_out *said)
{
    cv_final_sink sink = { .x = j->x, .to = to, .most = j->req.max_output };
    cuvet_status s = j->use.backend->run(j->use.self, j->x, &j->req, &sink, said);

    if (s == CUVET_OK && said->code != CV_FINAL_OK)
        s = cv_final_refuse(j, said->code, CV_R_FINAL_BACKEND, 0, said->code, 0);
    if (s != CUVET_OK && j->code == CV_FINAL_OK)
        j->code = said->code != CV_FINAL_OK ? said->code
                  : s == CUVET_E_NOMEM      ? CV_FINAL_MEMORY
                  : s == CUVET_E_LIMIT      ? CV_FINAL_LIMIT
                                            : CV_FINAL_BACKEND_FAILED;
    if (s == CUVET_OK && !sink.done)
        s = cv_final_refuse(j, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SHORT, 0, sink.at, sink.size);
    return s;
}

/* By the rules for strangers, and told apart from the input by its path. */
static cuvet_status examine(cv_final_job *j, cv_cubin *c, cv_span image)
{
    uint64_t errors = j->x->n_errors;
    cv_final before = j->code;
    cuvet_status s;

    j->of_result = true;
    cv_path_push(j->x, CUVET_P_ELF, true, 1);
    s = cv_final_examine(j, c, image);
    cv_path_pop(j->x);
    if (s == CUVET_OK || s == CUVET_E_NOMEM || s == CUVET_E_LIMIT)
        return s;
    j->code = before;
    return cv_final_refuse(j, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_FORM, 0, j->x->n_errors - errors,
                           0);
}

static void free_said(cv_final_job *j, cv_backend_out *said)
{
    cv_offset_maps_free(&j->x->mem, &said->maps);
    cv_moves_free(&j->x->mem, &said->moves);
}

/* Once more: a backend that works does the same twice. */
static cuvet_status run_again(cv_final_job *j)
{
    cv_final_same q = { .a = &j->picture,
                        .b = &j->result,
                        .key = { CV_ARRAY_GET(j->o->key, 0), CV_ARRAY_GET(j->o->key, 1) } };
    cv_backend_out said = { 0 };
    cv_block again = { 0 };
    cuvet_status s = run(j, &again, &said);

    if (s == CUVET_OK && !cv_span_eq(again.span, j->made.span)) {
        s = examine(j, &j->result, again.span);
        if (s == CUVET_OK)
            s = cv_final_compare(j->x, &q, &j->code);
    }
    cv_block_free(j->x, &again);
    free_said(j, &said);
    return s;
}

cuvet_status cv_final_transform(cv_final_job *j)
{
    cuvet_status s;

    if (j->verbatim)
        return CUVET_OK;
    s = run(j, &j->made, &j->said);
    if (s == CUVET_OK)
        s = examine(j, &j->picture, j->made.span);
    if (s == CUVET_OK && j->o->self_check)
        s = run_again(j);
    if (s == CUVET_OK && j->cubin.sm != j->dst_sm && !j->said.code_changed)
        cv_report(j->x, j->said.runs_there ? CV_R_FINAL_SAME_MADE : CV_R_FINAL_FASTPATH, flags_at(j), 4,
                  j->cubin.sm, j->dst_sm);
    if (s == CUVET_OK && j->use.backend == &cv_backend_strip)
        cv_report(j->x, CV_R_FINAL_STRIPPED, flags_at(j), 4, j->n_capsules, 0);
    return s;
}

bool cv_final_transform_holds(const cv_final_job *j)
{
    return j->verbatim || (j->use.backend && j->picture.extent == j->made.span.len && j->made.span.len != 0);
}
