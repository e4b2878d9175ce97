/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A section whose parts are dropped or put in another order, and the relocations that go with them. */
#ifndef CV_LINK_PLAN_PIECES_H
#define CV_LINK_PLAN_PIECES_H

#include "link/plan/plan.h"

typedef struct cv_piece {
    uint64_t at, end; /* as the inputs were put end to end */
    uint64_t to;      /* where it comes to lie */
    bool keep;
} cv_piece;

CV_VEC(cv_pieces, cv_piece);

/* All relocations of a section by offset; keys index irels. */
CV_MUST cuvet_status cv_out_rels_of(cv_ctx *ctx, const cv_part_out *out, cv_id sec, cv_keys *rels);
/* Relocations follow their piece; those of a piece that is gone, and those marked so before, go. 'rels' as
 * from cv_out_rels_of; pieces ascend and cover the section. */
void cv_out_move_rels(cv_part_out *out, const cv_keys *rels, const cv_pieces *pieces);
/* The piece that an offset lies in; pieces as above, at least one. */
const cv_piece *cv_piece_of(const cv_pieces *pieces, uint64_t off);

#endif
