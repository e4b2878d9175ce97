/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage dangling: what the output names is in it. The numbers of symbols are final here. Metadata of a
 * damaged input can name what its call graph does not reach, and what is not reached is gone. */
#include "link/plan/plan.h"

static bool is_gone(const cv_view_dangling *view, cv_id osym)
{
    const cv_osym *symbol = cv_l_osym(view, osym);

    return osym >= view->out->osym.count || symbol->dead || symbol->index == 0;
}

/* An input's symbol that became this one. */
static cv_id source_of(const cv_view_dangling *view, cv_id osym)
{
    const cv_osym *symbol = cv_l_osym(view, osym);
    const cv_osec *osec = symbol->sec == CV_NONE ? NULL : cv_l_osec(view, symbol->sec);

    if (!symbol->is_section)
        return symbol->win != CV_NONE ? symbol->win : symbol->src;
    osec = osec && osec->infosec != CV_NONE ? cv_l_osec(view, osec->infosec)
                                            : osec; /* the function that it belongs to */
    return osec && osec->fn != CV_NONE ? cv_l_fn(view, osec->fn)->def : CV_NONE;
}

static void say(const cv_view_dangling *view, cv_id osym, uint64_t record)
{
    cv_id id = source_of(view, osym);

    cv_link_say(view, id, CV_R_LINK_REFERENCE, id == CV_NONE ? 0 : cv_l_isym(view, id)->index, record);
}

static void check_records(const cv_view_dangling *view)
{
    for (uint64_t i = 0; i < view->records->rec.count; i++) {
        const cv_irec *record = cv_irecs_get(&view->records->rec, i);

        for (uint64_t k = 0; k < record->count; k++) {
            const cv_iword *word = cv_iwords_get(&view->records->word, record->first + k);

            if (word->symbol && is_gone(view, word->value))
                say(view, word->value, record->code);
        }
    }
}

static void check_relocations(const cv_view_dangling *view, const cv_osec *osec)
{
    for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur);) {
        const cv_fixup *fixup = cv_l_fixup(view, cur.id);

        if (fixup->keep && is_gone(view, fixup->osym))
            cv_link_say(view, cur.rel->sym, CV_R_LINK_REFERENCE, cv_l_isym(view, cur.rel->sym)->index, 0);
    }
}

cuvet_status cv_stage_dangling(const cv_view_dangling *view)
{
    check_records(view);
    for (cv_id i = 0; i < view->out->osec.count; i++)
        if (cv_l_osec(view, i)->group == CV_G_REL && !cv_l_osec(view, i)->dead &&
            !cv_l_osec(view, i)->is_resolved)
            check_relocations(view, cv_l_osec(view, i));
    return CUVET_OK;
}
