/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call graph of a link, told to whoever asked. */
#ifndef CV_LINK_GRAPH_CALLGRAPH_H
#define CV_LINK_GRAPH_CALLGRAPH_H

#include <cuvet/linker.h>

#include "link/graph/graph.h"

typedef struct cv_view_callgraph {
    cv_ctx *ctx;
    const cv_part_names *names;
    const cv_part_inputs *inputs;
    const cv_part_functions *functions;
    const cv_part_calls *calls;
    const cv_part_usage *usage;
} cv_view_callgraph;

/* All functions with their calls; then, when registers were propagated, what raised those of kernels.
 * @return OK · CANCELLED: a function of the sink said so · LIMIT · NOMEM */
CV_MUST cuvet_status cv_calls_tell(const cv_view_callgraph *view, const cuvet_callgraph_sink *sink);

#endif
