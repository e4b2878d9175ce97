/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linking.md section 7; docs/link.md, "What a kernel inherits". */
#include "model/model.h"

/* Traits whose records hold a number: one that is 0 says nothing. */
static bool is_number(unsigned trait)
{
    return trait < MD_CTAIDZ;
}

/* Does some function say nothing of sparse multiplication? One of an input that is gone says nothing, nor
 * does one of the driver that is called (nvlink 13.0.88). */
static bool is_silent(const md_program *program, const md_reach *reach)
{
    for (unsigned i = 0; i < program->n_fns; i++) {
        bool stays = (reach->stays & MD_BIT(i)) != 0;

        if (md_is_defined(&program->fn[i]) ? !(program->fn[i].own.has & MD_BIT(MD_SPARSE) && stays)
                                           : stays && md_is_named(program, i))
            return true;
    }
    return false;
}

static void describe_kernel(const md_program *program, const md_reach *reach, const md_need *need,
                            unsigned kernel, md_traits *said)
{
    const md_traits *own = &program->fn[kernel].own;
    bool alone = reach->kernels == MD_BIT(kernel);

    *said = need->all;
    /* A stack of branches that is 0 is told to no kernel (nvlink 13.0.88), other numbers not to one alone. */
    for (unsigned i = 0; i < MD_TRAITS; i++)
        if ((alone || i == MD_SYNC_STACK) && is_number(i) && said->value[i] == 0 && !(own->has & MD_BIT(i)))
            said->has &= ~MD_BIT(i);
    /* "It keeps its own SPARSE_MMA_MASK unless some function has none, or is gone." */
    if (alone && (own->has & MD_BIT(MD_SPARSE)) && !is_silent(program, reach))
        said->value[MD_SPARSE] = own->value[MD_SPARSE];
    /* "kernel that reaches recursion: 0xffffffff" */
    if (need->recursive)
        said->has |= MD_BIT(MD_SYNC_STACK);
}

void md_find_said(const md_program *program, const md_reach *reach, const md_usage *usage, md_said *said)
{
    *said = (md_said){ 0 };
    for (unsigned i = 0; i < program->n_fns; i++) {
        const md_fn *fn = &program->fn[i];

        if (!md_is_defined(fn) || !(reach->stays & MD_BIT(i)))
            continue;
        said->described |= MD_BIT(i);
        said->of[i] = md_own_of(program, reach, i);
        said->frame[i] = fn->frame; /* "unchanged" */
        said->registers[i] = fn->registers;
        if (!(reach->kernels & MD_BIT(i)))
            continue;
        said->registers[i] = usage->of[i].registers; /* "Device functions keep theirs." */
        said->stack[i] = usage->of[i].stack;
        describe_kernel(program, reach, &usage->of[i], i, &said->of[i]);
    }
}
