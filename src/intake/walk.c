/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One loop over a stack of regions. Rows say what is next in theirs; what bytes have an owner, limits, names,
 * paths and claims are kept here. */
#include "intake/walk.h"

#include "format/ptx/read.h"
#include "intake/locate.h"
#include "intake/place.h"
#include "intake/region.h"

/* Good tools leave fewer zero bytes than this between containers, and fewer than ALIGNED_MAX where the
 * next container is aligned to as much, as in libraries for AArch64. */
#define GAP_MAX     UINT64_C(32)
#define ALIGNED_MAX UINT64_C(256)

/* What a unit costs, however small it is: a result, its path, its counts. */
#define UNIT_WORK UINT64_C(256)

/* Bytes that are looked at of what is known. */
#define KNOWN_HEAD UINT64_C(64)

static cv_region *top_region(cv_walk *walk)
{
    return cv_regions_at(&walk->stack, walk->stack.count - 1);
}

/* Place of the object on the stack: what was found in it lies above. */
static uint64_t object_at(const cv_walk *walk)
{
    uint64_t top = walk->stack.count - 1;

    return top - cv_regions_get(&walk->stack, top)->found;
}

cv_region *cv_walk_object(cv_walk *walk)
{
    return cv_regions_at(&walk->stack, object_at(walk));
}

uint64_t cv_walk_depth(const cv_walk *walk)
{
    return object_at(walk);
}

static cuvet_status push_region(cv_ctx *ctx, cv_walk *walk, uint64_t off, uint64_t end, bool raw, bool table)
{
    cv_region region = { .raw = raw,
                         .table = table,
                         .path = ctx->path,
                         .off = off,
                         .end = end,
                         .pos = off,
                         .covered = off,
                         .rest_end = off };

    return cv_regions_push(&ctx->mem, &walk->stack, region) ? CUVET_OK : cv_nomem(ctx, off);
}

cuvet_status cv_walk_open(cv_ctx *ctx, cv_walk *walk, const cuvet_source *src, uint64_t off, uint64_t end,
                          bool raw, bool ledger)
{
    *walk = (cv_walk){ .src = src, .ledger = ledger };
    if (off == end)
        cv_report(ctx, CV_R_FILE_EMPTY, off, 0, 0, 0);
    return push_region(ctx, walk, off, end, raw, false);
}

void cv_walk_claim(cv_ctx *ctx, cv_walk *walk, uint64_t off, uint64_t len, cv_claim_kind owner,
                   uint32_t index)
{
    cv_ledger_claim(ctx, walk->ledger ? &walk->claims : NULL, off, len, owner, index, false);
}

cuvet_status cv_walk_name(cv_ctx *ctx, cv_walk *walk, cv_span name)
{
    cv_u8s_clear(&walk->name);
    walk->named = false;
    if (!cv_work(ctx, name.len, name.off))
        return CUVET_OK;
    for (uint64_t i = 0; i < name.len; i++) {
        if (!cv_u8s_push(&ctx->mem, &walk->name, cv_u8_at(name, i)))
            return cv_nomem(ctx, name.off);
    }
    return CUVET_OK;
}

cuvet_status cv_walk_unit(cv_ctx *ctx, cv_walk *walk, cuvet_place place, uint64_t off, cv_unit *out)
{
    *out = (cv_unit){ .path = ctx->path, .off = off, .referenced = true, .place = place };
    if (cv_walk_depth(walk) == 0)
        return CUVET_OK;
    if (!walk->named) {
        walk->ar_name = walk->names.count;
        walk->named = true;
        for (uint64_t i = 0; i < walk->name.count; i++) {
            if (!cv_u8s_push(&ctx->mem, &walk->names, *cv_u8s_at(&walk->name, i)))
                return cv_nomem(ctx, off);
        }
    }
    out->ar_name = walk->ar_name;
    out->ar_name_len = walk->name.count;
    return CUVET_OK;
}

cuvet_status cv_walk_whole(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece, cv_unit *unit)
{
    cuvet_status status;

    if (region->pos == region->end) {
        piece->what = CV_PIECE_END;
        return CUVET_OK;
    }
    status = cv_walk_unit(ctx, walk, cv_place_at(ctx, walk, region->off, false), region->off, unit);
    if (region->embedded)
        ctx->path = cv_walk_object(walk)->path; /* the place is one in there */
    cv_walk_say_place(ctx, walk, region->off, region->end - region->off, unit->place);
    unit->row = region->row;
    unit->payload_size = region->end - region->off;
    unit->embedded = region->embedded;
    unit->for_cuda = cv_walk_object(walk)->cuda;
    region->pos = region->end;
    piece->what = CV_PIECE_UNIT;
    return status;
}

/* In archives and host files there is a place for everything: what lies elsewhere no linker and no dumper
 * sees. */
void cv_walk_say_place(cv_ctx *ctx, const cv_walk *walk, uint64_t at, uint64_t size, cuvet_place place)
{
    if (!cv_place_chosen(place) && (cv_walk_depth(walk) > 0 || cv_regions_get(&walk->stack, 0)->host))
        cv_report(ctx, CV_R_HOST_PLACE, at, cv_min(size, CV_FATBIN_HEADER), place, 0);
}

cuvet_status cv_walk_border(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t at, uint64_t end)
{
    uint64_t hit = at;
    bool found = false;
    cuvet_status status = cv_locate_across(ctx, &walk->tmp, walk->src, from, at, end, &found, &hit);

    if (found)
        cv_report(ctx, CV_R_OFFLOAD_ACROSS, hit, at - hit, at + 1, at);
    return status;
}

bool cv_walk_is_first(const cv_walk *walk, uint64_t container_off)
{
    const cv_region *region = cv_regions_get(&walk->stack, object_at(walk));
    const cv_host_section *first = NULL; /* in the section table, wherever it lies */

    if (!region->host)
        return container_off == region->off;
    for (uint64_t i = 0; i < walk->host.sections.count; i++) {
        const cv_host_section *section = cv_host_sections_get(&walk->host.sections, i);

        if (section->kind == CV_HOSTOBJ_RELFATBIN && (!first || section->index < first->index))
            first = section;
    }
    return first && first->off == container_off;
}

void cv_walk_forget(cv_walk *walk)
{
    cv_u8s_clear(&walk->names);
    walk->named = false;
}

bool cv_walk_is_inside(const cv_walk *walk)
{
    const cv_region *top = walk->stack.count ? cv_regions_get(&walk->stack, walk->stack.count - 1) : NULL;

    return top && top->found && !top->broken && top->pos < top->end;
}

/* Zero bytes, not too many, a multiple of 8. */
static cuvet_status is_good_gap(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t to, bool *good)
{
    uint8_t bytes[ALIGNED_MAX] = { 0 };
    uint64_t most = (to - cv_walk_object(walk)->off) % ALIGNED_MAX == 0 ? ALIGNED_MAX : GAP_MAX;
    cuvet_status status = CUVET_OK;
    cv_span gap;

    *good = false;
    if (to - from >= most || (to - from) % 8 != 0)
        return CUVET_OK;
    /* The window stays where it is: the caller looks at a head in it. */
    if (!cv_near(walk->window.block.span, from, to - from, &gap)) {
        status = cv_source_read(ctx, walk->src, from, bytes, (size_t)(to - from));
        gap = cv_span_of(bytes, to - from, from);
    }
    *good = cv_span_find_nonzero(gap) == to - from;
    return status;
}

/* A stretch of a place where only containers may be. */
static cuvet_status check_stretch(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t to)
{
    bool good;
    cuvet_status status = is_good_gap(ctx, walk, from, to, &good);

    if (status == CUVET_OK && good)
        walk->gap_bytes += to - from;
    else if (status == CUVET_OK)
        cv_report(ctx, CV_R_FATBIN_SECTION_UNCLAIMED, from, to - from, to - from, GAP_MAX);
    return status;
}

/* Parts of [from, to) that lie in fatbin sections. */
static cuvet_status check_sections(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t to)
{
    cuvet_status status = CUVET_OK;

    if (!cv_work(ctx, walk->host.sections.count, from))
        return CUVET_OK; /* reported: the scan of this file ends in the verdict limit */
    for (uint64_t i = 0; i < walk->host.sections.count && status == CUVET_OK; i++) {
        const cv_host_section *header = cv_host_sections_at(&walk->host.sections, i);
        uint64_t begin = cv_max(from, header->off), end = cv_min(to, cv_sat_add(header->off, header->size));

        if (cv_walk_holds_containers(header) && begin < end)
            status = check_stretch(ctx, walk, begin, end);
    }
    return status;
}

cuvet_status cv_walk_gap(cv_ctx *ctx, cv_walk *walk, cv_region *region, uint64_t to)
{
    uint64_t from = region->covered, rest = cv_min(region->rest_end, to);
    cv_claim_kind owner = region->host         ? CV_CLAIM_HOST
                          : region->bare       ? CV_CLAIM_CONTAINER_GAP
                          : region->compressed ? CV_CLAIM_COMPRESSED
                                               : CV_CLAIM_OTHER;
    cuvet_status status = CUVET_OK;

    if (from < rest) {
        cv_walk_claim(ctx, walk, from, rest - from, CV_CLAIM_CONTAINER_REST, 0);
        from = rest;
    }
    if (from < to) {
        if (walk->over)
            owner = CV_CLAIM_OTHER; /* after the limit of containers: not looked at, not judged */
        else if (region->bare)
            status = check_stretch(ctx, walk, from, to);
        else if (region->host)
            status = check_sections(ctx, walk, from, to);
        cv_walk_claim(ctx, walk, from, to - from, owner, 0);
    }
    region->covered = cv_max(region->covered, to);
    return status;
}

/* May one more region be opened that holds whole files? */
static bool may_nest(cv_ctx *ctx, const cv_walk *walk, const cv_region *region)
{
    uint64_t depth = 0;

    for (uint64_t i = 0; i < walk->stack.count; i++)
        depth += cv_regions_get(&walk->stack, i)->row->nests;
    if (depth < ctx->lim.nesting && depth < CV_WALK_DEPTH)
        return true;
    cv_report(ctx, CV_R_LIMIT_NESTING, region->off, 0, depth + 1, ctx->lim.nesting);
    return false; /* searched as raw bytes instead */
}

/* What the first bytes are, of which more and more are read while that is all that is missing. */
static cuvet_status probe_region(cv_ctx *ctx, cv_walk *walk, cv_region *region, const cv_container_ops **row)
{
    uint64_t left = region->end - region->off, size = cv_min(left, CV_PTX_PROBE);
    bool more = true;
    cuvet_status status = cv_block_load(ctx, &walk->tmp, walk->src, region->off, size);

    *row = &cv_kind_raw;
    while (status == CUVET_OK) {
        const cv_container_ops *found = cv_containers_probe(walk->tmp.span, &more);

        if (!more)
            *row = found;
        if (!more || size >= left)
            return CUVET_OK;
        size = cv_min(left, size * 16);
        if (!cv_work(ctx, size, region->off))
            return CUVET_OK;
        status = cv_block_load(ctx, &walk->tmp, walk->src, region->off, size);
        if (status == CUVET_E_LIMIT)
            return CUVET_OK;
    }
    return status;
}

static cuvet_status open_row(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_span head)
{
    if (region->row->state_size) {
        region->state = cv_mem_get(&ctx->mem, region->row->state_size);
        if (!region->state)
            return cv_nomem(ctx, region->off);
    }
    return region->row->open ? region->row->open(ctx, walk, region, head) : CUVET_OK;
}

static cuvet_status close_row(cv_ctx *ctx, cv_walk *walk, cv_region *region, bool whole)
{
    cuvet_status status = CUVET_OK;

    if (region->row && region->row->close)
        status = region->row->close(ctx, walk, region, whole);
    if (region->row)
        cv_mem_put(&ctx->mem, region->state, region->row->state_size);
    region->state = NULL;
    return status;
}

/* First look at an object. */
static cuvet_status begin_object(cv_ctx *ctx, cv_walk *walk, cv_region *region)
{
    cuvet_kind known = walk->shelf && !region->raw ? cv_host_kind_at(walk->shelf, region->off) : CUVET_K_NONE;
    const cv_container_ops *row = cv_containers_of(known);
    cuvet_status status;

    cv_u64s_clear(&walk->found);
    cv_host_extents_clear(&walk->code);
    region->row = &cv_kind_raw;
    if (known == CUVET_K_NONE)
        status = probe_region(ctx, walk, region, &row);
    else
        status = cv_block_load(ctx, &walk->tmp, walk->src, region->off,
                               cv_min(region->end - region->off, KNOWN_HEAD));
    if (status != CUVET_OK)
        return status;
    if (region->raw && row != &cv_kind_ptx)
        row = &cv_kind_raw;
    if (region->must)
        row = region->must;
    if (row->nests && !may_nest(ctx, walk, region))
        row = &cv_kind_raw;
    if (row->holds)
        region->row = row;
    else
        region->head = row;
    region->bare = row->kind == CUVET_K_FATBIN;
    return open_row(ctx, walk, region, walk->tmp.span);
}

/* What was found in the region, with the path of the context. */
static cuvet_status push_found(cv_ctx *ctx, cv_walk *walk, cv_region *in, cv_region *child, cv_span head)
{
    uint64_t at = child->off;
    cuvet_status status;

    child->path = ctx->path;
    child->found = true;
    child->pos = at;
    child->rest_end = in->rest_end;
    status = open_row(ctx, walk, child, head);
    if (status == CUVET_OK && cv_regions_push(&ctx->mem, &walk->stack, *child))
        return CUVET_OK;
    if (status == CUVET_OK)
        status = cv_nomem(ctx, at);
    (void)close_row(ctx, walk, child, false);
    if (status != CUVET_E_MALFORMED)
        return status;
    in->rest_end = cv_max(in->rest_end, cv_min(at + CV_FATBIN_HEADER, in->end)); /* one cause, one finding */
    return CUVET_OK;
}

/* A magic that the search has found: the region goes on behind it, or behind what it is the beginning of. */
static __attribute__((noinline)) cuvet_status enter_hit(cv_ctx *ctx, cv_walk *walk, cv_region *in,
                                                        const cv_piece *piece)
{
    const cv_container_ops *row = cv_containers_hit(piece->head);
    cv_region child = { .row = row, .off = piece->off, .end = in->end, .embedded = true };
    bool here = false, container = row && row->kind == CUVET_K_FATBIN;
    cuvet_status status = CUVET_OK;

    in->pos = piece->off + 4;
    if (row)
        status = row->check(ctx, walk, in, &child, piece->head, &here);
    if (status != CUVET_OK || !here)
        return status;
    if (container && walk->n_containers >= ctx->lim.containers) {
        cv_report(ctx, CV_R_LIMIT_CONTAINERS, child.off, 0, walk->n_containers + 1, ctx->lim.containers);
        walk->over = true;
        in->pos = in->end;
        return CUVET_OK;
    }
    status = cv_walk_gap(ctx, walk, in, child.off);
    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, row->step, true, container ? in->n_fatbin++ : in->n_elf++);
    return push_found(ctx, walk, in, &child, piece->head);
}

/* What the region was taken for by its first bytes: all of it, or less. */
static __attribute__((noinline)) cuvet_status enter_head(cv_ctx *ctx, cv_walk *walk, cv_region *in)
{
    cv_region child = { .row = in->head, .off = in->off, .end = in->end };
    bool here = true; /* it was looked at */
    cuvet_status status =
        in->head->check ? in->head->check(ctx, walk, in, &child, walk->tmp.span, &here) : CUVET_OK;

    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, in->head->step, false, 0);
    return push_found(ctx, walk, in, &child, walk->tmp.span);
}

/* A part that is walked on its own. */
static cuvet_status enter_part(cv_ctx *ctx, cv_walk *walk, const cv_region *in, const cv_piece *piece)
{
    cuvet_place place = in->place != 0 ? in->place : piece->place;
    cuvet_status status;

    if (piece->off == piece->end)
        return CUVET_OK;
    cv_path_push(ctx, piece->step, true, piece->index);
    status = push_region(ctx, walk, piece->off, piece->end, piece->raw, piece->what == CV_PIECE_TABLE);
    if (status != CUVET_OK)
        return status;
    top_region(walk)->place = place;
    top_region(walk)->cuda = piece->cuda;
    top_region(walk)->must = piece->row;
    return CUVET_OK;
}

/* A container whose members could not all be walked: the search goes on where the walk stopped, so that
 * nothing hides in it. */
static cuvet_status leave_found(cv_ctx *ctx, cv_walk *walk, cv_region *in, const cv_region *child)
{
    cv_host_extent code = { child->off, child->pos };

    in->covered = in->pos = child->pos;
    in->rest_end = child->rest_end;
    if (child->broken)
        in->pos = cv_min(child->pos + 4, child->end);
    if (in->host && !cv_host_extents_push(&ctx->mem, &walk->code, code))
        return cv_nomem(ctx, code.off);
    return CUVET_OK;
}

static cuvet_status end_region(cv_ctx *ctx, cv_walk *walk, cv_region *region)
{
    cuvet_status status = region->found ? CUVET_OK : cv_walk_gap(ctx, walk, region, region->end);

    if (status != CUVET_OK)
        return status;
    /* After the limit of containers the list of what was found is not whole: nothing can be judged with it.
     */
    status = close_row(ctx, walk, region, !walk->over);
    if (status == CUVET_OK && region->found)
        status = leave_found(ctx, walk, cv_walk_object(walk), region);
    walk->stack.count--;
    return status;
}

static cuvet_status take_piece(cv_ctx *ctx, cv_walk *walk, cv_region *region, const cv_piece *piece)
{
    switch (piece->what) {
    case CV_PIECE_HIT: return enter_hit(ctx, walk, region, piece);
    case CV_PIECE_HEAD: return enter_head(ctx, walk, region);
    case CV_PIECE_REGION:
    case CV_PIECE_TABLE: return enter_part(ctx, walk, region, piece);
    case CV_PIECE_END: return end_region(ctx, walk, region);
    case CV_PIECE_NONE:
    case CV_PIECE_UNIT: break;
    }
    return CUVET_OK;
}

cuvet_status cv_walk_next(cv_ctx *ctx, cv_walk *walk, cv_unit *out)
{
    while (walk->stack.count) {
        cv_region *region = top_region(walk);
        cv_piece piece = { .what = CV_PIECE_NONE };
        cuvet_status status;

        ctx->path = region->path;
        status =
            region->row ? region->row->next(ctx, walk, region, &piece, out) : begin_object(ctx, walk, region);
        if (status == CUVET_OK)
            status = take_piece(ctx, walk, region, &piece);
        if (status != CUVET_OK)
            return status;
        if (piece.what != CV_PIECE_UNIT)
            continue;
        /* Without work it is a unit all the same: its headers are read. */
        if (!cv_work(ctx, UNIT_WORK, out->off))
            walk->over = true;
        walk->unpacked = cv_sat_add(walk->unpacked, out->unpacks);
        out->unpacked = walk->unpacked;
        out->walk_work = cv_ctx_spent(ctx);
        return CUVET_OK;
    }
    return CUVET_END;
}

void cv_walk_close(cv_ctx *ctx, cv_walk *walk)
{
    for (uint64_t i = 0; i < walk->stack.count; i++)
        (void)close_row(ctx, walk, cv_regions_at(&walk->stack, i), false);
    cv_regions_free(&ctx->mem, &walk->stack);
    cv_window_free(ctx, &walk->window);
    cv_block_free(ctx, &walk->tmp);
    cv_block_free(ctx, &walk->ar_table);
    cv_u8s_free(&ctx->mem, &walk->name);
    cv_u8s_free(&ctx->mem, &walk->names);
    cv_u64s_free(&ctx->mem, &walk->found);
    cv_host_extents_free(&ctx->mem, &walk->code);
    cv_u64s_free(&ctx->mem, &walk->targets);
    cv_host_free(ctx, &walk->host);
    cv_ledger_free(ctx, &walk->claims);
}
