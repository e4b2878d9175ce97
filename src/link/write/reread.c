/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage re-read: the file is read by the same rules as any stranger's: headers, section table, symbols,
 * relocations, segments, records, and that every byte has an owner. They look at no byte of code or data,
 * which was only copied. What they find is a defect of the stages before. */
#include "base/arith.h"
#include "link/in/stages.h"

typedef struct listener {
    cv_emit_fn *emit;
    void *user;
} listener;

/* What the rules remark on was remarked on in the inputs; a place in the output says nothing to anybody. */
static void pass_errors(void *user, const cuvet_diag *diag)
{
    const listener *to = user;

    if (diag->severity == CUVET_ERROR && to->emit)
        to->emit(to->user, diag);
}

cuvet_status cv_link_reread(cv_link *link)
{
    listener to = { link->ctx->emit, link->ctx->emit_user };
    uint64_t extent = 0, errors = link->ctx->n_errors, warnings = link->ctx->n_warnings;
    cuvet_status status;
    cv_cubin cubin;

    cv_cubin_init(&cubin);
    link->ctx->path.n = 0;
    link->ctx->emit = pass_errors;
    link->ctx->emit_user = &to;
    link->ctx->hollow = true; /* long code is lent by the inputs */
    status = cv_cubin_examine(link->ctx, &cubin, link->file->block->span, NULL, &extent);
    link->ctx->hollow = false;
    link->ctx->n_warnings = warnings; /* of the result are those of the inputs, which were told */
    link->ctx->emit = to.emit;
    link->ctx->emit_user = to.user;
    link->ctx->path.n = 0;
    link->reread->seen = (cv_seen){ .sections = cubin.sec.count,
                                    .symbols = cubin.n_syms,
                                    .extent = extent,
                                    .kernels = cubin.n_kernels,
                                    .functions = cubin.n_functions };
    cv_cubin_free(link->ctx, &cubin);
    if (status == CUVET_E_NOMEM || status == CUVET_E_LIMIT)
        return status;
    return status == CUVET_OK && link->ctx->n_errors == errors ? CUVET_OK : cv_link_broken(link);
}

/* What was read is what was meant. */
bool cv_link_reread_holds(const cv_link *link)
{
    uint64_t kernels = 0;

    for (cv_id i = 0; i < link->functions->fn.count; i++)
        kernels += cv_l_is_kernel(link, i);
    return link->reread->seen.sections == link->layout->order.count &&
           link->reread->seen.symbols == link->layout->sym_order.count + 1 &&
           link->reread->seen.extent == link->file->size && link->reread->seen.kernels == kernels;
}
