/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One container: its header, then its members one by one. */
#include "intake/place.h"
#include "intake/walk_int.h"

#include "base/arith.h"

static cv_ledger *ledger_of(cv_walk *walk)
{
    return walk->ledger ? &walk->claims : NULL;
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

/* A container whose members could not all be walked: the search goes on where the walk stopped, so that
 * nothing hides in it. */
static void leave(cv_ctx *ctx, cv_walk *walk)
{
    cv_region *region = cv_walk_top(walk);

    walk->in_container = false;
    region->covered = walk->at;
    region->pos = walk->at;
    region->rest_end = walk->body_end;
    cv_path_pop(ctx);
    if (walk->broken && walk->at < walk->body_end)
        region->pos = cv_min(walk->at + 4, walk->body_end);
}

cuvet_status cv_walk_container(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out)
{
    uint64_t left = walk->body_end - walk->at;
    cv_span head = cv_span_of(&walk->head, cv_min(left, sizeof(walk->head)), walk->at);
    cuvet_status status;

    if (left == 0 || walk->broken) {
        leave(ctx, walk);
        return CUVET_OK;
    }
    if (walk->entry >= ctx->lim.members) {
        cv_report(ctx, CV_R_LIMIT_MEMBERS, walk->at, 0, walk->entry + 1, ctx->lim.members);
        walk->broken = true;
        return CUVET_OK;
    }
    status = cv_window_read(ctx, &walk->window, walk->src, walk->at, &walk->head, (size_t)head.len,
                            cv_walk_top(walk)->end);
    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, CUVET_P_ENTRY, true, walk->entry);
    status = cv_walk_unit(ctx, walk, CV_UNIT_MEMBER, walk->at, out);
    if (status == CUVET_OK && !cv_fatbin_member_extent(head, left, &out->header_size, &out->payload_size)) {
        /* A clipped container has said already why its last member is cut off. */
        if (!(walk->clipped && head.len < CV_FATBIN_MEMBER))
            status = cv_fatbin_reject_member(ctx, head, left);
        cv_path_pop(ctx);
        walk->broken = true;
        return status == CUVET_E_MALFORMED ? CUVET_OK : status;
    }
    if (status == CUVET_OK)
        status = note_target(ctx, walk, head);
    out->unpacks = cv_budget_cost(&ctx->lim, head);
    walk->unpacked = cv_sat_add(walk->unpacked, out->unpacks);
    out->container_off = walk->container;
    out->referenced = walk->referenced;
    out->head = walk->head; /* all of it: a shorter one has no extent */
    cv_path_pop(ctx);
    walk->at += out->header_size + out->payload_size;
    walk->stored += out->payload_size;
    walk->entry++;
    walk->n_members++;
    *step = CV_STEP_UNIT;
    return status;
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

static bool is_referenced(const cv_walk *walk, const cv_region *region, uint64_t at)
{
    return region->bare || (region->host && cv_host_names(&walk->host, at));
}

static cuvet_status begin(cv_ctx *ctx, cv_walk *walk, uint64_t at, const cv_fatbin_container *container)
{
    cv_region *region = cv_walk_top(walk);
    uint64_t limit = section_end(ctx, walk, region, at), end = at + CV_FATBIN_HEADER + container->body_size;

    walk->container = at;
    walk->at = at + CV_FATBIN_HEADER;
    walk->body_end = end;
    walk->entry = 0;
    walk->broken = false;
    walk->clipped = container->body_size != container->size;
    walk->in_container = true;
    walk->referenced = is_referenced(walk, region, at);
    walk->place = cv_place_at(ctx, walk, at, true);
    cv_walk_say_place(ctx, walk, at, walk->place);
    cv_u64s_clear(&walk->targets);
    walk->n_containers++;
    if (region->host && !walk->referenced) {
        walk->n_unreferenced++;
        cv_report(ctx, CV_R_FATBIN_UNREFERENCED, at, CV_FATBIN_HEADER, at, 0);
    }
    if (limit != UINT64_MAX && end > limit)
        cv_report(ctx, CV_R_FATBIN_CROSSES_SECTION, at + 8, 8, end, limit);
    cv_ledger_claim(ctx, ledger_of(walk), at, CV_FATBIN_HEADER, CV_CLAIM_CONTAINER_HEADER, 0, false);
    return cv_u64s_push(&ctx->mem, &walk->found, at) ? CUVET_OK : cv_nomem(ctx, at);
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

cuvet_status cv_walk_enter(cv_ctx *ctx, cv_walk *walk, uint64_t at, cv_span head, bool must)
{
    cv_region *region = cv_walk_top(walk);
    cv_fatbin_container container;
    cuvet_status status;

    if (!must && !looks_like_container(head, region->end - at, at - region->off)) {
        status = has_long_header(ctx, walk, at, head, region->end - at, &must);
        if (status != CUVET_OK)
            return status;
    }
    if (!must && !looks_like_container(head, region->end - at, at - region->off)) {
        if ((at - region->off) % 8 == 0 || (cv_u16_at(head, 4) < 16 && cv_u16_at(head, 6) < 256))
            cv_report(ctx, CV_R_FILE_STRAY_MAGIC, at, 4, cv_u32_at(head, 4), CV_FATBIN_TAIL);
        region->pos = at + 4;
        return CUVET_OK;
    }
    if (walk->n_containers >= ctx->lim.containers) {
        cv_report(ctx, CV_R_LIMIT_CONTAINERS, at, 0, walk->n_containers + 1, ctx->lim.containers);
        walk->over = true;
        region->pos = region->end;
        return CUVET_OK;
    }
    status = cv_walk_gap(ctx, walk, at);
    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, CUVET_P_FATBIN, true, region->n_fatbin++);
    status = cv_fatbin_read_container(ctx, head, region->end - at, object_off(region, at), &container);
    if (status == CUVET_OK)
        return begin(ctx, walk, at, &container); /* the path step stays until the container is left */
    cv_path_pop(ctx);
    region->pos = at + 4;
    region->rest_end =
        cv_max(region->rest_end, cv_min(at + CV_FATBIN_HEADER, region->end)); /* one cause, one finding */
    return status == CUVET_E_MALFORMED ? CUVET_OK : status;
}
