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
    return cv_handle_done(ctx, h.bits, s);
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
    cuvet_input_config cfg;
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(cfg));
    if (s == CUVET_OK)
        s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (in->state == CUVET_INPUT_NEW)
        return done(ctx, h, CUVET_E_STATE);
    cfg = in->cfg;
    return done(ctx, h, cv_opts_give(out, &cfg, sizeof(cfg), CUVET_OK));
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

static void put_flags(cuvet_input_config *c, const void *v)
{
    c->flags = *(const unsigned *)v;
}

cuvet_status cuvet_input_set_target(cuvet_ctx *ctx, cuvet_input h, cuvet_target t)
{
    return set_field(ctx, h, put_target, &t, true);
}

cuvet_status cuvet_input_set_request(cuvet_ctx *ctx, cuvet_input h, cuvet_request r)
{
    return set_field(ctx, h, put_request, &r, false);
}

cuvet_status cuvet_input_set_flags(cuvet_ctx *ctx, cuvet_input h, unsigned flags)
{
    return set_field(ctx, h, put_flags, &flags, false);
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
    cuvet_content_info info = { 0 };
    cuvet_status s;
    cv_input *in;

    if (!ctx || !bytes)
        return CUVET_E_NULL;
    if (flags > CUVET_BIND_COPY)
        return CUVET_E_USAGE;
    s = out ? cv_opts_room(ctx, out, sizeof(info)) : CUVET_OK;
    if (s != CUVET_OK)
        return s;
    s = use(ctx, h, &in);
    if (s == CUVET_OK)
        s = done(ctx, h, cv_input_bind(in, bytes, n, flags == CUVET_BIND_COPY, &info));
    if (out && s == CUVET_OK)
        cv_sized_fill(out, &info, sizeof(info));
    return s;
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
    cuvet_candidate candidate;
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(candidate));
    if (s == CUVET_OK)
        s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (in->state < CUVET_INPUT_BOUND)
        return done(ctx, h, CUVET_E_STATE);
    if (index >= in->candidates.n)
        return done(ctx, h, CUVET_END);
    candidate = cv_candidates_at(&in->candidates, index)->pub;
    return done(ctx, h, cv_opts_give(out, &candidate, sizeof(candidate), CUVET_OK));
}

cuvet_status cuvet_input_get_result(cuvet_ctx *ctx, cuvet_input h, cuvet_result *out)
{
    cuvet_result result = { 0 };
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(result));
    if (s != CUVET_OK)
        return s;
    s = use(ctx, h, &in);
    if (s == CUVET_OK) {
        result = in->out;
        s = done(ctx, h, in->state == CUVET_INPUT_SELECTED && result.bytes ? CUVET_OK : CUVET_E_STATE);
    }
    return cv_opts_give(out, &result, sizeof(result), s);
}

cuvet_status cuvet_input_take_result(cuvet_ctx *ctx, cuvet_input h, cuvet_image *out)
{
    cuvet_image image = { .size = sizeof(image) };
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(image));
    if (s != CUVET_OK)
        return s;
    s = use(ctx, h, &in);
    if (s == CUVET_OK)
        s = done(ctx, h, cv_input_take(in, &image));
    if (s != CUVET_OK)
        cuvet_image_destroy(&image); /* destroyed by the allocator's own code meanwhile */
    return cv_opts_give(out, &image, sizeof(image), s);
}

void cuvet_image_destroy(cuvet_image *img)
{
    static const cuvet_image NONE = { 0 };
    cuvet_image ours = { .size = sizeof(ours) };

    if (!img || !cv_sized_take(img, &ours, sizeof(ours)))
        return;
    if (ours.bytes)
        ours.alloc.release(ours.alloc.user, ours.bytes, ours.n);
    cv_sized_fill(img, &NONE, sizeof(NONE));
}

cuvet_status cuvet_input_get_diag(cuvet_ctx *ctx, cuvet_input h, uint64_t index, cuvet_diag *out)
{
    cuvet_diag diag;
    cuvet_status s;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(diag));
    if (s == CUVET_OK)
        s = use(ctx, h, &in);
    if (s != CUVET_OK)
        return s;
    if (index >= in->diags.n + in->has_live)
        return done(ctx, h, CUVET_END);
    diag = index < in->diags.n ? *cv_diags_at(&in->diags, index) : in->live;
    return done(ctx, h, cv_opts_give(out, &diag, sizeof(diag), CUVET_OK));
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
