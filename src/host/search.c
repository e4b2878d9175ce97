/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrappers that no section shows. A loader needs no sections: a program runs without a section table, or with
 * one that does not tell all that is loaded. What is loaded is searched for the first bytes of wrappers, and
 * what is found is judged like the records of a section. */
#include "bytes/search.h"
#include "format/elf/names.h"
#include "format/fatbin/read.h"
#include "host/parts.h"

#define HIT_WORK UINT64_C(32)

/* Which bytes are searched, of those that are loaded. */
typedef enum search_reach {
    SEARCH_ALL,     /* no section table can be used */
    SEARCH_UNNAMED, /* what lies in no section */
    SEARCH_DATA     /* what is neither code, nor only for containers: the wrappers must be somewhere */
} search_reach;

/* ---- what is searched ---- */

/* In order, what overlaps as one. */
static cuvet_status sort_extents(cv_host_read_ctx *reader, cv_host_extents *all)
{
    cv_mem *mem = &reader->ctx->mem;
    cv_host_extents sorted = { 0 };
    cv_keys order = { 0 };
    bool room = cv_work(reader->ctx, cv_sat_mul(all->count, 16), reader->base);

    if (!room)
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < all->count && room; i++)
        room = cv_keys_push(mem, &order, (cv_key){ cv_host_extents_get(all, i)->off, i });
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.count && room; i++) {
        cv_host_extent one = *cv_host_extents_get(all, cv_keys_at(&order, i)->index);
        cv_host_extent *last = sorted.count ? cv_host_extents_at(&sorted, sorted.count - 1) : NULL;

        if (last && one.off <= last->end)
            last->end = cv_max(last->end, one.end);
        else
            room = cv_host_extents_push(mem, &sorted, one);
    }
    cv_keys_free(mem, &order);
    cv_host_extents_free(mem, room ? all : &sorted);
    if (room)
        *all = sorted;
    return room ? CUVET_OK : cv_nomem(reader->ctx, reader->base);
}

static cuvet_status loaded_extents(cv_host_read_ctx *reader, cv_host_extents *out)
{
    for (uint64_t i = 0; i < reader->host->loads.count; i++) {
        const cv_elf_segment *segment = cv_host_loads_get(&reader->host->loads, i);
        uint64_t end = cv_min(cv_sat_add(segment->off, segment->filesz), reader->size);
        cv_host_extent one = { reader->base + segment->off, reader->base + end };

        if (segment->off < end && !cv_host_extents_push(&reader->ctx->mem, out, one))
            return cv_nomem(reader->ctx, reader->base);
    }
    return sort_extents(reader, out);
}

static bool holds_containers(cv_hostobj_kind kind)
{
    return kind == CV_HOSTOBJ_FATBIN || kind == CV_HOSTOBJ_RELFATBIN;
}

/* What the sections say about themselves. */
static cuvet_status told_extents(cv_host_read_ctx *reader, search_reach reach, cv_host_extents *out)
{
    const cv_host *host = reader->host;
    bool room = true;

    for (uint64_t i = 0; i < host->sections.count && room; i++) {
        const cv_host_section *section = cv_host_sections_get(&host->sections, i);

        if (reach == SEARCH_UNNAMED || holds_containers(section->kind))
            room = cv_host_extents_push(&reader->ctx->mem, out,
                                        (cv_host_extent){ section->off, section->off + section->size });
    }
    for (uint64_t i = 0; i < host->ranges.count && room; i++) {
        const cv_host_range *range = cv_host_ranges_get(&host->ranges, i);

        if (reach == SEARCH_UNNAMED || range->use == CV_HOST_NO_DATA)
            room = cv_host_extents_push(&reader->ctx->mem, out, (cv_host_extent){ range->off, range->end });
    }
    return room ? sort_extents(reader, out) : cv_nomem(reader->ctx, reader->base);
}

/* ---- records ---- */

/* All of them that begin in [off, end): some are data. */
static cuvet_status search_extent(cv_host_read_ctx *reader, cv_window *win, uint64_t off, uint64_t end)
{
    uint64_t all = cv_min(reader->base + reader->size, cv_sat_add(end, CV_WRAPPER_SIZE));
    cuvet_status status = cv_work(reader->ctx, (end - off) / 8, off) ? CUVET_OK : CUVET_E_LIMIT;

    while (status == CUVET_OK && off < end && all - off >= CV_WRAPPER_SIZE) {
        cv_span part;
        uint64_t at = 0, last;

        status = cv_window_at(reader->ctx, win, reader->src, off, CV_WRAPPER_SIZE, all, &part);
        if (status != CUVET_OK)
            break;
        last = cv_min(part.len - CV_WRAPPER_SIZE + 1, end - off); /* what may begin a whole record */
        while (status == CUVET_OK &&
               (at = cv_span_find_u32(part, at, CV_WRAPPER_MAGIC, CV_WRAPPER_MAGIC)) < last) {
            cv_wrapper wrapper = { CV_WRAPPER_MAGIC, cv_u32_at(part, at + 4),
                                   cv_u64_at(part, at + CV_WRAPPER_DATA),
                                   cv_u64_at(part, at + CV_WRAPPER_SECOND) };

            status = cv_work(reader->ctx, HIT_WORK, off + at)
                         ? cv_host_add_wrapper(reader, &wrapper, off + at, 0, 0)
                         : CUVET_E_LIMIT;
            at += 4;
        }
        off += last;
    }
    return status;
}

static cuvet_status search_extents(cv_host_read_ctx *reader, const cv_host_extents *loaded,
                                   const cv_host_extents *told)
{
    cuvet_status status = CUVET_OK;
    cv_window win = { 0 };
    uint64_t k = 0;

    for (uint64_t i = 0; i < loaded->count && status == CUVET_OK; i++) {
        cv_host_extent part = *cv_host_extents_get(loaded, i);

        while (part.off < part.end && status == CUVET_OK) {
            const cv_host_extent *next = k < told->count ? cv_host_extents_get(told, k) : NULL;
            uint64_t end = next ? cv_min(part.end, cv_max(next->off, part.off)) : part.end;

            if (next && next->end <= part.off) {
                k++;
                continue;
            }
            if (part.off < end)
                status = search_extent(reader, &win, part.off, end);
            part.off = next && next->off < part.end ? cv_max(end, next->end) : end;
        }
    }
    cv_window_free(reader->ctx, &win);
    return status;
}

/* ---- which of them are wrappers ---- */

/* Tools put wrappers where data is, at multiples of their alignment; in code the same bytes may be a constant
 * that a program compares with. */
static bool lies_in_data(cv_host_read_ctx *reader, const cv_host_wrapper *wrapper)
{
    const cv_host_loads *loads = &reader->host->loads;
    uint64_t at = wrapper->off - reader->base;

    if (at % (reader->header.is32 ? 4 : 8) != 0 || (wrapper->version != 1 && wrapper->version != 2) ||
        !cv_work(reader->ctx, loads->count, wrapper->off))
        return false;
    for (uint64_t i = 0; i < loads->count; i++) {
        const cv_elf_segment *segment = cv_host_loads_get(loads, i);

        if (at >= segment->off && at - segment->off < segment->filesz &&
            ((segment->flags & CV_PF_W) || !(segment->flags & CV_PF_X)))
            return true;
    }
    return false;
}

/* It leads to what begins like a container, or it lies where wrappers do and has a pointer. */
static cuvet_status is_wrapper(cv_host_read_ctx *reader, const cv_host_wrapper *wrapper, bool *good)
{
    uint64_t target = cv_wrap_sub(wrapper->target, reader->base); /* of what was found */
    cuvet_status status = CUVET_OK;

    *good = false;
    if (wrapper->state == CV_HOST_FOUND && cv_host_has(reader, target, 4)) {
        status = cv_host_load(reader, &reader->one, target, 4);
        *good = status == CUVET_OK && cv_u32_at(reader->one.span, 0) == CV_FATBIN_MAGIC;
    }
    if (status == CUVET_OK && !*good)
        *good = (wrapper->data != 0 || wrapper->state == CV_HOST_SKIPPED) && lies_in_data(reader, wrapper);
    return status;
}

/* Places of the wrappers from 'first' on, which go. */
static cuvet_status take_places(cv_host_read_ctx *reader, uint64_t first, cv_u64s *places)
{
    cv_host_wrappers *all = &reader->host->wrappers;
    cuvet_status status = CUVET_OK;

    for (uint64_t i = first; i < all->count && status == CUVET_OK; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_get(all, i);
        bool good;

        status = is_wrapper(reader, wrapper, &good);
        if (status == CUVET_OK && good && !cv_u64s_push(&reader->ctx->mem, places, wrapper->off))
            status = cv_nomem(reader->ctx, wrapper->off);
    }
    all->count = first;
    return status;
}

/* Read them like the records of a section. */
static cuvet_status read_places(cv_host_read_ctx *reader, const cv_u64s *places)
{
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 0; i < places->count && status == CUVET_OK; i++) {
        uint64_t off = *cv_u64s_get(places, i);
        cv_wrapper wrapper;

        status = cv_host_load(reader, &reader->part, off - reader->base, CV_WRAPPER_SIZE);
        cv_path_push(reader->ctx, CUVET_P_WRAPPER, true, reader->host->wrappers.count);
        if (status == CUVET_OK && cv_wrapper_read(reader->ctx, reader->part.span, 0, &wrapper) == CUVET_OK)
            status = cv_host_add_wrapper(reader, &wrapper, off, 0, 0);
        cv_path_pop(reader->ctx);
    }
    return status;
}

/* Pointers of programs that are not followed: said of the first wrapper. */
static void report_unfollowed(cv_host_read_ctx *reader, uint64_t first)
{
    cv_host_wrappers *all = &reader->host->wrappers;

    for (uint64_t i = first; i < all->count; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_get(all, i);

        if (!lies_in_data(reader, wrapper))
            continue;
        cv_report(reader->ctx, CV_R_HOST_WRAPPER_HOST, wrapper->off, 0, reader->header.machine,
                  reader->header.is32 ? 32 : 64);
        break;
    }
    all->count = first;
}

static cuvet_status judge_hits(cv_host_read_ctx *reader, uint64_t first)
{
    uint32_t absolute, relative;
    cuvet_status status;
    cv_u64s places = { 0 };

    if (reader->host->wrappers.count == first)
        return CUVET_OK;
    if (reader->header.is32 || !cv_hostobj_pointers(reader->header.machine, &absolute, &relative)) {
        report_unfollowed(reader, first);
        return CUVET_OK;
    }
    reader->quiet = true;
    status = cv_host_resolve_loaded(reader, first, relative);
    reader->quiet = false;
    if (status == CUVET_OK)
        status = take_places(reader, first, &places);
    if (status == CUVET_OK)
        status = read_places(reader, &places);
    cv_u64s_free(&reader->ctx->mem, &places);
    return status;
}

static cuvet_status search(cv_host_read_ctx *reader, search_reach reach, uint64_t first)
{
    cv_host_extents loaded = { 0 }, told = { 0 };
    cuvet_status status = loaded_extents(reader, &loaded);

    if (status == CUVET_OK && reach != SEARCH_ALL)
        status = told_extents(reader, reach, &told);
    if (status == CUVET_OK)
        status = search_extents(reader, &loaded, &told);
    cv_host_extents_free(&reader->ctx->mem, &loaded);
    cv_host_extents_free(&reader->ctx->mem, &told);
    return status == CUVET_OK ? judge_hits(reader, first) : status;
}

cuvet_status cv_host_search_wrappers(cv_host_read_ctx *reader)
{
    reader->host->searched = true;
    return search(reader, SEARCH_ALL, 0);
}

/* ---- beside the sections ---- */

static search_reach reach_of(const cv_host *host)
{
    bool containers = false;

    for (uint64_t i = 0; i < host->sections.count; i++) {
        cv_hostobj_kind kind = cv_host_sections_get(&host->sections, i)->kind;

        if (kind == CV_HOSTOBJ_WRAPPERS)
            return SEARCH_UNNAMED;
        containers = containers || holds_containers(kind);
    }
    return containers ? SEARCH_DATA : SEARCH_UNNAMED;
}

static cuvet_status look_further(cv_host_read_ctx *reader)
{
    cv_host_wrappers *all = &reader->host->wrappers;
    uint64_t first = all->count;
    cuvet_status status = cv_host_read_loads(reader);

    if (status == CUVET_OK && reader->host->loads.count > 0)
        status = search(reader, reach_of(reader->host), first);
    if (status == CUVET_OK && all->count > first)
        status = cv_host_resolve(reader, first);
    for (uint64_t i = first; i < all->count && status == CUVET_OK; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_get(all, i);

        cv_report_at(reader->ctx, CUVET_P_WRAPPER, i, CV_R_HOST_WRAPPER_PLACE, wrapper->off, CV_WRAPPER_SIZE,
                     wrapper->target, 0);
    }
    return status;
}

cuvet_status cv_host_look_further(cv_ctx *ctx, const cuvet_source *src, cv_host *host)
{
    cv_host_read_ctx reader = { .ctx = ctx,
                                .src = src,
                                .base = host->base,
                                .size = host->size,
                                .host = host,
                                .header = host->header,
                                .n_sections = host->n_sections };
    cuvet_status status;

    if (host->searched || (host->type != CV_ELF_EXEC && host->type != CV_ELF_DYN))
        return CUVET_OK;
    host->searched = true;
    cv_path_push(ctx, CUVET_P_HOST, false, 0);
    status = look_further(&reader);
    cv_path_pop(ctx);
    cv_host_free_blocks(&reader);
    return status;
}
