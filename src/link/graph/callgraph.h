/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call graph of a link, told to whoever asked. */
#ifndef CV_LINK_GRAPH_CALLGRAPH_H
#define CV_LINK_GRAPH_CALLGRAPH_H

#include <cuvet/linker.h>

#include "link/in/link.h"

/* All functions with their calls; then, when registers were propagated, what raised those of kernels.
 * @return OK · CANCELLED: a function of the sink said so · LIMIT · NOMEM */
CV_MUST cuvet_status cv_link_callgraph(cv_link *link, const cuvet_callgraph_sink *sink);

#endif
