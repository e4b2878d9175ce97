/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/compiler.h>

#include "api/opts.h"
#include "proc/external.h"

cuvet_status cuvet_compiler_external(const cuvet_external *ext, const cuvet_alloc *alloc, cuvet_compiler *out)
{
    cuvet_external conf, ours = { .size = sizeof(ours) };
    cuvet_compiler made = { .compile = cv_external_compile };
    cuvet_alloc from;
    cuvet_status status;
    cv_external *external;

    if (!ext || !out)
        return CUVET_E_NULL;
    if (!cv_sized_take(ext, &ours, sizeof(ours)) || !cv_sized_is_possible(out) ||
        !cv_opts_alloc(alloc, &from))
        return CUVET_E_USAGE;
    status = cv_external_check(&ours, &conf);
    if (status != CUVET_OK)
        return status;
    external = from.alloc(from.user, sizeof(*external));
    if (!external)
        return CUVET_E_NOMEM;
    *external = (cv_external){ from, conf };
    made.user = external;
    return cv_opts_give(out, &made, sizeof(made), CUVET_OK);
}

void cuvet_compiler_destroy(cuvet_compiler *compiler)
{
    static const cuvet_compiler NONE = { 0 };

    if (!compiler || !cv_sized_is_possible(compiler))
        return;
    /* One of the caller's own has nothing of ours. */
    if (compiler->compile == cv_external_compile && compiler->user) {
        cv_external *external = compiler->user;
        cuvet_alloc alloc = external->alloc;

        alloc.release(alloc.user, external, sizeof(*external));
    }
    cv_sized_fill(compiler, &NONE, sizeof(NONE));
}

const char *cuvet_compile_end_name(cuvet_compile_end end)
{
    static const char *const NAMES[] = { "compiled",  "failed",    "crashed",   "timeout",    "empty",
                                         "oversized", "not found", "cancelled", "unsupported" };

    return (size_t)end < CV_COUNT(NAMES) ? NAMES[end] : "?";
}
