/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage commons: common variables. */
#include "base/arith.h"
#include "link/plan/plan.h"

/* Common variables follow everything else in .nv.global, the last name first, each with the largest size and
 * alignment that one of its declarations asks for. */
static void place_common(const cv_view_commons *view, cv_id sym, cv_osec *osec)
{
    cv_osym *osym = cv_l_osym(view, sym);
    uint64_t align;

    cv_link_largest_common(view, cv_l_entry(view, osym->name), &osym->size, &align);
    osym->value = cv_sat_align(osec->size, cv_max(align, 1));
    osym->common = true;
    osec->size = cv_sat_add(osym->value, osym->size);
    osec->align = cv_max(osec->align, align);
}

cuvet_status cv_stage_commons(const cv_view_commons *view)
{
    cv_id osec = cv_l_find_osec(view, ".nv.global");

    if (!cv_l_places_commons(view) || osec == CV_NONE)
        return CUVET_OK;
    for (uint64_t i = view->out->globals.count; i > 0; i--) {
        cv_id id = *cv_u32s_at(&view->out->globals, i - 1), win = cv_l_osym(view, id)->win;

        if (win == CV_NONE || cv_l_type(cv_l_isym(view, win)) != CV_STT_CUDA_OBJECT ||
            !cv_l_isym(view, win)->common)
            continue;
        place_common(view, id, cv_l_osec(view, osec));
        cv_l_osym(view, id)->sec = osec;
    }
    return CUVET_OK;
}

/* Common variables have a place in zero memory; an executable has none that is to get one. */
bool cv_stage_commons_holds(const cv_check_commons *view)
{
    for (cv_id i = 0; i < view->out->osym.count; i++) {
        const cv_osym *osym = cv_l_osym(view, i);

        if (osym->common_kept && !osym->common && !view->options->relocatable)
            return false;
        if (!osym->common)
            continue;
        if (osym->sec >= view->out->osec.count || cv_l_osec(view, osym->sec)->group != CV_G_NOBITS ||
            cv_sat_add(osym->value, osym->size) > cv_l_osec(view, osym->sec)->size)
            return false;
    }
    return true;
}
