/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Variables in the shared memory that the system has for itself, from sm_100 on: compilers name some of it
 * (tensor memory: __nv_reservedSMEM_tcgen05_partition). They lie behind what the driver keeps there, in the
 * order in which their names are met, each once; in a relocatable object their value is their alignment. */
#include "base/arith.h"
#include "link/plan/shared_memory.h"

/* The one that stands for its name. */
static bool has_room(const cv_check_shared_memory *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);

    return cv_l_is_reserved(sym) && sym->sec != CV_NONE && cv_l_became(view, sym->sec)->out != CV_NONE &&
           cv_l_definition(view, id) == id;
}

void cv_shared_place_reserved(const cv_view_shared_memory *view)
{
    const cv_check_shared_memory seen = cv_check_of_shared_memory(view);
    uint64_t end = view->options->gen->reserved_first;

    for (cv_id i = 0; i < view->memory->shared.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);

        if (!has_room(&seen, i))
            continue;
        if (sym->value != 0 && !cv_is_pow2(sym->value)) {
            cv_link_say(view, i, CV_R_LINK_ALIGN, sym->value, 0);
            continue;
        }
        cv_l_shared(view, sym->id)->off = cv_sat_align(end, cv_max(sym->value, 1));
        cv_l_shared(view, sym->id)->sec = cv_l_became(view, sym->sec)->out;
        cv_l_shared(view, sym->id)->placed = true;
        end = cv_sat_add(cv_l_shared(view, sym->id)->off, sym->size);
        cv_l_osec(view, cv_l_shared(view, sym->id)->sec)->size = end;
        if (end > view->options->gen->reserved)
            cv_link_say(view, i, CV_R_LINK_SHARED, end, view->options->gen->reserved);
    }
}

/* Behind each other, behind what the driver keeps, in their section. */
bool cv_shared_reserved_hold(const cv_check_shared_memory *view)
{
    uint64_t end = view->options->gen->reserved_first;

    for (cv_id i = 0; i < view->memory->shared.count && !view->options->relocatable; i++) {
        const cv_isym *sym = cv_l_isym(view, i);

        if (!has_room(view, i))
            continue;
        if (!cv_l_shared(view, sym->id)->placed || cv_l_shared(view, sym->id)->off < end ||
            cv_l_shared(view, sym->id)->sec != cv_l_became(view, sym->sec)->out)
            return false;
        end = cv_sat_add(cv_l_shared(view, sym->id)->off, sym->size);
        if (end > view->options->gen->reserved ||
            end > cv_l_osec(view, cv_l_shared(view, sym->id)->sec)->size)
            return false;
    }
    return true;
}
