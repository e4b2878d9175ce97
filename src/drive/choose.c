/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Select: choose, examine, go into containers inside, admit, compile. */
#include "cubin/admit.h"
#include "drive/select.h"

/* Where the bytes of a level are: the payload, or what a chosen member was unpacked to. */
typedef struct choice_level {
    cuvet_source src;
    uint64_t first; /* candidate */
    uint32_t depth;
} choice_level;

static cv_candidate *candidate_at(cv_input *in, uint64_t index)
{
    return cv_candidates_at(&in->candidates, index);
}

static void point_at(cv_input *in, const cv_candidate *candidate)
{
    in->ctx.path = candidate->pub.where;
}

static void deliver_diags(cv_input *in)
{
    for (uint64_t i = 0; i < in->result.diags.count; i++)
        in->ctx.emit(in->ctx.emit_user, cv_diags_at(&in->result.diags, i));
    if (in->result.has_live)
        in->ctx.emit(in->ctx.emit_user, &in->result.live);
}

static cv_span unit_head(const cv_unit *unit)
{
    return cv_span_of(&unit->head, sizeof(unit->head), unit->off);
}

static uint64_t work_left(const cv_input *in, uint64_t more)
{
    uint64_t most = cv_budget_work_most(&in->budget, cv_sat_add(in->budget.unpacked, more));

    return most - cv_min(most, in->budget.work);
}

/* Does what is bound have so many bytes left, and work? */
static cuvet_status afford_bytes(cv_input *in, uint64_t bytes, uint64_t off)
{
    uint64_t got, want;
    cv_rule rule;

    return cv_budget_fits(&in->budget, bytes, &rule, &got, &want) ? CUVET_OK
                                                                  : cv_reject(&in->ctx, rule, off, got, want);
}

cuvet_status cv_input_examine(cv_input *in, const cuvet_source *src, const cv_unit *unit)
{
    const cv_examine_options opt = { .depth = CUVET_DEPTH_FULL,
                                     .take = true,
                                     .own = in->keep,
                                     .inner = in->ctx.inner,
                                     .anchor = in->ctx.anchor };

    const uint64_t cost = cv_unit_is_member(unit) ? cv_budget_cost(&in->ctx.lim, unit_head(unit)) : 0;
    cuvet_status status = afford_bytes(in, cost, unit->off);

    cv_result_free(&in->result);
    if (status != CUVET_OK)
        return status;
    in->unit = *unit;
    in->unit.work_most = cv_max(work_left(in, cost), 1);
    in->worker->ctx.cancel = &in->cancel;
    cv_examine(in->worker, src, &in->unit, &opt, &in->result);
    in->moved = in->moved || (opt.own && in->result.item.compression == CUVET_Z_NONE);
    cv_budget_charge(&in->budget, cost, in->result.work);
    deliver_diags(in);
    if (cv_input_cancelled(in))
        return CUVET_E_CANCELLED;
    return in->result.status != CUVET_OK ? in->result.status : cv_verdict_status(in->result.verdict);
}

static cv_rule rule_for_kind(cuvet_kind kind)
{
    return kind == CUVET_K_CUBIN   ? CV_R_INPUT_HAS_SASS
           : kind == CUVET_K_PTX   ? CV_R_INPUT_HAS_PTX
           : kind == CUVET_K_LTOIR ? CV_R_INPUT_HAS_LTO
                                   : CV_R_INPUT_HAS_OTHER;
}

/* What was there instead. */
static cuvet_status no_match(cv_input *in, const choice_level *level)
{
    uint64_t want = cv_arch_pack(in->cfg.target.sm, in->cfg.target.suffix);

    for (uint64_t i = level->first; i < in->candidates.count; i++) {
        const cv_candidate *choice = candidate_at(in, i);

        point_at(in, choice);
        cv_report(&in->ctx, rule_for_kind(choice->pub.kind), choice->pub.header_off, 0,
                  cv_arch_pack(choice->pub.sm, choice->pub.suffix), want);
    }
    in->ctx.path.n = 0;
    cv_report(&in->ctx, CV_R_INPUT_NO_MATCH, 0, 0, in->candidates.count - level->first, want);
    return CUVET_E_NO_MATCH;
}

/* The reference linker would have chosen otherwise, or something as good stays behind. */
static void note_containers(cv_input *in, const choice_level *level, uint64_t best, uint64_t reference)
{
    const cv_candidate *choice = candidate_at(in, best);

    point_at(in, choice);
    if (reference != best)
        cv_report(&in->ctx, CV_R_INPUT_OTHER_CONTAINER, choice->pub.header_off, 0, choice->pub.header_off,
                  reference < in->candidates.count ? candidate_at(in, reference)->pub.header_off : 0);
    for (uint64_t i = level->first; i < in->candidates.count; i++) {
        const cv_candidate *rival = candidate_at(in, i);

        if (rival->pub.rank != 0 && i != best && rival->pub.container_off != choice->pub.container_off &&
            cv_select_compare(&rival->pub, &choice->pub) == 0) {
            cv_report(&in->ctx, CV_R_INPUT_EQUAL_MEMBER, choice->pub.header_off, 0, choice->pub.header_off,
                      rival->pub.header_off);
            return;
        }
    }
}

/* The chosen member is a container: its members are the candidates of the next level. */
static cuvet_status open_container(cv_input *in, choice_level *level, const cv_candidate *candidate)
{
    cv_result *result = &in->result;
    uint64_t off, end;
    cuvet_status status;

    if (level->depth + 1 > in->ctx.lim.nesting)
        return cv_reject(&in->ctx, CV_R_LIMIT_NESTING, candidate->pub.header_off, level->depth + 1,
                         in->ctx.lim.nesting);
    off = result->nested_off;
    status = afford_bytes(in, cv_sat_add(off, result->nested_len), candidate->pub.payload_off);
    if (status != CUVET_OK)
        return status;
    cv_budget_charge(&in->budget, cv_sat_add(off, result->nested_len), 0);
    if (result->content.mem) {
        /* It is in the worker's memory, which the next unit takes. */
        status = cv_block_copy(&in->ctx, &in->nested, result->content.span);
        if (status != CUVET_OK)
            return status;
        level->src = cv_source_memory(in->nested.mem, in->nested.span.len);
        cv_ctx_enter_inner(&in->ctx, candidate->pub.payload_off);
    } else {
        off += candidate->pub.payload_off;
    }
    end = off + result->nested_len;
    point_at(in, candidate);
    level->first = in->candidates.count;
    level->depth++;
    return cv_input_walk(in, &level->src, off, end, level->depth, &in->candidates);
}

cuvet_status cv_input_admit(cv_input *in)
{
    const cv_cubin *cubin = &in->worker->cubin;
    const cv_admit_for wanted = { .target = in->cfg.target,
                                  .policy = in->cfg.policy,
                                  .toolkit = in->cfg.toolkit };
    bool unpacked =
        (in->result.item.flags & CUVET_ITEM_IN_CONTAINER) != 0 && in->result.item.compression != CUVET_Z_NONE;
    bool inner = in->ctx.inner;
    cuvet_status status;

    if (!in->result.cubin)
        return CUVET_E_UNSUPPORTED; /* its examination has said why */
    if (unpacked)
        cv_ctx_enter_inner(&in->ctx, in->result.item.payload_off);
    status = cv_admit(&in->ctx, cubin, &wanted);
    if (!inner)
        cv_ctx_leave_inner(&in->ctx);
    in->out.kind = cubin->flag_capsule || cubin->has_capsule ? CUVET_K_MERCURY : CUVET_K_CUBIN;
    in->out.sm = cubin->sm;
    in->out.suffix = cv_admit_suffix(cubin);
    return status;
}

/* The chosen piece of code becomes the result. */
static cuvet_status conclude_choice(cv_input *in, const choice_level *level, const cv_candidate *candidate)
{
    bool as_is = in->cfg.request == CUVET_REQUEST_PTX || in->cfg.request == CUVET_REQUEST_LTOIR;
    cuvet_status status = CUVET_OK;

    point_at(in, candidate);
    in->out.sm = candidate->pub.sm;
    in->out.suffix = candidate->pub.suffix;
    if (candidate->pub.kind == CUVET_K_CUBIN)
        status = cv_input_admit(in);
    else
        in->out.kind = candidate->pub.kind == CUVET_K_PTX ? CUVET_K_PTX : CUVET_K_LTOIR;
    if (status == CUVET_OK && !(in->keep && candidate->pub.kind == CUVET_K_CUBIN))
        status = cv_block_copy(&in->ctx, &in->image, in->result.payload);
    if (status == CUVET_OK && candidate->pub.kind != CUVET_K_CUBIN && !as_is)
        status = cv_input_compile(in, &level->src, candidate);
    return status;
}

static cv_wanted wanted_code(const cv_input *in, bool direct)
{
    return (cv_wanted){ .target = in->cfg.target,
                        .request = in->cfg.request,
                        .policy = in->cfg.policy,
                        .address32 = (in->cfg.flags & CUVET_SELECT_ADDRESS32) != 0,
                        .direct = direct };
}

/* The payload itself: examined first, because only that tells what it is for. */
static cuvet_status select_direct(cv_input *in, choice_level *level)
{
    cv_candidate *choice = candidate_at(in, 0);
    cv_wanted want = wanted_code(in, true);
    cuvet_status status = CUVET_OK;

    if (choice->pub.kind == CUVET_K_LTOIR) {
        in->result.payload = cv_span_of(in->bytes, in->length, 0);
    } else {
        status = cv_input_examine(in, &level->src, &choice->unit);
        choice->pub.sm = in->result.item.arch;
        choice->pub.suffix = in->result.cubin ? cv_admit_suffix(&in->worker->cubin) : in->result.item.suffix;
    }
    if (status != CUVET_OK)
        return status;
    choice->pub.reason = cv_select_judge(&choice->pub, &want);
    /* What an ELF is not admitted for has texts of its own. */
    if (choice->pub.reason != CUVET_REASON_NONE &&
        (choice->pub.kind != CUVET_K_CUBIN || choice->pub.reason == CUVET_REASON_REQUEST))
        return no_match(in, level);
    status = conclude_choice(in, level, choice);
    if (status == CUVET_OK) {
        choice->pub.rank = 1;
        choice->pub.flags |= CUVET_CANDIDATE_CHOSEN;
    }
    return status;
}

static cuvet_status select_member(cv_input *in, choice_level *level, uint64_t *chosen, bool *nested)
{
    uint64_t best, reference;
    const cv_wanted want = wanted_code(in, false);
    cuvet_status status = cv_select(&in->ctx, &in->candidates, level->first, &want, &best, &reference);

    *nested = false;
    if (status != CUVET_OK)
        return status;
    if (best == in->candidates.count)
        return no_match(in, level);
    note_containers(in, level, best, reference);
    candidate_at(in, best)->pub.flags |= CUVET_CANDIDATE_CHOSEN;
    *chosen = best;
    /* What a compiler makes of it is copied anyway, and the compiler shall not be asked again because offsets
     * were moved. */
    in->keep = in->keep && candidate_at(in, best)->pub.kind != CUVET_K_PTX;
    status = cv_input_examine(in, &level->src, &candidate_at(in, best)->unit);
    if (status == CUVET_OK && in->result.nested_whole) {
        *nested = true;
        return open_container(in, level, candidate_at(in, best));
    }
    if (status == CUVET_OK && (!(in->result.item.flags & CUVET_ITEM_EXAMINED) || in->result.payload.len == 0))
        return cv_reject(&in->ctx, CV_R_INPUT_NOT_UNPACKED, candidate_at(in, best)->pub.payload_off,
                         candidate_at(in, best)->pub.stored_size, 0);
    return status == CUVET_OK ? conclude_choice(in, level, candidate_at(in, best)) : status;
}

static cuvet_status run_choice(cv_input *in)
{
    choice_level level = { .src = cv_source_memory(in->bytes, in->length), .depth = 0 };
    cuvet_status status = CUVET_OK;
    bool nested = true;

    cv_ctx_unit(&in->ctx, in->length); /* first: what was said before counts for nothing here */
    if (in->of_file)
        in->budget = *in->of_file;
    else
        cv_budget_open(&in->budget, &in->ctx.lim, in->length);
    if (!in->worker) {
        in->worker = cv_mem_get_raw(&in->ctx.mem, sizeof(*in->worker));
        if (!in->worker)
            return cv_nomem(&in->ctx, 0);
        cv_worker_init(in->worker, &in->alloc, &in->ctx.lim);
        in->worker->ctx.strict = true; /* what is chosen is to be linked */
    }
    if (status != CUVET_OK || cv_input_cancelled(in))
        return status != CUVET_OK ? status : CUVET_E_CANCELLED;
    if (in->candidates.count == 1 && !cv_unit_is_member(&candidate_at(in, 0)->unit) &&
        in->content.type != CUVET_K_FATBIN && in->content.type != CUVET_K_HOST_ELF &&
        in->content.type != CUVET_K_ARCHIVE)
        return select_direct(in, &level);
    while (status == CUVET_OK && nested)
        status = select_member(in, &level, &in->out.candidate, &nested);
    return status;
}

/* Back to where bind left it: memory may come back. */
static void undo_choice(cv_input *in, uint64_t n_candidates, uint64_t n_diags)
{
    bool members = in->content.type == CUVET_K_FATBIN || in->content.type == CUVET_K_HOST_ELF ||
                   in->content.type == CUVET_K_ARCHIVE;

    in->candidates.count = n_candidates;
    for (uint64_t i = 0; i < in->candidates.count; i++) {
        cuvet_candidate *choice = &candidate_at(in, i)->pub;

        choice->flags &= ~CUVET_CANDIDATE_CHOSEN;
        choice->rank = 0;
        choice->reason = CUVET_REASON_NONE;
        if (!members) { /* its own header said no more */
            choice->sm = in->content.sm;
            choice->suffix = 0;
        }
    }
    in->diags.count = n_diags;
    in->lost = in->has_live = false;
    cv_u8s_clear(&in->log);
    in->out = (cuvet_select_result){ 0 };
}

cuvet_status cv_input_select(cv_input *in)
{
    uint64_t count = in->candidates.count, said = in->diags.count;
    cuvet_status status;

    if (in->state != CUVET_SELECT_BOUND)
        return CUVET_E_STATE;
    in->out = (cuvet_select_result){ 0 };
    in->lost = false; /* that was another call's: an option's, or that of a bind which failed */
    status = run_choice(in);
    status = cv_input_settle(in, status);
    if (!in->keep || status != CUVET_OK)
        cv_islands_drop();
    if (status == CUVET_E_NOMEM) {
        undo_choice(in, count, said);
        return status;
    }
    if (status == CUVET_OK) {
        cv_span image = in->keep && !in->image.mem ? in->result.payload : in->image.span;

        in->out.bytes = in->image.mem ? in->image.mem : image.base;
        in->out.n = (size_t)image.len;
        in->state = CUVET_SELECT_SELECTED;
    } else {
        in->out = (cuvet_select_result){ 0 };
        in->state = CUVET_SELECT_FAILED;
    }
    return status;
}

bool cv_input_is_clean(const cv_input *in)
{
    return !in->image.mem && in->worker && in->result.cubin && in->worker->unpacked.mem &&
           in->result.payload.base == in->worker->unpacked.mem && !in->result.nested &&
           in->result.item.errors + in->result.item.warnings == 0;
}

cuvet_status cv_input_move_out(cv_input *in, cv_ctx *ctx, cv_block *bytes, cv_cubin *cubin)
{
    return cv_worker_move_out(in->worker, &in->worker->unpacked, in->result.payload, ctx, bytes, cubin);
}
