/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations of one target against each other, wherever they are listed: who patches bits that another one
 * patches gets what the two make together, in an order that nobody promises. */
#include "model/cubin_int.h"

/* Sorting on top of reading. */
#define SORT_WORK 4u

typedef struct pile {
    cv_ctx *x;
    const cv_cubin *c;
    cv_keys section; /* target, relocation section */
    cv_keys field;   /* first bit from the begin of the target, place in the list of sections and entry */
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
    unsigned bit = 0, bits = 0;
    cv_elf_reloc r;

    cv_elf_read_reloc(cv_cubin_body(p->c, section), p->c->h.is32, has_addends(p->c, section), i, &r);
    if (!cv_elf_reloc_bits(r.type, &bit, &bits))
        return false;
    *first = cv_sat_add(cv_sat_mul(r.off, 8), bit);
    *end = cv_sat_add(*first, bits);
    return true;
}

/* Each begins behind the one before, or each ends before it: compilers list them so, mostly. */
static bool in_order(const pile *p, uint64_t section)
{
    uint64_t n = entries(p->c, section), first, end, low = UINT64_MAX, high = 0;
    bool up = true, down = true;

    for (uint64_t i = 0; i < n && (up || down); i++) {
        if (!bits_of(p, section, i, &first, &end))
            continue;
        up = up && first >= high;
        down = down && end <= low;
        low = first;
        high = end;
    }
    return up || down;
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

/* Sections [from, to) of the list have one target. */
static cuvet_status check_group(pile *p, uint64_t from, uint64_t to)
{
    uint64_t first, end, last = 0;

    cv_keys_clear(&p->field);
    for (uint64_t k = from; k < to; k++) {
        uint64_t section = cv_keys_at(&p->section, k)->index, m = entries(p->c, section);

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
                 section = cv_keys_at(&p->section, which >> 32)->index;

        if (!bits_of(p, section, i, &first, &end))
            continue;
        if (first < last)
            report(p, section, i, first, last);
        last = cv_max(last, end);
    }
    return CUVET_OK;
}

static cuvet_status check_groups(pile *p)
{
    cuvet_status st = CUVET_OK;

    for (uint64_t from = 0, to; from < p->section.n && st == CUVET_OK; from = to) {
        uint64_t target = cv_keys_at(&p->section, from)->key;

        for (to = from + 1; to < p->section.n && cv_keys_at(&p->section, to)->key == target;)
            to++;
        if (to - from > 1 || !in_order(p, cv_keys_at(&p->section, from)->index))
            st = check_group(p, from, to);
    }
    return st;
}

/* Of what is compressed nothing is known, those of capsules have other fields, and those of call frames must
 * not even touch the same bytes: cubin_relocs.c. */
static bool is_compared(const cv_cubin *c, const cv_sec *s)
{
    return (s->h.type == CV_SHT_REL || s->h.type == CV_SHT_RELA) && !(s->h.flags & CV_SHF_COMPRESSED) &&
           s->h.size != 0 && s->h.info < c->sec.n && !cv_is_frames(cv_cubin_sec(c, s->h.info));
}

cuvet_status cv_cubin_check_overlap(cv_ctx *x, const cv_cubin *c)
{
    pile p = { .x = x, .c = c };
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 1; i < c->sec.n && st == CUVET_OK; i++)
        if (is_compared(c, cv_cubin_sec(c, i)) &&
            !cv_keys_push(&x->mem, &p.section, (cv_key){ cv_cubin_sec(c, i)->h.info, i }))
            st = cv_nomem(x, c->image.off);
    cv_keys_sort(&p.section);
    if (st == CUVET_OK)
        st = check_groups(&p);
    cv_keys_free(&x->mem, &p.section);
    cv_keys_free(&x->mem, &p.field);
    return st;
}
