/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/host.h"

static void free_at(cv_mem *mem, cv_host *host)
{
    cv_host_sections_free(mem, &host->sections);
    cv_host_ranges_free(mem, &host->ranges);
    cv_host_wrappers_free(mem, &host->wrappers);
    cv_u64s_free(mem, &host->named);
    *host = (cv_host){ 0 };
}

static uint64_t bytes_of(const cv_host *host)
{
    return host->sections.cap * sizeof(cv_host_section) + host->ranges.cap * sizeof(cv_host_range) +
           host->wrappers.cap * sizeof(cv_host_wrapper) + host->named.cap * sizeof(uint64_t);
}

void cv_host_free(cv_ctx *ctx, cv_host *host)
{
    free_at(&ctx->mem, host);
}

void cv_host_keep(cv_host_shelf *shelf, cv_ctx *ctx, cv_host *host)
{
    if (shelf->list.count >= CV_HOST_SHELF_MAX ||
        !cv_host_list_room(shelf->mem, &shelf->list, shelf->list.count + 1) ||
        !cv_mem_move(shelf->mem, &ctx->mem, bytes_of(host)))
        return; /* it is read again */
    if (cv_host_list_push(shelf->mem, &shelf->list, *host))
        *host = (cv_host){ 0 };
}

bool cv_host_take(cv_host_shelf *shelf, cv_ctx *ctx, uint64_t base, cv_host *out)
{
    cv_host *host = NULL;

    while (shelf->next < shelf->list.count) {
        host = cv_host_list_at(&shelf->list, shelf->next);
        if (host->base >= base)
            break;
        shelf->next++;
    }
    if (shelf->next >= shelf->list.count || host->base != base || cv_ctx_work(ctx) < host->work ||
        !cv_work(ctx, host->work, base) || !cv_mem_move(&ctx->mem, shelf->mem, bytes_of(host)))
        return false;
    *out = *host;
    *host = (cv_host){ .base = base };
    shelf->next++;
    return true;
}

void cv_host_shelf_clear(cv_host_shelf *shelf)
{
    for (uint64_t i = 0; i < shelf->list.count; i++)
        free_at(shelf->mem, cv_host_list_at(&shelf->list, i));
    cv_host_list_clear(&shelf->list);
    shelf->next = 0;
}

void cv_host_shelf_free(cv_host_shelf *shelf)
{
    cv_host_shelf_clear(shelf);
    cv_host_list_free(shelf->mem, &shelf->list);
}
