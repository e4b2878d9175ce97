/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call graph as the reference linker tells it: functions in the order in which they were met; of each,
 * what it may call indirectly before what it calls, the last one first; then the functions that
 * raised the registers of kernels, in the order of their definitions. */
#include "link/graph/callgraph.h"

#include "link/in/stages.h"

typedef struct teller {
    cv_link *l;
    const cuvet_callgraph_sink *sink;
    cv_u32s rank; /* by function: the place of its definition among all, from 1; 0: it has none */
    cv_u32s seen, below;
    cv_u32s head;         /* by prototype: its last taker, from 1; 0: none */
    cv_keys taker;        /* function, and the one before it */
    cv_keys some, raised; /* raised: rank and kernel, function */
} teller;

static uint32_t registers(const cv_link *l, const cv_lfn *f)
{
    return f->def == CV_NONE ? 0 : cv_l_isym(l, f->def)->regs;
}

static bool say_call(const teller *t, cv_id from, cv_id to)
{
    return t->sink->call(t->sink->user, (uint64_t)from + 1, (uint64_t)to + 1);
}

/* By prototype the functions whose address is taken with it, the last one first. */
static cuvet_status list_takers(teller *t)
{
    cv_link *l = t->l;
    bool ok = cv_u32s_fill(&l->x->mem, &t->head, cv_max(l->n_proto_nodes, 1));

    for (cv_id i = 0; i < l->fn.n && ok; i++)
        for (cv_id e = cv_l_fn(l, i)->taken; e != CV_NONE && ok; e = cv_edges_at(&l->edge, e)->next) {
            uint32_t *head = cv_u32s_at(&t->head, cv_l_mean(l, cv_edges_at(&l->edge, e)->to)->proto_node);

            ok = cv_keys_push(&l->x->mem, &t->taker, (cv_key){ .key = i, .index = *head });
            *head = (uint32_t)t->taker.n;
        }
    return ok ? CUVET_OK : cv_l_nomem(l);
}

/* An indirect call reaches every function whose address is taken with its prototype: the lists are as long as
 * the product, and paid for. */
static cuvet_status say_indirect(teller *t, cv_id id)
{
    cv_link *l = t->l;
    bool ok = true;

    cv_u32s_clear(&t->below);
    for (cv_id e = cv_l_fn(l, id)->ind; e != CV_NONE && ok; e = cv_edges_at(&l->edge, e)->next)
        ok = cv_u32s_push(&l->x->mem, &t->below, cv_edges_at(&l->edge, e)->to);
    if (!ok)
        return cv_l_nomem(l);
    for (uint64_t left = t->below.n; left > 0; left--) {
        cv_id proto = *cv_u32s_at(&t->below, left - 1);
        uint64_t k = *cv_u32s_at(&t->head, cv_l_mean(l, proto)->proto_node);

        for (; k; k = cv_keys_at(&t->taker, k - 1)->index) {
            if (!cv_work(l->x, 1, 0))
                return CUVET_E_LIMIT;
            if (!say_call(t, id, (cv_id)cv_keys_at(&t->taker, k - 1)->key))
                return CUVET_E_CANCELLED;
        }
    }
    return CUVET_OK;
}

static cuvet_status say_calls(teller *t, cv_id id)
{
    cv_link *l = t->l;
    cuvet_status s = say_indirect(t, id);

    for (cv_id e = cv_l_fn(l, id)->calls; e != CV_NONE && s == CUVET_OK; e = cv_edges_at(&l->edge, e)->next) {
        if (!cv_work(l->x, 1, 0))
            s = CUVET_E_LIMIT;
        else if (!say_call(t, id, cv_edges_at(&l->edge, e)->to))
            s = CUVET_E_CANCELLED;
    }
    return s;
}

static cuvet_status say_functions(teller *t)
{
    cv_link *l = t->l;
    cuvet_status s = list_takers(t);

    for (cv_id i = 0; i < l->fn.n && s == CUVET_OK; i++) {
        const cv_lfn *f = cv_l_fn(l, i);
        cv_span name = cv_l_text(l, f->name);
        const cuvet_link_function told = { .size = sizeof(told),
                                           .name = (const char *)name.base,
                                           .n_name = (size_t)name.len,
                                           .kernel = f->kernel,
                                           .address_taken = f->taken != CV_NONE,
                                           .defined = f->def != CV_NONE,
                                           .kept = f->live,
                                           .registers = registers(l, f) };

        if (!cv_work(l->x, 1, 0))
            s = CUVET_E_LIMIT;
        else if (!t->sink->function(t->sink->user, (uint64_t)i + 1, &told))
            s = CUVET_E_CANCELLED;
        else if (f->live)
            s = say_calls(t, i);
    }
    return s;
}

static cuvet_status rank_functions(teller *t)
{
    cv_link *l = t->l;
    uint32_t next = 0;

    if (!cv_u32s_fill(&l->x->mem, &t->rank, cv_max(l->fn.n, 1)))
        return cv_l_nomem(l);
    for (cv_id i = 0; i < l->isym.n; i++) {
        cv_id fn = cv_l_isym(l, i)->fn;

        if (fn != CV_NONE && cv_l_fn(l, fn)->def == i)
            *cv_u32s_at(&t->rank, fn) = ++next;
    }
    return CUVET_OK;
}

/* Of the functions below a kernel, in the order of their ranks, those that need more than all before. */
static cuvet_status raise_kernel(teller *t, cv_id kernel)
{
    cv_link *l = t->l;
    uint32_t most = registers(l, cv_l_fn(l, kernel));
    cuvet_status s = cv_link_below(l, kernel, NULL, &t->below, &t->seen);
    bool ok = true;

    cv_keys_clear(&t->some);
    for (uint64_t i = 0; i < t->below.n && s == CUVET_OK && ok; i++) {
        cv_id fn = *cv_u32s_at(&t->below, i);

        if (*cv_u32s_at(&t->rank, fn) && registers(l, cv_l_fn(l, fn)) > most)
            ok = cv_keys_push(&l->x->mem, &t->some, (cv_key){ *cv_u32s_at(&t->rank, fn), fn });
    }
    cv_keys_sort(&t->some);
    for (uint64_t i = 0; i < t->some.n && s == CUVET_OK && ok; i++) {
        const cv_key *k = cv_keys_at(&t->some, i);
        uint32_t regs = registers(l, cv_l_fn(l, k->index));

        if (regs <= most)
            continue;
        most = regs;
        ok = cv_keys_push(&l->x->mem, &t->raised,
                          (cv_key){ k->key << 32 | (uint32_t)(UINT32_MAX - kernel), k->index });
    }
    return s != CUVET_OK || ok ? s : cv_l_nomem(l);
}

static cuvet_status say_raised(const teller *t)
{
    for (uint64_t i = 0; i < t->raised.n; i++) {
        const cv_key *k = cv_keys_get(&t->raised, i);
        uint32_t kernel = UINT32_MAX - (uint32_t)k->key;

        if (!cv_work(t->l->x, 1, 0))
            return CUVET_E_LIMIT;
        if (!t->sink->raised(t->sink->user, k->index + 1, (uint64_t)kernel + 1))
            return CUVET_E_CANCELLED;
    }
    return CUVET_OK;
}

static cuvet_status find_raised(teller *t)
{
    cv_link *l = t->l;
    cuvet_status s = rank_functions(t);

    if (s == CUVET_OK && !cv_u32s_fill(&l->x->mem, &t->seen, cv_max(l->n_proto_nodes, 1)))
        s = cv_l_nomem(l);
    for (cv_id i = 0; i < l->fn.n && s == CUVET_OK; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->kernel && f->live && f->def != CV_NONE && f->all_regs > registers(l, f))
            s = raise_kernel(t, i);
    }
    cv_keys_sort(&t->raised);
    return s;
}

cuvet_status cv_link_callgraph(cv_link *l, const cuvet_callgraph_sink *sink)
{
    teller t = { .l = l, .sink = sink };
    cuvet_status s = say_functions(&t);

    if (s == CUVET_OK && l->propagated)
        s = find_raised(&t);
    if (s == CUVET_OK)
        s = say_raised(&t);
    cv_u32s_free(&l->x->mem, &t.rank);
    cv_u32s_free(&l->x->mem, &t.head);
    cv_keys_free(&l->x->mem, &t.taker);
    cv_u32s_free(&l->x->mem, &t.seen);
    cv_u32s_free(&l->x->mem, &t.below);
    cv_keys_free(&l->x->mem, &t.some);
    cv_keys_free(&l->x->mem, &t.raised);
    return s;
}
