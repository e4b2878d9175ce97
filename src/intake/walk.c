/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/walk.h"

#include "intake/place.h"
#include "intake/walk_int.h"

cuvet_status cv_walk_open(cv_ctx *ctx, cv_walk *walk, const cuvet_source *src, uint64_t off, uint64_t end,
                          cv_region_kind kind, bool ledger)
{
    *walk = (cv_walk){ .src = src, .ledger = ledger };
    if (off == end)
        cv_report(ctx, CV_R_FILE_EMPTY, off, 0, 0, 0);
    return cv_walk_push(ctx, walk, off, end, kind);
}

cuvet_status cv_walk_push(cv_ctx *ctx, cv_walk *walk, uint64_t off, uint64_t end, cv_region_kind kind)
{
    cv_region region = {
        .kind = kind, .path = ctx->path, .off = off, .end = end, .pos = off, .covered = off, .rest_end = off
    };

    return cv_regions_push(&ctx->mem, &walk->stack, region) ? CUVET_OK : cv_nomem(ctx, off);
}

cuvet_status cv_walk_unit(cv_ctx *ctx, cv_walk *walk, cv_unit_kind kind, uint64_t off, cv_unit *out)
{
    *out = (cv_unit){ .kind = kind,
                      .path = ctx->path,
                      .off = off,
                      .referenced = true,
                      .place = kind == CV_UNIT_MEMBER ? walk->place : cv_place_at(ctx, walk, off, false) };
    if (walk->stack.count < 2) /* not in an archive */
        return CUVET_OK;
    if (!walk->named) {
        walk->ar_name = walk->names.count;
        walk->named = true;
        for (uint64_t i = 0; i < walk->name.count; i++) {
            if (!cv_u8s_push(&ctx->mem, &walk->names, *cv_u8s_at(&walk->name, i)))
                return cv_nomem(ctx, off);
        }
    }
    out->ar_name = walk->ar_name;
    out->ar_name_len = walk->name.count;
    return CUVET_OK;
}

bool cv_walk_is_first(const cv_walk *walk, uint64_t container_off)
{
    const cv_region *region = cv_regions_get(&walk->stack, walk->stack.count - 1);
    const cv_host_section *first = NULL; /* in the section table, wherever it lies */

    if (!region->host)
        return container_off == region->off;
    for (uint64_t i = 0; i < walk->host.sections.count; i++) {
        const cv_host_section *section = cv_host_sections_get(&walk->host.sections, i);

        if (section->kind == CV_HOSTOBJ_RELFATBIN && (!first || section->index < first->index))
            first = section;
    }
    return first && first->off == container_off;
}

void cv_walk_forget(cv_walk *walk)
{
    cv_u8s_clear(&walk->names);
    walk->named = false;
}

bool cv_walk_is_inside(const cv_walk *walk)
{
    return walk->in_container && !walk->broken && walk->at < walk->body_end;
}

/* What a unit costs, however small it is: a result, its path, its counts. */
#define UNIT_WORK UINT64_C(256)

cuvet_status cv_walk_next(cv_ctx *ctx, cv_walk *walk, cv_unit *out)
{
    while (walk->stack.count) {
        cv_region *region = cv_walk_top(walk);
        cv_step step = CV_STEP_AGAIN;
        cuvet_status status;

        if (!walk->in_container)
            ctx->path = region->path;
        if (walk->in_container)
            status = cv_walk_container(ctx, walk, &step, out);
        else if (region->kind == CV_REGION_ARCHIVE)
            status = cv_walk_archive(ctx, walk, &step);
        else
            status = cv_walk_object(ctx, walk, &step, out);
        if (status != CUVET_OK)
            return status;
        if (step == CV_STEP_UNIT) {
            /* Without work it is a unit all the same: its headers are read. */
            if (!cv_work(ctx, UNIT_WORK, out->off))
                walk->over = true;
            out->unpacked = walk->unpacked;
            out->walk_work = cv_ctx_spent(ctx);
            return CUVET_OK;
        }
        if (step == CV_STEP_POP)
            walk->stack.count--;
    }
    return CUVET_END;
}

void cv_walk_close(cv_ctx *ctx, cv_walk *walk)
{
    cv_regions_free(&ctx->mem, &walk->stack);
    cv_window_free(ctx, &walk->window);
    cv_block_free(ctx, &walk->tmp);
    cv_block_free(ctx, &walk->ar_table);
    cv_u8s_free(&ctx->mem, &walk->name);
    cv_u8s_free(&ctx->mem, &walk->names);
    cv_u64s_free(&ctx->mem, &walk->found);
    cv_u64s_free(&ctx->mem, &walk->targets);
    cv_host_free(ctx, &walk->host);
    cv_ledger_free(ctx, &walk->claims);
}
