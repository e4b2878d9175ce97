/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage propagate: registers, barriers and stack of what a kernel reaches. The call graph is condensed to its
 * components once, in linear time; a walk over paths would be exponential. Nodes are the functions, then the
 * prototypes of indirect calls. */
#include "base/arith.h"
#include "format/tlv/read.h"
#include "link/stages.h"

enum {
    EIATTR_MAXREG_COUNT = 0x1B,
    EIATTR_NUM_BARRIERS = 0x4C,
    EIATTR_SPARSE_MMA_MASK = 0x50,
    SPARSE_ALIAS = 0x8000,
    BARRIER_POS = 20,
    BARRIER_MASK = 0x7F
};

/* What is known of a node when its component is done. */
typedef struct node {
    uint32_t index, low; /* Tarjan's numbers; index 0: not met */
    uint32_t comp;
    cv_id edge;   /* where the walk over its edges stands */
    uint8_t list; /* 0: calls, 1: indirect, 2: done */
    bool on_stack, started;
} node;

typedef struct comp {
    uint32_t regs, bars, sparse;
    uint64_t stack;
    bool cyclic;
} comp;

CV_VEC(nodes, node);
CV_VEC(comps, comp);

typedef struct walk {
    cv_link *l;
    nodes node;
    comps comp;
    cv_u32s path, stack; /* of the walk, of Tarjan */
    uint32_t next;
} walk;

static uint64_t n_fns(const walk *w)
{
    return w->l->fn.n;
}

/* Next successor of a node; CV_NONE: no more. */
static cv_id successor(walk *w, cv_id id)
{
    node *n = nodes_at(&w->node, id);
    cv_link *l = w->l;
    cv_id to;

    if (!n->started) {
        n->started = true;
        n->list = 0;
        n->edge = id < n_fns(w) ? cv_l_fn(l, id)->calls
                                : cv_l_mean(l, *cv_u32s_at(&l->protos, id - n_fns(w)))->takers;
    }
    if (n->edge == CV_NONE && n->list == 0 && id < n_fns(w)) {
        n->list = 1;
        n->edge = cv_l_fn(l, id)->ind;
    }
    if (n->edge == CV_NONE)
        return CV_NONE;
    to = cv_edges_at(&l->edge, n->edge)->to;
    n->edge = cv_edges_at(&l->edge, n->edge)->next;
    return n->list == 1 ? (cv_id)(n_fns(w) + cv_l_mean(l, to)->proto_node) : to;
}

static bool enter(walk *w, cv_id id)
{
    node *n = nodes_at(&w->node, id);

    n->index = n->low = ++w->next;
    n->on_stack = true;
    return cv_u32s_push(&w->l->x->mem, &w->path, id) && cv_u32s_push(&w->l->x->mem, &w->stack, id);
}

/* Largest values below a component, over the edges that leave it; all of those are done. */
static void sum_up(walk *w, cv_id id, comp *c)
{
    node *n = nodes_at(&w->node, id);
    uint64_t below = 0, frame = 0;
    cv_id to;

    n->started = false;
    while ((to = successor(w, id)) != CV_NONE) {
        const node *m = nodes_at(&w->node, to);
        const comp *d = comps_at(&w->comp, m->comp);

        if (m->comp == n->comp)
            continue;
        c->regs = c->regs > d->regs ? c->regs : d->regs;
        c->bars = c->bars > d->bars ? c->bars : d->bars;
        c->sparse |= d->sparse;
        c->cyclic = c->cyclic || d->cyclic;
        below = cv_max(below, d->stack);
    }
    if (id < n_fns(w)) {
        const cv_lfn *f = cv_l_fn(w->l, id);

        frame = f->frame;
        c->regs = c->regs > f->regs ? c->regs : f->regs;
        c->bars = c->bars > f->bars ? c->bars : f->bars;
        c->sparse |= f->sparse;
    }
    c->stack = cv_max(c->stack, cv_sat_add(below, frame));
}

static bool calls_itself(walk *w, cv_id id)
{
    cv_id to;

    nodes_at(&w->node, id)->started = false;
    while ((to = successor(w, id)) != CV_NONE)
        if (to == id)
            return true;
    return false;
}

/* The nodes on Tarjan's stack down to id are one component. */
static bool close_component(walk *w, cv_id id)
{
    uint32_t number = (uint32_t)w->comp.n;
    uint64_t first = w->stack.n;
    comp c = { 0 };
    cv_id m;

    do {
        m = *cv_u32s_at(&w->stack, --first);
        nodes_at(&w->node, m)->on_stack = false;
        nodes_at(&w->node, m)->comp = number;
    } while (m != id);
    c.cyclic = w->stack.n - first > 1 || calls_itself(w, id);
    for (uint64_t i = first; i < w->stack.n; i++)
        sum_up(w, *cv_u32s_at(&w->stack, i), &c);
    w->stack.n = first;
    return comps_push(&w->l->x->mem, &w->comp, c);
}

static bool leave(walk *w, cv_id id)
{
    node *n = nodes_at(&w->node, id), *up;

    if (n->low == n->index && !close_component(w, id))
        return false;
    w->path.n--;
    if (w->path.n) {
        up = nodes_at(&w->node, *cv_u32s_at(&w->path, w->path.n - 1));
        if (n->on_stack && n->low < up->low)
            up->low = n->low;
    }
    return true;
}

static bool step(walk *w)
{
    cv_id id = *cv_u32s_at(&w->path, w->path.n - 1), to = successor(w, id);
    node *n = nodes_at(&w->node, id), *m;

    if (to == CV_NONE)
        return leave(w, id);
    m = nodes_at(&w->node, to);
    if (m->index == 0)
        return enter(w, to);
    if (m->on_stack && m->index < n->low)
        n->low = m->index;
    return true;
}

static cuvet_status run(walk *w)
{
    cv_mem *m = &w->l->x->mem;
    uint64_t total = n_fns(w) + w->l->n_proto_nodes;
    node nothing = { .edge = CV_NONE };

    for (uint64_t i = 0; i < total; i++)
        if (!nodes_push(m, &w->node, nothing))
            return cv_l_nomem(w->l);
    for (cv_id i = 0; i < total; i++) {
        if (nodes_at(&w->node, i)->index != 0)
            continue;
        if (!enter(w, i))
            return cv_l_nomem(w->l);
        while (w->path.n) {
            if (!cv_work(w->l->x, 1, 0))
                return CUVET_E_LIMIT;
            if (!step(w))
                return cv_l_nomem(w->l);
        }
    }
    return CUVET_OK;
}

/* Values of the function's own records. */
static void read_function(cv_link *l, cv_lfn *f)
{
    const cv_isym *d = cv_l_isym(l, f->def);
    cv_id info = cv_l_isec(l, d->sec)->info_sec;
    cv_span s;
    uint64_t pos = 0;
    cv_tlv t;
    bool bars = false, limit = false;

    f->regs = d->regs;
    f->frame = d->frame;
    f->has_info = info != CV_NONE;
    if (!f->has_info)
        return;
    s = cv_l_body(l, cv_l_isec(l, info));
    if (!cv_work(l->x, s.len / 4, 0)) /* of one code section for all of its names */
        return;
    for (; cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        if (t.code == EIATTR_NUM_BARRIERS && !bars) {
            f->bars = t.value;
            bars = true;
        } else if (t.code == EIATTR_MAXREG_COUNT && !limit) {
            f->max_regs = t.value;
            limit = true;
        } else if (t.code == EIATTR_SPARSE_MMA_MASK && t.format == CV_TLV_HVAL) {
            f->sparse |= t.value;
        }
    }
    if (!bars && cv_l_obj(l, d->obj)->cubin.legacy) {
        f->bars = (uint32_t)(cv_l_isec(l, d->sec)->flags >> BARRIER_POS & BARRIER_MASK);
        f->flag_bars = f->bars != 0;
    }
}

/* Functions that need more registers than a kernel below which they are was promised. */
static cuvet_status check_registers(cv_link *l, cv_id kernel)
{
    uint32_t limit = cv_l_fn(l, kernel)->max_regs;
    cv_u32s below = { 0 }, seen = { 0 };
    cuvet_status st;

    if (limit == 0xFF || cv_l_fn(l, kernel)->all_regs <= limit)
        return CUVET_OK;
    if (!cv_u32s_fill(&l->x->mem, &seen, cv_max(l->n_proto_nodes, 1)))
        return cv_l_nomem(l);
    st = cv_link_below(l, kernel, NULL, &below, &seen);
    for (uint64_t i = 0; i < below.n && st == CUVET_OK; i++) {
        const cv_lfn *g = cv_l_fn(l, *cv_u32s_at(&below, i));

        if (g->def != CV_NONE && g->regs > limit)
            cv_link_say_two(l, g->def, cv_l_fn(l, kernel)->def, CV_R_LINK_REGISTERS, g->regs, limit);
    }
    cv_u32s_free(&l->x->mem, &below);
    cv_u32s_free(&l->x->mem, &seen);
    return st;
}

/* What no kernel is known to reach but stays may run in the only one there is: so says the reference. */
static void give_all_to_one(cv_link *l)
{
    cv_id one = CV_NONE;
    uint32_t bars = 0;

    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || !f->live)
            continue;
        if (f->kernel && one != CV_NONE)
            return;
        if (f->kernel)
            one = i;
        bars = bars > f->bars ? bars : f->bars;
    }
    if (one != CV_NONE && cv_l_fn(l, one)->all_bars < bars)
        cv_l_fn(l, one)->all_bars = bars;
}

static cuvet_status conclude(walk *w)
{
    cv_link *l = w->l;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++) {
        cv_lfn *f = cv_l_fn(l, i);
        const comp *c = comps_at(&w->comp, nodes_at(&w->node, i)->comp);

        if (!f->kernel || f->def == CV_NONE || !f->live)
            continue;
        f->all_regs = c->regs;
        f->all_bars = c->bars;
        f->all_sparse = c->sparse;
        f->stack = c->cyclic ? UINT32_MAX : cv_min(c->stack, UINT32_MAX);
        f->recursive = c->cyclic;
        if (!c->cyclic && c->stack >= UINT32_MAX) /* which would say that it is not known */
            cv_link_say(l, f->def, CV_R_LINK_EXTENT, c->stack, 0);
        if (c->cyclic && !l->o.no_stack_warning)
            cv_link_say(l, f->def, CV_R_LINK_STACK, 0, 0);
        st = check_registers(l, i);
    }
    give_all_to_one(l);
    return st;
}

/* Code with two names: the reference gives it a mask of its own from sm_90 on. */
static void mark_aliases(cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n && l->o.target.sm >= 90; i++) {
        const cv_lfn *f = cv_l_fn(l, i);
        cv_id owner = f->sec == CV_NONE ? i : cv_l_osec(l, f->sec)->fn;

        if (owner == i || f->def == CV_NONE)
            continue;
        cv_l_fn(l, owner)->aliased = true;
        cv_l_fn(l, owner)->sparse |= SPARSE_ALIAS;
    }
}

cuvet_status cv_link_propagate(cv_link *l)
{
    cv_mem *m = &l->x->mem;
    cuvet_status st = CUVET_OK;
    walk w = { .l = l };

    for (cv_id i = 0; i < l->fn.n; i++)
        if (cv_l_fn(l, i)->def != CV_NONE)
            read_function(l, cv_l_fn(l, i));
    mark_aliases(l);
    if (!l->o.relocatable)
        st = run(&w);
    if (st == CUVET_OK && !l->o.relocatable)
        st = conclude(&w);
    l->propagated = st == CUVET_OK && !l->o.relocatable;
    nodes_free(m, &w.node);
    comps_free(m, &w.comp);
    cv_u32s_free(m, &w.path);
    cv_u32s_free(m, &w.stack);
    return st;
}
