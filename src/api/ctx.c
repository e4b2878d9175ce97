/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api/opts.h"

#include <string.h>
#include <sys/random.h>

/* All that there are. */
#define CTX_FLAGS (2 * CUVET_CTX_HUGE_PAGES - 1)

cv_handles *cv_ctx_handles(cuvet_ctx *ctx)
{
    return &ctx->handles;
}

void *cv_ctx_mem_get(cuvet_ctx *ctx, uint64_t size)
{
    return cv_mem_get(&ctx->mem, size);
}

void cv_ctx_mem_put(cuvet_ctx *ctx, void *block, uint64_t size)
{
    cv_mem_put(&ctx->mem, block, size);
}

void cv_ctx_emit(void *ctx, const cuvet_diag *diag)
{
    cuvet_ctx *owner = ctx;
    cuvet_diag out;

    cv_last_keep(&owner->last, diag);
    if (!owner->diag)
        return;
    out = *diag;
    out.size = sizeof(out);
    owner->diag(owner->diag_user, &out);
}

void cv_ctx_derive(cuvet_ctx *ctx, cv_ctx *working)
{
    cv_ctx_init(working, &ctx->alloc, &ctx->lim);
    working->emit = cv_ctx_emit;
    working->emit_user = ctx;
}

void cv_random(void *to, size_t size)
{
    if (getrandom(to, size, GRND_NONBLOCK) != (ssize_t)size)
        memset(to, 0, size);
}

cuvet_status cv_ctx_told(cuvet_ctx *ctx, const cv_mem *mem, cuvet_status status)
{
    const cuvet_diag diag = {
        .rule = CV_R_LIMIT_LIVE, .severity = CUVET_ERROR, .got = mem->live, .want = mem->limit
    };

    if (status == CUVET_E_LIMIT)
        cv_ctx_emit(ctx, &diag);
    return status;
}

void cv_ctx_note_peak(cuvet_ctx *ctx, uint64_t bytes)
{
    if (bytes > ctx->peak)
        ctx->peak = bytes;
}

/* The parts of a context that can fail to begin; when one does, none is left. */
static cuvet_status begin_ctx(cuvet_ctx *ctx, const cuvet_ctx_options *options)
{
    cuvet_status status =
        cv_keep_init(&ctx->keep, &ctx->own, options->keep, (options->flags & CUVET_CTX_HUGE_PAGES) != 0);

    if (status != CUVET_OK)
        return status;
    if (options->keep || options->flags)
        ctx->alloc = cv_keep_alloc(&ctx->keep);
    cv_mem_init(&ctx->mem, &ctx->own, ctx->lim.live);
    status = cv_handles_init(&ctx->handles);
    if (status == CUVET_OK && pthread_mutex_init(&ctx->last.lock, NULL) != 0) {
        cv_handles_free(ctx, &ctx->handles);
        status = CUVET_E_NOMEM;
    }
    if (status != CUVET_OK)
        cv_keep_end(&ctx->keep);
    return status;
}

cuvet_status cuvet_ctx_create(const cuvet_ctx_options *opt, cuvet_ctx **out)
{
    cuvet_ctx_options options = { .size = sizeof(options) };
    cuvet_alloc alloc;
    cuvet_limits lim;
    cuvet_status status;
    cuvet_ctx *ctx;

    if (!out)
        return CUVET_E_NULL;
    *out = NULL;
    if ((opt && !cv_sized_take(opt, &options, sizeof(options))) || !cv_opts_limits(options.limits, &lim) ||
        !cv_opts_alloc(options.alloc, &alloc) || (options.flags & ~CTX_FLAGS))
        return CUVET_E_USAGE;
    ctx = alloc.alloc(alloc.user, sizeof(*ctx));
    if (!ctx)
        return CUVET_E_NOMEM;
    memset(ctx, 0, sizeof(*ctx));
    ctx->alloc = ctx->own = alloc;
    ctx->lim = lim;
    ctx->diag = options.diag;
    ctx->diag_user = options.diag_user;
    status = begin_ctx(ctx, &options);
    if (status != CUVET_OK) {
        alloc.release(alloc.user, ctx, sizeof(*ctx));
        return status;
    }
    *out = ctx;
    return CUVET_OK;
}

void cv_ctx_end(cuvet_ctx *ctx)
{
    cuvet_alloc alloc = ctx->own;

    cv_handles_free(ctx, &ctx->handles);
    cv_keep_end(&ctx->keep);
    pthread_mutex_destroy(&ctx->last.lock);
    alloc.release(alloc.user, ctx, sizeof(*ctx));
}

void cuvet_ctx_destroy(cuvet_ctx *ctx)
{
    bool busy;

    if (!ctx)
        return;
    /* Called from a callback of one of its own objects: that call ends first. */
    pthread_mutex_lock(&ctx->handles.lock);
    busy = ctx->handles.n_busy != 0;
    ctx->handles.dying = true;
    pthread_mutex_unlock(&ctx->handles.lock);
    if (!busy)
        cv_ctx_end(ctx);
}

uint64_t cuvet_ctx_peak(const cuvet_ctx *ctx)
{
    return ctx ? ctx->peak + ctx->mem.peak : 0;
}
