/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model/model.h"

/* May this indirect call come to that function? Whose address was taken with the same prototype, and only
 * those. (linking.md section 8, last paragraph) */
static bool may_come_to(const md_program *program, unsigned from, unsigned to)
{
    const md_fn *target = &program->fn[to];

    return target->said && !target->kernel && (program->fn[from].by_type & MD_BIT(target->type));
}

bool md_leads_to(const md_program *program, unsigned from, unsigned to)
{
    return (program->fn[from].calls & MD_BIT(to)) || may_come_to(program, from, to);
}

/* Add what one step leads to until nothing is added. */
static md_set close_over(const md_program *program, md_set set)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (unsigned from = 0; from < program->n_fns; from++)
            for (unsigned to = 0; to < program->n_fns && (set & MD_BIT(from)); to++)
                if (!(set & MD_BIT(to)) && md_leads_to(program, from, to)) {
                    set |= MD_BIT(to);
                    grown = true;
                }
    }
    return set;
}

/* Kernels that the program begins with: those that are asked for, and those that code launches.
 * (linking.md section 11, "Dead code"; docs/link-partial.md, --kernels-used) */
static bool begins(const md_program *program, unsigned at)
{
    const md_fn *fn = &program->fn[at];

    return fn->kernel && (program->asked == MD_NONE || program->asked == at || fn->said);
}

bool md_is_named(const md_program *program, unsigned fn)
{
    bool named = program->fn[fn].in_data;

    for (unsigned k = 0; k < program->n_fns; k++)
        named = named || ((program->fn[k].calls | program->fn[k].takes) & MD_BIT(fn));
    return named;
}

void md_find_reach(const md_program *program, md_reach *reach)
{
    md_set roots = 0;

    *reach = (md_reach){ 0 };
    for (unsigned i = 0; i < program->n_fns; i++) {
        reach->below[i] = close_over(program, MD_BIT(i));
        if (begins(program, i))
            roots |= MD_BIT(i);
    }
    reach->runs = close_over(program, roots);
    reach->stays = reach->runs;
    /* Whose address somebody takes stays, whoever takes it; its callees do not, but for what nobody defines:
     * that stays as a name. (linking.md section 11; docs/link.md "Dead code") */
    for (unsigned i = 0; i < program->n_fns; i++) {
        bool taken = program->fn[i].said || program->fn[i].in_data;

        for (unsigned k = 0; k < program->n_fns; k++)
            taken = taken || (program->fn[k].takes & MD_BIT(i));
        if (!taken)
            continue;
        reach->stays |= MD_BIT(i);
        for (unsigned k = 0; k < program->n_fns; k++)
            if ((program->fn[i].calls & MD_BIT(k)) && !md_is_defined(&program->fn[k]))
                reach->stays |= MD_BIT(k);
    }
    /* -g and --preserve-relocs keep all code. */
    if (program->keep_dead)
        reach->stays = MD_BIT(program->n_fns) - 1;
    for (unsigned i = 0; i < program->n_fns; i++) {
        const md_fn *fn = &program->fn[i];

        if (fn->kernel && (reach->stays & MD_BIT(i)))
            reach->kernels |= MD_BIT(i);
        /* "All other undefined references are errors in a final link." Code that does not stay is not
         * asked; but a name that stays, because an indirect call may come to it, is one whoever named it
         * (nvlink 13.0.88: the same). */
        if (fn->missing && md_is_named(program, i) && (reach->stays & MD_BIT(i)))
            reach->undefined = true;
    }
}
