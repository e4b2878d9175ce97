/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api/opts.h"

#include <string.h>
#include <sys/random.h>

cv_handles *cv_ctx_handles(cuvet_ctx *ctx)
{
    return &ctx->handles;
}

void *cv_ctx_mem_get(cuvet_ctx *ctx, uint64_t size)
{
    return cv_mem_get(&ctx->mem, size);
}

void cv_ctx_mem_put(cuvet_ctx *ctx, void *p, uint64_t size)
{
    cv_mem_put(&ctx->mem, p, size);
}

void cv_ctx_emit(void *ctx, const cuvet_diag *d)
{
    cuvet_ctx *c = ctx;
    cuvet_diag out;

    cv_last_keep(&c->last, d);
    if (!c->diag)
        return;
    out = *d;
    out.size = sizeof(out);
    c->diag(c->diag_user, &out);
}

void cv_ctx_lend(cuvet_ctx *ctx, cv_ctx *x)
{
    cv_ctx_init(x, &ctx->alloc, &ctx->lim);
    x->emit = cv_ctx_emit;
    x->emit_user = ctx;
}

void cv_random(void *to, size_t n)
{
    if (getrandom(to, n, GRND_NONBLOCK) != (ssize_t)n)
        memset(to, 0, n);
}

cuvet_status cv_ctx_told(cuvet_ctx *ctx, cuvet_status s)
{
    const cuvet_diag d = {
        .rule = CV_R_LIMIT_LIVE, .severity = CUVET_ERROR, .got = ctx->mem.live, .want = ctx->mem.limit
    };

    if (s == CUVET_E_LIMIT)
        cv_ctx_emit(ctx, &d);
    return s;
}

void cv_ctx_note_peak(cuvet_ctx *ctx, uint64_t bytes)
{
    if (bytes > ctx->peak)
        ctx->peak = bytes;
}

cuvet_status cuvet_ctx_create(const cuvet_ctx_options *opt, cuvet_ctx **out)
{
    cuvet_ctx_options o = { .size = sizeof(o) };
    cuvet_alloc alloc;
    cuvet_limits lim;
    cuvet_status s;
    cuvet_ctx *c;

    if (!out)
        return CUVET_E_NULL;
    *out = NULL;
    if ((opt && !cv_sized_take(opt, &o, sizeof(o))) || !cv_opts_limits(o.limits, &lim) ||
        !cv_opts_alloc(o.alloc, &alloc))
        return CUVET_E_USAGE;
    c = alloc.alloc(alloc.user, sizeof(*c));
    if (!c)
        return CUVET_E_NOMEM;
    *c = (cuvet_ctx){ .alloc = alloc, .lim = lim, .diag = o.diag, .diag_user = o.diag_user };
    cv_mem_init(&c->mem, &alloc, lim.live);
    s = cv_handles_init(&c->handles);
    if (s == CUVET_OK && pthread_mutex_init(&c->last.lock, NULL) != 0) {
        cv_handles_free(c, &c->handles);
        s = CUVET_E_NOMEM;
    }
    if (s != CUVET_OK) {
        alloc.release(alloc.user, c, sizeof(*c));
        return s;
    }
    *out = c;
    return CUVET_OK;
}

void cv_ctx_end(cuvet_ctx *ctx)
{
    cuvet_alloc alloc = ctx->alloc;

    cv_handles_free(ctx, &ctx->handles);
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
