/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/compiler.h>

#include "api/opts.h"
#include "proc/external.h"

cuvet_status cuvet_compiler_external(const cuvet_external *ext, const cuvet_alloc *alloc, cuvet_compiler *out)
{
    cuvet_external conf, ours = { .size = sizeof(ours) };
    cuvet_compiler made = { .compile = cv_external_compile };
    cuvet_alloc from;
    cuvet_status s;
    cv_external *e;

    if (!ext || !out)
        return CUVET_E_NULL;
    if (!cv_sized_take(ext, &ours, sizeof(ours)) || !cv_sized_is_possible(out) ||
        !cv_opts_alloc(alloc, &from))
        return CUVET_E_USAGE;
    s = cv_external_check(&ours, &conf);
    if (s != CUVET_OK)
        return s;
    e = from.alloc(from.user, sizeof(*e));
    if (!e)
        return CUVET_E_NOMEM;
    *e = (cv_external){ from, conf };
    made.user = e;
    return cv_opts_give(out, &made, sizeof(made), CUVET_OK);
}

void cuvet_compiler_destroy(cuvet_compiler *c)
{
    static const cuvet_compiler NONE = { 0 };

    if (!c || !cv_sized_is_possible(c))
        return;
    /* One of the caller's own has nothing of ours. */
    if (c->compile == cv_external_compile && c->user) {
        cv_external *e = c->user;
        cuvet_alloc alloc = e->alloc;

        alloc.release(alloc.user, e, sizeof(*e));
    }
    cv_sized_fill(c, &NONE, sizeof(NONE));
}

const char *cuvet_compile_end_name(cuvet_compile_end e)
{
    static const char *const NAMES[] = { "compiled",  "failed",    "crashed",   "timeout",    "empty",
                                         "oversized", "not found", "cancelled", "unsupported" };

    return (size_t)e < CV_COUNT(NAMES) ? NAMES[e] : "?";
}
