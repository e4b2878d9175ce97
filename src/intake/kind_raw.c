/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes that are no object, or more than one: searched throughout. What begins like something that is not
 * looked into is here as well. */
#include "format/hostobj/read.h"
#include "intake/probe.h"
#include "intake/region.h"
#include "intake/search.h"

/* What a hit of the search costs: a look at tables that it may have. Magics are rare. */
#define HIT_WORK UINT64_C(192)

/* The same value heads the structure before the present container (CV_FATBIN_OLD_MAGIC): the reference takes
 * it for NVVM IR, at 0 or behind four zero bytes, and so does this. */
#define NVVM_MAGIC CV_FATBIN_OLD_MAGIC
#define NVVM_PAD   UINT64_C(4)

cuvet_status cv_walk_search_to(cv_ctx *ctx, cv_walk *walk, const cv_region *region, uint64_t end,
                               cv_piece *piece)
{
    bool found;
    cuvet_status status =
        cv_search(ctx, &walk->window, walk->src, region->pos, end, &found, &piece->off, &piece->head);

    if (status != CUVET_OK)
        return status;
    if (found && !walk->over && !cv_work(ctx, HIT_WORK, piece->off))
        walk->over = true; /* reported: what follows is not looked at */
    piece->what = found && !walk->over ? CV_PIECE_HIT : CV_PIECE_END;
    return CUVET_OK;
}

cuvet_status cv_walk_search(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece, cv_unit *unit)
{
    (void)unit; /* what is found is a region */
    return cv_walk_search_to(ctx, walk, region, region->end, piece);
}

/* First what it was taken for. A container is found by the search. */
static cuvet_status next_raw(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece, cv_unit *unit)
{
    if (!region->head || region->bare || region->pos != region->off)
        return cv_walk_search(ctx, walk, region, piece, unit);
    piece->what = CV_PIECE_HEAD;
    return CUVET_OK;
}

static cv_probe_result probe_any(cv_span head)
{
    (void)head; /* it takes what nobody else does */
    return CV_PROBE_YES;
}

const cv_container_ops cv_kind_raw = { .name = "raw", .holds = true, .probe = probe_any, .next = next_raw };

static cv_probe_result probe_nvvm(cv_span head)
{
    return cv_u32_at(head, 0) == NVVM_MAGIC ||
                   (cv_u32_at(head, 0) == 0 && cv_u32_at(head, NVVM_PAD) == NVVM_MAGIC)
               ? CV_PROBE_YES
               : CV_PROBE_NO;
}

static cuvet_status describe_nvvm(cv_look *look)
{
    look->out->off = cv_u32_at(look->span, 0) == NVVM_MAGIC ? 0 : NVVM_PAD;
    return cv_look_found(look, CUVET_K_NVVM);
}

static cuvet_status open_nvvm(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_span head)
{
    (void)walk; /* it is searched */
    if (cv_u32_at(head, 0) == CV_FATBIN_OLD_MAGIC)
        cv_report(ctx, CV_R_FILE_OLD_MAGIC, region->off, 4, CV_FATBIN_OLD_MAGIC, 0);
    return CUVET_OK;
}

static const cv_magic NVVM_MAGICS[] = { { NVVM_MAGIC, 4, 2, CUVET_K_NVVM },
                                        { (uint64_t)NVVM_MAGIC << 32, 8, 6, CUVET_K_NVVM } };

const cv_container_ops cv_kind_nvvm = { .name = "NVVM IR",
                                        .kind = CUVET_K_NVVM,
                                        .holds = true,
                                        .magic = NVVM_MAGICS,
                                        .n_magics = CV_COUNT(NVVM_MAGICS),
                                        .probe = probe_nvvm,
                                        .describe = describe_nvvm,
                                        .open = open_nvvm,
                                        .next = cv_walk_search };

static cv_probe_result probe_wrapper(cv_span head)
{
    return cv_u32_at(head, 0) == CV_WRAPPER_MAGIC ? CV_PROBE_YES : CV_PROBE_NO;
}

static cuvet_status describe_wrapper(cv_look *look)
{
    uint32_t version = cv_u32_at(look->span, 4);

    if (!look->lenient && look->span.len < CV_WRAPPER_SIZE)
        return cv_look_short(look, CUVET_K_WRAPPER, CV_R_CLASS_WRAPPER_SHORT, CV_WRAPPER_SIZE);
    if (!look->lenient && version != 1 && version != 2)
        return cv_look_broken(look, CUVET_K_WRAPPER,
                              (cv_class_why){ CV_R_CLASS_WRAPPER_VERSION, 4, 4, version, 2 });
    (void)cv_look_found(look, CUVET_K_WRAPPER);
    look->out->length = cv_min(look->span.len, CV_WRAPPER_SIZE);
    return CUVET_OK;
}

static const cv_magic WRAPPER_MAGICS[] = { { CV_WRAPPER_MAGIC, 4, 2, CUVET_K_WRAPPER } };

const cv_container_ops cv_kind_wrapper = { .name = "wrapper",
                                           .kind = CUVET_K_WRAPPER,
                                           .holds = true,
                                           .magic = WRAPPER_MAGICS,
                                           .n_magics = CV_COUNT(WRAPPER_MAGICS),
                                           .probe = probe_wrapper,
                                           .describe = describe_wrapper,
                                           .next = cv_walk_search };

/* Formats whose content is compressed as a whole: a search through it finds nothing but accidents. */
static cv_probe_result probe_compressed(cv_span head)
{
    static const struct {
        uint64_t value, mask;
    } MAGICS[] = {
#define COMPRESSED(name, value, mask, form) { value, mask },
#include "compressed.def"
    };
    uint64_t first = cv_u64_at(head, 0);

    for (size_t i = 0; i < CV_COUNT(MAGICS); i++) {
        if ((first & CV_AT(MAGICS, i).mask) == CV_AT(MAGICS, i).value)
            return CV_PROBE_YES;
    }
    return CV_PROBE_NO;
}

/* Not searched: no loader, linker or dumper of device code looks for any behind such a magic, and the bytes
 * of a compressed stream now and then look like a container. */
static cuvet_status open_compressed(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_span head)
{
    (void)walk;
    (void)head; /* known by now */
    cv_report(ctx, CV_R_FILE_COMPRESSED, region->off, cv_min(region->end - region->off, 4), 0, 0);
    region->compressed = true;
    region->pos = region->end;
    return CUVET_OK;
}

const cv_container_ops cv_kind_compressed = { .name = "compressed",
                                              .holds = true,
                                              .probe = probe_compressed,
                                              .open = open_compressed,
                                              .next = cv_walk_search };
