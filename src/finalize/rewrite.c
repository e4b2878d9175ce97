/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* First pass: numbers, names, sizes and places of what stays. */
#include "finalize/rewrite.h"

#include "finalize/rewrite_int.h"

static bool is_stripped(const cv_rewrite *rewrite, uint64_t index)
{
    uint8_t part = rewrite->part ? *cv_u8s_get(rewrite->part, index) : CV_PART_OTHER;

    return part == CV_PART_CAPSULE || part == CV_PART_TWIN;
}

uint32_t cv_final_flags(const cv_cubin *cubin, cv_kind kind, uint32_t sm, uint32_t note)
{
    if (cubin->legacy)
        return cv_elf_flags_retarget_legacy(cubin->header.flags, sm);
    return cv_elf_flags(note, sm, (uint32_t)kind);
}

bool cv_final_in_file(const cv_cubin *cubin, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(cubin, index);

    return sec->in_file || (sec->role == CV_ROLE_MERC_SHARED_RESERVED && sec->header.size != 0 &&
                            cv_span_has(cubin->image, sec->header.off, sec->header.size));
}

const cv_final_body *cv_rewrite_body(const cv_rewrite *rewrite, uint64_t index)
{
    uint64_t lo = 0, hi = rewrite->bodies ? rewrite->bodies->count : 0;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        const cv_final_body *body = cv_final_bodies_get(rewrite->bodies, mid);

        if (body->section == index)
            return body;
        if (body->section < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static cuvet_status count_sections(cv_ctx *ctx, cv_rewrite *rewrite)
{
    uint64_t all = rewrite->cubin->sec.count;

    if (!cv_u32s_fill(&ctx->mem, &rewrite->number, all) || !cv_u32s_fill(&ctx->mem, &rewrite->name, all) ||
        !cv_u64s_reserve(&ctx->mem, &rewrite->place, all) ||
        !cv_u64s_reserve(&ctx->mem, &rewrite->size, all) || !cv_keys_reserve(&ctx->mem, &rewrite->order, all))
        return cv_nomem(ctx, rewrite->cubin->image.off);
    rewrite->place.count = rewrite->size.count = all;
    rewrite->n_sections = 1;
    for (uint64_t i = 1; i < all; i++)
        if (!is_stripped(rewrite, i))
            *cv_u32s_at(&rewrite->number, i) = (uint32_t)rewrite->n_sections++;
    return CUVET_OK;
}

/* The table of section names without those that are gone, in its old order; equal names stay one. */
static cuvet_status name_sections(cv_ctx *ctx, cv_rewrite *rewrite)
{
    const cv_cubin *cubin = rewrite->cubin;
    uint64_t last = 0;
    uint32_t off = 0;

    cv_keys_clear(&rewrite->order); /* its memory serves here first */
    for (uint64_t i = 1; i < cubin->sec.count; i++)
        if (!is_stripped(rewrite, i) &&
            !cv_keys_push(&ctx->mem, &rewrite->order, (cv_key){ cv_cubin_sec(cubin, i)->header.name, i }))
            return cv_nomem(ctx, cubin->image.off);
    cv_keys_sort(&rewrite->order);
    cv_put_u8(&rewrite->names, 0);
    for (uint64_t k = 0; k < rewrite->order.count; k++) {
        const cv_key *key = cv_keys_at(&rewrite->order, k);
        cv_span name = cv_cubin_sec(cubin, key->index)->name;

        if (name.len != 0 && (off == 0 || key->key != last)) {
            off = (uint32_t)rewrite->names.len;
            last = key->key;
            cv_put_span(&rewrite->names, name);
            cv_put_u8(&rewrite->names, 0);
        }
        *cv_u32s_at(&rewrite->name, key->index) = name.len ? off : 0;
    }
    /* No name lies in another: the table is no longer than it was. */
    return rewrite->names.failed ? cv_nomem(ctx, cubin->image.off) : CUVET_OK;
}

static uint64_t names_section(const cv_cubin *cubin)
{
    return cubin->header.shstrndx == CV_SHN_XINDEX ? cv_cubin_sec(cubin, 0)->header.link
                                                   : cubin->header.shstrndx;
}

static void set_sizes(cv_rewrite *rewrite)
{
    const cv_cubin *cubin = rewrite->cubin;
    uint64_t names = names_section(cubin);

    for (uint64_t i = 0; i < cubin->sec.count; i++) {
        const cv_final_body *body = cv_rewrite_body(rewrite, i);

        *cv_u64s_at(&rewrite->size, i) = body ? body->bytes.len
                                         : i == names && rewrite->names.len
                                             ? rewrite->names.len
                                             : cv_cubin_sec(cubin, i)->header.size;
        if (rewrite->names.len == 0)
            *cv_u32s_at(&rewrite->name, i) = cv_cubin_sec(cubin, i)->header.name;
    }
}

/* A twin of bytes that are there already: the only way in which two sections share them. */
static bool shares_bytes(const cv_rewrite *rewrite, uint64_t before, uint64_t index)
{
    const cv_sec *first = cv_cubin_sec(rewrite->cubin, before), *second = cv_cubin_sec(rewrite->cubin, index);

    return before != 0 && first->header.off == second->header.off &&
           first->header.size == second->header.size && second->header.size != 0 &&
           !cv_rewrite_body(rewrite, before) && !cv_rewrite_body(rewrite, index);
}

/* At 'pos', which moves; 'end' is where the bytes of the old file ended up to here. A section without bytes
 * may claim to lie among those of others: then there is no gap that its alignment made, and none is made, or
 * a few such sections would blow a small file up. */
static void place_one(cv_rewrite *rewrite, uint64_t index, uint64_t *end, uint64_t *pos)
{
    const cv_elf_section *header = &cv_cubin_sec(rewrite->cubin, index)->header;
    uint64_t align = cv_max(header->align, 1),
             size = cv_final_in_file(rewrite->cubin, index) ? *cv_u64s_get(&rewrite->size, index) : 0;

    if (size == 0 && header->off < *end) {
        *cv_u64s_at(&rewrite->place, index) = *pos - *pos % align;
        return;
    }
    *pos = cv_sat_align(*pos, align);
    *cv_u64s_at(&rewrite->place, index) = *pos;
    *pos = cv_sat_add(*pos, size);
    if (cv_final_in_file(rewrite->cubin, index))
        *end = cv_max(*end, header->off + header->size);
}

/* One behind the other, in the order of the old file. */
static cuvet_status place_all(cv_ctx *ctx, cv_rewrite *rewrite)
{
    const cv_cubin *cubin = rewrite->cubin;
    uint64_t pos = cv_elf_ehdr_size(false), end = pos, before = 0, from, padding = 0;

    cv_keys_clear(&rewrite->order);
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        *cv_u64s_at(&rewrite->place, i) = cv_cubin_sec(cubin, i)->header.off;
        if (!is_stripped(rewrite, i) && cv_cubin_sec(cubin, i)->header.type != CV_SHT_NULL &&
            !cv_keys_push(&ctx->mem, &rewrite->order, (cv_key){ cv_cubin_sec(cubin, i)->header.off, i }))
            return cv_nomem(ctx, cubin->image.off);
    }
    cv_keys_sort(&rewrite->order);
    for (uint64_t k = 0; k < rewrite->order.count; k++) {
        uint64_t i = cv_keys_at(&rewrite->order, k)->index;

        if (cv_final_in_file(cubin, i) && shares_bytes(rewrite, before, i)) {
            *cv_u64s_at(&rewrite->place, i) = *cv_u64s_at(&rewrite->place, before);
            continue;
        }
        from = pos;
        place_one(rewrite, i, &end, &pos);
        padding = cv_sat_add(padding,
                             *cv_u64s_at(&rewrite->place, i) - cv_min(from, *cv_u64s_at(&rewrite->place, i)));
        if (cv_final_in_file(cubin, i))
            before = i;
    }
    if (padding > cv_padding_most(cubin->image.len))
        return cv_reject(ctx, CV_R_LIMIT_PADDING, cubin->image.off, padding,
                         cv_padding_most(cubin->image.len));
    rewrite->shoff = cv_sat_align(pos, 8);
    rewrite->total = cv_sat_add(rewrite->shoff, rewrite->n_sections * cv_elf_shdr_size(false));
    return CUVET_OK;
}

cuvet_status cv_rewrite_plan(cv_ctx *ctx, cv_rewrite *rewrite)
{
    cuvet_status status;

    cv_builder_init(&rewrite->names, &ctx->mem);
    cv_builder_init(&rewrite->segments, &ctx->mem);
    if (!cv_work(ctx, cv_sat_mul(rewrite->cubin->sec.count, 4), rewrite->cubin->image.off))
        return CUVET_E_LIMIT;
    status = count_sections(ctx, rewrite);
    if (status == CUVET_OK && rewrite->n_sections != rewrite->cubin->sec.count)
        status = name_sections(ctx, rewrite);
    if (status == CUVET_OK) {
        set_sizes(rewrite);
        status = place_all(ctx, rewrite);
    }
    if (status == CUVET_OK)
        status = cv_rewrite_segments(ctx, rewrite);
    if (status == CUVET_OK && rewrite->phnum != 0) {
        rewrite->phoff = rewrite->total;
        rewrite->total = cv_sat_add(rewrite->total, rewrite->segments.len);
    }
    return status;
}

void cv_rewrite_free(cv_ctx *ctx, cv_rewrite *rewrite)
{
    cv_u32s_free(&ctx->mem, &rewrite->number);
    cv_u32s_free(&ctx->mem, &rewrite->name);
    cv_u64s_free(&ctx->mem, &rewrite->place);
    cv_u64s_free(&ctx->mem, &rewrite->size);
    cv_keys_free(&ctx->mem, &rewrite->order);
    if (rewrite->names.mem)
        cv_builder_free(&rewrite->names);
    if (rewrite->segments.mem)
        cv_builder_free(&rewrite->segments);
}
