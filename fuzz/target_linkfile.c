/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Any file into a link: what is told of it, and what comes of what was taken. Parameters:
 * see linking.h; bits 22 host_info, 23 a system library, 24..31 the allocation that fails, in steps of 8. */
#include <string.h>

#include "format/elf/names.h"
#include "linking.h"
#include "mutate_int.h"
#include "scanner.h"

#define ELF_MAGIC UINT32_C(0x464C457F)

enum { MACHINE_AT = 18, MOST_MODULES = 4096 };

typedef struct run {
    const fz_input *in;
    cuvet_linker_options opt;
    cuvet_ctx *ctx;
    cuvet_linker h;
    fz_alloc alloc;
    uint64_t hash, n_errors, n_diags, added, n_events, n_refused;
    bool capped;
} run;

static void on_diag(void *user, const cuvet_diag *d)
{
    run *r = user;

    r->hash = fz_mix(r->hash, fz_diag(d, 0, UINT64_MAX));
    r->n_diags++;
    r->n_errors += d->severity == CUVET_ERROR;
}

static bool is_device(const run *r, size_t at)
{
    cv_span image = cv_span_of(r->in->bytes, r->in->len, 0);

    return cv_u32_at(image, at) == ELF_MAGIC && cv_u16_at(image, at + MACHINE_AT) == CV_EM_CUDA;
}

/* The first device object at or behind a place; the length of the input: none. */
static size_t next_device(const run *r, size_t at)
{
    while (at < r->in->len && !is_device(r, at))
        at = mut_next_object(r->in->bytes, r->in->len, at + 1);
    return at < r->in->len ? at : r->in->len;
}

/* Of what was refused, or went wrong, the reason is told. */
static void check_reason(const run *r, cuvet_status s)
{
    FZ_CHECK(s == CUVET_OK || s == CUVET_E_MALFORMED || s == CUVET_E_REFUSED || s == CUVET_E_UNKNOWN ||
                 s == CUVET_E_TRUNCATED || s == CUVET_E_UNSUPPORTED || s == CUVET_E_LIMIT ||
                 (s == CUVET_E_NOMEM && r->alloc.failed),
             "a status that the call has");
    FZ_CHECK(s == CUVET_OK || r->n_errors || r->capped || s == CUVET_E_NOMEM ||
                 (s == CUVET_E_UNSUPPORTED && r->n_diags) || (r->opt.flags & CUVET_LINK_WARNINGS_ARE_ERRORS),
             "a reason is given");
}

/* Every event has a file, and comes again by its number. */
static void on_event(void *user, const cuvet_event *event)
{
    run *r = user;

    FZ_CHECK(event->size == sizeof(*event) && event->file, "an event of a file");
    FZ_CHECK(*cuvet_event_kind_name(event->kind) != '?', "of a kind that has a name");
    r->n_events++;
    r->n_refused += event->status != CUVET_OK;
    r->added += event->kind == CUVET_EVENT_TAKEN || event->kind == CUVET_EVENT_RETARGETED;
    r->hash = fz_mix(r->hash, (uint64_t)event->kind << 32 | (uint64_t)event->status);
    r->hash = fz_mix(r->hash, event->off);
    if (event->member)
        r->hash = fz_mix_bytes(r->hash, event->member, strlen(event->member));
}

static void check_events(const run *r)
{
    cuvet_event event = { .size = sizeof(event) };

    for (uint64_t i = 0; i < r->n_events; i++)
        FZ_CHECK(cuvet_linker_get_event(r->ctx, r->h, i, &event) == CUVET_OK && event.file, "by its number");
    FZ_CHECK(cuvet_linker_get_event(r->ctx, r->h, r->n_events, &event) == CUVET_END,
             "no more than were told");
}

static bool is_identifier(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && strspn(name, "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == n;
}

/* Modules have proper names, each once. */
static void check_modules(run *r)
{
    const char *name, *other;
    cuvet_status s = CUVET_OK;
    uint64_t n = 0;

    for (; s == CUVET_OK && n < MOST_MODULES; n++) {
        s = cuvet_linker_module(r->ctx, r->h, n, &name);
        FZ_CHECK(s == CUVET_OK || s == CUVET_END, "modules come to an end");
        if (s != CUVET_OK)
            return;
        FZ_CHECK(is_identifier(name), "a name for a program in C");
        r->hash = fz_mix_bytes(r->hash, name, strlen(name));
        if (n > 0)
            FZ_CHECK(cuvet_linker_module(r->ctx, r->h, n / 2, &other) == CUVET_OK &&
                         (n / 2 == n || strcmp(name, other) != 0),
                     "once");
    }
}

static void complete(run *r)
{
    cuvet_link_result got = { .size = sizeof(got) };
    cuvet_status s;

    r->n_errors = r->n_diags = 0;
    s = cuvet_linker_complete(r->ctx, r->h);
    check_reason(r, s);
    FZ_CHECK(r->added || s != CUVET_OK, "nothing is made of nothing");
    r->hash = fz_mix(r->hash, (uint64_t)s);
    if (s != CUVET_OK)
        return;
    FZ_CHECK(cuvet_linker_result(r->ctx, r->h, &got) == CUVET_OK && got.n, "a result");
    FZ_CHECK(got.objects <= r->added, "of what was added");
    r->hash = fz_mix_bytes(r->hash, got.bytes, got.n);
    check_modules(r);
}

static void with_linker(run *r)
{
    const cuvet_add_options add = { .size = sizeof(add),
                                    .flags = r->in->param >> 23 & 1 ? CUVET_ADD_SYSTEM : 0 };
    cuvet_status s = cuvet_linker_add_memory(r->ctx, r->h, r->in->bytes, r->in->len, "file", &add);

    FZ_CHECK(r->n_events || s == CUVET_E_NOMEM || s == CUVET_E_LIMIT, "something is told of a file");
    FZ_CHECK(s != CUVET_OK || !r->n_refused, "what was refused has a status");
    check_events(r);
    r->hash = fz_mix(r->hash, (uint64_t)s);
    complete(r);
    FZ_CHECK(cuvet_linker_destroy(r->ctx, &r->h) == CUVET_OK && r->h.bits == 0, "destroy");
}

static uint64_t once(run *r, const cuvet_limits *lim)
{
    cuvet_alloc a = fz_alloc_of(&r->alloc);
    cuvet_ctx_options opt = { sizeof(opt), &a, lim, on_diag, r };
    cuvet_status s;

    if (cuvet_ctx_create(&opt, &r->ctx) != CUVET_OK) {
        FZ_CHECK(r->alloc.failed, "a context");
        return 0;
    }
    s = cuvet_linker_create(r->ctx, &r->opt, &r->h);
    FZ_CHECK(s == CUVET_OK || (s == CUVET_E_NOMEM && r->alloc.failed) ||
                 (s == CUVET_E_LIMIT && lim->live < CV_MIB),
             "a linker");
    if (s == CUVET_OK)
        with_linker(r);
    cuvet_ctx_destroy(r->ctx);
    FZ_CHECK(r->alloc.live == 0, "nothing stays allocated");
    return r->hash;
}

CV_FUZZ_TARGET(linkfile)
{
    uint64_t hash[2] = { 0, 0 };
    unsigned passes;
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    passes = fz_one_in(&in, 4) ? 2 : 1;
    for (unsigned pass = 0; pass < passes; pass++) {
        run r = { .in = &in };
        size_t at = next_device(&r, 0);
        fz_input device = { .bytes = in.bytes + at, .len = in.len - at, .param = in.param };

        r.opt = fz_linker_options(&device);
        r.opt.flags |= in.param >> 22 & 1 ? CUVET_LINK_HOST_INFO : 0;
        r.opt.event = on_event;
        r.opt.event_user = &r;
        r.capped = lim.diagnostics < FZ_OBJECTS + 1;
        r.alloc.fail_at = (uint64_t)(in.param >> 24) * 8;
        hash[pass] = once(&r, &lim);
    }
    FZ_CHECK(passes < 2 || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
