/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where device code may begin: container magic or ELF magic, anywhere in a range of a source. */
#ifndef CV_INTAKE_SEARCH_H
#define CV_INTAKE_SEARCH_H

#include "io/source.h"

/* So many bytes behind a magic are seen, where they are there. */
#define CV_SEARCH_HEAD UINT64_C(64)

/* First offset in [from, end) with one of the two magics (all four bytes before end); *found false when there
 * is none. *head gets what the window holds from there on, at least CV_SEARCH_HEAD bytes or all up to the
 * end. */
CV_MUST cuvet_status cv_search(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t from,
                               uint64_t end, bool *found, uint64_t *at, cv_span *head);

#endif
