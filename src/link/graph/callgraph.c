/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call graph as the reference linker tells it: functions in the order in which they were met; of each,
 * what it may call indirectly before what it calls, the last one first; then the functions that
 * raised the registers of kernels, in the order of their definitions. */
#include "link/graph/callgraph.h"

#include "link/graph/walk.h"

typedef struct callgraph_report {
    const cv_view_callgraph *view;
    const cuvet_callgraph_sink *sink;
    cv_u32s rank; /* by function: the place of its definition among all, from 1; 0: it has none */
    cv_u32s below;
    cv_walk_below walk;
    cv_u32s head;         /* by prototype: its last taker, from 1; 0: none */
    cv_keys taker;        /* function, and the one before it */
    cv_keys some, raised; /* raised: rank and kernel, function */
} callgraph_report;

static uint32_t own_registers(const cv_view_callgraph *view, const cv_lfn *function)
{
    return function->def == CV_NONE ? 0 : cv_l_isym(view, function->def)->regs;
}

static bool report_call(const callgraph_report *report, cv_id from, cv_id to)
{
    return report->sink->call(report->sink->user, (uint64_t)from + 1, (uint64_t)to + 1) == 0;
}

static uint32_t *head_of(callgraph_report *report, cv_id proto)
{
    return cv_u32s_at(&report->head, *cv_u32s_get(&report->view->calls->node, proto));
}

/* By prototype the functions whose address is taken with it, the last one first. */
static cuvet_status list_address_taken(callgraph_report *report)
{
    const cv_view_callgraph *view = report->view;
    bool ok = cv_u32s_fill(&view->ctx->mem, &report->head, cv_max(view->calls->protos.count, 1));

    for (cv_id i = 0; i < view->functions->fn.count && ok; i++)
        for (cv_id edge = cv_l_fn_calls(view, i)->taken; edge != CV_NONE && ok;
             edge = cv_edges_get(&view->calls->edge, edge)->next) {
            uint32_t *head = head_of(report, cv_edges_get(&view->calls->edge, edge)->to);

            ok = cv_keys_push(&view->ctx->mem, &report->taker, (cv_key){ .key = i, .index = *head });
            *head = (uint32_t)report->taker.count;
        }
    return ok ? CUVET_OK : cv_l_nomem(view);
}

/* An indirect call reaches every function whose address is taken with its prototype: the lists are as long as
 * the product, and paid for. */
static cuvet_status say_indirect(callgraph_report *report, cv_id id)
{
    const cv_view_callgraph *view = report->view;
    bool ok = true;

    cv_u32s_clear(&report->below);
    for (cv_id edge = cv_l_fn_calls(view, id)->ind; edge != CV_NONE && ok;
         edge = cv_edges_get(&view->calls->edge, edge)->next)
        ok = cv_u32s_push(&view->ctx->mem, &report->below, cv_edges_get(&view->calls->edge, edge)->to);
    if (!ok)
        return cv_l_nomem(view);
    for (uint64_t left = report->below.count; left > 0; left--) {
        cv_id proto = *cv_u32s_at(&report->below, left - 1);
        uint64_t at = *head_of(report, proto);

        for (; at; at = cv_keys_at(&report->taker, at - 1)->index) {
            if (!cv_work(view->ctx, 1, 0))
                return CUVET_E_LIMIT;
            if (!report_call(report, id, (cv_id)cv_keys_at(&report->taker, at - 1)->key))
                return CUVET_E_CANCELLED;
        }
    }
    return CUVET_OK;
}

static cuvet_status report_calls(callgraph_report *report, cv_id id)
{
    const cv_view_callgraph *view = report->view;
    cuvet_status status = say_indirect(report, id);

    for (cv_id edge = cv_l_fn_calls(view, id)->calls; edge != CV_NONE && status == CUVET_OK;
         edge = cv_edges_get(&view->calls->edge, edge)->next) {
        if (!cv_work(view->ctx, 1, 0))
            status = CUVET_E_LIMIT;
        else if (!report_call(report, id, cv_edges_get(&view->calls->edge, edge)->to))
            status = CUVET_E_CANCELLED;
    }
    return status;
}

static uint32_t flags_of(const cv_view_callgraph *view, const cv_lfn *function)
{
    return (function->kernel ? CUVET_FUNCTION_KERNEL : 0) |
           (cv_fn_is_taken(cv_l_fn_calls(view, function->id)) ? CUVET_FUNCTION_ADDRESS_TAKEN : 0) |
           (function->def != CV_NONE ? CUVET_FUNCTION_DEFINED : 0) |
           (cv_l_fn_calls(view, function->id)->live ? CUVET_FUNCTION_KEPT : 0);
}

static cuvet_status report_functions(callgraph_report *report)
{
    const cv_view_callgraph *view = report->view;
    cuvet_status status = list_address_taken(report);

    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++) {
        const cv_lfn *function = cv_l_fn(view, i);
        cv_span name = cv_l_text(view, function->name);
        const cuvet_link_function told = { .size = sizeof(told),
                                           .name = (const char *)name.base,
                                           .n_name = (size_t)name.len,
                                           .flags = flags_of(view, function),
                                           .registers = own_registers(view, function) };

        if (!cv_work(view->ctx, 1, 0))
            status = CUVET_E_LIMIT;
        else if (report->sink->function(report->sink->user, (uint64_t)i + 1, &told) != 0)
            status = CUVET_E_CANCELLED;
        else if (cv_l_fn_calls(view, function->id)->live)
            status = report_calls(report, i);
    }
    return status;
}

static cuvet_status rank_functions(callgraph_report *report)
{
    const cv_view_callgraph *view = report->view;
    uint32_t next = 0;

    if (!cv_u32s_fill(&view->ctx->mem, &report->rank, cv_max(view->functions->fn.count, 1)))
        return cv_l_nomem(view);
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        cv_id fn = cv_l_fn_of(view, i);

        if (fn != CV_NONE && cv_l_fn(view, fn)->def == i)
            *cv_u32s_at(&report->rank, fn) = ++next;
    }
    return CUVET_OK;
}

/* Of the functions below a kernel, in the order of their ranks, those that need more than all before. */
static cuvet_status raise_kernel(callgraph_report *report, cv_id kernel)
{
    const cv_view_callgraph *view = report->view;
    uint32_t most = own_registers(view, cv_l_fn(view, kernel));
    cuvet_status status = cv_calls_below(view->ctx, view->calls, &report->walk, kernel, NULL);
    bool ok = true;

    cv_keys_clear(&report->some);
    for (uint64_t i = 0; i < report->walk.found.count && status == CUVET_OK && ok; i++) {
        cv_id fn = *cv_u32s_at(&report->walk.found, i);

        if (*cv_u32s_at(&report->rank, fn) && own_registers(view, cv_l_fn(view, fn)) > most)
            ok = cv_keys_push(&view->ctx->mem, &report->some, (cv_key){ *cv_u32s_at(&report->rank, fn), fn });
    }
    cv_keys_sort(&report->some);
    for (uint64_t i = 0; i < report->some.count && status == CUVET_OK && ok; i++) {
        const cv_key *key = cv_keys_at(&report->some, i);
        uint32_t regs = own_registers(view, cv_l_fn(view, key->index));

        if (regs <= most)
            continue;
        most = regs;
        ok = cv_keys_push(&view->ctx->mem, &report->raised,
                          (cv_key){ key->key << 32 | (uint32_t)(UINT32_MAX - kernel), key->index });
    }
    return status != CUVET_OK || ok ? status : cv_l_nomem(view);
}

static cuvet_status report_raised(const callgraph_report *report)
{
    for (uint64_t i = 0; i < report->raised.count; i++) {
        const cv_key *key = cv_keys_get(&report->raised, i);
        uint32_t kernel = UINT32_MAX - (uint32_t)key->key;

        if (!cv_work(report->view->ctx, 1, 0))
            return CUVET_E_LIMIT;
        if (report->sink->raised(report->sink->user, key->index + 1, (uint64_t)kernel + 1) != 0)
            return CUVET_E_CANCELLED;
    }
    return CUVET_OK;
}

static cuvet_status find_raised(callgraph_report *report)
{
    const cv_view_callgraph *view = report->view;
    cuvet_status status = rank_functions(report);

    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (function->kernel && cv_l_fn_calls(view, function->id)->live && function->def != CV_NONE &&
            cv_l_fn_usage(view, function->id)->all_regs > own_registers(view, function))
            status = raise_kernel(report, i);
    }
    cv_keys_sort(&report->raised);
    return status;
}

cuvet_status cv_calls_tell(const cv_view_callgraph *view, const cuvet_callgraph_sink *sink)
{
    callgraph_report report = { .view = view, .sink = sink };
    cuvet_status status = report_functions(&report);

    if (status == CUVET_OK && view->usage->propagated)
        status = find_raised(&report);
    if (status == CUVET_OK)
        status = report_raised(&report);
    cv_u32s_free(&view->ctx->mem, &report.rank);
    cv_u32s_free(&view->ctx->mem, &report.head);
    cv_keys_free(&view->ctx->mem, &report.taker);
    cv_walk_below_end(&view->ctx->mem, &report.walk);
    cv_u32s_free(&view->ctx->mem, &report.below);
    cv_keys_free(&view->ctx->mem, &report.some);
    cv_keys_free(&view->ctx->mem, &report.raised);
    return status;
}
