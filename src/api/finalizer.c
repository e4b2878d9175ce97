/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/finalize.h>

#include "api/image.h"
#include "api/opts.h"
#include "cubin/admit.h"
#include "finalize/external.h"
#include "finalize/job.h"
#include "io/sink.h"
#include "io/source.h"

enum { LEVEL_DEFAULT = 2, BACKENDS = 3, TEXT_MOST = 65535 };

/* All that there are. */
#define FLAGS (2 * CUVET_FINALIZE_TOOL_NOTE - 1)

typedef enum state { FRESH, DONE, POISONED } state;

typedef struct finalizer_state {
    cv_ctx ctx;
    cv_final_options opts;
    cv_backend_use backend[BACKENDS];
    cv_final_tool generator;
    cv_block text[3]; /* tool, its version, its command line */
    state state;
    int cancel; /* read atomically */
    cv_block out;
    cuvet_final_result result;
    cuvet_final_claims claims; /* of the last explanation */
    cv_final_job job;          /* of the run at hand: too large for a stack */
} finalizer_state;

static void end_finalizer(cuvet_ctx *ctx, void *body)
{
    finalizer_state *finalizer = body;

    for (size_t i = 0; i < CV_COUNT(finalizer->text); i++)
        cv_block_free(&finalizer->ctx, CV_ARRAY_AT(finalizer->text, i));
    cv_block_free(&finalizer->ctx, &finalizer->out);
    cv_ctx_note_peak(ctx, finalizer->ctx.mem.peak);
}

static cuvet_status done_with(cuvet_ctx *ctx, cuvet_finalizer handle, cuvet_status status)
{
    return cv_handle_done(ctx, handle.bits, status);
}

static cuvet_status use_finalizer(cuvet_ctx *ctx, cuvet_finalizer handle, finalizer_state **out)
{
    void *body = NULL;
    cuvet_status status = cv_handle_get(ctx, CV_H_FINALIZER, handle.bits, &body);

    *out = body;
    return CV_NEVER(status == CUVET_OK && (*out)->state == POISONED)
               ? done_with(ctx, handle, CUVET_E_POISONED)
               : status;
}

/* Bytes of a caller's text, without its NUL; one too many where it is too long. */
CV_BUF_BEGIN
static uint64_t text_size(const char *text)
{
    uint64_t count = 0;

    while (count <= TEXT_MOST && text[count] != 0)
        count++;
    return count;
}

static bool same_text(const char *left, const char *right)
{
    uint64_t i = 0;

    while (left[i] != 0 && left[i] == right[i])
        i++;
    return left[i] == right[i];
}

/* A byte of a note that would end up on somebody's terminal. */
static bool has_control(const char *text)
{
    for (uint64_t i = 0; i < TEXT_MOST && text[i] != 0; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return true;
    return false;
}

static char lower_char(char ch)
{
    return ch >= 'A' && ch <= 'Z' ? (char)(ch + ('a' - 'A')) : ch;
}

static bool is_word(char ch)
{
    return (lower_char(ch) >= 'a' && lower_char(ch) <= 'z') || (ch >= '0' && ch <= '9');
}

/* Does the text begin with this name, behind blanks, in any case, as a word? */
static bool is_named(const char *text, const char *name)
{
    uint64_t i = 0;

    while (*text == ' ')
        text++;
    while (name[i] != 0 && lower_char(text[i]) == name[i])
        i++;
    return name[i] == 0 && !is_word(text[i]);
}
CV_BUF_END

/* A note says who made the file: never one of the vendor's tools. */
static bool is_vendor(const char *text)
{
    static const char *const TOOLS[] = { "nvlink",    "ptxas",     "nvcc",     "nvjitlink", "nvjit",
                                         "fatbinary", "cuobjdump", "nvdisasm", "cicc",      "nvrtc" };

    for (size_t i = 0; i < CV_COUNT(TOOLS); i++)
        if (is_named(text, CV_ARRAY_GET(TOOLS, i)))
            return true;
    return false;
}

static cuvet_status keep_text(finalizer_state *finalizer, cv_block *to, const char *text, cv_span *out)
{
    cuvet_status status;

    if (!text)
        return CUVET_OK;
    if (text_size(text) > TEXT_MOST || has_control(text))
        return CUVET_E_USAGE;
    status = cv_block_copy(&finalizer->ctx, to, cv_span_of(text, text_size(text), 0));
    if (status == CUVET_OK)
        *out = to->span;
    return status;
}

static cuvet_status choose_backends(cuvet_ctx *ctx, finalizer_state *finalizer,
                                    const cuvet_finalize_options *opt)
{
    const cv_backend_use all[BACKENDS] = { { &cv_backend_copy, NULL },
                                           { &cv_backend_strip, NULL },
                                           { &cv_backend_external, &finalizer->generator } };
    cuvet_compiler generator = { 0 };
    cuvet_status status = CUVET_OK;
    size_t count = 0;

    if (opt->generator)
        status = cv_opts_compiler(ctx, opt->generator, &generator);
    if (status != CUVET_OK)
        return status;
    if (opt->generator)
        finalizer->generator = (cv_final_tool){ generator, opt->generator_log, opt->generator_user };
    for (size_t i = 0; i < (opt->generator ? BACKENDS : BACKENDS - 1u); i++)
        if (!opt->backend || same_text(opt->backend, CV_ARRAY_GET(all, i).backend->name))
            CV_ARRAY_SET(finalizer->backend, count++, CV_ARRAY_GET(all, i));
    finalizer->opts.backend = finalizer->backend;
    finalizer->opts.n_backends = count;
    return count ? CUVET_OK : CUVET_E_USAGE;
}

static cuvet_status configure_finalizer(cuvet_ctx *ctx, finalizer_state *finalizer,
                                        const cuvet_finalize_options *opt)
{
    const bool note = (opt->flags & CUVET_FINALIZE_TOOL_NOTE) != 0;
    cuvet_status status;

    if ((unsigned)opt->policy > CUVET_ARCH_EXACT || (unsigned)opt->phase > CUVET_FINAL_POSTLINK ||
        (unsigned)opt->kind > CUVET_FORM_SASS || opt->max_level > CV_FINAL_LEVEL_MOST ||
        (opt->flags & ~FLAGS))
        return CUVET_E_USAGE;
    finalizer->opts = (cv_final_options){ .target_sm = opt->target.sm,
                                          .target_suffix = opt->target.suffix,
                                          .kind = (cv_kind)opt->kind,
                                          .phase = (cv_final_phase)opt->phase,
                                          .fastpath_off = (opt->flags & CUVET_FINALIZE_NO_FASTPATH) != 0,
                                          .self_check = (opt->flags & CUVET_FINALIZE_SELF_CHECK) != 0,
                                          .level_most = opt->max_level ? opt->max_level : LEVEL_DEFAULT,
                                          .exact = opt->policy == CUVET_ARCH_EXACT,
                                          .max_output = opt->max_output,
                                          .trace = opt->trace,
                                          .trace_user = opt->trace_user,
                                          .cancel = &finalizer->cancel };
    status = choose_backends(ctx, finalizer, opt);
    /* A note of nobody would be none, and nothing would say so. */
    if (status == CUVET_OK && note && opt->tool && (opt->tool[0] == 0 || is_vendor(opt->tool)))
        status = CUVET_E_USAGE;
    if (status == CUVET_OK && note)
        status = keep_text(finalizer, CV_ARRAY_AT(finalizer->text, 0), opt->tool ? opt->tool : "cuvet",
                           &finalizer->opts.tool);
    if (status == CUVET_OK && note)
        status = keep_text(finalizer, CV_ARRAY_AT(finalizer->text, 1),
                           opt->tool_version ? opt->tool_version : CV_VERSION, &finalizer->opts.tool_version);
    if (status == CUVET_OK && note)
        status = keep_text(finalizer, CV_ARRAY_AT(finalizer->text, 2), opt->tool_command,
                           &finalizer->opts.tool_command);
    cv_random(finalizer->opts.key, sizeof(finalizer->opts.key));
    return status;
}

static cuvet_status begin_finalizer(cuvet_ctx *ctx, void *body, const void *opt)
{
    finalizer_state *finalizer = body;

    cv_ctx_derive(ctx, &finalizer->ctx);
    finalizer->ctx.cancel = &finalizer->cancel;
    return configure_finalizer(ctx, finalizer, opt);
}

cuvet_status cuvet_finalizer_create(cuvet_ctx *ctx, const cuvet_finalize_options *opt, cuvet_finalizer *out)
{
    static const cv_handle_class FINALIZER = { CV_H_FINALIZER, sizeof(finalizer_state), begin_finalizer,
                                               end_finalizer };
    cuvet_finalize_options options = { .size = sizeof(options) };
    cuvet_status status;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !opt)
        return CUVET_E_NULL;
    status = cv_opts_take(ctx, opt, &options, sizeof(options));
    return status == CUVET_OK ? cv_handle_create(ctx, &FINALIZER, &options, &out->bits) : status;
}

static cv_final_job *begin_job(finalizer_state *finalizer, size_t count)
{
    finalizer->job = (cv_final_job){ .ctx = &finalizer->ctx, .options = &finalizer->opts };
    cv_ctx_unit(&finalizer->ctx, cv_sat_mul(count, 4)); /* read, written, read again and compared */
    cv_path_push(&finalizer->ctx, CUVET_P_ELF, false, 0);
    return &finalizer->job;
}

static cuvet_target source_of(const cv_final_job *job)
{
    return (cuvet_target){ job->cubin.sm, job->cubin.sm ? cv_admit_suffix(&job->cubin) : 0 };
}

static cuvet_target target_of(const cv_final_job *job)
{
    uint32_t sm = job->dst_sm ? job->dst_sm : job->options->target_sm;

    /* A file that was refused before the question came up: that of the file is kept if none is named. */
    return (cuvet_target){ sm ? sm : job->cubin.sm, job->options->target_suffix };
}

static cuvet_form form_of(const cv_final_job *job)
{
    return (cuvet_form)(job->out_kind        ? job->out_kind
                        : job->options->kind ? job->options->kind
                                             : job->in_kind);
}

static cuvet_status check_size(finalizer_state *finalizer, size_t count, cv_final *code)
{
    if (count <= finalizer->ctx.lim.input)
        return CUVET_OK;
    *code = CV_FINAL_LIMIT;
    return cv_reject(&finalizer->ctx, CV_R_LIMIT_INPUT, 0, count, finalizer->ctx.lim.input);
}

static cuvet_status finalize_input(finalizer_state *finalizer, const void *bytes, size_t size,
                                   const char *name)
{
    cv_final_job *job = begin_job(finalizer, size);
    cv_final code = CV_FINAL_OK;
    cuvet_status status;

    cv_block_free(&finalizer->ctx, &finalizer->out);
    status = check_size(finalizer, size, &code);
    if (status == CUVET_OK) {
        status = cv_final_run(job, &finalizer->ctx, &finalizer->opts, cv_span_of(bytes, size, 0), name,
                              &finalizer->out);
        code = job->code;
    }
    if (status != CUVET_OK && code == CV_FINAL_CANCELLED)
        status = CUVET_E_CANCELLED;
    finalizer->result = (cuvet_final_result){ .code = (cuvet_final_code)code,
                                              .text = cv_final_text(code),
                                              .from = (cuvet_form)job->in_kind,
                                              .to = form_of(job),
                                              .source = source_of(job),
                                              .target = target_of(job),
                                              .backend = job->use.backend ? job->use.backend->name : NULL };
    if (status == CUVET_OK) {
        finalizer->result.bytes = finalizer->out.mem;
        finalizer->result.n = (size_t)finalizer->out.span.len;
    }
    cv_final_end(job);
    cv_islands_drop();
    finalizer->state = CV_NEVER(status == CUVET_E_INTERNAL) ? POISONED : DONE;
    return status;
}

cuvet_status cuvet_finalizer_run(cuvet_ctx *ctx, cuvet_finalizer handle, const void *bytes, size_t size,
                                 const char *name)
{
    cuvet_status status;
    finalizer_state *finalizer;

    if (!ctx || !bytes)
        return CUVET_E_NULL;
    status = use_finalizer(ctx, handle, &finalizer);
    return status == CUVET_OK ? done_with(ctx, handle, finalize_input(finalizer, bytes, size, name)) : status;
}

/* A source is read whole, and its bytes are kept no longer than the run takes. */
static cuvet_status finalize_source(finalizer_state *finalizer, const cuvet_source *src, const char *name)
{
    const bool fits = src->length <= finalizer->ctx.lim.input; /* otherwise the run says so */
    cv_block bytes = { 0 };
    cuvet_status status = CUVET_OK;

    if (fits)
        status = cv_block_load(&finalizer->ctx, &bytes, src, 0, src->length);
    if (status == CUVET_OK)
        status = finalize_input(finalizer, bytes.span.base, (size_t)cv_min(src->length, SIZE_MAX), name);
    else
        finalizer->state = FRESH; /* a result before is gone, and there is no new one */
    cv_block_free(&finalizer->ctx, &bytes);
    return status;
}

cuvet_status cuvet_finalizer_run_source(cuvet_ctx *ctx, cuvet_finalizer handle, const cuvet_source *src,
                                        const char *name)
{
    cuvet_source from = { 0 };
    cuvet_status status;
    finalizer_state *finalizer;

    if (!ctx || !src)
        return CUVET_E_NULL;
    status = cv_opts_source(ctx, src, &from);
    if (status == CUVET_OK)
        status = use_finalizer(ctx, handle, &finalizer);
    return status == CUVET_OK ? done_with(ctx, handle, finalize_source(finalizer, &from, name)) : status;
}

cuvet_status cuvet_finalizer_get_result(cuvet_ctx *ctx, cuvet_finalizer handle, cuvet_final_result *out)
{
    cuvet_final_result result = { 0 };
    cuvet_status status;
    finalizer_state *finalizer;

    if (!ctx || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(result));
    if (status != CUVET_OK)
        return status;
    status = use_finalizer(ctx, handle, &finalizer);
    if (status == CUVET_OK) {
        result = finalizer->result;
        status = done_with(ctx, handle, finalizer->state == DONE ? CUVET_OK : CUVET_E_STATE);
    }
    return cv_opts_give(out, &result, sizeof(result), status);
}

static cuvet_status make_image(cuvet_ctx *ctx, void *body, cuvet_image *image)
{
    const finalizer_state *finalizer = body;
    const cuvet_final_result *result = &finalizer->result;
    const cuvet_image_info info = { .bytes = result->bytes,
                                    .n = result->n,
                                    .kind = result->to == CUVET_FORM_SASS ? CUVET_K_CUBIN : CUVET_K_MERCURY,
                                    .target = result->target };

    if (CV_NEVER(finalizer->state == POISONED))
        return CUVET_E_POISONED;
    return finalizer->state == DONE && result->bytes ? cv_image_make(ctx, &info, image) : CUVET_E_STATE;
}

cuvet_status cuvet_finalizer_get_image(cuvet_ctx *ctx, cuvet_finalizer handle, cuvet_image *out)
{
    return cv_image_of(ctx, CV_H_FINALIZER, handle.bits, make_image, out);
}

static cuvet_status save_result(finalizer_state *finalizer, int dirfd, const char *name, cv_sink_options opt)
{
    cv_slices out = { 0 };
    cuvet_status status;

    if (finalizer->state != DONE || !finalizer->result.bytes)
        return CUVET_E_STATE;
    cv_slices_borrow(&finalizer->ctx.mem, &out, finalizer->out.span);
    status = out.failed ? cv_nomem(&finalizer->ctx, 0) : cv_sink_file(dirfd, name, &out, opt);
    cv_slices_free(&finalizer->ctx.mem, &out);
    return status;
}

cuvet_status cuvet_finalizer_save(cuvet_ctx *ctx, cuvet_finalizer handle, int dirfd, const char *name,
                                  unsigned flags)
{
    cuvet_status status;
    finalizer_state *finalizer;

    if (!ctx || !name)
        return CUVET_E_NULL;
    if (flags & ~(CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC))
        return CUVET_E_USAGE;
    status = use_finalizer(ctx, handle, &finalizer);
    return status == CUVET_OK
               ? done_with(ctx, handle, save_result(finalizer, dirfd, name, cv_sink_options_of(flags)))
               : status;
}

static cuvet_final_claims claims_of(const cv_cubin *cubin)
{
    const cv_compat *compat = &cubin->claims;
    bool mask = cv_compat_has(compat, CV_COMPAT_CAN_FASTPATH_FINALIZE);

    return (cuvet_final_claims){ .size = sizeof(cuvet_final_claims),
                                 .isa = compat->isa,
                                 .level = compat->level,
                                 .flags = (compat->accel ? CUVET_CLAIMS_ACCEL : 0) |
                                          (mask ? CUVET_CLAIMS_MASK : 0),
                                 .mask = compat->fastpath };
}

static cuvet_status explain_input(finalizer_state *finalizer, const void *bytes, size_t size,
                                  cuvet_final_explanation *out)
{
    cv_final_job *job = begin_job(finalizer, size);
    cv_final code = CV_FINAL_OK;
    const cv_compat *claims;
    cuvet_status status;
    bool level;

    status = check_size(finalizer, size, &code);
    if (status == CUVET_OK) {
        status = cv_final_explain(job, &finalizer->ctx, &finalizer->opts, cv_span_of(bytes, size, 0), NULL);
        code = job->code;
    }
    claims = job->cubin.compat.len ? &job->cubin.claims : NULL;
    finalizer->claims = claims_of(&job->cubin);
    *out = (cuvet_final_explanation){ .code = (cuvet_final_code)code,
                                      .text = cv_final_text(code),
                                      .from = (cuvet_form)job->in_kind,
                                      .to = form_of(job),
                                      .source = source_of(job),
                                      .target = target_of(job),
                                      .claims = claims ? &finalizer->claims : NULL,
                                      .flags = job->linked ? CUVET_EXPLAIN_LINKED : 0,
                                      .capsules = job->n_capsules,
                                      .backend = job->use.backend ? job->use.backend->name : NULL };
    out->can = (cuvet_final_code)cv_can_finalize_most(claims, out->source.sm, out->target.sm,
                                                      finalizer->opts.level_most, &level);
    /* An input without a source target is said nothing about. */
    if (out->source.sm != 0 && cv_can_fastpath(claims, out->source.sm, out->target.sm, true))
        out->flags |= CUVET_EXPLAIN_RUNS | (finalizer->opts.fastpath_off ? 0 : CUVET_EXPLAIN_FASTPATH);
    cv_final_end(job);
    cv_islands_drop();
    finalizer->state = CV_NEVER(status == CUVET_E_INTERNAL) ? POISONED : finalizer->state;
    return status;
}

cuvet_status cuvet_finalizer_explain(cuvet_ctx *ctx, cuvet_finalizer handle, const void *bytes, size_t size,
                                     cuvet_final_explanation *out)
{
    cuvet_final_explanation told = { 0 };
    cuvet_status status;
    finalizer_state *finalizer;

    if (!ctx || !bytes || !out)
        return CUVET_E_NULL;
    status = cv_opts_room(ctx, out, sizeof(told));
    if (status != CUVET_OK)
        return status;
    status = use_finalizer(ctx, handle, &finalizer);
    if (status == CUVET_OK)
        status = done_with(ctx, handle, explain_input(finalizer, bytes, size, &told));
    if (status == CUVET_E_STALE_HANDLE)
        told = (cuvet_final_explanation){ 0 }; /* what it points to is gone */
    cv_sized_fill(out, &told, sizeof(told));   /* as far as it went */
    return status;
}

static void cancel_finalizer(void *body)
{
    __atomic_store_n(&((finalizer_state *)body)->cancel, 1, __ATOMIC_RELAXED);
}

cuvet_status cuvet_finalizer_cancel(cuvet_ctx *ctx, cuvet_finalizer handle)
{
    return ctx ? cv_handle_signal(ctx, CV_H_FINALIZER, handle.bits, cancel_finalizer) : CUVET_E_NULL;
}

cuvet_status cuvet_finalizer_destroy(cuvet_ctx *ctx, cuvet_finalizer *finalizer)
{
    return cv_handle_close(ctx, CV_H_FINALIZER, finalizer ? &finalizer->bits : NULL);
}

/* False: there are none, or they are of no possible size. */
static bool to_compat(const cuvet_final_claims *given, cv_compat *compat)
{
    cuvet_final_claims claims = { .size = sizeof(claims) };

    *compat = (cv_compat){ 0 };
    if (!given || !cv_sized_take(given, &claims, sizeof(claims)))
        return false;
    compat->isa = claims.isa;
    compat->level = claims.level;
    compat->accel = (claims.flags & CUVET_CLAIMS_ACCEL) != 0;
    compat->has =
        (claims.flags & CUVET_CLAIMS_MASK) != 0 ? UINT32_C(1) << CV_COMPAT_CAN_FASTPATH_FINALIZE : 0;
    compat->fastpath = claims.mask;
    return true;
}

/* What both questions begin with. */
static cuvet_final_code ask_claims(const cuvet_final_claims *claims, cuvet_target source, cuvet_target target,
                                   cv_compat *compat, bool *known)
{
    *known = to_compat(claims, compat);
    if (claims && !*known)
        return CUVET_FINAL_CONFLICT;
    return cv_arch_known(source) && cv_arch_known(target) ? CUVET_FINAL_OK : CUVET_FINAL_SM;
}

cuvet_final_code cuvet_can_finalize(const cuvet_final_claims *claims, cuvet_target source,
                                    cuvet_target target, uint8_t max_level)
{
    bool level, known;
    cv_compat compat;
    cuvet_final_code code = ask_claims(claims, source, target, &compat, &known);

    if (code != CUVET_FINAL_OK)
        return code;
    return (cuvet_final_code)cv_can_finalize_most(known ? &compat : NULL, source.sm, target.sm, max_level,
                                                  &level);
}

cuvet_final_code cuvet_can_fastpath(const cuvet_final_claims *claims, cuvet_target source,
                                    cuvet_target target)
{
    bool known;
    cv_compat compat;
    cuvet_final_code code = ask_claims(claims, source, target, &compat, &known);

    if (code != CUVET_FINAL_OK)
        return code;
    return cv_can_fastpath(known ? &compat : NULL, source.sm, target.sm, true) ? CUVET_FINAL_OK
                                                                               : CUVET_FINAL_INCOMPATIBLE;
}

/* The numbers of the public header are those of spec/finalize.def. */
#define FINAL(number, name, text) _Static_assert(CUVET_FINAL_##name == (number), "code of " #name);
#include "finalize.def"
#undef FINAL

const char *cuvet_final_text(cuvet_final_code code)
{
    return cv_final_text((cv_final)code);
}

const char *cuvet_form_name(cuvet_form form)
{
    switch (form) {
    case CUVET_FORM_MERCURY: return "mercury";
    case CUVET_FORM_CAPMERC: return "capmerc";
    case CUVET_FORM_SASS: return "sass";
    case CUVET_FORM_SAME: break;
    }
    return "?";
}
