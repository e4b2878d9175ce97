/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/compiler.h>

#include "bytes/sized.h"
#include "proc/external.h"

cuvet_status cuvet_compiler_external(const cuvet_external *ext, const cuvet_alloc *alloc, cuvet_compiler *out)
{
    cuvet_external conf, ours = { .size = sizeof(ours) };
    cuvet_status s;
    cv_external *e;

    if (!ext || !out)
        return CUVET_E_NULL;
    if (!cv_sized_take(ext, &ours, sizeof(ours)))
        return CUVET_E_USAGE;
    s = cv_external_check(&ours, &conf);
    if (s != CUVET_OK)
        return s;
    if (!alloc)
        alloc = &cv_alloc_default;
    e = alloc->alloc(alloc->user, sizeof(*e));
    if (!e)
        return CUVET_E_NOMEM;
    *e = (cv_external){ *alloc, conf };
    *out = (cuvet_compiler){ sizeof(*out), cv_external_compile, e };
    return CUVET_OK;
}

void cuvet_compiler_destroy(cuvet_compiler *c)
{
    if (!c)
        return;
    /* One of the caller's own has nothing of ours. */
    if (c->compile == cv_external_compile && c->user) {
        cv_external *e = c->user;
        cuvet_alloc alloc = e->alloc;

        alloc.release(alloc.user, e, sizeof(*e));
    }
    *c = (cuvet_compiler){ 0 };
}

const char *cuvet_compile_end_name(cuvet_compile_end e)
{
    static const char *const NAMES[] = { "compiled",  "failed",    "crashed",   "timeout",    "empty",
                                         "oversized", "not found", "cancelled", "unsupported" };

    return (size_t)e < CV_COUNT(NAMES) ? NAMES[e] : "?";
}
