/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Defects that no checker of a stage and no proof has to notice, because the file would work, or would work
 * worse; only who knows the right answer does: the fuzz targets that compare with tests/model.
 * planted_targets.py makes each of them while a target runs its seeds. */
#include <string.h>

#include "plant.h"

#define EACH(index, list) for (uint64_t index = 0; index < (list)->count; index++)

/* Code that nobody calls stays. */
static bool reach_more(cv_link *link)
{
    EACH(i, &link->calls->fn)
    {
        cv_fn_calls *calls = cv_fn_calls_list_at(&link->calls->fn, i);

        if (!calls->live && cv_l_fn(link, i)->has_def && !cv_l_fn(link, i)->kernel)
            return calls->live = true;
    }
    return false;
}

/* What is kept because its address is taken is said to run. */
static bool reach_taken(cv_link *link)
{
    EACH(i, &link->calls->fn)
    {
        cv_fn_calls *calls = cv_fn_calls_list_at(&link->calls->fn, i);

        if (calls->live && !calls->reachable && calls->calls == CV_NONE && calls->ind == CV_NONE)
            return calls->reachable = true;
    }
    return false;
}

/* A path is counted twice: a kernel gets more stack than it can need. */
static bool stack_more(cv_link *link)
{
    EACH(i, &link->usage->fn)
    {
        cv_fn_usage *usage = cv_fn_usages_at(&link->usage->fn, i);

        if (!usage->recursive && usage->stack > usage->frame &&
            cv_calls_is_kernel(link->functions, link->calls, (cv_id)i)) {
            usage->stack += usage->frame + 8;
            return true;
        }
    }
    return false;
}

/* A kernel has the barriers of a function that it does not call. */
static bool barriers_more(cv_link *link)
{
    EACH(i, &link->usage->fn)
    {
        cv_fn_usage *usage = cv_fn_usages_at(&link->usage->fn, i);
        uint32_t bars = cv_trait(&usage->all, CV_H_NUM_BARRIERS);

        if (bars && bars < 16 && cv_calls_is_kernel(link->functions, link->calls, (cv_id)i)) {
            cv_trait_set(&usage->all, CV_H_NUM_BARRIERS, bars + 1);
            return true;
        }
    }
    return false;
}

/* All variables of a kernel lie further on, and it has as much more. */
static bool shared_loose(cv_link *link)
{
    EACH(i, &link->memory->shared)
    {
        cv_shared_place *place = cv_shared_places_at(&link->memory->shared, i);

        if (!place->placed || place->sec == CV_NONE)
            continue;
        place->off += 64;
        cv_osecs_at(&link->out->osec, place->sec)->size += 64;
        return true;
    }
    return false;
}

/* What a kernel has is aligned wider than any variable asks for. */
static bool shared_wide(cv_link *link)
{
    EACH(i, &link->out->osec)
    {
        cv_osec *osec = cv_osecs_at(&link->out->osec, i);

        if (osec->group == CV_G_NOBITS && !osec->dead && osec->size && osec->align &&
            osec->infosec != CV_NONE) {
            osec->align *= 2;
            return true;
        }
    }
    return false;
}

/* Two textures change places, in all banks and for all uses: each still finds its own. */
static bool slots_turned(cv_link *link)
{
    cv_id first = CV_NONE, second = CV_NONE;
    uint64_t slot;

    EACH(i, &link->out->osym)
    {
        const cv_osym *osym = cv_l_osym(link, i);

        if (!osym->has_slot || cv_l_type(cv_l_isym(link, osym->src)) != CV_STT_CUDA_TEXTURE)
            continue;
        first = second;
        second = (cv_id)i;
        if (first != CV_NONE)
            break;
    }
    if (first == CV_NONE)
        return false;
    slot = cv_l_osym(link, first)->slot;
    cv_l_osym(link, first)->slot = cv_l_osym(link, second)->slot;
    cv_l_osym(link, second)->slot = slot;
    EACH(k, &link->out->run)
    {
        const cv_rel_run *run = cv_rel_runs_get(&link->out->run, k);

        for (cv_id i = 0; run->target == CV_NONE && i < run->count; i++) {
            cv_id *osym = cv_u32s_at(&link->out->rel_osym, (uint64_t)run->osym + i);

            if (*osym == first || *osym == second) {
                *osym = *osym == first ? second : first;
                cv_irels_at(&link->out->irel, (uint64_t)run->first + i)->sym = cv_l_osym(link, *osym)->src;
            }
        }
    }
    return true;
}

/* A bank has room for one slot more. */
static bool slots_longer(cv_link *link)
{
    EACH(i, &link->out->const0)
    {
        cv_osec *bank = cv_osecs_at(&link->out->osec, *cv_u32s_get(&link->out->const0, i));

        if (cv_l_fn_memory(link, cv_l_osec(link, bank->infosec)->fn)->slots) {
            bank->size += 4;
            return true;
        }
    }
    return false;
}

typedef struct plant {
    const char *name, *stage;
    bool (*make)(cv_link *link);
    const char *target; /* that has to notice it */
} plant;

static const plant OF_MODELS[] = {
    { "reach-more", "mark_live", reach_more, "reach" },
    { "reach-taken", "mark_live", reach_taken, "reach" },
    { "stack-more", "usage", stack_more, "propagate" },
    { "barriers-more", "usage", barriers_more, "propagate" },
    { "shared-loose", "shared_memory", shared_loose, "shared" },
    { "shared-wide", "shared_memory", shared_wide, "shared" },
    { "slots-turned", "texture_slots", slots_turned, "slots" },
    { "slots-longer", "texture_slots", slots_longer, "slots" },
};

bool cv_link_plant_of_models(cv_link *link, const char *wanted, const char *stage)
{
    for (size_t i = 0; i < CV_COUNT(OF_MODELS); i++)
        if (strcmp(CV_AT(OF_MODELS, i).name, wanted) == 0 && strcmp(CV_AT(OF_MODELS, i).stage, stage) == 0)
            return CV_AT(OF_MODELS, i).make(link);
    return false;
}
