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
            cuvet_status status = cv_scan_no_memory(scan, &scan->mem);

            cv_mem_put(&scan->mem, worker, sizeof(*worker));
            return status;
        }
        cv_worker_init(worker, &scan->alloc, &scan->lim);
    }
    return CUVET_OK;
}

cuvet_status cv_scan_open(cv_scan *scan, const cuvet_alloc *alloc, const cuvet_limits *lim,
                          const cuvet_source *src, const cuvet_scan_options *opt, cv_emit_fn *emit,
                          void *emit_user)
{
    cuvet_status status;

    *scan = (cv_scan){ .alloc = *alloc, .lim = *lim, .opt = *opt, .emit = emit, .emit_user = emit_user };
    cv_budget_open(&scan->budget, lim, src->length);
    scan->admit =
        (cv_admit_for){ .target = opt->target, .toolkit = CV_ADMIT_TOOLKIT, .execute = opt->target.sm == 0 };
    cv_mem_init(&scan->mem, alloc, lim->live);
    status = open_workers(scan);
    if (status == CUVET_OK)
        status = cv_scan_open_level(scan, src, NULL);
    if (status == CUVET_OK && src->length > lim->input) {
        cv_level *level = cv_scan_top(scan);

        /* The scan exists; its verdict is the limit. */
        cv_report(&level->ctx, CV_R_LIMIT_INPUT, 0, 0, src->length, lim->input);
        level->ended = true;
        level->end = CUVET_END;
    }
    if (status != CUVET_OK)
        cv_scan_close(scan);
    return status;
}

/* One result for each unit, all zero. A result is large: only those that are used are cleared. */
static CV_MUST bool empty_results(cv_level *level)
{
    static const cv_result NONE;

    if (!cv_results_room(&level->ctx.mem, &level->results, level->units.count))
        return false;
    while (level->results.count < level->units.count) {
        level->results.count++;
        *cv_results_at(&level->results, level->results.count - 1) = NONE;
    }
    return true;
}

/* What a unit may cost, before anybody has examined the units in front of it: by their headers. Those of a
 * nested level are granted one by one, when all that was before has been delivered. What they really have
 * cost is asked at delivery. */
static void grant_unit(const cv_scan *scan, const cv_level *level, cv_unit *unit)
{
    bool nested = scan->n_levels > 1;
    uint64_t before = nested ? scan->budget.unpacked : unit->unpacked - cv_min(unit->unpacks, unit->unpacked);
    uint64_t unpacked = cv_sat_add(before, unit->unpacks);
    uint64_t most = cv_budget_work_most(&scan->budget, unpacked);

    if (level->ended)
        return;
    if (scan->opt.depth != CUVET_DEPTH_FULL)
        unit->unpacks = 0; /* nothing is */
    else if (unpacked > scan->budget.unpacked_most)
        unit->skip_payload = true; /* delivery says so, here or earlier */
    unit->work_most = cv_max(nested ? most - cv_min(most, scan->budget.work) : most, 1);
    unit->skip_payload = unit->skip_payload || scan->budget.over;
}

/* A unit is large: kept out of the frame of fill_batch(). */
static CV_MUST __attribute__((noinline)) bool add_unit(cv_scan *scan, cv_level *level)
{
    cv_unit unit = { 0 };

    level->end = cv_walk_next(&level->ctx, &level->walk, &unit);
    level->ended = level->end != CUVET_OK;
    grant_unit(scan, level, &unit);
    return level->ended || cv_units_push(&level->ctx.mem, &level->units, unit);
}

static void forget_batch(cv_level *level)
{
    cv_scan_free_results(level);
    cv_units_clear(&level->units);
    cv_diags_clear(&level->diags);
    cv_u64s_clear(&level->before);
    cv_walk_forget(&level->walk);
    level->next_unit = level->next_diag = 0;
}

static bool kept_too_little(const cv_level *level)
{
    return level->lost || level->walk.claims.failed;
}

static bool is_half_listed(const cv_scan *scan, const cv_level *level)
{
    return scan->link && level->units.count < CV_SCAN_BATCH && cv_walk_is_inside(&level->walk);
}

/* Walk on until a batch of units is there, then examine it. */
static cuvet_status fill_batch(cv_scan *scan, cv_level *level)
{
    /* One after the other where each has to know what the ones before it have cost. */
    uint64_t want = scan->workers.count > 1 && scan->n_levels == 1 && !scan->budget.over ? level->batch : 1;

    forget_batch(level);
    while (!level->ended && (level->units.count < want || is_half_listed(scan, level))) {
        if (!add_unit(scan, level))
            return cv_scan_no_memory(scan, &level->ctx.mem);
    }
    /* The first batches are small: they tell which rules a damaged file has had enough of. */
    level->batch = cv_min(level->batch * 4, CV_SCAN_BATCH);
    if (!empty_results(level))
        return cv_scan_no_memory(scan, &level->ctx.mem);
    if (level->units.count)
        cv_scan_examine(scan, level, 0, level->units.count, true);
    return kept_too_little(level) ? cv_scan_no_memory(scan, &level->ctx.mem) : CUVET_OK;
}

/* One more unit with its result. *kept counts what results hold on to. */
static cuvet_status step_ahead(cv_scan *scan, cv_level *level, uint64_t *diags, uint64_t *ident,
                               uint64_t *work)
{
    uint64_t count = level->units.count;
    const cv_result *result;

    if (!add_unit(scan, level) || !empty_results(level) || kept_too_little(level))
        return cv_mem_status(&level->ctx.mem);
    if (level->units.count == count)
        return CUVET_OK;
    cv_scan_examine(scan, level, count, count + 1, false);
    result = cv_results_at(&level->results, count);
    *diags += result->diags.count;
    *ident += result->ident.count;
    *work += result->work;
    return result->has_live || result->live_said ? CUVET_E_LIMIT : result->status;
}

cuvet_status cv_scan_ahead(cv_scan *scan)
{
    cv_level *level;
    uint64_t diags = 0, ident = 0, work = 0;
    cuvet_status status = CUVET_OK;

    if (scan->begun || scan->ahead)
        return CUVET_E_STATE;
    scan->ahead = true;
    level = cv_scan_top(scan);
    while (status == CUVET_OK && !level->ended && level->units.count < CV_SCAN_AHEAD_UNITS &&
           diags < CV_SCAN_AHEAD_DIAGS && ident < CV_SCAN_AHEAD_IDENT &&
           work < cv_budget_work_most(&scan->budget, 0))
        status = step_ahead(scan, level, &diags, &ident, &work);
    /* What is kept is small; what was needed to make it is not. */
    cv_worker_free(*cv_workers_at(&scan->workers, 0));
    if (level->ended)
        cv_window_free(&level->ctx, &level->walk.window);
    cv_islands_drop(); /* of this thread */
    if (status != CUVET_OK) {
        forget_batch(level);
        level->ended = true;
        level->end = status; /* whoever goes on all the same hears it again */
    }
    return level->ended ? level->end : CUVET_OK;
}

static void deliver_walk_diags(cv_scan *scan, cv_level *level)
{
    for (; level->next_diag < level->before.count &&
           *cv_u64s_at(&level->before, level->next_diag) <= level->next_unit;
         level->next_diag++) {
        const cuvet_diag *diag = cv_diags_at(&level->diags, level->next_diag);

        (*CV_ARRAY_AT(level->sent, diag->severity))++;
        scan->sum.errors += diag->severity == CUVET_ERROR;
        scan->sum.warnings += diag->severity == CUVET_WARNING;
        scan->sum.notes += diag->severity == CUVET_NOTE;
        raise_verdict(scan, cuvet_diag_verdict(diag));
        deliver_diag(scan, diag);
    }
}

static void deliver_claims(cv_scan *scan, const cv_level *level, cv_ledger *ledger, const cuvet_path *where,
                           bool inner)
{
    for (uint64_t i = 0; scan->opt.claim && i < ledger->claims.count; i++) {
        const cv_claim *claim = cv_claims_at(&ledger->claims, i);
        cuvet_claim_info info = { .size = sizeof(info),
                                  .flags = (inner ? CUVET_CLAIM_INNER : 0) |
                                           (claim->shared || level->owned ? CUVET_CLAIM_SHARED : 0),
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
static void charge_walk(cv_scan *scan, cv_level *level, uint64_t so_far)
{
    cv_budget_charge(&scan->budget, 0, so_far - cv_min(level->walk_work, so_far));
    level->walk_work = cv_max(level->walk_work, so_far);
}

/* The budget is used up: said once, at the first piece that is not examined any more. */
static CV_MUST bool can_afford(cv_scan *scan, const cv_level *level, const cuvet_path *where, uint64_t off,
                               uint64_t bytes)
{
    cuvet_diag diag = { .file_off = level->ctx.inner ? level->ctx.anchor : off,
                        .flags = level->ctx.inner ? CUVET_DIAG_INNER : 0,
                        .inner_off = level->ctx.inner ? off : 0 };
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
static cv_result *settle_unit(cv_scan *scan, cv_level *level)
{
    cv_unit *unit = cv_units_at(&level->units, level->next_unit);
    cv_result *result = cv_results_at(&level->results, level->next_unit);
    bool fits;

    charge_walk(scan, level, unit->walk_work);
    fits = can_afford(scan, level, &unit->path,
                      cv_unit_is_member(unit) ? unit->off + CV_FB_AT_MEMBER_UNPACKED_SIZE : unit->off,
                      unit->unpacks);
    if (!fits && !unit->skip_payload) {
        unit->skip_payload = true;
        cv_result_free(result);
    }
    if (!result->mem)
        cv_scan_examine(scan, level, level->next_unit, level->next_unit + 1, false);
    cv_budget_charge(&scan->budget, fits ? unit->unpacks : 0, result->work);
    return result;
}

static void deliver_unit(cv_scan *scan, cv_level *level, cuvet_item *out)
{
    const cv_unit *unit = cv_units_at(&level->units, level->next_unit);
    cv_result *result = settle_unit(scan, level);
    const cuvet_path *holder = &level->from.item.where; /* whose content this level is; the file: empty */

    level->next_unit++;
    deliver_claims(scan, level, &level->walk.claims, holder, level->ctx.inner);
    deliver_claims(scan, level, &result->file, level->ctx.inner ? holder : &result->item.where,
                   level->ctx.inner);
    deliver_claims(scan, level, &result->inner, &result->item.where, true);
    for (uint64_t i = 0; i < result->diags.count; i++)
        deliver_diag(scan, cv_diags_at(&result->diags, i));
    if (result->has_live)
        deliver_diag(scan, &result->live);
    raise_verdict(scan, result->verdict);
    count_item(scan, result);
    count_rules(scan, result);
    *out = result->item;
    if (unit->ar_name_len &&
        unit->ar_name_len <= level->walk.names.count - cv_min(unit->ar_name, level->walk.names.count)) {
        out->ar_name = (const char *)cv_u8s_at(&level->walk.names, unit->ar_name);
        out->ar_name_len = (size_t)unit->ar_name_len;
    }
    scan->current = result;
    level->push_area = result->area;
    level->push_nested = result->nested;
}

/* The content of a unit that was delivered: the same examination, this time to keep its bytes. What it finds
 * was said before. */
static cuvet_status unpack_again(cv_scan *scan, cv_level *level, cv_result *result, cuvet_source *src)
{
    cv_examine_options opt = {
        .depth = scan->opt.depth, .take = true, .inner = level->ctx.inner, .anchor = level->ctx.anchor
    };
    cv_result *again = cv_mem_get(&scan->mem, sizeof(*again));
    cuvet_status status;

    if (!again)
        return cv_scan_no_memory(scan, &scan->mem);
    cv_examine(*cv_workers_at(&scan->workers, 0), &level->src,
               cv_units_at(&level->units, level->next_unit - 1), &opt, again);
    cv_budget_charge(&scan->budget, 0, again->work);
    status = again->status;
    if (status == CUVET_OK && again->content.span.len < result->nested_off + result->nested_len)
        status = CUVET_E_IO; /* it was unpacked before: the source has changed */
    if (status == CUVET_OK)
        *src = cv_source_memory(again->content.span.base, again->content.span.len);
    if (status == CUVET_OK) {
        again->claimed = result->claimed;
        cv_result_free(result);
        cv_result_move(result, again);
    } else {
        cv_result_free(again);
    }
    cv_mem_put(&scan->mem, again, sizeof(*again));
    return status;
}

/* Is there room for one more level, and may 'bytes' be walked once more? Said where not. */
static CV_MUST bool may_push(cv_scan *scan, const cv_level *level, const cv_result *result, uint64_t bytes)
{
    if (scan->n_levels > scan->lim.nesting || scan->n_levels >= CV_SCAN_LEVELS) {
        cuvet_diag diag = { .rule = CV_R_LIMIT_NESTING,
                            .file_off = level->ctx.inner ? level->ctx.anchor : result->item.payload_off,
                            .flags = level->ctx.inner ? CUVET_DIAG_INNER : 0,
                            .inner_off = level->ctx.inner ? result->item.payload_off : 0,
                            .got = scan->n_levels,
                            .want = scan->lim.nesting,
                            .where = result->item.where };

        report_now(scan, &diag);
        return false;
    }
    if (!can_afford(scan, level, &result->item.where, result->item.payload_off, bytes))
        return false;
    cv_budget_charge(&scan->budget, bytes, 0);
    return true;
}

/* The unit delivered last holds device code in its header: from there to its end is a level. */
static cuvet_status push_area(cv_scan *scan)
{
    cv_level *level = cv_scan_top(scan);
    const cv_unit *unit = cv_units_at(&level->units, level->next_unit - 1);
    const cv_result *result = cv_results_at(&level->results, level->next_unit - 1);
    uint64_t len = unit->header_size + unit->payload_size - result->area_off;
    cuvet_source src = level->src;
    cuvet_status status;
    cv_result *part;

    level->push_area = false;
    if (!may_push(scan, level, result, len))
        return CUVET_OK;
    part = cv_mem_get(&scan->mem, sizeof(*part));
    if (!part)
        return cv_scan_no_memory(scan, &scan->mem);
    part->item.where = result->item.where;
    part->item.payload_off = unit->off + result->area_off;
    part->nested_len = len;
    status = cv_scan_open_level(scan, &src, part);
    cv_mem_put(&scan->mem, part, sizeof(*part));
    return status;
}

/* The unit delivered last holds a container: its content becomes a level. */
static cuvet_status push_nested(cv_scan *scan)
{
    cv_level *level = cv_scan_top(scan);
    cv_result *result = cv_results_at(&level->results, level->next_unit - 1);
    cuvet_source src = level->src;
    cuvet_status status;

    level->push_nested = false;
    /* Its bytes are unpacked, or walked, once more. */
    if (!may_push(scan, level, result, cv_sat_add(result->nested_off, result->nested_len)))
        return CUVET_OK;
    status = CUVET_OK;
    if (result->nested_inner)
        status = unpack_again(scan, level, result, &src);
    return status == CUVET_OK ? cv_scan_open_level(scan, &src, result) : status;
}

static uint64_t count_suppressed(cv_scan *scan, const cv_level *level)
{
    uint64_t notes = level->ctx.n_notes - CV_ARRAY_GET(level->sent, CUVET_NOTE);
    uint64_t warnings = level->ctx.n_warnings - CV_ARRAY_GET(level->sent, CUVET_WARNING);
    uint64_t errors = level->ctx.n_errors - CV_ARRAY_GET(level->sent, CUVET_ERROR);

    scan->sum.notes += notes;
    scan->sum.warnings += warnings;
    scan->sum.errors += errors;
    return notes + warnings + errors;
}

static void end_level(cv_scan *scan, cv_level *level)
{
    deliver_claims(scan, level, &level->walk.claims, &level->from.item.where, level->ctx.inner);
    /* What the walk reported above its own cap was only counted. */
    scan->sum.suppressed += count_suppressed(scan, level);
    for (uint32_t i = 0; i < CV_N_RULES; i++)
        add_total(scan, i, CV_ARRAY_GET(level->ctx.seen, i));
    raise_verdict(scan, level->ctx.verdict);
    charge_walk(scan, level, cv_ctx_spent(&level->ctx));
    scan->sum.containers += level->walk.n_containers;
    scan->sum.unreferenced += level->walk.n_unreferenced;
    scan->sum.gap_bytes += level->walk.gap_bytes;
}

/* All of it was delivered. @return OK: the level around it goes on */
static cuvet_status leave_level(cv_scan *scan, cv_level *level)
{
    cuvet_status end = level->end;

    if (end == CUVET_END && cv_source_unchanged(&level->ctx, &level->src, &level->state) != CUVET_OK)
        end = CUVET_E_IO;
    deliver_walk_diags(scan, level);
    end_level(scan, level);
    scan->over = scan->n_levels == 1 || end != CUVET_END;
    if (scan->n_levels == 1)
        return end;
    scan->n_levels--;
    cv_scan_close_level(scan, level);
    return end == CUVET_END ? CUVET_OK : end;
}

cuvet_status cv_scan_next(cv_scan *scan, cuvet_item *out)
{
    cuvet_status status = CUVET_OK;

    scan->current = NULL;
    scan->begun = true;
    cv_islands_drop();
    while (!scan->over && status == CUVET_OK) {
        cv_level *level = cv_scan_top(scan);

        if (level->push_area || level->push_nested) {
            status = level->push_area ? push_area(scan) : push_nested(scan);
            continue;
        }
        deliver_walk_diags(scan, level);
        if (level->next_unit < level->units.count) {
            deliver_unit(scan, level, out);
            status = scan->current->status;
            if (status == CUVET_OK)
                return CUVET_OK;
        } else if (!level->ended) {
            status = fill_batch(scan, level);
        } else {
            status = leave_level(scan, level);
        }
    }
    scan->over = true;
    if (status != CUVET_OK && status != CUVET_END)
        raise_verdict(scan, status == CUVET_E_LIMIT ? CUVET_V_LIMIT : CUVET_V_ERROR);
    return status == CUVET_OK ? CUVET_END : status;
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
        cv_level *level = cv_scan_top(scan);

        scan->n_levels--;
        cv_scan_close_level(scan, level);
    }
    for (uint64_t i = 0; i < scan->workers.count; i++) {
        cv_worker *worker = *cv_workers_at(&scan->workers, i);

        cv_worker_free(worker);
        cv_mem_put(&scan->mem, worker, sizeof(*worker));
    }
    cv_workers_free(&scan->mem, &scan->workers);
    cv_islands_drop();
}
