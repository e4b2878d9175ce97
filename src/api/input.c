/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "drive/select.h"

#include <string.h>

#include "api/opts.h"

static void end_input(cuvet_ctx *ctx, void *body)
{
    cv_input *in = body;

    cv_ctx_note_peak(ctx, cv_sat_add(in->x.mem.peak, in->worker ? in->worker->x.mem.peak : 0));
    cv_input_free(in);
}

/* The object behind a handle, in use until done(). */
static cuvet_status use(cuvet_ctx *ctx, cuvet_input h, cv_input **in)
{
    void *body = NULL;
    cuvet_status s = cv_handle_get(ctx, CV_H_INPUT, h.bits, &body);

    *in = body;
    return s;
}

/* A diagnostic's callback may have destroyed the object, or the whole context. */
static cuvet_status done(cuvet_ctx *ctx, cuvet_input h, cuvet_status s)
{
    return cv_handle_put_alive(ctx, h.bits) ? s : CUVET_E_STALE_HANDLE;
}

static cuvet_status begin_input(cuvet_ctx *ctx, void *body, const void *cfg)
{
    cv_input_init(body, &ctx->alloc, &ctx->lim, cv_ctx_emit, ctx);
    return cfg ? cv_input_configure(body, cfg) : CUVET_OK;
}

cuvet_status cuvet_input_create(cuvet_ctx *ctx, const cuvet_input_config *cfg, cuvet_input *out)
{
    static const cv_handle_class INPUT = { CV_H_INPUT, sizeof(cv_input), begin_input, end_input };
    cuvet_input_config ours = { .size = sizeof(ours) };
    cuvet_status s;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx)
        return CUVET_E_NULL;
    s = cfg ? cv_opts_take(ctx, cfg, &ours, sizeof(ours)) : CUVET_OK;
    return s == CUVET_OK ? cv_handle_create(ctx, &INPUT, cfg ? &ours : NULL, &out->bits) : s;
}

cuvet_status cuvet_input_configure(cuvet_ctx *ctx, cuvet_input h, const cuvet_input_config *cfg)
{
    cuvet_input_config ours = { .size = sizeof(ours) };
    cuvet_status s;
    cv_input *in;

    if (!ctx || !cfg)
        return CUVET_E_NULL;
    s = cv_opts_take(ctx, cfg, &ours, sizeof(ours));
    if (s != CUVET_OK)
        return s;
    s = use(ctx, h, &in);
    return s == CUVET_OK ? done(ctx, h, cv_input_configure(in, &ours)) : s;
}

cuvet_status cuvet_input_get_config(cuvet_ctx *ctx, cuvet_input h, cuvet_input_config *out)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (in->state == CUVET_INPUT_NEW)
        return done(ctx, h, CUVET_E_STATE);
    *out = in->cfg;
    return done(ctx, h, CUVET_OK);
}

/* One field of the configuration; a NEW object has no target yet, and no other field alone makes it one. */
static cuvet_status set_field(cuvet_ctx *ctx, cuvet_input h, void (*set)(cuvet_input_config *, const void *),
                              const void *value, bool first)
{
    cuvet_input_config cfg;
    cuvet_status s;
    cv_input *in;

    if (!ctx)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (in->state > CUVET_INPUT_CONFIGURED || (in->state == CUVET_INPUT_NEW && !first))
        return done(ctx, h, CUVET_E_STATE);
    cfg = in->cfg;
    cfg.size = sizeof(cfg);
    set(&cfg, value);
    return done(ctx, h, cv_input_configure(in, &cfg));
}

static void put_target(cuvet_input_config *c, const void *v)
{
    c->target = *(const cuvet_target *)v;
}

static void put_request(cuvet_input_config *c, const void *v)
{
    c->request = *(const cuvet_request *)v;
}

static void put_address32(cuvet_input_config *c, const void *v)
{
    c->address32 = *(const bool *)v;
}

cuvet_status cuvet_input_set_target(cuvet_ctx *ctx, cuvet_input h, cuvet_target t)
{
    return set_field(ctx, h, put_target, &t, true);
}

cuvet_status cuvet_input_set_request(cuvet_ctx *ctx, cuvet_input h, cuvet_request r)
{
    return set_field(ctx, h, put_request, &r, false);
}

cuvet_status cuvet_input_set_address32(cuvet_ctx *ctx, cuvet_input h, bool on)
{
    return set_field(ctx, h, put_address32, &on, false);
}

cuvet_status cuvet_input_option(cuvet_ctx *ctx, cuvet_input h, const char *p, size_t n)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx || !p)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    return s == CUVET_OK ? done(ctx, h, cv_input_option(in, p, n)) : s;
}

cuvet_status cuvet_input_get_option(cuvet_ctx *ctx, cuvet_input h, size_t index, const char **p, size_t *n)
{
    uint64_t at, end;
    cuvet_status s;
    cv_input *in;

    if (!ctx || !p || !n)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (index >= in->option_at.n)
        return done(ctx, h, CUVET_END);
    at = *cv_u64s_at(&in->option_at, index);
    end = index + 1 < in->option_at.n ? *cv_u64s_at(&in->option_at, index + 1) : in->option_text.n;
    *p = (const char *)cv_u8s_at(&in->option_text, at);
    *n = (size_t)(end - at - 1);
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_input_set_compiler(cuvet_ctx *ctx, cuvet_input h, const cuvet_compiler *c)
{
    cuvet_compiler compiler = { 0 };
    cuvet_status s;
    cv_input *in;

    if (!ctx)
        return CUVET_E_NULL;
    s = c ? cv_opts_compiler(ctx, c, &compiler) : CUVET_OK;
    if (s != CUVET_OK)
        return s;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (in->state > CUVET_INPUT_BOUND)
        return done(ctx, h, CUVET_E_STATE);
    in->compiler = compiler;
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_input_bind(cuvet_ctx *ctx, cuvet_input h, const void *bytes, size_t n, unsigned flags,
                              cuvet_content_info *out)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx || !bytes)
        return CUVET_E_NULL;
    if (flags > CUVET_BIND_COPY)
        return CUVET_E_USAGE;
    s = use(ctx, h, &in);
    return s == CUVET_OK ? done(ctx, h, cv_input_bind(in, bytes, n, flags == CUVET_BIND_COPY, out)) : s;
}

cuvet_status cuvet_input_select(cuvet_ctx *ctx, cuvet_input h)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    return s == CUVET_OK ? done(ctx, h, cv_input_select(in)) : s;
}

cuvet_status cuvet_input_get_candidate(cuvet_ctx *ctx, cuvet_input h, uint64_t index, cuvet_candidate *out)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (in->state < CUVET_INPUT_BOUND)
        return done(ctx, h, CUVET_E_STATE);
    if (index >= in->candidates.n)
        return done(ctx, h, CUVET_END);
    *out = cv_candidates_at(&in->candidates, index)->pub;
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_input_get_result(cuvet_ctx *ctx, cuvet_input h, cuvet_result *out)
{
    cuvet_status s;
    cv_input *in;

    if (!out)
        return CUVET_E_NULL;
    *out = (cuvet_result){ 0 };
    if (!ctx)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (in->state != CUVET_INPUT_SELECTED || !in->out.bytes)
        return done(ctx, h, CUVET_E_STATE);
    *out = in->out;
    s = done(ctx, h, CUVET_OK);
    if (s != CUVET_OK)
        *out = (cuvet_result){ 0 };
    return s;
}

cuvet_status cuvet_input_take_result(cuvet_ctx *ctx, cuvet_input h, cuvet_image *out)
{
    cuvet_status s;
    cv_input *in;

    if (!out)
        return CUVET_E_NULL;
    *out = (cuvet_image){ 0 };
    if (!ctx)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s == CUVET_OK)
        s = done(ctx, h, cv_input_take(in, out));
    if (s != CUVET_OK)
        cuvet_image_destroy(out); /* destroyed by the allocator's own code meanwhile */
    return s;
}

void cuvet_image_destroy(cuvet_image *img)
{
    if (!img)
        return;
    if (img->bytes)
        img->alloc.release(img->alloc.user, img->bytes, img->n);
    *img = (cuvet_image){ 0 };
}

cuvet_status cuvet_input_get_diag(cuvet_ctx *ctx, cuvet_input h, uint64_t index, cuvet_diag *out)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (index >= in->diags.n + in->has_live)
        return done(ctx, h, CUVET_END);
    *out = index < in->diags.n ? *cv_diags_at(&in->diags, index) : in->live;
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_input_get_log(cuvet_ctx *ctx, cuvet_input h, const char **p, size_t *n)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx || !p || !n)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    *p = in->log.n ? (const char *)in->log.v : "";
    *n = in->log.n ? (size_t)in->log.n - 1 : 0;
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_input_get_state(cuvet_ctx *ctx, cuvet_input h, cuvet_input_state *out)
{
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    *out = in->state;
    return done(ctx, h, CUVET_OK);
}

static void cancel(void *body)
{
    __atomic_store_n(&((cv_input *)body)->cancel, true, __ATOMIC_RELAXED);
}

cuvet_status cuvet_input_cancel(cuvet_ctx *ctx, cuvet_input h)
{
    return ctx ? cv_handle_signal(ctx, CV_H_INPUT, h.bits, cancel) : CUVET_E_NULL;
}

cuvet_status cuvet_input_destroy(cuvet_ctx *ctx, cuvet_input *h)
{
    cuvet_status s;

    if (!ctx || !h)
        return CUVET_E_NULL;
    s = cv_handle_destroy(ctx, CV_H_INPUT, h->bits);
    if (s == CUVET_OK)
        h->bits = 0;
    return s;
}

const char *cuvet_match_name(cuvet_match m)
{
    switch (m) {
    case CUVET_MATCH_NONE: return "none";
    case CUVET_MATCH_PTX: return "ptx";
    case CUVET_MATCH_CUBIN: return "cubin";
    case CUVET_MATCH_NVVM: return "ir";
    case CUVET_MATCH_MERCURY: return "mercury";
    }
    return "?";
}
