/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linking.md section 7, "Propagation over the call graph"; docs/link.md, "What a kernel inherits". */
#include "model/model.h"

typedef enum rule { RULE_MOST, RULE_BITS, RULE_SUM, RULE_PATH } rule;

/* Flags are the largest of 0 and 1. */
static const rule RULES[MD_TRAITS] = {
    [MD_BARRIERS] = RULE_MOST,    [MD_MBARRIERS] = RULE_SUM, [MD_SYNC_STACK] = RULE_PATH,
    [MD_SPARSE] = RULE_BITS,      [MD_CTAIDZ] = RULE_MOST,   [MD_RESERVED] = RULE_MOST,
    [MD_RECONFIGURE] = RULE_MOST,
};

#define SUM_UNKNOWN UINT32_C(0xFFFF) /* in a record */
#define UNKNOWN     UINT32_MAX       /* here: a sum may be 0xFFFF as well, and is too large then */

/* Can a function come to itself again? */
static bool comes_back(const md_program *program, const md_reach *reach, unsigned at)
{
    for (unsigned i = 0; i < program->n_fns; i++)
        if (md_leads_to(program, at, i) && (reach->below[i] & MD_BIT(at)))
            return true;
    return false;
}

/* The largest sum of a number of each function over a path of calls, where none comes back: as many rounds
 * as there are functions. */
static uint64_t longest(const md_program *program, const md_reach *reach, unsigned kernel, bool sync)
{
    uint64_t best[MD_FNS] = { 0 };

    for (unsigned round = 0; round <= program->n_fns; round++)
        for (unsigned i = 0; i < program->n_fns; i++) {
            const md_fn *fn = &program->fn[i];
            uint64_t below = 0;

            if (!(reach->below[kernel] & MD_BIT(i)))
                continue;
            for (unsigned k = 0; k < program->n_fns; k++)
                if (md_leads_to(program, i, k) && best[k] > below)
                    below = best[k];
            best[i] = below + (sync ? fn->own.value[MD_SYNC_STACK] : fn->frame);
        }
    return best[kernel];
}

static void take_in(md_traits *all, const md_traits *own)
{
    for (unsigned i = 0; i < MD_TRAITS; i++) {
        if (!(own->has & MD_BIT(i)))
            continue;
        all->has |= MD_BIT(i);
        switch (RULES[i]) {
        case RULE_MOST: all->value[i] = all->value[i] > own->value[i] ? all->value[i] : own->value[i]; break;
        case RULE_BITS: all->value[i] |= own->value[i]; break;
        case RULE_SUM: /* "0xFFFF is not known and stays that" */
            all->value[i] = all->value[i] == UNKNOWN || own->value[i] == SUM_UNKNOWN
                                ? UNKNOWN
                                : all->value[i] + own->value[i];
            break;
        case RULE_PATH: break;
        }
    }
}

/* "When one function that stays says which kinds of sparse multiplication it does, those that say nothing get
 * the mask 0x8000." */
md_traits md_own_of(const md_program *program, const md_reach *reach, unsigned at)
{
    md_traits own = program->fn[at].own;

    for (unsigned i = 0; i < program->n_fns && !(own.has & MD_BIT(MD_SPARSE)); i++)
        if ((reach->stays & MD_BIT(i)) && (program->fn[i].own.has & MD_BIT(MD_SPARSE))) {
            own.has |= MD_BIT(MD_SPARSE);
            own.value[MD_SPARSE] = 0x8000;
        }
    return own;
}

static void find_need(const md_program *program, const md_reach *reach, unsigned kernel, md_usage *usage)
{
    md_need *need = &usage->of[kernel];
    md_set reached = reach->below[kernel], from = reached;
    bool alone = reach->kernels == MD_BIT(kernel);
    uint32_t path = 0;
    md_traits own;

    /* "One kernel alone gets what all functions that stay have, reached or not." Registers and stack: what it
     * comes to. */
    if (alone)
        from = reach->stays;
    for (unsigned i = 0; i < program->n_fns; i++) {
        const md_fn *fn = &program->fn[i];

        if (!md_is_defined(fn))
            continue;
        own = md_own_of(program, reach, i);
        if (from & MD_BIT(i))
            take_in(&need->all, &own);
        if (!(reached & MD_BIT(i)))
            continue;
        path |= fn->own.has & MD_BIT(MD_SYNC_STACK);
        /* nvlink 13.0.88 leaves those of a kernel with REG_RECONFIG as they are: docs/link.md, not copied. */
        if (fn->registers > need->registers)
            need->registers = fn->registers;
        need->recursive = need->recursive || comes_back(program, reach, i);
        if (program->fn[kernel].limit != 0xFF && fn->registers > program->fn[kernel].limit)
            usage->too_many = true;
    }
    need->stack = need->recursive ? UINT32_MAX : (uint32_t)longest(program, reach, kernel, false);
    need->all.has = (need->all.has & ~MD_BIT(MD_SYNC_STACK)) | path;
    need->all.value[MD_SYNC_STACK] =
        need->recursive ? UINT32_MAX : (uint32_t)longest(program, reach, kernel, true);
    /* "nvlink cuts a sum of mbarriers to 16 bits. Not copied: refused." */
    if (need->all.value[MD_MBARRIERS] == UNKNOWN)
        need->all.value[MD_MBARRIERS] = SUM_UNKNOWN;
    else
        need->exceeds = need->all.value[MD_MBARRIERS] >= SUM_UNKNOWN;
    usage->sum_exceeds = usage->sum_exceeds || need->exceeds;
}

void md_find_usage(const md_program *program, const md_reach *reach, md_usage *usage)
{
    *usage = (md_usage){ 0 };
    for (unsigned i = 0; i < program->n_fns; i++)
        if (reach->kernels & MD_BIT(i))
            find_need(program, reach, i, usage);
}
