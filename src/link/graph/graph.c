/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage reach: the call graph of the program, and which of it a kernel can reach. Indirect calls go through a
 * node for each prototype, so that callers times callees never counts. */
#include "format/meta/read.h"
#include "link/in/stages.h"

typedef struct graph_record {
    const cv_lobj *obj;
    cv_call call;
} graph_record;

static cv_id string_name(cv_link *link, const cv_lobj *obj, uint32_t off)
{
    cv_span text;

    if (!cv_span_cstr(obj->cubin.strtab, off, &text))
        text = cv_span_of(NULL, 0, 0);
    return cv_l_name(link, text);
}

/* Prototypes are strings of the output, in the order of reading. */
static bool use_proto(cv_link *link, cv_id name)
{
    cv_meaning *entry = cv_l_mean(link, name);

    if (entry->proto_node != CV_NONE)
        return true;
    entry->proto_node = (cv_id)link->calls->n_proto_nodes++;
    return cv_u32s_push(&link->ctx->mem, &link->calls->protos, name);
}

/* Records of a definition that lost against an earlier one do not count; those of one that won until a better
 * one came do, in the reference. */
static bool counts(const cv_link *link, cv_id sym)
{
    return !cv_l_isym(link, sym)->beaten;
}

/* A function has one prototype, or a few; many cost. */
static bool has(const cv_link *link, cv_id head, cv_id to)
{
    for (; head != CV_NONE && cv_work(link->ctx, 1, 0); head = cv_edges_get(&link->calls->edge, head)->next)
        if (cv_edges_get(&link->calls->edge, head)->to == to)
            return true;
    return false;
}

static cuvet_status take(cv_link *link, const graph_record *record)
{
    cv_id from = record->obj->first_sym + record->call.from, fn, proto = CV_NONE, to = CV_NONE, *list = NULL;
    bool ok = true;

    if (CV_NEVER(record->call.from >= record->obj->n_sym)) /* examined */
        return cv_link_broken(link);
    fn = cv_l_isym(link, from)->fn;
    if (record->call.part == CV_CALL_ADDRESS || record->call.part == CV_CALL_INDIRECT) {
        proto = string_name(link, record->obj, record->call.to);
        if (proto == CV_NONE || !use_proto(link, proto))
            return cv_l_nomem(link);
    } else if (record->call.to < record->obj->n_sym) {
        to = cv_l_isym(link, record->obj->first_sym + record->call.to)->fn;
    }
    if (fn == CV_NONE || (record->call.part != CV_CALL_ADDRESS && !counts(link, from)))
        return CUVET_OK;
    switch (record->call.part) {
    case CV_CALL_DIRECT: list = &cv_l_fn(link, fn)->calls; break;
    case CV_CALL_ADDRESS: list = &cv_l_fn(link, fn)->taken; break;
    case CV_CALL_INDIRECT: list = &cv_l_fn(link, fn)->ind; break;
    case CV_CALL_POSSIBLE: list = &cv_l_fn(link, fn)->adr; break;
    case CV_CALL_NONE: return CUVET_OK;
    }
    if (record->call.part == CV_CALL_ADDRESS && has(link, *list, proto))
        return CUVET_OK;
    if (proto == CV_NONE && to == CV_NONE)
        return CUVET_OK;
    ok = cv_l_add_edge(link, list, proto != CV_NONE ? proto : to);
    if (ok && record->call.part == CV_CALL_ADDRESS)
        ok = cv_l_add_edge(link, &cv_l_mean(link, proto)->takers, fn);
    return ok ? CUVET_OK : cv_l_nomem(link);
}

/* The model of the reference reads the four parts one after the other; a section has them in that order. */
static cuvet_status read_graph(cv_link *link, const cv_lobj *obj)
{
    cv_span graph = cv_cubin_body(&obj->cubin, obj->callgraph),
            table = cv_cubin_body(&obj->cubin, obj->prototype);
    cuvet_status st = CUVET_OK;
    cv_call_cur cur = { .loose = obj->cubin.hand || obj->cubin.legacy };
    graph_record record = { .obj = obj };
    uint64_t pos = 0;
    cv_proto proto;

    while (st == CUVET_OK && obj->callgraph &&
           cv_callgraph_next(link->ctx, graph, &cur, &record.call) == CUVET_OK) {
        if (!cv_work(link->ctx, 1, 0))
            return CUVET_E_LIMIT;
        st = take(link, &record);
    }
    while (st == CUVET_OK && cv_prototype_next(link->ctx, table, &pos, &proto) == CUVET_OK) {
        cv_id name = string_name(link, obj, proto.string), fn;

        if (name == CV_NONE || !use_proto(link, name))
            return cv_l_nomem(link);
        fn = proto.symbol < obj->n_sym ? cv_l_isym(link, obj->first_sym + proto.symbol)->fn : CV_NONE;
        if (fn != CV_NONE && cv_l_fn(link, fn)->proto == CV_NONE)
            cv_l_fn(link, fn)->proto = name;
    }
    return st;
}

/* only: by function, which ones count; NULL: all. */
static bool push_fn(cv_link *link, cv_u32s *todo, const cv_u32s *only, cv_id fn)
{
    cv_lfn *function = cv_l_fn(link, fn);

    if (function->mark == link->calls->stamp || (only && *cv_u32s_get(only, fn) == 0))
        return true;
    function->mark = link->calls->stamp;
    return cv_u32s_push(&link->ctx->mem, todo, fn);
}

/* Successors of a function that were not met yet; the functions behind a prototype once for all callers. */
static bool push_next(cv_link *link, cv_u32s *todo, const cv_u32s *only, cv_u32s *proto_seen, cv_id fn)
{
    bool ok = true;

    for (cv_id edge = cv_l_fn(link, fn)->calls; edge != CV_NONE && ok;
         edge = cv_edges_at(&link->calls->edge, edge)->next)
        ok = push_fn(link, todo, only, cv_edges_at(&link->calls->edge, edge)->to);
    for (cv_id edge = cv_l_fn(link, fn)->ind; edge != CV_NONE && ok;
         edge = cv_edges_at(&link->calls->edge, edge)->next) {
        const cv_meaning *entry = cv_l_mean(link, cv_edges_at(&link->calls->edge, edge)->to);
        uint32_t *seen = cv_u32s_at(proto_seen, entry->proto_node);

        if (*seen == link->calls->stamp)
            continue;
        *seen = link->calls->stamp;
        for (cv_id k = entry->takers; k != CV_NONE && ok; k = cv_edges_at(&link->calls->edge, k)->next)
            ok = push_fn(link, todo, only, cv_edges_at(&link->calls->edge, k)->to);
    }
    return ok;
}

/* Functions whose address lies in data are kept. */
static void mark_data_references(cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);
        cv_group group = osec->group == CV_G_REL ? cv_l_osec(link, osec->target)->group : CV_N_GROUPS;

        if (group != CV_G_INIT && group != CV_G_CONST && group != CV_G_PARAM)
            continue;
        for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(link, rel)->next) {
            cv_id fn = cv_l_isym(link, cv_l_irel(link, rel)->sym)->fn;

            if (fn != CV_NONE && !cv_l_fn(link, fn)->kernel)
                cv_l_fn(link, fn)->data_ref = true;
        }
    }
}

/* Kept, but not followed: only what is undefined and called from there stays. */
static void keep(cv_link *link, cv_id fn)
{
    cv_l_fn(link, fn)->live = true;
    for (cv_id edge = cv_l_fn(link, fn)->calls; edge != CV_NONE;
         edge = cv_edges_at(&link->calls->edge, edge)->next) {
        cv_lfn *callee = cv_l_fn(link, cv_edges_at(&link->calls->edge, edge)->to);

        if (!callee->has_def)
            callee->live = true;
    }
}

static bool reach_from_roots(cv_link *link, cv_u32s *todo, cv_u32s *seen)
{
    link->calls->stamp++;
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        uint64_t len = cv_l_text(link, cv_l_fn(link, i)->name).len;

        if (link->options->n_kernels_used &&
            !cv_work(link->ctx, cv_sat_mul(len + 1, link->options->n_kernels_used), 0))
            return false;
        if (cv_link_is_root(link, i) && !push_fn(link, todo, NULL, i))
            return false;
    }
    for (uint64_t at = 0; at < todo->count; at++) {
        cv_id fn = *cv_u32s_at(todo, at);

        cv_l_fn(link, fn)->live = cv_l_fn(link, fn)->reachable = true;
        if (!push_next(link, todo, NULL, seen, fn))
            return false;
    }
    return true;
}

/* Kernels that nobody can launch: host code refers to none of their names, device code does not take their
 * addresses. */
static cuvet_status mark_unreferred(cv_link *link)
{
    cuvet_status st = CUVET_OK;
    uint64_t kernels = 0, unreferred = 0;

    for (cv_id i = 0; i < link->functions->fn.count && st == CUVET_OK; i++) {
        bool referred = true;

        if (!cv_l_fn(link, i)->kernel || !cv_l_fn(link, i)->has_def)
            continue;
        kernels++;
        st = cv_hosts_refer(link->ctx, link->options->hosts, cv_l_text(link, cv_l_fn(link, i)->name),
                            &referred);
        cv_l_fn(link, i)->unreferred = !referred;
    }
    for (cv_id i = 0; i < link->functions->fn.count; i++)
        for (cv_id edge = cv_l_fn(link, i)->adr; edge != CV_NONE;
             edge = cv_edges_at(&link->calls->edge, edge)->next)
            cv_l_fn(link, cv_edges_at(&link->calls->edge, edge)->to)->unreferred = false;
    for (cv_id i = 0; i < link->functions->fn.count; i++)
        unreferred += cv_l_fn(link, i)->unreferred;
    if (st == CUVET_OK && unreferred)
        cv_link_say(link, CV_NONE, CV_R_LINK_UNREFERRED, unreferred, kernels);
    return st;
}

cuvet_status cv_link_reach(cv_link *link)
{
    cv_u32s todo = { 0 }, seen = { 0 };
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < link->inputs->obj.count && st == CUVET_OK; i++)
        st = read_graph(link, cv_l_obj(link, i));
    if (st == CUVET_OK && link->options->hosts)
        st = mark_unreferred(link);
    if (st != CUVET_OK)
        return st;
    mark_data_references(link);
    if (!cv_u32s_fill(&link->ctx->mem, &seen, cv_max(link->calls->n_proto_nodes, 1)) ||
        !reach_from_roots(link, &todo, &seen))
        st = cv_l_nomem(link);
    for (cv_id i = 0; i < link->functions->fn.count && st == CUVET_OK; i++)
        for (cv_id edge = cv_l_fn(link, i)->adr; edge != CV_NONE;
             edge = cv_edges_at(&link->calls->edge, edge)->next)
            keep(link, cv_edges_at(&link->calls->edge, edge)->to);
    for (cv_id i = 0; i < link->functions->fn.count && st == CUVET_OK; i++) {
        if (cv_l_fn(link, i)->data_ref)
            keep(link, i);
        /* as the reference linker, which removes nothing that somebody may want to look at */
        if (link->options->relocatable || link->options->keep_dead)
            cv_l_fn(link, i)->live = true;
    }
    cv_u32s_free(&link->ctx->mem, &todo);
    cv_u32s_free(&link->ctx->mem, &seen);
    link->calls->reached = st == CUVET_OK;
    return st;
}

/* Functions that a function reaches, itself first. */
cuvet_status cv_link_below(cv_link *link, cv_id fn, const cv_u32s *only, cv_u32s *out, cv_u32s *seen)
{
    cv_u32s_clear(out);
    link->calls->stamp++;
    if (!push_fn(link, out, NULL, fn))
        return cv_l_nomem(link);
    for (uint64_t at = 0; at < out->count; at++) {
        if (!cv_work(link->ctx, 1, 0))
            return CUVET_E_LIMIT;
        if (!push_next(link, out, only, seen, *cv_u32s_at(out, at)))
            return cv_l_nomem(link);
    }
    return CUVET_OK;
}

/* The call graph turned round. Nodes are the functions, then the prototypes; the callers of node i are
 * from[first[i]] up to from[first[i + 1]]. */
typedef struct reverse_graph {
    cv_link *link;
    cv_u32s first, from;
    bool fill; /* counted; now the callers are put in */
} reverse_graph;

static void arc(reverse_graph *reverse, uint64_t from, uint64_t to)
{
    uint32_t *count = cv_u32s_at(&reverse->first, to + 1);

    if (reverse->fill)
        *cv_u32s_at(&reverse->from, *count) = (uint32_t)from;
    *count += 1;
}

static void arcs(reverse_graph *reverse)
{
    const cv_link *link = reverse->link;

    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        for (cv_id edge = cv_l_fn(link, i)->calls; edge != CV_NONE;
             edge = cv_edges_get(&link->calls->edge, edge)->next)
            arc(reverse, i, cv_edges_get(&link->calls->edge, edge)->to);
        for (cv_id edge = cv_l_fn(link, i)->ind; edge != CV_NONE;
             edge = cv_edges_get(&link->calls->edge, edge)->next)
            arc(reverse, i,
                link->functions->fn.count +
                    cv_l_mean(link, cv_edges_get(&link->calls->edge, edge)->to)->proto_node);
    }
    for (uint64_t i = 0; i < link->calls->protos.count; i++)
        for (cv_id edge = cv_l_mean(link, *cv_u32s_get(&link->calls->protos, i))->takers; edge != CV_NONE;
             edge = cv_edges_get(&link->calls->edge, edge)->next)
            arc(reverse, link->functions->fn.count + i, cv_edges_get(&link->calls->edge, edge)->to);
}

/* Counts become places: where the callers of each node begin. Every place moves on as it is filled, so that
 * it ends where the next one begins. */
static bool turn_round(reverse_graph *reverse)
{
    uint64_t nodes = reverse->link->functions->fn.count + reverse->link->calls->n_proto_nodes, sum = 0;

    if (!cv_u32s_fill(&reverse->link->ctx->mem, &reverse->first, nodes + 2))
        return false;
    arcs(reverse);
    for (uint64_t i = 1; i <= nodes + 1; i++) {
        uint32_t *number = cv_u32s_at(&reverse->first, i), count = *number;

        *number = (uint32_t)sum;
        sum += count;
    }
    if (sum >= CV_NONE || !cv_u32s_fill(&reverse->link->ctx->mem, &reverse->from, cv_max(sum, 1)))
        return false;
    reverse->fill = true;
    arcs(reverse);
    return true;
}

static bool climb(const reverse_graph *reverse, cv_u32s *mark, cv_u32s *todo)
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
            ok = cv_u32s_push(&reverse->link->ctx->mem, todo, up);
        }
    }
    return ok;
}

cuvet_status cv_link_above(cv_link *link, cv_u32s *mark)
{
    reverse_graph reverse = { .link = link };
    cv_u32s todo = { 0 };
    bool ok = true;

    for (uint32_t i = 0; i < mark->count && ok; i++)
        if (*cv_u32s_at(mark, i) != 0)
            ok = cv_u32s_push(&link->ctx->mem, &todo, i);
    for (uint64_t i = mark->count; i < link->functions->fn.count + link->calls->n_proto_nodes && ok; i++)
        ok = cv_u32s_push(&link->ctx->mem, mark, 0);
    if (todo.count && ok)
        ok = turn_round(&reverse) && climb(&reverse, mark, &todo);
    cv_u32s_free(&link->ctx->mem, &reverse.first);
    cv_u32s_free(&link->ctx->mem, &reverse.from);
    cv_u32s_free(&link->ctx->mem, &todo);
    return ok ? CUVET_OK : cv_l_nomem(link);
}

bool cv_link_is_kernel(const cv_lfn *function)
{
    return function->kernel && function->def != CV_NONE && function->live;
}

/* Kernels that are wanted are live, and live functions call only live ones. */
bool cv_link_reach_holds(const cv_link *link)
{
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(link, i);

        if (!function->live && (link->options->relocatable || cv_link_is_root(link, i)))
            return false;
        if (function->mark != link->calls->stamp || !function->live || link->options->relocatable)
            continue;
        for (cv_id edge = function->calls; edge != CV_NONE;
             edge = cv_edges_get(&link->calls->edge, edge)->next)
            if (!cv_l_fn(link, cv_edges_get(&link->calls->edge, edge)->to)->live)
                return false;
    }
    return true;
}

bool cv_l_add_edge(cv_link *link, cv_id *head, cv_id to)
{
    cv_edge edge = { .to = to, .next = *head };

    if (link->calls->edge.count >= CV_NONE || !cv_edges_push(&link->ctx->mem, &link->calls->edge, edge))
        return false;
    *head = (cv_id)(link->calls->edge.count - 1);
    return true;
}
