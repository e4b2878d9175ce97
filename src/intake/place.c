/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/place.h"

#include "format/elf/read.h"

static const struct {
    cv_taking part;
    cv_rule rule;
    bool chosen;
} PLACES[] = {
#define PLACE(name, part, rule, chosen, text) [CUVET_PLACE_##name] = { CV_##part, rule, chosen },
#include "places.def"
#undef PLACE
};

cv_taking cv_place_part(cuvet_place place, cv_rule *rule)
{
    bool known = (size_t)place < CV_COUNT(PLACES);

    *rule = known ? CV_AT(PLACES, place).rule : CV_R_LINK_FROM_BYTES;
    return known ? CV_AT(PLACES, place).part : CV_REFUSED;
}

bool cv_place_chosen(cuvet_place place)
{
    return (size_t)place < CV_COUNT(PLACES) && CV_AT(PLACES, place).chosen;
}

/* Kind of the section at this place; of several the one that tools look into. */
static cv_hostobj_kind section_at(const cv_host *h, uint64_t at, bool *wrappers)
{
    cv_hostobj_kind found = CV_HOSTOBJ_OTHER;

    for (uint64_t i = 0; i < h->sections.n; i++) {
        const cv_host_section *s = cv_host_sections_get(&h->sections, i);

        *wrappers = *wrappers || s->kind == CV_HOSTOBJ_WRAPPERS;
        if (at < s->off || at - s->off >= s->size || found == CV_HOSTOBJ_RELFATBIN)
            continue;
        if (found != CV_HOSTOBJ_FATBIN || s->kind == CV_HOSTOBJ_RELFATBIN)
            found = s->kind;
    }
    return found;
}

static cuvet_place in_other(const cv_host *h, uint64_t at)
{
    bool object = h->type == CV_ELF_REL;

    switch (cv_host_use_at(h, at)) {
    case CV_HOST_DATA: return object ? CUVET_PLACE_DATA : CUVET_PLACE_PROGRAM;
    case CV_HOST_NO_DATA: return CUVET_PLACE_SECTION;
    case CV_HOST_OUTSIDE: break;
    }
    /* A program runs without a section table, and its segments say nothing of data and code. */
    return object || h->ranges.n + h->sections.n > 0 ? CUVET_PLACE_OUTSIDE : CUVET_PLACE_PROGRAM;
}

static cuvet_place in_host(cv_ctx *x, const cv_walk *w, uint64_t at, bool container, bool member)
{
    const cv_host *h = &w->host;
    bool object = h->type == CV_ELF_REL, wrappers = false;

    if (member && !object)
        return CUVET_PLACE_BYTES; /* tools that link take objects from archives, and no programs */
    if (!cv_work(x, h->sections.n + h->ranges.n, at))
        return CUVET_PLACE_OUTSIDE; /* reported: the limit is reached */
    switch ((unsigned)section_at(h, at, &wrappers)) {
    case CV_HOSTOBJ_OTHER: return in_other(h, at);
    case CV_HOSTOBJ_FATBIN: return object ? CUVET_PLACE_FINISHED : CUVET_PLACE_PROGRAM;
    case CV_HOSTOBJ_RELFATBIN: break;
    default: return CUVET_PLACE_SECTION;
    }
    if (!object)
        return CUVET_PLACE_PROGRAM;
    if (!container || !wrappers)
        return CUVET_PLACE_UNNAMED;
    if (cv_walk_is_first(w, at))
        return CUVET_PLACE_OBJECT;
    return cv_host_names(h, at) ? CUVET_PLACE_NAMED : CUVET_PLACE_UNNAMED;
}

cuvet_place cv_place_at(cv_ctx *x, const cv_walk *w, uint64_t at, bool container)
{
    uint64_t archives = w->stack.n - 1;
    const cv_region *r = cv_regions_get(&w->stack, archives);

    if (w->nested)
        return CUVET_PLACE_NESTED;
    if (r->kind == CV_REGION_RAW)
        return CUVET_PLACE_TABLE;
    if (archives > 1)
        return CUVET_PLACE_ARCHIVE;
    if (r->host)
        return in_host(x, w, at, container, archives > 0);
    if (at == r->off)
        return archives > 0 ? CUVET_PLACE_MEMBER : CUVET_PLACE_FILE;
    return r->bare ? CUVET_PLACE_FOLLOWING : CUVET_PLACE_BYTES;
}
