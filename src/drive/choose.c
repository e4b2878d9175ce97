/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Select: choose, examine, go into containers inside, admit, compile. */
#include "cubin/admit.h"
#include "drive/select.h"

/* Where the bytes of a level are: the payload, or what a chosen member was unpacked to. */
typedef struct level {
    cuvet_source src;
    uint64_t first; /* candidate */
    uint32_t depth;
} level;

static cv_candidate *candidate(cv_input *in, uint64_t i)
{
    return cv_candidates_at(&in->candidates, i);
}

static void at(cv_input *in, const cv_candidate *c)
{
    in->x.path = c->pub.where;
}

static void deliver(cv_input *in)
{
    for (uint64_t i = 0; i < in->result.diags.n; i++)
        in->x.emit(in->x.emit_user, cv_diags_at(&in->result.diags, i));
    if (in->result.has_live)
        in->x.emit(in->x.emit_user, &in->result.live);
}

static cv_span unit_head(const cv_unit *u)
{
    return cv_span_of(&u->head, sizeof(u->head), u->off);
}

static uint64_t work_left(const cv_input *in, uint64_t more)
{
    uint64_t most = cv_budget_work_most(&in->budget, cv_sat_add(in->budget.unpacked, more));

    return most - cv_min(most, in->budget.work);
}

/* Does what is bound have so many bytes left, and work? */
static cuvet_status afford(cv_input *in, uint64_t bytes, uint64_t off)
{
    uint64_t got, want;
    cv_rule rule;

    return cv_budget_fits(&in->budget, bytes, &rule, &got, &want) ? CUVET_OK
                                                                  : cv_reject(&in->x, rule, off, got, want);
}

cuvet_status cv_input_examine(cv_input *in, const cuvet_source *src, const cv_unit *u)
{
    const cv_examine_options opt = {
        .depth = CUVET_DEPTH_FULL, .take = true, .own = in->keep, .inner = in->x.inner, .anchor = in->x.anchor
    };

    const uint64_t cost = u->kind == CV_UNIT_MEMBER ? cv_budget_cost(&in->x.lim, unit_head(u)) : 0;
    cuvet_status s = afford(in, cost, u->off);

    cv_result_free(&in->result);
    if (s != CUVET_OK)
        return s;
    in->unit = *u;
    in->unit.work_most = cv_max(work_left(in, cost), 1);
    in->worker->x.cancel = &in->cancel;
    cv_examine(in->worker, src, &in->unit, &opt, &in->result);
    in->moved = in->moved || (opt.own && in->result.item.compression == CUVET_Z_NONE);
    cv_budget_charge(&in->budget, cost, in->result.work);
    deliver(in);
    if (cv_input_cancelled(in))
        return CUVET_E_CANCELLED;
    return in->result.status != CUVET_OK ? in->result.status : cv_verdict_status(in->result.verdict);
}

static cv_rule instead(cuvet_kind kind)
{
    return kind == CUVET_K_CUBIN   ? CV_R_INPUT_HAS_SASS
           : kind == CUVET_K_PTX   ? CV_R_INPUT_HAS_PTX
           : kind == CUVET_K_LTOIR ? CV_R_INPUT_HAS_LTO
                                   : CV_R_INPUT_HAS_OTHER;
}

/* What was there instead. */
static cuvet_status no_match(cv_input *in, const level *l)
{
    uint64_t want = cv_arch_pack(in->cfg.target.sm, in->cfg.target.suffix);

    for (uint64_t i = l->first; i < in->candidates.n; i++) {
        const cv_candidate *c = candidate(in, i);

        at(in, c);
        cv_report(&in->x, instead(c->pub.kind), c->pub.header_off, 0, cv_arch_pack(c->pub.sm, c->pub.suffix),
                  want);
    }
    in->x.path.n = 0;
    cv_report(&in->x, CV_R_INPUT_NO_MATCH, 0, 0, in->candidates.n - l->first, want);
    return CUVET_E_NO_MATCH;
}

/* The reference linker would have chosen otherwise, or something as good stays behind. */
static void note_containers(cv_input *in, const level *l, uint64_t best, uint64_t reference)
{
    const cv_candidate *b = candidate(in, best);

    at(in, b);
    if (reference != best)
        cv_report(&in->x, CV_R_INPUT_OTHER_CONTAINER, b->pub.header_off, 0, b->pub.header_off,
                  reference < in->candidates.n ? candidate(in, reference)->pub.header_off : 0);
    for (uint64_t i = l->first; i < in->candidates.n; i++) {
        const cv_candidate *c = candidate(in, i);

        if (c->pub.rank != 0 && i != best && c->pub.container_off != b->pub.container_off &&
            cv_select_compare(&c->pub, &b->pub) == 0) {
            cv_report(&in->x, CV_R_INPUT_EQUAL_MEMBER, b->pub.header_off, 0, b->pub.header_off,
                      c->pub.header_off);
            return;
        }
    }
}

/* The chosen member is a container: its members are the candidates of the next level. */
static cuvet_status descend(cv_input *in, level *l, const cv_candidate *c)
{
    cv_result *r = &in->result;
    uint64_t off, end;
    cuvet_status s;

    if (l->depth + 1 > in->x.lim.nesting)
        return cv_reject(&in->x, CV_R_LIMIT_NESTING, c->pub.header_off, l->depth + 1, in->x.lim.nesting);
    off = r->nested_off;
    s = afford(in, cv_sat_add(off, r->nested_len), c->pub.payload_off);
    if (s != CUVET_OK)
        return s;
    cv_budget_charge(&in->budget, cv_sat_add(off, r->nested_len), 0);
    if (r->content.mem) {
        /* It is in the worker's memory, which the next unit takes. */
        s = cv_block_copy(&in->x, &in->nested, r->content.span);
        if (s != CUVET_OK)
            return s;
        l->src = cv_source_memory(in->nested.mem, in->nested.span.len);
        cv_ctx_enter_inner(&in->x, c->pub.payload_off);
    } else {
        off += c->pub.payload_off;
    }
    end = off + r->nested_len;
    at(in, c);
    l->first = in->candidates.n;
    l->depth++;
    return cv_input_walk(in, &l->src, off, end, l->depth, &in->candidates);
}

cuvet_status cv_input_admit(cv_input *in)
{
    const cv_cubin *c = &in->worker->cubin;
    const cv_admit_for f = { .target = in->cfg.target, .policy = in->cfg.policy, .toolkit = in->cfg.toolkit };
    bool unpacked = in->result.item.in_container && in->result.item.compression != CUVET_Z_NONE;
    bool inner = in->x.inner;
    cuvet_status s;

    if (!in->result.cubin)
        return CUVET_E_UNSUPPORTED; /* its examination has said why */
    if (unpacked)
        cv_ctx_enter_inner(&in->x, in->result.item.payload_off);
    s = cv_admit(&in->x, c, &f);
    if (!inner)
        cv_ctx_leave_inner(&in->x);
    in->out.kind = c->flag_capsule || c->has_capsule ? CUVET_K_MERCURY : CUVET_K_CUBIN;
    in->out.sm = c->sm;
    in->out.suffix = cv_admit_suffix(c);
    return s;
}

/* The chosen piece of code becomes the result. */
static cuvet_status conclude(cv_input *in, const level *l, const cv_candidate *c)
{
    bool as_is = in->cfg.request == CUVET_REQUEST_PTX || in->cfg.request == CUVET_REQUEST_LTOIR;
    cuvet_status s = CUVET_OK;

    at(in, c);
    in->out.sm = c->pub.sm;
    in->out.suffix = c->pub.suffix;
    if (c->pub.kind == CUVET_K_CUBIN)
        s = cv_input_admit(in);
    else
        in->out.kind = c->pub.kind == CUVET_K_PTX ? CUVET_K_PTX : CUVET_K_LTOIR;
    if (s == CUVET_OK && !(in->keep && c->pub.kind == CUVET_K_CUBIN))
        s = cv_block_copy(&in->x, &in->image, in->result.payload);
    if (s == CUVET_OK && c->pub.kind != CUVET_K_CUBIN && !as_is)
        s = cv_input_compile(in, &l->src, c);
    return s;
}

static cv_wanted wanted(const cv_input *in, bool direct)
{
    return (cv_wanted){ .target = in->cfg.target,
                        .request = in->cfg.request,
                        .policy = in->cfg.policy,
                        .address32 = (in->cfg.flags & CUVET_INPUT_ADDRESS32) != 0,
                        .direct = direct };
}

/* The payload itself: examined first, because only that tells what it is for. */
static cuvet_status select_direct(cv_input *in, level *l)
{
    cv_candidate *c = candidate(in, 0);
    cv_wanted w = wanted(in, true);
    cuvet_status s = CUVET_OK;

    if (c->pub.kind == CUVET_K_LTOIR) {
        in->result.payload = cv_span_of(in->bytes, in->length, 0);
    } else {
        s = cv_input_examine(in, &l->src, &c->unit);
        c->pub.sm = in->result.item.arch;
        c->pub.suffix = in->result.cubin ? cv_admit_suffix(&in->worker->cubin) : in->result.item.suffix;
    }
    if (s != CUVET_OK)
        return s;
    c->pub.reason = cv_select_judge(&c->pub, &w);
    /* What an ELF is not admitted for has texts of its own. */
    if (c->pub.reason != CUVET_REASON_NONE &&
        (c->pub.kind != CUVET_K_CUBIN || c->pub.reason == CUVET_REASON_REQUEST))
        return no_match(in, l);
    s = conclude(in, l, c);
    if (s == CUVET_OK) {
        c->pub.rank = 1;
        c->pub.chosen = true;
    }
    return s;
}

static cuvet_status select_member(cv_input *in, level *l, uint64_t *chosen, bool *nested)
{
    uint64_t best, reference;
    const cv_wanted w = wanted(in, false);
    cuvet_status s = cv_select(&in->x, &in->candidates, l->first, &w, &best, &reference);

    *nested = false;
    if (s != CUVET_OK)
        return s;
    if (best == in->candidates.n)
        return no_match(in, l);
    note_containers(in, l, best, reference);
    candidate(in, best)->pub.chosen = true;
    *chosen = best;
    s = cv_input_examine(in, &l->src, &candidate(in, best)->unit);
    if (s == CUVET_OK && in->result.nested_whole) {
        *nested = true;
        return descend(in, l, candidate(in, best));
    }
    if (s == CUVET_OK && (!in->result.item.examined || in->result.payload.len == 0))
        return cv_reject(&in->x, CV_R_INPUT_NOT_UNPACKED, candidate(in, best)->pub.payload_off,
                         candidate(in, best)->pub.stored_size, 0);
    return s == CUVET_OK ? conclude(in, l, candidate(in, best)) : s;
}

static cuvet_status run(cv_input *in)
{
    level l = { .src = cv_source_memory(in->bytes, in->length), .depth = 0 };
    cuvet_status s = CUVET_OK;
    bool nested = true;

    cv_ctx_unit(&in->x, in->length); /* first: what was said before counts for nothing here */
    if (in->of_file)
        in->budget = *in->of_file;
    else
        cv_budget_open(&in->budget, &in->x.lim, in->length);
    if (!in->worker) {
        in->worker = cv_mem_get(&in->x.mem, sizeof(*in->worker));
        if (!in->worker)
            return cv_nomem(&in->x, 0);
        cv_worker_init(in->worker, &in->alloc, &in->x.lim);
        in->worker->x.strict = true; /* what is chosen is to be linked */
    }
    if (s != CUVET_OK || cv_input_cancelled(in))
        return s != CUVET_OK ? s : CUVET_E_CANCELLED;
    if (in->candidates.n == 1 && candidate(in, 0)->unit.kind != CV_UNIT_MEMBER &&
        in->content.type != CUVET_K_FATBIN && in->content.type != CUVET_K_HOST_ELF &&
        in->content.type != CUVET_K_ARCHIVE)
        return select_direct(in, &l);
    while (s == CUVET_OK && nested)
        s = select_member(in, &l, &in->out.candidate, &nested);
    return s;
}

/* Back to where bind left it: memory may come back. */
static void undo(cv_input *in, uint64_t n_candidates, uint64_t n_diags)
{
    bool members = in->content.type == CUVET_K_FATBIN || in->content.type == CUVET_K_HOST_ELF ||
                   in->content.type == CUVET_K_ARCHIVE;

    in->candidates.n = n_candidates;
    for (uint64_t i = 0; i < in->candidates.n; i++) {
        cuvet_candidate *c = &candidate(in, i)->pub;

        c->chosen = false;
        c->rank = 0;
        c->reason = CUVET_REASON_NONE;
        if (!members) { /* its own header said no more */
            c->sm = in->content.sm;
            c->suffix = 0;
        }
    }
    in->diags.n = n_diags;
    in->lost = in->has_live = false;
    cv_u8s_clear(&in->log);
    in->out = (cuvet_result){ 0 };
}

cuvet_status cv_input_select(cv_input *in)
{
    uint64_t n = in->candidates.n, said = in->diags.n;
    cuvet_status s;

    if (in->state != CUVET_INPUT_BOUND)
        return CUVET_E_STATE;
    in->out = (cuvet_result){ 0 };
    in->lost = false; /* that was another call's: an option's, or that of a bind which failed */
    s = run(in);
    s = cv_input_settle(in, s);
    if (!in->keep || s != CUVET_OK)
        cv_islands_drop();
    if (s == CUVET_E_NOMEM) {
        undo(in, n, said);
        return s;
    }
    if (s == CUVET_OK) {
        cv_span image = in->keep && !in->image.mem ? in->result.payload : in->image.span;

        in->out.bytes = in->image.mem ? in->image.mem : image.base;
        in->out.n = (size_t)image.len;
        in->state = CUVET_INPUT_SELECTED;
    } else {
        in->out = (cuvet_result){ 0 };
        in->state = CUVET_INPUT_FAILED;
    }
    return s;
}

bool cv_input_is_clean(const cv_input *in)
{
    return !in->image.mem && in->worker && in->result.cubin && in->worker->unpacked.mem &&
           in->result.payload.base == in->worker->unpacked.mem && !in->result.nested &&
           in->result.item.errors + in->result.item.warnings == 0;
}

cuvet_status cv_input_move_out(cv_input *in, cv_ctx *x, cv_block *bytes, cv_cubin *cubin)
{
    cv_worker *w = in->worker;
    uint64_t size;

    cv_keys_free(&w->x.mem, &w->cubin.by_off); /* scratch of the examination */
    size = w->unpacked.cap + w->cubin.sec.cap * sizeof(cv_sec);
    if (!cv_mem_move(&x->mem, &w->x.mem, size))
        return cv_nomem(x, 0);
    *bytes = w->unpacked;
    bytes->span = in->result.payload;
    *cubin = w->cubin;
    w->unpacked = (cv_block){ 0 };
    cv_cubin_init(&w->cubin);
    return CUVET_OK;
}
