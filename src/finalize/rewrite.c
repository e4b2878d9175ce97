/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* First pass: numbers, names, sizes and places of what stays. */
#include "finalize/rewrite.h"

#include "finalize/rewrite_int.h"

static bool goes(const cv_rewrite *r, uint64_t i)
{
    uint8_t p = r->part ? *cv_u8s_at(r->part, i) : CV_PART_OTHER;

    return p == CV_PART_CAPSULE || p == CV_PART_TWIN;
}

uint32_t cv_final_flags(const cv_cubin *c, cv_kind kind, uint32_t sm, uint32_t note)
{
    if (c->legacy)
        return (c->h.flags & 0xFFFFFF00) | (sm & 0xFF);
    return (note < 0xFF ? note : 0xFF) << 24 | (sm & 0xFFFF) << 8 | (uint32_t)kind;
}

bool cv_final_in_file(const cv_cubin *c, uint64_t i)
{
    const cv_sec *s = cv_cubin_sec(c, i);

    return s->in_file || (s->role == CV_ROLE_MERC_SHARED_RESERVED && s->h.size != 0 &&
                          cv_span_has(c->image, s->h.off, s->h.size));
}

const cv_final_body *cv_rewrite_body(const cv_rewrite *r, uint64_t i)
{
    uint64_t lo = 0, hi = r->bodies ? r->bodies->n : 0;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        const cv_final_body *b = cv_final_bodies_at(r->bodies, mid);

        if (b->section == i)
            return b;
        if (b->section < i)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static cuvet_status count(cv_ctx *x, cv_rewrite *r)
{
    uint64_t all = r->c->sec.n;

    if (!cv_u32s_fill(&x->mem, &r->number, all) || !cv_u32s_fill(&x->mem, &r->name, all) ||
        !cv_u64s_reserve(&x->mem, &r->place, all) || !cv_u64s_reserve(&x->mem, &r->size, all) ||
        !cv_keys_reserve(&x->mem, &r->order, all))
        return cv_nomem(x, r->c->image.off);
    r->place.n = r->size.n = all;
    r->n = 1;
    for (uint64_t i = 1; i < all; i++)
        if (!goes(r, i))
            *cv_u32s_at(&r->number, i) = (uint32_t)r->n++;
    return CUVET_OK;
}

/* The table of section names without those that are gone, in its old order; equal names stay one. */
static cuvet_status name_sections(cv_ctx *x, cv_rewrite *r)
{
    const cv_cubin *c = r->c;
    uint64_t last = 0;
    uint32_t off = 0;

    cv_keys_clear(&r->order); /* its memory serves here first */
    for (uint64_t i = 1; i < c->sec.n; i++)
        if (!goes(r, i) && !cv_keys_push(&x->mem, &r->order, (cv_key){ cv_cubin_sec(c, i)->h.name, i }))
            return cv_nomem(x, c->image.off);
    cv_keys_sort(&r->order);
    cv_put_u8(&r->names, 0);
    for (uint64_t k = 0; k < r->order.n; k++) {
        const cv_key *e = cv_keys_at(&r->order, k);
        cv_span name = cv_cubin_sec(c, e->index)->name;

        if (name.len != 0 && (off == 0 || e->key != last)) {
            off = (uint32_t)r->names.len;
            last = e->key;
            cv_put_span(&r->names, name);
            cv_put_u8(&r->names, 0);
        }
        *cv_u32s_at(&r->name, e->index) = name.len ? off : 0;
    }
    /* No name lies in another: the table is no longer than it was. */
    return r->names.failed ? cv_nomem(x, c->image.off) : CUVET_OK;
}

static uint64_t names_section(const cv_cubin *c)
{
    return c->h.shstrndx == CV_SHN_XINDEX ? cv_cubin_sec(c, 0)->h.link : c->h.shstrndx;
}

static void measure(cv_rewrite *r)
{
    const cv_cubin *c = r->c;
    uint64_t names = names_section(c);

    for (uint64_t i = 0; i < c->sec.n; i++) {
        const cv_final_body *b = cv_rewrite_body(r, i);

        *cv_u64s_at(&r->size, i) = b                            ? b->bytes.len
                                   : i == names && r->names.len ? r->names.len
                                                                : cv_cubin_sec(c, i)->h.size;
        if (r->names.len == 0)
            *cv_u32s_at(&r->name, i) = cv_cubin_sec(c, i)->h.name;
    }
}

/* A twin of bytes that are there already: the only way in which two sections share them. */
static bool shares(const cv_rewrite *r, uint64_t before, uint64_t i)
{
    const cv_sec *a = cv_cubin_sec(r->c, before), *b = cv_cubin_sec(r->c, i);

    return before != 0 && a->h.off == b->h.off && a->h.size == b->h.size && b->h.size != 0 &&
           !cv_rewrite_body(r, before) && !cv_rewrite_body(r, i);
}

/* At 'pos', which moves; 'end' is where the bytes of the old file ended up to here. A section without bytes
 * may claim to lie among those of others: then there is no gap that its alignment made, and none is made, or
 * a few such sections would blow a small file up. */
static void place_one(const cv_rewrite *r, uint64_t i, uint64_t *end, uint64_t *pos)
{
    const cv_elf_section *h = &cv_cubin_sec(r->c, i)->h;
    uint64_t align = cv_max(h->align, 1), size = cv_final_in_file(r->c, i) ? *cv_u64s_at(&r->size, i) : 0;

    if (size == 0 && h->off < *end) {
        *cv_u64s_at(&r->place, i) = *pos - *pos % align;
        return;
    }
    *pos = cv_sat_align(*pos, align);
    *cv_u64s_at(&r->place, i) = *pos;
    *pos = cv_sat_add(*pos, size);
    if (cv_final_in_file(r->c, i))
        *end = cv_max(*end, h->off + h->size);
}

/* One behind the other, in the order of the old file. */
static cuvet_status place(cv_ctx *x, cv_rewrite *r)
{
    const cv_cubin *c = r->c;
    uint64_t pos = cv_elf_ehdr_size(false), end = pos, before = 0, from, padding = 0;

    cv_keys_clear(&r->order);
    for (uint64_t i = 1; i < c->sec.n; i++) {
        *cv_u64s_at(&r->place, i) = cv_cubin_sec(c, i)->h.off;
        if (!goes(r, i) && cv_cubin_sec(c, i)->h.type != CV_SHT_NULL &&
            !cv_keys_push(&x->mem, &r->order, (cv_key){ cv_cubin_sec(c, i)->h.off, i }))
            return cv_nomem(x, c->image.off);
    }
    cv_keys_sort(&r->order);
    for (uint64_t k = 0; k < r->order.n; k++) {
        uint64_t i = cv_keys_at(&r->order, k)->index;

        if (cv_final_in_file(c, i) && shares(r, before, i)) {
            *cv_u64s_at(&r->place, i) = *cv_u64s_at(&r->place, before);
            continue;
        }
        from = pos;
        place_one(r, i, &end, &pos);
        padding = cv_sat_add(padding, *cv_u64s_at(&r->place, i) - cv_min(from, *cv_u64s_at(&r->place, i)));
        if (cv_final_in_file(c, i))
            before = i;
    }
    if (padding > cv_padding_most(c->image.len))
        return cv_reject(x, CV_R_LIMIT_PADDING, c->image.off, padding, cv_padding_most(c->image.len));
    r->shoff = cv_sat_align(pos, 8);
    r->total = cv_sat_add(r->shoff, r->n * cv_elf_shdr_size(false));
    return CUVET_OK;
}

cuvet_status cv_rewrite_plan(cv_ctx *x, cv_rewrite *r)
{
    cuvet_status s;

    cv_builder_init(&r->names, &x->mem);
    cv_builder_init(&r->segments, &x->mem);
    if (!cv_work(x, cv_sat_mul(r->c->sec.n, 4), r->c->image.off))
        return CUVET_E_LIMIT;
    s = count(x, r);
    if (s == CUVET_OK && r->n != r->c->sec.n)
        s = name_sections(x, r);
    if (s == CUVET_OK) {
        measure(r);
        s = place(x, r);
    }
    if (s == CUVET_OK)
        s = cv_rewrite_segments(x, r);
    if (s == CUVET_OK && r->phnum != 0) {
        r->phoff = r->total;
        r->total = cv_sat_add(r->total, r->segments.len);
    }
    return s;
}

void cv_rewrite_free(cv_ctx *x, cv_rewrite *r)
{
    cv_u32s_free(&x->mem, &r->number);
    cv_u32s_free(&x->mem, &r->name);
    cv_u64s_free(&x->mem, &r->place);
    cv_u64s_free(&x->mem, &r->size);
    cv_keys_free(&x->mem, &r->order);
    if (r->names.mem)
        cv_builder_free(&r->names);
    if (r->segments.mem)
        cv_builder_free(&r->segments);
}
