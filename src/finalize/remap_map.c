/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offset maps: looked up, both ways, and checked. */
#include "finalize/remap.h"

/* Last of n moves from 'first' on whose 'from' (or 'to') is not above 'at'; n when there is none. */
static uint64_t find_map(const cv_moves *moves, uint64_t first, uint64_t count, uint64_t at)
{
    uint64_t low = 0, high = count;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (cv_moves_get(moves, first + mid)->from <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 ? count : low - 1;
}

bool cv_remap_place(const cv_backend_out *said, uint32_t map, uint64_t from, uint64_t *to)
{
    const cv_offset_map *offsets = cv_offset_maps_get(&said->maps, map);
    uint64_t i, most = offsets->size_to;
    const cv_moved *moved;

    if (from > offsets->size_from)
        return false;
    if (from == offsets->size_from) {
        *to = offsets->size_to;
        return true;
    }
    i = find_map(&said->moves, offsets->first, offsets->count, from);
    if (i == offsets->count) { /* before all that moved */
        *to = cv_min(from, offsets->count ? cv_moves_get(&said->moves, offsets->first)->to : most);
        return true;
    }
    moved = cv_moves_get(&said->moves, offsets->first + i);
    if (i + 1 < offsets->count)
        most = cv_moves_get(&said->moves, offsets->first + i + 1)->to;
    *to = cv_min(cv_sat_add(moved->to, from - moved->from),
                 most); /* what was taken out is where its successor is */
    return true;
}

uint64_t cv_remap_origin(const cv_backend_out *said, uint32_t map, uint64_t to)
{
    uint64_t low = 0, high = cv_offset_maps_get(&said->maps, map)->size_from, now = 0;

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
    uint64_t i = find_map(shifts, 0, shifts->count, off);
    const cv_moved *moved;

    if (i == shifts->count)
        return off;
    moved = cv_moves_get(shifts, i);
    return cv_wrap_add(moved->to, off - moved->from);
}

static bool in_order(const cv_backend_out *said, const cv_offset_map *map)
{
    cv_moved last = { 0, 0 };

    for (uint64_t i = 0; i < map->count; i++) {
        const cv_moved *moved = cv_moves_get(&said->moves, map->first + i);

        if ((i > 0 && moved->from <= last.from) || moved->to < last.to || moved->from > map->size_from ||
            moved->to > map->size_to)
            return false;
        last = *moved;
    }
    return true;
}

cuvet_status cv_remap_check(cv_ctx *ctx, const cv_backend_out *said, const cv_cubin *cubin)
{
    for (uint64_t i = 0; i < said->maps.count; i++) {
        const cv_offset_map *map = cv_offset_maps_get(&said->maps, i);
        const cv_sec *sec = cv_cubin_sec(cubin, map->section);

        bool fits = map->section != 0 && map->section < cubin->sec.count && sec->role == CV_ROLE_TEXT &&
                    map->size_to == sec->header.size && map->first <= said->moves.count &&
                    map->count <= said->moves.count - map->first &&
                    (i == 0 || map->section > cv_offset_maps_get(&said->maps, i - 1)->section);

        if (!cv_work(ctx, fits ? map->count + 1 : 1, cubin->image.off))
            return cv_cancelled(ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!fits || !in_order(said, map))
            return cv_reject(ctx, CV_R_DWARF_MAP, cubin->image.off, i, map->section);
    }
    return CUVET_OK;
}
