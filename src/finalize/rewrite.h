/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing a device ELF again with sections left out or with new contents: numbers, names, places, segments
 * and the header follow. Two passes: a plan, which knows the size of everything, and the bytes. Everything
 * that is not said to change is copied. */
#ifndef CV_FINALIZE_REWRITE_H
#define CV_FINALIZE_REWRITE_H

#include "finalize/job.h"

typedef struct cv_rewrite {
    const cv_cubin *cubin;
    /* cv_part of each section: what is CV_PART_CAPSULE or CV_PART_TWIN goes. NULL: all stay. */
    const cv_u8s *part;
    const cv_final_bodies *bodies; /* ascending by section; NULL: none */
    cv_kind kind;
    uint32_t sm;
    uint64_t null_symbol; /* symbol that becomes an empty entry; 0: none */
    /* the plan */
    cv_u32s number;             /* new number of a section, 0: gone */
    cv_u64s place;              /* new offset */
    cv_u64s size;               /* new size */
    cv_u32s name;               /* new sh_name */
    cv_keys order;              /* sections that stay, by their place in the old file */
    cv_builder names, segments; /* names: empty when they stay */
    uint64_t n_sections, shoff, phoff, phnum, total;
} cv_rewrite;

/* @return OK · NOMEM · LIMIT · REFUSED (reported). Free the plan in every case. */
CV_MUST cuvet_status cv_rewrite_plan(cv_ctx *ctx, cv_rewrite *rewrite);
/* The sink gets exactly rewrite->total bytes. @return OK · NOMEM · LIMIT · INTERNAL (CV-FINAL-033: the passes
 * disagree) */
CV_MUST cuvet_status cv_rewrite_write(cv_ctx *ctx, const cv_rewrite *rewrite, cv_final_sink *to);
void cv_rewrite_free(cv_ctx *ctx, cv_rewrite *rewrite);

/* e_flags for a kind, a machine and the number of the cuinfo note; of the older ABI only the machine changes.
 */
uint32_t cv_final_flags(const cv_cubin *cubin, cv_kind kind, uint32_t sm, uint32_t note);
/* Bytes of a section in the file: also of the one whose type has none but that has room all the same. */
CV_MUST bool cv_final_in_file(const cv_cubin *cubin, uint64_t index);

#endif
