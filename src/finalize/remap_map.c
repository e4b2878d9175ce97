/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offset maps: looked up, both ways, and checked. */
#include "finalize/remap.h"

/* Last of n moves from 'first' on whose 'from' (or 'to') is not above 'at'; n when there is none. */
static uint64_t find(const cv_moves *m, uint64_t first, uint64_t n, uint64_t at)
{
    uint64_t low = 0, high = n;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (cv_moves_at(m, first + mid)->from <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? n : low - 1;
}

bool cv_remap_place(const cv_backend_out *said, uint32_t map, uint64_t from, uint64_t *to)
{
    const cv_offset_map *m = cv_offset_maps_at(&said->maps, map);
    uint64_t i, most = m->size_to;
    const cv_moved *p;

    if (from > m->size_from)
        return false;
    if (from == m->size_from) {
        *to = m->size_to;
        return true;
    }
    i = find(&said->moves, m->first, m->n, from);
    if (i == m->n) { /* before all that moved */
        *to = cv_min(from, m->n ? cv_moves_at(&said->moves, m->first)->to : most);
        return true;
    }
    p = cv_moves_at(&said->moves, m->first + i);
    if (i + 1 < m->n)
        most = cv_moves_at(&said->moves, m->first + i + 1)->to;
    *to = cv_min(cv_sat_add(p->to, from - p->from), most); /* what was taken out is where its successor is */
    return true;
}

uint64_t cv_remap_origin(const cv_backend_out *said, uint32_t map, uint64_t to)
{
    uint64_t low = 0, high = cv_offset_maps_at(&said->maps, map)->size_from, now = 0;

    /* Places ascend in both. */
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (cv_remap_place(said, map, mid, &now) && now >= to)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

uint64_t cv_remap_shifted(const cv_moves *shifts, uint64_t off)
{
    uint64_t i = find(shifts, 0, shifts->n, off);
    const cv_moved *p = cv_moves_at(shifts, i);

    return i == shifts->n ? off : cv_wrap_add(p->to, off - p->from);
}

static bool in_order(const cv_backend_out *said, const cv_offset_map *m)
{
    cv_moved last = { 0, 0 };

    for (uint64_t i = 0; i < m->n; i++) {
        const cv_moved *p = cv_moves_at(&said->moves, m->first + i);

        if ((i > 0 && p->from <= last.from) || p->to < last.to || p->from > m->size_from ||
            p->to > m->size_to)
            return false;
        last = *p;
    }
    return true;
}

cuvet_status cv_remap_check(cv_ctx *x, const cv_backend_out *said, const cv_cubin *c)
{
    for (uint64_t i = 0; i < said->maps.n; i++) {
        const cv_offset_map *m = cv_offset_maps_at(&said->maps, i);
        const cv_sec *s = cv_cubin_sec(c, m->section);

        bool fits = m->section != 0 && m->section < c->sec.n && s->role == CV_ROLE_TEXT &&
                    m->size_to == s->h.size && m->first <= said->moves.n &&
                    m->n <= said->moves.n - m->first &&
                    (i == 0 || m->section > cv_offset_maps_at(&said->maps, i - 1)->section);

        if (!cv_work(x, fits ? m->n + 1 : 1, c->image.off))
            return cv_cancelled(x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!fits || !in_order(said, m))
            return cv_reject(x, CV_R_DWARF_MAP, c->image.off, i, m->section);
    }
    return CUVET_OK;
}
