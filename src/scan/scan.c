/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "scan/scan.h"

static void deliver_diag(cv_scan *s, const cuvet_diag *d)
{
    uint32_t *seen = CV_ARRAY_AT(s->seen, d->rule);

    if ((*seen)++ < s->lim.diagnostics)
        s->emit(s->emit_user, d);
    else
        s->sum.suppressed++;
}

static void raise_verdict(cv_scan *s, cuvet_verdict v)
{
    if (v > s->sum.verdict)
        s->sum.verdict = v;
}

static void add_total(cv_scan *s, uint64_t rule, uint64_t n)
{
    uint64_t *total = CV_ARRAY_AT(s->total, rule);

    *total = cv_sat_add(*total, n);
}

/* A limit that the scan itself met: an error that belongs exactly here in the order. */
static void report_now(cv_scan *s, cuvet_diag *d)
{
    d->severity = CUVET_ERROR;
    s->sum.errors++;
    raise_verdict(s, CUVET_V_LIMIT);
    add_total(s, d->rule, 1);
    deliver_diag(s, d);
}

/* Memory of the scan itself: a limit is a finding like every other, the allocator's refusal is a status. */
static cuvet_status no_memory(cv_scan *s, const cv_mem *m)
{
    cuvet_diag d = { .rule = CV_R_LIMIT_LIVE, .got = m->live, .want = m->limit };

    if (cv_mem_status(m) != CUVET_E_LIMIT)
        return CUVET_E_NOMEM;
    report_now(s, &d);
    return CUVET_E_LIMIT;
}

static void keep_walk_diag(void *user, const cuvet_diag *d)
{
    cv_level *lv = user;

    if (!cv_diags_push(&lv->x.mem, &lv->diags, *d) || !cv_u64s_push(&lv->x.mem, &lv->before, lv->units.n))
        lv->lost = true;
}

static void free_results(cv_level *lv)
{
    for (uint64_t i = 0; i < lv->results.n; i++)
        cv_result_free(cv_results_at(&lv->results, i));
    cv_results_clear(&lv->results);
}

static void close_level(cv_scan *s, cv_level *lv)
{
    free_results(lv);
    cv_walk_close(&lv->x, &lv->walk);
    cv_results_free(&lv->x.mem, &lv->results);
    cv_units_free(&lv->x.mem, &lv->units);
    cv_diags_free(&lv->x.mem, &lv->diags);
    cv_u64s_free(&lv->x.mem, &lv->before);
    cv_result_free(&lv->from);
    s->closed_peak = cv_max(s->closed_peak, lv->x.mem.peak);
    cv_mem_put(&s->mem, lv, sizeof(*lv));
}

static cv_level *top_level(const cv_scan *s)
{
    return CV_ARRAY_GET(s->level, s->n_levels - 1);
}

/* Where the bytes of a nested container are, and in which count of offsets. */
static void take_place(const cv_scan *s, cv_level *lv, cv_result *from, uint64_t *off, uint64_t *end)
{
    const cv_ctx *above = &top_level(s)->x;

    if (above->inner)
        cv_ctx_enter_inner(&lv->x, above->anchor);
    lv->owned = !from->content.mem || from->claimed;
    if (from->content.mem)
        cv_ctx_enter_inner(&lv->x, from->item.payload_off);
    else
        *off = from->item.payload_off;
    *off += from->nested_off;
    *end = *off + from->nested_len;
    cv_result_move(&lv->from, from);
}

/* A level over src; 'from' is the member that holds it (its memory moves to the level), NULL for the file
 * itself. Content that was decompressed has a source of its own; raw content is a range of the source of the
 * level above. */
static cuvet_status open_level(cv_scan *s, const cuvet_source *src, cv_result *from)
{
    uint64_t off = 0, end = src->length;
    cv_region_kind kind = !from || from->nested_whole ? CV_REGION_OBJECT : CV_REGION_RAW;
    cv_level *lv = cv_mem_get(&s->mem, sizeof(*lv));
    cuvet_status st;

    if (!lv)
        return no_memory(s, &s->mem);
    cv_ctx_init(&lv->x, &s->alloc, &s->lim);
    lv->x.emit = keep_walk_diag;
    lv->x.emit_user = lv;
    lv->src = *src;
    lv->state = cv_source_look(src);
    if (from) {
        /* In place of the bytes that are counted already: what is nested has no work of its own. */
        uint64_t most = cv_budget_work_most(&s->budget, s->budget.unpacked);

        cv_ctx_unit(&lv->x, from->nested_len);
        cv_ctx_cap_work(&lv->x, most - cv_min(most, s->budget.work));
        lv->x.path = from->item.where;
        take_place(s, lv, from, &off, &end);
    } else {
        cv_ctx_unit(&lv->x, src->length);
    }
    CV_ARRAY_SET(s->level, s->n_levels, lv);
    s->n_levels++;
    st = cv_walk_open(&lv->x, &lv->walk, &lv->src, off, end, kind, s->opt.claim != NULL);
    lv->walk.nested = from != NULL;
    lv->batch = CV_SCAN_FIRST_BATCH;
    return st;
}

static cuvet_status open_workers(cv_scan *s)
{
    uint64_t n = cv_min(cv_max(s->opt.jobs, 1), CV_SCAN_JOBS_MAX);

    for (uint64_t i = 0; i < n; i++) {
        cv_worker *w = cv_mem_get(&s->mem, sizeof(*w));

        if (!w || !cv_workers_push(&s->mem, &s->workers, w)) {
            cuvet_status st = no_memory(s, &s->mem);

            cv_mem_put(&s->mem, w, sizeof(*w));
            return st;
        }
        cv_worker_init(w, &s->alloc, &s->lim);
    }
    return CUVET_OK;
}

cuvet_status cv_scan_open(cv_scan *s, const cuvet_alloc *alloc, const cuvet_limits *lim,
                          const cuvet_source *src, const cuvet_scan_options *opt, cv_emit_fn *emit,
                          void *emit_user)
{
    cuvet_status st;

    *s = (cv_scan){ .alloc = *alloc, .lim = *lim, .opt = *opt, .emit = emit, .emit_user = emit_user };
    cv_budget_open(&s->budget, lim, src->length);
    s->admit =
        (cv_admit_for){ .target = opt->target, .toolkit = CV_ADMIT_TOOLKIT, .execute = opt->target.sm == 0 };
    cv_mem_init(&s->mem, alloc, lim->live);
    st = open_workers(s);
    if (st == CUVET_OK)
        st = open_level(s, src, NULL);
    if (st == CUVET_OK && src->length > lim->input) {
        cv_level *lv = top_level(s);

        /* The scan exists; its verdict is the limit. */
        cv_report(&lv->x, CV_R_LIMIT_INPUT, 0, 0, src->length, lim->input);
        lv->ended = true;
        lv->end = CUVET_END;
    }
    if (st != CUVET_OK)
        cv_scan_close(s);
    return st;
}

/* One result for each unit, all zero: memory of a vector is zeroed when it grows, and a freed result is zero.
 */
static CV_MUST bool empty_results(cv_level *lv)
{
    if (!cv_results_reserve(&lv->x.mem, &lv->results, lv->units.n))
        return false;
    lv->results.n = lv->units.n;
    return true;
}

/* What a unit may cost, before anybody has examined the units in front of it: by their headers. Those of a
 * nested level are granted one by one, when all that was before has been delivered. What they really have
 * cost is asked at delivery. */
static void grant(const cv_scan *s, const cv_level *lv, cv_unit *u)
{
    bool nested = s->n_levels > 1;
    uint64_t before = nested ? s->budget.unpacked : u->unpacked - cv_min(u->unpacks, u->unpacked);
    uint64_t unpacked = cv_sat_add(before, u->unpacks);
    uint64_t most = cv_budget_work_most(&s->budget, unpacked);

    if (lv->ended)
        return;
    if (s->opt.depth != CUVET_DEPTH_FULL)
        u->unpacks = 0; /* nothing is */
    else if (unpacked > s->budget.unpacked_most)
        u->skip_payload = true; /* delivery says so, here or earlier */
    u->work_most = cv_max(nested ? most - cv_min(most, s->budget.work) : most, 1);
    u->skip_payload = u->skip_payload || s->budget.over;
}

/* A unit is large: kept out of the frame of fill(). */
static CV_MUST __attribute__((noinline)) bool add_unit(cv_scan *s, cv_level *lv)
{
    cv_unit u = { 0 };

    lv->end = cv_walk_next(&lv->x, &lv->walk, &u);
    lv->ended = lv->end != CUVET_OK;
    grant(s, lv, &u);
    return lv->ended || cv_units_push(&lv->x.mem, &lv->units, u);
}

static void forget_batch(cv_level *lv)
{
    free_results(lv);
    cv_units_clear(&lv->units);
    cv_diags_clear(&lv->diags);
    cv_u64s_clear(&lv->before);
    cv_walk_forget(&lv->walk);
    lv->next_unit = lv->next_diag = 0;
}

static bool kept_too_little(const cv_level *lv)
{
    return lv->lost || lv->walk.claims.failed;
}

/* Walk on until a batch of units is there, then examine it. */
static cuvet_status fill(cv_scan *s, cv_level *lv)
{
    /* One after the other where each has to know what the ones before it have cost. */
    uint64_t want = s->workers.n > 1 && s->n_levels == 1 && !s->budget.over ? lv->batch : 1;

    forget_batch(lv);
    while (!lv->ended && lv->units.n < want) {
        if (!add_unit(s, lv))
            return no_memory(s, &lv->x.mem);
    }
    /* The first batches are small: they tell which rules a damaged file has had enough of. */
    lv->batch = cv_min(lv->batch * 4, CV_SCAN_BATCH);
    if (!empty_results(lv))
        return no_memory(s, &lv->x.mem);
    if (lv->units.n)
        cv_scan_examine(s, lv, 0, lv->units.n, true);
    return kept_too_little(lv) ? no_memory(s, &lv->x.mem) : CUVET_OK;
}

/* One more unit with its result. *kept counts what results hold on to. */
static cuvet_status step_ahead(cv_scan *s, cv_level *lv, uint64_t *diags, uint64_t *ident, uint64_t *work)
{
    uint64_t n = lv->units.n;
    const cv_result *r;

    if (!add_unit(s, lv) || !empty_results(lv) || kept_too_little(lv))
        return cv_mem_status(&lv->x.mem);
    if (lv->units.n == n)
        return CUVET_OK;
    cv_scan_examine(s, lv, n, n + 1, false);
    r = cv_results_at(&lv->results, n);
    *diags += r->diags.n;
    *ident += r->ident.n;
    *work += r->work;
    return r->has_live || r->live_said ? CUVET_E_LIMIT : r->status;
}

cuvet_status cv_scan_ahead(cv_scan *s)
{
    cv_level *lv;
    uint64_t diags = 0, ident = 0, work = 0;
    cuvet_status st = CUVET_OK;

    if (s->begun || s->ahead)
        return CUVET_E_STATE;
    s->ahead = true;
    lv = top_level(s);
    while (st == CUVET_OK && !lv->ended && lv->units.n < CV_SCAN_AHEAD_UNITS && diags < CV_SCAN_AHEAD_DIAGS &&
           ident < CV_SCAN_AHEAD_IDENT && work < cv_budget_work_most(&s->budget, 0))
        st = step_ahead(s, lv, &diags, &ident, &work);
    /* What is kept is small; what was needed to make it is not. */
    cv_worker_free(*cv_workers_at(&s->workers, 0));
    if (lv->ended)
        cv_window_free(&lv->x, &lv->walk.window);
    cv_islands_drop(); /* of this thread */
    if (st != CUVET_OK) {
        forget_batch(lv);
        lv->ended = true;
        lv->end = st; /* whoever goes on all the same hears it again */
    }
    return lv->ended ? lv->end : CUVET_OK;
}

static void deliver_walk_diags(cv_scan *s, cv_level *lv)
{
    for (; lv->next_diag < lv->diags.n && *cv_u64s_at(&lv->before, lv->next_diag) <= lv->next_unit;
         lv->next_diag++) {
        const cuvet_diag *d = cv_diags_at(&lv->diags, lv->next_diag);

        (*CV_ARRAY_AT(lv->sent, d->severity))++;
        s->sum.errors += d->severity == CUVET_ERROR;
        s->sum.warnings += d->severity == CUVET_WARNING;
        s->sum.notes += d->severity == CUVET_NOTE;
        raise_verdict(s, cuvet_diag_verdict(d));
        deliver_diag(s, d);
    }
}

static void deliver_claims(cv_scan *s, const cv_level *lv, cv_ledger *l, const cuvet_path *where, bool inner)
{
    for (uint64_t i = 0; s->opt.claim && i < l->claims.n; i++) {
        const cv_claim *c = cv_claims_at(&l->claims, i);
        cuvet_claim_info info = { .size = sizeof(info),
                                  .inner = inner,
                                  .off = c->off,
                                  .length = c->len,
                                  .index = c->index,
                                  .shared = c->shared || lv->owned,
                                  .owner = cv_claim_name((cv_claim_kind)c->kind) };

        info.where = *where;
        s->opt.claim(s->opt.claim_user, &info);
    }
    cv_claims_clear(&l->claims);
}

static void count_item(cv_scan *s, const cv_result *r)
{
    const cuvet_item *i = &r->item;

    s->sum.elf += i->kind == CUVET_K_CUBIN;
    s->sum.ptx += i->kind == CUVET_K_PTX;
    s->sum.ltoir += i->kind == CUVET_K_LTOIR;
    s->sum.bitcode += i->kind == CUVET_K_BITCODE;
    s->sum.other += i->kind != CUVET_K_CUBIN && i->kind != CUVET_K_PTX && i->kind != CUVET_K_LTOIR &&
                    i->kind != CUVET_K_BITCODE;
    s->sum.members += i->in_container;
    s->sum.images += !i->in_container;
    s->sum.stored += i->stored_size;
    s->sum.unpacked += r->payload.len;
    s->sum.opaque += !i->examined && s->opt.depth == CUVET_DEPTH_FULL;
    s->sum.errors += i->errors;
    s->sum.warnings += i->warnings;
    s->sum.notes += r->n_notes;
    s->sum.suppressed += r->suppressed;
}

static void count_rules(cv_scan *s, const cv_result *r)
{
    for (uint64_t i = 0; r->suppressed == 0 && i < r->diags.n; i++)
        add_total(s, cv_diags_get(&r->diags, i)->rule, 1);
    for (uint64_t i = 0; i < r->totals.n; i++)
        add_total(s, cv_keys_get(&r->totals, i)->key, cv_keys_get(&r->totals, i)->index);
    if (r->has_live)
        add_total(s, r->live.rule, 1);
}

/* Work of the walk up to a unit, which does not depend on how far it is ahead. */
static void charge_walk(cv_scan *s, cv_level *lv, uint64_t so_far)
{
    cv_budget_charge(&s->budget, 0, so_far - cv_min(lv->walk_work, so_far));
    lv->walk_work = cv_max(lv->walk_work, so_far);
}

/* The budget is used up: said once, at the first piece that is not examined any more. */
static CV_MUST bool can_afford(cv_scan *s, const cv_level *lv, const cuvet_path *where, uint64_t off,
                               uint64_t bytes)
{
    cuvet_diag d = { .file_off = lv->x.inner ? lv->x.anchor : off,
                     .inner = lv->x.inner,
                     .inner_off = lv->x.inner ? off : 0 };
    cv_rule rule;

    if (!s->budget.over && !cv_budget_fits(&s->budget, bytes, &rule, &d.got, &d.want)) {
        s->budget.over = true;
        d.rule = rule;
        d.where = *where;
        report_now(s, &d);
    }
    return !s->budget.over;
}

/* Examine what nobody has examined, because the threads ran out of work, and throw away what was examined
 * ahead of a piece that used up the budget. The outcome is that of one thread, unit after unit. */
static cv_result *settle(cv_scan *s, cv_level *lv)
{
    cv_unit *u = cv_units_at(&lv->units, lv->next_unit);
    cv_result *r = cv_results_at(&lv->results, lv->next_unit);
    bool fits;

    charge_walk(s, lv, u->walk_work);
    fits =
        can_afford(s, lv, &u->path,
                   u->kind == CV_UNIT_MEMBER ? u->off + CV_FB_AT_MEMBER_UNPACKED_SIZE : u->off, u->unpacks);
    if (!fits && !u->skip_payload) {
        u->skip_payload = true;
        cv_result_free(r);
    }
    if (!r->mem)
        cv_scan_examine(s, lv, lv->next_unit, lv->next_unit + 1, false);
    cv_budget_charge(&s->budget, fits ? u->unpacks : 0, r->work);
    return r;
}

static void deliver_unit(cv_scan *s, cv_level *lv, cuvet_item *out)
{
    const cv_unit *u = cv_units_at(&lv->units, lv->next_unit);
    cv_result *r = settle(s, lv);
    const cuvet_path *holder = &lv->from.item.where; /* whose content this level is; the file: empty */

    lv->next_unit++;
    deliver_claims(s, lv, &lv->walk.claims, holder, lv->x.inner);
    deliver_claims(s, lv, &r->file, lv->x.inner ? holder : &r->item.where, lv->x.inner);
    deliver_claims(s, lv, &r->inner, &r->item.where, true);
    for (uint64_t i = 0; i < r->diags.n; i++)
        deliver_diag(s, cv_diags_at(&r->diags, i));
    if (r->has_live)
        deliver_diag(s, &r->live);
    raise_verdict(s, r->verdict);
    count_item(s, r);
    count_rules(s, r);
    *out = r->item;
    if (u->ar_name_len && u->ar_name_len <= lv->walk.names.n - cv_min(u->ar_name, lv->walk.names.n)) {
        out->ar_name = (const char *)cv_u8s_at(&lv->walk.names, u->ar_name);
        out->ar_name_len = (size_t)u->ar_name_len;
    }
    s->current = r;
    s->push_nested = r->nested;
}

/* The content of a unit that was delivered: the same examination, this time to keep its bytes. What it finds
 * was said before. */
static cuvet_status unpack_again(cv_scan *s, cv_level *lv, cv_result *r, cuvet_source *src)
{
    cv_examine_options opt = {
        .depth = s->opt.depth, .take = true, .inner = lv->x.inner, .anchor = lv->x.anchor
    };
    cv_result *again = cv_mem_get(&s->mem, sizeof(*again));
    cuvet_status st;

    if (!again)
        return no_memory(s, &s->mem);
    cv_examine(*cv_workers_at(&s->workers, 0), &lv->src, cv_units_at(&lv->units, lv->next_unit - 1), &opt,
               again);
    cv_budget_charge(&s->budget, 0, again->work);
    st = again->status;
    if (st == CUVET_OK && again->content.span.len < r->nested_off + r->nested_len)
        st = CUVET_E_IO; /* it was unpacked before: the source has changed */
    if (st == CUVET_OK)
        *src = cv_source_memory(again->content.span.base, again->content.span.len);
    if (st == CUVET_OK) {
        again->claimed = r->claimed;
        cv_result_free(r);
        cv_result_move(r, again);
    } else {
        cv_result_free(again);
    }
    cv_mem_put(&s->mem, again, sizeof(*again));
    return st;
}

/* The unit delivered last holds a container: its content becomes a level. */
static cuvet_status push_nested(cv_scan *s)
{
    cv_level *lv = top_level(s);
    cv_result *r = cv_results_at(&lv->results, lv->next_unit - 1);
    cuvet_source src = lv->src;
    cuvet_status st;

    s->push_nested = false;
    if (s->n_levels > s->lim.nesting || s->n_levels >= CV_SCAN_LEVELS) {
        cuvet_diag d = { .rule = CV_R_LIMIT_NESTING,
                         .file_off = lv->x.inner ? lv->x.anchor : r->item.payload_off,
                         .inner = lv->x.inner,
                         .inner_off = lv->x.inner ? r->item.payload_off : 0,
                         .got = s->n_levels,
                         .want = s->lim.nesting,
                         .where = r->item.where };

        report_now(s, &d);
        return CUVET_OK;
    }
    /* Its bytes are unpacked, or walked, once more. */
    if (!can_afford(s, lv, &r->item.where, r->item.payload_off, cv_sat_add(r->nested_off, r->nested_len)))
        return CUVET_OK;
    cv_budget_charge(&s->budget, cv_sat_add(r->nested_off, r->nested_len), 0);
    st = CUVET_OK;
    if (r->nested_inner)
        st = unpack_again(s, lv, r, &src);
    return st == CUVET_OK ? open_level(s, &src, r) : st;
}

static uint64_t count_suppressed(cv_scan *s, const cv_level *lv)
{
    uint64_t notes = lv->x.n_notes - CV_ARRAY_GET(lv->sent, CUVET_NOTE);
    uint64_t warnings = lv->x.n_warnings - CV_ARRAY_GET(lv->sent, CUVET_WARNING);
    uint64_t errors = lv->x.n_errors - CV_ARRAY_GET(lv->sent, CUVET_ERROR);

    s->sum.notes += notes;
    s->sum.warnings += warnings;
    s->sum.errors += errors;
    return notes + warnings + errors;
}

static void end_level(cv_scan *s, cv_level *lv)
{
    deliver_claims(s, lv, &lv->walk.claims, &lv->from.item.where, lv->x.inner);
    /* What the walk reported above its own cap was only counted. */
    s->sum.suppressed += count_suppressed(s, lv);
    for (uint32_t i = 0; i < CV_N_RULES; i++)
        add_total(s, i, CV_ARRAY_GET(lv->x.seen, i));
    raise_verdict(s, lv->x.verdict);
    charge_walk(s, lv, cv_ctx_spent(&lv->x));
    s->sum.containers += lv->walk.n_containers;
    s->sum.unreferenced += lv->walk.n_unreferenced;
    s->sum.gap_bytes += lv->walk.gap_bytes;
}

cuvet_status cv_scan_next(cv_scan *s, cuvet_item *out)
{
    cuvet_status st = CUVET_OK;

    s->current = NULL;
    s->begun = true;
    cv_islands_drop();
    while (!s->over && st == CUVET_OK) {
        cv_level *lv = top_level(s);

        if (s->push_nested) {
            st = push_nested(s);
            continue;
        }
        deliver_walk_diags(s, lv);
        if (lv->next_unit < lv->units.n) {
            deliver_unit(s, lv, out);
            st = s->current->status;
            if (st == CUVET_OK)
                return CUVET_OK;
        } else if (!lv->ended) {
            st = fill(s, lv);
        } else {
            cuvet_status end = lv->end;

            if (end == CUVET_END && cv_source_unchanged(&lv->x, &lv->src, &lv->state) != CUVET_OK)
                end = CUVET_E_IO;
            deliver_walk_diags(s, lv);
            end_level(s, lv);
            s->over = s->n_levels == 1 || end != CUVET_END;
            st = end;
            if (s->n_levels > 1) {
                s->n_levels--;
                close_level(s, lv);
                st = end == CUVET_END ? CUVET_OK : end;
            }
        }
    }
    s->over = true;
    if (st != CUVET_OK && st != CUVET_END)
        raise_verdict(s, st == CUVET_E_LIMIT ? CUVET_V_LIMIT : CUVET_V_ERROR);
    return st == CUVET_OK ? CUVET_END : st;
}

cv_span cv_scan_payload(const cv_scan *s)
{
    return s->current && s->workers.n <= 1 && !s->ahead && s->current->item.examined ? s->current->payload
                                                                                     : (cv_span){ 0 };
}

uint64_t cv_scan_peak(const cv_scan *s)
{
    uint64_t peak = s->mem.peak + s->closed_peak;

    for (uint32_t i = 0; i < s->n_levels; i++)
        peak += CV_ARRAY_GET(s->level, i)->x.mem.peak;
    for (uint64_t i = 0; i < s->workers.n; i++)
        peak += (*cv_workers_get(&s->workers, i))->x.mem.peak;
    return peak;
}

void cv_scan_close(cv_scan *s)
{
    while (s->n_levels) {
        cv_level *lv = top_level(s);

        s->n_levels--;
        close_level(s, lv);
    }
    for (uint64_t i = 0; i < s->workers.n; i++) {
        cv_worker *w = *cv_workers_at(&s->workers, i);

        cv_worker_free(w);
        cv_mem_put(&s->mem, w, sizeof(*w));
    }
    cv_workers_free(&s->mem, &s->workers);
    cv_islands_drop();
}
