/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Invariants after the stages that make the file: records, order, bytes. As in check.c. */
#include "base/arith.h"
#include "format/tlv/attr.h"
#include "link/stages.h"

enum { HEADER = 64, SECTION_HEADER = 64, SEGMENT = 56 };

bool cv_link_is_kernel(const cv_lfn *f)
{
    return f->kernel && f->def != CV_NONE && f->live;
}

/* Is word i of a payload a symbol, as the table of attributes has it? */
static bool is_symbol_word(const cv_irec *r, uint64_t i)
{
    const cv_attr *row = cv_attr_get(r->code);

    switch (row ? (cv_attr_words)row->words : CV_WORDS_MERGED) {
    case CV_WORDS_PLAIN:
    case CV_WORDS_TEXT:
    case CV_WORDS_ZERO: return false;
    case CV_WORDS_FUNCS: return true;
    case CV_WORDS_FUNC:
    case CV_WORDS_SYM:
    case CV_WORDS_SECTION:
    case CV_WORDS_MERGED:
    default: return i == 0;
    }
}

static bool record_holds(const cv_link *l, const cv_irec *r)
{
    if (r->raw) /* bytes of an input: nothing in them was renumbered */
        return r->bytes.len <= UINT16_MAX && !is_symbol_word(r, 0);
    if (r->n == 0)
        return true;
    if (cv_sat_add(r->first, r->n) > l->word.n || r->n > UINT16_MAX / 4)
        return false;
    for (uint64_t i = 0; i < r->n; i++) {
        const cv_iword *w = cv_iwords_at(&l->word, r->first + i);

        if (w->symbol != is_symbol_word(r, i) || (w->symbol && w->value >= l->osym.n))
            return false;
    }
    return true;
}

static bool has_records(const cv_link *l, cv_id fn)
{
    const cv_lfn *f = cv_l_fn(l, fn);

    return f->def != CV_NONE && f->live && f->has_info && cv_l_osec(l, f->sec)->fn == fn;
}

/* The value of a record, wherever it stands. */
static uint32_t value_of(const cv_link *l, const cv_irec *r)
{
    if (r->raw)
        return r->bytes.len >= 4 ? cv_u32_at(r->bytes, 0) : 0;
    if (r->n)
        return cv_iwords_at(&l->word, r->first)->value;
    return r->value;
}

/* Where there is one kernel alone, the reference leaves what that says of these itself; and nobody hears of
 * numbers that are 0. */
static bool tells_enough(cv_heir row, uint32_t told, uint32_t want, bool only)
{
    switch ((cv_heir_rule)cv_heir_get(row)->rule) {
    case CV_RULE_MOST:
    case CV_RULE_BITS: return told == want || (only && told < want);
    case CV_RULE_SUM:
    case CV_RULE_PATH: return told == want;
    case CV_RULE_ANY:
    case CV_RULE_WORDS:
    case CV_RULE_NAMES: break;
    }
    return true;
}

/* A kernel tells all that it inherits; what leaves a function is not told by it. */
static bool heirs_hold(const cv_link *l, const cv_oinfo *e, bool only)
{
    const cv_lfn *f = cv_l_fn(l, e->fn);
    uint32_t told = cv_heir_bits(CV_RULE_NAMES);

    for (uint64_t i = e->first; i < e->first + e->n; i++) {
        const cv_irec *r = cv_irecs_at(&l->rec, i);
        cv_heir row = cv_heir_of(r->code);

        if (row >= CV_N_HEIR || r->format != cv_heir_get(row)->format)
            continue;
        if (!f->kernel && cv_heir_get(row)->leaves && cv_heir_get(row)->rule != CV_RULE_NAMES)
            return false;
        if (f->kernel && !tells_enough(row, value_of(l, r), cv_trait(&f->all, row), only))
            return false;
        told |= CV_H_BIT(row);
    }
    for (unsigned i = 0; i < CV_N_HEIR && f->kernel; i++)
        if (f->all.has & ~told & CV_H_BIT(i) &&
            (cv_trait(&f->all, i) || cv_heir_get((cv_heir)i)->rule == CV_RULE_ANY))
            return false;
    return true;
}

static uint64_t count_kernels(const cv_link *l)
{
    uint64_t n = 0;

    for (cv_id i = 0; i < l->fn.n; i++)
        n += cv_link_is_kernel(cv_l_fn(l, i));
    return n;
}

/* Records of the functions one after the other, those of the program behind them; words and symbols exist;
 * every function that had records has some. */
bool cv_link_describe_holds(const cv_link *l)
{
    uint64_t at = 0, functions = 0, kernels = count_kernels(l);

    for (uint64_t i = 0; i < l->oinfo.n; i++) {
        const cv_oinfo *e = cv_oinfos_at(&l->oinfo, i);

        if (e->first != at || !has_records(l, e->fn))
            return false;
        at = cv_sat_add(at, e->n);
        if (at > l->rec.n || (!l->o.relocatable && !heirs_hold(l, e, kernels == 1)))
            return false;
    }
    if (l->program_first != at || cv_sat_add(at, l->program_n) != l->rec.n)
        return false;
    for (cv_id i = 0; i < l->fn.n; i++)
        functions += has_records(l, i);
    if (functions != l->oinfo.n)
        return false;
    for (uint64_t i = 0; i < l->rec.n; i++)
        if (!record_holds(l, cv_irecs_at(&l->rec, i)))
            return false;
    return true;
}

/* A name is in its table; the one without a letter is at offset 0. */
static bool is_named(const cv_link *l, cv_id name, bool section)
{
    const cv_meaning *m = cv_l_mean(l, name);

    return cv_l_text(l, name).len == 0 || (section ? m->sh_off : m->str_off) != 0;
}

static bool section_has_place(const cv_link *l, uint64_t i)
{
    const cv_osec *q = cv_l_osec(l, *cv_u32s_at(&l->order, i));

    if (q->dead || q->index != i || !is_named(l, q->name, true))
        return false;
    if (q->infosec != CV_NONE && cv_l_osec(l, q->infosec)->dead)
        return false;
    return q->group != CV_G_REL || !cv_l_osec(l, q->target)->dead;
}

static bool symbol_has_place(const cv_link *l, uint64_t i)
{
    const cv_osym *y = cv_l_osym(l, *cv_u32s_at(&l->sym_order, i));
    const cv_osec *q = y->sec == CV_NONE ? NULL : cv_l_osec(l, y->sec);

    if (y->dead || y->index != i + 1 || !is_named(l, y->name, false))
        return false;
    if (!q || y->is_section)
        return !q || !q->dead;
    /* A shared variable of a relocatable object has its alignment for a value, an array that is declared only
     * a place in the memory of a kernel; functions get their sizes later. */
    if (l->o.relocatable || (y->win == CV_NONE && y->size == 0))
        return !q->dead;
    return !q->dead && cv_sat_add(y->value, y->fn == CV_NONE ? y->size : 0) <= q->size;
}

/* Numbers follow the order, what is there is named and names what is there, and no kernel is lost. */
bool cv_link_arrange_holds(const cv_link *l)
{
    for (uint64_t i = 1; i < l->order.n; i++)
        if (!section_has_place(l, i))
            return false;
    for (uint64_t i = 0; i < l->sym_order.n; i++)
        if (!symbol_has_place(l, i))
            return false;
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (cv_link_is_kernel(f) && (cv_l_osec(l, f->sec)->index == 0 || cv_l_osym(l, f->sym)->index == 0))
            return false;
    }
    return l->n_locals <= l->sym_order.n + 1;
}

static bool section_holds(const cv_osec *q, uint64_t *end)
{
    if (q->off < *end || (q->align > 1 && q->off % q->align != 0))
        return false;
    if (q->bytes.len && q->bytes.len != q->size)
        return false;
    if (q->group == CV_G_REL && (q->first_part != CV_NONE || q->size != q->n_kept * q->entsize))
        return false;
    *end = q->group == CV_G_NOBITS ? q->off : cv_sat_add(q->off, q->size);
    return true;
}

/* Offsets ascend, nothing overlaps, and the bytes of each section are as many as it says. */
bool cv_link_fill_holds(const cv_link *l)
{
    uint64_t end = HEADER;

    for (uint64_t i = 1; i < l->order.n; i++)
        if (!section_holds(cv_l_osec(l, *cv_u32s_at(&l->order, i)), &end))
            return false;
    return l->shoff >= end &&
           cv_l_osec(l, l->symtab)->bytes.len / cv_elf_sym_size(false) == l->sym_order.n + 1;
}

/* The file ends with its tables. */
bool cv_link_write_holds(const cv_link *l)
{
    uint64_t tables = cv_sat_add(l->order.n * SECTION_HEADER, l->phnum * SEGMENT);

    return l->out->span.len == l->size && cv_sat_add(l->shoff, tables) == l->size &&
           (l->phnum != 0) == !l->o.relocatable;
}

/* What was read is what was meant. */
bool cv_link_reread_holds(const cv_link *l)
{
    uint64_t kernels = 0;

    for (cv_id i = 0; i < l->fn.n; i++)
        kernels += cv_link_is_kernel(cv_l_fn(l, i));
    return l->seen.sections == l->order.n && l->seen.symbols == l->sym_order.n + 1 &&
           l->seen.extent == l->size && l->seen.kernels == kernels;
}
