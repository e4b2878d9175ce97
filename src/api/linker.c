/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/linker.h>

#include "api/linker_int.h"
#include "cubin/admit.h"
#include "io/sink.h"
#include "io/source.h"

static void end_linker(cuvet_ctx *ctx, void *body)
{
    linker *k = body;

    cv_link_end(&k->link);
    cv_islands_free(&k->islands);
    cv_slices_free(&k->x.mem, &k->file);
    for (uint64_t i = 0; i < k->input.n; i++) {
        cv_block_free(&k->x, &cv_link_inputs_at(&k->input, i)->bytes);
        cv_block_free(&k->x, &cv_link_inputs_at(&k->input, i)->name);
    }
    cv_link_inputs_free(&k->x.mem, &k->input);
    cv_hosts_free(&k->x.mem, &k->hosts);
    for (uint64_t i = 0; i < k->module.n; i++)
        cv_block_free(&k->x, cv_link_modules_at(&k->module, i));
    cv_link_modules_free(&k->x.mem, &k->module);
    cv_block_free(&k->x, &k->out);
    cv_link_events_free(&k->x.mem, &k->event);
    cv_u8s_free(&k->x.mem, &k->event_text);
    cv_diags_free(&k->tool_mem, &k->pending);
    cv_mem_put(&k->tool_mem, k->tools, sizeof(*k->tools));
    cv_ctx_note_peak(ctx, cv_max(k->x.mem.peak, cv_max(k->tool_mem.peak, k->peak)));
}

cuvet_status cv_linker_done(cuvet_ctx *ctx, cuvet_linker h, cuvet_status s)
{
    return cv_handle_done(ctx, h.bits, s);
}

cuvet_status cv_linker_use(cuvet_ctx *ctx, cuvet_linker h, linker **k)
{
    void *body = NULL;
    cuvet_status s = cv_handle_get(ctx, CV_H_LINKER, h.bits, &body);

    *k = body;
    return CV_NEVER(s == CUVET_OK && (*k)->state == CV_LINKER_POISONED)
               ? cv_linker_done(ctx, h, CUVET_E_POISONED)
               : s;
}

cuvet_status cv_linker_use_in(cuvet_ctx *ctx, cuvet_linker h, cv_linker_state in, linker **k)
{
    cuvet_status s = cv_linker_use(ctx, h, k);

    return s == CUVET_OK && (*k)->state != in ? cv_linker_done(ctx, h, CUVET_E_STATE) : s;
}

enum { FINAL_LEVEL = 2 };

/* All that there are. */
#define LINK_FLAGS (2 * CUVET_LINK_HOST_INFO - 1)

/* Who finalizes inputs for another member of the family. */
static cuvet_status choose_backends(cuvet_ctx *ctx, linker *k, const cuvet_linker_options *opt)
{
    cuvet_compiler generator = { 0 };
    cuvet_status s = CUVET_OK;
    size_t n = 0;

    if (opt->generator)
        s = cv_opts_compiler(ctx, opt->generator, &generator);
    if (s != CUVET_OK)
        return s;
    CV_ARRAY_SET(k->backend, n++, ((cv_backend_use){ &cv_backend_copy, NULL }));
    if (opt->generator) {
        k->generator = (cv_final_tool){ generator, opt->generator_log, opt->generator_user };
        CV_ARRAY_SET(k->backend, n++, ((cv_backend_use){ &cv_backend_external, &k->generator }));
    }
    k->final = (cv_final_options){ .target_sm = opt->target.sm,
                                   .target_suffix = opt->target.suffix,
                                   .level_most = FINAL_LEVEL,
                                   .exact = opt->policy == CUVET_ARCH_EXACT,
                                   .key = { CV_ARRAY_GET(k->o.key, 0), CV_ARRAY_GET(k->o.key, 1) },
                                   .backend = k->backend,
                                   .n_backends = n };
    return CUVET_OK;
}

static bool is_set(const cuvet_linker_options *opt, unsigned flag)
{
    return (opt->flags & flag) != 0;
}

static cuvet_status configure(cuvet_ctx *ctx, linker *k, const cuvet_linker_options *opt)
{
    if ((unsigned)opt->policy > CUVET_ARCH_EXACT || (opt->flags & ~LINK_FLAGS) || opt->toolkit > UINT16_MAX ||
        (opt->n_kernels_used && !opt->kernels_used) ||
        (is_set(opt, CUVET_LINK_EXACT_RELOCATABLE) && !is_set(opt, CUVET_LINK_RELOCATABLE)))
        return CUVET_E_USAGE;
    if (!cv_arch_known(opt->target))
        return CUVET_E_ARCH;
    k->o =
        (cv_link_options){ .target = opt->target,
                           .policy = opt->policy,
                           .toolkit = opt->toolkit ? opt->toolkit : CV_ADMIT_TOOLKIT,
                           .relocatable = is_set(opt, CUVET_LINK_RELOCATABLE),
                           .compat = is_set(opt, CUVET_LINK_EXACT_RELOCATABLE),
                           .debug = is_set(opt, CUVET_LINK_DEBUG),
                           .preserve = is_set(opt, CUVET_LINK_PRESERVE_RELOCS),
                           .keep_dead = is_set(opt, CUVET_LINK_KEEP_DEAD) || is_set(opt, CUVET_LINK_DEBUG) ||
                                        is_set(opt, CUVET_LINK_PRESERVE_RELOCS),
                           .no_stack_warning = is_set(opt, CUVET_LINK_NO_STACK_WARNING),
                           .warnings_are_errors = is_set(opt, CUVET_LINK_WARNINGS_ARE_ERRORS),
                           .kernels_used = opt->kernels_used,
                           .n_kernels_used = opt->n_kernels_used };
    cv_random(k->o.key, sizeof(k->o.key));
    k->host_info = is_set(opt, CUVET_LINK_HOST_INFO) && !is_set(opt, CUVET_LINK_RELOCATABLE) &&
                   !opt->n_kernels_used && !k->o.keep_dead;
    cv_hosts_init(&k->hosts, k->o.key[0], k->o.key[1]);
    k->on_event = opt->event;
    k->event_user = opt->event_user;
    return choose_backends(ctx, k, opt);
}

static cuvet_status begin_linker(cuvet_ctx *ctx, void *body, const void *opt)
{
    linker *k = body;
    cuvet_status s;

    cv_ctx_lend(ctx, &k->x);
    cv_mem_init(&k->tool_mem, &ctx->alloc, ctx->lim.live);
    s = configure(ctx, k, opt);
    cv_link_begin(&k->link, &k->x, &k->o);
    return s;
}

cuvet_status cuvet_linker_create(cuvet_ctx *ctx, const cuvet_linker_options *opt, cuvet_linker *out)
{
    static const cv_handle_class LINKER = { CV_H_LINKER, sizeof(linker), begin_linker, end_linker };
    cuvet_linker_options o = { .size = sizeof(o) };
    cuvet_status s;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !opt)
        return CUVET_E_NULL;
    s = cv_opts_take(ctx, opt, &o, sizeof(o));
    return s == CUVET_OK ? cv_handle_create(ctx, &LINKER, &o, &out->bits) : s;
}

/* Bytes of a caller's text, without its NUL. */
CV_BUF_BEGIN
static uint64_t text_length(const char *text)
{
    uint64_t n = 0;

    while (text[n] != 0)
        n++;
    return n;
}
CV_BUF_END

static cv_span text_span(const char *text)
{
    return cv_span_of(text, text_length(text), 0);
}

cuvet_status cuvet_linker_add(cuvet_ctx *ctx, cuvet_linker h, const void *bytes, size_t n, const char *name)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !bytes || !name)
        return CUVET_E_NULL;
    s = cv_linker_use(ctx, h, &k);
    return s == CUVET_OK
               ? cv_linker_done(
                     ctx, h, cv_linker_add(k, NULL, cv_span_of(bytes, n, 0), text_span(name), CV_NONE, false))
               : s;
}

cuvet_status cuvet_linker_add_source(cuvet_ctx *ctx, cuvet_linker h, const cuvet_source *src,
                                     const char *name)
{
    cuvet_source from = { 0 };
    cuvet_status s;
    linker *k;

    if (!ctx || !src || !name)
        return CUVET_E_NULL;
    s = cv_opts_source(ctx, src, &from);
    if (s != CUVET_OK)
        return s;
    s = cv_linker_use(ctx, h, &k);
    return s == CUVET_OK
               ? cv_linker_done(
                     ctx, h, cv_linker_add(k, &from, cv_span_of(NULL, 0, 0), text_span(name), CV_NONE, false))
               : s;
}

cuvet_status cuvet_linker_add_file(cuvet_ctx *ctx, cuvet_linker h, const cuvet_source *src, const char *name,
                                   const cuvet_add_options *opt)
{
    cuvet_add_options given = { .size = sizeof(given) };
    cuvet_source from = { 0 };
    cuvet_status s;
    linker *k;

    if (!ctx || !src || !name)
        return CUVET_E_NULL;
    s = cv_opts_source(ctx, src, &from);
    if (s == CUVET_OK && opt)
        s = cv_opts_take(ctx, opt, &given, sizeof(given));
    if (s == CUVET_OK && (given.flags & ~(CUVET_ADD_SYSTEM | CUVET_ADD_LIBRARY)))
        s = CUVET_E_USAGE;
    if (s != CUVET_OK)
        return s;
    s = cv_linker_use(ctx, h, &k);
    return s == CUVET_OK ? cv_linker_done(ctx, h, cv_linker_add_file(k, &from, text_span(name), given.flags))
                         : s;
}

cuvet_status cuvet_linker_add_memory(cuvet_ctx *ctx, cuvet_linker h, const void *bytes, size_t n,
                                     const char *name, const cuvet_add_options *opt)
{
    cuvet_source src;

    if (!ctx || !bytes)
        return CUVET_E_NULL;
    src = cv_source_memory(bytes, n);
    return cuvet_linker_add_file(ctx, h, &src, name, opt);
}

cuvet_status cuvet_linker_get_event(cuvet_ctx *ctx, cuvet_linker h, uint64_t index, cuvet_event *out)
{
    cuvet_event event = { .size = sizeof(event) };
    cuvet_status s;
    linker *k;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(event));
    if (s == CUVET_OK)
        s = cv_linker_use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    s = cv_linker_get_event(k, index, &event);
    return cv_linker_done(ctx, h, cv_opts_give(out, &event, sizeof(event), s));
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
    }
    return "?";
}

cuvet_status cuvet_linker_name(cuvet_ctx *ctx, cuvet_linker h, uint64_t index, const char **out)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_linker_use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (index >= k->input.n)
        return cv_linker_done(ctx, h, CUVET_END);
    *out = (const char *)cv_link_inputs_at(&k->input, index)->name.mem;
    return cv_linker_done(ctx, h, CUVET_OK);
}

static cuvet_status complete(linker *k)
{
    uint64_t bytes = 0, warnings;
    cuvet_status s;

    if (k->state != CV_LINKER_COLLECTING)
        return CUVET_E_STATE;
    for (uint64_t i = 0; i < k->input.n; i++)
        bytes += cv_link_inputs_at(&k->input, i)->bytes.span.len;
    cv_ctx_unit(&k->x, 2 * bytes);
    if (k->input.n == 0)
        return cv_reject(&k->x, CV_R_LINK_NO_INPUT, 0, 0, 1);
    k->begun = true;
    s = cv_linker_gather(k);
    warnings = k->x.n_warnings;
    if (s == CUVET_OK)
        s = cv_link_complete(&k->link, &k->out, &k->file);
    if (s == CUVET_OK && k->o.warnings_are_errors && k->x.n_warnings != warnings)
        s = CUVET_E_REFUSED;
    if (s != CUVET_OK)
        cv_block_free(&k->x, &k->out); /* nothing is given out */
    k->result = (cuvet_link_result){ .objects = k->link.obj.n,
                                     .functions = k->link.seen.functions,
                                     .kernels = k->link.seen.kernels };
    return s;
}

cuvet_status cuvet_linker_complete(cuvet_ctx *ctx, cuvet_linker h)
{
    cuvet_status s;
    linker *k;

    if (!ctx)
        return CUVET_E_NULL;
    s = cv_linker_use_in(ctx, h, CV_LINKER_COLLECTING, &k);
    if (s != CUVET_OK)
        return s;
    s = complete(k);
    k->state = s == CUVET_OK                     ? CV_LINKER_LINKED
               : CV_NEVER(s == CUVET_E_INTERNAL) ? CV_LINKER_POISONED
                                                 : CV_LINKER_FAILED;
    k->link.reached = k->link.reached && s != CUVET_E_INTERNAL;
    cv_islands_drop();
    return cv_linker_done(ctx, h, s);
}

/* The code that is lent goes where it belongs: its place is there. */
static bool make_whole(linker *k)
{
    cv_slice_pos pos = { 0 };
    uint64_t off = 0;
    cv_span run;

    if (k->whole)
        return true;
    k->whole = true;
    for (; k->whole && cv_slices_next(&k->file, &pos, &run); off += run.len)
        if (cv_block_at(&k->out, off, run.len) != run.base)
            k->whole = cv_block_put(&k->out, off, run);
    return k->whole;
}

cuvet_status cuvet_linker_result(cuvet_ctx *ctx, cuvet_linker h, cuvet_link_result *out)
{
    cuvet_status s;
    linker *k;

    cuvet_link_result result = { 0 };

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(result));
    if (s != CUVET_OK)
        return s;
    s = cv_linker_use_in(ctx, h, CV_LINKER_LINKED, &k);
    if (s == CUVET_OK) {
        if (CV_NEVER(!make_whole(k)))
            s = CUVET_E_INTERNAL;
        result = k->result;
        result.bytes = k->out.mem;
        result.n = (size_t)k->out.span.len;
        s = cv_linker_done(ctx, h, s);
    }
    return cv_opts_give(out, &result, sizeof(result), s);
}

cuvet_status cuvet_linker_save(cuvet_ctx *ctx, cuvet_linker h, int dirfd, const char *name, unsigned flags)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !name)
        return CUVET_E_NULL;
    if (flags & ~(CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC))
        return CUVET_E_USAGE;
    s = cv_linker_use_in(ctx, h, CV_LINKER_LINKED, &k);
    return s == CUVET_OK
               ? cv_linker_done(ctx, h, cv_sink_file(dirfd, name, &k->file, cv_sink_options_of(flags)))
               : s;
}

cuvet_status cuvet_linker_write(cuvet_ctx *ctx, cuvet_linker h, int fd)
{
    cuvet_status s;
    linker *k;

    if (!ctx)
        return CUVET_E_NULL;
    s = cv_linker_use_in(ctx, h, CV_LINKER_LINKED, &k);
    return s == CUVET_OK ? cv_linker_done(ctx, h, cv_sink_fd(fd, &k->file)) : s;
}

static cuvet_status deliver(const linker *k, const cuvet_link_sink *sink)
{
    cv_slice_pos pos = { 0 };
    cv_span run;

    while (cv_slices_next(&k->file, &pos, &run))
        if (run.len > 0 && !sink->write(sink->user, run.base, (size_t)run.len))
            return CUVET_E_CANCELLED;
    return CUVET_OK;
}

cuvet_status cuvet_linker_deliver(cuvet_ctx *ctx, cuvet_linker h, const cuvet_link_sink *sink)
{
    cuvet_link_sink to = { .size = sizeof(to) };
    cuvet_status s;
    linker *k;

    if (!ctx || !sink)
        return CUVET_E_NULL;
    s = cv_opts_take(ctx, sink, &to, sizeof(to));
    if (s == CUVET_OK && !to.write)
        s = CUVET_E_USAGE;
    if (s != CUVET_OK)
        return s;
    s = cv_linker_use_in(ctx, h, CV_LINKER_LINKED, &k);
    return s == CUVET_OK ? cv_linker_done(ctx, h, deliver(k, &to)) : s;
}

cuvet_status cuvet_linker_destroy(cuvet_ctx *ctx, cuvet_linker *h)
{
    cuvet_status s;

    if (!ctx || !h)
        return CUVET_E_NULL;
    s = cv_handle_destroy(ctx, CV_H_LINKER, h->bits);
    if (s == CUVET_OK)
        h->bits = 0;
    return s;
}
