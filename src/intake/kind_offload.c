/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload binaries of LLVM, one behind the other: each image is a region of its own. */
#include "format/offload/read.h"
#include "format/ptx/read.h"
#include "intake/probe.h"
#include "intake/region.h"

/* Most bytes in front of the first image in which strings are looked for; clang writes about a hundred for an
 * image. */
#define TABLES_MOST CV_MIB

/* What a binary costs, however small it is. */
#define BINARY_WORK UINT64_C(256)

typedef struct offload_part {
    cv_offload_image image;
    bool cuda; /* it says so */
} offload_part;

CV_VEC(offload_parts, offload_part);

typedef struct offload_state {
    bool inside;                   /* of the binary that begins at 'base' */
    uint64_t base, next;           /* … and where the one behind it begins */
    offload_parts parts;           /* its images, in the order of its entries */
    cv_keys order;                 /* in that of the file: where each begins, and its number … */
    uint64_t image;                /* … the next one of these */
    uint64_t entries, entries_end; /* before all of them */
    uint64_t free;                 /* end of what has an owner */
    uint64_t tables;               /* number of stretches so far that are none of these */
    uint64_t before;               /* entries of the binaries before this one */
    uint64_t count;                /* of its entries */
} offload_state;

static cv_probe_result probe_offload(cv_span head)
{
    return cv_offload_probe(head) ? CV_PROBE_YES : CV_PROBE_NO;
}

static cv_piece image_piece(const offload_state *state, const offload_part *part)
{
    uint64_t off = state->base + part->image.off;

    return (cv_piece){ .what = CV_PIECE_REGION,
                       .off = off,
                       .end = off + part->image.size,
                       .step = CUVET_P_OFFLOAD,
                       .index = state->before + part->image.index,
                       .cuda = part->cuda,
                       .place = CUVET_PLACE_OFFLOAD };
}

static cv_piece table_piece(offload_state *state, uint64_t off, uint64_t end)
{
    return (cv_piece){ .what = CV_PIECE_TABLE,
                       .off = off,
                       .end = end,
                       .step = CUVET_P_RECORD,
                       .index = state->tables++,
                       .raw = true };
}

/* What lies before it has an owner, or is a part. */
static void pass(cv_region *region, uint64_t to)
{
    region->pos = region->covered = region->rest_end = to;
}

static cuvet_status read_entries(cv_ctx *ctx, cv_walk *walk, offload_state *state,
                                 const cv_offload_header *header)
{
    bool room = true;
    cuvet_status status =
        cv_work(ctx, cv_sat_mul(header->n_entries, 8), state->base) ? CUVET_OK : CUVET_E_LIMIT;

    if (status == CUVET_OK)
        status = cv_block_load(ctx, &walk->tmp, walk->src, state->base + header->entries,
                               header->n_entries * CV_OFFLOAD_ENTRY);
    for (uint64_t i = 0; i < header->n_entries && status == CUVET_OK && room; i++) {
        offload_part part = { 0 };

        cv_path_push(ctx, CUVET_P_OFFLOAD, true, state->before + i);
        cv_offload_read_entry(ctx, walk->tmp.span, header, i, &part.image);
        cv_path_pop(ctx);
        room = offload_parts_push(&ctx->mem, &state->parts, part) &&
               cv_keys_push(&ctx->mem, &state->order, (cv_key){ part.image.off, i });
    }
    cv_keys_sort(&state->order);
    return room ? status : cv_nomem(ctx, state->base);
}

/* What the strings say of each image. */
static cuvet_status read_strings(cv_ctx *ctx, cv_walk *walk, offload_state *state,
                                 const cv_offload_header *header)
{
    uint64_t size = state->order.count ? cv_keys_get(&state->order, 0)->key : 0;
    cuvet_status status = cv_block_load(ctx, &walk->tmp, walk->src, state->base, cv_min(size, TABLES_MOST));

    for (uint64_t i = 0; i < state->parts.count && status == CUVET_OK; i++) {
        offload_part *part = offload_parts_at(&state->parts, i);
        cv_span triple;

        /* A key that has no end is looked for in all of them. */
        if (!cv_work(ctx, 1 + walk->tmp.span.len / 64, state->base))
            return CUVET_E_LIMIT;
        cv_path_push(ctx, CUVET_P_OFFLOAD, true, state->before + part->image.index);
        status = cv_offload_read_triple(ctx, walk->tmp.span, header, &part->image, &triple);
        cv_path_pop(ctx);
        part->cuda = cv_offload_is_cuda(&part->image, triple);
        status = status == CUVET_E_MALFORMED ? CUVET_OK : status;
    }
    return status;
}

static cuvet_status read_binary(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece)
{
    offload_state *state = region->state;
    uint64_t left = region->end - region->pos;
    cv_offload_header header;
    cuvet_status status =
        cv_block_load(ctx, &walk->tmp, walk->src, region->pos, cv_min(left, CV_OFFLOAD_HEADER_MOST));

    if (status != CUVET_OK)
        return status;
    if (!cv_work(ctx, BINARY_WORK, region->pos)) {
        walk->over = true; /* reported: what follows is not looked at */
        return CUVET_OK;
    }
    cv_path_push(ctx, CUVET_P_OFFLOAD, true, state->before);
    status = cv_offload_read_header(ctx, walk->tmp.span, left, &header);
    cv_path_pop(ctx);
    if (status == CUVET_E_MALFORMED || status == CUVET_E_UNSUPPORTED) {
        *piece = table_piece(state, region->pos, region->end);
        pass(region, region->end);
        return CUVET_OK;
    }
    if (header.n_entries > ctx->lim.members) {
        cv_report(ctx, CV_R_LIMIT_MEMBERS, region->pos, 0, header.n_entries, ctx->lim.members);
        header.n_entries = ctx->lim.members;
    }
    state->inside = true;
    state->base = region->pos;
    state->next = state->base + header.next;
    state->image = 0;
    state->count = header.n_entries;
    offload_parts_clear(&state->parts);
    cv_keys_clear(&state->order);
    if (header.compressed) {
        cv_walk_claim(ctx, walk, state->base, header.next, CV_CLAIM_COMPRESSED, 0);
        state->free = state->entries = state->entries_end = state->next;
        return CUVET_OK;
    }
    state->entries = state->base + header.entries;
    state->entries_end = state->entries + header.n_entries * CV_OFFLOAD_ENTRY;
    cv_walk_claim(ctx, walk, state->base, header.header_size, CV_CLAIM_OFFLOAD_HEADER, 0);
    state->free = state->base + header.header_size;
    status = read_entries(ctx, walk, state, &header);
    if (status == CUVET_OK)
        status = read_strings(ctx, walk, state, &header);
    return status == CUVET_E_LIMIT ? CUVET_OK : status; /* reported; its bytes are walked all the same */
}

/* Strings, padding and what nobody names: a tool that reads none of it may be shown something there. */
static void take_table(cv_ctx *ctx, cv_walk *walk, offload_state *state, uint64_t to, cv_piece *piece)
{
    if (to - state->free >= CV_FATBIN_HEADER)
        *piece = table_piece(state, state->free, to);
    else
        cv_walk_claim(ctx, walk, state->free, to - state->free, CV_CLAIM_OFFLOAD_HEADER, 0);
    state->free = to;
}

/* Is something for a CUDA device in a form that nobody knows? */
static cuvet_status check_form(cv_ctx *ctx, cv_walk *walk, const offload_part *part, const cv_piece *piece)
{
    uint64_t size = part->image.size;
    cuvet_status status;
    bool more;

    if (!part->cuda)
        return CUVET_OK;
    status = cv_block_load(ctx, &walk->tmp, walk->src, piece->off, cv_min(size, CV_PTX_PROBE));
    if (status == CUVET_OK && cv_containers_probe(walk->tmp.span, &more)->kind == CUVET_K_NONE && !more)
        cv_report_at(ctx, CUVET_P_OFFLOAD, piece->index, CV_R_OFFLOAD_UNKNOWN, piece->off, size,
                     part->image.image_kind, size);
    return status;
}

static cuvet_status next_image(cv_ctx *ctx, cv_walk *walk, offload_state *state, cv_piece *piece)
{
    const offload_part *part =
        offload_parts_get(&state->parts, cv_keys_get(&state->order, state->image)->index);
    cv_piece image = image_piece(state, part);

    if (part->image.size != 0 && image.off > state->free) {
        take_table(ctx, walk, state, image.off, piece);
        return CUVET_OK;
    }
    state->image++;
    if (part->image.size == 0)
        return CUVET_OK;
    if (image.off < state->free) {
        cv_report_at(ctx, CUVET_P_OFFLOAD, image.index, CV_R_OFFLOAD_OVERLAP, image.off, part->image.size,
                     part->image.off, state->free - state->base);
        return CUVET_OK;
    }
    *piece = image;
    state->free = image.end;
    return check_form(ctx, walk, part, &image);
}

/* What is next in the binary: header, what lies in front of its entries, these, images with what lies between
 * them, the rest. */
static cuvet_status next_inside(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece)
{
    offload_state *state = region->state;

    if (state->free < state->entries) {
        take_table(ctx, walk, state, state->entries, piece);
    } else if (state->free < state->entries_end) {
        cv_walk_claim(ctx, walk, state->free, state->entries_end - state->free, CV_CLAIM_OFFLOAD_HEADER, 0);
        state->free = state->entries_end;
    } else if (state->image < state->order.count) {
        return next_image(ctx, walk, state, piece);
    } else if (state->free < state->next) {
        take_table(ctx, walk, state, state->next, piece);
    } else {
        pass(region, state->next);
        state->before += state->count;
        state->inside = false;
    }
    return CUVET_OK;
}

static cuvet_status next_in_offload(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece,
                                    cv_unit *unit)
{
    offload_state *state = region->state;
    uint64_t from = state->free;
    cuvet_status status;

    (void)unit; /* what is in it are regions */
    if (state->inside && !walk->over) {
        status = next_inside(ctx, walk, region, piece);
        if (status == CUVET_OK && state->free != from && state->free < region->end)
            status = cv_walk_border(ctx, walk, region->off, state->free, region->end);
        return status;
    }
    if (region->pos == region->end || walk->over) {
        region->covered = region->end; /* what is not looked at has no owner */
        piece->what = CV_PIECE_END;
        return CUVET_OK;
    }
    return read_binary(ctx, walk, region, piece);
}

static cuvet_status close_offload(cv_ctx *ctx, cv_walk *walk, cv_region *region, bool whole)
{
    offload_state *state = region->state;

    (void)walk;
    (void)whole;
    if (!state) /* there was no memory for it */
        return CUVET_OK;
    offload_parts_free(&ctx->mem, &state->parts);
    cv_keys_free(&ctx->mem, &state->order);
    return CUVET_OK;
}

const cv_container_ops cv_kind_offload = { .name = "offload binary",
                                           .step = CUVET_P_OFFLOAD,
                                           .holds = true,
                                           .nests = true,
                                           .state_size = sizeof(offload_state),
                                           .probe = probe_offload,
                                           .next = next_in_offload,
                                           .close = close_offload };
