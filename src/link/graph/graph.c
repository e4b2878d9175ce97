/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage reach: the call graph of the program, and which of it a kernel can reach. Indirect calls go through a
 * node for each prototype, so that callers times callees never counts. */
#include "format/meta/read.h"
#include "link/in/stages.h"

typedef struct record {
    const cv_lobj *o;
    cv_call c;
} record;

static cv_id string_name(cv_link *l, const cv_lobj *o, uint32_t off)
{
    cv_span text;

    if (!cv_span_cstr(o->cubin.strtab, off, &text))
        text = cv_span_of(NULL, 0, 0);
    return cv_l_name(l, text);
}

/* Prototypes are strings of the output, in the order of reading. */
static bool use_proto(cv_link *l, cv_id name)
{
    cv_meaning *m = cv_l_mean(l, name);

    if (m->proto_node != CV_NONE)
        return true;
    m->proto_node = (cv_id)l->n_proto_nodes++;
    return cv_u32s_push(&l->x->mem, &l->protos, name);
}

/* Records of a definition that lost against an earlier one do not count; those of one that won until a better
 * one came do, in the reference. */
static bool counts(const cv_link *l, cv_id sym)
{
    return !cv_l_isym(l, sym)->beaten;
}

/* A function has one prototype, or a few; many cost. */
static bool has(const cv_link *l, cv_id head, cv_id to)
{
    for (; head != CV_NONE && cv_work(l->x, 1, 0); head = cv_edges_get(&l->edge, head)->next)
        if (cv_edges_get(&l->edge, head)->to == to)
            return true;
    return false;
}

static cuvet_status take(cv_link *l, const record *r)
{
    cv_id from = r->o->first_sym + r->c.from, fn, proto = CV_NONE, to = CV_NONE, *list = NULL;
    bool ok = true;

    if (CV_NEVER(r->c.from >= r->o->n_sym)) /* examined */
        return cv_link_broken(l);
    fn = cv_l_isym(l, from)->fn;
    if (r->c.part == CV_CALL_ADDRESS || r->c.part == CV_CALL_INDIRECT) {
        proto = string_name(l, r->o, r->c.to);
        if (proto == CV_NONE || !use_proto(l, proto))
            return cv_l_nomem(l);
    } else if (r->c.to < r->o->n_sym) {
        to = cv_l_isym(l, r->o->first_sym + r->c.to)->fn;
    }
    if (fn == CV_NONE || (r->c.part != CV_CALL_ADDRESS && !counts(l, from)))
        return CUVET_OK;
    switch (r->c.part) {
    case CV_CALL_DIRECT: list = &cv_l_fn(l, fn)->calls; break;
    case CV_CALL_ADDRESS: list = &cv_l_fn(l, fn)->taken; break;
    case CV_CALL_INDIRECT: list = &cv_l_fn(l, fn)->ind; break;
    case CV_CALL_POSSIBLE: list = &cv_l_fn(l, fn)->adr; break;
    case CV_CALL_NONE: return CUVET_OK;
    }
    if (r->c.part == CV_CALL_ADDRESS && has(l, *list, proto))
        return CUVET_OK;
    if (proto == CV_NONE && to == CV_NONE)
        return CUVET_OK;
    ok = cv_l_add_edge(l, list, proto != CV_NONE ? proto : to);
    if (ok && r->c.part == CV_CALL_ADDRESS)
        ok = cv_l_add_edge(l, &cv_l_mean(l, proto)->takers, fn);
    return ok ? CUVET_OK : cv_l_nomem(l);
}

/* The model of the reference reads the four parts one after the other; a section has them in that order. */
static cuvet_status read_graph(cv_link *l, const cv_lobj *o)
{
    cv_span graph = cv_cubin_body(&o->cubin, o->callgraph), table = cv_cubin_body(&o->cubin, o->prototype);
    cuvet_status st = CUVET_OK;
    cv_call_cur cur = { .loose = o->cubin.hand || o->cubin.legacy };
    record r = { .o = o };
    uint64_t pos = 0;
    cv_proto p;

    while (st == CUVET_OK && o->callgraph && cv_callgraph_next(l->x, graph, &cur, &r.c) == CUVET_OK) {
        if (!cv_work(l->x, 1, 0))
            return CUVET_E_LIMIT;
        st = take(l, &r);
    }
    while (st == CUVET_OK && cv_prototype_next(l->x, table, &pos, &p) == CUVET_OK) {
        cv_id name = string_name(l, o, p.string), fn;

        if (name == CV_NONE || !use_proto(l, name))
            return cv_l_nomem(l);
        fn = p.symbol < o->n_sym ? cv_l_isym(l, o->first_sym + p.symbol)->fn : CV_NONE;
        if (fn != CV_NONE && cv_l_fn(l, fn)->proto == CV_NONE)
            cv_l_fn(l, fn)->proto = name;
    }
    return st;
}

/* only: by function, which ones count; NULL: all. */
static bool push_fn(cv_link *l, cv_u32s *todo, const cv_u32s *only, cv_id fn)
{
    cv_lfn *f = cv_l_fn(l, fn);

    if (f->mark == l->stamp || (only && *cv_u32s_get(only, fn) == 0))
        return true;
    f->mark = l->stamp;
    return cv_u32s_push(&l->x->mem, todo, fn);
}

/* Successors of a function that were not met yet; the functions behind a prototype once for all callers. */
static bool push_next(cv_link *l, cv_u32s *todo, const cv_u32s *only, cv_u32s *proto_seen, cv_id fn)
{
    bool ok = true;

    for (cv_id e = cv_l_fn(l, fn)->calls; e != CV_NONE && ok; e = cv_edges_at(&l->edge, e)->next)
        ok = push_fn(l, todo, only, cv_edges_at(&l->edge, e)->to);
    for (cv_id e = cv_l_fn(l, fn)->ind; e != CV_NONE && ok; e = cv_edges_at(&l->edge, e)->next) {
        const cv_meaning *m = cv_l_mean(l, cv_edges_at(&l->edge, e)->to);
        uint32_t *seen = cv_u32s_at(proto_seen, m->proto_node);

        if (*seen == l->stamp)
            continue;
        *seen = l->stamp;
        for (cv_id k = m->takers; k != CV_NONE && ok; k = cv_edges_at(&l->edge, k)->next)
            ok = push_fn(l, todo, only, cv_edges_at(&l->edge, k)->to);
    }
    return ok;
}

/* Functions whose address lies in data are kept. */
static void mark_data_references(cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        cv_group g = q->group == CV_G_REL ? cv_l_osec(l, q->target)->group : CV_N_GROUPS;

        if (g != CV_G_INIT && g != CV_G_CONST && g != CV_G_PARAM)
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            cv_id fn = cv_l_isym(l, cv_l_irel(l, r)->sym)->fn;

            if (fn != CV_NONE && !cv_l_fn(l, fn)->kernel)
                cv_l_fn(l, fn)->data_ref = true;
        }
    }
}

/* Kept, but not followed: only what is undefined and called from there stays. */
static void keep(cv_link *l, cv_id fn)
{
    cv_l_fn(l, fn)->live = true;
    for (cv_id e = cv_l_fn(l, fn)->calls; e != CV_NONE; e = cv_edges_at(&l->edge, e)->next) {
        cv_lfn *g = cv_l_fn(l, cv_edges_at(&l->edge, e)->to);

        if (!g->has_def)
            g->live = true;
    }
}

static bool reach_from_roots(cv_link *l, cv_u32s *todo, cv_u32s *seen)
{
    l->stamp++;
    for (cv_id i = 0; i < l->fn.n; i++) {
        uint64_t len = cv_l_text(l, cv_l_fn(l, i)->name).len;

        if (l->o.n_kernels_used && !cv_work(l->x, cv_sat_mul(len + 1, l->o.n_kernels_used), 0))
            return false;
        if (cv_link_is_root(l, i) && !push_fn(l, todo, NULL, i))
            return false;
    }
    for (uint64_t at = 0; at < todo->n; at++) {
        cv_id fn = *cv_u32s_at(todo, at);

        cv_l_fn(l, fn)->live = cv_l_fn(l, fn)->reachable = true;
        if (!push_next(l, todo, NULL, seen, fn))
            return false;
    }
    return true;
}

/* Kernels that nobody can launch: host code refers to none of their names, device code does not take their
 * addresses. */
static cuvet_status mark_unreferred(cv_link *l)
{
    cuvet_status st = CUVET_OK;
    uint64_t kernels = 0, unreferred = 0;

    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++) {
        bool referred = true;

        if (!cv_l_fn(l, i)->kernel || !cv_l_fn(l, i)->has_def)
            continue;
        kernels++;
        st = cv_hosts_refer(l->x, l->o.hosts, cv_l_text(l, cv_l_fn(l, i)->name), &referred);
        cv_l_fn(l, i)->unreferred = !referred;
    }
    for (cv_id i = 0; i < l->fn.n; i++)
        for (cv_id e = cv_l_fn(l, i)->adr; e != CV_NONE; e = cv_edges_at(&l->edge, e)->next)
            cv_l_fn(l, cv_edges_at(&l->edge, e)->to)->unreferred = false;
    for (cv_id i = 0; i < l->fn.n; i++)
        unreferred += cv_l_fn(l, i)->unreferred;
    if (st == CUVET_OK && unreferred)
        cv_link_say(l, CV_NONE, CV_R_LINK_UNREFERRED, unreferred, kernels);
    return st;
}

cuvet_status cv_link_reach(cv_link *l)
{
    cv_u32s todo = { 0 }, seen = { 0 };
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->obj.n && st == CUVET_OK; i++)
        st = read_graph(l, cv_l_obj(l, i));
    if (st == CUVET_OK && l->o.hosts)
        st = mark_unreferred(l);
    if (st != CUVET_OK)
        return st;
    mark_data_references(l);
    if (!cv_u32s_fill(&l->x->mem, &seen, cv_max(l->n_proto_nodes, 1)) || !reach_from_roots(l, &todo, &seen))
        st = cv_l_nomem(l);
    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++)
        for (cv_id e = cv_l_fn(l, i)->adr; e != CV_NONE; e = cv_edges_at(&l->edge, e)->next)
            keep(l, cv_edges_at(&l->edge, e)->to);
    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++) {
        if (cv_l_fn(l, i)->data_ref)
            keep(l, i);
        /* as the reference linker, which removes nothing that somebody may want to look at */
        if (l->o.relocatable || l->o.keep_dead)
            cv_l_fn(l, i)->live = true;
    }
    cv_u32s_free(&l->x->mem, &todo);
    cv_u32s_free(&l->x->mem, &seen);
    l->reached = st == CUVET_OK;
    return st;
}

/* Functions that a function reaches, itself first. */
cuvet_status cv_link_below(cv_link *l, cv_id fn, const cv_u32s *only, cv_u32s *out, cv_u32s *seen)
{
    cv_u32s_clear(out);
    l->stamp++;
    if (!push_fn(l, out, NULL, fn))
        return cv_l_nomem(l);
    for (uint64_t at = 0; at < out->n; at++) {
        if (!cv_work(l->x, 1, 0))
            return CUVET_E_LIMIT;
        if (!push_next(l, out, only, seen, *cv_u32s_at(out, at)))
            return cv_l_nomem(l);
    }
    return CUVET_OK;
}

/* The call graph turned round. Nodes are the functions, then the prototypes; the callers of node i are
 * from[first[i]] up to from[first[i + 1]]. */
typedef struct reverse {
    cv_link *l;
    cv_u32s first, from;
    bool fill; /* counted; now the callers are put in */
} reverse;

static void arc(reverse *r, uint64_t from, uint64_t to)
{
    uint32_t *n = cv_u32s_at(&r->first, to + 1);

    if (r->fill)
        *cv_u32s_at(&r->from, *n) = (uint32_t)from;
    *n += 1;
}

static void arcs(reverse *r)
{
    const cv_link *l = r->l;

    for (cv_id i = 0; i < l->fn.n; i++) {
        for (cv_id e = cv_l_fn(l, i)->calls; e != CV_NONE; e = cv_edges_get(&l->edge, e)->next)
            arc(r, i, cv_edges_get(&l->edge, e)->to);
        for (cv_id e = cv_l_fn(l, i)->ind; e != CV_NONE; e = cv_edges_get(&l->edge, e)->next)
            arc(r, i, l->fn.n + cv_l_mean(l, cv_edges_get(&l->edge, e)->to)->proto_node);
    }
    for (uint64_t p = 0; p < l->protos.n; p++)
        for (cv_id e = cv_l_mean(l, *cv_u32s_get(&l->protos, p))->takers; e != CV_NONE;
             e = cv_edges_get(&l->edge, e)->next)
            arc(r, l->fn.n + p, cv_edges_get(&l->edge, e)->to);
}

/* Counts become places: where the callers of each node begin. Every place moves on as it is filled, so that
 * it ends where the next one begins. */
static bool turn_round(reverse *r)
{
    uint64_t nodes = r->l->fn.n + r->l->n_proto_nodes, sum = 0;

    if (!cv_u32s_fill(&r->l->x->mem, &r->first, nodes + 2))
        return false;
    arcs(r);
    for (uint64_t i = 1; i <= nodes + 1; i++) {
        uint32_t *n = cv_u32s_at(&r->first, i), count = *n;

        *n = (uint32_t)sum;
        sum += count;
    }
    if (sum >= CV_NONE || !cv_u32s_fill(&r->l->x->mem, &r->from, cv_max(sum, 1)))
        return false;
    r->fill = true;
    arcs(r);
    return true;
}

static bool climb(const reverse *r, cv_u32s *mark, cv_u32s *todo)
{
    bool ok = true;

    for (uint64_t at = 0; at < todo->n && ok; at++) {
        uint32_t node = *cv_u32s_at(todo, at);
        uint64_t end = *cv_u32s_get(&r->first, (uint64_t)node + 1);

        for (uint64_t i = *cv_u32s_get(&r->first, node); i < end && ok; i++) {
            uint32_t up = *cv_u32s_get(&r->from, i);

            if (*cv_u32s_at(mark, up) != 0)
                continue;
            *cv_u32s_at(mark, up) = 1;
            ok = cv_u32s_push(&r->l->x->mem, todo, up);
        }
    }
    return ok;
}

cuvet_status cv_link_above(cv_link *l, cv_u32s *mark)
{
    reverse r = { .l = l };
    cv_u32s todo = { 0 };
    bool ok = true;

    for (uint32_t i = 0; i < mark->n && ok; i++)
        if (*cv_u32s_at(mark, i) != 0)
            ok = cv_u32s_push(&l->x->mem, &todo, i);
    for (uint64_t i = mark->n; i < l->fn.n + l->n_proto_nodes && ok; i++)
        ok = cv_u32s_push(&l->x->mem, mark, 0);
    if (todo.n && ok)
        ok = turn_round(&r) && climb(&r, mark, &todo);
    cv_u32s_free(&l->x->mem, &r.first);
    cv_u32s_free(&l->x->mem, &r.from);
    cv_u32s_free(&l->x->mem, &todo);
    return ok ? CUVET_OK : cv_l_nomem(l);
}

bool cv_link_is_kernel(const cv_lfn *f)
{
    return f->kernel && f->def != CV_NONE && f->live;
}

/* Kernels that are wanted are live, and live functions call only live ones. */
bool cv_link_reach_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (!f->live && (l->o.relocatable || cv_link_is_root(l, i)))
            return false;
        if (f->mark != l->stamp || !f->live || l->o.relocatable)
            continue;
        for (cv_id e = f->calls; e != CV_NONE; e = cv_edges_get(&l->edge, e)->next)
            if (!cv_l_fn(l, cv_edges_get(&l->edge, e)->to)->live)
                return false;
    }
    return true;
}

bool cv_l_add_edge(cv_link *l, cv_id *head, cv_id to)
{
    cv_edge e = { .to = to, .next = *head };

    if (l->edge.n >= CV_NONE || !cv_edges_push(&l->x->mem, &l->edge, e))
        return false;
    *head = (cv_id)(l->edge.n - 1);
    return true;
}
