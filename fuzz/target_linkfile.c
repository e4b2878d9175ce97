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

typedef struct linkfile_run {
    const fz_input *in;
    cuvet_linker_options opt;
    cuvet_ctx *ctx;
    cuvet_linker handle;
    fz_alloc alloc;
    uint64_t hash, n_errors, n_diags, added, n_events, n_refused;
    bool capped;
} linkfile_run;

static void on_diag(void *user, const cuvet_diag *diag)
{
    linkfile_run *run = user;

    run->hash = fz_mix(run->hash, fz_diag(diag, 0, UINT64_MAX));
    run->n_diags++;
    run->n_errors += diag->severity == CUVET_ERROR;
}

static bool is_device(const linkfile_run *run, size_t at)
{
    cv_span image = cv_span_of(run->in->bytes, run->in->len, 0);

    return cv_u32_at(image, at) == ELF_MAGIC && cv_u16_at(image, at + MACHINE_AT) == CV_EM_CUDA;
}

/* The first device object at or behind a place; the length of the input: none. */
static size_t next_device(const linkfile_run *run, size_t at)
{
    while (at < run->in->len && !is_device(run, at))
        at = mut_next_object(run->in->bytes, run->in->len, at + 1);
    return at < run->in->len ? at : run->in->len;
}

/* Of what was refused, or went wrong, the reason is told. */
static void check_reason(const linkfile_run *run, cuvet_status status)
{
    FZ_CHECK(status == CUVET_OK || status == CUVET_E_MALFORMED || status == CUVET_E_REFUSED ||
                 status == CUVET_E_UNKNOWN || status == CUVET_E_TRUNCATED || status == CUVET_E_UNSUPPORTED ||
                 status == CUVET_E_LIMIT || (status == CUVET_E_NOMEM && run->alloc.failed),
             "a status that the call has");
    FZ_CHECK(status == CUVET_OK || run->n_errors || run->capped || status == CUVET_E_NOMEM ||
                 (status == CUVET_E_UNSUPPORTED && run->n_diags) ||
                 (run->opt.flags & CUVET_LINK_WARNINGS_ARE_ERRORS),
             "a reason is given");
}

/* Every event has a file, and comes again by its number. */
static void on_event(void *user, const cuvet_event *event)
{
    linkfile_run *run = user;

    FZ_CHECK(event->size == sizeof(*event) && event->file, "an event of a file");
    FZ_CHECK(*cuvet_event_kind_name(event->kind) != '?', "of a kind that has a name");
    run->n_events++;
    run->n_refused += event->status != CUVET_OK;
    run->added += event->kind == CUVET_EVENT_TAKEN || event->kind == CUVET_EVENT_RETARGETED;
    run->hash = fz_mix(run->hash, (uint64_t)event->kind << 32 | (uint64_t)event->status);
    run->hash = fz_mix(run->hash, event->off);
    if (event->member)
        run->hash = fz_mix_bytes(run->hash, event->member, strlen(event->member));
}

static void check_events(const linkfile_run *run)
{
    cuvet_event event = { .size = sizeof(event) };

    for (uint64_t i = 0; i < run->n_events; i++)
        FZ_CHECK(cuvet_linker_get_event(run->ctx, run->handle, i, &event) == CUVET_OK && event.file,
                 "by its number");
    FZ_CHECK(cuvet_linker_get_event(run->ctx, run->handle, run->n_events, &event) == CUVET_END,
             "no more than were told");
}

static bool is_identifier(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && strspn(name, "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == len;
}

/* Modules have proper names, which stand in the file. One that is in two objects is there twice, as nvlink
 * has it; tests/model/hosts.c says which ones there are. */
static void check_modules(linkfile_run *run)
{
    const char *name;
    cuvet_status status = CUVET_OK;
    uint64_t count = 0;

    for (; status == CUVET_OK && count < MOST_MODULES; count++) {
        status = cuvet_linker_get_module(run->ctx, run->handle, count, &name);
        FZ_CHECK(status == CUVET_OK || status == CUVET_END, "modules come to an end");
        if (status != CUVET_OK)
            return;
        FZ_CHECK(is_identifier(name), "a name for a program in C");
        FZ_CHECK(memmem(run->in->bytes, run->in->len, name, strlen(name)), "of the file");
        run->hash = fz_mix_bytes(run->hash, name, strlen(name));
    }
}

static void complete(linkfile_run *run)
{
    cuvet_link_result got = { .size = sizeof(got) };
    cuvet_status status;

    run->n_errors = run->n_diags = 0;
    status = cuvet_linker_complete(run->ctx, run->handle);
    check_reason(run, status);
    FZ_CHECK(run->added || status != CUVET_OK ||
                 (run->opt.flags & (CUVET_LINK_MAY_BE_EMPTY | CUVET_LINK_MODULES_ONLY)),
             "nothing is made of nothing");
    run->hash = fz_mix(run->hash, (uint64_t)status);
    if (status != CUVET_OK)
        return;
    FZ_CHECK(cuvet_linker_get_result(run->ctx, run->handle, &got) == CUVET_OK &&
                 (got.n > 0) == !(run->opt.flags & CUVET_LINK_MODULES_ONLY),
             "a result");
    FZ_CHECK(got.objects <= run->added, "of what was added");
    run->hash = fz_mix_bytes(run->hash, got.bytes, got.n);
    check_modules(run);
}

static void with_linker(linkfile_run *run)
{
    const cuvet_add_options add = { .size = sizeof(add),
                                    .flags = (run->in->param >> 23 & 1 ? CUVET_ADD_SYSTEM : 0) |
                                             (run->in->param >> 20 & 1 ? CUVET_ADD_OPTIONAL : 0) };
    cuvet_status status =
        cuvet_linker_add_memory(run->ctx, run->handle, run->in->bytes, run->in->len, "file", &add);

    FZ_CHECK(run->n_events || status == CUVET_E_NOMEM || status == CUVET_E_LIMIT ||
                 (run->opt.flags & CUVET_LINK_MODULES_ONLY),
             "something is told of a file");
    FZ_CHECK(status != CUVET_OK || !run->n_refused, "what was refused has a status");
    check_events(run);
    run->hash = fz_mix(run->hash, (uint64_t)status);
    complete(run);
    FZ_CHECK(cuvet_linker_destroy(run->ctx, &run->handle) == CUVET_OK && run->handle.bits == 0, "destroy");
}

static uint64_t once(linkfile_run *run, const cuvet_limits *lim)
{
    cuvet_alloc alloc = fz_alloc_of(&run->alloc);
    cuvet_ctx_options opt = {
        .size = sizeof(opt), .alloc = &alloc, .limits = lim, .diag = on_diag, .diag_user = run
    };
    cuvet_status status;

    if (cuvet_ctx_create(&opt, &run->ctx) != CUVET_OK) {
        FZ_CHECK(run->alloc.failed, "a context");
        return 0;
    }
    status = cuvet_linker_create(run->ctx, &run->opt, &run->handle);
    FZ_CHECK(status == CUVET_OK || (status == CUVET_E_NOMEM && run->alloc.failed) ||
                 (status == CUVET_E_LIMIT && lim->live < CV_MIB),
             "a linker");
    if (status == CUVET_OK)
        with_linker(run);
    cuvet_ctx_destroy(run->ctx);
    FZ_CHECK(run->alloc.live == 0, "nothing stays allocated");
    return run->hash;
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
        linkfile_run run = { .in = &in };
        size_t at = next_device(&run, 0);
        fz_input device = { .bytes = in.bytes + at, .len = in.len - at, .param = in.param };

        run.opt = fz_linker_options(&device);
        run.opt.flags |= in.param >> 22 & 1 ? CUVET_LINK_HOST_INFO : 0;
        run.opt.flags |= in.param >> 20 & 1 ? CUVET_LINK_MAY_BE_EMPTY : 0;
        run.opt.flags |= (in.param >> 20 & 1) && (in.param >> 16 & 1) ? CUVET_LINK_MODULES_ONLY : 0;
        run.opt.event = on_event;
        run.opt.event_user = &run;
        run.capped = lim.diagnostics < FZ_OBJECTS + 1;
        run.alloc.fail_at = (uint64_t)(in.param >> 24) * 8;
        hash[pass] = once(&run, &lim);
    }
    FZ_CHECK(passes < 2 || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
