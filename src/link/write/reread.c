/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage re-read: the file is read by the same rules as any stranger's: headers, section table, symbols,
 * relocations, segments, records, and that every byte has an owner. They look at no byte of code or data,
 * which was only copied. What they find is a defect of the stages before. */
#include "base/arith.h"
#include "link/write/write.h"

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

cuvet_status cv_stage_reread(const cv_view_reread *view)
{
    listener to = { view->ctx->emit, view->ctx->emit_user };
    uint64_t extent = 0, errors = view->ctx->n_errors, warnings = view->ctx->n_warnings;
    cuvet_status status;
    cv_cubin *cubin = &view->reread->cubin;

    cv_cubin_free(view->ctx, cubin);
    view->ctx->path.n = 0;
    view->ctx->emit = pass_errors;
    view->ctx->emit_user = &to;
    view->ctx->no_contents = true; /* long code is borrowed from the inputs */
    status = cv_cubin_examine(view->ctx, cubin, view->file->block->span, NULL, &extent);
    view->ctx->no_contents = false;
    cv_keys_free(&view->ctx->mem, &cubin->by_off); /* scratch of the examination */
    view->ctx->n_warnings = warnings; /* of the result are those of the inputs, which were told */
    view->ctx->emit = to.emit;
    view->ctx->emit_user = to.user;
    view->ctx->path.n = 0;
    view->reread->seen = (cv_seen){ .sections = cubin->sec.count,
                                    .symbols = cubin->n_syms,
                                    .extent = extent,
                                    .kernels = cubin->n_kernels,
                                    .functions = cubin->n_functions };
    if (status == CUVET_E_NOMEM || status == CUVET_E_LIMIT)
        return status;
    return status == CUVET_OK && view->ctx->n_errors == errors ? CUVET_OK : cv_link_broken(view);
}

/* What was read is what was meant. */
bool cv_stage_reread_holds(const cv_check_reread *view)
{
    uint64_t kernels = 0;

    for (cv_id i = 0; i < view->functions->fn.count; i++)
        kernels += cv_l_is_kernel(view, i);
    return view->reread->seen.sections == view->layout->order.count &&
           view->reread->seen.symbols == view->layout->sym_order.count + 1 &&
           view->reread->seen.extent == view->file->size && view->reread->seen.kernels == kernels;
}
