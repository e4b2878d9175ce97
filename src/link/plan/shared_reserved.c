/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Variables in the shared memory that the system has for itself, from sm_100 on: compilers name some of it
 * (tensor memory: __nv_reservedSMEM_tcgen05_partition). They lie behind what the driver keeps there, in the
 * order in which their names are met, each once; in a relocatable object their value is their alignment. */
#include "base/arith.h"
#include "link/in/stages.h"

/* The one that stands for its name. */
static bool has_room(const cv_link *l, cv_id id)
{
    const cv_isym *s = cv_l_isym(l, id);

    return cv_l_is_reserved(s) && s->sec != CV_NONE && cv_l_isec(l, s->sec)->out != CV_NONE &&
           cv_l_canon(l, id) == id;
}

void cv_link_place_reserved(cv_link *l)
{
    uint64_t end = l->o.gen->reserved_first;

    for (cv_id i = 0; i < l->isym.n; i++) {
        cv_isym *s = cv_l_isym(l, i);

        if (!has_room(l, i))
            continue;
        if (s->value != 0 && !cv_is_pow2(s->value)) {
            cv_link_say(l, i, CV_R_LINK_ALIGN, s->value, 0);
            continue;
        }
        s->shared_off = cv_sat_align(end, cv_max(s->value, 1));
        s->shared_sec = cv_l_isec(l, s->sec)->out;
        s->placed = true;
        end = cv_sat_add(s->shared_off, s->size);
        cv_l_osec(l, s->shared_sec)->size = end;
        if (end > l->o.gen->reserved)
            cv_link_say(l, i, CV_R_LINK_SHARED, end, l->o.gen->reserved);
    }
}

/* Behind each other, behind what the driver keeps, in their section. */
bool cv_link_reserved_holds(const cv_link *l)
{
    uint64_t end = l->o.gen->reserved_first;

    for (cv_id i = 0; i < l->isym.n && !l->o.relocatable; i++) {
        const cv_isym *s = cv_l_isym(l, i);

        if (!has_room(l, i))
            continue;
        if (!s->placed || s->shared_off < end || s->shared_sec != cv_l_isec(l, s->sec)->out)
            return false;
        end = cv_sat_add(s->shared_off, s->size);
        if (end > l->o.gen->reserved || end > cv_l_osec(l, s->shared_sec)->size)
            return false;
    }
    return true;
}
