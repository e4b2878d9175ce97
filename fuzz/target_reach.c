/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stages up to "undefined": what kernels come to, what stays, what is missing; compared with
 * tests/model/reach.c. */
#include "program.h"

static void compare(const md_program *program, fz_linked *linked, cuvet_status status)
{
    const cv_link *link = &linked->link;
    md_reach reach;

    md_find_reach(program, &reach);
    FZ_CHECK((status == CUVET_E_REFUSED) == reach.undefined, "refused where something is missing");
    FZ_CHECK(fz_program_said(linked, CV_R_LINK_UNDEFINED) == reach.undefined, "and it says so");
    for (unsigned i = 0; i < program->n_fns; i++) {
        const cv_fn_calls *calls;

        if (linked->fn[i] == CV_NONE) {
            FZ_CHECK(!md_is_defined(&program->fn[i]), "what is defined is there");
            continue;
        }
        calls = cv_l_fn_calls(link, linked->fn[i]);
        FZ_CHECK(calls->live == ((reach.stays & MD_BIT(i)) != 0), "what stays");
        FZ_CHECK(calls->reachable == ((reach.runs & MD_BIT(i)) != 0), "what runs");
        FZ_CHECK(cv_l_is_kernel(link, linked->fn[i]) == ((reach.kernels & MD_BIT(i)) != 0), "kernels");
    }
}

CV_FUZZ_TARGET(reach)
{
    return fz_program_run(data, size, 0, "undefined", compare);
}
