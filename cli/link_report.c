/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* -v: what the kernels of a result use, read from the result itself. */
#include "link_int.h"
#include "resources.h"

#include <inttypes.h>

/* What belongs to the whole file. */
static void put_file(const link_run *run, const cli_resources *all)
{
    run->args->role->voice->begin("info", NULL, true);
    fprintf(stderr, "%" PRIu64 " bytes gmem", all->global);
    for (size_t i = 0; i < all->n_common; i++)
        fprintf(stderr, ", %" PRIu64 " bytes cmem[%" PRIu32 "]", all->constant[i].size,
                all->constant[i].bank);
    link_end_line(run);
}

static uint64_t parameters_of(const cli_resources *all, const cli_function *function)
{
    const cli_constant *constant = &all->constant[function->constant];

    return function->n_constants > 0 && constant->bank == 0 ? constant->size
                                                            : 0; /* by bank, so that this is the first one */
}

static void put_kernel(const link_run *run, const cli_resources *all, const cli_function *function)
{
    run->args->role->voice->begin("info", NULL, true);
    fputs("Function properties for '", stderr);
    cli_put(stderr, function->name.p, function->name.n);
    fputs("':", stderr);
    link_end_line(run);
    run->args->role->voice->begin("info", NULL, true);
    /* a stack that nobody knows is none here, as in the reference: a warning has said it */
    fprintf(stderr,
            "used %" PRIu32 " registers, used %" PRIu32 " barriers, %" PRIu32 " stack, %" PRIu64
            " bytes smem, %" PRIu64 " bytes cmem[0], 0 bytes lmem",
            function->registers, function->barriers,
            function->stack == CLI_STACK_UNKNOWN ? 0 : function->stack, function->shared,
            parameters_of(all, function));
    link_end_line(run);
}

void link_report(link_run *run, const void *image, size_t size)
{
    uint64_t work = UINT64_MAX;
    cli_resources all;
    cuvet_elf elf;

    if (cuvet_elf_create(run->ctx, image, size, &elf) != CUVET_OK) {
        link_error(run, NULL, CLI_X_INTERNAL, "the result cannot be read");
        return;
    }
    if (cli_resources_read(&all, run->ctx, elf, &work) == CUVET_OK) {
        put_file(run, &all);
        for (size_t left = all.count; left > 1; left--) { /* the reference's order */
            if (all.function[left - 1].kernel)
                put_kernel(run, &all, &all.function[left - 1]);
        }
    } else {
        link_error(run, NULL, CLI_X_LIMIT, "no memory to read the result again");
    }
    cli_resources_free(&all);
    if (cuvet_elf_destroy(run->ctx, &elf) != CUVET_OK)
        link_error(run, NULL, CLI_X_INTERNAL, "the result cannot be read");
    link_drop(run); /* the linker examined it before it gave it out */
}
