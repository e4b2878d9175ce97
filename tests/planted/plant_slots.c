/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Defects of the slots that a kernel has: what the loader writes is missing in a bank, see plant.c. */
#include "plant.h"

#define EACH(index, list) for (uint64_t index = 0; index < (list)->count; index++)

static unsigned kind_of(unsigned type)
{
    return type == CV_STT_CUDA_TEXTURE || type == CV_STT_CUDA_SAMPLER ? 1U << (type - CV_STT_CUDA_TEXTURE)
                                                                      : 0;
}

static unsigned kind_of_row(cv_link *link, const cv_irel *rel)
{
    return kind_of(cv_l_type(cv_l_isym(link, rel->sym)));
}

/* Kinds that the code of a function names itself. */
static unsigned own_kinds(cv_link *link, cv_id fn)
{
    unsigned kinds = 0;

    EACH(i, &link->out->osec)
    {
        const cv_osec *osec = cv_l_osec(link, i);

        if (osec->group != CV_G_REL || cv_l_osec(link, osec->target)->group != CV_G_CODE ||
            cv_l_osec(link, osec->target)->fn != fn)
            continue;
        for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(link->out, &cur);)
            kinds |= kind_of_row(link, cur.rel);
    }
    return kinds;
}

/* Rows of slots of these kinds leave their table, no more than 'most'. How many were there? */
static unsigned drop(cv_link *link, cv_osec *table, unsigned kinds, unsigned most)
{
    unsigned dropped = 0;

    for (cv_rel_cur cur = cv_out_rels(table); dropped < most && cv_rel_next(link->out, &cur);)
        if (cur.target == CV_NONE && (kind_of_row(link, cur.rel) & kinds) != 0) {
            cv_irels_at(&link->out->irel, cur.id)->gone = link->out->any_gone = true;
            dropped++;
        }
    return dropped;
}

/* The kernel whose bank a table writes slots into; CV_NONE: none. */
static cv_id kernel_of(cv_link *link, const cv_osec *table)
{
    const cv_osec *bank;

    if (table->group != CV_G_REL || table->rels == CV_NONE ||
        cv_rel_runs_get(&link->out->run, table->rels)->target != CV_NONE)
        return CV_NONE;
    bank = cv_l_osec(link, table->target);
    return bank->infosec == CV_NONE ? CV_NONE : cv_l_osec(link, bank->infosec)->fn;
}

/* A kernel that names nothing of the kind itself gets no slots by what it calls. */
bool plant_slots_below(cv_link *link, uint64_t unused)
{
    (void)unused;
    EACH(i, &link->out->osec)
    {
        cv_osec *table = cv_osecs_at(&link->out->osec, i);
        cv_id kernel = kernel_of(link, table);

        if (kernel != CV_NONE && own_kinds(link, kernel) == 0 && drop(link, table, ~0U, ~0U) != 0)
            return true;
    }
    return false;
}

/* One that names some gets those alone. */
bool plant_slots_unmarked(cv_link *link, uint64_t unused)
{
    (void)unused;
    EACH(i, &link->out->osec)
    {
        cv_osec *table = cv_osecs_at(&link->out->osec, i);
        cv_id kernel = kernel_of(link, table);
        unsigned kinds = kernel == CV_NONE ? 0 : own_kinds(link, kernel);

        if (kinds != 0 && drop(link, table, ~kinds, ~0U) != 0)
            return true;
    }
    return false;
}

/* One texture of several is not written. */
bool plant_slot_unwritten(cv_link *link, uint64_t unused)
{
    (void)unused;
    EACH(i, &link->out->osec)
    {
        cv_osec *table = cv_osecs_at(&link->out->osec, i);
        unsigned textures = 0;

        if (kernel_of(link, table) == CV_NONE)
            continue;
        for (cv_rel_cur cur = cv_out_rels(table); cv_rel_next(link->out, &cur);)
            textures += kind_of_row(link, cur.rel) == kind_of(CV_STT_CUDA_TEXTURE);
        if (textures > 1 && drop(link, table, kind_of(CV_STT_CUDA_TEXTURE), 1) != 0)
            return true;
    }
    return false;
}
