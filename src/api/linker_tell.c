/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the public linker tells of a link: symbols of diagnostics, the call graph, modules of host objects. */
#include "api/linker_int.h"
#include "link/graph/callgraph.h"

/* Input of a diagnostic's path, the which-th from 0, and the symbol behind it. */
static bool place_of(const cuvet_diag *d, uint32_t which, uint64_t *object, uint64_t *symbol)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < d->where.n && i < CUVET_PATH_MAX; i++) {
        const cuvet_step *s = &CV_ARRAY_GET(d->where.step, i);

        if (s->kind == CUVET_P_MEMBER) {
            *object = s->index;
            seen++;
        } else if (s->kind == CUVET_P_SYMBOL && seen == which + 1) {
            *symbol = s->index;
            return true;
        }
    }
    return false;
}

/* From the stored bytes of the input: they stay where they are until the end. */
static bool symbol_name(const linker *k, uint64_t object, uint64_t symbol, cv_span *name)
{
    const cv_cubin *c = &cv_lobjs_get(&k->link.obj, object)->cubin;
    cv_span all = cv_link_inputs_get(&k->input, object)->bytes.span;
    const cv_sec *symtab = cv_cubin_sec(c, c->symtab_index);
    const cv_sec *strtab = cv_cubin_sec(c, cv_cubin_first(c, CV_ROLE_STRTAB));
    cv_elf_symbol y;
    uint64_t at;

    if (symbol >= c->n_syms || !cv_span_has(all, symtab->h.off, symtab->h.size))
        return false;
    cv_elf_read_symbol(cv_span_tail(all, symtab->h.off), false, symbol, &y);
    at = cv_sat_add(strtab->h.off, y.name);
    if (at >= all.len || y.name >= strtab->h.size)
        return false;
    *name = cv_span_tail(all, at);
    name->len = cv_span_find_byte(*name, 0);
    return true;
}

/* Before the link: what is said of one member of the archive at hand. */
static bool member_name(const linker *k, const cuvet_diag *d, cv_span *name)
{
    return d->where.n == 1 && d->where.step[0].kind == CUVET_P_MEMBER &&
           cv_hosts_member_at(&k->hosts, d->file_off, name);
}

static cuvet_status symbol_of(cuvet_ctx *ctx, cuvet_linker h, const cuvet_diag *d, uint32_t which,
                              const char **p, size_t *n)
{
    uint64_t object = 0, symbol = 0;
    cuvet_status s;
    cv_span name;
    linker *k;

    if (!ctx || !d || !p || !n)
        return CUVET_E_NULL;
    s = cv_linker_use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (!k->begun && (which || !member_name(k, d, &name)))
        return cv_linker_done(ctx, h, CUVET_E_NO_MATCH);
    if (k->begun && (!place_of(d, which, &object, &symbol) || object >= k->link.obj.n))
        return cv_linker_done(ctx, h, CUVET_E_NO_MATCH);
    if (k->begun && !symbol_name(k, object, symbol, &name))
        return cv_linker_done(ctx, h, CUVET_E_NO_MATCH);
    *p = (const char *)name.base;
    *n = (size_t)name.len;
    return cv_linker_done(ctx, h, CUVET_OK);
}

cuvet_status cuvet_linker_symbol(cuvet_ctx *ctx, cuvet_linker h, const cuvet_diag *d, const char **p,
                                 size_t *n)
{
    return symbol_of(ctx, h, d, 0, p, n);
}

cuvet_status cuvet_linker_other_symbol(cuvet_ctx *ctx, cuvet_linker h, const cuvet_diag *d, const char **p,
                                       size_t *n)
{
    return symbol_of(ctx, h, d, 1, p, n);
}

cuvet_status cuvet_linker_callgraph(cuvet_ctx *ctx, cuvet_linker h, const cuvet_callgraph_sink *sink)
{
    cuvet_callgraph_sink to = { .size = sizeof(to) };
    cuvet_status s;
    linker *k;

    if (!ctx || !sink)
        return CUVET_E_NULL;
    s = cv_opts_take(ctx, sink, &to, sizeof(to));
    if (s == CUVET_OK && (!to.function || !to.call || !to.raised))
        s = CUVET_E_USAGE;
    if (s != CUVET_OK)
        return s;
    s = cv_linker_use(ctx, h, &k);
    if (s != CUVET_OK)
        return s;
    if (!k->begun || !k->link.reached || k->o.relocatable)
        return cv_linker_done(ctx, h, CUVET_E_STATE);
    return cv_linker_done(ctx, h, cv_link_callgraph(&k->link, &to));
}

cuvet_status cuvet_linker_module(cuvet_ctx *ctx, cuvet_linker h, uint64_t index, const char **name)
{
    cuvet_status s;
    linker *k;

    if (!ctx || !name)
        return CUVET_E_NULL;
    s = cv_linker_use_in(ctx, h, CV_LINKER_LINKED, &k);
    if (s != CUVET_OK)
        return s;
    if (index >= k->module.n)
        return cv_linker_done(ctx, h, CUVET_END);
    *name = (const char *)cv_link_modules_at(&k->module, index)->mem;
    return cv_linker_done(ctx, h, CUVET_OK);
}
