/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the writer share. */
#ifndef CV_FINALIZE_REWRITE_INT_H
#define CV_FINALIZE_REWRITE_INT_H

#include "finalize/rewrite.h"

/* New contents of a section, NULL: it keeps its own. */
const cv_final_body *cv_rewrite_body(const cv_rewrite *rewrite, uint64_t index);
/* Program headers of the new file: rewrite->phnum and rewrite->segments. */
CV_MUST cuvet_status cv_rewrite_segments(cv_ctx *ctx, cv_rewrite *rewrite);

#endif
