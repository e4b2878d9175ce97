/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the cubin_meta*.c files: checks of metadata sections, each given the section's index. */
#ifndef CV_CUBIN_META_H
#define CV_CUBIN_META_H

#include "cubin/internal.h"

/* What the global .nv.info says about each symbol: bits below, registers << CV_META_REGS. */
enum {
    CV_META_FRAME = 1,
    CV_META_MIN_STACK = 2,
    CV_META_MAX_STACK = 4,
    CV_META_REGCOUNT = 8,
    CV_META_REGS = 8
};

/* st_type of symbol 'index' of a 64-bit table; 0 outside of it. */
static inline uint8_t cv_meta_sym_type(cv_span table, uint64_t index)
{
    return cv_u8_at(table, cv_sat_add(cv_sat_mul(index, 24), 4)) & 15;
}

/* One .nv.info section or Mercury clone; marks has an element per symbol of its table. */
/* True: read to the end, so that what it does not say is missing. */
CV_MUST bool cv_meta_info_global(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section, bool merc,
                                 cv_u32s *marks);
CV_MUST cuvet_status cv_meta_info_function(cv_ctx *ctx, cv_cubin *cubin, uint64_t section, bool merc);
/* Every function has its sizes. */
void cv_meta_check_marks(cv_ctx *ctx, cv_cubin *cubin, bool merc, const cv_u32s *marks);

void cv_meta_callgraph(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section);
CV_MUST cuvet_status cv_meta_prototype(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section);
void cv_meta_unified(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section, bool merc, bool functions);
/* Kernels of executables have what the functions need that they call. */
CV_MUST cuvet_status cv_meta_needs(cv_ctx *ctx, const cv_cubin *cubin);
void cv_meta_rel_action(cv_ctx *ctx, const cv_cubin *cubin);

#endif
