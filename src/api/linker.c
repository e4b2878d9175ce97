/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/linker.h>

#include "api/image.h"
#include "api/linker_int.h"
#include "cubin/admit.h"
#include "io/sink.h"
#include "io/source.h"

static void end_linker(cuvet_ctx *ctx, void *body)
{
    linker_state *linker = body;

    cv_link_end(&linker->link);
    cv_islands_free(&linker->islands);
    cv_slices_free(&linker->ctx.mem, &linker->file);
    for (uint64_t i = 0; i < linker->input.count; i++) {
        cv_block_free(&linker->ctx, &cv_link_inputs_at(&linker->input, i)->bytes);
        cv_block_free(&linker->ctx, &cv_link_inputs_at(&linker->input, i)->name);
    }
    cv_link_inputs_free(&linker->ctx.mem, &linker->input);
    cv_hosts_free(&linker->ctx.mem, &linker->hosts);
    for (uint64_t i = 0; i < linker->module.count; i++)
        cv_block_free(&linker->ctx, cv_link_modules_at(&linker->module, i));
    cv_link_modules_free(&linker->ctx.mem, &linker->module);
    cv_block_free(&linker->ctx, &linker->out);
    cv_link_events_free(&linker->ctx.mem, &linker->event);
    cv_u8s_free(&linker->ctx.mem, &linker->event_text);
    cv_diags_free(&linker->tool_mem, &linker->pending);
    cv_mem_put(&linker->tool_mem, linker->tools, sizeof(*linker->tools));
    cv_ctx_note_peak(ctx, cv_max(linker->ctx.mem.peak, cv_max(linker->tool_mem.peak, linker->peak)));
}

cuvet_status cv_linker_done(cuvet_ctx *ctx, cuvet_linker handle, cuvet_status status)
{
    return cv_handle_done(ctx, handle.bits, status);
}

cuvet_status cv_linker_use(cuvet_ctx *ctx, cuvet_linker handle, linker_state **out)
{
    void *body = NULL;
    cuvet_status status = cv_handle_get(ctx, CV_H_LINKER, handle.bits, &body);

    *out = body;
    return CV_NEVER(status == CUVET_OK && (*out)->state == CV_LINKER_POISONED)
               ? cv_linker_done(ctx, handle, CUVET_E_POISONED)
               : status;
}

cuvet_status cv_linker_use_in(cuvet_ctx *ctx, cuvet_linker handle, cv_linker_state in, linker_state **out)
{
    cuvet_status status = cv_linker_use(ctx, handle, out);

    return status == CUVET_OK && (*out)->state != in ? cv_linker_done(ctx, handle, CUVET_E_STATE) : status;
}

enum { FINAL_LEVEL = 2 };

/* All that there are. */
#define ADD_FLAGS  (2 * CUVET_ADD_OPTIONAL - 1)
#define LINK_FLAGS (2 * CUVET_LINK_MODULES_ONLY - 1)

/* Who finalizes inputs for another member of the family. */
static cuvet_status choose_backends(cuvet_ctx *ctx, linker_state *linker, const cuvet_linker_options *opt)
{
    cuvet_compiler generator = { 0 };
    cuvet_status status = CUVET_OK;
    size_t count = 0;

    if (opt->generator)
        status = cv_opts_compiler(ctx, opt->generator, &generator);
    if (status != CUVET_OK)
        return status;
    CV_ARRAY_SET(linker->backend, count++, ((cv_backend_use){ &cv_backend_copy, NULL }));
    if (opt->generator) {
        linker->generator = (cv_final_tool){ generator, opt->generator_log, opt->generator_user };
        CV_ARRAY_SET(linker->backend, count++,
                     ((cv_backend_use){ &cv_backend_external, &linker->generator }));
    }
    linker->final =
        (cv_final_options){ .target_sm = opt->target.sm,
                            .target_suffix = opt->target.suffix,
                            .level_most = FINAL_LEVEL,
                            .exact = opt->policy == CUVET_ARCH_EXACT,
                            .key = { CV_ARRAY_GET(linker->opts.key, 0), CV_ARRAY_GET(linker->opts.key, 1) },
                            .backend = linker->backend,
                            .n_backends = count };
    return CUVET_OK;
}

/* Who compiles PTX, and with what. */
CV_BUF_BEGIN
static cuvet_status choose_compiler(cuvet_ctx *ctx, linker_state *linker, const cuvet_linker_options *opt)
{
    if (opt->n_compiler_options && (!opt->compiler || !opt->compiler_options))
        return CUVET_E_USAGE;
    for (size_t i = 0; i < opt->n_compiler_options; i++)
        if (!opt->compiler_options[i] || !opt->compiler_options[i][0])
            return CUVET_E_USAGE;
    linker->ptx = (cv_link_compiler){ .option = opt->compiler_options,
                                      .n_options = opt->n_compiler_options,
                                      .log = opt->compiler_log,
                                      .user = opt->compiler_user };
    return opt->compiler ? cv_opts_compiler(ctx, opt->compiler, &linker->ptx.compiler) : CUVET_OK;
}
CV_BUF_END

/* Threads that the caller lends. */
static cuvet_status choose_executor(cuvet_ctx *ctx, linker_state *linker, const cuvet_executor *executor)
{
    cuvet_status status;

    if (!executor)
        return CUVET_OK;
    status = cv_opts_take(ctx, executor, &linker->executor, sizeof(linker->executor));
    if (status == CUVET_OK && (!linker->executor.run || linker->executor.lanes > CUVET_LANES_MOST))
        status = CUVET_E_USAGE;
    if (status == CUVET_OK)
        linker->opts.executor = &linker->executor;
    return status;
}

static bool is_set(const cuvet_linker_options *opt, unsigned flag)
{
    return (opt->flags & flag) != 0;
}

cv_link_options cv_linker_options_of(const cuvet_linker_options *opt)
{
    return (cv_link_options){ .target = opt->target,
                              .policy = opt->policy,
                              .toolkit = opt->toolkit ? opt->toolkit : CV_ADMIT_TOOLKIT,
                              .relocatable = is_set(opt, CUVET_LINK_RELOCATABLE),
                              .compat = is_set(opt, CUVET_LINK_EXACT_RELOCATABLE),
                              .debug = is_set(opt, CUVET_LINK_DEBUG),
                              .preserve = is_set(opt, CUVET_LINK_PRESERVE_RELOCS),
                              .keep_dead = is_set(opt, CUVET_LINK_KEEP_DEAD) ||
                                           is_set(opt, CUVET_LINK_DEBUG) ||
                                           is_set(opt, CUVET_LINK_PRESERVE_RELOCS),
                              .undefined_variables = is_set(opt, CUVET_LINK_UNDEFINED_VARIABLES),
                              .no_reserved = is_set(opt, CUVET_LINK_NO_RESERVED_SHARED),
                              .all_shared = is_set(opt, CUVET_LINK_ALL_SHARED),
                              .no_stack_warning = is_set(opt, CUVET_LINK_NO_STACK_WARNING),
                              .warnings_are_errors = is_set(opt, CUVET_LINK_WARNINGS_ARE_ERRORS),
                              .kernels_used = opt->kernels_used,
                              .n_kernels_used = opt->n_kernels_used };
}

static cuvet_status configure_linker(cuvet_ctx *ctx, linker_state *linker, const cuvet_linker_options *opt)
{
    cuvet_status status;

    if ((unsigned)opt->policy > CUVET_ARCH_EXACT || (opt->flags & ~LINK_FLAGS) || opt->toolkit > UINT16_MAX ||
        (opt->n_kernels_used && !opt->kernels_used) ||
        (is_set(opt, CUVET_LINK_EXACT_RELOCATABLE) && !is_set(opt, CUVET_LINK_RELOCATABLE)))
        return CUVET_E_USAGE;
    if (!cv_arch_known(opt->target))
        return CUVET_E_ARCH;
    linker->opts = cv_linker_options_of(opt);
    cv_random(linker->opts.key, sizeof(linker->opts.key));
    linker->host_info = is_set(opt, CUVET_LINK_HOST_INFO) && !is_set(opt, CUVET_LINK_RELOCATABLE) &&
                        !opt->n_kernels_used && !linker->opts.keep_dead;
    cv_hosts_init(&linker->hosts, linker->opts.key[0], linker->opts.key[1]);
    linker->may_be_empty = is_set(opt, CUVET_LINK_MAY_BE_EMPTY);
    linker->modules_only = is_set(opt, CUVET_LINK_MODULES_ONLY);
    linker->on_event = opt->event;
    linker->event_user = opt->event_user;
    status = choose_executor(ctx, linker, opt->executor);
    if (status == CUVET_OK)
        status = choose_compiler(ctx, linker, opt);
    return status == CUVET_OK ? choose_backends(ctx, linker, opt) : status;
}

static cuvet_status begin_linker(cuvet_ctx *ctx, void *body, const void *opt)
{
    linker_state *linker = body;
    cuvet_status status;

    cv_ctx_derive(ctx, &linker->ctx);
    cv_mem_init(&linker->tool_mem, &ctx->alloc, ctx->lim.live);
    status = configure_linker(ctx, linker, opt);
    cv_link_begin(&linker->link, &linker->ctx, &linker->opts);
    return status;
}

cuvet_status cuvet_linker_create(cuvet_ctx *ctx, const cuvet_linker_options *opt, cuvet_linker *out)
{
    static const cv_handle_class LINKER = { CV_H_LINKER, sizeof(linker_state), begin_linker, end_linker };
    cuvet_linker_options options = { .size = sizeof(options) };
    cuvet_status status;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !opt)
        return CUVET_E_NULL;
    status = cv_opts_take(ctx, opt, &options, sizeof(options));
    return status == CUVET_OK ? cv_handle_create(ctx, &LINKER, &options, &out->bits) : status;
}

/* Bytes of a caller's text, without its NUL. */
CV_BUF_BEGIN
static uint64_t text_length(const char *text)
{
    uint64_t count = 0;

    while (text[count] != 0)
        count++;
    return count;
}
CV_BUF_END

static cv_span text_span(const char *text)
{
    return cv_span_of(text, text_length(text), 0);
}

static cuvet_status add_bytes(cuvet_ctx *ctx, cuvet_linker handle, const cv_link_piece *piece)
{
    linker_state *linker;
    cuvet_status status = cv_linker_use(ctx, handle, &linker);

    return status == CUVET_OK ? cv_linker_done(ctx, handle, cv_linker_add(linker, piece)) : status;
}

cuvet_status cuvet_linker_add(cuvet_ctx *ctx, cuvet_linker handle, const void *bytes, size_t size,
                              const char *name)
{
    if (!ctx || !bytes || !name)
        return CUVET_E_NULL;
    return add_bytes(ctx, handle,
                     &(const cv_link_piece){
                         .image = cv_span_of(bytes, size, 0), .name = text_span(name), .host = CV_NONE });
}

cuvet_status cuvet_linker_add_borrowed(cuvet_ctx *ctx, cuvet_linker handle, const void *bytes, size_t size,
                                       const char *name)
{
    if (!ctx || !bytes || !name)
        return CUVET_E_NULL;
    return add_bytes(
        ctx, handle,
        &(const cv_link_piece){
            .image = cv_span_of(bytes, size, 0), .borrow = true, .name = text_span(name), .host = CV_NONE });
}

cuvet_status cuvet_linker_add_source(cuvet_ctx *ctx, cuvet_linker handle, const cuvet_source *src,
                                     const char *name)
{
    cuvet_source from = { 0 };
    cuvet_status status;

    if (!ctx || !src || !name)
        return CUVET_E_NULL;
    status = cv_opts_source(ctx, src, &from);
    return status == CUVET_OK
               ? add_bytes(ctx, handle,
                           &(const cv_link_piece){ .src = &from, .name = text_span(name), .host = CV_NONE })
               : status;
}

cuvet_status cuvet_linker_add_file(cuvet_ctx *ctx, cuvet_linker handle, const cuvet_source *src,
                                   const char *name, const cuvet_add_options *opt)
{
    cuvet_add_options given = { .size = sizeof(given) };
    cuvet_source from = { 0 };
    cuvet_status status;
    linker_state *linker;

    if (!ctx || !src || !name)
        return CUVET_E_NULL;
    status = cv_opts_source(ctx, src, &from);
    if (status == CUVET_OK && opt)
        status = cv_opts_take(ctx, opt, &given, sizeof(given));
    if (status == CUVET_OK && (given.flags & ~ADD_FLAGS))
        status = CUVET_E_USAGE;
    if (status != CUVET_OK)
        return status;
    status = cv_linker_use(ctx, handle, &linker);
    return status == CUVET_OK
               ? cv_linker_done(ctx, handle, cv_linker_add_file(linker, &from, text_span(name), given.flags))
               : status;
}

cuvet_status cuvet_linker_add_memory(cuvet_ctx *ctx, cuvet_linker handle, const void *bytes, size_t size,
                                     const char *name, const cuvet_add_options *opt)
{
    cuvet_source src;

    if (!ctx || !bytes)
        return CUVET_E_NULL;
    src = cv_source_memory(bytes, size);
    return cuvet_linker_add_file(ctx, handle, &src, name, opt);
}

cuvet_status cuvet_linker_get_event(cuvet_ctx *ctx, cuvet_linker handle, uint64_t index, cuvet_event *out)
{
    cuvet_event event = { .size = sizeof(event) };
    cuvet_status status;
    linker_state *linker;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(event));
    if (status == CUVET_OK)
        status = cv_linker_use(ctx, handle, &linker);
    if (status != CUVET_OK)
        return status;
    status = cv_linker_get_event(linker, index, &event);
    return cv_linker_done(ctx, handle, cv_opts_give(out, &event, sizeof(event), status));
}

const char *cuvet_event_kind_name(cuvet_event_kind kind)
{
    switch (kind) {
    case CUVET_EVENT_TAKEN: return "taken";
    case CUVET_EVENT_RETARGETED: return "retargeted";
    case CUVET_EVENT_FINDINGS: return "findings";
    case CUVET_EVENT_NO_MATCH: return "no-match";
    case CUVET_EVENT_WHOLE_PROGRAM: return "whole-program";
    case CUVET_EVENT_ALREADY_LINKED: return "already-linked";
    case CUVET_EVENT_NOT_NEEDED: return "not-needed";
    case CUVET_EVENT_NOT_AN_OBJECT: return "not-an-object";
    case CUVET_EVENT_OUTSIDE: return "outside";
    case CUVET_EVENT_NO_DEVICE_CODE: return "no-device-code";
    case CUVET_EVENT_NOTHING_FITS: return "nothing-fits";
    case CUVET_EVENT_NOT_IN_CONTAINER: return "not-in-container";
    case CUVET_EVENT_NEEDS_COMPILER: return "needs-compiler";
    case CUVET_EVENT_NEEDS_LTO: return "needs-lto";
    case CUVET_EVENT_THIN: return "thin";
    case CUVET_EVENT_DAMAGED: return "damaged";
    case CUVET_EVENT_REFUSED: return "refused";
    case CUVET_EVENT_COMPILED: return "compiled";
    }
    return "?";
}

cuvet_status cuvet_linker_get_name(cuvet_ctx *ctx, cuvet_linker handle, uint64_t index, const char **out)
{
    cuvet_status status;
    linker_state *linker;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_linker_use(ctx, handle, &linker);
    if (status != CUVET_OK)
        return status;
    if (index >= linker->input.count)
        return cv_linker_done(ctx, handle, CUVET_END);
    *out = (const char *)cv_link_inputs_at(&linker->input, index)->name.mem;
    return cv_linker_done(ctx, handle, CUVET_OK);
}

static cuvet_status complete_link(linker_state *linker)
{
    uint64_t bytes = 0, warnings;
    cuvet_status status;

    if (linker->state != CV_LINKER_COLLECTING)
        return CUVET_E_STATE;
    for (uint64_t i = 0; i < linker->input.count; i++)
        bytes += cv_link_inputs_at(&linker->input, i)->bytes.span.len;
    cv_ctx_unit(&linker->ctx, 2 * bytes);
    if (linker->input.count == 0 && !linker->may_be_empty && !linker->modules_only)
        return cv_reject(&linker->ctx, CV_R_LINK_NO_INPUT, 0, 0, 1);
    linker->begun = true;
    status = cv_linker_gather(linker);
    if (linker->modules_only)
        return status;
    warnings = linker->ctx.n_warnings;
    if (status == CUVET_OK)
        status = cv_link_complete(&linker->link, &linker->out, &linker->file);
    if (status == CUVET_OK && linker->opts.warnings_are_errors && linker->ctx.n_warnings != warnings)
        status = CUVET_E_REFUSED;
    if (status != CUVET_OK)
        cv_block_free(&linker->ctx, &linker->out); /* nothing is given out */
    linker->result = (cuvet_link_result){ .objects = linker->link.inputs->obj.count,
                                          .functions = linker->link.reread->seen.functions,
                                          .kernels = linker->link.reread->seen.kernels };
    return status;
}

cuvet_status cuvet_linker_complete(cuvet_ctx *ctx, cuvet_linker handle)
{
    cuvet_status status;
    linker_state *linker;

    if (!ctx)
        return CUVET_E_NULL;
    status = cv_linker_use_in(ctx, handle, CV_LINKER_COLLECTING, &linker);
    if (status != CUVET_OK)
        return status;
    status = complete_link(linker);
    linker->state = status == CUVET_OK                     ? CV_LINKER_LINKED
                    : CV_NEVER(status == CUVET_E_INTERNAL) ? CV_LINKER_POISONED
                                                           : CV_LINKER_FAILED;
    linker->link.calls->reached = linker->link.calls->reached && status != CUVET_E_INTERNAL;
    cv_islands_drop();
    return cv_linker_done(ctx, handle, status);
}

/* The code that is borrowed goes where it belongs: its place is there. */
static bool make_whole(linker_state *linker)
{
    cv_slice_pos pos = { 0 };
    uint64_t off = 0;
    cv_span run;

    if (linker->whole)
        return true;
    linker->whole = true;
    for (; linker->whole && cv_slices_next(&linker->file, &pos, &run); off += run.len)
        if (cv_block_at(&linker->out, off, run.len) != run.base)
            linker->whole = cv_block_put(&linker->out, off, run);
    return linker->whole;
}

cuvet_status cuvet_linker_get_result(cuvet_ctx *ctx, cuvet_linker handle, cuvet_link_result *out)
{
    cuvet_status status;
    linker_state *linker;

    cuvet_link_result result = { 0 };

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(result));
    if (status != CUVET_OK)
        return status;
    status = cv_linker_use_in(ctx, handle, CV_LINKER_LINKED, &linker);
    if (status == CUVET_OK) {
        if (CV_NEVER(!make_whole(linker)))
            status = CUVET_E_INTERNAL;
        result = linker->result;
        result.bytes = linker->out.mem;
        result.n = (size_t)linker->out.span.len;
        status = cv_linker_done(ctx, handle, status);
    }
    return cv_opts_give(out, &result, sizeof(result), status);
}

static cuvet_status make_image(cuvet_ctx *ctx, void *body, cuvet_image *image)
{
    linker_state *linker = body;
    cuvet_image_info info = { .kind = CUVET_K_CUBIN, .target = linker->opts.target };

    if (CV_NEVER(linker->state == CV_LINKER_POISONED))
        return CUVET_E_POISONED;
    if (linker->state != CV_LINKER_LINKED)
        return CUVET_E_STATE;
    if (CV_NEVER(!make_whole(linker)))
        return CUVET_E_INTERNAL;
    info.bytes = linker->out.mem;
    info.n = (size_t)linker->out.span.len;
    return cv_image_make(ctx, &info, image);
}

cuvet_status cuvet_linker_get_image(cuvet_ctx *ctx, cuvet_linker handle, cuvet_image *out)
{
    return cv_image_of(ctx, CV_H_LINKER, handle.bits, make_image, out);
}

cuvet_status cuvet_linker_save(cuvet_ctx *ctx, cuvet_linker handle, int dirfd, const char *name,
                               unsigned flags)
{
    cuvet_status status;
    linker_state *linker;

    if (!ctx || !name)
        return CUVET_E_NULL;
    if (flags & ~(CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC))
        return CUVET_E_USAGE;
    status = cv_linker_use_in(ctx, handle, CV_LINKER_LINKED, &linker);
    return status == CUVET_OK
               ? cv_linker_done(ctx, handle,
                                cv_sink_file(dirfd, name, &linker->file, cv_sink_options_of(flags)))
               : status;
}

cuvet_status cuvet_linker_write(cuvet_ctx *ctx, cuvet_linker handle, int fd)
{
    cuvet_status status;
    linker_state *linker;

    if (!ctx)
        return CUVET_E_NULL;
    status = cv_linker_use_in(ctx, handle, CV_LINKER_LINKED, &linker);
    return status == CUVET_OK ? cv_linker_done(ctx, handle, cv_sink_fd(fd, &linker->file)) : status;
}

static cuvet_status deliver_result(const linker_state *linker, const cuvet_link_sink *sink)
{
    cv_slice_pos pos = { 0 };
    cv_span run;

    while (cv_slices_next(&linker->file, &pos, &run))
        if (run.len > 0 && sink->write(sink->user, run.base, (size_t)run.len) != 0)
            return CUVET_E_CANCELLED;
    return CUVET_OK;
}

cuvet_status cuvet_linker_deliver(cuvet_ctx *ctx, cuvet_linker handle, const cuvet_link_sink *sink)
{
    cuvet_link_sink to = { .size = sizeof(to) };
    cuvet_status status;
    linker_state *linker;

    if (!ctx || !sink)
        return CUVET_E_NULL;
    status = cv_opts_take(ctx, sink, &to, sizeof(to));
    if (status == CUVET_OK && !to.write)
        status = CUVET_E_USAGE;
    if (status != CUVET_OK)
        return status;
    status = cv_linker_use_in(ctx, handle, CV_LINKER_LINKED, &linker);
    return status == CUVET_OK ? cv_linker_done(ctx, handle, deliver_result(linker, &to)) : status;
}

cuvet_status cuvet_linker_destroy(cuvet_ctx *ctx, cuvet_linker *handle)
{
    return cv_handle_close(ctx, CV_H_LINKER, handle ? &handle->bits : NULL);
}
