/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/place.h"

#include "format/elf/read.h"
#include "intake/region.h"

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
static cv_hostobj_kind section_at(const cv_host *host, uint64_t at, bool *wrappers)
{
    cv_hostobj_kind found = CV_HOSTOBJ_OTHER;

    for (uint64_t i = 0; i < host->sections.count; i++) {
        const cv_host_section *section = cv_host_sections_get(&host->sections, i);

        *wrappers = *wrappers || section->kind == CV_HOSTOBJ_WRAPPERS;
        if (at < section->off || at - section->off >= section->size || found == CV_HOSTOBJ_RELFATBIN)
            continue;
        if (found != CV_HOSTOBJ_FATBIN || section->kind == CV_HOSTOBJ_RELFATBIN)
            found = section->kind;
    }
    return found;
}

static cuvet_place in_other(const cv_host *host, uint64_t at)
{
    bool object = host->type == CV_ELF_REL;

    switch (cv_host_use_at(host, at)) {
    case CV_HOST_DATA: return object ? CUVET_PLACE_DATA : CUVET_PLACE_PROGRAM;
    case CV_HOST_NO_DATA: return CUVET_PLACE_SECTION;
    case CV_HOST_OUTSIDE: break;
    }
    /* A program runs without a section table, and its segments say nothing of data and code. */
    return object || host->ranges.count + host->sections.count > 0 ? CUVET_PLACE_OUTSIDE
                                                                   : CUVET_PLACE_PROGRAM;
}

static cuvet_place in_host(cv_ctx *ctx, const cv_walk *walk, uint64_t at, bool container, bool member)
{
    const cv_host *host = &walk->host;
    bool object = host->type == CV_ELF_REL, wrappers = false;

    if (member && !object)
        return CUVET_PLACE_BYTES; /* tools that link take objects from archives, and no programs */
    if (!cv_work(ctx, host->sections.count + host->ranges.count, at))
        return CUVET_PLACE_OUTSIDE; /* reported: the limit is reached */
    switch ((unsigned)section_at(host, at, &wrappers)) {
    case CV_HOSTOBJ_OTHER: return in_other(host, at);
    case CV_HOSTOBJ_FATBIN: return object ? CUVET_PLACE_FINISHED : CUVET_PLACE_PROGRAM;
    case CV_HOSTOBJ_RELFATBIN: break;
    default: return CUVET_PLACE_SECTION;
    }
    if (!object)
        return CUVET_PLACE_PROGRAM;
    if (!container || !wrappers)
        return CUVET_PLACE_UNNAMED;
    if (cv_walk_is_first(walk, at))
        return CUVET_PLACE_OBJECT;
    return cv_host_names(host, at) ? CUVET_PLACE_NAMED : CUVET_PLACE_UNNAMED;
}

cuvet_place cv_place_at(cv_ctx *ctx, const cv_walk *walk, uint64_t at, bool container)
{
    uint64_t archives = cv_walk_depth(walk);
    const cv_region *region = cv_regions_get(&walk->stack, archives);

    if (walk->nested)
        return CUVET_PLACE_NESTED;
    if (region->table)
        return CUVET_PLACE_TABLE;
    if (region->place != 0) /* what it lies in knows */
        return region->place;
    if (archives > 1)
        return CUVET_PLACE_ARCHIVE;
    if (region->host)
        return in_host(ctx, walk, at, container, archives > 0);
    if (at == region->off)
        return archives > 0 ? CUVET_PLACE_MEMBER : CUVET_PLACE_FILE;
    return region->bare ? CUVET_PLACE_FOLLOWING : CUVET_PLACE_BYTES;
}
