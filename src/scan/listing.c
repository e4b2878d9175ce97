/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What somebody asks who chooses units to be linked. */
#include "scan/parts.h"

void cv_scan_for_link(cv_scan *scan, cv_host_shelf *shelf)
{
    scan->link = true;
    cv_scan_top(scan)->walk.shelf = shelf;
}

/* Was anything but a note said by the walk between two units of a batch? */
static bool has_findings(const cv_level *level, uint64_t first, uint64_t end)
{
    for (uint64_t i = 0; i < level->before.count; i++) {
        uint64_t before = *cv_u64s_get(&level->before, i);

        if (before >= first && before <= end && cv_diags_get(&level->diags, i)->severity != CUVET_NOTE)
            return true;
    }
    return level->lost;
}

bool cv_scan_container(const cv_scan *scan, cv_listing *out)
{
    const cv_level *level = cv_scan_top(scan);
    uint64_t first = level->next_unit - 1, end = first;
    const cv_unit *unit;

    if (!scan->link || !scan->current || scan->n_levels != 1)
        return false;
    unit = cv_units_get(&level->units, first);
    if (!cv_unit_is_member(unit) || unit->off != unit->container_off + CV_FATBIN_HEADER ||
        unit->path.n > CUVET_PATH_MAX)
        return false;
    while (end < level->units.count &&
           cv_units_get(&level->units, end)->container_off == unit->container_off &&
           cv_unit_is_member(cv_units_get(&level->units, end)))
        end++;
    *out = (cv_listing){ &level->units, first, end - first };
    return !has_findings(level, first, end) && (end < level->units.count || !cv_walk_is_inside(&level->walk));
}

bool cv_scan_is_own(const cv_scan *scan)
{
    const cv_level *level = cv_scan_top(scan);

    return scan->current && scan->current->own && scan->current->cubin &&
           level->next_unit == level->units.count;
}

cuvet_status cv_scan_move_out(cv_scan *scan, cv_ctx *ctx, cv_block *bytes, cv_cubin *cubin)
{
    cv_worker *worker = *cv_workers_at(&scan->workers, 0);

    return cv_worker_move_out(worker, &worker->stored, scan->current->payload, ctx, bytes, cubin);
}
