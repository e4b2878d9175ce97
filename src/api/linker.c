/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/linker.h>

#include <string.h>
#include <sys/random.h>

#include "api/ctx.h"
#include "io/sink.h"
#include "link/callgraph.h"
#include "link/run.h"
#include "model/admit.h"
#include "model/classify.h"

/* An input as it was given: ours, because the link reads it again, and works in it. */
typedef struct input {
    cv_block bytes;
    cv_block name;
    cv_id host;   /* host object that it comes from, CV_NONE: none */
    bool library; /* of a system library */
} input;

CV_VEC(inputs, input);
CV_VEC(modules, cv_block);

typedef enum state { COLLECTING, LINKED, FAILED, POISONED } state;

typedef struct linker {
    cv_ctx x;
    cv_link_options o;
    inputs input;
    cv_link link;
    cv_islands islands; /* that the pictures of the inputs refer to */
    cv_hosts hosts;
    bool host_info, library; /* library: the file at hand is one of the system's */
    modules module;          /* names of those that took part, terminated */
    cv_cubin picture;        /* of what is judged */
    bool begun;
    state state;
    cv_block out;   /* the result but for the code that is lent from the inputs … */
    bool whole;     /* … or all of it */
    cv_slices file; /* all of it */
    cuvet_link_result result;
} linker;

static void end_linker(cuvet_ctx *ctx, void *body)
{
    linker *k = body;

    cv_link_end(&k->link);
    cv_islands_free(&k->islands);
    cv_slices_free(&k->x.mem, &k->file);
    for (uint64_t i = 0; i < k->input.n; i++) {
        cv_block_free(&k->x, &inputs_at(&k->input, i)->bytes);
        cv_block_free(&k->x, &inputs_at(&k->input, i)->name);
    }
    inputs_free(&k->x.mem, &k->input);
    cv_hosts_free(&k->x.mem, &k->hosts);
    for (uint64_t i = 0; i < k->module.n; i++)
        cv_block_free(&k->x, modules_at(&k->module, i));
    modules_free(&k->x.mem, &k->module);
    cv_block_free(&k->x, &k->out);
    cv_ctx_note_peak(ctx, k->x.mem.peak);
}

static cuvet_status done(cuvet_ctx *ctx, cuvet_linker h, cuvet_status s)
{
    return cv_handle_put_alive(ctx, h.bits) ? s : CUVET_E_STALE_HANDLE;
}

static cuvet_status use(cuvet_ctx *ctx, cuvet_linker h, linker **k)
{
    void *body = NULL;
    cuvet_status s = cv_handle_get(ctx, CV_H_LINKER, h.bits, &body);

    *k = body;
    return CV_NEVER(s == CUVET_OK && (*k)->state == POISONED) ? done(ctx, h, CUVET_E_POISONED) : s;
}

static cuvet_status configure(linker *k, const cuvet_linker_options *opt)
{
    if (opt->size != sizeof(*opt) || (unsigned)opt->policy > CUVET_ARCH_EXACT || opt->toolkit > UINT16_MAX ||
        (opt->n_kernels_used && !opt->kernels_used) || (opt->exact_relocatable && !opt->relocatable))
        return CUVET_E_USAGE;
    if (!cv_arch_known(opt->target))
        return CUVET_E_ARCH;
    k->o = (cv_link_options){ .target = opt->target,
                              .policy = opt->policy,
                              .toolkit = opt->toolkit ? opt->toolkit : CV_ADMIT_TOOLKIT,
                              .relocatable = opt->relocatable,
                              .compat = opt->exact_relocatable,
                              .debug = opt->debug,
                              .preserve = opt->preserve_relocs,
                              .keep_dead = opt->keep_dead || opt->debug || opt->preserve_relocs,
                              .no_stack_warning = opt->no_stack_warning,
                              .warnings_are_errors = opt->warnings_are_errors,
                              .kernels_used = opt->kernels_used,
                              .n_kernels_used = opt->n_kernels_used };
    /* Without randomness the tables still work; an attacker could then choose names that collide. */
    if (getrandom(k->o.key, sizeof(k->o.key), GRND_NONBLOCK) != (ssize_t)sizeof(k->o.key))
        memset(k->o.key, 0, sizeof(k->o.key));
    k->host_info = opt->host_info && !opt->relocatable && !opt->n_kernels_used && !k->o.keep_dead;
    cv_hosts_init(&k->hosts, k->o.key[0], k->o.key[1]);
    return CUVET_OK;
}

cuvet_status cuvet_linker_create(cuvet_ctx *ctx, const cuvet_linker_options *opt, cuvet_linker *out)
{
    cuvet_status s;
    uint64_t bits;
    void *body;
    linker *k;

    if (!out)
        return CUVET_E_NULL;
    out->bits = 0;
    if (!ctx || !opt)
        return CUVET_E_NULL;
    s = cv_handle_new(ctx, CV_H_LINKER, sizeof(linker), end_linker, &bits, &body);
    if (s != CUVET_OK)
        return cv_ctx_told(ctx, s);
    k = body;
    cv_ctx_init(&k->x, &ctx->alloc, &ctx->lim);
    k->x.emit = cv_ctx_emit;
    k->x.emit_user = ctx;
    s = configure(k, opt);
    cv_link_begin(&k->link, &k->x, &k->o);
    if (s == CUVET_OK)
        out->bits = bits;
    else if (cv_handle_destroy(ctx, CV_H_LINKER, bits) != CUVET_OK)
        s = CUVET_E_INTERNAL;
    cv_handle_put(ctx, bits);
    return s;
}

/* Class, rules, admission, in this order; all that is wrong is said. What passes becomes the link's. */
static cuvet_status judge(linker *k, const input *in)
{
    const cv_span image = in->bytes.span;
    const cv_admit_for f = {
        .target = k->o.target, .policy = k->o.policy, .toolkit = k->o.toolkit, .finished = true
    };
    cuvet_content_info c;
    uint64_t extent = 0;
    cuvet_status s = cv_classify(&k->x, image, 0, &c);

    if (s != CUVET_OK)
        return s;
    if (c.type != CUVET_CONTENT_CUBIN)
        return cv_reject(&k->x, CV_R_LINK_CONTENT, image.off, (uint64_t)c.type, CUVET_CONTENT_CUBIN);
    cv_cubin_init(&k->picture);
    s = cv_cubin_examine(&k->x, &k->picture, image, NULL, &extent);
    if (s == CUVET_OK)
        s = cv_verdict_status(k->x.verdict);
    if (s == CUVET_OK)
        s = cv_admit(&k->x, &k->picture, &f);
    if (s == CUVET_OK)
        s = cv_link_add(&k->link, image, &k->picture, (const char *)in->name.mem);
    if (s != CUVET_OK)
        cv_cubin_free(&k->x, &k->picture);
    return s;
}

/* Bytes of a caller's text, its NUL included. */
CV_BUF_BEGIN
static uint64_t text_size(const char *text)
{
    uint64_t n = 0;

    while (text[n] != 0)
        n++;
    return n + 1;
}
CV_BUF_END

/* From memory, or from a source when that is given. */
static cuvet_status add(linker *k, const cuvet_source *src, const void *bytes, uint64_t n, const char *name,
                        cv_id host, bool library)
{
    input in = { .bytes = { 0 }, .name = { 0 }, .host = host, .library = library };
    cuvet_status s;

    if (k->state != COLLECTING)
        return CUVET_E_STATE;
    cv_ctx_unit(&k->x, n);
    cv_path_push(&k->x, CUVET_P_MEMBER, true, k->input.n);
    cv_path_push(&k->x, CUVET_P_ELF, false, 0);
    if (n > k->x.lim.input)
        s = cv_reject(&k->x, CV_R_LIMIT_INPUT, 0, n, k->x.lim.input);
    else if (src)
        s = cv_block_load(&k->x, &in.bytes, src, 0, n);
    else
        s = cv_block_copy(&k->x, &in.bytes, cv_span_of(bytes, n, 0));
    if (s == CUVET_OK)
        s = cv_block_copy(&k->x, &in.name, cv_span_of(name, text_size(name), 0));
    if (s == CUVET_OK && !inputs_reserve(&k->x.mem, &k->input, k->input.n + 1))
        s = cv_nomem(&k->x, 0);
    if (s == CUVET_OK)
        s = judge(k, &in);
    if (s == CUVET_OK && inputs_push(&k->x.mem, &k->input, in)) {
        cv_islands_keep(&k->islands);
        return CUVET_OK;
    }
    cv_islands_drop();
    cv_block_free(&k->x, &in.bytes);
    cv_block_free(&k->x, &in.name);
    return s;
}

cuvet_status cuvet_linker_add(cuvet_ctx *ctx, cuvet_linker h, const void *bytes, size_t n, const char *name)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !bytes || !name)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    return s == CUVET_OK ? done(ctx, h, add(k, NULL, bytes, n, name, CV_NONE, false)) : s;
}

cuvet_status cuvet_linker_add_source(cuvet_ctx *ctx, cuvet_linker h, const cuvet_source *src,
                                     const char *name)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !src || !name)
        return CUVET_E_NULL;
    if (src->size != sizeof(*src) || !src->read_at)
        return CUVET_E_USAGE;
    s = use(ctx, h, &k);
    return s == CUVET_OK ? done(ctx, h, add(k, src, NULL, src->length, name, CV_NONE, false)) : s;
}

cuvet_status cuvet_linker_add_from(cuvet_ctx *ctx, cuvet_linker h, uint64_t off, const void *bytes, size_t n,
                                   const char *name)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !bytes || !name)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    return s == CUVET_OK ? done(ctx, h, add(k, NULL, bytes, n, name, cv_hosts_at(&k->hosts, off), k->library)) : s;
}

cuvet_status cuvet_linker_file(cuvet_ctx *ctx, cuvet_linker h, const cuvet_link_file *file)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !file || !file->bytes)
        return CUVET_E_NULL;
    if (file->size != sizeof(*file))
        return CUVET_E_USAGE;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (k->state != COLLECTING)
        return done(ctx, h, CUVET_E_STATE);
    cv_ctx_unit(&k->x, file->n);
    k->library = file->library;
    s = cv_hosts_read(&k->x, &k->hosts, file->bytes, file->n, file->library);
    cv_islands_drop();
    return done(ctx, h, s);
}

cuvet_status cuvet_linker_origin(cuvet_ctx *ctx, cuvet_linker h, uint64_t off, cuvet_link_origin *out)
{
    cuvet_status s;
    linker *k;
    cv_id host;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    host = cv_hosts_at(&k->hosts, off);
    out->host = host != CV_NONE;
    out->finished = out->host && cv_hosts_is_finished(&k->hosts, host);
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_linker_module(cuvet_ctx *ctx, cuvet_linker h, uint64_t index, const char **name)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !name)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (k->state != LINKED)
        return done(ctx, h, CUVET_E_STATE);
    if (index >= k->module.n)
        return done(ctx, h, CUVET_END);
    *name = (const char *)modules_at(&k->module, index)->mem;
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_linker_name(cuvet_ctx *ctx, cuvet_linker h, uint64_t index, const char **out)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !out)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (index >= k->input.n)
        return done(ctx, h, CUVET_END);
    *out = (const char *)inputs_at(&k->input, index)->name.mem;
    return done(ctx, h, CUVET_OK);
}

/* What does not take part goes behind the rest, and is said. */
static cuvet_status leave_out(linker *k, const cv_u8s *why)
{
    static const cv_rule RULES[] = { CV_R_LINK_ALREADY, CV_R_LINK_ALREADY, CV_R_LINK_NOT_NEEDED };
    inputs sorted = { 0 };
    bool ok = inputs_reserve(&k->x.mem, &sorted, k->input.n);
    uint64_t stay = 0;

    for (uint64_t i = 0; i < k->input.n && ok; i++)
        if (!*cv_u8s_at(why, i))
            ok = inputs_push(&k->x.mem, &sorted, *inputs_at(&k->input, i));
    stay = sorted.n;
    for (uint64_t i = 0; i < k->input.n && ok; i++)
        if (*cv_u8s_at(why, i))
            ok = inputs_push(&k->x.mem, &sorted, *inputs_at(&k->input, i));
    inputs_free(&k->x.mem, ok ? &k->input : &sorted);
    if (!ok)
        return cv_nomem(&k->x, 0);
    k->input = sorted;
    for (uint64_t i = 0, at = stay; i < why->n; i++) {
        if (!*cv_u8s_at(why, i))
            continue;
        k->x.path.n = 0;
        cv_report_at(&k->x, CUVET_P_MEMBER, at++, CV_AT(RULES, *cv_u8s_at(why, i)), 0, 0, 0, 0);
    }
    cv_link_leave_out(&k->link, why);
    return CUVET_OK;
}

/* Which inputs take part: not those that are linked already, and system libraries only when they are needed.
 */
static cuvet_status choose(linker *k, bool *needed)
{
    enum { ALREADY = 1, NOT_NEEDED = 2 };
    cv_u8s why = { 0 };
    bool libraries = false, any = false;
    cuvet_status s = cv_u8s_fill(&k->x.mem, &why, k->input.n) ? CUVET_OK : cv_nomem(&k->x, 0);

    for (uint64_t i = 0; i < k->input.n && s == CUVET_OK; i++) {
        const input *in = inputs_at(&k->input, i);
        bool already = in->host != CV_NONE && cv_hosts_is_linked(&k->hosts, in->host);

        *cv_u8s_at(&why, i) = already ? ALREADY : in->library ? NOT_NEEDED : 0;
        libraries = libraries || in->library;
        any = any || already;
    }
    if (s == CUVET_OK && libraries)
        s = cv_link_lacks_functions(&k->link, &why, needed);
    for (uint64_t i = 0; i < k->input.n && s == CUVET_OK && *needed; i++)
        if (*cv_u8s_at(&why, i) == NOT_NEEDED)
            *cv_u8s_at(&why, i) = 0;
    if (s == CUVET_OK && (any || (libraries && !*needed)))
        s = leave_out(k, &why);
    cv_u8s_free(&k->x.mem, &why);
    return s;
}

static cuvet_status add_module(linker *k, cv_span name)
{
    cv_block b = { 0 };
    cuvet_status s = cv_block_zero(&k->x, &b, name.len + 1);

    if (s != CUVET_OK)
        return s;
    cv_span_copy(name, b.mem);
    if (modules_push(&k->x.mem, &k->module, b))
        return CUVET_OK;
    cv_block_free(&k->x, &b);
    return cv_nomem(&k->x, 0);
}

/* Modules that the host program registers, and whether it is known what all host code refers to. */
static cuvet_status take_hosts(linker *k, bool libraries)
{
    bool told = k->host_info && cv_hosts_tell_kernels(&k->hosts);
    cuvet_status s = CUVET_OK;

    for (uint64_t i = 0; i < k->link.obj.n; i++)
        told = told && inputs_at(&k->input, i)->host != CV_NONE;
    k->link.o.hosts = told ? &k->hosts : NULL;
    for (uint64_t i = 0; i < k->hosts.host.n && s == CUVET_OK; i++) {
        const cv_lhost *o = cv_lhosts_at(&k->hosts.host, i);

        if (!o->linkable || cv_hosts_is_linked(&k->hosts, (cv_id)i) || (o->library && !libraries))
            continue;
        for (uint64_t m = 0; m < o->n_modules && s == CUVET_OK; m++)
            s = add_module(k, cv_hosts_module(&k->hosts, o->first_module + m));
    }
    return s;
}

/* Which of the inputs are objects of the link, which stand in the same order in both lists until then. */
static cuvet_status gather(linker *k)
{
    bool needed = false;
    cuvet_status s = choose(k, &needed);

    if (s == CUVET_OK)
        s = cv_hosts_settle(&k->x, &k->hosts, needed);
    return s == CUVET_OK ? take_hosts(k, needed) : s;
}

static cuvet_status complete(linker *k)
{
    uint64_t bytes = 0, warnings;
    cuvet_status s;

    if (k->state != COLLECTING)
        return CUVET_E_STATE;
    for (uint64_t i = 0; i < k->input.n; i++)
        bytes += inputs_at(&k->input, i)->bytes.span.len;
    cv_ctx_unit(&k->x, 2 * bytes);
    if (k->input.n == 0)
        return cv_reject(&k->x, CV_R_LINK_NO_INPUT, 0, 0, 1);
    k->begun = true;
    s = gather(k);
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
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (k->state == COLLECTING) {
        s = complete(k);
        k->state = s == CUVET_OK ? LINKED : CV_NEVER(s == CUVET_E_INTERNAL) ? POISONED : FAILED;
        k->link.reached = k->link.reached && s != CUVET_E_INTERNAL;
        cv_islands_drop();
    } else {
        s = CUVET_E_STATE;
    }
    return done(ctx, h, s);
}

/* The code that is lent goes where it belongs: its place is there. */
static void make_whole(linker *k)
{
    cv_slice_pos pos = { 0 };
    uint64_t off = 0;
    cv_span run;

    for (; !k->whole && cv_slices_next(&k->file, &pos, &run); off += run.len) {
        cv_span place = cv_span_tail(k->out.span, off);

        if (place.base != run.base && run.len <= place.len)
            cv_span_copy(run, (void *)(uintptr_t)place.base);
    }
    k->whole = true;
}

cuvet_status cuvet_linker_result(cuvet_ctx *ctx, cuvet_linker h, cuvet_link_result *out)
{
    cuvet_status s;
    linker *k;

    if (!out)
        return CUVET_E_NULL;
    *out = (cuvet_link_result){ 0 };
    if (!ctx)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (k->state != LINKED)
        return done(ctx, h, CUVET_E_STATE);
    make_whole(k);
    *out = k->result;
    out->bytes = k->out.mem;
    out->n = (size_t)k->out.span.len;
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_linker_save(cuvet_ctx *ctx, cuvet_linker h, int dirfd, const char *name, bool replace,
                               bool sync)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !name)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (k->state != LINKED)
        return done(ctx, h, CUVET_E_STATE);
    return done(ctx, h, cv_sink_file(dirfd, name, &k->file, (cv_sink_options){ replace, sync }));
}

cuvet_status cuvet_linker_write(cuvet_ctx *ctx, cuvet_linker h, int fd)
{
    cuvet_status s;
    linker *k;

    if (!ctx)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    return done(ctx, h, k->state == LINKED ? cv_sink_fd(fd, &k->file) : CUVET_E_STATE);
}

/* Input of a diagnostic's path, the which-th from 0, and the symbol behind it. */
static bool place_of(const cuvet_diag *d, uint32_t which, uint64_t *object, uint64_t *symbol)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < d->where.n && i < CUVET_PATH_MAX; i++) {
        const cuvet_step *s = CV_ARRAY_AT(d->where.step, i);

        if (s->kind == CUVET_P_MEMBER) {
            *object = s->index;
            seen++;
        } else if (s->kind == CUVET_P_SYMBOL && seen == which + 1) {
            *symbol = s->index;
            return true;
        }
    }
    return false;
}

/* From the stored bytes of the input: they stay where they are until the end. */
static bool symbol_name(const linker *k, uint64_t object, uint64_t symbol, cv_span *name)
{
    const cv_cubin *c = &cv_lobjs_at(&k->link.obj, object)->cubin;
    cv_span all = inputs_at(&k->input, object)->bytes.span;
    const cv_sec *symtab = cv_cubin_sec(c, c->symtab_index);
    const cv_sec *strtab = cv_cubin_sec(c, cv_cubin_first(c, CV_ROLE_STRTAB));
    cv_elf_symbol y;
    uint64_t at;

    if (symbol >= c->n_syms || !cv_span_has(all, symtab->h.off, symtab->h.size))
        return false;
    cv_elf_read_symbol(cv_span_tail(all, symtab->h.off), false, symbol, &y);
    at = cv_sat_add(strtab->h.off, y.name);
    if (at >= all.len || y.name >= strtab->h.size)
        return false;
    *name = cv_span_tail(all, at);
    name->len = cv_span_find_byte(*name, 0);
    return true;
}

static cuvet_status symbol_of(cuvet_ctx *ctx, cuvet_linker h, const cuvet_diag *d, uint32_t which,
                              const char **p, size_t *n)
{
    uint64_t object = 0, symbol = 0;
    cuvet_status s;
    cv_span name;
    linker *k;

    if (!ctx || !d || !p || !n)
        return CUVET_E_NULL;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (!k->begun || !place_of(d, which, &object, &symbol) || object >= k->link.obj.n)
        return done(ctx, h, CUVET_E_NO_MATCH);
    if (!symbol_name(k, object, symbol, &name))
        return done(ctx, h, CUVET_E_NO_MATCH);
    *p = (const char *)name.base;
    *n = (size_t)name.len;
    return done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_linker_symbol(cuvet_ctx *ctx, cuvet_linker h, const cuvet_diag *d, const char **p,
                                 size_t *n)
{
    return symbol_of(ctx, h, d, 0, p, n);
}

cuvet_status cuvet_linker_other_symbol(cuvet_ctx *ctx, cuvet_linker h, const cuvet_diag *d, const char **p,
                                       size_t *n)
{
    return symbol_of(ctx, h, d, 1, p, n);
}

cuvet_status cuvet_linker_callgraph(cuvet_ctx *ctx, cuvet_linker h, const cuvet_callgraph_sink *sink)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !sink)
        return CUVET_E_NULL;
    if (sink->size != sizeof(*sink) || !sink->function || !sink->call || !sink->raised)
        return CUVET_E_USAGE;
    s = use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (!k->begun || !k->link.reached || k->o.relocatable)
        return done(ctx, h, CUVET_E_STATE);
    return done(ctx, h, cv_link_callgraph(&k->link, sink));
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
