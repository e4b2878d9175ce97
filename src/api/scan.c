/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "scan/scan.h"
#include "api/opts.h"

static void end_scan(cuvet_ctx *ctx, void *body)
{
    cv_scan *s = body;

    cv_ctx_note_peak(ctx, cv_scan_peak(s));
    cv_scan_close(s);
}

typedef struct how {
    const cuvet_source *src;
    const cuvet_scan_options *opt;
} how;

static cuvet_status begin_scan(cuvet_ctx *ctx, void *body, const void *given)
{
    const how *h = given;

    return cv_scan_open(body, &ctx->alloc, &ctx->lim, h->src, h->opt, cv_ctx_emit, ctx);
}

cuvet_status cuvet_scan_create(cuvet_ctx *ctx, const cuvet_source *src, const cuvet_scan_options *opt,
                               cuvet_scan *out)
{
    cuvet_scan_options o;
    static const cv_handle_class SCAN = { CV_H_SCAN, sizeof(cv_scan), begin_scan, end_scan };

    cuvet_source from = { 0 };
    cuvet_status s;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !src)
        return CUVET_E_NULL;
    s = cv_opts_source(ctx, src, &from);
    if (s == CUVET_OK)
        s = cv_opts_scan(ctx, opt, &o);
    if (s != CUVET_OK)
        return s;
    return cv_handle_create(ctx, &SCAN, &(how){ &from, &o }, &out->bits);
}

cuvet_status cuvet_scan_ahead(cuvet_ctx *ctx, cuvet_scan h)
{
    cuvet_status s;
    void *body;

    if (!ctx)
        return CUVET_E_NULL;
    s = cv_handle_get(ctx, CV_H_SCAN, h.bits, &body);
    if (s != CUVET_OK)
        return s;
    return cv_handle_put(ctx, h.bits, cv_scan_ahead(body));
}

cuvet_status cuvet_scan_next(cuvet_ctx *ctx, cuvet_scan h, cuvet_item *out)
{
    cuvet_item item;
    cuvet_status s;
    void *body;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(item));
    if (s == CUVET_OK)
        s = cv_handle_get(ctx, CV_H_SCAN, h.bits, &body);
    if (s != CUVET_OK)
        return s;
    /* A callback may have destroyed the scan, and what the item points to. */
    s = cv_handle_done(ctx, h.bits, cv_scan_next(body, &item));
    return cv_opts_give(out, &item, sizeof(item), s);
}

cuvet_status cuvet_scan_payload(cuvet_ctx *ctx, cuvet_scan h, const void **bytes, size_t *n)
{
    cuvet_status s;
    void *body;
    cv_span p;

    if (!ctx || !bytes || !n)
        return CUVET_E_NULL;
    s = cv_handle_get(ctx, CV_H_SCAN, h.bits, &body);
    if (s != CUVET_OK)
        return s;
    p = cv_scan_payload(body);
    if (((const cv_scan *)body)->workers.n > 1 || ((const cv_scan *)body)->ahead) {
        s = CUVET_E_USAGE;
    } else if (!p.base) {
        s = CUVET_E_NO_MATCH;
    } else {
        *bytes = p.base;
        *n = (size_t)p.len;
    }
    return cv_handle_put(ctx, h.bits, s);
}

cuvet_status cuvet_scan_summary(cuvet_ctx *ctx, cuvet_scan h, cuvet_summary *out)
{
    cuvet_status s;
    void *body;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(*out));
    if (s == CUVET_OK)
        s = cv_handle_get(ctx, CV_H_SCAN, h.bits, &body);
    if (s != CUVET_OK)
        return s;
    cv_sized_fill(out, &((const cv_scan *)body)->sum, sizeof(*out));
    return cv_handle_put(ctx, h.bits, s);
}

cuvet_status cuvet_scan_rule_count(cuvet_ctx *ctx, cuvet_scan h, cuvet_rule rule, uint64_t *n)
{
    cuvet_status s;
    void *body;

    if (!ctx || !n)
        return CUVET_E_NULL;
    if (rule >= CV_N_RULES)
        return CUVET_E_USAGE;
    s = cv_handle_get(ctx, CV_H_SCAN, h.bits, &body);
    if (s != CUVET_OK)
        return s;
    *n = CV_ARRAY_GET(((const cv_scan *)body)->total, rule);
    return cv_handle_put(ctx, h.bits, s);
}

cuvet_status cuvet_scan_destroy(cuvet_ctx *ctx, cuvet_scan *h)
{
    cuvet_status s;

    if (!ctx || !h)
        return CUVET_E_NULL;
    s = cv_handle_destroy(ctx, CV_H_SCAN, h->bits);
    if (s == CUVET_OK)
        h->bits = 0;
    return s;
}

const char *cuvet_compression_name(cuvet_compression z)
{
    static const char *const NAMES[] = { "none", "lz4", "zstd", "opaque", "unknown" };

    return (size_t)z < CV_COUNT(NAMES) ? NAMES[z] : "?";
}
