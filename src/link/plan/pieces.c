/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/plan/pieces.h"

cuvet_status cv_link_rels_of(cv_link *l, cv_id sec, cv_keys *out)
{
    bool ok = true;

    for (int rela = 0; rela < 2; rela++) {
        cv_id q = CV_ARRAY_GET(cv_l_osec(l, sec)->rel, rela);

        for (cv_id r = q == CV_NONE ? CV_NONE : cv_l_osec(l, q)->rels; r != CV_NONE && ok;
             r = cv_l_irel(l, r)->next)
            ok = cv_keys_push(&l->x->mem, out, (cv_key){ .key = cv_l_irel(l, r)->off, .index = r });
    }
    cv_keys_sort(out);
    return ok ? CUVET_OK : cv_l_nomem(l);
}

const cv_piece *cv_link_piece_of(const cv_pieces *pieces, uint64_t off)
{
    uint64_t low = 0, high = pieces->n;

    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;

        if (cv_pieces_get(pieces, mid)->at <= off)
            low = mid;
        else
            high = mid;
    }
    return cv_pieces_get(pieces, low);
}

static void unlink_gone(cv_link *l, cv_osec *q)
{
    cv_id last = CV_NONE, next;

    for (cv_id r = q->rels; r != CV_NONE; r = next) {
        next = cv_l_irel(l, r)->next;
        if (cv_l_irel(l, r)->gone)
            continue;
        if (last == CV_NONE)
            q->rels = r;
        else
            cv_l_irel(l, last)->next = r;
        last = r;
    }
    if (last == CV_NONE)
        q->rels = CV_NONE;
    else
        cv_l_irel(l, last)->next = CV_NONE;
}

void cv_link_move_rels(cv_link *l, cv_id sec, const cv_keys *rels, const cv_pieces *pieces)
{
    for (uint64_t k = 0; k < rels->n; k++) {
        cv_irel *e = cv_l_irel(l, (cv_id)cv_keys_get(rels, k)->index);
        const cv_piece *p = cv_link_piece_of(pieces, e->off);

        e->gone = e->gone || !p->keep || e->off < p->at || e->off >= p->end;
        if (!e->gone)
            e->off = p->to + (e->off - p->at);
    }
    for (int rela = 0; rela < 2; rela++)
        if (CV_ARRAY_GET(cv_l_osec(l, sec)->rel, rela) != CV_NONE)
            unlink_gone(l, cv_l_osec(l, CV_ARRAY_GET(cv_l_osec(l, sec)->rel, rela)));
}
