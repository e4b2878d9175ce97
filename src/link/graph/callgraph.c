/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call graph as the reference linker tells it: functions in the order in which they were met; of each,
 * what it may call indirectly before what it calls, the last one first; then the functions that
 * raised the registers of kernels, in the order of their definitions. */
#include "link/graph/callgraph.h"

#include "link/graph/walk.h"

typedef struct graph_teller {
    const cv_view_callgraph *view;
    const cuvet_callgraph_sink *sink;
    cv_u32s rank; /* by function: the place of its definition among all, from 1; 0: it has none */
    cv_u32s below;
    cv_walk_below walk;
    cv_u32s head;         /* by prototype: its last taker, from 1; 0: none */
    cv_keys taker;        /* function, and the one before it */
    cv_keys some, raised; /* raised: rank and kernel, function */
} graph_teller;

static uint32_t registers(const cv_view_callgraph *view, const cv_lfn *function)
{
    return function->def == CV_NONE ? 0 : cv_l_isym(view, function->def)->regs;
}

static bool say_call(const graph_teller *teller, cv_id from, cv_id to)
{
    return teller->sink->call(teller->sink->user, (uint64_t)from + 1, (uint64_t)to + 1);
}

static uint32_t *head_of(graph_teller *teller, cv_id proto)
{
    return cv_u32s_at(&teller->head, *cv_u32s_get(&teller->view->calls->node, proto));
}

/* By prototype the functions whose address is taken with it, the last one first. */
static cuvet_status list_takers(graph_teller *teller)
{
    const cv_view_callgraph *view = teller->view;
    bool ok = cv_u32s_fill(&view->ctx->mem, &teller->head, cv_max(view->calls->protos.count, 1));

    for (cv_id i = 0; i < view->functions->fn.count && ok; i++)
        for (cv_id edge = cv_l_fn_calls(view, i)->taken; edge != CV_NONE && ok;
             edge = cv_edges_get(&view->calls->edge, edge)->next) {
            uint32_t *head = head_of(teller, cv_edges_get(&view->calls->edge, edge)->to);

            ok = cv_keys_push(&view->ctx->mem, &teller->taker, (cv_key){ .key = i, .index = *head });
            *head = (uint32_t)teller->taker.count;
        }
    return ok ? CUVET_OK : cv_l_nomem(view);
}

/* An indirect call reaches every function whose address is taken with its prototype: the lists are as long as
 * the product, and paid for. */
static cuvet_status say_indirect(graph_teller *teller, cv_id id)
{
    const cv_view_callgraph *view = teller->view;
    bool ok = true;

    cv_u32s_clear(&teller->below);
    for (cv_id edge = cv_l_fn_calls(view, id)->ind; edge != CV_NONE && ok;
         edge = cv_edges_get(&view->calls->edge, edge)->next)
        ok = cv_u32s_push(&view->ctx->mem, &teller->below, cv_edges_get(&view->calls->edge, edge)->to);
    if (!ok)
        return cv_l_nomem(view);
    for (uint64_t left = teller->below.count; left > 0; left--) {
        cv_id proto = *cv_u32s_at(&teller->below, left - 1);
        uint64_t at = *head_of(teller, proto);

        for (; at; at = cv_keys_at(&teller->taker, at - 1)->index) {
            if (!cv_work(view->ctx, 1, 0))
                return CUVET_E_LIMIT;
            if (!say_call(teller, id, (cv_id)cv_keys_at(&teller->taker, at - 1)->key))
                return CUVET_E_CANCELLED;
        }
    }
    return CUVET_OK;
}

static cuvet_status say_calls(graph_teller *teller, cv_id id)
{
    const cv_view_callgraph *view = teller->view;
    cuvet_status status = say_indirect(teller, id);

    for (cv_id edge = cv_l_fn_calls(view, id)->calls; edge != CV_NONE && status == CUVET_OK;
         edge = cv_edges_get(&view->calls->edge, edge)->next) {
        if (!cv_work(view->ctx, 1, 0))
            status = CUVET_E_LIMIT;
        else if (!say_call(teller, id, cv_edges_get(&view->calls->edge, edge)->to))
            status = CUVET_E_CANCELLED;
    }
    return status;
}

static uint32_t flags_of(const cv_view_callgraph *view, const cv_lfn *function)
{
    return (function->kernel ? CUVET_FUNCTION_KERNEL : 0) |
           (cv_l_fn_calls(view, function->id)->taken != CV_NONE ? CUVET_FUNCTION_ADDRESS_TAKEN : 0) |
           (function->def != CV_NONE ? CUVET_FUNCTION_DEFINED : 0) |
           (cv_l_fn_calls(view, function->id)->live ? CUVET_FUNCTION_KEPT : 0);
}

static cuvet_status say_functions(graph_teller *teller)
{
    const cv_view_callgraph *view = teller->view;
    cuvet_status status = list_takers(teller);

    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++) {
        const cv_lfn *function = cv_l_fn(view, i);
        cv_span name = cv_l_text(view, function->name);
        const cuvet_link_function told = { .size = sizeof(told),
                                           .name = (const char *)name.base,
                                           .n_name = (size_t)name.len,
                                           .flags = flags_of(view, function),
                                           .registers = registers(view, function) };

        if (!cv_work(view->ctx, 1, 0))
            status = CUVET_E_LIMIT;
        else if (!teller->sink->function(teller->sink->user, (uint64_t)i + 1, &told))
            status = CUVET_E_CANCELLED;
        else if (cv_l_fn_calls(view, function->id)->live)
            status = say_calls(teller, i);
    }
    return status;
}

static cuvet_status rank_functions(graph_teller *teller)
{
    const cv_view_callgraph *view = teller->view;
    uint32_t next = 0;

    if (!cv_u32s_fill(&view->ctx->mem, &teller->rank, cv_max(view->functions->fn.count, 1)))
        return cv_l_nomem(view);
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        cv_id fn = cv_l_fn_of(view, i);

        if (fn != CV_NONE && cv_l_fn(view, fn)->def == i)
            *cv_u32s_at(&teller->rank, fn) = ++next;
    }
    return CUVET_OK;
}

/* Of the functions below a kernel, in the order of their ranks, those that need more than all before. */
static cuvet_status raise_kernel(graph_teller *teller, cv_id kernel)
{
    const cv_view_callgraph *view = teller->view;
    uint32_t most = registers(view, cv_l_fn(view, kernel));
    cuvet_status status = cv_calls_below(view->ctx, view->calls, &teller->walk, kernel, NULL);
    bool ok = true;

    cv_keys_clear(&teller->some);
    for (uint64_t i = 0; i < teller->walk.found.count && status == CUVET_OK && ok; i++) {
        cv_id fn = *cv_u32s_at(&teller->walk.found, i);

        if (*cv_u32s_at(&teller->rank, fn) && registers(view, cv_l_fn(view, fn)) > most)
            ok = cv_keys_push(&view->ctx->mem, &teller->some, (cv_key){ *cv_u32s_at(&teller->rank, fn), fn });
    }
    cv_keys_sort(&teller->some);
    for (uint64_t i = 0; i < teller->some.count && status == CUVET_OK && ok; i++) {
        const cv_key *key = cv_keys_at(&teller->some, i);
        uint32_t regs = registers(view, cv_l_fn(view, key->index));

        if (regs <= most)
            continue;
        most = regs;
        ok = cv_keys_push(&view->ctx->mem, &teller->raised,
                          (cv_key){ key->key << 32 | (uint32_t)(UINT32_MAX - kernel), key->index });
    }
    return status != CUVET_OK || ok ? status : cv_l_nomem(view);
}

static cuvet_status say_raised(const graph_teller *teller)
{
    for (uint64_t i = 0; i < teller->raised.count; i++) {
        const cv_key *key = cv_keys_get(&teller->raised, i);
        uint32_t kernel = UINT32_MAX - (uint32_t)key->key;

        if (!cv_work(teller->view->ctx, 1, 0))
            return CUVET_E_LIMIT;
        if (!teller->sink->raised(teller->sink->user, key->index + 1, (uint64_t)kernel + 1))
            return CUVET_E_CANCELLED;
    }
    return CUVET_OK;
}

static cuvet_status find_raised(graph_teller *teller)
{
    const cv_view_callgraph *view = teller->view;
    cuvet_status status = rank_functions(teller);

    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (function->kernel && cv_l_fn_calls(view, function->id)->live && function->def != CV_NONE &&
            cv_l_fn_usage(view, function->id)->all_regs > registers(view, function))
            status = raise_kernel(teller, i);
    }
    cv_keys_sort(&teller->raised);
    return status;
}

cuvet_status cv_calls_tell(const cv_view_callgraph *view, const cuvet_callgraph_sink *sink)
{
    graph_teller teller = { .view = view, .sink = sink };
    cuvet_status status = say_functions(&teller);

    if (status == CUVET_OK && view->usage->propagated)
        status = find_raised(&teller);
    if (status == CUVET_OK)
        status = say_raised(&teller);
    cv_u32s_free(&view->ctx->mem, &teller.rank);
    cv_u32s_free(&view->ctx->mem, &teller.head);
    cv_keys_free(&view->ctx->mem, &teller.taker);
    cv_walk_below_end(&view->ctx->mem, &teller.walk);
    cv_u32s_free(&view->ctx->mem, &teller.below);
    cv_keys_free(&view->ctx->mem, &teller.some);
    cv_keys_free(&view->ctx->mem, &teller.raised);
    return status;
}
