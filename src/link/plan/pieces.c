/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/plan/pieces.h"

cuvet_status cv_out_rels_of(cv_ctx *ctx, const cv_part_out *out, cv_id sec, cv_keys *rels)
{
    bool ok = true;

    for (int rela = 0; rela < 2; rela++) {
        cv_id osec = CV_ARRAY_GET(cv_l_osec_get(out, sec)->rel, rela);

        if (osec == CV_NONE)
            continue;
        for (cv_rel_cur cur = cv_out_rels(cv_l_osec_get(out, osec)); ok && cv_rel_next(out, &cur);)
            ok = cv_keys_push(&ctx->mem, rels, (cv_key){ .key = cur.rel->off, .index = cur.id });
    }
    cv_keys_sort(rels);
    return ok ? CUVET_OK : cv_in_nomem(ctx);
}

const cv_piece *cv_piece_of(const cv_pieces *pieces, uint64_t off)
{
    uint64_t low = 0, high = pieces->count;

    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;

        if (cv_pieces_get(pieces, mid)->at <= off)
            low = mid;
        else
            high = mid;
    }
    return cv_pieces_get(pieces, low);
}

void cv_out_move_rels(cv_part_out *out, const cv_keys *rels, const cv_pieces *pieces)
{
    for (uint64_t k = 0; k < rels->count; k++) {
        cv_irel *rel = cv_l_irel_at(out, (cv_id)cv_keys_get(rels, k)->index);
        const cv_piece *piece = cv_piece_of(pieces, rel->off);

        rel->gone = rel->gone || !piece->keep || rel->off < piece->at || rel->off >= piece->end;
        out->any_gone = out->any_gone || rel->gone;
        if (!rel->gone)
            rel->off = piece->to + (rel->off - piece->at);
    }
}
