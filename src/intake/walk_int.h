/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of the walk. Each step moves a region or a container forward and says whether it has a unit. */
#ifndef CV_INTAKE_WALK_INT_H
#define CV_INTAKE_WALK_INT_H

#include "intake/walk.h"

typedef enum cv_step { CV_STEP_AGAIN, CV_STEP_UNIT, CV_STEP_POP } cv_step;

static inline cv_region *cv_walk_top(cv_walk *walk)
{
    return cv_regions_at(&walk->stack, walk->stack.count - 1);
}

/* Section of a host ELF where only containers may be. */
static inline bool cv_walk_holds_containers(const cv_host_section *header)
{
    return header->kind == CV_HOSTOBJ_FATBIN || header->kind == CV_HOSTOBJ_RELFATBIN;
}

CV_MUST cuvet_status cv_walk_push(cv_ctx *ctx, cv_walk *walk, uint64_t off, uint64_t end,
                                  cv_region_kind kind);
/* Fill what all units of the current place share. */
CV_MUST cuvet_status cv_walk_unit(cv_ctx *ctx, cv_walk *walk, cv_unit_kind kind, uint64_t off, cv_unit *out);

CV_MUST cuvet_status cv_walk_archive(cv_ctx *ctx, cv_walk *walk, cv_step *step);
CV_MUST cuvet_status cv_walk_object(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out);
CV_MUST cuvet_status cv_walk_container(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out);

/* Say it when the code at this place is where nobody looks for any. */
void cv_walk_say_place(cv_ctx *ctx, const cv_walk *walk, uint64_t at, cuvet_place place);
/* Begin with the container at 'at'; 'must': a container has to be there. Moves the region on when there is
 * none. */
CV_MUST cuvet_status cv_walk_enter(cv_ctx *ctx, cv_walk *walk, uint64_t at, cv_span head, bool must);
/* Bytes of the region up to 'to' that nobody has claimed yet. */
CV_MUST cuvet_status cv_walk_gap(cv_ctx *ctx, cv_walk *walk, uint64_t to);

#endif
