/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the comparison share. */
#ifndef CV_FINALIZE_COMPARE_H
#define CV_FINALIZE_COMPARE_H

#include "finalize/job.h"

/* Compare the contents of section 'index' of the first file and 'at' of the second. False: they differ. */
CV_MUST bool cv_final_section_same(cv_ctx *ctx, const cv_final_same *pair, uint64_t index, uint64_t at);
/* The symbols. */
CV_MUST cuvet_status cv_final_symbols_same(cv_ctx *ctx, const cv_final_same *pair, cv_final *code);
/* The same of code that was made again: those that others may refer to, and all that are in data. */
CV_MUST cuvet_status cv_final_symbols_again(cv_ctx *ctx, const cv_final_same *pair, cv_final *code);
/* Section of data, which is the same when the code is made again. */
CV_MUST bool cv_final_stays_again(const cv_cubin *cubin, uint64_t index);
/* Does the second file refer to what the first refers to, and to nothing else? */
CV_MUST cuvet_status cv_final_references_kept(cv_ctx *ctx, const cv_final_same *pair, cv_final *code);
/* Name as the comparison sees it: without the prefix of a Mercury twin, but with its dot. */
cv_span cv_final_plain_name(const cv_sec *sec);
/* Name of a symbol, empty when it has none. */
cv_span cv_final_symbol_name(const cv_cubin *cubin, const cv_elf_symbol *sym);
/* Name of what a relocation refers to: a symbol, or the section that it stands for. */
cv_span cv_final_reloc_symbol(const cv_cubin *cubin, bool merc, uint32_t index);
/* Bytes of a section; none where it has none in the file. */
cv_span cv_final_body_of(const cv_cubin *cubin, uint64_t index);
CV_MUST bool cv_final_in_section(const cv_elf_symbol *sym);
/* Report that a symbol of the first file is not that of the second. */
CV_MUST cuvet_status cv_final_symbols_differ(cv_ctx *ctx, cv_final *code, const cv_final_same *pair,
                                             uint64_t before, uint64_t after);

#endif
