/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host ELF files: where they keep device code, and which containers their wrappers name. */
#include "common.h"

#include "format/fatbin/read.h"
#include "host/host.h"
#include "mutate.h"

static void check_sections(fz_state *fuzz, const cv_host *host)
{
    uint64_t last = 0;

    for (uint64_t i = 0; i < host->sections.count; i++) {
        const cv_host_section *section = cv_host_sections_get(&host->sections, i);

        FZ_CHECK(section->off >= host->base && section->off - host->base <= host->size &&
                     section->size <= host->size - (section->off - host->base),
                 "sections that are kept lie in the file");
        FZ_CHECK(section->off >= last, "in file order");
        last = section->off;
        fz_note(fuzz, section->off ^ section->size << 24 ^ (uint64_t)section->kind << 60 ^
                          (uint64_t)section->index << 40);
    }
}

static void check_wrappers(fz_state *fuzz, const cv_host *host)
{
    for (uint64_t i = 0; i < host->wrappers.count; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_get(&host->wrappers, i);

        FZ_CHECK(wrapper->off >= host->base && wrapper->off - host->base <= host->size &&
                     CV_WRAPPER_SIZE <= host->size - (wrapper->off - host->base),
                 "wrappers lie in the file");
        FZ_CHECK(wrapper->state != CV_HOST_FOUND || cv_host_names(host, wrapper->target),
                 "a wrapper names its target");
        fz_note(fuzz, wrapper->off ^ wrapper->target << 20 ^ (uint64_t)wrapper->state << 60);
    }
    for (uint64_t i = 0; i < host->named.count; i++) {
        FZ_CHECK(i == 0 || *cv_u64s_get(&host->named, i - 1) < *cv_u64s_get(&host->named, i),
                 "names are sorted, each once");
        FZ_CHECK(cv_host_names(host, *cv_u64s_get(&host->named, i)), "what is named is found");
    }
}

/* Whatever the walk takes for device code: what a wrapper names, and the sections for it. */
static cuvet_status check_intact(fz_state *fuzz, const cuvet_source *src, cv_host *host)
{
    cv_host_extents code = { 0 };
    cuvet_status st = CUVET_OK;
    bool room = true;

    for (uint64_t i = 0; i < host->named.count && room; i++) {
        uint64_t at = *cv_u64s_get(&host->named, i), end = host->base + host->size;

        room = cv_host_extents_push(&fuzz->ctx.mem, &code, (cv_host_extent){ at, cv_min(end, at + 64) });
    }
    for (uint64_t i = 0; i < host->sections.count && room; i++) {
        const cv_host_section *section = cv_host_sections_get(&host->sections, i);

        if (section->kind == CV_HOSTOBJ_FATBIN)
            room = cv_host_extents_push(&fuzz->ctx.mem, &code,
                                        (cv_host_extent){ section->off, section->off + section->size });
    }
    if (room)
        st = cv_host_check_intact(&fuzz->ctx, src, host, &code);
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_LIMIT || st == CUVET_E_NOMEM, "no other end");
    cv_host_extents_free(&fuzz->ctx.mem, &code);
    return st;
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    /* The file may be a region of a larger source: what comes before it is not its own. */
    uint64_t skip = fuzz->in->param >> 8 & 1 ? cv_min(64, span.len) : 0;
    cv_u64s found = { 0 };
    cv_host host = { 0 };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_status st;

    FZ_CHECK(cuvet_source_memory(fuzz->in->bytes, fuzz->in->len, &src) == CUVET_OK, "source");
    st = cv_host_read(&fuzz->ctx, &src, skip, span.len - skip, &host);
    fz_status(fuzz, st, 0);
    if (st == CUVET_OK) {
        bool room = true;

        check_sections(fuzz, &host);
        check_wrappers(fuzz, &host);
        for (uint64_t at = skip; room && at + 4 <= span.len; at += 4)
            if (cv_u32_at(span, at) == CV_FATBIN_MAGIC)
                room = cv_u64s_push(&fuzz->ctx.mem, &found, at);
        if (room)
            cv_host_check_wrappers(&fuzz->ctx, &host, &found);
        fz_status(fuzz, check_intact(fuzz, &src, &host), 0);
    }
    cv_u64s_free(&fuzz->ctx.mem, &found);
    cv_host_free(&fuzz->ctx, &host);
}

CV_FUZZ_TARGET(hostobj)
{
    return fz_twice(data, size, 0, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
