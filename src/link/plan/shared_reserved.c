/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Variables in the shared memory that the system has for itself, from sm_100 on: compilers name some of it
 * (tensor memory: __nv_reservedSMEM_tcgen05_partition). They lie behind what the driver keeps there, in the
 * order in which their names are met, each once; in a relocatable object their value is their alignment. */
#include "base/arith.h"
#include "link/in/stages.h"

/* The one that stands for its name. */
static bool has_room(const cv_link *link, cv_id id)
{
    const cv_isym *sym = cv_l_isym(link, id);

    return cv_l_is_reserved(sym) && sym->sec != CV_NONE && cv_l_became(link, sym->sec)->out != CV_NONE &&
           cv_l_canon(link, id) == id;
}

void cv_link_place_reserved(cv_link *link)
{
    uint64_t end = link->options->gen->reserved_first;

    for (cv_id i = 0; i < link->memory->shared.count; i++) {
        cv_isym *sym = cv_l_isym(link, i);

        if (!has_room(link, i))
            continue;
        if (sym->value != 0 && !cv_is_pow2(sym->value)) {
            cv_link_say(link, i, CV_R_LINK_ALIGN, sym->value, 0);
            continue;
        }
        cv_l_shared(link, sym->id)->off = cv_sat_align(end, cv_max(sym->value, 1));
        cv_l_shared(link, sym->id)->sec = cv_l_became(link, sym->sec)->out;
        cv_l_shared(link, sym->id)->placed = true;
        end = cv_sat_add(cv_l_shared(link, sym->id)->off, sym->size);
        cv_l_osec(link, cv_l_shared(link, sym->id)->sec)->size = end;
        if (end > link->options->gen->reserved)
            cv_link_say(link, i, CV_R_LINK_SHARED, end, link->options->gen->reserved);
    }
}

/* Behind each other, behind what the driver keeps, in their section. */
bool cv_link_reserved_holds(const cv_link *link)
{
    uint64_t end = link->options->gen->reserved_first;

    for (cv_id i = 0; i < link->memory->shared.count && !link->options->relocatable; i++) {
        const cv_isym *sym = cv_l_isym(link, i);

        if (!has_room(link, i))
            continue;
        if (!cv_l_shared(link, sym->id)->placed || cv_l_shared(link, sym->id)->off < end ||
            cv_l_shared(link, sym->id)->sec != cv_l_became(link, sym->sec)->out)
            return false;
        end = cv_sat_add(cv_l_shared(link, sym->id)->off, sym->size);
        if (end > link->options->gen->reserved ||
            end > cv_l_osec(link, cv_l_shared(link, sym->id)->sec)->size)
            return false;
    }
    return true;
}
