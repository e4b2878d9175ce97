/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Invariants between stages. They always run; one that does not hold is our defect, and nothing comes out. */
#include "base/arith.h"
#include "link/stages.h"

/* Everything that an input's symbol, section or relocation became exists, and lies where it must. */
bool cv_link_collect_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->isec.n; i++) {
        const cv_isec *s = cv_l_isec(l, i);

        if (s->out != CV_NONE && s->out >= l->osec.n)
            return false;
    }
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);

        if ((s->out != CV_NONE && s->out >= l->osym.n) || (s->fn != CV_NONE && s->fn >= l->fn.n))
            return false;
    }
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->sym == CV_NONE || (f->def != CV_NONE && f->sec == CV_NONE))
            return false;
    }
    return true;
}

/* Live functions call only live ones. */
bool cv_link_reach_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->mark != l->stamp || !f->live || l->o.relocatable)
            continue;
        for (cv_id e = f->calls; e != CV_NONE; e = cv_edges_at(&l->edge, e)->next)
            if (!cv_l_fn(l, cv_edges_at(&l->edge, e)->to)->live)
                return false;
    }
    return true;
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
    return true;
}

static bool section_holds(const cv_link *l, uint64_t i, uint64_t *end)
{
    const cv_osec *q = cv_l_osec(l, *cv_u32s_at(&l->order, i));

    if (q->dead || q->index != i || q->off < *end || (q->align > 1 && q->off % q->align != 0))
        return false;
    *end = q->group == CV_G_NOBITS ? q->off : cv_sat_add(q->off, q->size);
    if (q->infosec != CV_NONE && cv_l_osec(l, q->infosec)->dead)
        return false;
    return q->group != CV_G_REL || !cv_l_osec(l, q->target)->dead;
}

static bool symbol_holds(const cv_link *l, const cv_osym *y)
{
    const cv_osec *q = y->sec == CV_NONE ? NULL : cv_l_osec(l, y->sec);

    if (!q || y->is_section)
        return !q || !q->dead;
    /* a shared variable of a relocatable object has its alignment for a value */
    return !q->dead && (l->o.relocatable || y->value <= q->size);
}

/* Offsets ascend, nothing overlaps, nothing names what is not there. */
bool cv_link_arrange_holds(const cv_link *l)
{
    uint64_t end = 64;

    for (uint64_t i = 1; i < l->order.n; i++)
        if (!section_holds(l, i, &end))
            return false;
    for (uint64_t i = 0; i < l->sym_order.n; i++) {
        const cv_osym *y = cv_l_osym(l, *cv_u32s_at(&l->sym_order, i));

        if (y->index != i + 1 || !symbol_holds(l, y))
            return false;
    }
    return l->shoff >= end;
}

/* What stays of the relocations lies inside of what it patches. */
bool cv_link_decide_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t kept = 0;

        if (q->group != CV_G_REL || q->is_resolved)
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            kept += cv_l_irel(l, r)->keep;
            if (cv_l_irel(l, r)->keep && cv_l_irel(l, r)->off >= cv_l_osec(l, q->target)->size)
                return false;
        }
        if (kept != q->n_kept)
            return false;
    }
    return true;
}
