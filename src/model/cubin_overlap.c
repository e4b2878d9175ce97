/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations of one target against each other, wherever they are listed: who patches bits that another one
 * patches gets what the two make together, in an order that nobody promises. */
#include "model/cubin_int.h"

/* Sorting on top of reading. */
#define SORT_WORK 4u

typedef struct pile {
    cv_ctx *x;
    const cv_cubin *c;
    const cv_keys *list; /* see cv_cubin_check_overlap() */
    cv_keys field;       /* first bit from the begin of the target, place in the list of sections and entry */
} pile;

static bool has_addends(const cv_cubin *c, uint64_t section)
{
    return cv_cubin_sec(c, section)->h.type != CV_SHT_REL;
}

static uint64_t entries(const cv_cubin *c, uint64_t section)
{
    const cv_sec *s = cv_cubin_sec(c, section);
    uint64_t size = cv_elf_rel_size(c->h.is32, has_addends(c, section));

    return s->h.entsize == size ? cv_cubin_body(c, section).len / size : 0;
}

/* Bits [*first, *end) that an entry patches; false: that is not known. */
static bool bits_of(const pile *p, uint64_t section, uint64_t i, uint64_t *first, uint64_t *end)
{
    const cv_reloc_facts *f;
    unsigned bit, bits;
    cv_elf_reloc r;

    cv_elf_read_reloc(cv_cubin_body(p->c, section), p->c->h.is32, has_addends(p->c, section), i, &r);
    f = cv_reloc_of(r.type);
    bit = f->form_bits ? f->form_bit : f->bit;
    bits = f->form_bits ? f->form_bits : f->bits;
    if (bits == 0)
        return false;
    *first = cv_sat_add(cv_sat_mul(r.off, 8), bit);
    *end = cv_sat_add(*first, bits);
    return true;
}

static void report(const pile *p, uint64_t section, uint64_t i, uint64_t first, uint64_t end)
{
    const cv_cubin *c = p->c;

    cv_path_push(p->x, CUVET_P_SECTION, true, section);
    cv_report_at(p->x, CUVET_P_RELOC, i, CV_R_RELOC_BITS,
                 cv_cubin_body(c, section).off + i * cv_elf_rel_size(c->h.is32, has_addends(c, section)), 0,
                 first, end);
    cv_path_pop(p->x);
}

static uint64_t section_of(const pile *p, uint64_t k)
{
    return cv_keys_at(p->list, k)->index >> 1;
}

/* Sections [from, to) of the list have one target. */
static cuvet_status check_group(pile *p, uint64_t from, uint64_t to)
{
    uint64_t first, end, last = 0;

    cv_keys_clear(&p->field);
    for (uint64_t k = from; k < to; k++) {
        uint64_t section = section_of(p, k), m = entries(p->c, section);

        if (m > UINT32_MAX) { /* no file has as many, and two numbers fit a key */
            cv_sec_report(p->x, p->c, section, CV_R_LIMIT_RELOCS, CV_SH_SIZE, m, UINT32_MAX);
            return CUVET_E_LIMIT;
        }
        if (!cv_work(p->x, SORT_WORK * m, cv_cubin_body(p->c, section).off))
            return CUVET_E_LIMIT;
        for (uint64_t i = 0; i < m; i++)
            if (bits_of(p, section, i, &first, &end) &&
                !cv_keys_push(&p->x->mem, &p->field, (cv_key){ first, k << 32 | i }))
                return cv_nomem(p->x, cv_cubin_body(p->c, section).off);
    }
    cv_keys_sort(&p->field);
    for (uint64_t f = 0; f < p->field.n; f++) {
        uint64_t which = cv_keys_at(&p->field, f)->index, i = which & UINT32_MAX,
                 section = section_of(p, which >> 32);

        if (!bits_of(p, section, i, &first, &end))
            continue;
        if (first < last)
            report(p, section, i, first, last);
        last = cv_max(last, end);
    }
    return CUVET_OK;
}

cuvet_status cv_cubin_check_overlap(cv_ctx *x, const cv_cubin *c, const cv_keys *list)
{
    pile p = { .x = x, .c = c, .list = list };
    cuvet_status st = CUVET_OK;

    for (uint64_t from = 0, to; from < list->n && st == CUVET_OK; from = to) {
        uint64_t target = cv_keys_at(list, from)->key;

        for (to = from + 1; to < list->n && cv_keys_at(list, to)->key == target;)
            to++;
        if (to - from > 1 || (cv_keys_at(list, from)->index & 1) == 0)
            st = check_group(&p, from, to);
    }
    cv_keys_free(&x->mem, &p.field);
    return st;
}
