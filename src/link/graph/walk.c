/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link/graph/walk.h"

#include "base/arith.h"

bool cv_walk_below_begin(cv_ctx *ctx, const cv_part_calls *calls, cv_walk_below *walk)
{
    cv_u32s_clear(&walk->found);
    return walk->stamp++ != 0 || (cv_u32s_fill(&ctx->mem, &walk->fn, calls->fn.count) &&
                                  cv_u32s_fill(&ctx->mem, &walk->proto, calls->protos.count));
}

void cv_walk_below_end(cv_mem *mem, cv_walk_below *walk)
{
    cv_u32s_free(mem, &walk->fn);
    cv_u32s_free(mem, &walk->proto);
    cv_u32s_free(mem, &walk->found);
}

bool cv_walk_below_add(cv_ctx *ctx, cv_walk_below *walk, cv_id fn)
{
    uint32_t *mark = cv_u32s_at(&walk->fn, fn);

    if (*mark == walk->stamp)
        return true;
    *mark = walk->stamp;
    return cv_u32s_push(&ctx->mem, &walk->found, fn);
}

static bool add_wanted(cv_ctx *ctx, cv_walk_below *walk, const cv_u32s *only, cv_id fn)
{
    return (only && *cv_u32s_get(only, fn) == 0) || cv_walk_below_add(ctx, walk, fn);
}

/* Successors of a function that were not met yet; the functions behind a prototype once for all callers.
 * Every edge is paid for: kernels times edges is more than any file has. */
bool cv_walk_below_go_on(cv_ctx *ctx, const cv_part_calls *calls, cv_walk_below *walk, const cv_u32s *only,
                         cv_id fn)
{
    const cv_fn_calls *from = cv_fn_calls_list_get(&calls->fn, fn);
    uint64_t edges = 0;
    bool ok = true;

    for (cv_id id = from->calls; id != CV_NONE && ok; id = cv_edges_get(&calls->edge, id)->next, edges++)
        ok = add_wanted(ctx, walk, only, cv_edges_get(&calls->edge, id)->to);
    for (cv_id id = from->ind; id != CV_NONE && ok; id = cv_edges_get(&calls->edge, id)->next, edges++) {
        cv_id node = *cv_u32s_get(&calls->node, cv_edges_get(&calls->edge, id)->to);
        uint32_t *seen = cv_u32s_at(&walk->proto, node);

        if (*seen == walk->stamp)
            continue;
        *seen = walk->stamp;
        for (cv_id taker = *cv_u32s_get(&calls->takers, node); taker != CV_NONE && ok;
             taker = cv_edges_get(&calls->edge, taker)->next, edges++)
            ok = add_wanted(ctx, walk, only, cv_edges_get(&calls->edge, taker)->to);
    }
    return ok && cv_work(ctx, edges, 0);
}

cuvet_status cv_calls_below(cv_ctx *ctx, const cv_part_calls *calls, cv_walk_below *walk, cv_id fn,
                            const cv_u32s *only)
{
    if (!cv_walk_below_begin(ctx, calls, walk) || !cv_walk_below_add(ctx, walk, fn))
        return cv_in_nomem(ctx);
    for (uint64_t at = 0; at < walk->found.count; at++) {
        if (!cv_work(ctx, 1, 0))
            return CUVET_E_LIMIT;
        if (!cv_walk_below_go_on(ctx, calls, walk, only, *cv_u32s_get(&walk->found, at)))
            return cv_in_nomem(ctx);
    }
    return CUVET_OK;
}

/* The call graph turned round. Nodes are the functions, then the prototypes; the callers of node i are
 * from[first[i]] up to from[first[i + 1]]. */
typedef struct reverse_graph {
    cv_ctx *ctx;
    const cv_part_calls *calls;
    cv_u32s first, from;
    bool fill; /* counted; now the callers are put in */
} reverse_graph;

static void add_edge(reverse_graph *reverse, uint64_t from, uint64_t to)
{
    uint32_t *count = cv_u32s_at(&reverse->first, to + 1);

    if (reverse->fill)
        *cv_u32s_at(&reverse->from, *count) = (uint32_t)from;
    *count += 1;
}

static void add_edges(reverse_graph *reverse)
{
    const cv_part_calls *calls = reverse->calls;

    for (cv_id i = 0; i < calls->fn.count; i++) {
        const cv_fn_calls *from = cv_fn_calls_list_get(&calls->fn, i);

        for (cv_id id = from->calls; id != CV_NONE; id = cv_edges_get(&calls->edge, id)->next)
            add_edge(reverse, i, cv_edges_get(&calls->edge, id)->to);
        for (cv_id id = from->ind; id != CV_NONE; id = cv_edges_get(&calls->edge, id)->next)
            add_edge(reverse, i,
                     calls->fn.count + *cv_u32s_get(&calls->node, cv_edges_get(&calls->edge, id)->to));
    }
    for (uint64_t i = 0; i < calls->protos.count; i++)
        for (cv_id id = *cv_u32s_get(&calls->takers, i); id != CV_NONE;
             id = cv_edges_get(&calls->edge, id)->next)
            add_edge(reverse, calls->fn.count + i, cv_edges_get(&calls->edge, id)->to);
}

/* Counts become places: where the callers of each node begin. Every place moves on as it is filled, so that
 * it ends where the next one begins. */
static bool reverse_calls(reverse_graph *reverse)
{
    uint64_t nodes = reverse->calls->fn.count + reverse->calls->protos.count, sum = 0;

    if (!cv_u32s_fill(&reverse->ctx->mem, &reverse->first, nodes + 2))
        return false;
    add_edges(reverse);
    for (uint64_t i = 1; i <= nodes + 1; i++) {
        uint32_t *number = cv_u32s_at(&reverse->first, i), count = *number;

        *number = (uint32_t)sum;
        sum += count;
    }
    if (sum >= CV_NONE || !cv_u32s_fill(&reverse->ctx->mem, &reverse->from, cv_max(sum, 1)))
        return false;
    reverse->fill = true;
    add_edges(reverse);
    return true;
}

static bool climb_callers(const reverse_graph *reverse, cv_u32s *mark, cv_u32s *todo)
{
    bool ok = true;

    for (uint64_t at = 0; at < todo->count && ok; at++) {
        uint32_t node = *cv_u32s_at(todo, at);
        uint64_t end = *cv_u32s_get(&reverse->first, (uint64_t)node + 1);

        for (uint64_t i = *cv_u32s_get(&reverse->first, node); i < end && ok; i++) {
            uint32_t up = *cv_u32s_get(&reverse->from, i);

            if (*cv_u32s_at(mark, up) != 0)
                continue;
            *cv_u32s_at(mark, up) = 1;
            ok = cv_u32s_push(&reverse->ctx->mem, todo, up);
        }
    }
    return ok;
}

cuvet_status cv_calls_above(cv_ctx *ctx, const cv_part_calls *calls, cv_u32s *mark)
{
    reverse_graph reverse = { .ctx = ctx, .calls = calls };
    cv_u32s todo = { 0 };
    bool ok = true;

    for (uint32_t i = 0; i < mark->count && ok; i++)
        if (*cv_u32s_at(mark, i) != 0)
            ok = cv_u32s_push(&ctx->mem, &todo, i);
    for (uint64_t i = mark->count; i < calls->fn.count + calls->protos.count && ok; i++)
        ok = cv_u32s_push(&ctx->mem, mark, 0);
    if (todo.count && ok)
        ok = reverse_calls(&reverse) && climb_callers(&reverse, mark, &todo);
    cv_u32s_free(&ctx->mem, &reverse.first);
    cv_u32s_free(&ctx->mem, &reverse.from);
    cv_u32s_free(&ctx->mem, &todo);
    return ok ? CUVET_OK : cv_in_nomem(ctx);
}
