/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "drive/select.h"

#include <string.h>

#include "api/image.h"
#include "api/opts.h"

static void end_input(cuvet_ctx *ctx, void *body)
{
    cv_input *in = body;

    cv_ctx_note_peak(ctx, cv_sat_add(in->ctx.mem.peak, in->worker ? in->worker->ctx.mem.peak : 0));
    cv_input_free(in);
}

/* The object behind a handle, in use until done_with(). */
static cuvet_status use_selection(cuvet_ctx *ctx, cuvet_select handle, cv_input **in)
{
    void *body = NULL;
    cuvet_status status = cv_handle_get(ctx, CV_H_SELECT, handle.bits, &body);

    *in = body;
    return status;
}

/* A diagnostic's callback may have destroyed the object, or the whole context. */
static cuvet_status done_with(cuvet_ctx *ctx, cuvet_select handle, cuvet_status status)
{
    return cv_handle_done(ctx, handle.bits, status);
}

static cuvet_status begin_input(cuvet_ctx *ctx, void *body, const void *given)
{
    cuvet_select_options opt = *(const cuvet_select_options *)given;
    cv_input *in = body;
    cuvet_status status = CUVET_OK;

    cv_input_init(in, &ctx->alloc, &ctx->lim, cv_ctx_emit, ctx);
    if (opt.compiler)
        status = cv_opts_compiler(ctx, opt.compiler, &in->compiler);
    opt.compiler = NULL; /* copied */
    return status == CUVET_OK ? cv_input_configure(in, &opt) : status;
}

cuvet_status cuvet_select_create(cuvet_ctx *ctx, const cuvet_select_options *opt, cuvet_select *out)
{
    static const cv_handle_class SELECT = { CV_H_SELECT, sizeof(cv_input), begin_input, end_input };
    cuvet_select_options ours = { .size = sizeof(ours) };
    cuvet_status status;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !opt)
        return CUVET_E_NULL;
    status = cv_opts_take(ctx, opt, &ours, sizeof(ours));
    return status == CUVET_OK ? cv_handle_create(ctx, &SELECT, &ours, &out->bits) : status;
}

cuvet_status cuvet_select_add_option(cuvet_ctx *ctx, cuvet_select handle, const char *text, size_t len)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx || !text)
        return CUVET_E_NULL;
    status = use_selection(ctx, handle, &in);
    return status == CUVET_OK ? done_with(ctx, handle, cv_input_option(in, text, len)) : status;
}

cuvet_status cuvet_select_get_option(cuvet_ctx *ctx, cuvet_select handle, size_t index, const char **out,
                                     size_t *len)
{
    uint64_t at, end;
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out || !len)
        return CUVET_E_NULL;
    status = use_selection(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (index >= in->option_at.count)
        return done_with(ctx, handle, CUVET_END);
    at = *cv_u64s_at(&in->option_at, index);
    end = index + 1 < in->option_at.count ? *cv_u64s_at(&in->option_at, index + 1) : in->option_text.count;
    *out = (const char *)cv_u8s_at(&in->option_text, at);
    *len = (size_t)(end - at - 1);
    return done_with(ctx, handle, CUVET_OK);
}

cuvet_status cuvet_select_bind(cuvet_ctx *ctx, cuvet_select handle, const void *bytes, size_t size,
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
    status = use_selection(ctx, handle, &in);
    if (status == CUVET_OK)
        status = done_with(ctx, handle, cv_input_bind(in, bytes, size, flags == CUVET_BIND_COPY, &info));
    if (out && status == CUVET_OK)
        cv_sized_fill(out, &info, sizeof(info));
    return status;
}

cuvet_status cuvet_select_bind_source(cuvet_ctx *ctx, cuvet_select handle, const cuvet_source *src,
                                      cuvet_content_info *out)
{
    cuvet_content_info info = { 0 };
    cuvet_source from = { 0 };
    cuvet_status status;
    cv_input *in;

    if (!ctx || !src)
        return CUVET_E_NULL;
    status = cv_opts_source(ctx, src, &from);
    if (status == CUVET_OK && out)
        status = cv_opts_room(ctx, out, sizeof(info));
    if (status != CUVET_OK)
        return status;
    status = use_selection(ctx, handle, &in);
    if (status == CUVET_OK)
        status = done_with(ctx, handle, cv_input_bind_source(in, &from, &info));
    if (out && status == CUVET_OK)
        cv_sized_fill(out, &info, sizeof(info));
    return status;
}

cuvet_status cuvet_select_run(cuvet_ctx *ctx, cuvet_select handle)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx)
        return CUVET_E_NULL;
    status = use_selection(ctx, handle, &in);
    return status == CUVET_OK ? done_with(ctx, handle, cv_input_select(in)) : status;
}

cuvet_status cuvet_select_get_candidate(cuvet_ctx *ctx, cuvet_select handle, uint64_t index,
                                        cuvet_candidate *out)
{
    cuvet_candidate candidate;
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(candidate));
    if (status == CUVET_OK)
        status = use_selection(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (in->state < CUVET_SELECT_BOUND)
        return done_with(ctx, handle, CUVET_E_STATE);
    if (index >= in->candidates.count)
        return done_with(ctx, handle, CUVET_END);
    candidate = cv_candidates_at(&in->candidates, index)->pub;
    return done_with(ctx, handle, cv_opts_give(out, &candidate, sizeof(candidate), CUVET_OK));
}

cuvet_status cuvet_select_get_result(cuvet_ctx *ctx, cuvet_select handle, cuvet_select_result *out)
{
    cuvet_select_result result = { 0 };
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(result));
    if (status != CUVET_OK)
        return status;
    status = use_selection(ctx, handle, &in);
    if (status == CUVET_OK) {
        result = in->out;
        status = done_with(ctx, handle,
                           in->state == CUVET_SELECT_SELECTED && result.bytes ? CUVET_OK : CUVET_E_STATE);
    }
    return cv_opts_give(out, &result, sizeof(result), status);
}

/* It is the caller's alone from then on. */
static cuvet_status take_image(cuvet_ctx *ctx, void *body, cuvet_image *image)
{
    cv_input *in = body;
    const cuvet_image_info info = { .bytes = in->out.bytes,
                                    .n = in->out.n,
                                    .kind = in->out.kind,
                                    .target = { in->out.sm, in->out.suffix },
                                    .flags = in->out.flags };
    cuvet_status status;

    if (in->state != CUVET_SELECT_SELECTED || !in->out.bytes)
        return CUVET_E_STATE;
    status = cv_image_make(ctx, &info, image);
    if (status == CUVET_OK)
        in->out.bytes = NULL;
    return status;
}

cuvet_status cuvet_select_take_image(cuvet_ctx *ctx, cuvet_select handle, cuvet_image *out)
{
    return cv_image_of(ctx, CV_H_SELECT, handle.bits, take_image, out);
}

cuvet_status cuvet_select_get_diag(cuvet_ctx *ctx, cuvet_select handle, uint64_t index, cuvet_diag *out)
{
    cuvet_diag diag;
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(diag));
    if (status == CUVET_OK)
        status = use_selection(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    if (index >= in->diags.count + in->has_live)
        return done_with(ctx, handle, CUVET_END);
    diag = index < in->diags.count ? *cv_diags_at(&in->diags, index) : in->live;
    return done_with(ctx, handle, cv_opts_give(out, &diag, sizeof(diag), CUVET_OK));
}

cuvet_status cuvet_select_get_log(cuvet_ctx *ctx, cuvet_select handle, const char **out, size_t *len)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out || !len)
        return CUVET_E_NULL;
    status = use_selection(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    *out = in->log.count ? (const char *)in->log.items : "";
    *len = in->log.count ? (size_t)in->log.count - 1 : 0;
    return done_with(ctx, handle, CUVET_OK);
}

cuvet_status cuvet_select_get_state(cuvet_ctx *ctx, cuvet_select handle, cuvet_select_state *out)
{
    cuvet_status status;
    cv_input *in;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = use_selection(ctx, handle, &in);
    if (status != CUVET_OK)
        return status;
    *out = in->state;
    return done_with(ctx, handle, CUVET_OK);
}

static void cancel_selection(void *body)
{
    __atomic_store_n(&((cv_input *)body)->cancel, 1, __ATOMIC_RELAXED);
}

cuvet_status cuvet_select_cancel(cuvet_ctx *ctx, cuvet_select handle)
{
    return ctx ? cv_handle_signal(ctx, CV_H_SELECT, handle.bits, cancel_selection) : CUVET_E_NULL;
}

cuvet_status cuvet_select_destroy(cuvet_ctx *ctx, cuvet_select *handle)
{
    return cv_handle_close(ctx, CV_H_SELECT, handle ? &handle->bits : NULL);
}
