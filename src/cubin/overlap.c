/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations of one target against each other, wherever they are listed: who patches bits that another one
 * patches gets what the two make together, in an order that nobody promises. */
#include "cubin/internal.h"

/* Sorting on top of reading. */
#define SORT_WORK 4u

typedef struct pile {
    cv_ctx *x;
    const cv_cubin *c;
    const cv_keys *list; /* see cv_cubin_check_overlap() */
    cv_keys field;       /* first bit from the begin of the target, place in: */
    cv_keys end;         /* bit behind it, place in the list of sections << 32 | entry */
    cv_u64s touched;     /* a bit for each byte of the target */
} pile;

static uint64_t section_of(const pile *p, uint64_t k)
{
    return cv_keys_get(p->list, k)->index >> 1;
}

static bool has_addends(const cv_cubin *c, uint64_t section)
{
    return cv_cubin_sec(c, section)->h.type != CV_SHT_REL;
}

static uint64_t offset_of(const cv_cubin *c, uint64_t section)
{
    return cv_sat_add(c->image.off, cv_cubin_sec(c, section)->h.off);
}

/* The field of an entry, in bits from the begin of the target; false: it is not known, and nothing is said.
 */
static bool field_of(const cv_elf_reloc *r, uint64_t *first, uint64_t *bits)
{
    const cv_reloc_facts *f = cv_reloc_of(r->type);

    *bits = f->bits;
    *first = cv_sat_add(cv_sat_mul(r->off, 8), f->pos);
    return *bits != 0;
}

/* Marks the bytes [at, at + n), n at most 9; true: one of them was marked before. */
static bool mark(cv_u64s *touched, uint64_t at, uint64_t n)
{
    uint64_t bits = (UINT64_C(1) << n) - 1, shift = at % 64;
    uint64_t first = (bits & UINT64_MAX >> shift) << shift; /* what fits into the word of the first byte */
    uint64_t *low = cv_u64s_at(touched, at / 64);
    bool twice = (*low & first) != 0;

    *low |= first;
    if (shift + n > 64) {
        uint64_t *high = cv_u64s_at(touched, at / 64 + 1);

        twice = twice || (*high & bits >> (64 - shift)) != 0;
        *high |= bits >> (64 - shift);
    }
    return twice;
}

/* False: no byte is touched by two of the entries. */
static bool mark_section(pile *p, uint64_t k, uint64_t size)
{
    uint64_t section = section_of(p, k), first, bits;
    bool rela = has_addends(p->c, section);
    cv_span body = cv_cubin_body(p->c, section);
    uint64_t n = body.len / cv_elf_rel_size(p->c->h.is32, rela);
    cv_elf_reloc r;

    if (!cv_work(p->x, n, offset_of(p->c, section)))
        return true;
    for (uint64_t i = 0; i < n; i++) {
        cv_elf_read_reloc(body, p->c->h.is32, rela, i, &r);
        if (!field_of(&r, &first, &bits))
            continue;
        if (r.off >= size || mark(&p->touched, first / 8, (first % 8 + bits + 7) / 8))
            return true;
    }
    return false;
}

/* Almost always each byte is patched by one entry at most: that takes a bit for each byte instead of an order
 * of all entries. LIMIT or NOMEM: *apart is false. */
static cuvet_status mark_group(pile *p, uint64_t from, uint64_t to, uint64_t target, bool *apart)
{
    uint64_t size = cv_cubin_body(p->c, target).len, words = size / 64 + 2;

    *apart = false;
    if (!cv_work(p->x, words / 8, p->c->image.off))
        return CUVET_E_LIMIT;
    if (!cv_u64s_fill(&p->x->mem, &p->touched, words))
        return cv_nomem(p->x, p->c->image.off);
    for (uint64_t k = from; k < to; k++)
        if (mark_section(p, k, size))
            return CUVET_OK;
    *apart = true;
    return CUVET_OK;
}

/* The bits that each entry patches. */
static cuvet_status collect(pile *p, uint64_t k)
{
    uint64_t section = section_of(p, k), at = offset_of(p->c, section), first, bits;
    bool rela = has_addends(p->c, section);
    cv_span body = cv_cubin_body(p->c, section);
    uint64_t n = body.len / cv_elf_rel_size(p->c->h.is32, rela);

    if (n > UINT32_MAX) { /* no file has as many, and two numbers fit a key */
        cv_sec_report(p->x, p->c, section, CV_R_LIMIT_RELOCS, CV_SH_SIZE, n, UINT32_MAX);
        return CUVET_E_LIMIT;
    }
    if (!cv_work(p->x, SORT_WORK * n, at))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < n; i++) {
        cv_elf_reloc r;

        cv_elf_read_reloc(body, p->c->h.is32, rela, i, &r);
        if (!field_of(&r, &first, &bits))
            continue;
        if (!cv_keys_push(&p->x->mem, &p->field, (cv_key){ first, p->end.n }) ||
            !cv_keys_push(&p->x->mem, &p->end, (cv_key){ cv_sat_add(first, bits), k << 32 | i }))
            return cv_nomem(p->x, at);
    }
    return CUVET_OK;
}

static void report(const pile *p, uint64_t which, uint64_t first, uint64_t end)
{
    uint64_t section = section_of(p, which >> 32), i = which & UINT32_MAX;
    uint64_t size = cv_elf_rel_size(p->c->h.is32, has_addends(p->c, section));

    cv_path_push(p->x, CUVET_P_SECTION, true, section);
    cv_report_at(p->x, CUVET_P_RELOC, i, CV_R_RELOC_BITS, offset_of(p->c, section) + i * size, 0, first, end);
    cv_path_pop(p->x);
}

/* Sections [from, to) of the list have one target. */
static cuvet_status check_group(pile *p, uint64_t from, uint64_t to, uint64_t target)
{
    bool apart = false;
    cuvet_status st = mark_group(p, from, to, target, &apart);
    uint64_t last = 0;

    if (st != CUVET_OK || apart)
        return st;
    cv_keys_clear(&p->field);
    cv_keys_clear(&p->end);
    for (uint64_t k = from; k < to && st == CUVET_OK; k++)
        st = collect(p, k);
    cv_keys_sort(&p->field);
    for (uint64_t f = 0; f < p->field.n && st == CUVET_OK; f++) {
        const cv_key *first = cv_keys_at(&p->field, f), *end = cv_keys_at(&p->end, first->index);

        if (first->key < last)
            report(p, end->index, first->key, last);
        last = cv_max(last, end->key);
    }
    return st;
}

cuvet_status cv_cubin_check_overlap(cv_ctx *x, const cv_cubin *c, const cv_keys *list)
{
    pile p = { .x = x, .c = c, .list = list };
    cuvet_status st = CUVET_OK;

    for (uint64_t from = 0, to; from < list->n && st == CUVET_OK; from = to) {
        uint64_t target = cv_keys_get(list, from)->key;

        for (to = from + 1; to < list->n && cv_keys_get(list, to)->key == target;)
            to++;
        if (to - from > 1 || (cv_keys_get(list, from)->index & 1) == 0)
            st = check_group(&p, from, to, target);
    }
    cv_keys_free(&x->mem, &p.field);
    cv_keys_free(&x->mem, &p.end);
    cv_u64s_free(&x->mem, &p.touched);
    return st;
}
