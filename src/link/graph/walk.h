/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Walks over the call graph, which they leave as it is. */
#ifndef CV_LINK_GRAPH_WALK_H
#define CV_LINK_GRAPH_WALK_H

#include "link/graph/graph.h"

/* Marks of a walk, and what it has found. */
typedef struct cv_walk_below {
    cv_u32s fn, proto; /* by function, by prototype: the walk that met it last */
    cv_u32s found;
    uint32_t stamp;
} cv_walk_below;

void cv_walk_below_end(cv_mem *mem, cv_walk_below *walk);
/* A new walk, the first one of one that is all zero; then a function to go on from, and the functions that it
 * calls. False: no memory. */
CV_MUST bool cv_walk_below_begin(cv_ctx *ctx, const cv_part_calls *calls, cv_walk_below *walk);
CV_MUST bool cv_walk_below_add(cv_ctx *ctx, cv_walk_below *walk, cv_id fn);
CV_MUST bool cv_walk_below_go_on(cv_ctx *ctx, const cv_part_calls *calls, cv_walk_below *walk,
                                 const cv_u32s *only, cv_id fn);
/* The functions that a function reaches, itself first, in walk->found. only: by function, those to go to,
 * closed upwards as cv_calls_above() makes it, so that nothing is missed; NULL: all. */
CV_MUST cuvet_status cv_calls_below(cv_ctx *ctx, const cv_part_calls *calls, cv_walk_below *walk, cv_id fn,
                                    const cv_u32s *only);
/* mark: a word for each function, not zero for some; afterwards also for all functions that reach one of
 * them, in linear time. A kernel that is none of them need not be walked from: kernels times functions is
 * only paid for what somebody asks about. */
CV_MUST cuvet_status cv_calls_above(cv_ctx *ctx, const cv_part_calls *calls, cv_u32s *mark);

#endif
