/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs of relocations: what few of them need. */
#include "link/plan/plan.h"

bool cv_out_set_rel_osym(cv_ctx *ctx, cv_part_out *out, cv_id run, cv_id id, cv_id osym)
{
    cv_rel_run *of = cv_rel_runs_at(&out->run, run);
    cv_id first = (cv_id)out->rel_osym.count;

    if (of->osym == CV_NONE) {
        if ((uint64_t)first + of->count >= CV_NONE)
            return false;
        for (cv_id i = 0; i < of->count; i++)
            if (!cv_u32s_push(&ctx->mem, &out->rel_osym, CV_NONE))
                return false;
        of->osym = first;
    }
    *cv_u32s_at(&out->rel_osym, (uint64_t)of->osym + (id - of->first)) = osym;
    return true;
}

bool cv_out_add_rel_of(cv_ctx *ctx, cv_part_out *out, const cv_irel *rel, cv_id osym)
{
    cv_rel_run *run = cv_rel_runs_at(&out->run, out->run.count - 1);

    if (out->rel_osym.count >= CV_NONE || !cv_u32s_push(&ctx->mem, &out->rel_osym, osym))
        return false;
    if (run->osym == CV_NONE)
        run->osym = (cv_id)(out->rel_osym.count - 1);
    return cv_out_add_rel(ctx, out, rel);
}

const cv_rel_run *cv_out_run_of(const cv_part_out *out, cv_id id)
{
    uint64_t low = 0, high = out->run.count;

    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;

        if (cv_rel_runs_get(&out->run, mid)->first <= id)
            low = mid;
        else
            high = mid;
    }
    return cv_rel_runs_get(&out->run, low);
}
