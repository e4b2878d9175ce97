/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The context behind the public pointer. */
#ifndef CV_API_CTX_H
#define CV_API_CTX_H

#include "api/handle.h"
#include "api/last.h"
#include "base/ctx.h"
#include "io/keep.h"

struct cuvet_ctx {
    cuvet_alloc alloc; /* of its objects: of 'keep', or the caller's */
    cuvet_alloc own;   /* of the context itself: the caller's */
    cv_keep keep;
    cuvet_limits lim;
    cuvet_diag_fn *diag;
    void *diag_user;
    cv_mem mem; /* of the context itself and the bodies of its objects; used under handles.lock */
    cv_handles handles;
    cv_last last;
    uint64_t peak; /* of objects that are gone; under handles.lock */
};

cv_handles *cv_ctx_handles(cuvet_ctx *ctx);
CV_MUST void *cv_ctx_mem_get(cuvet_ctx *ctx, uint64_t size);
void cv_ctx_mem_put(cuvet_ctx *ctx, void *block, uint64_t size);
/* The end of a context that nobody uses any more. */
void cv_ctx_end(cuvet_ctx *ctx);
/* Diagnostics of objects go to the caller's function. */
void cv_ctx_emit(void *ctx, const cuvet_diag *diag);
/* What an object works with: memory and limits of its context, and where its diagnostics go. */
void cv_ctx_derive(cuvet_ctx *ctx, cv_ctx *working);
/* Random bytes for what strangers should not foresee; zeros where the system has none, for a salt or the key
 * of a hash is no secret that anything rests on: names that collide then cost work, which is limited. */
void cv_random(void *to, size_t size);
/* The limit of this memory is told like every other; returns the status. */
cuvet_status cv_ctx_told(cuvet_ctx *ctx, const cv_mem *mem, cuvet_status status);
/* An object that used this much memory ends. Called from its end function. */
void cv_ctx_note_peak(cuvet_ctx *ctx, uint64_t bytes);

#endif
