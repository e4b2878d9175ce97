/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Containers: a header, then members one by one, each a unit. */
#include "intake/kind_fatbin_agree.h"
#include "intake/place.h"
#include "intake/probe.h"
#include "intake/region.h"

#include "base/arith.h"

typedef struct container_state {
    uint64_t entry; /* of the next member */
    bool clipped, referenced;
    cuvet_place place;
} container_state;

static cv_probe_result probe_container(cv_span head)
{
    return cv_u32_at(head, 0) == CV_FATBIN_MAGIC ? CV_PROBE_YES : CV_PROBE_NO;
}

static cuvet_status describe_container(cv_look *look)
{
    uint64_t count = look->span.len, hs = cv_u16_at(look->span, 6), size = cv_u64_at(look->span, 8);
    uint64_t version = count == 5 ? cv_u8_at(look->span, 4) : cv_u16_at(look->span, 4);
    bool fits = count >= CV_FATBIN_HEADER && hs >= CV_FATBIN_HEADER && hs <= count && size <= count - hs;

    if (count > 4 && version != 1)
        return cv_look_unknown(look, CV_R_CLASS_FATBIN_VERSION, 4, version, 1);
    if (fits || (look->lenient && count >= CV_CLASS_FATBIN_LENIENT)) {
        (void)cv_look_found(look, CUVET_K_FATBIN);
        look->out->length = fits ? hs + size : count;
        return CUVET_OK;
    }
    if (count < CV_FATBIN_HEADER)
        return cv_look_short(look, CUVET_K_FATBIN, CV_R_CLASS_FATBIN_SHORT, CV_FATBIN_HEADER);
    if (hs < CV_FATBIN_HEADER || hs > count)
        return cv_look_cut(look, CUVET_K_FATBIN, (cv_class_why){ CV_R_CLASS_FATBIN_HEADER, 6, 2, hs, count });
    return cv_look_cut(look, CUVET_K_FATBIN,
                       (cv_class_why){ CV_R_CLASS_FATBIN_SIZE, 8, 8, size, count - hs });
}

/* The reference takes the first of two members with the same target; a second one is worth a word. */
static cuvet_status note_target(cv_ctx *ctx, cv_walk *walk, cv_span head)
{
    uint64_t flags = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS),
             suffix = flags & (CV_FB_ARCH_A | CV_FB_ARCH_F);
    uint64_t target = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_KIND) << 48 | suffix << 12 |
                      cv_fatbin_get(head, CV_FB_FIELD_MEMBER_ARCH);

    if (!cv_work(ctx, walk->targets.count, head.off))
        return CUVET_OK;
    for (uint64_t i = 0; i < walk->targets.count; i++) {
        if (*cv_u64s_at(&walk->targets, i) == target) {
            cv_report(ctx, CV_R_FATBIN_DUPLICATE, head.off, 0, i, 0);
            break;
        }
    }
    return cv_u64s_push(&ctx->mem, &walk->targets, target) ? CUVET_OK : cv_nomem(ctx, head.off);
}

/* A container has to be where a wrapper points and where only containers may be. */
static bool must_be_container(cv_ctx *ctx, const cv_walk *walk, const cv_region *region, uint64_t at)
{
    if (region->bare && at == region->off)
        return true;
    if (!region->host || !cv_work(ctx, walk->host.sections.count, at))
        return false;
    for (uint64_t i = 0; i < walk->host.sections.count; i++) {
        const cv_host_section *header = cv_host_sections_get(&walk->host.sections, i);

        if (header->off == at && cv_walk_holds_containers(header))
            return true;
    }
    return cv_host_names(&walk->host, at);
}

/* Fatbin section that the offset lies in: its end, or UINT64_MAX. */
static uint64_t section_end(cv_ctx *ctx, const cv_walk *walk, const cv_region *region, uint64_t at)
{
    /* A hostile table may have millions of sections of that name: each look at them is paid for. */
    if (!region->host || !cv_work(ctx, walk->host.sections.count, at))
        return UINT64_MAX;
    for (uint64_t i = 0; i < walk->host.sections.count; i++) {
        const cv_host_section *section = cv_host_sections_get(&walk->host.sections, i);

        if (cv_walk_holds_containers(section) && at >= section->off && at - section->off < section->size)
            return section->off + section->size;
    }
    return UINT64_MAX;
}

/* Where nothing says that a container must be: all eight bytes at an aligned place are one. At an odd place
 * they may be an instruction's operand (the tool that writes containers has them in its code), unless the
 * size or a first member fits as well. */
static bool looks_like_container(cv_span head, uint64_t left, uint64_t object_off)
{
    uint64_t size = cv_u64_at(head, 8);

    if (cv_u32_at(head, 4) != CV_FATBIN_TAIL)
        return false;
    if (object_off % 8 == 0)
        return true;
    return (size % 8 == 0 && size >= CV_FATBIN_MEMBER && size <= left) ||
           cv_fatbin_begins_member(cv_span_tail(head, CV_FATBIN_HEADER),
                                   left - cv_min(left, CV_FATBIN_HEADER));
}

/* A header that says that it is longer. No tool writes one, but readers step over as many bytes as it says:
 * it counts when a member begins there. */
static cuvet_status has_long_header(cv_ctx *ctx, const cv_walk *walk, uint64_t at, cv_span head,
                                    uint64_t left, bool *yes)
{
    uint8_t bytes[CV_FATBIN_MEMBER] = { 0 };
    uint64_t size = cv_u16_at(head, 6), count = cv_min(left - cv_min(left, size), sizeof(bytes));
    cuvet_status status = CUVET_OK;

    *yes = false;
    if (cv_fatbin_get(head, CV_FB_FIELD_CONTAINER_VERSION) != CV_FATBIN_VERSION || size == CV_FATBIN_HEADER ||
        !cv_work(ctx, count, at))
        return CUVET_OK;
    /* The window stays where it is: the head lies in it. */
    status = cv_source_read(ctx, walk->src, at + size, bytes, (size_t)count);
    *yes = status == CUVET_OK &&
           cv_fatbin_begins_member(cv_span_of(bytes, count, at + size), left - cv_min(left, size));
    return status;
}

/* Alignment is judged in objects whose start is known; in other bytes it may be anything. */
static uint64_t object_off(const cv_region *region, uint64_t at)
{
    return region->bare || region->host ? at - region->off : 0;
}

static cuvet_status check_container(cv_ctx *ctx, cv_walk *walk, const cv_region *in, cv_region *region,
                                    cv_span head, bool *here)
{
    uint64_t at = region->off, left = in->end - at, from = at - in->off;
    cuvet_status status = CUVET_OK;

    *here = must_be_container(ctx, walk, in, at) || looks_like_container(head, left, from);
    if (!*here)
        status = has_long_header(ctx, walk, at, head, left, here);
    if (status == CUVET_OK && !*here &&
        (from % 8 == 0 || (cv_u16_at(head, 4) < 16 && cv_u16_at(head, 6) < 256)))
        cv_report(ctx, CV_R_FILE_STRAY_MAGIC, at, 4, cv_u32_at(head, 4), CV_FATBIN_TAIL);
    return status;
}

/* No wrapper of the sections names a container: perhaps one elsewhere does. */
static cuvet_status look_further(cv_ctx *ctx, cv_walk *walk, const cv_region *in)
{
    cuvet_path path = ctx->path;
    cuvet_status status;

    ctx->path = in->path;
    status = cv_host_look_further(ctx, walk->src, &walk->host);
    ctx->path = path;
    return status == CUVET_E_LIMIT ? CUVET_OK : status; /* reported */
}

static cuvet_status open_container(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_span head)
{
    const cv_region *in = cv_walk_object(walk);
    uint64_t at = region->off, limit;
    container_state *state = region->state;
    cv_fatbin_container container;
    cuvet_status status = cv_fatbin_read_container(ctx, head, in->end - at, object_off(in, at), &container);

    if (status != CUVET_OK)
        return status;
    limit = section_end(ctx, walk, in, at);
    region->pos = at + CV_FATBIN_HEADER;
    region->end = region->rest_end = region->pos + container.body_size;
    state->clipped = container.body_size != container.size;
    state->referenced = in->bare || (in->host && cv_host_names(&walk->host, at));
    if (in->host && !state->referenced) {
        status = look_further(ctx, walk, in);
        state->referenced = cv_host_names(&walk->host, at);
    }
    if (status != CUVET_OK)
        return status;
    state->place = cv_place_at(ctx, walk, at, true);
    cv_walk_say_place(ctx, walk, at, CV_FATBIN_HEADER, state->place);
    cv_u64s_clear(&walk->targets);
    walk->n_containers++;
    if (in->host && !state->referenced) {
        walk->n_unreferenced++;
        cv_report(ctx, CV_R_FATBIN_UNREFERENCED, at, CV_FATBIN_HEADER, at, 0);
    }
    if (limit != UINT64_MAX && region->end > limit)
        cv_report(ctx, CV_R_FATBIN_CROSSES_SECTION, at + 8, 8, region->end, limit);
    cv_walk_claim(ctx, walk, at, CV_FATBIN_HEADER, CV_CLAIM_CONTAINER_HEADER, 0);
    return cv_u64s_push(&ctx->mem, &walk->found, at) ? CUVET_OK : cv_nomem(ctx, at);
}

static cv_packing packing_of(cv_span head)
{
    uint64_t flags = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS);

    if (!(flags & CV_FB_COMPRESSED))
        return CV_PACK_RAW;
    if (flags & CV_FB_SCRAMBLED)
        return CV_PACK_OPAQUE;
    return flags & CV_FB_LZ4 ? CV_PACK_LZ4 : CV_PACK_ZSTD;
}

/* The member at region->pos, of which 'left' bytes are there. *whole: they are enough. */
static cuvet_status read_member(cv_ctx *ctx, cv_walk *walk, const cv_region *region, cv_unit *out,
                                bool *whole)
{
    const container_state *state = region->state;
    uint64_t left = region->end - region->pos;
    cv_unit_head record;
    cv_span head = cv_span_of(&record, cv_min(left, sizeof(record)), region->pos);
    cuvet_status status = cv_window_read(ctx, &walk->window, walk->src, region->pos, &record,
                                         (size_t)head.len, cv_walk_object(walk)->end);

    *whole = false;
    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, CUVET_P_ENTRY, true, state->entry);
    status = cv_walk_unit(ctx, walk, state->place, region->pos, out);
    *whole = cv_fatbin_member_extent(head, left, &out->header_size, &out->payload_size);
    /* A clipped container has said already why its last member is cut off. */
    if (status == CUVET_OK && !*whole && !(state->clipped && head.len < CV_FATBIN_MEMBER))
        status = cv_fatbin_reject_member(ctx, head, left);
    if (status == CUVET_OK && *whole)
        status = note_target(ctx, walk, head);
    if (*whole) {
        out->row = region->row;
        out->unpacks = cv_budget_cost(&ctx->lim, head);
        out->packing = packing_of(head);
        out->container_off = region->off;
        out->referenced = state->referenced;
        out->head = record; /* all of it: a shorter one has no extent */
    }
    cv_path_pop(ctx);
    return status;
}

static cuvet_status next_member(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece, cv_unit *unit)
{
    container_state *state = region->state;
    cuvet_status status;
    bool whole;

    if (region->pos == region->end || region->broken) {
        piece->what = CV_PIECE_END;
        return CUVET_OK;
    }
    if (state->entry >= ctx->lim.members) {
        cv_report(ctx, CV_R_LIMIT_MEMBERS, region->pos, 0, state->entry + 1, ctx->lim.members);
        region->broken = true;
        return CUVET_OK;
    }
    status = read_member(ctx, walk, region, unit, &whole);
    if (!whole) {
        region->broken = true;
        return status == CUVET_E_MALFORMED ? CUVET_OK : status;
    }
    region->pos += unit->header_size + unit->payload_size;
    state->entry++;
    piece->what = CV_PIECE_UNIT;
    return status;
}

static const cv_magic MAGIC[] = { { CV_FATBIN_MAGIC, 4, 2, CUVET_K_FATBIN } };

const cv_container_ops cv_kind_fatbin = { .name = "fatbin",
                                          .kind = CUVET_K_FATBIN,
                                          .step = CUVET_P_FATBIN,
                                          .searched = true,
                                          .state_size = sizeof(container_state),
                                          .magic = MAGIC,
                                          .n_magics = CV_COUNT(MAGIC),
                                          .probe = probe_container,
                                          .describe = describe_container,
                                          .check = check_container,
                                          .open = open_container,
                                          .next = next_member,
                                          .examine = cv_fatbin_examine };
