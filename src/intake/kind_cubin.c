/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device ELFs outside of containers: a file of its own, or in the middle of something. */
#include "intake/examine.h"
#include "intake/locate.h"
#include "intake/probe.h"
#include "intake/region.h"

/* Bytes that are examined as an image whose extent cannot be told. */
#define DAMAGED_MAX (64 * CV_MIB)

static cv_probe_result probe_cubin(cv_span head)
{
    if (cv_u32_at(head, 0) != CV_ELF_MAGIC)
        return CV_PROBE_NO;
    if (head.len < CV_CLASS_ELF_LENIENT)
        return CV_PROBE_CUT;
    return cv_locate_is_device(head) ? CV_PROBE_YES : CV_PROBE_NO;
}

/* The whole region, as far as it is known to go. */
static void set_extent(cv_ctx *ctx, cv_region *region, cv_located found, uint64_t extent)
{
    uint64_t left = region->end - region->off;

    if (found != CV_LOCATED_YES)
        /* Damaged: what follows belongs to the image, whose examination says why. In a huge file not all of
         * it: the search goes on behind. */
        extent = cv_min(left, DAMAGED_MAX);
    else if (extent != left)
        cv_report(ctx, CV_R_ELF_TRAILING, region->off + extent, left - extent, left - extent, 0);
    region->end = region->off + extent;
}

static cuvet_status check_cubin(cv_ctx *ctx, cv_walk *walk, const cv_region *in, cv_region *region,
                                cv_span head, bool *here)
{
    uint64_t extent = 0;
    bool plausible = cv_locate_plausible(head);
    cv_located found = CV_LOCATED_NO;
    cuvet_status status = cv_locate_extent(ctx, &walk->tmp, walk->src, region->off, in->end, &found, &extent);

    if (status != CUVET_OK)
        return status;
    *here = !region->embedded || found == CV_LOCATED_YES;
    if (!region->embedded)
        set_extent(ctx, region, found, extent);
    else if (found == CV_LOCATED_YES)
        region->end = region->off + extent;
    else if (found == CV_LOCATED_LIMIT)
        cv_report(ctx, CV_R_LIMIT_SECTIONS, region->off, 0, extent, ctx->lim.sections);
    else
        cv_report(ctx, plausible ? CV_R_FILE_DAMAGED_ELF : CV_R_FILE_STRAY_ELF, region->off, 0, 0, 0);
    return CUVET_OK;
}

static const cv_magic MAGIC[] = { { CV_ELF_MAGIC, 4, 1, CUVET_K_CUBIN } };

const cv_container_ops cv_kind_cubin = { .name = "device ELF",
                                         .kind = CUVET_K_CUBIN,
                                         .step = CUVET_P_ELF,
                                         .searched = true,
                                         .magic = MAGIC,
                                         .n_magics = CV_COUNT(MAGIC),
                                         .probe = probe_cubin,
                                         .describe = cv_look_elf,
                                         .check = check_cubin,
                                         .next = cv_walk_whole,
                                         .examine = cv_job_whole };
