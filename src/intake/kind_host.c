/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELFs for other machines: their tables tell where containers are; all of their bytes are searched. */
#include "intake/locate.h"
#include "intake/probe.h"
#include "intake/region.h"

static cv_probe_result probe_host(cv_span head)
{
    return cv_locate_is_host(head) ? CV_PROBE_YES : CV_PROBE_NO;
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

static cuvet_status close_host(cv_ctx *ctx, cv_walk *walk, cv_region *region, bool whole)
{
    cuvet_status status = CUVET_OK;

    (void)region; /* one at a time */
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
                                        .probe = probe_host,
                                        .describe = cv_look_elf,
                                        .open = open_host,
                                        .next = cv_walk_search,
                                        .close = close_host };
