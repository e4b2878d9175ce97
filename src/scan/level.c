/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One level of a scan: the file, or the content of a unit of the level below. */
#include "scan/parts.h"

static void keep_walk_diag(void *user, const cuvet_diag *diag)
{
    cv_level *level = user;

    if (!cv_diags_push(&level->ctx.mem, &level->diags, *diag) ||
        !cv_u64s_push(&level->ctx.mem, &level->before, level->units.count))
        level->lost = true;
}

void cv_scan_free_results(cv_level *level)
{
    for (uint64_t i = 0; i < level->results.count; i++)
        cv_result_free(cv_results_at(&level->results, i));
    cv_results_clear(&level->results);
}

void cv_scan_close_level(cv_scan *scan, cv_level *level)
{
    cv_scan_free_results(level);
    cv_walk_close(&level->ctx, &level->walk);
    cv_results_free(&level->ctx.mem, &level->results);
    cv_units_free(&level->ctx.mem, &level->units);
    cv_diags_free(&level->ctx.mem, &level->diags);
    cv_u64s_free(&level->ctx.mem, &level->before);
    cv_result_free(&level->from);
    scan->closed_peak = cv_max(scan->closed_peak, level->ctx.mem.peak);
    cv_mem_put(&scan->mem, level, sizeof(*level));
}

/* Where the bytes of a nested container are, and in which count of offsets. */
static void take_place(const cv_scan *scan, cv_level *level, cv_result *from, uint64_t *off, uint64_t *end)
{
    const cv_ctx *above = &cv_scan_top(scan)->ctx;

    if (above->inner)
        cv_ctx_enter_inner(&level->ctx, above->anchor);
    level->owned = !from->content.mem || from->claimed;
    if (from->content.mem)
        cv_ctx_enter_inner(&level->ctx, from->item.payload_off);
    else
        *off = from->item.payload_off;
    *off += from->nested_off;
    *end = *off + from->nested_len;
    cv_result_move(&level->from, from);
}

cuvet_status cv_scan_open_level(cv_scan *scan, const cuvet_source *src, cv_result *from)
{
    uint64_t off = 0, end = src->length;
    bool raw = from && !from->nested_whole;
    cv_level *level = cv_mem_get(&scan->mem, sizeof(*level));
    cuvet_status status;

    if (!level)
        return cv_scan_no_memory(scan, &scan->mem);
    cv_ctx_init(&level->ctx, &scan->alloc, &scan->lim);
    level->ctx.emit = keep_walk_diag;
    level->ctx.emit_user = level;
    level->src = *src;
    level->state = cv_source_look(src);
    if (from) {
        /* In place of the bytes that are counted already: what is nested has no work of its own. */
        uint64_t most = cv_budget_work_most(&scan->budget, scan->budget.unpacked);

        cv_ctx_unit(&level->ctx, from->nested_len);
        cv_ctx_cap_work(&level->ctx, most - cv_min(most, scan->budget.work));
        level->ctx.path = from->item.where;
        take_place(scan, level, from, &off, &end);
    } else {
        cv_ctx_unit(&level->ctx, src->length);
    }
    CV_ARRAY_SET(scan->level, scan->n_levels, level);
    scan->n_levels++;
    status = cv_walk_open(&level->ctx, &level->walk, &level->src, off, end, raw, scan->opt.claim != NULL);
    level->walk.nested = from != NULL;
    level->batch = CV_SCAN_FIRST_BATCH;
    return status;
}
