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

static cv_ledger *ledger_of(cv_walk *w)
{
    return w->ledger ? &w->claims : NULL;
}

/* Zero bytes, fewer than GAP_MAX, a multiple of 8. */
static cuvet_status is_good_gap(cv_ctx *x, cv_walk *w, uint64_t from, uint64_t to, bool *good)
{
    uint8_t bytes[GAP_MAX] = { 0 };
    cuvet_status s = CUVET_OK;
    cv_span gap;

    *good = false;
    if (to - from >= GAP_MAX || (to - from) % 8 != 0)
        return CUVET_OK;
    /* The window stays where it is: the caller looks at a head in it. */
    if (!cv_near(w->window.block.span, from, to - from, &gap)) {
        s = cv_source_read(x, w->src, from, bytes, (size_t)(to - from));
        gap = cv_span_of(bytes, to - from, from);
    }
    *good = cv_span_find_nonzero(gap) == to - from;
    return s;
}

/* A stretch of a place where only containers may be. */
static cuvet_status check_stretch(cv_ctx *x, cv_walk *w, uint64_t from, uint64_t to)
{
    bool good;
    cuvet_status s = is_good_gap(x, w, from, to, &good);

    if (s == CUVET_OK && good)
        w->gap_bytes += to - from;
    else if (s == CUVET_OK)
        cv_report(x, CV_R_FATBIN_SECTION_UNCLAIMED, from, to - from, to - from, GAP_MAX);
    return s;
}

/* Parts of [from, to) that lie in fatbin sections. */
static cuvet_status check_sections(cv_ctx *x, cv_walk *w, uint64_t from, uint64_t to)
{
    cuvet_status s = CUVET_OK;

    if (!cv_work(x, w->host.sections.n, from))
        return CUVET_OK; /* reported: the scan of this file ends in the verdict limit */
    for (uint64_t i = 0; i < w->host.sections.n && s == CUVET_OK; i++) {
        const cv_host_section *h = cv_host_sections_at(&w->host.sections, i);
        uint64_t a = cv_max(from, h->off), b = cv_min(to, cv_sat_add(h->off, h->size));

        if (cv_walk_holds_containers(h) && a < b)
            s = check_stretch(x, w, a, b);
    }
    return s;
}

cuvet_status cv_walk_gap(cv_ctx *x, cv_walk *w, uint64_t to)
{
    cv_region *r = cv_walk_top(w);
    uint64_t from = r->covered, rest = cv_min(r->rest_end, to);
    cv_claim_kind kind = r->host         ? CV_CLAIM_HOST
                         : r->bare       ? CV_CLAIM_CONTAINER_GAP
                         : r->compressed ? CV_CLAIM_COMPRESSED
                                         : CV_CLAIM_OTHER;
    cuvet_status s = CUVET_OK;

    if (from < rest) {
        cv_ledger_claim(x, ledger_of(w), from, rest - from, CV_CLAIM_CONTAINER_REST, 0, false);
        from = rest;
    }
    if (from < to) {
        if (w->over)
            kind = CV_CLAIM_OTHER; /* after the limit of containers: not looked at, not judged */
        else if (r->bare)
            s = check_stretch(x, w, from, to);
        else if (r->host)
            s = check_sections(x, w, from, to);
        cv_ledger_claim(x, ledger_of(w), from, to - from, kind, 0, false);
    }
    r->covered = cv_max(r->covered, to);
    return s;
}

/* In archives and host files there is a place for everything: what lies elsewhere no linker and no dumper
 * sees. */
void cv_walk_say_place(cv_ctx *x, const cv_walk *w, uint64_t at, cuvet_place place)
{
    if (!cv_place_chosen(place) && (w->stack.n > 1 || cv_regions_get(&w->stack, 0)->host))
        cv_report(x, CV_R_HOST_PLACE, at, CV_FATBIN_HEADER, place, 0);
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
static void leave_compressed(cv_ctx *x, cv_region *r)
{
    cv_report(x, CV_R_FILE_COMPRESSED, r->off, cv_min(r->end - r->off, 4), 0, 0);
    r->compressed = true;
    r->pos = r->end;
}

static cuvet_status start_image(cv_ctx *x, cv_walk *w, cv_step *step, cv_unit *out)
{
    cv_region *r = cv_walk_top(w);
    cv_located found;
    uint64_t extent = r->end - r->off;
    cuvet_status s = cv_locate_extent(x, &w->tmp, w->src, r->off, r->end, &found, &extent);

    if (s != CUVET_OK)
        return s;
    if (found != CV_LOCATED_YES)
        /* Damaged: what follows belongs to the image, whose examination says why. In a huge file not all of
         * it: the search goes on behind. */
        extent = cv_min(r->end - r->off, DAMAGED_MAX);
    else if (extent != r->end - r->off)
        cv_report(x, CV_R_ELF_TRAILING, r->off + extent, r->end - r->off - extent, r->end - r->off - extent,
                  0);
    cv_path_push(x, CUVET_P_ELF, false, 0);
    s = cv_walk_unit(x, w, CV_UNIT_IMAGE, r->off, out);
    cv_path_pop(x);
    out->payload_size = extent;
    r->pos = r->covered = r->off + extent;
    w->n_images++;
    *step = CV_STEP_UNIT;
    return s;
}

static cuvet_status start_text(cv_ctx *x, cv_walk *w, cv_step *step, cv_unit *out)
{
    cv_region *r = cv_walk_top(w);
    cuvet_status s;

    cv_path_push(x, CUVET_P_PTX, false, 0);
    s = cv_walk_unit(x, w, CV_UNIT_TEXT, r->off, out);
    cv_path_pop(x);
    out->payload_size = r->end - r->off;
    r->pos = r->covered = r->end;
    w->n_images++;
    *step = CV_STEP_UNIT;
    return s;
}

/* PTX begins with blanks and comments of any length: more and more is read while that is all there is. */
static cuvet_status maybe_text(cv_ctx *x, cv_walk *w, cv_step *step, cv_unit *out)
{
    cv_region *r = cv_walk_top(w);
    uint64_t left = r->end - r->off, size = w->tmp.span.len;
    cv_ptx_guess guess = cv_ptx_look(w->tmp.span);

    while (guess == CV_PTX_MORE && size < left) {
        cuvet_status s;

        size = cv_min(left, size * 16);
        if (!cv_work(x, size, r->off))
            return CUVET_OK;
        s = cv_block_load(x, &w->tmp, w->src, r->off, size);
        if (s != CUVET_OK)
            return s == CUVET_E_LIMIT ? CUVET_OK : s;
        guess = cv_ptx_look(w->tmp.span);
    }
    return guess == CV_PTX_YES ? start_text(x, w, step, out) : CUVET_OK;
}

/* IR takes all of the object, as text does. Code that hides in it is found when it is examined. */
static cuvet_status start_ir(cv_ctx *x, cv_walk *w, cv_unit_kind kind, cv_step *step, cv_unit *out)
{
    cv_region *r = cv_walk_top(w);
    cuvet_status s;

    cv_path_push(x, kind == CV_UNIT_BITCODE ? CUVET_P_BITCODE : CUVET_P_LTOIR, false, 0);
    s = cv_walk_unit(x, w, kind, r->off, out);
    cv_path_pop(x);
    out->payload_size = r->end - r->off;
    r->pos = r->covered = r->end;
    w->n_images++;
    *step = CV_STEP_UNIT;
    return s;
}

static cuvet_status start_archive(cv_ctx *x, cv_walk *w)
{
    cv_region *r = cv_walk_top(w);
    uint64_t depth = 0;

    for (uint64_t i = 0; i < w->stack.n; i++)
        depth += cv_regions_at(&w->stack, i)->kind == CV_REGION_ARCHIVE;
    if (depth >= x->lim.nesting || depth >= CV_WALK_DEPTH) {
        cv_report(x, CV_R_LIMIT_NESTING, r->off, 0, depth + 1, x->lim.nesting);
        return CUVET_OK; /* searched as raw bytes instead */
    }
    r->kind = CV_REGION_ARCHIVE;
    return CUVET_OK;
}

/* First look at an object. Sets what it is; a bare image or text is a unit at once. */
static cuvet_status start(cv_ctx *x, cv_walk *w, cv_step *step, cv_unit *out)
{
    cv_region *r = cv_walk_top(w);
    cv_span head;
    cuvet_status s = cv_block_load(x, &w->tmp, w->src, r->off, cv_min(r->end - r->off, CV_PTX_PROBE));

    r->started = true;
    cv_u64s_clear(&w->found);
    if (s != CUVET_OK)
        return s;
    head = w->tmp.span;
    if (r->kind == CV_REGION_RAW)
        return maybe_text(x, w, step, out);
    if (cv_ar_probe(head) != CV_AR_NONE)
        return start_archive(x, w);
    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        r->bare = true;
    else if (cv_locate_is_device(head))
        return start_image(x, w, step, out);
    else if (cv_locate_is_host(head)) {
        r->host = true;
        r->pos = r->off + 4;
        s = cv_host_read(x, w->src, r->off, r->end - r->off, &w->host);
    } else if (cv_u32_at(head, 0) == CV_FATBIN_OLD_MAGIC)
        cv_report(x, CV_R_FILE_OLD_MAGIC, r->off, 4, CV_FATBIN_OLD_MAGIC, 0);
    else if (cv_bc_probe(head) != CV_BC_NONE)
        return start_ir(x, w, CV_UNIT_BITCODE, step, out);
    else if (cv_u32_at(head, 0) == CV_LTOIR_MAGIC)
        return start_ir(x, w, CV_UNIT_LTOIR, step, out);
    else if (is_compressed_file(head))
        leave_compressed(x, r);
    else
        return maybe_text(x, w, step, out);
    /* A host file whose tables cost too much was reported; its bytes are searched all the same. */
    return s == CUVET_E_LIMIT ? CUVET_OK : s;
}

/* A raw device ELF in the middle of something. */
static cuvet_status embedded(cv_ctx *x, cv_walk *w, uint64_t at, cv_span head, cv_step *step, cv_unit *out)
{
    cv_region *r = cv_walk_top(w);
    uint64_t extent = 0;
    bool plausible = cv_locate_plausible(head);
    cv_located found;
    cuvet_status s = cv_locate_extent(x, &w->tmp, w->src, at, r->end, &found, &extent);

    r->pos = at + 4;
    if (s != CUVET_OK)
        return s;
    if (found == CV_LOCATED_LIMIT) {
        cv_report(x, CV_R_LIMIT_SECTIONS, at, 0, extent, x->lim.sections);
        return CUVET_OK;
    }
    if (found == CV_LOCATED_NO) {
        cv_report(x, plausible ? CV_R_FILE_DAMAGED_ELF : CV_R_FILE_STRAY_ELF, at, 0, 0, 0);
        return CUVET_OK;
    }
    s = cv_walk_gap(x, w, at);
    if (s != CUVET_OK)
        return s;
    cv_path_push(x, CUVET_P_ELF, true, r->n_elf++);
    s = cv_walk_unit(x, w, CV_UNIT_IMAGE, at, out);
    cv_path_pop(x);
    cv_walk_say_place(x, w, at, out->place);
    out->payload_size = extent;
    out->embedded = true;
    r->pos = r->covered = at + extent;
    w->n_images++;
    *step = CV_STEP_UNIT;
    return s;
}

static cuvet_status finish(cv_ctx *x, cv_walk *w, cv_step *step)
{
    cv_region *r = cv_walk_top(w);
    cuvet_status s = cv_walk_gap(x, w, r->end);

    /* After the limit of containers the list of what was found is not whole: wrappers cannot be judged with
     * it. */
    if (s == CUVET_OK && r->host && !w->over)
        cv_host_check_wrappers(x, &w->host, &w->found);
    cv_host_free(x, &w->host);
    *step = CV_STEP_POP;
    return s;
}

/* A container has to be where a wrapper points and where only containers may be. */
static bool must_be_container(cv_ctx *x, const cv_walk *w, const cv_region *r, uint64_t at)
{
    if (r->bare && at == r->off)
        return true;
    if (!r->host || !cv_work(x, w->host.sections.n, at))
        return false;
    for (uint64_t i = 0; i < w->host.sections.n; i++) {
        const cv_host_section *h = cv_host_sections_get(&w->host.sections, i);

        if (h->off == at && cv_walk_holds_containers(h))
            return true;
    }
    return cv_host_names(&w->host, at);
}

cuvet_status cv_walk_object(cv_ctx *x, cv_walk *w, cv_step *step, cv_unit *out)
{
    cv_region *r = cv_walk_top(w);
    bool found;
    uint64_t at;
    cv_span head;
    cuvet_status s;

    if (!r->started)
        return start(x, w, step, out);
    s = cv_search(x, &w->window, w->src, r->pos, r->end, &found, &at, &head);
    if (s != CUVET_OK)
        return s;
    if (found && !w->over && !cv_work(x, HIT_WORK, at))
        w->over = true; /* reported: what follows is not looked at */
    if (!found || w->over)
        return finish(x, w, step);
    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        return cv_walk_enter(x, w, at, head, must_be_container(x, w, r, at));
    if (cv_locate_is_device(head))
        return embedded(x, w, at, head, step, out);
    r->pos = at + 4;
    return CUVET_OK;
}
