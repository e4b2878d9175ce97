/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "scan/parts.h"

static void deliver_diag(cv_scan *scan, const cuvet_diag *diag)
{
    uint32_t *seen = CV_ARRAY_AT(scan->seen, diag->rule);

    if ((*seen)++ < scan->lim.diagnostics)
        scan->emit(scan->emit_user, diag);
    else
        scan->sum.suppressed++;
}

static void raise_verdict(cv_scan *scan, cuvet_verdict verdict)
{
    if (verdict > scan->sum.verdict)
        scan->sum.verdict = verdict;
}

static void add_total(cv_scan *scan, uint64_t rule, uint64_t count)
{
    uint64_t *total = CV_ARRAY_AT(scan->total, rule);

    *total = cv_sat_add(*total, count);
}

/* A limit that the scan itself met: an error that belongs exactly here in the order. */
static void report_now(cv_scan *scan, cuvet_diag *diag)
{
    diag->severity = CUVET_ERROR;
    scan->sum.errors++;
    raise_verdict(scan, CUVET_V_LIMIT);
    add_total(scan, diag->rule, 1);
    deliver_diag(scan, diag);
}

cuvet_status cv_scan_no_memory(cv_scan *scan, const cv_mem *mem)
{
    cuvet_diag diag = { .rule = CV_R_LIMIT_LIVE, .got = mem->live, .want = mem->limit };

    if (cv_mem_status(mem) != CUVET_E_LIMIT)
        return CUVET_E_NOMEM;
    report_now(scan, &diag);
    return CUVET_E_LIMIT;
}

static cuvet_status open_workers(cv_scan *scan)
{
    uint64_t count = cv_min(cv_max(scan->opt.jobs, 1), CV_SCAN_JOBS_MAX);

    for (uint64_t i = 0; i < count; i++) {
        cv_worker *worker = cv_mem_get_raw(&scan->mem, sizeof(*worker));

        if (!worker || !cv_workers_push(&scan->mem, &scan->workers, worker)) {
            cuvet_status st = cv_scan_no_memory(scan, &scan->mem);

            cv_mem_put(&scan->mem, worker, sizeof(*worker));
            return st;
        }
        cv_worker_init(worker, &scan->alloc, &scan->lim);
    }
    return CUVET_OK;
}

cuvet_status cv_scan_open(cv_scan *scan, const cuvet_alloc *alloc, const cuvet_limits *lim,
                          const cuvet_source *src, const cuvet_scan_options *opt, cv_emit_fn *emit,
                          void *emit_user)
{
    cuvet_status st;

    *scan = (cv_scan){ .alloc = *alloc, .lim = *lim, .opt = *opt, .emit = emit, .emit_user = emit_user };
    cv_budget_open(&scan->budget, lim, src->length);
    scan->admit =
        (cv_admit_for){ .target = opt->target, .toolkit = CV_ADMIT_TOOLKIT, .execute = opt->target.sm == 0 };
    cv_mem_init(&scan->mem, alloc, lim->live);
    st = open_workers(scan);
    if (st == CUVET_OK)
        st = cv_scan_open_level(scan, src, NULL);
    if (st == CUVET_OK && src->length > lim->input) {
        cv_level *lv = cv_scan_top(scan);

        /* The scan exists; its verdict is the limit. */
        cv_report(&lv->ctx, CV_R_LIMIT_INPUT, 0, 0, src->length, lim->input);
        lv->ended = true;
        lv->end = CUVET_END;
    }
    if (st != CUVET_OK)
        cv_scan_close(scan);
    return st;
}

/* One result for each unit, all zero. A result is large: only those that are used are cleared. */
static CV_MUST bool empty_results(cv_level *lv)
{
    static const cv_result NONE;

    if (!cv_results_room(&lv->ctx.mem, &lv->results, lv->units.count))
        return false;
    while (lv->results.count < lv->units.count) {
        lv->results.count++;
        *cv_results_at(&lv->results, lv->results.count - 1) = NONE;
    }
    return true;
}

/* What a unit may cost, before anybody has examined the units in front of it: by their headers. Those of a
 * nested level are granted one by one, when all that was before has been delivered. What they really have
 * cost is asked at delivery. */
static void grant(const cv_scan *scan, const cv_level *lv, cv_unit *unit)
{
    bool nested = scan->n_levels > 1;
    uint64_t before = nested ? scan->budget.unpacked : unit->unpacked - cv_min(unit->unpacks, unit->unpacked);
    uint64_t unpacked = cv_sat_add(before, unit->unpacks);
    uint64_t most = cv_budget_work_most(&scan->budget, unpacked);

    if (lv->ended)
        return;
    if (scan->opt.depth != CUVET_DEPTH_FULL)
        unit->unpacks = 0; /* nothing is */
    else if (unpacked > scan->budget.unpacked_most)
        unit->skip_payload = true; /* delivery says so, here or earlier */
    unit->work_most = cv_max(nested ? most - cv_min(most, scan->budget.work) : most, 1);
    unit->skip_payload = unit->skip_payload || scan->budget.over;
}

/* A unit is large: kept out of the frame of fill(). */
static CV_MUST __attribute__((noinline)) bool add_unit(cv_scan *scan, cv_level *lv)
{
    cv_unit unit = { 0 };

    lv->end = cv_walk_next(&lv->ctx, &lv->walk, &unit);
    lv->ended = lv->end != CUVET_OK;
    grant(scan, lv, &unit);
    return lv->ended || cv_units_push(&lv->ctx.mem, &lv->units, unit);
}

static void forget_batch(cv_level *lv)
{
    cv_scan_free_results(lv);
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

static bool is_half_listed(const cv_scan *scan, const cv_level *lv)
{
    return scan->link && lv->units.count < CV_SCAN_BATCH && cv_walk_is_inside(&lv->walk);
}

/* Walk on until a batch of units is there, then examine it. */
static cuvet_status fill(cv_scan *scan, cv_level *lv)
{
    /* One after the other where each has to know what the ones before it have cost. */
    uint64_t want = scan->workers.count > 1 && scan->n_levels == 1 && !scan->budget.over ? lv->batch : 1;

    forget_batch(lv);
    while (!lv->ended && (lv->units.count < want || is_half_listed(scan, lv))) {
        if (!add_unit(scan, lv))
            return cv_scan_no_memory(scan, &lv->ctx.mem);
    }
    /* The first batches are small: they tell which rules a damaged file has had enough of. */
    lv->batch = cv_min(lv->batch * 4, CV_SCAN_BATCH);
    if (!empty_results(lv))
        return cv_scan_no_memory(scan, &lv->ctx.mem);
    if (lv->units.count)
        cv_scan_examine(scan, lv, 0, lv->units.count, true);
    return kept_too_little(lv) ? cv_scan_no_memory(scan, &lv->ctx.mem) : CUVET_OK;
}

/* One more unit with its result. *kept counts what results hold on to. */
static cuvet_status step_ahead(cv_scan *scan, cv_level *lv, uint64_t *diags, uint64_t *ident, uint64_t *work)
{
    uint64_t count = lv->units.count;
    const cv_result *result;

    if (!add_unit(scan, lv) || !empty_results(lv) || kept_too_little(lv))
        return cv_mem_status(&lv->ctx.mem);
    if (lv->units.count == count)
        return CUVET_OK;
    cv_scan_examine(scan, lv, count, count + 1, false);
    result = cv_results_at(&lv->results, count);
    *diags += result->diags.count;
    *ident += result->ident.count;
    *work += result->work;
    return result->has_live || result->live_said ? CUVET_E_LIMIT : result->status;
}

cuvet_status cv_scan_ahead(cv_scan *scan)
{
    cv_level *lv;
    uint64_t diags = 0, ident = 0, work = 0;
    cuvet_status st = CUVET_OK;

    if (scan->begun || scan->ahead)
        return CUVET_E_STATE;
    scan->ahead = true;
    lv = cv_scan_top(scan);
    while (st == CUVET_OK && !lv->ended && lv->units.count < CV_SCAN_AHEAD_UNITS &&
           diags < CV_SCAN_AHEAD_DIAGS && ident < CV_SCAN_AHEAD_IDENT &&
           work < cv_budget_work_most(&scan->budget, 0))
        st = step_ahead(scan, lv, &diags, &ident, &work);
    /* What is kept is small; what was needed to make it is not. */
    cv_worker_free(*cv_workers_at(&scan->workers, 0));
    if (lv->ended)
        cv_window_free(&lv->ctx, &lv->walk.window);
    cv_islands_drop(); /* of this thread */
    if (st != CUVET_OK) {
        forget_batch(lv);
        lv->ended = true;
        lv->end = st; /* whoever goes on all the same hears it again */
    }
    return lv->ended ? lv->end : CUVET_OK;
}

static void deliver_walk_diags(cv_scan *scan, cv_level *lv)
{
    for (; lv->next_diag < lv->before.count && *cv_u64s_at(&lv->before, lv->next_diag) <= lv->next_unit;
         lv->next_diag++) {
        const cuvet_diag *diag = cv_diags_at(&lv->diags, lv->next_diag);

        (*CV_ARRAY_AT(lv->sent, diag->severity))++;
        scan->sum.errors += diag->severity == CUVET_ERROR;
        scan->sum.warnings += diag->severity == CUVET_WARNING;
        scan->sum.notes += diag->severity == CUVET_NOTE;
        raise_verdict(scan, cuvet_diag_verdict(diag));
        deliver_diag(scan, diag);
    }
}

static void deliver_claims(cv_scan *scan, const cv_level *lv, cv_ledger *ledger, const cuvet_path *where,
                           bool inner)
{
    for (uint64_t i = 0; scan->opt.claim && i < ledger->claims.count; i++) {
        const cv_claim *claim = cv_claims_at(&ledger->claims, i);
        cuvet_claim_info info = { .size = sizeof(info),
                                  .flags = (inner ? CUVET_CLAIM_INNER : 0) |
                                           (claim->shared || lv->owned ? CUVET_CLAIM_SHARED : 0),
                                  .off = claim->off,
                                  .length = claim->len,
                                  .index = claim->index,
                                  .owner = cv_claim_name((cv_claim_kind)claim->kind) };

        info.where = *where;
        scan->opt.claim(scan->opt.claim_user, &info);
    }
    cv_claims_clear(&ledger->claims);
}

static void count_item(cv_scan *scan, const cv_result *result)
{
    const cuvet_item *item = &result->item;

    scan->sum.elf += item->kind == CUVET_K_CUBIN;
    scan->sum.ptx += item->kind == CUVET_K_PTX;
    scan->sum.ltoir += item->kind == CUVET_K_LTOIR;
    scan->sum.bitcode += item->kind == CUVET_K_BITCODE;
    scan->sum.other += item->kind != CUVET_K_CUBIN && item->kind != CUVET_K_PTX &&
                       item->kind != CUVET_K_LTOIR && item->kind != CUVET_K_BITCODE;
    scan->sum.members += (item->flags & CUVET_ITEM_IN_CONTAINER) != 0;
    scan->sum.images += !(item->flags & CUVET_ITEM_IN_CONTAINER);
    scan->sum.stored += item->stored_size;
    scan->sum.unpacked += result->payload.len;
    scan->sum.opaque += !(item->flags & CUVET_ITEM_EXAMINED) && scan->opt.depth == CUVET_DEPTH_FULL;
    scan->sum.errors += item->errors;
    scan->sum.warnings += item->warnings;
    scan->sum.notes += result->n_notes;
    scan->sum.suppressed += result->suppressed;
}

static void count_rules(cv_scan *scan, const cv_result *result)
{
    for (uint64_t i = 0; result->suppressed == 0 && i < result->diags.count; i++)
        add_total(scan, cv_diags_get(&result->diags, i)->rule, 1);
    for (uint64_t i = 0; i < result->totals.count; i++)
        add_total(scan, cv_keys_get(&result->totals, i)->key, cv_keys_get(&result->totals, i)->index);
    if (result->has_live)
        add_total(scan, result->live.rule, 1);
}

/* Work of the walk up to a unit, which does not depend on how far it is ahead. */
static void charge_walk(cv_scan *scan, cv_level *lv, uint64_t so_far)
{
    cv_budget_charge(&scan->budget, 0, so_far - cv_min(lv->walk_work, so_far));
    lv->walk_work = cv_max(lv->walk_work, so_far);
}

/* The budget is used up: said once, at the first piece that is not examined any more. */
static CV_MUST bool can_afford(cv_scan *scan, const cv_level *lv, const cuvet_path *where, uint64_t off,
                               uint64_t bytes)
{
    cuvet_diag diag = { .file_off = lv->ctx.inner ? lv->ctx.anchor : off,
                        .flags = lv->ctx.inner ? CUVET_DIAG_INNER : 0,
                        .inner_off = lv->ctx.inner ? off : 0 };
    cv_rule rule;

    if (!scan->budget.over && !cv_budget_fits(&scan->budget, bytes, &rule, &diag.got, &diag.want)) {
        scan->budget.over = true;
        diag.rule = rule;
        diag.where = *where;
        report_now(scan, &diag);
    }
    return !scan->budget.over;
}

/* Examine what nobody has examined, because the threads ran out of work, and throw away what was examined
 * ahead of a piece that used up the budget. The outcome is that of one thread, unit after unit. */
static cv_result *settle(cv_scan *scan, cv_level *lv)
{
    cv_unit *unit = cv_units_at(&lv->units, lv->next_unit);
    cv_result *result = cv_results_at(&lv->results, lv->next_unit);
    bool fits;

    charge_walk(scan, lv, unit->walk_work);
    fits = can_afford(scan, lv, &unit->path,
                      cv_unit_is_member(unit) ? unit->off + CV_FB_AT_MEMBER_UNPACKED_SIZE : unit->off,
                      unit->unpacks);
    if (!fits && !unit->skip_payload) {
        unit->skip_payload = true;
        cv_result_free(result);
    }
    if (!result->mem)
        cv_scan_examine(scan, lv, lv->next_unit, lv->next_unit + 1, false);
    cv_budget_charge(&scan->budget, fits ? unit->unpacks : 0, result->work);
    return result;
}

static void deliver_unit(cv_scan *scan, cv_level *lv, cuvet_item *out)
{
    const cv_unit *unit = cv_units_at(&lv->units, lv->next_unit);
    cv_result *result = settle(scan, lv);
    const cuvet_path *holder = &lv->from.item.where; /* whose content this level is; the file: empty */

    lv->next_unit++;
    deliver_claims(scan, lv, &lv->walk.claims, holder, lv->ctx.inner);
    deliver_claims(scan, lv, &result->file, lv->ctx.inner ? holder : &result->item.where, lv->ctx.inner);
    deliver_claims(scan, lv, &result->inner, &result->item.where, true);
    for (uint64_t i = 0; i < result->diags.count; i++)
        deliver_diag(scan, cv_diags_at(&result->diags, i));
    if (result->has_live)
        deliver_diag(scan, &result->live);
    raise_verdict(scan, result->verdict);
    count_item(scan, result);
    count_rules(scan, result);
    *out = result->item;
    if (unit->ar_name_len &&
        unit->ar_name_len <= lv->walk.names.count - cv_min(unit->ar_name, lv->walk.names.count)) {
        out->ar_name = (const char *)cv_u8s_at(&lv->walk.names, unit->ar_name);
        out->ar_name_len = (size_t)unit->ar_name_len;
    }
    scan->current = result;
    lv->push_area = result->area;
    lv->push_nested = result->nested;
}

/* The content of a unit that was delivered: the same examination, this time to keep its bytes. What it finds
 * was said before. */
static cuvet_status unpack_again(cv_scan *scan, cv_level *lv, cv_result *result, cuvet_source *src)
{
    cv_examine_options opt = {
        .depth = scan->opt.depth, .take = true, .inner = lv->ctx.inner, .anchor = lv->ctx.anchor
    };
    cv_result *again = cv_mem_get(&scan->mem, sizeof(*again));
    cuvet_status st;

    if (!again)
        return cv_scan_no_memory(scan, &scan->mem);
    cv_examine(*cv_workers_at(&scan->workers, 0), &lv->src, cv_units_at(&lv->units, lv->next_unit - 1), &opt,
               again);
    cv_budget_charge(&scan->budget, 0, again->work);
    st = again->status;
    if (st == CUVET_OK && again->content.span.len < result->nested_off + result->nested_len)
        st = CUVET_E_IO; /* it was unpacked before: the source has changed */
    if (st == CUVET_OK)
        *src = cv_source_memory(again->content.span.base, again->content.span.len);
    if (st == CUVET_OK) {
        again->claimed = result->claimed;
        cv_result_free(result);
        cv_result_move(result, again);
    } else {
        cv_result_free(again);
    }
    cv_mem_put(&scan->mem, again, sizeof(*again));
    return st;
}

/* Is there room for one more level, and may 'bytes' be walked once more? Said where not. */
static CV_MUST bool may_push(cv_scan *scan, const cv_level *lv, const cv_result *result, uint64_t bytes)
{
    if (scan->n_levels > scan->lim.nesting || scan->n_levels >= CV_SCAN_LEVELS) {
        cuvet_diag diag = { .rule = CV_R_LIMIT_NESTING,
                            .file_off = lv->ctx.inner ? lv->ctx.anchor : result->item.payload_off,
                            .flags = lv->ctx.inner ? CUVET_DIAG_INNER : 0,
                            .inner_off = lv->ctx.inner ? result->item.payload_off : 0,
                            .got = scan->n_levels,
                            .want = scan->lim.nesting,
                            .where = result->item.where };

        report_now(scan, &diag);
        return false;
    }
    if (!can_afford(scan, lv, &result->item.where, result->item.payload_off, bytes))
        return false;
    cv_budget_charge(&scan->budget, bytes, 0);
    return true;
}

/* The unit delivered last holds device code in its header: from there to its end is a level. */
static cuvet_status push_area(cv_scan *scan)
{
    cv_level *lv = cv_scan_top(scan);
    const cv_unit *unit = cv_units_at(&lv->units, lv->next_unit - 1);
    const cv_result *result = cv_results_at(&lv->results, lv->next_unit - 1);
    uint64_t len = unit->header_size + unit->payload_size - result->area_off;
    cuvet_source src = lv->src;
    cuvet_status st;
    cv_result *part;

    lv->push_area = false;
    if (!may_push(scan, lv, result, len))
        return CUVET_OK;
    part = cv_mem_get(&scan->mem, sizeof(*part));
    if (!part)
        return cv_scan_no_memory(scan, &scan->mem);
    part->item.where = result->item.where;
    part->item.payload_off = unit->off + result->area_off;
    part->nested_len = len;
    st = cv_scan_open_level(scan, &src, part);
    cv_mem_put(&scan->mem, part, sizeof(*part));
    return st;
}

/* The unit delivered last holds a container: its content becomes a level. */
static cuvet_status push_nested(cv_scan *scan)
{
    cv_level *lv = cv_scan_top(scan);
    cv_result *result = cv_results_at(&lv->results, lv->next_unit - 1);
    cuvet_source src = lv->src;
    cuvet_status st;

    lv->push_nested = false;
    /* Its bytes are unpacked, or walked, once more. */
    if (!may_push(scan, lv, result, cv_sat_add(result->nested_off, result->nested_len)))
        return CUVET_OK;
    st = CUVET_OK;
    if (result->nested_inner)
        st = unpack_again(scan, lv, result, &src);
    return st == CUVET_OK ? cv_scan_open_level(scan, &src, result) : st;
}

static uint64_t count_suppressed(cv_scan *scan, const cv_level *lv)
{
    uint64_t notes = lv->ctx.n_notes - CV_ARRAY_GET(lv->sent, CUVET_NOTE);
    uint64_t warnings = lv->ctx.n_warnings - CV_ARRAY_GET(lv->sent, CUVET_WARNING);
    uint64_t errors = lv->ctx.n_errors - CV_ARRAY_GET(lv->sent, CUVET_ERROR);

    scan->sum.notes += notes;
    scan->sum.warnings += warnings;
    scan->sum.errors += errors;
    return notes + warnings + errors;
}

static void end_level(cv_scan *scan, cv_level *lv)
{
    deliver_claims(scan, lv, &lv->walk.claims, &lv->from.item.where, lv->ctx.inner);
    /* What the walk reported above its own cap was only counted. */
    scan->sum.suppressed += count_suppressed(scan, lv);
    for (uint32_t i = 0; i < CV_N_RULES; i++)
        add_total(scan, i, CV_ARRAY_GET(lv->ctx.seen, i));
    raise_verdict(scan, lv->ctx.verdict);
    charge_walk(scan, lv, cv_ctx_spent(&lv->ctx));
    scan->sum.containers += lv->walk.n_containers;
    scan->sum.unreferenced += lv->walk.n_unreferenced;
    scan->sum.gap_bytes += lv->walk.gap_bytes;
}

/* All of it was delivered. @return OK: the level around it goes on */
static cuvet_status leave_level(cv_scan *scan, cv_level *lv)
{
    cuvet_status end = lv->end;

    if (end == CUVET_END && cv_source_unchanged(&lv->ctx, &lv->src, &lv->state) != CUVET_OK)
        end = CUVET_E_IO;
    deliver_walk_diags(scan, lv);
    end_level(scan, lv);
    scan->over = scan->n_levels == 1 || end != CUVET_END;
    if (scan->n_levels == 1)
        return end;
    scan->n_levels--;
    cv_scan_close_level(scan, lv);
    return end == CUVET_END ? CUVET_OK : end;
}

cuvet_status cv_scan_next(cv_scan *scan, cuvet_item *out)
{
    cuvet_status st = CUVET_OK;

    scan->current = NULL;
    scan->begun = true;
    cv_islands_drop();
    while (!scan->over && st == CUVET_OK) {
        cv_level *lv = cv_scan_top(scan);

        if (lv->push_area || lv->push_nested) {
            st = lv->push_area ? push_area(scan) : push_nested(scan);
            continue;
        }
        deliver_walk_diags(scan, lv);
        if (lv->next_unit < lv->units.count) {
            deliver_unit(scan, lv, out);
            st = scan->current->status;
            if (st == CUVET_OK)
                return CUVET_OK;
        } else if (!lv->ended) {
            st = fill(scan, lv);
        } else {
            st = leave_level(scan, lv);
        }
    }
    scan->over = true;
    if (st != CUVET_OK && st != CUVET_END)
        raise_verdict(scan, st == CUVET_E_LIMIT ? CUVET_V_LIMIT : CUVET_V_ERROR);
    return st == CUVET_OK ? CUVET_END : st;
}

cv_span cv_scan_payload(const cv_scan *scan)
{
    return scan->current && scan->workers.count <= 1 && !scan->ahead &&
                   (scan->current->item.flags & CUVET_ITEM_EXAMINED) != 0
               ? scan->current->payload
               : (cv_span){ 0 };
}

uint64_t cv_scan_peak(const cv_scan *scan)
{
    uint64_t peak = scan->mem.peak + scan->closed_peak;

    for (uint32_t i = 0; i < scan->n_levels; i++)
        peak += CV_ARRAY_GET(scan->level, i)->ctx.mem.peak;
    for (uint64_t i = 0; i < scan->workers.count; i++)
        peak += (*cv_workers_get(&scan->workers, i))->ctx.mem.peak;
    return peak;
}

void cv_scan_close(cv_scan *scan)
{
    while (scan->n_levels) {
        cv_level *lv = cv_scan_top(scan);

        scan->n_levels--;
        cv_scan_close_level(scan, lv);
    }
    for (uint64_t i = 0; i < scan->workers.count; i++) {
        cv_worker *worker = *cv_workers_at(&scan->workers, i);

        cv_worker_free(worker);
        cv_mem_put(&scan->mem, worker, sizeof(*worker));
    }
    cv_workers_free(&scan->mem, &scan->workers);
    cv_islands_drop();
}
