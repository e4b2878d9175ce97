/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The short way: what most callers do with a scan, a linker, a selection or a finalizer, in one call. */
#include <cuvet/simple.h>

#include "api/opts.h"
#include "io/source.h"
#include "scan/scan.h"

enum { TEXT_SIZE = 1024 };

typedef struct findings {
    cuvet_ctx *ctx;
    cv_mem mem;
    cv_diags diags;
    bool lost; /* one of them could not be kept */
    cuvet_summary sum;
    cv_scan scan; /* until the end of the file */
    char place[TEXT_SIZE], text[TEXT_SIZE];
} findings;

typedef struct how {
    const cuvet_source *src;
    const cuvet_scan_options *opt;
} how;

static void keep_diag(void *user, const cuvet_diag *diag)
{
    findings *all = user;

    if (!cv_diags_push(&all->mem, &all->diags, *diag))
        all->lost = true;
    cv_ctx_emit(all->ctx, diag);
}

static cuvet_status begin_findings(cuvet_ctx *ctx, void *body, const void *given)
{
    findings *all = body;
    const how *opening = given;
    cuvet_item item;
    cuvet_status status;

    all->ctx = ctx;
    cv_mem_init(&all->mem, &ctx->alloc, ctx->lim.live);
    status = cv_scan_open(&all->scan, &ctx->alloc, &ctx->lim, opening->src, opening->opt, keep_diag, all);
    if (status != CUVET_OK)
        return status;
    do
        status = cv_scan_next(&all->scan, &item);
    while (status == CUVET_OK);
    all->sum = all->scan.sum;
    cv_ctx_note_peak(ctx, cv_sat_add(cv_scan_peak(&all->scan), all->mem.peak));
    cv_scan_close(&all->scan);
    if (status == CUVET_END && all->lost)
        status = all->mem.limited ? cv_ctx_told(ctx, &all->mem, CUVET_E_LIMIT) : CUVET_E_NOMEM;
    return status == CUVET_END ? CUVET_OK : status;
}

static void end_findings(cuvet_ctx *ctx, void *body)
{
    findings *all = body;

    (void)ctx;
    cv_diags_free(&all->mem, &all->diags);
}

static cuvet_status scan_source(cuvet_ctx *ctx, const cuvet_source *src, const cuvet_scan_options *opt,
                                cuvet_findings *out)
{
    static const cv_handle_class FINDINGS = { CV_H_FINDINGS, sizeof(findings), begin_findings, end_findings };
    cuvet_scan_options ours;
    cuvet_status status = cv_opts_scan(ctx, opt, &ours);

    return status == CUVET_OK ? cv_handle_create(ctx, &FINDINGS, &(how){ src, &ours }, &out->bits) : status;
}

/* The last thing that a call does with the context: a callback may end it. */
static cuvet_status cannot_open(cuvet_ctx *ctx, int error)
{
    const cuvet_diag diag = { .rule = CV_R_IO_OPEN, .severity = CUVET_ERROR, .got = (uint64_t)error };

    cv_ctx_emit(ctx, &diag);
    return CUVET_E_IO;
}

cuvet_status cuvet_scan_file(cuvet_ctx *ctx, const char *path, const cuvet_scan_options *opt,
                             cuvet_findings *out)
{
    cuvet_source src = { .size = sizeof(src) };
    cuvet_status status;
    int error;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !path)
        return CUVET_E_NULL;
    status = cv_source_open(path, &src, &error);
    if (status != CUVET_OK)
        return cannot_open(ctx, error);
    status = scan_source(ctx, &src, opt, out);
    cuvet_source_destroy(&src);
    return status;
}

cuvet_status cuvet_scan_memory(cuvet_ctx *ctx, const void *bytes, size_t size, const cuvet_scan_options *opt,
                               cuvet_findings *out)
{
    cuvet_source src;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || (size && !bytes))
        return CUVET_E_NULL;
    src = cv_source_memory(bytes, size);
    return scan_source(ctx, &src, opt, out);
}

cuvet_status cuvet_findings_get(cuvet_ctx *ctx, cuvet_findings list, uint64_t index, cuvet_finding *out)
{
    cuvet_finding one = { .size = sizeof(one) };
    cuvet_diag *diag;
    cuvet_status status;
    findings *all;
    void *body;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(one));
    if (status == CUVET_OK)
        status = cv_handle_get(ctx, CV_H_FINDINGS, list.bits, &body);
    if (status != CUVET_OK)
        return status;
    all = body;
    if (index < all->diags.count) {
        diag = cv_diags_at(&all->diags, index);
        diag->size = sizeof(*diag);
        cv_last_place(diag, all->place, sizeof(all->place));
        cv_last_message(diag, all->text, sizeof(all->text));
        one.rule = cuvet_rule_get(diag->rule)->id;
        one.severity = cuvet_severity_name(diag->severity);
        one.place = all->place;
        one.text = all->text;
        one.diag = diag;
    } else {
        status = CUVET_END;
    }
    status = cv_handle_put(ctx, list.bits, status);
    return cv_opts_give(out, &one, sizeof(one), status);
}

cuvet_status cuvet_findings_summary(cuvet_ctx *ctx, cuvet_findings list, cuvet_summary *out)
{
    cuvet_status status;
    void *body;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(*out));
    if (status == CUVET_OK)
        status = cv_handle_get(ctx, CV_H_FINDINGS, list.bits, &body);
    if (status != CUVET_OK)
        return status;
    cv_sized_fill(out, &((const findings *)body)->sum, sizeof(*out));
    return cv_handle_put(ctx, list.bits, CUVET_OK);
}

cuvet_status cuvet_findings_destroy(cuvet_ctx *ctx, cuvet_findings *list)
{
    return cv_handle_close(ctx, CV_H_FINDINGS, list ? &list->bits : NULL);
}

/* @return as cuvet_linker_add_file() for the first file that was refused; STALE_HANDLE: a callback has
 * ended the context, and nothing of it may be touched. */
static cuvet_status add_files(cuvet_ctx *ctx, cuvet_linker linker, const char *const *paths, size_t len,
                              int *error)
{
    cuvet_status first = CUVET_OK;

    for (size_t i = 0; i < len; i++) {
        cuvet_source src = { .size = sizeof(src) };
        cuvet_status status = paths[i] ? cv_source_open(paths[i], &src, error) : CUVET_E_NULL;

        if (status != CUVET_OK)
            return status;
        status = cuvet_linker_add_file(ctx, linker, &src, paths[i], NULL);
        cuvet_source_destroy(&src);
        if (status == CUVET_E_STALE_HANDLE)
            return status;
        first = first == CUVET_OK ? status : first;
    }
    *error = -1; /* all could be opened */
    return first;
}

/* The end of what was made for one call. STALE_HANDLE: a callback has ended the context with it. */
static cuvet_status end_with(cuvet_status status, cuvet_status (*destroy)(cuvet_ctx *ctx, uint64_t *bits),
                             cuvet_ctx *ctx, uint64_t bits)
{
    if (status == CUVET_E_STALE_HANDLE || !bits)
        return status;
    return destroy(ctx, &bits) == CUVET_OK ? status : CUVET_E_INTERNAL;
}

static cuvet_status end_linker(cuvet_ctx *ctx, uint64_t *bits)
{
    return cv_handle_close(ctx, CV_H_LINKER, bits);
}

static cuvet_status end_selection(cuvet_ctx *ctx, uint64_t *bits)
{
    return cv_handle_close(ctx, CV_H_SELECT, bits);
}

static cuvet_status end_finalizer(cuvet_ctx *ctx, uint64_t *bits)
{
    return cv_handle_close(ctx, CV_H_FINALIZER, bits);
}

cuvet_status cuvet_link_files(cuvet_ctx *ctx, const cuvet_linker_options *opt, const char *target,
                              const char *const *paths, size_t len, cuvet_image *out)
{
    cuvet_linker_options ours = { .size = sizeof(ours) };
    cuvet_linker linker = { 0 };
    cuvet_status status = CUVET_OK;
    int error = -1;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || (len && !paths))
        return CUVET_E_NULL;
    if (opt)
        status = cv_opts_take(ctx, opt, &ours, sizeof(ours));
    if (status == CUVET_OK && target)
        status = cuvet_target_parse(target, &ours.target);
    if (status == CUVET_OK)
        status = cuvet_linker_create(ctx, &ours, &linker);
    if (status == CUVET_OK)
        status = add_files(ctx, linker, paths, len, &error);
    if (status == CUVET_OK)
        status = cuvet_linker_complete(ctx, linker);
    if (status == CUVET_OK)
        status = cuvet_linker_get_image(ctx, linker, out);
    status = end_with(status, end_linker, ctx, linker.bits);
    return status == CUVET_E_IO && error >= 0 ? cannot_open(ctx, error) : status;
}

/* A file that can be opened, or why not is said, and what was made for it ends. */
static cuvet_status open_for(cuvet_ctx *ctx, const char *path, cuvet_source *src,
                             cuvet_status (*destroy)(cuvet_ctx *ctx, uint64_t *bits), uint64_t bits)
{
    cuvet_status status;
    int error;

    if (cv_source_open(path, src, &error) == CUVET_OK)
        return CUVET_OK;
    status = end_with(CUVET_E_IO, destroy, ctx, bits);
    return status == CUVET_E_IO ? cannot_open(ctx, error) : status;
}

cuvet_status cuvet_select_file(cuvet_ctx *ctx, const cuvet_select_options *opt, const char *target,
                               const char *path, cuvet_image *out)
{
    cuvet_select_options ours = { .size = sizeof(ours) };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_select selection = { 0 };
    cuvet_status status = CUVET_OK;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !path)
        return CUVET_E_NULL;
    if (opt)
        status = cv_opts_take(ctx, opt, &ours, sizeof(ours));
    if (status == CUVET_OK && target)
        status = cuvet_target_parse(target, &ours.target);
    if (status == CUVET_OK)
        status = cuvet_select_create(ctx, &ours, &selection);
    if (status == CUVET_OK)
        status = open_for(ctx, path, &src, end_selection, selection.bits);
    if (status != CUVET_OK)
        return status;
    status = cuvet_select_bind_source(ctx, selection, &src, NULL);
    cuvet_source_destroy(&src);
    if (status == CUVET_OK)
        status = cuvet_select_run(ctx, selection);
    if (status == CUVET_OK)
        status = cuvet_select_take_image(ctx, selection, out);
    return end_with(status, end_selection, ctx, selection.bits);
}

static cuvet_status make_finalizer(cuvet_ctx *ctx, const cuvet_finalize_options *opt, const char *target,
                                   cuvet_finalizer *out)
{
    cuvet_finalize_options ours = { .size = sizeof(ours) };
    cuvet_status status = CUVET_OK;

    if (opt)
        status = cv_opts_take(ctx, opt, &ours, sizeof(ours));
    if (status == CUVET_OK && target)
        status = cuvet_target_parse(target, &ours.target);
    return status == CUVET_OK ? cuvet_finalizer_create(ctx, &ours, out) : status;
}

cuvet_status cuvet_finalize_file(cuvet_ctx *ctx, const cuvet_finalize_options *opt, const char *target,
                                 const char *path, cuvet_image *out)
{
    cuvet_source src = { .size = sizeof(src) };
    cuvet_finalizer finalizer = { 0 };
    cuvet_status status;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !path)
        return CUVET_E_NULL;
    status = make_finalizer(ctx, opt, target, &finalizer);
    if (status == CUVET_OK)
        status = open_for(ctx, path, &src, end_finalizer, finalizer.bits);
    if (status != CUVET_OK)
        return status;
    status = cuvet_finalizer_run_source(ctx, finalizer, &src, path);
    cuvet_source_destroy(&src);
    if (status == CUVET_OK)
        status = cuvet_finalizer_get_image(ctx, finalizer, out);
    return end_with(status, end_finalizer, ctx, finalizer.bits);
}

cuvet_status cuvet_finalize_memory(cuvet_ctx *ctx, const cuvet_finalize_options *opt, const char *target,
                                   const void *bytes, size_t size, cuvet_image *out)
{
    cuvet_finalizer finalizer = { 0 };
    cuvet_status status;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !bytes)
        return CUVET_E_NULL;
    status = make_finalizer(ctx, opt, target, &finalizer);
    if (status == CUVET_OK)
        status = cuvet_finalizer_run(ctx, finalizer, bytes, size, NULL);
    if (status == CUVET_OK)
        status = cuvet_finalizer_get_image(ctx, finalizer, out);
    return end_with(status, end_finalizer, ctx, finalizer.bits);
}
