/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/host.h"

static void free_at(cv_mem *mem, cv_host *host)
{
    cv_host_sections_free(mem, &host->sections);
    cv_host_ranges_free(mem, &host->ranges);
    cv_host_wrappers_free(mem, &host->wrappers);
    cv_u64s_free(mem, &host->named);
    cv_host_loads_free(mem, &host->loads);
    *host = (cv_host){ 0 };
}

static uint64_t bytes_of(const cv_host *host)
{
    return host->sections.cap * sizeof(cv_host_section) + host->ranges.cap * sizeof(cv_host_range) +
           host->wrappers.cap * sizeof(cv_host_wrapper) + host->named.cap * sizeof(uint64_t) +
           host->loads.cap * sizeof(cv_elf_segment);
}

void cv_host_free(cv_ctx *ctx, cv_host *host)
{
    free_at(&ctx->mem, host);
}

/* The entry of what begins there, a new one if need be; NULL: there is no room. */
static cv_known *entry_for(cv_host_shelf *shelf, uint64_t base)
{
    uint64_t count = shelf->list.count;

    if (count != 0) {
        cv_known *last = cv_known_list_at(&shelf->list, count - 1);

        if (last->base >= base)
            return last->base == base ? last : NULL;
    }
    if (count >= CV_HOST_SHELF_MAX ||
        !cv_known_list_push(shelf->mem, &shelf->list, (cv_known){ .base = base }))
        return NULL;
    return cv_known_list_at(&shelf->list, count);
}

/* The same of one that is there. */
static cv_known *entry_at(cv_host_shelf *shelf, uint64_t base)
{
    while (shelf->next < shelf->list.count) {
        cv_known *known = cv_known_list_at(&shelf->list, shelf->next);

        if (known->base >= base)
            return known->base == base ? known : NULL;
        shelf->next++;
    }
    return NULL;
}

void cv_host_put_kind(cv_host_shelf *shelf, uint64_t base, cuvet_kind kind)
{
    cv_known *known = entry_for(shelf, base);

    if (known)
        known->kind = kind;
}

void cv_host_keep(cv_host_shelf *shelf, cv_ctx *ctx, cv_host *host)
{
    cv_known *known = entry_for(shelf, host->base);

    if (!known || known->read || !cv_mem_move(shelf->mem, &ctx->mem, bytes_of(host)))
        return; /* it is read again */
    known->host = *host;
    known->read = true;
    *host = (cv_host){ 0 };
}

cuvet_kind cv_host_kind_at(cv_host_shelf *shelf, uint64_t base)
{
    const cv_known *known = entry_at(shelf, base);

    return known ? known->kind : CUVET_K_NONE;
}

bool cv_host_take(cv_host_shelf *shelf, cv_ctx *ctx, uint64_t base, cv_host *out)
{
    cv_known *known = entry_at(shelf, base);

    if (!known || !known->read || cv_ctx_work(ctx) < known->host.work ||
        !cv_work(ctx, known->host.work, base) || !cv_mem_move(&ctx->mem, shelf->mem, bytes_of(&known->host)))
        return false;
    *out = known->host;
    known->host = (cv_host){ 0 };
    known->read = false;
    return true;
}

void cv_host_shelf_free(cv_host_shelf *shelf)
{
    for (uint64_t i = 0; i < shelf->list.count; i++)
        free_at(shelf->mem, &cv_known_list_at(&shelf->list, i)->host);
    cv_known_list_free(shelf->mem, &shelf->list);
}
