/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a link of a program has made so far, as one number: the key of its hash tables must not be in it. */
#include "program.h"

static uint64_t mix_functions(uint64_t hash, const cv_link *link)
{
    for (cv_id i = 0; i < link->calls->fn.count; i++) {
        const cv_fn_calls *calls = cv_l_fn_calls(link, i);

        hash = fz_mix(hash, calls->live | (unsigned)calls->reachable << 1 | (unsigned)calls->kept << 2);
    }
    for (cv_id i = 0; i < link->usage->fn.count; i++) {
        const cv_fn_usage *usage = cv_l_fn_usage(link, i);

        hash = fz_mix(fz_mix(hash, usage->all_regs), usage->stack);
        hash = fz_mix(fz_mix(hash, usage->recursive), usage->all.has);
        for (unsigned k = 0; k < CV_N_HEIR; k++)
            hash = fz_mix(hash, usage->all.has & CV_H_BIT(k) ? usage->all.value[k] : 0);
    }
    for (cv_id i = 0; i < link->memory->fn.count; i++)
        hash = fz_mix(hash, cv_l_fn_memory(link, i)->extern_off);
    for (cv_id i = 0; i < link->memory->shared.count; i++)
        hash = fz_mix(fz_mix(hash, cv_l_shared(link, i)->off), cv_l_shared(link, i)->sec);
    return hash;
}

static uint64_t mix_output(uint64_t hash, const cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);

        hash = fz_mix(fz_mix(fz_mix(hash, osec->name), osec->type), osec->dead);
        hash = fz_mix(fz_mix(fz_mix(hash, osec->align), osec->size), osec->off);
        hash = fz_mix(fz_mix(fz_mix(hash, osec->index), osec->link), osec->info);
    }
    for (cv_id i = 0; i < link->out->osym.count; i++) {
        const cv_osym *osym = cv_l_osym(link, i);

        hash = fz_mix(fz_mix(fz_mix(hash, osym->name), osym->sec), osym->dead);
        hash = fz_mix(fz_mix(fz_mix(hash, osym->value), osym->size), osym->index);
        hash = fz_mix(hash, osym->has_slot ? osym->slot + 1 : 0);
    }
    for (cv_id i = 0; i < link->out->irel.count; i++) {
        const cv_irel *irel = cv_l_irel(link, i);

        hash = fz_mix(fz_mix(fz_mix(hash, irel->off), irel->type), irel->gone);
        hash = fz_mix(hash, irel->sym);
    }
    for (uint64_t i = 0; i < link->out->rel_osym.count; i++)
        hash = fz_mix(hash, *cv_u32s_get(&link->out->rel_osym, i));
    return hash;
}

static uint64_t mix_records(uint64_t hash, const cv_link *link)
{
    for (uint64_t i = 0; i < link->records->rec.count; i++) {
        const cv_irec *rec = cv_irecs_get(&link->records->rec, i);

        hash = fz_mix(fz_mix(fz_mix(hash, rec->format), rec->code), rec->value);
        hash = fz_mix(fz_mix(hash, rec->raw ? 0 : rec->first), rec->count);
        for (uint64_t k = 0; rec->raw && k < rec->bytes.len; k++)
            hash = fz_mix(hash, cv_u8_at(rec->bytes, k));
    }
    for (uint64_t i = 0; i < link->records->word.count; i++)
        hash = fz_mix(hash, cv_iwords_get(&link->records->word, i)->value);
    for (uint64_t i = 0; i < link->records->oinfo.count; i++) {
        const cv_oinfo *info = cv_oinfos_get(&link->records->oinfo, i);

        hash = fz_mix(fz_mix(fz_mix(hash, info->fn), info->first), info->count);
    }
    return hash;
}

uint64_t fz_program_made(const fz_linked *linked, cuvet_status status)
{
    uint64_t hash = fz_mix(fz_mix(linked->said, (uint64_t)status), linked->ctx.verdict);

    return mix_records(mix_output(mix_functions(hash, &linked->link), &linked->link), &linked->link);
}
