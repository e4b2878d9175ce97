/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "scan/scan.h"
#include "api/opts.h"

static void end_scan(cuvet_ctx *ctx, void *body)
{
    cv_scan *scan = body;

    cv_ctx_note_peak(ctx, cv_scan_peak(scan));
    cv_scan_close(scan);
}

typedef struct scan_how {
    const cuvet_source *src;
    const cuvet_scan_options *opt;
} scan_how;

static cuvet_status begin_scan(cuvet_ctx *ctx, void *body, const void *given)
{
    const scan_how *how = given;

    return cv_scan_open(body, &ctx->alloc, &ctx->lim, how->src, how->opt, cv_ctx_emit, ctx);
}

cuvet_status cuvet_scan_create(cuvet_ctx *ctx, const cuvet_source *src, const cuvet_scan_options *opt,
                               cuvet_scan *out)
{
    cuvet_scan_options options;
    static const cv_handle_class SCAN = { CV_H_SCAN, sizeof(cv_scan), begin_scan, end_scan };

    cuvet_source from = { 0 };
    cuvet_status status;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !src)
        return CUVET_E_NULL;
    status = cv_opts_source(ctx, src, &from);
    if (status == CUVET_OK)
        status = cv_opts_scan(ctx, opt, &options);
    if (status != CUVET_OK)
        return status;
    return cv_handle_create(ctx, &SCAN, &(scan_how){ &from, &options }, &out->bits);
}

cuvet_status cuvet_scan_ahead(cuvet_ctx *ctx, cuvet_scan handle)
{
    cuvet_status status;
    void *body;

    if (!ctx)
        return CUVET_E_NULL;
    status = cv_handle_get(ctx, CV_H_SCAN, handle.bits, &body);
    if (status != CUVET_OK)
        return status;
    return cv_handle_put(ctx, handle.bits, cv_scan_ahead(body));
}

cuvet_status cuvet_scan_next(cuvet_ctx *ctx, cuvet_scan handle, cuvet_item *out)
{
    cuvet_item item;
    cuvet_status status;
    void *body;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(item));
    if (status == CUVET_OK)
        status = cv_handle_get(ctx, CV_H_SCAN, handle.bits, &body);
    if (status != CUVET_OK)
        return status;
    /* A callback may have destroyed the scan, and what the item points to. */
    status = cv_handle_done(ctx, handle.bits, cv_scan_next(body, &item));
    return cv_opts_give(out, &item, sizeof(item), status);
}

cuvet_status cuvet_scan_payload(cuvet_ctx *ctx, cuvet_scan handle, const void **bytes, size_t *size)
{
    cuvet_status status;
    void *body;
    cv_span prefix;

    if (!ctx || !bytes || !size)
        return CUVET_E_NULL;
    status = cv_handle_get(ctx, CV_H_SCAN, handle.bits, &body);
    if (status != CUVET_OK)
        return status;
    prefix = cv_scan_payload(body);
    if (((const cv_scan *)body)->workers.count > 1 || ((const cv_scan *)body)->ahead) {
        status = CUVET_E_USAGE;
    } else if (!prefix.base) {
        status = CUVET_E_NO_MATCH;
    } else {
        *bytes = prefix.base;
        *size = (size_t)prefix.len;
    }
    return cv_handle_put(ctx, handle.bits, status);
}

cuvet_status cuvet_scan_summary(cuvet_ctx *ctx, cuvet_scan handle, cuvet_summary *out)
{
    cuvet_status status;
    void *body;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(*out));
    if (status == CUVET_OK)
        status = cv_handle_get(ctx, CV_H_SCAN, handle.bits, &body);
    if (status != CUVET_OK)
        return status;
    cv_sized_fill(out, &((const cv_scan *)body)->sum, sizeof(*out));
    return cv_handle_put(ctx, handle.bits, status);
}

cuvet_status cuvet_scan_rule_count(cuvet_ctx *ctx, cuvet_scan handle, cuvet_rule rule, uint64_t *count)
{
    cuvet_status status;
    void *body;

    if (!ctx || !count)
        return CUVET_E_NULL;
    if (rule >= CV_N_RULES)
        return CUVET_E_USAGE;
    status = cv_handle_get(ctx, CV_H_SCAN, handle.bits, &body);
    if (status != CUVET_OK)
        return status;
    *count = CV_ARRAY_GET(((const cv_scan *)body)->total, rule);
    return cv_handle_put(ctx, handle.bits, status);
}

cuvet_status cuvet_scan_destroy(cuvet_ctx *ctx, cuvet_scan *handle)
{
    return cv_handle_close(ctx, CV_H_SCAN, handle ? &handle->bits : NULL);
}

const char *cuvet_compression_name(cuvet_compression compression)
{
    static const char *const NAMES[] = { "none", "lz4", "zstd", "opaque", "unknown" };

    return (size_t)compression < CV_COUNT(NAMES) ? NAMES[compression] : "?";
}
