/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the comparison share. */
#ifndef CV_FINALIZE_COMPARE_H
#define CV_FINALIZE_COMPARE_H

#include "finalize/job.h"

/* Contents of section i of a and k of b, which have the same name. False: they differ. */
CV_MUST bool cv_final_section_same(cv_ctx *x, const cv_final_same *q, uint64_t i, uint64_t k);
/* The symbols. */
CV_MUST cuvet_status cv_final_symbols_same(cv_ctx *x, const cv_final_same *q, cv_final *code);
/* Does b still refer to what a refers to? */
CV_MUST cuvet_status cv_final_references_kept(cv_ctx *x, const cv_final_same *q, cv_final *code);
/* Name as the comparison sees it: without the prefix of a Mercury twin, but with its dot. */
cv_span cv_final_plain_name(const cv_sec *s);
/* Name of a symbol, empty when it has none. */
cv_span cv_final_symbol_name(const cv_cubin *c, const cv_elf_symbol *y);

#endif
