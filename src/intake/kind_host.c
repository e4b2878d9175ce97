/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELFs for other machines: their tables tell where containers are; all of their bytes are searched. */
#include "intake/locate.h"
#include "intake/probe.h"
#include "intake/region.h"
#include "intake/search.h"

static cv_probe_result probe_host(cv_span head)
{
    return cv_locate_is_host(head) ? CV_PROBE_YES : CV_PROBE_NO;
}

/* Of the file, while one of its sections is walked, which may hold another host ELF. */
typedef struct host_state {
    bool away; /* it is here, and not in the walk */
    cv_host host;
    cv_u64s found;
    cv_host_extents code;
    uint64_t section; /* the next one that may have parts, in the order of the file */
} host_state;

static void put_away(cv_walk *walk, host_state *state)
{
    state->host = walk->host;
    state->found = walk->found;
    state->code = walk->code;
    state->away = true;
    walk->host = (cv_host){ 0 };
    walk->found = (cv_u64s){ 0 };
    walk->code = (cv_host_extents){ 0 };
}

static void take_back(cv_ctx *ctx, cv_walk *walk, host_state *state)
{
    if (!state || !state->away) /* NULL: there was no memory for it */
        return;
    cv_host_free(ctx, &walk->host);
    cv_u64s_free(&ctx->mem, &walk->found);
    cv_host_extents_free(&ctx->mem, &walk->code);
    walk->host = state->host;
    walk->found = state->found;
    walk->code = state->code;
    state->away = false;
}

static cuvet_status open_host(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_span head)
{
    cuvet_status status = CUVET_OK;

    (void)head; /* read with the rest of it */
    region->host = true;
    region->pos = region->off + 4;
    if (!walk->shelf || !cv_host_take(walk->shelf, ctx, region->off, &walk->host))
        status = cv_host_read(ctx, walk->src, region->off, region->end - region->off, &walk->host);
    /* A host file whose tables cost too much was reported; its bytes are searched all the same. */
    return status == CUVET_E_LIMIT ? CUVET_OK : status;
}

/* The next section that holds offload binaries; NULL: none. One that begins in what has been walked, or in
 * the header of the file, cannot be walked. */
static const cv_host_section *next_section(cv_ctx *ctx, const cv_walk *walk, const cv_region *region,
                                           host_state *state)
{
    uint64_t from = cv_max(region->covered, region->off + cv_elf_ehdr_size(walk->host.is32));

    for (; state->section < walk->host.sections.count; state->section++) {
        const cv_host_section *section = cv_host_sections_get(&walk->host.sections, state->section);

        if (section->kind != CV_HOSTOBJ_OFFLOAD || section->size == 0)
            continue;
        if (section->off >= from)
            return section;
        cv_report_at(ctx, CUVET_P_SECTION, section->index, CV_R_HOST_OFFLOAD_OVERLAP, section->off,
                     section->size, section->off, from);
    }
    return NULL;
}

/* A linker wrapper reads that of an object; a program loads its own. */
static cuvet_place place_of(const cv_walk *walk)
{
    if (walk->host.type == CV_ELF_REL)
        return CUVET_PLACE_OFFLOAD;
    return cv_walk_depth(walk) > 0 ? CUVET_PLACE_BYTES : CUVET_PLACE_PROGRAM;
}

static cuvet_status enter_section(cv_ctx *ctx, cv_walk *walk, cv_region *region,
                                  const cv_host_section *section, cv_piece *piece)
{
    host_state *state = region->state;
    cv_host_extent code = { section->off, section->off + section->size };
    cuvet_status status = cv_walk_gap(ctx, walk, region, code.off);

    if (status == CUVET_OK && !cv_host_extents_push(&ctx->mem, &walk->code, code))
        status = cv_nomem(ctx, code.off);
    *piece = (cv_piece){ .what = CV_PIECE_REGION,
                         .off = code.off,
                         .end = code.end,
                         .step = CUVET_P_SECTION,
                         .index = section->index,
                         .row = &cv_kind_offload,
                         .place = place_of(walk) };
    if (status == CUVET_OK)
        status = cv_walk_border(ctx, walk, region->off, code.end, region->end);
    region->pos = region->covered = region->rest_end = code.end;
    state->section++;
    put_away(walk, state);
    return status;
}

/* What is searched, up to such a section; then that. */
static cuvet_status next_in_host(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece,
                                 cv_unit *unit)
{
    host_state *state = region->state;
    const cv_host_section *section;
    cuvet_status status;

    take_back(ctx, walk, state);
    section = next_section(ctx, walk, region, state);
    if (!section)
        return cv_walk_search(ctx, walk, region, piece, unit);
    if (region->pos < section->off) {
        /* A header that begins before the section is seen whole. */
        uint64_t end = cv_min(region->end, section->off + CV_SEARCH_HEAD);

        status = cv_walk_search_to(ctx, walk, region, end, piece);
        if (status != CUVET_OK || walk->over || (piece->what == CV_PIECE_HIT && piece->off < section->off))
            return status;
    }
    return enter_section(ctx, walk, region, section, piece);
}

static cuvet_status close_host(cv_ctx *ctx, cv_walk *walk, cv_region *region, bool whole)
{
    cuvet_status status = CUVET_OK;

    take_back(ctx, walk, region->state);
    if (whole) {
        cv_host_check_wrappers(ctx, &walk->host, &walk->found);
        status = cv_host_check_intact(ctx, walk->src, &walk->host, &walk->code);
    }
    cv_host_free(ctx, &walk->host);
    return status == CUVET_E_LIMIT ? CUVET_OK : status; /* reported */
}

const cv_container_ops cv_kind_host = { .name = "host ELF",
                                        .kind = CUVET_K_HOST_ELF,
                                        .step = CUVET_P_HOST,
                                        .holds = true,
                                        .state_size = sizeof(host_state),
                                        .probe = probe_host,
                                        .describe = cv_look_elf,
                                        .open = open_host,
                                        .next = next_in_host,
                                        .close = close_host };
