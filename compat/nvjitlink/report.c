/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* -verbose: what the kernels of a result use, read from the result itself. */
#include "face.h"
#include "resources.h"

#include <inttypes.h>

static uint64_t parameters_of(const cli_resources *all, const cli_function *function)
{
    const cli_constant *constant = &all->constant[function->constant];

    return function->n_constants > 0 && constant->bank == 0 ? constant->size : 0;
}

static void put(cv_jit_log *log, const cli_resources *all)
{
    cv_jit_print(log, "info    : %" PRIu64 " bytes gmem", all->global);
    for (size_t i = 0; i < all->n_common; i++)
        cv_jit_print(log, ", %" PRIu64 " bytes cmem[%" PRIu32 "]", all->constant[i].size,
                     all->constant[i].bank);
    cv_jit_print(log, "\n");
    for (size_t left = all->count; left > 1; left--) { /* the reference's order */
        const cli_function *function = &all->function[left - 1];

        if (!function->kernel)
            continue;
        /* a stack that nobody knows is none here, as in the reference: a warning has said it */
        cv_jit_print(log, "info    : Function properties for '");
        cv_jit_put(log, (const char *)function->name.p, function->name.n);
        cv_jit_print(log,
                     "':\ninfo    : used %" PRIu32 " registers, used %" PRIu32 " barriers, %" PRIu32
                     " stack, %" PRIu64 " bytes smem, %" PRIu64 " bytes cmem[0], 0 bytes lmem\n",
                     function->registers, function->barriers,
                     function->stack == CLI_STACK_UNKNOWN ? 0 : function->stack, function->shared,
                     parameters_of(all, function));
    }
}

void cv_jit_report(cv_jit_link *link)
{
    uint64_t work = UINT64_MAX;
    cli_resources all;
    cuvet_elf elf;

    if (link->workers) { /* whoever asked for isolation does not want its bytes read here */
        cv_jit_print(&link->info, "info    : what kernels use is not told: it was linked by a worker\n");
        return;
    }
    if (cuvet_elf_create(link->ctx, link->result, link->n_result, &elf) != CUVET_OK)
        return; /* a result that was relocatable or proved is read; without memory there is no report */
    if (cli_resources_read(&all, link->ctx, elf, &work) == CUVET_OK)
        put(&link->info, &all);
    cli_resources_free(&all);
    if (cuvet_elf_destroy(link->ctx, &elf) != CUVET_OK)
        cv_jit_print(&link->info, "info    : the report ended early\n");
    cv_jit_drop(link); /* the linker examined it before it gave it out */
}
