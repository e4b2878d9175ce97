/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels of executables have, against what the functions need that they call: the linker has summed it
 * up, and nobody does so after it. */
#include "cubin/meta.h"

#include "format/meta/read.h"
#include "format/tlv/attr.h"

/* Rounds in which registers go up the call graph: genuine ones are less deep, and what is left out of deeper
 * ones is not reported. */
#define ROUNDS 16u

typedef struct needs {
    cv_ctx *x;
    const cv_cubin *c;
    cv_span graph;
    cv_u32s regs, frame, stack; /* by symbol */
    cv_u32s below;              /* registers of the function and of what it calls */
} needs;

static void read_sizes(needs *n)
{
    cv_span s = cv_cubin_body(n->c, cv_cubin_first(n->c, CV_ROLE_NV_INFO));
    uint64_t pos = 0;
    cv_tlv t;

    for (; cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        uint32_t sym = cv_u32_at(s, t.payload), value = cv_u32_at(s, t.payload + 4);

        if (t.format != CV_TLV_SVAL || t.value != 8 || sym >= n->regs.n)
            continue;
        if (t.code == CV_ATTR_REGCOUNT)
            *cv_u32s_at(&n->regs, sym) = *cv_u32s_at(&n->below, sym) = value;
        else if (t.code == CV_ATTR_FRAME_SIZE)
            *cv_u32s_at(&n->frame, sym) = value;
        else if (t.code == CV_ATTR_MIN_STACK_SIZE)
            *cv_u32s_at(&n->stack, sym) = value;
    }
}

static bool next_call(const needs *n, cv_call_cur *cur, cv_call *r)
{
    while (cv_callgraph_peek(n->graph, cur, r))
        if (r->part == CV_CALL_DIRECT && r->from < n->regs.n && r->to < n->regs.n)
            return true;
    return false;
}

static bool any_call(const cv_cubin *c, cv_span graph)
{
    cv_call_cur cur = { 0 };
    cv_call r;

    while (cv_callgraph_peek(graph, &cur, &r))
        if (r.part == CV_CALL_DIRECT)
            return c->n_syms != 0;
    return false;
}

/* One step up; false: nothing changed any more. */
static bool raise(needs *n)
{
    cv_call_cur cur = { 0 };
    bool changed = false;
    cv_call r;

    while (next_call(n, &cur, &r)) {
        uint32_t *up = cv_u32s_at(&n->below, r.from), down = *cv_u32s_get(&n->below, r.to);

        changed = changed || down > *up;
        *up = down > *up ? down : *up;
    }
    return changed;
}

static void compare(const needs *n)
{
    cv_call_cur cur = { 0 };
    cv_call r;

    while (next_call(n, &cur, &r)) {
        uint32_t regs = *cv_u32s_get(&n->regs, r.from), stack = *cv_u32s_get(&n->stack, r.from);
        uint64_t frames = (uint64_t)*cv_u32s_get(&n->frame, r.from) + *cv_u32s_get(&n->frame, r.to);
        cv_elf_symbol s;

        cv_elf_read_symbol(n->c->symtab, false, r.from, &s);
        if (!(s.other & CV_STO_ENTRY) || regs == 0)
            continue;
        if (regs < *cv_u32s_get(&n->below, r.from))
            cv_report(n->x, CV_R_CALL_REGISTERS, n->graph.off + r.off, 4, regs,
                      *cv_u32s_get(&n->below, r.from));
        if (stack < frames)
            cv_report(n->x, CV_R_CALL_STACK, n->graph.off + r.off, 4, stack, frames);
    }
}

static bool fill(needs *n)
{
    cv_mem *m = &n->x->mem;
    uint64_t count = n->c->n_syms;

    return cv_u32s_fill(m, &n->regs, count) && cv_u32s_fill(m, &n->below, count) &&
           cv_u32s_fill(m, &n->frame, count) && cv_u32s_fill(m, &n->stack, count);
}

cuvet_status cv_meta_needs(cv_ctx *x, const cv_cubin *c)
{
    uint32_t i = cv_cubin_first(c, CV_ROLE_CALLGRAPH), info = cv_cubin_first(c, CV_ROLE_NV_INFO);
    needs n = { .x = x, .c = c, .graph = cv_cubin_body(c, i) };
    uint64_t calls = n.graph.len / 8;
    cuvet_status st = CUVET_OK;

    if (!c->exe || i == 0 || info == 0 || !any_call(c, n.graph))
        return CUVET_OK;
    if (!cv_work(x, 2 * calls + c->n_syms / 4 + cv_cubin_body(c, info).len / 4, n.graph.off))
        return CUVET_OK; /* reported */
    if (fill(&n)) {
        read_sizes(&n);
        for (unsigned k = 0; k < ROUNDS && raise(&n) && cv_work(x, calls, n.graph.off); k++)
            continue;
        cv_path_push(x, CUVET_P_SECTION, true, i);
        compare(&n);
        cv_path_pop(x);
    } else {
        st = cv_nomem(x, n.graph.off);
    }
    cv_u32s_free(&x->mem, &n.regs);
    cv_u32s_free(&x->mem, &n.below);
    cv_u32s_free(&x->mem, &n.frame);
    cv_u32s_free(&x->mem, &n.stack);
    return st;
}
