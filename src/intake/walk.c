/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/walk.h"

#include "intake/place.h"
#include "intake/walk_int.h"

cuvet_status cv_walk_open(cv_ctx *x, cv_walk *w, const cuvet_source *src, uint64_t off, uint64_t end,
                          cv_region_kind kind, bool ledger)
{
    *w = (cv_walk){ .src = src, .ledger = ledger };
    if (off == end)
        cv_report(x, CV_R_FILE_EMPTY, off, 0, 0, 0);
    return cv_walk_push(x, w, off, end, kind);
}

cuvet_status cv_walk_push(cv_ctx *x, cv_walk *w, uint64_t off, uint64_t end, cv_region_kind kind)
{
    cv_region r = {
        .kind = kind, .path = x->path, .off = off, .end = end, .pos = off, .covered = off, .rest_end = off
    };

    return cv_regions_push(&x->mem, &w->stack, r) ? CUVET_OK : cv_nomem(x, off);
}

cuvet_status cv_walk_unit(cv_ctx *x, cv_walk *w, cv_unit_kind kind, uint64_t off, cv_unit *out)
{
    *out = (cv_unit){ .kind = kind,
                      .path = x->path,
                      .off = off,
                      .referenced = true,
                      .place = kind == CV_UNIT_MEMBER ? w->place : cv_place_at(x, w, off, false) };
    if (w->stack.n < 2) /* not in an archive */
        return CUVET_OK;
    if (!w->named) {
        w->ar_name = w->names.n;
        w->named = true;
        for (uint64_t i = 0; i < w->name.n; i++) {
            if (!cv_u8s_push(&x->mem, &w->names, *cv_u8s_at(&w->name, i)))
                return cv_nomem(x, off);
        }
    }
    out->ar_name = w->ar_name;
    out->ar_name_len = w->name.n;
    return CUVET_OK;
}

bool cv_walk_is_first(const cv_walk *w, uint64_t container_off)
{
    const cv_region *r = cv_regions_get(&w->stack, w->stack.n - 1);
    const cv_host_section *first = NULL; /* in the section table, wherever it lies */

    if (!r->host)
        return container_off == r->off;
    for (uint64_t i = 0; i < w->host.sections.n; i++) {
        const cv_host_section *s = cv_host_sections_get(&w->host.sections, i);

        if (s->kind == CV_HOSTOBJ_RELFATBIN && (!first || s->index < first->index))
            first = s;
    }
    return first && first->off == container_off;
}

void cv_walk_forget(cv_walk *w)
{
    cv_u8s_clear(&w->names);
    w->named = false;
}

/* What a unit costs, however small it is: a result, its path, its counts. */
#define UNIT_WORK UINT64_C(256)

cuvet_status cv_walk_next(cv_ctx *x, cv_walk *w, cv_unit *out)
{
    while (w->stack.n) {
        cv_region *r = cv_walk_top(w);
        cv_step step = CV_STEP_AGAIN;
        cuvet_status s;

        if (!w->in_container)
            x->path = r->path;
        if (w->in_container)
            s = cv_walk_container(x, w, &step, out);
        else if (r->kind == CV_REGION_ARCHIVE)
            s = cv_walk_archive(x, w, &step);
        else
            s = cv_walk_object(x, w, &step, out);
        if (s != CUVET_OK)
            return s;
        if (step == CV_STEP_UNIT) {
            /* Without work it is a unit all the same: its headers are read. */
            if (!cv_work(x, UNIT_WORK, out->off))
                w->over = true;
            out->unpacked = w->unpacked;
            out->walk_work = cv_ctx_spent(x);
            return CUVET_OK;
        }
        if (step == CV_STEP_POP)
            w->stack.n--;
    }
    return CUVET_END;
}

void cv_walk_close(cv_ctx *x, cv_walk *w)
{
    cv_regions_free(&x->mem, &w->stack);
    cv_window_free(x, &w->window);
    cv_block_free(x, &w->tmp);
    cv_block_free(x, &w->ar_table);
    cv_u8s_free(&x->mem, &w->name);
    cv_u8s_free(&x->mem, &w->names);
    cv_u64s_free(&x->mem, &w->found);
    cv_u64s_free(&x->mem, &w->targets);
    cv_host_free(x, &w->host);
    cv_ledger_free(x, &w->claims);
}
