/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Invariants after the stages that fill the picture of a link; those of the stages that make the file of it
 * are in check_out.c. They always run, in linear time, and state facts about the result; one that does not
 * hold is our defect, and nothing comes out. */
#include "base/arith.h"
#include "link/stages.h"

static bool below(cv_id id, uint64_t n)
{
    return id == CV_NONE || id < n;
}

/* Symbols and sections of the inputs lie end to end; what they name is in their own object. */
bool cv_link_read_holds(const cv_link *l)
{
    uint64_t secs = 0, syms = 0;

    for (cv_id i = 0; i < l->obj.n; i++) {
        const cv_lobj *o = cv_l_obj(l, i);

        if (o->first_sec != secs || o->first_sym != syms)
            return false;
        secs += o->n_sec;
        syms += o->n_sym;
        if (secs > l->isec.n || syms > l->isym.n)
            return false;
        for (cv_id k = o->first_sec; k < secs; k++)
            if (cv_l_isec(l, k)->obj != i || cv_l_isec(l, k)->name >= l->names.list.n)
                return false;
        for (cv_id k = o->first_sym; k < syms; k++) {
            const cv_isym *s = cv_l_isym(l, k);

            if (s->obj != i || s->name >= l->names.list.n || !below(s->proto, l->names.list.n) ||
                (s->sec != CV_NONE && (s->sec < o->first_sec || s->sec >= secs)))
                return false;
        }
    }
    return secs == l->isec.n && syms == l->isym.n && l->mean.n == l->names.list.n;
}

/* Code and data: what no input has for nothing. Debug data and notes are made anew or dropped on purpose. */
static bool must_stay(const cv_link *l, const cv_isec *s)
{
    switch ((unsigned)cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->role) {
    case CV_ROLE_GLOBAL: return !s->lost;
    case CV_ROLE_TEXT:
    case CV_ROLE_GLOBAL_INIT:
    case CV_ROLE_CONSTANT:
    case CV_ROLE_CONSTANT_FN:
    case CV_ROLE_SHARED_FN: return !s->table;
    default: return false;
    }
}

/* Pieces of a section: in order, inside, not over each other. */
static bool parts_hold(const cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t end = 0;

        for (cv_id p = q->first_part; p != CV_NONE; p = cv_lparts_at(&l->part, p)->next) {
            const cv_lpart *e = cv_lparts_at(&l->part, p);

            if (e->isec >= l->isec.n || e->base < end)
                return false;
            end = cv_sat_add(e->base, cv_l_isec(l, e->isec)->size);
        }
        if (end > q->size)
            return false;
    }
    return true;
}

static bool relocations_hold(const cv_link *l, const cv_osec *q)
{
    if (q->group != CV_G_REL)
        return true;
    if (q->target >= l->osec.n)
        return false;
    for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
        const cv_irel *e = cv_l_irel(l, r);

        if (e->sym >= l->isym.n || e->target >= l->isec.n || cv_l_isec(l, e->target)->out != q->target)
            return false;
    }
    return true;
}

/* A variable of memory that was left out. */
static bool has_no_memory(const cv_link *l, const cv_isym *s)
{
    return s->sec != CV_NONE && cv_l_type(s) != CV_STT_SECTION && cv_l_isec(l, s->sec)->late &&
           cv_l_isec(l, s->sec)->out == CV_NONE;
}

/* Everything that an input's symbol, section or relocation became exists, and nothing was dropped. */
bool cv_link_collect_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->isec.n; i++) {
        const cv_isec *s = cv_l_isec(l, i);

        if (!below(s->out, l->osec.n) || (s->out == CV_NONE && must_stay(l, s)))
            return false;
    }
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);

        if (!below(s->out, l->osym.n) || !below(s->fn, l->fn.n))
            return false;
        if (has_no_memory(l, s) && (cv_l_bind(s) == CV_STB_LOCAL || cv_l_mean(l, s->name)->win == i))
            return false; /* a variable that is wanted */
    }
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->sym == CV_NONE || (f->def != CV_NONE && f->sec == CV_NONE))
            return false;
    }
    for (cv_id i = 0; i < l->osec.n; i++)
        if (!relocations_hold(l, cv_l_osec(l, i)))
            return false;
    return parts_hold(l);
}

/* Kernels that are wanted are live, and live functions call only live ones. */
bool cv_link_reach_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (!f->live && (l->o.relocatable || cv_link_is_root(l, i)))
            return false;
        if (f->mark != l->stamp || !f->live || l->o.relocatable)
            continue;
        for (cv_id e = f->calls; e != CV_NONE; e = cv_edges_at(&l->edge, e)->next)
            if (!cv_l_fn(l, cv_edges_at(&l->edge, e)->to)->live)
                return false;
    }
    return true;
}

/* Branch tables lie in the banks of the kernels, beside each other and beside the kernels' own. */
bool cv_link_tables_holds(const cv_link *l)
{
    return parts_hold(l);
}

/* Variables of a kernel lie in its section, aligned. */
bool cv_link_shared_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);

        if (!s->placed)
            continue;
        if (s->value && s->shared_off % s->value != 0)
            return false;
        if (s->shared_sec != CV_NONE &&
            cv_sat_add(s->shared_off, s->size) > cv_l_osec(l, s->shared_sec)->size)
            return false;
    }
    return cv_link_reserved_holds(l);
}

static bool is_variable(const cv_link *l, const cv_osym *y)
{
    const cv_isym *w = y->win == CV_NONE ? NULL : cv_l_isym(l, y->win);

    return w && y->sec != CV_NONE && cv_l_type(w) != CV_STT_FUNC && !cv_l_is_shared(w) &&
           !(cv_l_is_reserved(w) && l->o.relocatable);
}

/* A symbol is in a section that exists, its own when it is a section symbol, and ends there. */
bool cv_link_values_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osym.n; i++) {
        const cv_osym *y = cv_l_osym(l, i);

        if (!below(y->sec, l->osec.n) || (y->is_section && cv_l_osec(l, y->sec)->sym != i))
            return false;
        if (is_variable(l, y) && cv_sat_add(y->value, y->size) > cv_l_osec(l, y->sec)->size)
            return false;
    }
    return true;
}

/* Common variables have a place in zero memory. */
bool cv_link_commons_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osym.n; i++) {
        const cv_osym *y = cv_l_osym(l, i);

        if (!y->common)
            continue;
        if (y->sec >= l->osec.n || cv_l_osec(l, y->sec)->group != CV_G_NOBITS ||
            cv_sat_add(y->value, y->size) > cv_l_osec(l, y->sec)->size)
            return false;
    }
    return true;
}

/* The loader writes into a slot what its symbol is: header of a texture or a surface, or a sampler. */
static bool fits_kind(const cv_link *l, const cv_irel *e)
{
    enum { TEXTURE = 10, SAMPLER = 11, SURFACE = 12 };
    enum { R_TEX_HEADER = 6, R_SAMP_HEADER = 7, R_SURF_HEADER = 52, R_SAMP_HEADER_0 = 101 };

    switch (cv_l_type(cv_l_isym(l, cv_l_osym(l, e->osym)->src))) {
    case TEXTURE: return e->type == R_TEX_HEADER;
    case SAMPLER: return e->type == (l->o.target.sm >= 100 ? R_SAMP_HEADER_0 : R_SAMP_HEADER);
    case SURFACE: return e->type == R_SURF_HEADER;
    default: return false;
    }
}

/* Slots are words of a bank, each of one symbol, and what the loader writes there is in the bank. */
bool cv_link_slots_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osym.n; i++)
        if (cv_l_osym(l, i)->has_slot && cv_l_osym(l, i)->slot % 4 != 0)
            return false;
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t last = UINT64_MAX;

        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            const cv_irel *e = cv_l_irel(l, r);

            if (e->target != CV_NONE)
                continue;
            if (e->osym >= l->osym.n || !cv_l_osym(l, e->osym)->has_slot ||
                cv_sat_add(e->off, 4) > cv_l_osec(l, q->target)->size)
                return false;
            if (e->off != cv_l_osym(l, e->osym)->slot || e->off >= last || !fits_kind(l, e))
                return false;
            last = e->off; /* they descend: none is there twice */
        }
    }
    return true;
}

/* Sums of a kernel: at least its own and those of one function that it calls. */
static bool sums_hold(const cv_lfn *f, const cv_lfn *g)
{
    for (unsigned i = 0; i < CV_N_HEIR; i++) {
        uint32_t all = cv_trait(&f->all, i);
        uint64_t least = (uint64_t)cv_trait(&f->own, i) + (g == f ? 0 : cv_trait(&g->own, i));

        if (cv_heir_get((cv_heir)i)->rule == CV_RULE_SUM && all != CV_H_SUM_UNKNOWN && all < least)
            return false;
    }
    return true;
}

/* What a function reaches is what each function that it calls reaches, and its own: along all direct calls,
 * so that nothing is lost on a path of any length. */
static bool call_holds(const cv_lfn *f, const cv_lfn *g)
{
    if (g->def == CV_NONE || !g->live)
        return true;
    if (!cv_traits_cover(&f->all, &g->all))
        return false;
    if (!cv_link_is_kernel(f))
        return true;
    return g->regs <= f->all_regs && cv_min(cv_sat_add(f->frame, g->frame), UINT32_MAX) <= f->stack &&
           sums_hold(f, g);
}

/* A kernel has registers, stack and traits for itself and for whatever it calls. */
bool cv_link_propagate_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n && !l->o.relocatable; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || !f->live)
            continue;
        if (!cv_traits_cover(&f->all, &f->own))
            return false;
        if (cv_link_is_kernel(f) && (f->all_regs < f->regs || f->recursive != (f->stack == UINT32_MAX) ||
                                     f->stack < f->frame || !sums_hold(f, f)))
            return false;
        for (cv_id e = f->calls; e != CV_NONE; e = cv_edges_at(&l->edge, e)->next)
            if (!call_holds(f, cv_l_fn(l, cv_edges_at(&l->edge, e)->to)))
                return false;
    }
    return true;
}

/* May a loader apply this? Not what is a matter of the linker alone, not what names memory that the link lays
 * out, and not what it does not know. */
static bool may_stay(const cv_link *l, const cv_irel *e)
{
    enum { R_UNIFIED_FIRST = 102, R_UNIFIED_LAST = 113 };
    const cv_isym *s = cv_l_isym(l, e->sym);
    cv_reloc_who who = (cv_reloc_who)cv_reloc_of(e->type)->who;

    if (l->o.relocatable || e->target == CV_NONE)
        return true;
    if (who == CV_RELOC_LINKER || who == CV_RELOC_OLD || who == CV_RELOC_NONE || cv_l_is_shared(s) ||
        cv_l_is_reserved(s) || (e->type >= R_UNIFIED_FIRST && e->type <= R_UNIFIED_LAST))
        return false;
    return who == CV_RELOC_DRIVER || !cv_l_is_constant(s);
}

/* What stays of the relocations lies inside of what it patches; what was dropped because a function is gone
 * patched nothing that stays. */
bool cv_link_decide_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t kept = 0;

        if (q->group != CV_G_REL || q->is_resolved)
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            kept += cv_l_irel(l, r)->keep;
            if (cv_l_irel(l, r)->keep &&
                (cv_l_irel(l, r)->off >= cv_l_osec(l, q->target)->size || !may_stay(l, cv_l_irel(l, r))))
                return false;
            if (cv_link_is_lost(l, q, cv_l_irel(l, r)))
                return false;
        }
        if (kept != q->n_kept)
            return false;
    }
    return true;
}
