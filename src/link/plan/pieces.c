/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/plan/pieces.h"

cuvet_status cv_link_rels_of(cv_link *link, cv_id sec, cv_keys *out)
{
    bool ok = true;

    for (int rela = 0; rela < 2; rela++) {
        cv_id osec = CV_ARRAY_GET(cv_l_osec(link, sec)->rel, rela);

        for (cv_id rel = osec == CV_NONE ? CV_NONE : cv_l_osec(link, osec)->rels; rel != CV_NONE && ok;
             rel = cv_l_irel(link, rel)->next)
            ok = cv_keys_push(&link->ctx->mem, out,
                              (cv_key){ .key = cv_l_irel(link, rel)->off, .index = rel });
    }
    cv_keys_sort(out);
    return ok ? CUVET_OK : cv_l_nomem(link);
}

const cv_piece *cv_link_piece_of(const cv_pieces *pieces, uint64_t off)
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

static void unlink_gone(cv_link *link, cv_osec *osec)
{
    cv_id last = CV_NONE, next;

    for (cv_id rel = osec->rels; rel != CV_NONE; rel = next) {
        next = cv_l_irel(link, rel)->next;
        if (cv_l_irel(link, rel)->gone)
            continue;
        if (last == CV_NONE)
            osec->rels = rel;
        else
            cv_l_irel(link, last)->next = rel;
        last = rel;
    }
    if (last == CV_NONE)
        osec->rels = CV_NONE;
    else
        cv_l_irel(link, last)->next = CV_NONE;
}

void cv_link_move_rels(cv_link *link, cv_id sec, const cv_keys *rels, const cv_pieces *pieces)
{
    for (uint64_t k = 0; k < rels->count; k++) {
        cv_irel *rel = cv_l_irel(link, (cv_id)cv_keys_get(rels, k)->index);
        const cv_piece *piece = cv_link_piece_of(pieces, rel->off);

        rel->gone = rel->gone || !piece->keep || rel->off < piece->at || rel->off >= piece->end;
        if (!rel->gone)
            rel->off = piece->to + (rel->off - piece->at);
    }
    for (int rela = 0; rela < 2; rela++)
        if (CV_ARRAY_GET(cv_l_osec(link, sec)->rel, rela) != CV_NONE)
            unlink_gone(link, cv_l_osec(link, CV_ARRAY_GET(cv_l_osec(link, sec)->rel, rela)));
}
