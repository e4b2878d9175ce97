/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api/image.h"

#include "api/opts.h"
#include "io/sink.h"

typedef struct image_body {
    cv_mem mem;
    void *bytes; /* of 'mem' */
    cuvet_image_info info;
} image_body;

static cuvet_status begin_image(cuvet_ctx *ctx, void *body, const void *given)
{
    image_body *made = body;
    const cuvet_image_info *info = given;

    cv_mem_init(&made->mem, &ctx->alloc, ctx->lim.live);
    made->bytes = cv_mem_get(&made->mem, info->n);
    if (!made->bytes)
        return cv_ctx_told(ctx, &made->mem, cv_mem_status(&made->mem));
    cv_span_copy(cv_span_of(info->bytes, info->n, 0), made->bytes);
    made->info = *info;
    made->info.bytes = made->bytes;
    return CUVET_OK;
}

static void end_image(cuvet_ctx *ctx, void *body)
{
    image_body *made = body;

    cv_mem_put(&made->mem, made->bytes, made->info.n);
    cv_ctx_note_peak(ctx, made->mem.peak);
}

cuvet_status cv_image_make(cuvet_ctx *ctx, const cuvet_image_info *info, cuvet_image *out)
{
    static const cv_handle_class IMAGE = { CV_H_IMAGE, sizeof(image_body), begin_image, end_image };

    out->bits = 0;
    return cv_handle_create(ctx, &IMAGE, info, &out->bits);
}

/* The end of a call that may have made one: it goes where the call did not end well. STALE_HANDLE: the
 * context may be gone, and nothing of it is touched. */
static cuvet_status settle_image(cuvet_ctx *ctx, cuvet_image *image, cuvet_status status)
{
    if (status != CUVET_OK && status != CUVET_E_STALE_HANDLE && image->bits &&
        cuvet_image_destroy(ctx, image) != CUVET_OK)
        status = CUVET_E_INTERNAL;
    if (status != CUVET_OK)
        image->bits = 0;
    return status;
}

cuvet_status cv_image_of(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits, cv_image_maker *make,
                         cuvet_image *out)
{
    cuvet_image made = { 0 };
    cuvet_status status;
    void *body;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx)
        return CUVET_E_NULL;
    status = cv_handle_get(ctx, kind, bits, &body);
    if (status == CUVET_OK) {
        status = make(ctx, body, &made);
        status = settle_image(ctx, &made, cv_handle_done(ctx, bits, status));
    }
    *out = made;
    return status;
}

cuvet_status cuvet_image_get_info(cuvet_ctx *ctx, cuvet_image handle, cuvet_image_info *out)
{
    cuvet_image_info info;
    cuvet_status status;
    void *body;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(info));
    if (status == CUVET_OK)
        status = cv_handle_get(ctx, CV_H_IMAGE, handle.bits, &body);
    if (status != CUVET_OK)
        return status;
    info = ((const image_body *)body)->info;
    return cv_handle_put(ctx, handle.bits, cv_opts_give(out, &info, sizeof(info), CUVET_OK));
}

cuvet_status cuvet_image_save(cuvet_ctx *ctx, cuvet_image handle, const char *path, unsigned flags)
{
    const image_body *made;
    cuvet_status status;
    void *body;

    if (!ctx || !path)
        return CUVET_E_NULL;
    status = cv_handle_get(ctx, CV_H_IMAGE, handle.bits, &body);
    if (status != CUVET_OK)
        return status;
    made = body;
    return cv_handle_put(ctx, handle.bits, cv_sink_path(path, made->bytes, made->info.n, flags));
}

cuvet_status cuvet_image_destroy(cuvet_ctx *ctx, cuvet_image *image)
{
    return cv_handle_close(ctx, CV_H_IMAGE, image ? &image->bits : NULL);
}
