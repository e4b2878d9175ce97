/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/finalize.h>

#include "api/opts.h"
#include "cubin/admit.h"
#include "finalize/external.h"
#include "finalize/job.h"
#include "io/sink.h"

enum { LEVEL_DEFAULT = 2, LEVEL_MOST = 4, BACKENDS = 3, TEXT_MOST = 65535 };

/* All that there are. */
#define FLAGS (2 * CUVET_FINALIZE_TOOL_NOTE - 1)

typedef enum state { FRESH, DONE, POISONED } state;

typedef struct finalizer {
    cv_ctx x;
    cv_final_options o;
    cv_backend_use backend[BACKENDS];
    cv_final_tool generator;
    cv_block text[3]; /* tool, its version, its command line */
    state state;
    bool cancel; /* read atomically */
    cv_block out;
    cuvet_final_result result;
    cuvet_final_claims claims; /* of the last explanation */
    cv_final_job job;          /* of the run at hand: too large for a stack */
} finalizer;

static void end_finalizer(cuvet_ctx *ctx, void *body)
{
    finalizer *k = body;

    for (size_t i = 0; i < CV_COUNT(k->text); i++)
        cv_block_free(&k->x, CV_ARRAY_AT(k->text, i));
    cv_block_free(&k->x, &k->out);
    cv_ctx_note_peak(ctx, k->x.mem.peak);
}

static cuvet_status done(cuvet_ctx *ctx, cuvet_finalizer h, cuvet_status s)
{
    return cv_handle_done(ctx, h.bits, s);
}

static cuvet_status use(cuvet_ctx *ctx, cuvet_finalizer h, finalizer **k)
{
    void *body = NULL;
    cuvet_status s = cv_handle_get(ctx, CV_H_FINALIZER, h.bits, &body);

    *k = body;
    return CV_NEVER(s == CUVET_OK && (*k)->state == POISONED) ? done(ctx, h, CUVET_E_POISONED) : s;
}

/* Bytes of a caller's text, without its NUL; one too many where it is too long. */
CV_BUF_BEGIN
static uint64_t text_size(const char *text)
{
    uint64_t n = 0;

    while (n <= TEXT_MOST && text[n] != 0)
        n++;
    return n;
}

static bool same_text(const char *a, const char *b)
{
    uint64_t i = 0;

    while (a[i] != 0 && a[i] == b[i])
        i++;
    return a[i] == b[i];
}

/* A byte of a note that would end up on somebody's terminal. */
static bool has_control(const char *text)
{
    for (uint64_t i = 0; i < TEXT_MOST && text[i] != 0; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return true;
    return false;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_word(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

/* Does the text begin with this name, behind blanks, in any case, as a word? */
static bool is_named(const char *text, const char *name)
{
    uint64_t i = 0;

    while (*text == ' ')
        text++;
    while (name[i] != 0 && lower(text[i]) == name[i])
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

static cuvet_status keep_text(finalizer *k, cv_block *to, const char *text, cv_span *out)
{
    cuvet_status s;

    if (!text)
        return CUVET_OK;
    if (text_size(text) > TEXT_MOST || has_control(text))
        return CUVET_E_USAGE;
    s = cv_block_copy(&k->x, to, cv_span_of(text, text_size(text), 0));
    if (s == CUVET_OK)
        *out = to->span;
    return s;
}

static cuvet_status choose_backends(cuvet_ctx *ctx, finalizer *k, const cuvet_finalize_options *opt)
{
    const cv_backend_use all[BACKENDS] = { { &cv_backend_copy, NULL },
                                           { &cv_backend_strip, NULL },
                                           { &cv_backend_external, &k->generator } };
    cuvet_compiler generator = { 0 };
    cuvet_status s = CUVET_OK;
    size_t n = 0;

    if (opt->generator)
        s = cv_opts_compiler(ctx, opt->generator, &generator);
    if (s != CUVET_OK)
        return s;
    if (opt->generator)
        k->generator = (cv_final_tool){ generator, opt->generator_log, opt->generator_user };
    for (size_t i = 0; i < (opt->generator ? BACKENDS : BACKENDS - 1u); i++)
        if (!opt->backend || same_text(opt->backend, CV_ARRAY_GET(all, i).backend->name))
            CV_ARRAY_SET(k->backend, n++, CV_ARRAY_GET(all, i));
    k->o.backend = k->backend;
    k->o.n_backends = n;
    return n ? CUVET_OK : CUVET_E_USAGE;
}

static cuvet_status configure(cuvet_ctx *ctx, finalizer *k, const cuvet_finalize_options *opt)
{
    const bool note = (opt->flags & CUVET_FINALIZE_TOOL_NOTE) != 0;
    cuvet_status s;

    if ((unsigned)opt->policy > CUVET_ARCH_EXACT || (unsigned)opt->phase > CUVET_FINAL_POSTLINK ||
        (unsigned)opt->kind > CUVET_FORM_SASS || opt->max_level > LEVEL_MOST || (opt->flags & ~FLAGS))
        return CUVET_E_USAGE;
    k->o = (cv_final_options){ .target_sm = opt->target.sm,
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
                               .cancel = &k->cancel };
    s = choose_backends(ctx, k, opt);
    /* A note of nobody would be none, and nothing would say so. */
    if (s == CUVET_OK && note && opt->tool && (opt->tool[0] == 0 || is_vendor(opt->tool)))
        s = CUVET_E_USAGE;
    if (s == CUVET_OK && note)
        s = keep_text(k, CV_ARRAY_AT(k->text, 0), opt->tool ? opt->tool : "cuvet", &k->o.tool);
    if (s == CUVET_OK && note)
        s = keep_text(k, CV_ARRAY_AT(k->text, 1), opt->tool_version ? opt->tool_version : CV_VERSION,
                      &k->o.tool_version);
    if (s == CUVET_OK && note)
        s = keep_text(k, CV_ARRAY_AT(k->text, 2), opt->tool_command, &k->o.tool_command);
    cv_random(k->o.key, sizeof(k->o.key));
    return s;
}

static cuvet_status begin_finalizer(cuvet_ctx *ctx, void *body, const void *opt)
{
    finalizer *k = body;

    cv_ctx_lend(ctx, &k->x);
    k->x.cancel = &k->cancel;
    return configure(ctx, k, opt);
}

cuvet_status cuvet_finalizer_create(cuvet_ctx *ctx, const cuvet_finalize_options *opt, cuvet_finalizer *out)
{
    static const cv_handle_class FINALIZER = { CV_H_FINALIZER, sizeof(finalizer), begin_finalizer,
                                               end_finalizer };
    cuvet_finalize_options o = { .size = sizeof(o) };
    cuvet_status s;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !opt)
        return CUVET_E_NULL;
    s = cv_opts_take(ctx, opt, &o, sizeof(o));
    return s == CUVET_OK ? cv_handle_create(ctx, &FINALIZER, &o, &out->bits) : s;
}

static cv_final_job *begin(finalizer *k, size_t n)
{
    k->job = (cv_final_job){ .ctx = &k->x, .options = &k->o };
    cv_ctx_unit(&k->x, cv_sat_mul(n, 4)); /* read, written, read again and compared */
    cv_path_push(&k->x, CUVET_P_ELF, false, 0);
    return &k->job;
}

static cuvet_target source_of(const cv_final_job *j)
{
    return (cuvet_target){ j->cubin.sm, j->cubin.sm ? cv_admit_suffix(&j->cubin) : 0 };
}

static cuvet_target target_of(const cv_final_job *j)
{
    uint32_t sm = j->dst_sm ? j->dst_sm : j->options->target_sm;

    /* A file that was refused before the question came up: that of the file is kept if none is named. */
    return (cuvet_target){ sm ? sm : j->cubin.sm, j->options->target_suffix };
}

static cuvet_form form_of(const cv_final_job *j)
{
    return (cuvet_form)(j->out_kind ? j->out_kind : j->options->kind ? j->options->kind : j->in_kind);
}

static cuvet_status check_size(finalizer *k, size_t n, cv_final *code)
{
    if (n <= k->x.lim.input)
        return CUVET_OK;
    *code = CV_FINAL_LIMIT;
    return cv_reject(&k->x, CV_R_LIMIT_INPUT, 0, n, k->x.lim.input);
}

static cuvet_status finalize(finalizer *k, const void *bytes, size_t n, const char *name)
{
    cv_final_job *j = begin(k, n);
    cv_final code = CV_FINAL_OK;
    cuvet_status s;

    cv_block_free(&k->x, &k->out);
    s = check_size(k, n, &code);
    if (s == CUVET_OK) {
        s = cv_final_run(j, &k->x, &k->o, cv_span_of(bytes, n, 0), name, &k->out);
        code = j->code;
    }
    if (s != CUVET_OK && code == CV_FINAL_CANCELLED)
        s = CUVET_E_CANCELLED;
    k->result = (cuvet_final_result){ .code = (cuvet_final_code)code,
                                      .text = cv_final_text(code),
                                      .from = (cuvet_form)j->in_kind,
                                      .to = form_of(j),
                                      .source = source_of(j),
                                      .target = target_of(j),
                                      .backend = j->use.backend ? j->use.backend->name : NULL };
    if (s == CUVET_OK) {
        k->result.bytes = k->out.mem;
        k->result.n = (size_t)k->out.span.len;
    }
    cv_final_end(j);
    cv_islands_drop();
    k->state = CV_NEVER(s == CUVET_E_INTERNAL) ? POISONED : DONE;
    return s;
}

cuvet_status cuvet_finalizer_run(cuvet_ctx *ctx, cuvet_finalizer h, const void *bytes, size_t n,
                                 const char *name)
{
    cuvet_status s;
    finalizer *k;

    if (!ctx || !bytes)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    return s == CUVET_OK ? done(ctx, h, finalize(k, bytes, n, name)) : s;
}

cuvet_status cuvet_finalizer_get_result(cuvet_ctx *ctx, cuvet_finalizer h, cuvet_final_result *out)
{
    cuvet_final_result result = { 0 };
    cuvet_status s;
    finalizer *k;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(result));
    if (s != CUVET_OK)
        return s;
    s = use(ctx, h, &k);
    if (s == CUVET_OK) {
        result = k->result;
        s = done(ctx, h, k->state == DONE ? CUVET_OK : CUVET_E_STATE);
    }
    return cv_opts_give(out, &result, sizeof(result), s);
}

static cuvet_status save(finalizer *k, int dirfd, const char *name, cv_sink_options opt)
{
    cv_slices out = { 0 };
    cuvet_status s;

    if (k->state != DONE || !k->result.bytes)
        return CUVET_E_STATE;
    cv_slices_borrow(&k->x.mem, &out, k->out.span);
    s = out.failed ? cv_nomem(&k->x, 0) : cv_sink_file(dirfd, name, &out, opt);
    cv_slices_free(&k->x.mem, &out);
    return s;
}

cuvet_status cuvet_finalizer_save(cuvet_ctx *ctx, cuvet_finalizer h, int dirfd, const char *name,
                                  unsigned flags)
{
    cuvet_status s;
    finalizer *k;

    if (!ctx || !name)
        return CUVET_E_NULL;
    if (flags & ~(CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC))
        return CUVET_E_USAGE;
    s = use(ctx, h, &k);
    return s == CUVET_OK ? done(ctx, h, save(k, dirfd, name, cv_sink_options_of(flags))) : s;
}

static cuvet_final_claims claims_of(const cv_cubin *c)
{
    const cv_compat *k = &c->claims;

    return (cuvet_final_claims){ .size = sizeof(cuvet_final_claims),
                                 .isa = k->isa,
                                 .level = k->level,
                                 .accel = k->accel != 0,
                                 .has_mask = cv_compat_has(k, CV_COMPAT_CAN_FASTPATH_FINALIZE),
                                 .mask = k->fastpath };
}

static cuvet_status explain(finalizer *k, const void *bytes, size_t n, cuvet_final_explanation *out)
{
    cv_final_job *j = begin(k, n);
    cv_final code = CV_FINAL_OK;
    const cv_compat *claims;
    cuvet_status s;
    bool level;

    s = check_size(k, n, &code);
    if (s == CUVET_OK) {
        s = cv_final_explain(j, &k->x, &k->o, cv_span_of(bytes, n, 0), NULL);
        code = j->code;
    }
    claims = j->cubin.compat.len ? &j->cubin.claims : NULL;
    k->claims = claims_of(&j->cubin);
    *out = (cuvet_final_explanation){ .code = (cuvet_final_code)code,
                                      .text = cv_final_text(code),
                                      .from = (cuvet_form)j->in_kind,
                                      .to = form_of(j),
                                      .source = source_of(j),
                                      .target = target_of(j),
                                      .claims = claims ? &k->claims : NULL,
                                      .linked = j->linked,
                                      .capsules = j->n_capsules,
                                      .backend = j->use.backend ? j->use.backend->name : NULL };
    out->can = (cuvet_final_code)cv_can_finalize_most(claims, out->source.sm, out->target.sm, k->o.level_most,
                                                      &level);
    /* An input without a source target is said nothing about. */
    out->fastpath =
        out->source.sm != 0 && cv_can_fastpath(claims, out->source.sm, out->target.sm, !k->o.fastpath_off);
    cv_final_end(j);
    cv_islands_drop();
    k->state = CV_NEVER(s == CUVET_E_INTERNAL) ? POISONED : k->state;
    return s;
}

cuvet_status cuvet_finalizer_explain(cuvet_ctx *ctx, cuvet_finalizer h, const void *bytes, size_t n,
                                     cuvet_final_explanation *out)
{
    cuvet_final_explanation told = { 0 };
    cuvet_status s;
    finalizer *k;

    if (!ctx || !bytes || !out)
        return CUVET_E_NULL;
    s = cv_opts_room(ctx, out, sizeof(told));
    if (s != CUVET_OK)
        return s;
    s = use(ctx, h, &k);
    if (s == CUVET_OK)
        s = done(ctx, h, explain(k, bytes, n, &told));
    if (s == CUVET_E_STALE_HANDLE)
        told = (cuvet_final_explanation){ 0 }; /* what it points to is gone */
    cv_sized_fill(out, &told, sizeof(told));   /* as far as it went */
    return s;
}

static void cancel(void *body)
{
    __atomic_store_n(&((finalizer *)body)->cancel, true, __ATOMIC_RELAXED);
}

cuvet_status cuvet_finalizer_cancel(cuvet_ctx *ctx, cuvet_finalizer h)
{
    return ctx ? cv_handle_signal(ctx, CV_H_FINALIZER, h.bits, cancel) : CUVET_E_NULL;
}

cuvet_status cuvet_finalizer_destroy(cuvet_ctx *ctx, cuvet_finalizer *f)
{
    cuvet_status s;

    if (!ctx || !f)
        return CUVET_E_NULL;
    s = cv_handle_destroy(ctx, CV_H_FINALIZER, f->bits);
    if (s == CUVET_OK)
        f->bits = 0;
    return s;
}

/* False: there are none, or they are of no possible size. */
static bool to_compat(const cuvet_final_claims *given, cv_compat *k)
{
    cuvet_final_claims c = { .size = sizeof(c) };

    *k = (cv_compat){ 0 };
    if (!given || !cv_sized_take(given, &c, sizeof(c)))
        return false;
    k->isa = c.isa;
    k->level = c.level;
    k->accel = c.accel;
    k->has = c.has_mask ? UINT32_C(1) << CV_COMPAT_CAN_FASTPATH_FINALIZE : 0;
    k->fastpath = c.mask;
    return true;
}

cuvet_final_code cuvet_can_finalize(const cuvet_final_claims *claims, uint32_t src, uint32_t dst,
                                    uint8_t max_level)
{
    bool level, known;
    cv_compat k;

    known = to_compat(claims, &k);
    if (claims && !known)
        return CUVET_FINAL_CONFLICT;
    return (cuvet_final_code)cv_can_finalize_most(known ? &k : NULL, src, dst, max_level, &level);
}

bool cuvet_can_fastpath(const cuvet_final_claims *claims, uint32_t src, uint32_t dst, bool allowed)
{
    cv_compat k;
    bool known = to_compat(claims, &k);

    return cv_can_fastpath(known ? &k : NULL, src, dst, allowed);
}

/* The numbers of the public header are those of spec/finalize.def. */
#define FINAL(number, name, text) _Static_assert(CUVET_FINAL_##name == (number), "code of " #name);
#include "finalize.def"
#undef FINAL

const char *cuvet_final_text(cuvet_final_code code)
{
    return cv_final_text((cv_final)code);
}

const char *cuvet_form_name(cuvet_form k)
{
    switch (k) {
    case CUVET_FORM_MERCURY: return "mercury";
    case CUVET_FORM_CAPMERC: return "capmerc";
    case CUVET_FORM_SASS: return "sass";
    case CUVET_FORM_SAME: break;
    }
    return "?";
}
