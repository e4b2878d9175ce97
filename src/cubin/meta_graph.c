/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call graph, prototypes, unified entries, relocation actions: that every number in them refers to something.
 */
#include "cubin/meta.h"

#include "format/meta/read.h"

/* Newest toolkit whose relocation actions are known. */
#define TOOLKIT_KNOWN 131u

typedef struct table {
    cv_ctx *x;
    const cv_cubin *c;
    cv_span body, syms;
    uint64_t n_syms;
} table;

/* Open section i: its body, its path step. False: nothing to read. */
static bool open_table(table *t, cv_ctx *x, const cv_cubin *c, uint64_t i, bool merc)
{
    if (i == 0 || !cv_cubin_sec(c, i)->in_file)
        return false;
    *t = (table){ x, c, cv_cubin_body(c, i), merc ? c->merc_symtab : c->symtab,
                  merc ? c->n_merc_syms : c->n_syms };
    if (!cv_work(x, t->body.len * 4 + 16, t->body.off))
        return false;
    cv_path_push(x, CUVET_P_SECTION, true, i);
    return true;
}

/* Symbol in range and a function; at is the place of its index. */
static bool check_func(const table *t, uint64_t at, uint32_t sym, cv_rule range, cv_rule type)
{
    uint8_t got = cv_meta_sym_type(t->syms, sym);

    if (CV_LIKELY(sym < t->n_syms && got == CV_STT_FUNC))
        return true;
    if (sym >= t->n_syms)
        cv_report(t->x, range, t->body.off + at, 4, sym, t->n_syms);
    else
        cv_report(t->x, type, t->body.off + at, 4, got, CV_STT_FUNC);
    return false;
}

static void check_string(const table *t, uint64_t at, uint32_t off, cv_rule rule)
{
    if (cv_u8_at(t->c->strtab, off) != '#')
        cv_report(t->x, rule, t->body.off + at, 4, off, t->c->strtab.len);
}

static bool is_empty(const table *t, uint32_t off)
{
    return off < t->c->strtab.len && cv_u8_at(t->c->strtab, off) == 0;
}

/* Who calls is here, and nobody calls a kernel like a function. */
static void check_call(const table *t, const cv_call *r)
{
    cv_elf_symbol s;

    cv_elf_read_symbol(t->syms, false, r->from, &s);
    if (r->part != CV_CALL_ADDRESS && r->from < t->n_syms && s.shndx == CV_SHN_UNDEF)
        cv_report(t->x, CV_R_CALL_FROM, t->body.off + r->off, 4, r->from, r->part);
    cv_elf_read_symbol(t->syms, false, r->to, &s);
    if (r->part == CV_CALL_DIRECT && r->to < t->n_syms && cv_elf_sym_type(&s) == CV_STT_FUNC &&
        s.other & CV_STO_ENTRY)
        cv_report(t->x, CV_R_CALL_KERNEL, t->body.off + r->off + 4, 4, r->to, 0);
}

void cv_meta_callgraph(cv_ctx *x, const cv_cubin *c, uint64_t section)
{
    cv_call_cur cur = { .loose = c->hand || c->legacy };
    table t;
    cv_call r;

    if (!open_table(&t, x, c, section, false))
        return;
    while (cv_callgraph_next(x, t.body, &cur, &r) == CUVET_OK) {
        (void)check_func(&t, r.off, r.from, CV_R_CALL_SYMBOL,
                         CV_R_CALL_SYMBOL_TYPE); /* reported, nothing to stop */
        check_call(&t, &r);
        if (r.part == CV_CALL_DIRECT || r.part == CV_CALL_POSSIBLE)
            (void)check_func(&t, r.off + 4, r.to, CV_R_CALL_SYMBOL, CV_R_CALL_SYMBOL_TYPE);
        else if (!(r.part == CV_CALL_ADDRESS && is_empty(&t, r.to))) /* a kernel that is launched from code */
            check_string(&t, r.off + 4, r.to, CV_R_CALL_STRING);
    }
    cv_path_pop(x);
}

static void check_prototype(const table *t, const cv_proto *r)
{
    cv_elf_symbol s;

    if (check_func(t, r->off, r->symbol, CV_R_PROTO_SYMBOL, CV_R_PROTO_SYMBOL_TYPE)) {
        cv_elf_read_symbol(t->syms, false, r->symbol, &s);
        if (s.other & CV_STO_ENTRY)
            cv_report(t->x, CV_R_PROTO_KERNEL, t->body.off + r->off, 4, r->symbol, 0);
    }
    check_string(t, r->off + 4, r->string, CV_R_PROTO_STRING);
}

cuvet_status cv_meta_prototype(cv_ctx *x, const cv_cubin *c, uint64_t section)
{
    cuvet_status st = CUVET_OK;
    cv_keys by_symbol = { 0 };
    uint64_t pos = 0;
    table t;
    cv_proto r;

    if (!open_table(&t, x, c, section, false))
        return CUVET_OK;
    while (st == CUVET_OK && cv_prototype_next(x, t.body, &pos, &r) == CUVET_OK) {
        check_prototype(&t, &r);
        if (!cv_keys_push(&x->mem, &by_symbol, (cv_key){ r.symbol, r.off }))
            st = cv_nomem(x, t.body.off);
    }
    cv_keys_sort(&by_symbol);
    for (uint64_t k = 1; st == CUVET_OK && k < by_symbol.n; k++) {
        const cv_key *e = cv_keys_at(&by_symbol, k);

        if (e->key == cv_keys_at(&by_symbol, k - 1)->key)
            cv_report(x, CV_R_PROTO_TWICE, t.body.off + e->index, 4, e->key, 0);
    }
    cv_keys_free(&x->mem, &by_symbol);
    cv_path_pop(x);
    return st;
}

/* Data entries: a variable before (13) or after (1) linking. */
static bool kind_ok(uint8_t type, bool functions)
{
    return functions ? type == CV_STT_FUNC : type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT;
}

void cv_meta_unified(cv_ctx *x, const cv_cubin *c, uint64_t section, bool merc, bool functions)
{
    uint64_t pos = 0;
    cv_unified r;
    table t;

    if (!open_table(&t, x, c, section, merc))
        return;
    while (cv_unified_next(x, t.body, &pos, &r) == CUVET_OK) {
        uint8_t type = cv_meta_sym_type(t.syms, r.symbol);

        if (r.symbol >= t.n_syms)
            cv_report(x, CV_R_UNIFIED_SYMBOL, t.body.off + r.off, 4, r.symbol, t.n_syms);
        else if (!kind_ok(type, functions))
            cv_report(x, CV_R_UNIFIED_SYMBOL_TYPE, t.body.off + r.off, 4, type,
                      functions ? CV_STT_FUNC : CV_STT_OBJECT);
    }
    cv_path_pop(x);
}

/* Our linker keeps the conventions of the reference. */
static bool is_linked(const cv_cubin *c)
{
    return c->producer.tool == CV_TOOL_NVLINK || c->producer.tool == CV_TOOL_CUVET;
}

void cv_meta_rel_action(cv_ctx *x, const cv_cubin *c)
{
    uint32_t i = cv_cubin_first(c, CV_ROLE_REL_ACTION);
    bool linked = cv_gen_has(c->gen, CV_GEN_LINKED_ACTION);
    bool want = c->exe &&
                (cv_gen_has(c->gen, CV_GEN_COMPILED_ACTION) || (linked && cv_arch_of(c->sm) && is_linked(c)));
    bool either = c->exe && !linked && !c->flag_capsule; /* a link of stripped objects has them */
    table t;

    if (!either && (i != 0) != want)
        cv_report_at(x, CUVET_P_SECTION, i, CV_R_REL_ACTION_PRESENCE, c->image.off + c->h.shoff, 0, i != 0,
                     want);
    if (!open_table(&t, x, c, i, false))
        return;
    cv_rel_action_check(x, t.body, c->legacy, c->toolkit > TOOLKIT_KNOWN);
    cv_path_pop(x);
}
