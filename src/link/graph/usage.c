/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage propagate: registers, stack and other traits of what a kernel reaches. The call graph is condensed to
 * its components once, in linear time; a walk over paths would be exponential. Nodes are the functions, then
 * the prototypes of indirect calls. */
#include "base/arith.h"
#include "format/tlv/attr.h"
#include "link/in/stages.h"

enum { FRAGMENT_OLD_1CTA = 4, FRAGMENT_OLD_2CTA = 5, FRAGMENT_1CTA = 6, FRAGMENT_2CTA = 7 };

/* What is known of a node when its component is done. */
typedef struct node {
    uint32_t index, low; /* Tarjan's numbers; index 0: not met */
    uint32_t comp;
    cv_id edge;   /* where the walk over its edges stands */
    uint8_t list; /* 0: calls, 1: indirect, 2: done */
    bool on_stack, started;
} node;

typedef struct comp {
    uint32_t regs;
    cv_traits traits;
    uint64_t stack, sync; /* sync: of the stack of branches, as the code of old machines has it */
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
    uint64_t below = 0, frame = 0, sync = 0, own_sync = 0;
    cv_id to;

    n->started = false;
    while ((to = successor(w, id)) != CV_NONE) {
        const node *m = nodes_at(&w->node, to);
        const comp *d;

        if (m->comp == n->comp)
            continue;
        d = comps_get(&w->comp, m->comp);
        c->regs = c->regs > d->regs ? c->regs : d->regs;
        cv_traits_merge(&c->traits, &d->traits);
        c->cyclic = c->cyclic || d->cyclic;
        below = cv_max(below, d->stack);
        sync = cv_max(sync, d->sync);
    }
    if (id < n_fns(w)) {
        const cv_lfn *f = cv_l_fn(w->l, id);

        frame = f->frame;
        c->regs = c->regs > f->regs ? c->regs : f->regs;
        cv_traits_merge(&c->traits, &f->own);
        own_sync = cv_trait(&f->own, CV_H_CRS_STACK_SIZE);
    }
    c->stack = cv_max(c->stack, cv_sat_add(below, frame));
    c->sync = cv_max(c->sync, cv_sat_add(sync, own_sync));
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

/* Code that both kinds of tcgen05 wrote does not run together: 12.x has other fragments than 13.x. */
static void note_fragments(cv_link *l, const cv_lfn *f, cv_span s, const cv_tlv *t)
{
    for (uint64_t i = 0; t->format == CV_TLV_SVAL && i + 4 <= t->value; i += 4) {
        uint32_t id = cv_u32_at(s, t->payload + i);
        bool old = id == FRAGMENT_OLD_1CTA || id == FRAGMENT_OLD_2CTA;

        if (!old && id != FRAGMENT_1CTA && id != FRAGMENT_2CTA)
            continue;
        if (l->fragments && l->fragments != (old ? 1 : 2))
            cv_link_say(l, f->def, CV_R_LINK_FRAGMENTS, id, 0);
        else
            l->fragments = old ? 1 : 2;
    }
}

static void read_record(cv_link *l, cv_lfn *f, cv_span s, const cv_tlv *t)
{
    cv_heir row = cv_heir_of(t->code);

    if (row < CV_N_HEIR)
        cv_traits_record(&f->own, row, s, t);
    else if (row == CV_H_UNKNOWN && !f->strange)
        f->strange = t->code + 1u;
    if (row == CV_H_AT_ENTRY_FRAGEMENTS)
        note_fragments(l, f, s, t);
    if (t->code == CV_ATTR_MAXREG_COUNT && !f->limited) {
        f->max_regs = t->value;
        f->limited = true;
    }
}

/* Values of the function's own records. */
static void read_function(cv_link *l, cv_lfn *f)
{
    const cv_isym *d = cv_l_isym(l, f->def);
    cv_id info = cv_l_isec(l, d->sec)->info_sec;
    cv_span s;
    uint64_t pos = 0;
    cv_tlv t;

    f->regs = d->regs;
    f->frame = d->frame;
    f->has_info = info != CV_NONE;
    if (!f->has_info)
        return;
    s = cv_l_body(l, cv_l_isec(l, info));
    if (!cv_work(l->x, s.len / 4, 0)) /* of one code section for all of its names */
        return;
    for (; cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next)
        read_record(l, f, s, &t);
    if (!(f->own.has & CV_H_BIT(CV_H_NUM_BARRIERS)) && cv_l_obj(l, d->obj)->cubin.legacy) {
        uint32_t bars = cv_elf_code_barriers(cv_l_isec(l, d->sec)->flags);

        f->flag_bars = bars != 0;
        cv_trait_set(&f->own, CV_H_NUM_BARRIERS, bars);
        if (bars)
            f->own.has |= CV_H_BIT(CV_H_NUM_BARRIERS);
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

/* Sums count a function once however many paths lead to it, so that they are added up kernel by kernel, and
 * only over functions that have one or lead to one. */
static cuvet_status add_sums(cv_link *l)
{
    uint32_t sums = cv_heir_bits(CV_RULE_SUM);
    cv_u32s only = { 0 }, below = { 0 }, seen = { 0 };
    cuvet_status st = CUVET_OK;
    bool any = false, ok = cv_u32s_fill(&l->x->mem, &only, l->fn.n) &&
                           cv_u32s_fill(&l->x->mem, &seen, cv_max(l->n_proto_nodes, 1));

    for (cv_id i = 0; i < l->fn.n && ok; i++) {
        *cv_u32s_at(&only, i) = (cv_l_fn(l, i)->own.has & sums) != 0;
        any = any || *cv_u32s_at(&only, i);
    }
    if (any && ok)
        st = cv_link_above(l, &only);
    for (cv_id i = 0; i < l->fn.n && any && ok && st == CUVET_OK; i++) {
        cv_lfn *f = cv_l_fn(l, i);

        if (!cv_link_is_kernel(f) || !(f->all.has & sums))
            continue;
        st = cv_link_below(l, i, &only, &below, &seen);
        for (uint64_t k = 0; k < below.n && st == CUVET_OK; k++)
            cv_traits_add(&f->all, &cv_l_fn(l, *cv_u32s_at(&below, k))->own);
    }
    cv_u32s_free(&l->x->mem, &only);
    cv_u32s_free(&l->x->mem, &below);
    cv_u32s_free(&l->x->mem, &seen);
    return ok ? st : cv_l_nomem(l);
}

/* What no kernel is known to reach but stays may run in the only one there is: so says the reference. */
static cuvet_status give_all_to_one(cv_link *l)
{
    cv_traits sum = { 0 };
    uint32_t path = cv_heir_bits(CV_RULE_PATH);
    cv_lfn *one = NULL;

    for (cv_id i = 0; i < l->fn.n; i++) {
        cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || !f->live)
            continue;
        if (f->kernel && one) /* several: what each of them reaches */
            return add_sums(l);
        if (f->kernel)
            one = f;
        cv_traits_merge(&sum, &f->own);
        cv_traits_add(&sum, &f->own);
    }
    if (!one)
        return CUVET_OK;
    sum.has &= ~path | one->all.has;
    cv_trait_set(&sum, CV_H_CRS_STACK_SIZE, cv_trait(&one->all, CV_H_CRS_STACK_SIZE));
    one->all = sum;
    return CUVET_OK;
}

/* What a function reaches, and what of it a record cannot say. */
static void conclude_function(cv_link *l, cv_lfn *f, const comp *c)
{
    f->all = c->traits;
    cv_trait_set(&f->all, CV_H_CRS_STACK_SIZE,
                 c->cyclic ? UINT32_MAX : (uint32_t)cv_min(c->sync, UINT32_MAX));
    if (!f->kernel)
        return;
    f->all_regs = c->regs;
    f->stack = c->cyclic ? UINT32_MAX : cv_min(c->stack, UINT32_MAX);
    f->recursive = c->cyclic;
    if (!c->cyclic && cv_max(c->stack, c->sync) >= UINT32_MAX) /* which would say that it is not known */
        cv_link_say(l, f->def, CV_R_LINK_EXTENT, cv_max(c->stack, c->sync), 0);
    if (c->cyclic && !l->o.no_stack_warning)
        cv_link_say(l, f->def, CV_R_LINK_STACK, 0, 0);
}

/* What a kernel inherits has to go together. */
static void check_traits(cv_link *l, const cv_lfn *f)
{
    uint32_t both = CV_H_BIT(CV_H_TCGEN05_1CTA_USED) | CV_H_BIT(CV_H_TCGEN05_2CTA_USED);

    if ((f->all.has & both) == both)
        cv_link_say(l, f->def, CV_R_LINK_TCGEN05, 0, 0);
    for (unsigned i = 0; i < CV_N_HEIR; i++)
        if (cv_heir_get((cv_heir)i)->rule == CV_RULE_SUM && cv_trait(&f->all, i) == CV_H_SUM_EXCEEDS)
            cv_link_say(l, f->def, CV_R_LINK_SUM, cv_heir_get((cv_heir)i)->code, CV_H_SUM_UNKNOWN - 1);
}

static cuvet_status conclude(walk *w)
{
    cv_link *l = w->l;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++) {
        cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || !f->live)
            continue;
        conclude_function(l, f, comps_at(&w->comp, nodes_at(&w->node, i)->comp));
        if (f->kernel)
            st = check_registers(l, i);
        else if (f->strange)
            cv_link_say(l, f->def, CV_R_LINK_INHERIT, f->strange - 1, 0);
    }
    if (st == CUVET_OK)
        st = give_all_to_one(l);
    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++)
        if (cv_link_is_kernel(cv_l_fn(l, i)))
            check_traits(l, cv_l_fn(l, i));
    return st;
}

/* When one function says which kinds of sparse multiplication it does, the reference marks those that say
 * nothing: whoever wrote them did not know of it. A second name of code is such a function, and so is a dead
 * one, whose record has left. */
static void mark_silent(cv_link *l)
{
    const uint32_t bit = CV_H_BIT(CV_H_SPARSE_MMA_MASK);
    bool any = false;

    for (cv_id i = 0; i < l->fn.n && !any; i++)
        any = cv_l_fn(l, i)->def != CV_NONE && cv_l_fn(l, i)->live && (cv_l_fn(l, i)->own.has & bit);
    for (cv_id i = 0; i < l->fn.n && any; i++) {
        cv_lfn *f = cv_l_fn(l, i);
        cv_id owner = f->sec == CV_NONE ? i : cv_l_osec(l, f->sec)->fn;

        if (f->def == CV_NONE || !f->has_info || (f->live && owner == i && f->own.has & bit))
            continue;
        l->silent = true;
        if (!f->live)
            continue;
        f = cv_l_fn(l, owner);
        f->marked = true;
        f->own.has |= bit;
        cv_trait_set(&f->own, CV_H_SPARSE_MMA_MASK,
                     cv_trait(&f->own, CV_H_SPARSE_MMA_MASK) | CV_H_SPARSE_SILENT);
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
    if (!l->o.relocatable) {
        mark_silent(l);
        st = run(&w);
    }
    if (st == CUVET_OK && !l->o.relocatable)
        st = conclude(&w);
    l->propagated = st == CUVET_OK && !l->o.relocatable;
    nodes_free(m, &w.node);
    comps_free(m, &w.comp);
    cv_u32s_free(m, &w.path);
    cv_u32s_free(m, &w.stack);
    return st;
}

/* Sums of a kernel: at least its own and those of one function that it calls. */
static bool sums_hold(const cv_lfn *f, const cv_lfn *g)
{
    for (unsigned i = 0; i < CV_N_HEIR; i++) {
        uint32_t all = cv_trait(&f->all, i);
        uint64_t least = (uint64_t)cv_trait(&f->own, i) + (g == f ? 0 : cv_trait(&g->own, i));

        if (cv_heir_get((cv_heir)i)->rule == CV_RULE_SUM && all != CV_H_SUM_UNKNOWN && all < least)
            return false;
    }
    return true;
}

/* What a function reaches is what each function that it calls reaches, and its own: along all direct calls,
 * so that nothing is lost on a path of any length. */
static bool call_holds(const cv_lfn *f, const cv_lfn *g)
{
    if (g->def == CV_NONE || !g->live)
        return true;
    if (!cv_traits_cover(&f->all, &g->all))
        return false;
    if (!cv_link_is_kernel(f))
        return true;
    return g->regs <= f->all_regs && cv_min(cv_sat_add(f->frame, g->frame), UINT32_MAX) <= f->stack &&
           sums_hold(f, g);
}

/* A kernel has registers, stack and traits for itself and for whatever it calls. */
bool cv_link_propagate_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n && !l->o.relocatable; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || !f->live)
            continue;
        if (!cv_traits_cover(&f->all, &f->own))
            return false;
        if (cv_link_is_kernel(f) && (f->all_regs < f->regs || f->recursive != (f->stack == UINT32_MAX) ||
                                     f->stack < f->frame || !sums_hold(f, f)))
            return false;
        for (cv_id e = f->calls; e != CV_NONE; e = cv_edges_get(&l->edge, e)->next)
            if (!call_holds(f, cv_l_fn(l, cv_edges_get(&l->edge, e)->to)))
                return false;
    }
    return true;
}
