/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One object (the file, an archive member): what it is, and the search through all of its bytes. */
#include "intake/walk_int.h"

#include "format/bitcode/read.h"
#include "format/hostobj/read.h"
#include "format/ptx/read.h"
#include "intake/kind_fatbin_agree.h"
#include "intake/locate.h"
#include "intake/place.h"
#include "intake/search.h"

/* Largest gap of zero bytes that good tools leave between containers. */
#define GAP_MAX UINT64_C(32)

/* What a hit of the search costs: a look at tables that it may have. Magics are rare. */
#define HIT_WORK UINT64_C(192)

/* Bytes that are examined as an image whose extent cannot be told. */
#define DAMAGED_MAX (64 * CV_MIB)

static cv_ledger *ledger_of(cv_walk *walk)
{
    return walk->ledger ? &walk->claims : NULL;
}

/* Zero bytes, fewer than GAP_MAX, a multiple of 8. */
static cuvet_status is_good_gap(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t to, bool *good)
{
    uint8_t bytes[GAP_MAX] = { 0 };
    cuvet_status status = CUVET_OK;
    cv_span gap;

    *good = false;
    if (to - from >= GAP_MAX || (to - from) % 8 != 0)
        return CUVET_OK;
    /* The window stays where it is: the caller looks at a head in it. */
    if (!cv_near(walk->window.block.span, from, to - from, &gap)) {
        status = cv_source_read(ctx, walk->src, from, bytes, (size_t)(to - from));
        gap = cv_span_of(bytes, to - from, from);
    }
    *good = cv_span_find_nonzero(gap) == to - from;
    return status;
}

/* A stretch of a place where only containers may be. */
static cuvet_status check_stretch(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t to)
{
    bool good;
    cuvet_status status = is_good_gap(ctx, walk, from, to, &good);

    if (status == CUVET_OK && good)
        walk->gap_bytes += to - from;
    else if (status == CUVET_OK)
        cv_report(ctx, CV_R_FATBIN_SECTION_UNCLAIMED, from, to - from, to - from, GAP_MAX);
    return status;
}

/* Parts of [from, to) that lie in fatbin sections. */
static cuvet_status check_sections(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t to)
{
    cuvet_status status = CUVET_OK;

    if (!cv_work(ctx, walk->host.sections.count, from))
        return CUVET_OK; /* reported: the scan of this file ends in the verdict limit */
    for (uint64_t i = 0; i < walk->host.sections.count && status == CUVET_OK; i++) {
        const cv_host_section *header = cv_host_sections_at(&walk->host.sections, i);
        uint64_t begin = cv_max(from, header->off), end = cv_min(to, cv_sat_add(header->off, header->size));

        if (cv_walk_holds_containers(header) && begin < end)
            status = check_stretch(ctx, walk, begin, end);
    }
    return status;
}

cuvet_status cv_walk_gap(cv_ctx *ctx, cv_walk *walk, uint64_t to)
{
    cv_region *region = cv_walk_top(walk);
    uint64_t from = region->covered, rest = cv_min(region->rest_end, to);
    cv_claim_kind kind = region->host         ? CV_CLAIM_HOST
                         : region->bare       ? CV_CLAIM_CONTAINER_GAP
                         : region->compressed ? CV_CLAIM_COMPRESSED
                                              : CV_CLAIM_OTHER;
    cuvet_status status = CUVET_OK;

    if (from < rest) {
        cv_ledger_claim(ctx, ledger_of(walk), from, rest - from, CV_CLAIM_CONTAINER_REST, 0, false);
        from = rest;
    }
    if (from < to) {
        if (walk->over)
            kind = CV_CLAIM_OTHER; /* after the limit of containers: not looked at, not judged */
        else if (region->bare)
            status = check_stretch(ctx, walk, from, to);
        else if (region->host)
            status = check_sections(ctx, walk, from, to);
        cv_ledger_claim(ctx, ledger_of(walk), from, to - from, kind, 0, false);
    }
    region->covered = cv_max(region->covered, to);
    return status;
}

/* In archives and host files there is a place for everything: what lies elsewhere no linker and no dumper
 * sees. */
void cv_walk_say_place(cv_ctx *ctx, const cv_walk *walk, uint64_t at, cuvet_place place)
{
    if (!cv_place_chosen(place) && (walk->stack.count > 1 || cv_regions_get(&walk->stack, 0)->host))
        cv_report(ctx, CV_R_HOST_PLACE, at, CV_FATBIN_HEADER, place, 0);
}

/* Formats whose content is compressed as a whole: a search through it finds nothing but accidents. */
static bool is_compressed_file(cv_span head)
{
    static const struct {
        uint64_t value, mask;
    } MAGICS[] = {
#define COMPRESSED(name, value, mask) { value, mask },
#include "compressed.def"
    };
    uint64_t first = cv_u64_at(head, 0);

    for (size_t i = 0; i < CV_COUNT(MAGICS); i++) {
        if ((first & CV_AT(MAGICS, i).mask) == CV_AT(MAGICS, i).value)
            return true;
    }
    return false;
}

/* Not searched: no loader, linker or dumper of device code looks for any behind such a magic, and the bytes
 * of a compressed stream now and then look like a container. */
static void leave_compressed(cv_ctx *ctx, cv_region *region)
{
    cv_report(ctx, CV_R_FILE_COMPRESSED, region->off, cv_min(region->end - region->off, 4), 0, 0);
    region->compressed = true;
    region->pos = region->end;
}

static cuvet_status start_image(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out)
{
    cv_region *region = cv_walk_top(walk);
    cv_located found;
    uint64_t extent = region->end - region->off;
    cuvet_status status =
        cv_locate_extent(ctx, &walk->tmp, walk->src, region->off, region->end, &found, &extent);

    if (status != CUVET_OK)
        return status;
    if (found != CV_LOCATED_YES)
        /* Damaged: what follows belongs to the image, whose examination says why. In a huge file not all of
         * it: the search goes on behind. */
        extent = cv_min(region->end - region->off, DAMAGED_MAX);
    else if (extent != region->end - region->off)
        cv_report(ctx, CV_R_ELF_TRAILING, region->off + extent, region->end - region->off - extent,
                  region->end - region->off - extent, 0);
    cv_path_push(ctx, CUVET_P_ELF, false, 0);
    status = cv_walk_unit(ctx, walk, CV_UNIT_IMAGE, region->off, out);
    cv_path_pop(ctx);
    out->payload_size = extent;
    region->pos = region->covered = region->off + extent;
    walk->n_images++;
    *step = CV_STEP_UNIT;
    return status;
}

static cuvet_status start_text(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out)
{
    cv_region *region = cv_walk_top(walk);
    cuvet_status status;

    cv_path_push(ctx, CUVET_P_PTX, false, 0);
    status = cv_walk_unit(ctx, walk, CV_UNIT_TEXT, region->off, out);
    cv_path_pop(ctx);
    out->payload_size = region->end - region->off;
    region->pos = region->covered = region->end;
    walk->n_images++;
    *step = CV_STEP_UNIT;
    return status;
}

/* PTX begins with blanks and comments of any length: more and more is read while that is all there is. */
static cuvet_status maybe_text(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out)
{
    cv_region *region = cv_walk_top(walk);
    uint64_t left = region->end - region->off, size = walk->tmp.span.len;
    cv_ptx_guess guess = cv_ptx_look(walk->tmp.span);

    while (guess == CV_PTX_MORE && size < left) {
        cuvet_status status;

        size = cv_min(left, size * 16);
        if (!cv_work(ctx, size, region->off))
            return CUVET_OK;
        status = cv_block_load(ctx, &walk->tmp, walk->src, region->off, size);
        if (status != CUVET_OK)
            return status == CUVET_E_LIMIT ? CUVET_OK : status;
        guess = cv_ptx_look(walk->tmp.span);
    }
    return guess == CV_PTX_YES ? start_text(ctx, walk, step, out) : CUVET_OK;
}

/* IR takes all of the object, as text does. Code that hides in it is found when it is examined. */
static cuvet_status start_ir(cv_ctx *ctx, cv_walk *walk, cv_unit_kind kind, cv_step *step, cv_unit *out)
{
    cv_region *region = cv_walk_top(walk);
    cuvet_status status;

    cv_path_push(ctx, kind == CV_UNIT_BITCODE ? CUVET_P_BITCODE : CUVET_P_LTOIR, false, 0);
    status = cv_walk_unit(ctx, walk, kind, region->off, out);
    cv_path_pop(ctx);
    out->payload_size = region->end - region->off;
    region->pos = region->covered = region->end;
    walk->n_images++;
    *step = CV_STEP_UNIT;
    return status;
}

static cuvet_status start_archive(cv_ctx *ctx, cv_walk *walk)
{
    cv_region *region = cv_walk_top(walk);
    uint64_t depth = 0;

    for (uint64_t i = 0; i < walk->stack.count; i++)
        depth += cv_regions_at(&walk->stack, i)->kind == CV_REGION_ARCHIVE;
    if (depth >= ctx->lim.nesting || depth >= CV_WALK_DEPTH) {
        cv_report(ctx, CV_R_LIMIT_NESTING, region->off, 0, depth + 1, ctx->lim.nesting);
        return CUVET_OK; /* searched as raw bytes instead */
    }
    region->kind = CV_REGION_ARCHIVE;
    return CUVET_OK;
}

/* First look at an object. Sets what it is; a bare image or text is a unit at once. */
static cuvet_status start(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out)
{
    cv_region *region = cv_walk_top(walk);
    cv_span head;
    cuvet_status status = cv_block_load(ctx, &walk->tmp, walk->src, region->off,
                                        cv_min(region->end - region->off, CV_PTX_PROBE));

    region->started = true;
    cv_u64s_clear(&walk->found);
    if (status != CUVET_OK)
        return status;
    head = walk->tmp.span;
    if (region->kind == CV_REGION_RAW)
        return maybe_text(ctx, walk, step, out);
    if (cv_ar_probe(head) != CV_AR_NONE)
        return start_archive(ctx, walk);
    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        region->bare = true;
    else if (cv_locate_is_device(head))
        return start_image(ctx, walk, step, out);
    else if (cv_locate_is_host(head)) {
        region->host = true;
        region->pos = region->off + 4;
        if (!walk->shelf || !cv_host_take(walk->shelf, ctx, region->off, &walk->host))
            status = cv_host_read(ctx, walk->src, region->off, region->end - region->off, &walk->host);
    } else if (cv_u32_at(head, 0) == CV_FATBIN_OLD_MAGIC)
        cv_report(ctx, CV_R_FILE_OLD_MAGIC, region->off, 4, CV_FATBIN_OLD_MAGIC, 0);
    else if (cv_bc_probe(head) != CV_BC_NONE)
        return start_ir(ctx, walk, CV_UNIT_BITCODE, step, out);
    else if (cv_u32_at(head, 0) == CV_LTOIR_MAGIC)
        return start_ir(ctx, walk, CV_UNIT_LTOIR, step, out);
    else if (is_compressed_file(head))
        leave_compressed(ctx, region);
    else
        return maybe_text(ctx, walk, step, out);
    /* A host file whose tables cost too much was reported; its bytes are searched all the same. */
    return status == CUVET_E_LIMIT ? CUVET_OK : status;
}

/* A raw device ELF in the middle of something. */
static cuvet_status embedded(cv_ctx *ctx, cv_walk *walk, uint64_t at, cv_span head, cv_step *step,
                             cv_unit *out)
{
    cv_region *region = cv_walk_top(walk);
    uint64_t extent = 0;
    bool plausible = cv_locate_plausible(head);
    cv_located found;
    cuvet_status status = cv_locate_extent(ctx, &walk->tmp, walk->src, at, region->end, &found, &extent);

    region->pos = at + 4;
    if (status != CUVET_OK)
        return status;
    if (found == CV_LOCATED_LIMIT) {
        cv_report(ctx, CV_R_LIMIT_SECTIONS, at, 0, extent, ctx->lim.sections);
        return CUVET_OK;
    }
    if (found == CV_LOCATED_NO) {
        cv_report(ctx, plausible ? CV_R_FILE_DAMAGED_ELF : CV_R_FILE_STRAY_ELF, at, 0, 0, 0);
        return CUVET_OK;
    }
    status = cv_walk_gap(ctx, walk, at);
    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, CUVET_P_ELF, true, region->n_elf++);
    status = cv_walk_unit(ctx, walk, CV_UNIT_IMAGE, at, out);
    cv_path_pop(ctx);
    cv_walk_say_place(ctx, walk, at, out->place);
    out->payload_size = extent;
    out->embedded = true;
    region->pos = region->covered = at + extent;
    walk->n_images++;
    *step = CV_STEP_UNIT;
    return status;
}

static cuvet_status finish(cv_ctx *ctx, cv_walk *walk, cv_step *step)
{
    cv_region *region = cv_walk_top(walk);
    cuvet_status status = cv_walk_gap(ctx, walk, region->end);

    /* After the limit of containers the list of what was found is not whole: wrappers cannot be judged with
     * it. */
    if (status == CUVET_OK && region->host && !walk->over)
        cv_host_check_wrappers(ctx, &walk->host, &walk->found);
    cv_host_free(ctx, &walk->host);
    *step = CV_STEP_POP;
    return status;
}

/* A container has to be where a wrapper points and where only containers may be. */
static bool must_be_container(cv_ctx *ctx, const cv_walk *walk, const cv_region *region, uint64_t at)
{
    if (region->bare && at == region->off)
        return true;
    if (!region->host || !cv_work(ctx, walk->host.sections.count, at))
        return false;
    for (uint64_t i = 0; i < walk->host.sections.count; i++) {
        const cv_host_section *header = cv_host_sections_get(&walk->host.sections, i);

        if (header->off == at && cv_walk_holds_containers(header))
            return true;
    }
    return cv_host_names(&walk->host, at);
}

cuvet_status cv_walk_object(cv_ctx *ctx, cv_walk *walk, cv_step *step, cv_unit *out)
{
    cv_region *region = cv_walk_top(walk);
    bool found;
    uint64_t at;
    cv_span head;
    cuvet_status status;

    if (!region->started)
        return start(ctx, walk, step, out);
    status = cv_search(ctx, &walk->window, walk->src, region->pos, region->end, &found, &at, &head);
    if (status != CUVET_OK)
        return status;
    if (found && !walk->over && !cv_work(ctx, HIT_WORK, at))
        walk->over = true; /* reported: what follows is not looked at */
    if (!found || walk->over)
        return finish(ctx, walk, step);
    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        return cv_walk_enter(ctx, walk, at, head, must_be_container(ctx, walk, region, at));
    if (cv_locate_is_device(head))
        return embedded(ctx, walk, at, head, step, out);
    region->pos = at + 4;
    return CUVET_OK;
}
