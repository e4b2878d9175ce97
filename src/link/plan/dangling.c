/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage refer: what the output names is in it. The numbers of symbols are final here. Metadata of a damaged
 * input can name what its call graph does not reach, and what is not reached is gone. */
#include "link/in/stages.h"

static bool is_gone(const cv_link *link, cv_id osym)
{
    const cv_osym *symbol = cv_l_osym(link, osym);

    return osym >= link->out->osym.count || symbol->dead || symbol->index == 0;
}

/* An input's symbol that became this one. */
static cv_id source_of(const cv_link *link, cv_id osym)
{
    const cv_osym *symbol = cv_l_osym(link, osym);
    const cv_osec *osec = symbol->sec == CV_NONE ? NULL : cv_l_osec(link, symbol->sec);

    if (!symbol->is_section)
        return symbol->win != CV_NONE ? symbol->win : symbol->src;
    osec = osec && osec->infosec != CV_NONE ? cv_l_osec(link, osec->infosec)
                                            : osec; /* the function that it belongs to */
    return osec && osec->fn != CV_NONE ? cv_l_fn(link, osec->fn)->def : CV_NONE;
}

static void say(cv_link *link, cv_id osym, uint64_t record)
{
    cv_id id = source_of(link, osym);

    cv_link_say(link, id, CV_R_LINK_REFERENCE, id == CV_NONE ? 0 : cv_l_isym(link, id)->index, record);
}

static void check_records(cv_link *link)
{
    for (uint64_t i = 0; i < link->records->rec.count; i++) {
        const cv_irec *record = cv_irecs_at(&link->records->rec, i);

        for (uint64_t k = 0; k < record->count; k++) {
            const cv_iword *word = cv_iwords_at(&link->records->word, record->first + k);

            if (word->symbol && is_gone(link, word->value))
                say(link, word->value, record->code);
        }
    }
}

static void check_relocations(cv_link *link, const cv_osec *osec)
{
    for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(link, rel)->next) {
        const cv_irel *irel = cv_l_irel(link, rel);
        const cv_fixup *fixup = cv_l_fixup(link, rel);

        if (fixup->keep && is_gone(link, fixup->osym))
            cv_link_say(link, irel->sym, CV_R_LINK_REFERENCE, cv_l_isym(link, irel->sym)->index, 0);
    }
}

cuvet_status cv_link_refer(cv_link *link)
{
    check_records(link);
    for (cv_id i = 0; i < link->out->osec.count; i++)
        if (cv_l_osec(link, i)->group == CV_G_REL && !cv_l_osec(link, i)->dead &&
            !cv_l_osec(link, i)->is_resolved)
            check_relocations(link, cv_l_osec(link, i));
    return CUVET_OK;
}
