/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to "shared_memory": where variables lie, what kernels have; compared with tests/model/shared.c.
 */
#include "program.h"

#include <stdio.h>
#include <string.h>

/* The symbol that defines a variable. */
static cv_id definition_of(const cv_link *link, unsigned var)
{
    char name[16];

    (void)snprintf(name, sizeof(name), "s%u", var);
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i);

        if (sym->sec != CV_NONE && cv_l_is_shared(sym) &&
            cv_span_eq(cv_l_text(link, sym->name), cv_span_of(name, strlen(name), 0)))
            return i;
    }
    return CV_NONE;
}

static cv_id section_of(const fz_linked *linked, unsigned kernel)
{
    return cv_l_osec(&linked->link, cv_l_fn_out(&linked->link, linked->fn[kernel])->sec)->shared;
}

static void compare_variables(const md_program *program, const fz_linked *linked, const md_shared *model)
{
    for (unsigned i = 0; i < program->n_vars; i++) {
        const md_place *want = &model->var[i];
        const cv_shared_place *have;

        if (program->var[i].array)
            continue;
        have = cv_l_shared(&linked->link, definition_of(&linked->link, i));
        FZ_CHECK(have->placed == want->placed, "which variables have a place");
        if (!want->placed)
            continue;
        FZ_CHECK(have->off == want->off, "where a variable lies");
        FZ_CHECK(have->sec == (want->kernel == MD_NONE ? CV_NONE : section_of(linked, want->kernel)),
                 "in the section of the only kernel that has it");
    }
}

static void compare(const md_program *program, fz_linked *linked, cuvet_status status)
{
    md_reach reach;
    md_shared model;

    md_find_reach(program, &reach);
    if (reach.undefined)
        return;
    md_find_shared(program, &reach, &model);
    FZ_CHECK((status == CUVET_E_REFUSED) == model.too_much, "refused where it is too much");
    FZ_CHECK(fz_program_said(linked, CV_R_LINK_SHARED) == model.too_much, "and it says so");
    if (program->n_vars == 0)
        return;
    compare_variables(program, linked, &model);
    for (unsigned i = 0; i < program->n_fns; i++) {
        const md_section *want = &model.of[i];
        const cv_osec *have;

        if (model.has_arrays & MD_BIT(i))
            FZ_CHECK(cv_l_fn_memory(&linked->link, linked->fn[i])->extern_off == model.arrays[i],
                     "where its arrays lie");
        if (!(reach.kernels & MD_BIT(i)))
            continue;
        have = cv_l_osec(&linked->link, section_of(linked, i));
        FZ_CHECK(have->dead != want->there, "which kernels have shared memory");
        FZ_CHECK(!want->there || have->size == want->end, "how much");
        FZ_CHECK(!want->there || have->align == want->align, "and how it is aligned");
    }
}

CV_FUZZ_TARGET(shared)
{
    return fz_program_run(data, size, FZ_VARIABLES, "shared_memory", compare);
}
