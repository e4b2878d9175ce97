/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One level of a scan: the file, or the content of a unit of the level below. */
#include "scan/parts.h"

static void keep_walk_diag(void *user, const cuvet_diag *diag)
{
    cv_level *lv = user;

    if (!cv_diags_push(&lv->ctx.mem, &lv->diags, *diag) ||
        !cv_u64s_push(&lv->ctx.mem, &lv->before, lv->units.count))
        lv->lost = true;
}

void cv_scan_free_results(cv_level *lv)
{
    for (uint64_t i = 0; i < lv->results.count; i++)
        cv_result_free(cv_results_at(&lv->results, i));
    cv_results_clear(&lv->results);
}

void cv_scan_close_level(cv_scan *scan, cv_level *lv)
{
    cv_scan_free_results(lv);
    cv_walk_close(&lv->ctx, &lv->walk);
    cv_results_free(&lv->ctx.mem, &lv->results);
    cv_units_free(&lv->ctx.mem, &lv->units);
    cv_diags_free(&lv->ctx.mem, &lv->diags);
    cv_u64s_free(&lv->ctx.mem, &lv->before);
    cv_result_free(&lv->from);
    scan->closed_peak = cv_max(scan->closed_peak, lv->ctx.mem.peak);
    cv_mem_put(&scan->mem, lv, sizeof(*lv));
}

/* Where the bytes of a nested container are, and in which count of offsets. */
static void take_place(const cv_scan *scan, cv_level *lv, cv_result *from, uint64_t *off, uint64_t *end)
{
    const cv_ctx *above = &cv_scan_top(scan)->ctx;

    if (above->inner)
        cv_ctx_enter_inner(&lv->ctx, above->anchor);
    lv->owned = !from->content.mem || from->claimed;
    if (from->content.mem)
        cv_ctx_enter_inner(&lv->ctx, from->item.payload_off);
    else
        *off = from->item.payload_off;
    *off += from->nested_off;
    *end = *off + from->nested_len;
    cv_result_move(&lv->from, from);
}

cuvet_status cv_scan_open_level(cv_scan *scan, const cuvet_source *src, cv_result *from)
{
    uint64_t off = 0, end = src->length;
    bool raw = from && !from->nested_whole;
    cv_level *lv = cv_mem_get(&scan->mem, sizeof(*lv));
    cuvet_status st;

    if (!lv)
        return cv_scan_no_memory(scan, &scan->mem);
    cv_ctx_init(&lv->ctx, &scan->alloc, &scan->lim);
    lv->ctx.emit = keep_walk_diag;
    lv->ctx.emit_user = lv;
    lv->src = *src;
    lv->state = cv_source_look(src);
    if (from) {
        /* In place of the bytes that are counted already: what is nested has no work of its own. */
        uint64_t most = cv_budget_work_most(&scan->budget, scan->budget.unpacked);

        cv_ctx_unit(&lv->ctx, from->nested_len);
        cv_ctx_cap_work(&lv->ctx, most - cv_min(most, scan->budget.work));
        lv->ctx.path = from->item.where;
        take_place(scan, lv, from, &off, &end);
    } else {
        cv_ctx_unit(&lv->ctx, src->length);
    }
    CV_ARRAY_SET(scan->level, scan->n_levels, lv);
    scan->n_levels++;
    st = cv_walk_open(&lv->ctx, &lv->walk, &lv->src, off, end, raw, scan->opt.claim != NULL);
    lv->walk.nested = from != NULL;
    lv->batch = CV_SCAN_FIRST_BATCH;
    return st;
}
