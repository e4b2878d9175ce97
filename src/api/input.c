/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "drive/select.h"

#include <string.h>

#include "api/opts.h"

static void end_input(cuvet_ctx *ctx, void *body)
{
    cv_input *in = body;

    cv_ctx_note_peak(ctx, cv_sat_add(in->ctx.mem.peak, in->worker ? in->worker->ctx.mem.peak : 0));
    cv_input_free(in);
}

/* The object behind a handle, in use until done(). */
static cuvet_status use(cuvet_ctx *ctx, cuvet_input handle, cv_input **in)
{
    void *body = NULL;
    cuvet_status status = cv_handle_get(ctx, CV_H_INPUT, handle.bits, &body);

    *in = body;
    return status;
}

/* A diagnostic's callback may have destroyed the object, or the whole context. */
static cuvet_status done(cuvet_ctx *ctx, cuvet_input handle, cuvet_status status)
{
    return cv_handle_done(ctx, handle.bits, status);
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
    cuvet_status status;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx)
        return CUVET_E_NULL;
    status = cfg ? cv_opts_take(ctx, cfg, &ours, sizeof(ours)) : CUVET_OK;
    return status == CUVET_OK ? cv_handle_create(ctx, &INPUT, cfg ? &ours : NULL, &out->bits) : status;
}

cuvet_status cuvet_input_configure(cuvet_ctx *ctx, cuvet_input handle, const cuvet_input_config *cfg)
{
    cuvet_input_config ours = { .size = sizeof(ours) };
    cuvet_status status;
    cv_input *in;

    if (!ctx || !cfg)
        return CUVET_E_NULL;
    status = cv_opts_take(ctx, cfg, &ours, sizeof(ours));
    if (status != CUVET_OK)
        return status;
    status = use(ctx, handle, &in);
    return status == CUVET_OK ? done(ctx, handle, cv_input_configure(in, &ours)) : status;
}

cuvet_status cuvet_input_get_config(cuvet_ctx *ctx, cuvet_input handle, cuvet_input_config *out)
{
    cuvet_input_config cfg;
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(cfg));
    if (status == CUVET_OK)
        status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (in->state == CUVET_INPUT_NEW)
        return done(ctx, handle, CUVET_E_STATE);
    cfg = in->cfg;
    return done(ctx, handle, cv_opts_give(out, &cfg, sizeof(cfg), CUVET_OK));
}

/* One field of the configuration; a NEW object has no target yet, and no other field alone makes it one. */
static cuvet_status set_field(cuvet_ctx *ctx, cuvet_input handle,
                              void (*set)(cuvet_input_config *, const void *), const void *value, bool first)
{
    cuvet_input_config cfg;
    cuvet_status status;
    cv_input *in;

    if (!ctx)
        return CUVET_E_NULL;
    status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (in->state > CUVET_INPUT_CONFIGURED || (in->state == CUVET_INPUT_NEW && !first))
        return done(ctx, handle, CUVET_E_STATE);
    cfg = in->cfg;
    cfg.size = sizeof(cfg);
    set(&cfg, value);
    return done(ctx, handle, cv_input_configure(in, &cfg));
}

static void put_target(cuvet_input_config *config, const void *value)
{
    config->target = *(const cuvet_target *)value;
}

static void put_request(cuvet_input_config *config, const void *value)
{
    config->request = *(const cuvet_request *)value;
}

static void put_flags(cuvet_input_config *config, const void *value)
{
    config->flags = *(const unsigned *)value;
}

cuvet_status cuvet_input_set_target(cuvet_ctx *ctx, cuvet_input handle, cuvet_target target)
{
    return set_field(ctx, handle, put_target, &target, true);
}

cuvet_status cuvet_input_set_request(cuvet_ctx *ctx, cuvet_input handle, cuvet_request request)
{
    return set_field(ctx, handle, put_request, &request, false);
}

cuvet_status cuvet_input_set_flags(cuvet_ctx *ctx, cuvet_input handle, unsigned flags)
{
    return set_field(ctx, handle, put_flags, &flags, false);
}

cuvet_status cuvet_input_option(cuvet_ctx *ctx, cuvet_input handle, const char *text, size_t len)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx || !text)
        return CUVET_E_NULL;
    status = use(ctx, handle, &in);
    return status == CUVET_OK ? done(ctx, handle, cv_input_option(in, text, len)) : status;
}

cuvet_status cuvet_input_get_option(cuvet_ctx *ctx, cuvet_input handle, size_t index, const char **out,
                                    size_t *len)
{
    uint64_t at, end;
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out || !len)
        return CUVET_E_NULL;
    status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (index >= in->option_at.count)
        return done(ctx, handle, CUVET_END);
    at = *cv_u64s_at(&in->option_at, index);
    end = index + 1 < in->option_at.count ? *cv_u64s_at(&in->option_at, index + 1) : in->option_text.count;
    *out = (const char *)cv_u8s_at(&in->option_text, at);
    *len = (size_t)(end - at - 1);
    return done(ctx, handle, CUVET_OK);
}

cuvet_status cuvet_input_set_compiler(cuvet_ctx *ctx, cuvet_input handle, const cuvet_compiler *made)
{
    cuvet_compiler compiler = { 0 };
    cuvet_status status;
    cv_input *in;

    if (!ctx)
        return CUVET_E_NULL;
    status = made ? cv_opts_compiler(ctx, made, &compiler) : CUVET_OK;
    if (status != CUVET_OK)
        return status;
    status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (in->state > CUVET_INPUT_BOUND)
        return done(ctx, handle, CUVET_E_STATE);
    in->compiler = compiler;
    return done(ctx, handle, CUVET_OK);
}

cuvet_status cuvet_input_bind(cuvet_ctx *ctx, cuvet_input handle, const void *bytes, size_t size,
                              unsigned flags, cuvet_content_info *out)
{
    cuvet_content_info info = { 0 };
    cuvet_status status;
    cv_input *in;

    if (!ctx || !bytes)
        return CUVET_E_NULL;
    if (flags > CUVET_BIND_COPY)
        return CUVET_E_USAGE;
    status = out ? cv_opts_room(ctx, out, sizeof(info)) : CUVET_OK;
    if (status != CUVET_OK)
        return status;
    status = use(ctx, handle, &in);
    if (status == CUVET_OK)
        status = done(ctx, handle, cv_input_bind(in, bytes, size, flags == CUVET_BIND_COPY, &info));
    if (out && status == CUVET_OK)
        cv_sized_fill(out, &info, sizeof(info));
    return status;
}

cuvet_status cuvet_input_select(cuvet_ctx *ctx, cuvet_input handle)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx)
        return CUVET_E_NULL;
    status = use(ctx, handle, &in);
    return status == CUVET_OK ? done(ctx, handle, cv_input_select(in)) : status;
}

cuvet_status cuvet_input_get_candidate(cuvet_ctx *ctx, cuvet_input handle, uint64_t index,
                                       cuvet_candidate *out)
{
    cuvet_candidate candidate;
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(candidate));
    if (status == CUVET_OK)
        status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (in->state < CUVET_INPUT_BOUND)
        return done(ctx, handle, CUVET_E_STATE);
    if (index >= in->candidates.count)
        return done(ctx, handle, CUVET_END);
    candidate = cv_candidates_at(&in->candidates, index)->pub;
    return done(ctx, handle, cv_opts_give(out, &candidate, sizeof(candidate), CUVET_OK));
}

cuvet_status cuvet_input_get_result(cuvet_ctx *ctx, cuvet_input handle, cuvet_result *out)
{
    cuvet_result result = { 0 };
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(result));
    if (status != CUVET_OK)
        return status;
    status = use(ctx, handle, &in);
    if (status == CUVET_OK) {
        result = in->out;
        status =
            done(ctx, handle, in->state == CUVET_INPUT_SELECTED && result.bytes ? CUVET_OK : CUVET_E_STATE);
    }
    return cv_opts_give(out, &result, sizeof(result), status);
}

cuvet_status cuvet_input_take_result(cuvet_ctx *ctx, cuvet_input handle, cuvet_image *out)
{
    cuvet_image image = { .size = sizeof(image) };
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(image));
    if (status != CUVET_OK)
        return status;
    status = use(ctx, handle, &in);
    if (status == CUVET_OK)
        status = done(ctx, handle, cv_input_take(in, &image));
    if (status != CUVET_OK)
        cuvet_image_destroy(&image); /* destroyed by the allocator's own code meanwhile */
    return cv_opts_give(out, &image, sizeof(image), status);
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

cuvet_status cuvet_input_get_diag(cuvet_ctx *ctx, cuvet_input handle, uint64_t index, cuvet_diag *out)
{
    cuvet_diag diag;
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(diag));
    if (status == CUVET_OK)
        status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (index >= in->diags.count + in->has_live)
        return done(ctx, handle, CUVET_END);
    diag = index < in->diags.count ? *cv_diags_at(&in->diags, index) : in->live;
    return done(ctx, handle, cv_opts_give(out, &diag, sizeof(diag), CUVET_OK));
}

cuvet_status cuvet_input_get_log(cuvet_ctx *ctx, cuvet_input handle, const char **out, size_t *len)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out || !len)
        return CUVET_E_NULL;
    status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    *out = in->log.count ? (const char *)in->log.items : "";
    *len = in->log.count ? (size_t)in->log.count - 1 : 0;
    return done(ctx, handle, CUVET_OK);
}

cuvet_status cuvet_input_get_state(cuvet_ctx *ctx, cuvet_input handle, cuvet_input_state *out)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = use(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    *out = in->state;
    return done(ctx, handle, CUVET_OK);
}

static void cancel(void *body)
{
    __atomic_store_n(&((cv_input *)body)->cancel, true, __ATOMIC_RELAXED);
}

cuvet_status cuvet_input_cancel(cuvet_ctx *ctx, cuvet_input handle)
{
    return ctx ? cv_handle_signal(ctx, CV_H_INPUT, handle.bits, cancel) : CUVET_E_NULL;
}

cuvet_status cuvet_input_destroy(cuvet_ctx *ctx, cuvet_input *handle)
{
    return cv_handle_close(ctx, CV_H_INPUT, handle ? &handle->bits : NULL);
}
