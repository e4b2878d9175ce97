/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host ELF files: where they keep device code, and which containers their wrappers name. */
#include "common.h"

#include "format/fatbin/read.h"
#include "host/host.h"
#include "mutate.h"

static void check_sections(fz *f, const cv_host *h)
{
    uint64_t last = 0;

    for (uint64_t i = 0; i < h->sections.n; i++) {
        const cv_host_section *s = cv_host_sections_at(&h->sections, i);

        FZ_CHECK(s->off >= h->base && s->off - h->base <= h->size && s->size <= h->size - (s->off - h->base),
                 "sections that are kept lie in the file");
        FZ_CHECK(s->off >= last, "in file order");
        last = s->off;
        fz_note(f, s->off ^ s->size << 24 ^ (uint64_t)s->kind << 60 ^ (uint64_t)s->index << 40);
    }
}

static void check_wrappers(fz *f, const cv_host *h)
{
    for (uint64_t i = 0; i < h->wrappers.n; i++) {
        const cv_host_wrapper *w = cv_host_wrappers_at(&h->wrappers, i);

        FZ_CHECK(w->off >= h->base && w->off - h->base <= h->size &&
                     CV_WRAPPER_SIZE <= h->size - (w->off - h->base),
                 "wrappers lie in the file");
        FZ_CHECK(w->state != CV_HOST_FOUND || cv_host_names(h, w->target), "a wrapper names its target");
        fz_note(f, w->off ^ w->target << 20 ^ (uint64_t)w->state << 60);
    }
    for (uint64_t i = 0; i < h->named.n; i++) {
        FZ_CHECK(i == 0 || *cv_u64s_at(&h->named, i - 1) < *cv_u64s_at(&h->named, i),
                 "names are sorted, each once");
        FZ_CHECK(cv_host_names(h, *cv_u64s_at(&h->named, i)), "what is named is found");
    }
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    /* The file may be a region of a larger source: what comes before it is not its own. */
    uint64_t skip = f->in->param >> 8 & 1 ? cv_min(64, s.len) : 0;
    cv_u64s found = { 0 };
    cv_host h = { 0 };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_status st;

    FZ_CHECK(cuvet_source_memory(f->in->bytes, f->in->len, &src) == CUVET_OK, "source");
    st = cv_host_read(&f->x, &src, skip, s.len - skip, &h);
    fz_status(f, st, 0);
    if (st == CUVET_OK) {
        bool room = true;

        check_sections(f, &h);
        check_wrappers(f, &h);
        for (uint64_t at = skip; room && at + 4 <= s.len; at += 4)
            if (cv_u32_at(s, at) == CV_FATBIN_MAGIC)
                room = cv_u64s_push(&f->x.mem, &found, at);
        if (room)
            cv_host_check_wrappers(&f->x, &h, &found);
    }
    cv_u64s_free(&f->x.mem, &found);
    cv_host_free(&f->x, &h);
}

CV_FUZZ_TARGET(hostobj)
{
    return fz_twice(data, size, 0, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)
