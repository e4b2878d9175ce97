/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to "usage": registers, stack and what else kernels need for what they come to; compared with
 * tests/model/usage.c. */
#include "program.h"

static const cv_heir ROW[MD_TRAITS] = {
    [MD_BARRIERS] = CV_H_NUM_BARRIERS,     [MD_MBARRIERS] = CV_H_NUM_MBARRIERS,
    [MD_SYNC_STACK] = CV_H_CRS_STACK_SIZE, [MD_SPARSE] = CV_H_SPARSE_MMA_MASK,
    [MD_CTAIDZ] = CV_H_CTAIDZ_USED,        [MD_RESERVED] = CV_H_RESERVED_SMEM_USED,
    [MD_RECONFIGURE] = CV_H_REG_RECONFIG,
};

static void compare_kernel(const md_need *need, const cv_fn_usage *usage)
{
    FZ_CHECK(usage->all_regs == need->registers, "registers");
    FZ_CHECK(usage->stack == need->stack && usage->recursive == need->recursive, "stack");
    for (unsigned i = 0; i < MD_TRAITS; i++) {
        bool has = (usage->all.has & CV_H_BIT(ROW[i])) != 0;

        FZ_CHECK(i == MD_SYNC_STACK || has == ((need->all.has & MD_BIT(i)) != 0), "which records");
        FZ_CHECK(!has || i >= MD_CTAIDZ || (i == MD_MBARRIERS && need->exceeds) ||
                     cv_trait(&usage->all, ROW[i]) == need->all.value[i],
                 "and what they say");
    }
}

static void compare(const md_program *program, fz_linked *linked, cuvet_status status)
{
    md_reach reach;
    md_usage usage;
    bool refused;

    md_find_reach(program, &reach);
    md_find_usage(program, &reach, &usage);
    refused = reach.undefined || usage.too_many || usage.sum_exceeds;
    FZ_CHECK((status == CUVET_E_REFUSED) == refused, "refused where a kernel cannot have what it needs");
    if (reach.undefined)
        return;
    FZ_CHECK(fz_program_said(linked, CV_R_LINK_REGISTERS) == usage.too_many, "too many registers");
    FZ_CHECK(fz_program_said(linked, CV_R_LINK_SUM) == usage.sum_exceeds, "a sum that is too large");
    for (unsigned i = 0; i < program->n_fns; i++)
        if (reach.kernels & MD_BIT(i))
            compare_kernel(&usage.of[i], cv_l_fn_usage(&linked->link, linked->fn[i]));
}

CV_FUZZ_TARGET(propagate)
{
    return fz_program_run(data, size, FZ_TRAITS, "usage", compare);
}
