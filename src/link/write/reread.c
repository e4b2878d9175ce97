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
static void pass_errors(void *user, const cuvet_diag *d)
{
    const listener *to = user;

    if (d->severity == CUVET_ERROR && to->emit)
        to->emit(to->user, d);
}

cuvet_status cv_link_reread(cv_link *l)
{
    listener to = { l->x->emit, l->x->emit_user };
    uint64_t extent = 0, errors = l->x->n_errors, warnings = l->x->n_warnings;
    cuvet_status s;
    cv_cubin c;

    cv_cubin_init(&c);
    l->x->path.n = 0;
    l->x->emit = pass_errors;
    l->x->emit_user = &to;
    l->x->hollow = true; /* long code is lent by the inputs */
    s = cv_cubin_examine(l->x, &c, l->out->span, NULL, &extent);
    l->x->hollow = false;
    l->x->n_warnings = warnings; /* of the result are those of the inputs, which were told */
    l->x->emit = to.emit;
    l->x->emit_user = to.user;
    l->x->path.n = 0;
    l->seen = (cv_seen){ .sections = c.sec.n,
                         .symbols = c.n_syms,
                         .extent = extent,
                         .kernels = c.n_kernels,
                         .functions = c.n_functions };
    cv_cubin_free(l->x, &c);
    if (s == CUVET_E_NOMEM || s == CUVET_E_LIMIT)
        return s;
    return s == CUVET_OK && l->x->n_errors == errors ? CUVET_OK : cv_link_broken(l);
}

/* What was read is what was meant. */
bool cv_link_reread_holds(const cv_link *l)
{
    uint64_t kernels = 0;

    for (cv_id i = 0; i < l->fn.n; i++)
        kernels += cv_link_is_kernel(cv_l_fn(l, i));
    return l->seen.sections == l->order.n && l->seen.symbols == l->sym_order.n + 1 &&
           l->seen.extent == l->size && l->seen.kernels == kernels;
}
