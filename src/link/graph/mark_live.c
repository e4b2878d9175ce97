/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage mark_live: the call graph of the program, and which of it a kernel can reach. Indirect calls go
 * through a node for each prototype, so that callers times callees never counts. */
#include "format/meta/read.h"
#include "link/graph/graph.h"
#include "link/graph/walk.h"

typedef struct graph_record {
    const cv_lobj *obj;
    cv_call call;
} graph_record;

/* Number of a prototype's name, which has a place among those of the nodes. */
static cv_id string_name(const cv_view_mark_live *view, const cv_lobj *obj, uint32_t off)
{
    cv_u32s *node = &view->calls->node;
    cv_span text;
    cv_id name;

    if (!cv_span_cstr(obj->cubin.strtab, off, &text))
        text = cv_span_of(NULL, 0, 0);
    name = cv_l_name(view, text);
    for (uint64_t i = node->count; name != CV_NONE && i <= name; i++)
        if (!cv_u32s_push(&view->ctx->mem, node, CV_NONE))
            return CV_NONE;
    return name;
}

/* Prototypes are strings of the output, in the order of reading. */
static bool use_proto(const cv_view_mark_live *view, cv_id name)
{
    cv_part_calls *calls = view->calls;
    cv_id *node = cv_u32s_at(&calls->node, name);

    if (*node != CV_NONE)
        return true;
    *node = (cv_id)calls->protos.count;
    return cv_u32s_push(&view->ctx->mem, &calls->protos, name) &&
           cv_u32s_push(&view->ctx->mem, &calls->takers, CV_NONE);
}

static bool add_edge(const cv_view_mark_live *view, cv_id *head, cv_id to)
{
    cv_edge edge = { .to = to, .next = *head };

    if (view->calls->edge.count >= CV_NONE || !cv_edges_push(&view->ctx->mem, &view->calls->edge, edge))
        return false;
    *head = (cv_id)(view->calls->edge.count - 1);
    return true;
}

/* Records of a definition that lost against an earlier one do not count; those of one that won until a better
 * one came do, in the reference. */
static bool record_counts(const cv_view_mark_live *view, cv_id sym)
{
    return !*cv_u8s_get(&view->resolution->beaten, sym);
}

/* A kernel that code launches has an empty prototype. The reference gives it none where only inputs launch it
 * whose own definition of it was beaten. */
static bool is_launched_by_loser(const cv_view_mark_live *view, const graph_record *record, cv_id sym)
{
    return record->call.part == CV_CALL_ADDRESS && record->call.to == 0 && !record_counts(view, sym);
}

/* A function has one prototype, or a few; many cost. */
static bool has_edge(const cv_view_mark_live *view, cv_id head, cv_id to)
{
    for (; head != CV_NONE && cv_work(view->ctx, 1, 0); head = cv_edges_get(&view->calls->edge, head)->next)
        if (cv_edges_get(&view->calls->edge, head)->to == to)
            return true;
    return false;
}

static cuvet_status take_record(const cv_view_mark_live *view, const graph_record *record)
{
    cv_id from = record->obj->first_sym + record->call.from, fn, proto = CV_NONE, to = CV_NONE, *list = NULL;
    bool ok = true;

    if (CV_NEVER(record->call.from >= record->obj->n_sym)) /* examined */
        return cv_link_broken(view);
    fn = cv_l_fn_of(view, from);
    if (is_launched_by_loser(view, record, from)) {
        if (fn != CV_NONE)
            cv_l_fn_calls(view, fn)->launched = true;
        return CUVET_OK;
    }
    if (record->call.part == CV_CALL_ADDRESS || record->call.part == CV_CALL_INDIRECT) {
        proto = string_name(view, record->obj, record->call.to);
        if (proto == CV_NONE || !use_proto(view, proto))
            return cv_l_nomem(view);
    } else if (record->call.to < record->obj->n_sym) {
        to = cv_l_fn_of(view, record->obj->first_sym + record->call.to);
    }
    if (fn == CV_NONE || (record->call.part != CV_CALL_ADDRESS && !record_counts(view, from)))
        return CUVET_OK;
    switch (record->call.part) {
    case CV_CALL_DIRECT: list = &cv_l_fn_calls(view, fn)->calls; break;
    case CV_CALL_ADDRESS: list = &cv_l_fn_calls(view, fn)->taken; break;
    case CV_CALL_INDIRECT: list = &cv_l_fn_calls(view, fn)->ind; break;
    case CV_CALL_POSSIBLE: list = &cv_l_fn_calls(view, fn)->adr; break;
    case CV_CALL_NONE: return CUVET_OK;
    }
    if (record->call.part == CV_CALL_ADDRESS && has_edge(view, *list, proto))
        return CUVET_OK;
    if (proto == CV_NONE && to == CV_NONE)
        return CUVET_OK;
    if (record->call.part == CV_CALL_ADDRESS && *list != CV_NONE && cv_l_fn(view, fn)->has_def) {
        /* an indirect call reaches it by one of them only */
        cv_link_say(view, from, CV_R_LINK_PROTOTYPE, cv_l_isym(view, from)->obj,
                    cv_l_isym(view, cv_l_fn(view, fn)->def)->obj);
        return CUVET_E_REFUSED;
    }
    ok = add_edge(view, list, proto != CV_NONE ? proto : to);
    if (ok && record->call.part == CV_CALL_ADDRESS)
        ok = add_edge(view, cv_u32s_at(&view->calls->takers, *cv_u32s_get(&view->calls->node, proto)), fn);
    return ok ? CUVET_OK : cv_l_nomem(view);
}

/* The model of the reference reads the four parts one after the other; a section has them in that order. */
static cuvet_status read_graph(const cv_view_mark_live *view, const cv_lobj *obj)
{
    cv_span graph = cv_cubin_body(&obj->cubin, obj->callgraph),
            table = cv_cubin_body(&obj->cubin, obj->prototype);
    cuvet_status status = CUVET_OK;
    cv_call_cur cur = { .loose = obj->cubin.hand || obj->cubin.legacy };
    graph_record record = { .obj = obj };
    uint64_t pos = 0;
    cv_proto proto;

    while (status == CUVET_OK && obj->callgraph &&
           cv_callgraph_next(view->ctx, graph, &cur, &record.call) == CUVET_OK) {
        if (!cv_work(view->ctx, 1, 0))
            return CUVET_E_LIMIT;
        status = take_record(view, &record);
    }
    while (status == CUVET_OK && cv_prototype_next(view->ctx, table, &pos, &proto) == CUVET_OK) {
        cv_id name = string_name(view, obj, proto.string), fn;

        if (name == CV_NONE || !use_proto(view, name))
            return cv_l_nomem(view);
        fn = proto.symbol < obj->n_sym ? cv_l_fn_of(view, obj->first_sym + proto.symbol) : CV_NONE;
        /* of a function of the driver compilers differ in what follows the types: the last one counts */
        if (fn != CV_NONE && (cv_l_fn_calls(view, fn)->proto == CV_NONE || !cv_l_fn(view, fn)->has_def))
            cv_l_fn_calls(view, fn)->proto = name;
    }
    return status;
}

/* Is the function where the program begins? */
static bool is_root(const cv_check_mark_live *view, cv_id fn)
{
    if (!cv_l_fn(view, fn)->kernel || cv_l_fn_calls(view, fn)->unreferred)
        return false;
    /* a kernel that other code launches begins like one that the host launches */
    return cv_link_is_used(view->options, cv_l_text(view, cv_l_fn(view, fn)->name)) ||
           cv_fn_is_taken(cv_l_fn_calls(view, fn));
}

/* Kept, but not followed: only what is undefined and called from there stays. Records may name a function any
 * number of times; once is enough. */
static void keep_undefined(const cv_view_mark_live *view, cv_id fn)
{
    cv_l_fn_calls(view, fn)->live = true;
    if (cv_l_fn_calls(view, fn)->kept)
        return;
    cv_l_fn_calls(view, fn)->kept = true;
    for (cv_id edge = cv_l_fn_calls(view, fn)->calls; edge != CV_NONE;
         edge = cv_edges_at(&view->calls->edge, edge)->next) {
        const cv_lfn *callee = cv_l_fn(view, cv_edges_at(&view->calls->edge, edge)->to);

        if (!callee->has_def)
            cv_l_fn_calls(view, callee->id)->live = true;
    }
}

static bool reach_from_roots(const cv_view_mark_live *view, cv_walk_below *walk)
{
    const cv_check_mark_live seen = cv_check_of_mark_live(view);

    if (!cv_walk_below_begin(view->ctx, view->calls, walk))
        return false;
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        uint64_t len = cv_l_text(view, cv_l_fn(view, i)->name).len;

        if (view->options->n_kernels_used &&
            !cv_work(view->ctx, cv_sat_mul(len + 1, view->options->n_kernels_used), 0))
            return false;
        if (is_root(&seen, i) && !cv_walk_below_add(view->ctx, walk, i))
            return false;
    }
    for (uint64_t at = 0; at < walk->found.count; at++) {
        cv_id fn = *cv_u32s_get(&walk->found, at);

        cv_l_fn_calls(view, fn)->live = cv_l_fn_calls(view, fn)->reachable = true;
        if (!cv_walk_below_go_on(view->ctx, view->calls, walk, NULL, fn))
            return false;
    }
    return true;
}

/* Kernels that nobody can launch: host code refers to none of their names, device code does not take their
 * addresses. */
static cuvet_status mark_unreferred(const cv_view_mark_live *view)
{
    cuvet_status status = CUVET_OK;
    uint64_t kernels = 0, unreferred = 0;

    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++) {
        bool referred = true;

        if (!cv_l_fn(view, i)->kernel || !cv_l_fn(view, i)->has_def)
            continue;
        kernels++;
        status = cv_hosts_refer(view->ctx, view->options->hosts, cv_l_text(view, cv_l_fn(view, i)->name),
                                &referred);
        /* in graphs of tools before 12.2 nobody says which code launches it */
        cv_l_fn_calls(view, i)->unreferred = !referred && !*cv_u8s_get(&view->uses->addressed, i);
    }
    for (cv_id i = 0; i < view->functions->fn.count; i++)
        for (cv_id edge = cv_l_fn_calls(view, i)->adr; edge != CV_NONE;
             edge = cv_edges_at(&view->calls->edge, edge)->next)
            cv_l_fn_calls(view, cv_edges_at(&view->calls->edge, edge)->to)->unreferred = false;
    for (cv_id i = 0; i < view->functions->fn.count; i++)
        unreferred += cv_l_fn_calls(view, i)->unreferred;
    if (status == CUVET_OK && unreferred)
        cv_link_say(view, CV_NONE, CV_R_LINK_UNREFERRED, unreferred, kernels);
    return status;
}

/* A linker before this one forgot that somebody takes the address: nothing says that a kernel which calls
 * through the pointer needs what the function needs. */
static void tell_forgotten(const cv_view_mark_live *view)
{
    for (cv_id i = 0; i < view->functions->fn.count; i++)
        if (*cv_u8s_get(&view->uses->addressed, i) && !cv_l_fn(view, i)->kernel &&
            cv_l_fn(view, i)->has_def && !cv_fn_is_taken(cv_l_fn_calls(view, i)))
            cv_link_say(view, cv_l_fn(view, i)->def, CV_R_LINK_FORGOTTEN, 0, 0);
}

/* Compilers of CUDA 12.0 and 12.1 say nothing of a kernel that code launches. The reference does then. */
static void find_launched(const cv_view_mark_live *view)
{
    for (cv_id i = 0; i < view->functions->fn.count; i++)
        cv_l_fn_calls(view, i)->launched |=
            cv_l_fn(view, i)->kernel && *cv_u8s_get(&view->uses->addressed, i);
}

static bool is_wanted_kernel(const cv_view_mark_live *view, cv_id fn)
{
    const cv_lfn *function = cv_l_fn(view, fn);

    return function->kernel && function->def != CV_NONE && cv_l_fn_calls(view, fn)->live;
}

static bool any_local_kernel(const cv_view_mark_live *view)
{
    bool any = false;

    for (cv_id i = 0; i < view->functions->fn.count && !any; i++)
        any = is_wanted_kernel(view, i) && cv_l_bind(cv_l_isym(view, cv_l_fn(view, i)->def)) == CV_STB_LOCAL;
    return any;
}

/* A kernel is launched by its name, whoever else knows that. The reference writes both, and gives one the
 * parameters of the other. */
static bool tell_namesakes(const cv_view_mark_live *view)
{
    cv_u32s first = { 0 };
    bool ok = !any_local_kernel(view) || cv_l_fill_none(&view->ctx->mem, &first, view->names->set.list.count);

    for (cv_id i = 0; i < view->functions->fn.count && first.count != 0; i++) {
        const cv_lfn *function = cv_l_fn(view, i);
        cv_id *known = cv_u32s_at(&first, function->name);

        if (!is_wanted_kernel(view, i))
            continue;
        if (*known == CV_NONE)
            *known = function->def;
        else
            cv_link_say_two(view, function->def, *known, CV_R_LINK_NAMESAKE,
                            cv_l_isym(view, function->def)->obj, cv_l_isym(view, *known)->obj);
    }
    cv_u32s_free(&view->ctx->mem, &first);
    return ok;
}

static bool begin_lists(const cv_view_mark_live *view)
{
    const cv_fn_calls none = {
        .calls = CV_NONE, .taken = CV_NONE, .ind = CV_NONE, .adr = CV_NONE, .proto = CV_NONE
    };
    cv_fn_calls_list *list = &view->calls->fn;

    if (!cv_fn_calls_list_room(&view->ctx->mem, list, view->functions->fn.count))
        return false;
    while (list->count < view->functions->fn.count)
        if (!cv_fn_calls_list_push(&view->ctx->mem, list, none))
            return false;
    return true;
}

cuvet_status cv_stage_mark_live(const cv_view_mark_live *view)
{
    cv_walk_below walk = { 0 };
    cuvet_status status = begin_lists(view) ? CUVET_OK : cv_l_nomem(view);

    for (cv_id i = 0; i < view->inputs->obj.count && status == CUVET_OK; i++)
        status = read_graph(view, cv_l_obj(view, i));
    if (status == CUVET_OK && view->options->hosts)
        status = mark_unreferred(view);
    if (status != CUVET_OK)
        return status;
    find_launched(view);
    tell_forgotten(view);
    if (!reach_from_roots(view, &walk))
        status = cv_l_nomem(view);
    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++)
        for (cv_id edge = cv_l_fn_calls(view, i)->adr; edge != CV_NONE;
             edge = cv_edges_at(&view->calls->edge, edge)->next)
            keep_undefined(view, cv_edges_at(&view->calls->edge, edge)->to);
    for (cv_id i = 0; i < view->functions->fn.count && status == CUVET_OK; i++) {
        /* graphs of tools before 12.0 do not say who takes an address, only that somebody does */
        if (*cv_u8s_get(&view->uses->addressed, i) || cv_fn_is_taken(cv_l_fn_calls(view, i)))
            keep_undefined(view, i);
        /* as the reference linker, which removes nothing that somebody may want to look at */
        if (view->options->relocatable || view->options->keep_dead)
            cv_l_fn_calls(view, i)->live = true;
    }
    if (status == CUVET_OK && !tell_namesakes(view))
        status = cv_l_nomem(view);
    cv_walk_below_end(&view->ctx->mem, &walk);
    view->calls->reached = status == CUVET_OK;
    return status;
}

/* Kernels that are wanted are live, and live functions call only live ones. */
bool cv_stage_mark_live_holds(const cv_check_mark_live *view)
{
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (!cv_l_fn_calls(view, function->id)->live && (view->options->relocatable || is_root(view, i)))
            return false;
        if (!cv_l_fn_calls(view, i)->reachable || !cv_l_fn_calls(view, function->id)->live ||
            view->options->relocatable)
            continue;
        for (cv_id edge = cv_l_fn_calls(view, function->id)->calls; edge != CV_NONE;
             edge = cv_edges_get(&view->calls->edge, edge)->next)
            if (!cv_l_fn_calls(view, cv_edges_get(&view->calls->edge, edge)->to)->live)
                return false;
    }
    return true;
}
