/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage refer: what the output names is in it. The numbers of symbols are final here. Metadata of a damaged
 * input can name what its call graph does not reach, and what is not reached is gone. */
#include "link/in/stages.h"

static bool is_gone(const cv_link *l, cv_id osym)
{
    const cv_osym *y = cv_l_osym(l, osym);

    return osym >= l->osym.n || y->dead || y->index == 0;
}

/* An input's symbol that became this one. */
static cv_id source_of(const cv_link *l, cv_id osym)
{
    const cv_osym *y = cv_l_osym(l, osym);
    const cv_osec *q = y->sec == CV_NONE ? NULL : cv_l_osec(l, y->sec);

    if (!y->is_section)
        return y->win != CV_NONE ? y->win : y->src;
    q = q && q->infosec != CV_NONE ? cv_l_osec(l, q->infosec) : q; /* the function that it belongs to */
    return q && q->fn != CV_NONE ? cv_l_fn(l, q->fn)->def : CV_NONE;
}

static void say(cv_link *l, cv_id osym, uint64_t record)
{
    cv_id id = source_of(l, osym);

    cv_link_say(l, id, CV_R_LINK_REFERENCE, id == CV_NONE ? 0 : cv_l_isym(l, id)->index, record);
}

static void check_records(cv_link *l)
{
    for (uint64_t i = 0; i < l->rec.n; i++) {
        const cv_irec *r = cv_irecs_at(&l->rec, i);

        for (uint64_t k = 0; k < r->n; k++) {
            const cv_iword *w = cv_iwords_at(&l->word, r->first + k);

            if (w->symbol && is_gone(l, w->value))
                say(l, w->value, r->code);
        }
    }
}

static void check_relocations(cv_link *l, const cv_osec *q)
{
    for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
        const cv_irel *e = cv_l_irel(l, r);

        if (e->keep && is_gone(l, e->osym != CV_NONE ? e->osym : cv_link_symbol_of(l, e->sym)))
            cv_link_say(l, e->sym, CV_R_LINK_REFERENCE, cv_l_isym(l, e->sym)->index, 0);
    }
}

cuvet_status cv_link_refer(cv_link *l)
{
    check_records(l);
    for (cv_id i = 0; i < l->osec.n; i++)
        if (cv_l_osec(l, i)->group == CV_G_REL && !cv_l_osec(l, i)->dead && !cv_l_osec(l, i)->is_resolved)
            check_relocations(l, cv_l_osec(l, i));
    return CUVET_OK;
}
