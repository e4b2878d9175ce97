/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the public linker tells of a link: symbols of diagnostics, the call graph, modules of host objects. */
#include "api/linker_int.h"
#include "link/graph/callgraph.h"

/* Input of a diagnostic's path, the which-th from 0, and the symbol behind it. */
static bool place_of(const cuvet_diag *diag, uint32_t which, uint64_t *object, uint64_t *symbol)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < diag->where.n && i < CUVET_PATH_MAX; i++) {
        const cuvet_step *step = &CV_ARRAY_GET(diag->where.step, i);

        if (step->kind == CUVET_P_MEMBER) {
            *object = step->index;
            seen++;
        } else if (step->kind == CUVET_P_SYMBOL && seen == which + 1) {
            *symbol = step->index;
            return true;
        }
    }
    return false;
}

/* From the stored bytes of the input: they stay where they are until the end. */
static bool symbol_name(const linker_state *linker, uint64_t object, uint64_t symbol, cv_span *name)
{
    const cv_cubin *cubin = &cv_lobjs_get(&linker->link.inputs->obj, object)->cubin;
    cv_span all = cv_link_inputs_get(&linker->input, object)->bytes.span;
    const cv_sec *symtab = cv_cubin_sec(cubin, cubin->symtab_index);
    const cv_sec *strtab = cv_cubin_sec(cubin, cv_cubin_first(cubin, CV_ROLE_STRTAB));
    cv_elf_symbol raw_symbol;
    uint64_t at;

    if (symbol >= cubin->n_syms || !cv_span_has(all, symtab->header.off, symtab->header.size))
        return false;
    cv_elf_read_symbol(cv_span_tail(all, symtab->header.off), false, symbol, &raw_symbol);
    at = cv_sat_add(strtab->header.off, raw_symbol.name);
    if (at >= all.len || raw_symbol.name >= strtab->header.size)
        return false;
    *name = cv_span_tail(all, at);
    name->len = cv_span_find_byte(*name, 0);
    return true;
}

/* Before the link: what is said of one member of the archive at hand. */
static bool member_name(const linker_state *linker, const cuvet_diag *diag, cv_span *name)
{
    return diag->where.n == 1 && diag->where.step[0].kind == CUVET_P_MEMBER &&
           cv_hosts_member_at(&linker->hosts, diag->file_off, name);
}

cuvet_status cuvet_linker_get_symbol(cuvet_ctx *ctx, cuvet_linker handle, const cuvet_diag *diag,
                                     unsigned which, const char **out, size_t *len)
{
    uint64_t object = 0, symbol = 0;
    cuvet_status status;
    cv_span name;
    linker_state *linker;

    if (!ctx || !diag || !out || !len)
        return CUVET_E_NULL;
    if (which > 1)
        return CUVET_E_USAGE;
    status = cv_linker_use(ctx, handle, &linker);
    if (status != CUVET_OK)
        return status;
    if (!linker->begun && (which || !member_name(linker, diag, &name)))
        return cv_linker_done(ctx, handle, CUVET_E_NO_MATCH);
    if (linker->begun &&
        (!place_of(diag, which, &object, &symbol) || object >= linker->link.inputs->obj.count))
        return cv_linker_done(ctx, handle, CUVET_E_NO_MATCH);
    if (linker->begun && !symbol_name(linker, object, symbol, &name))
        return cv_linker_done(ctx, handle, CUVET_E_NO_MATCH);
    *out = (const char *)name.base;
    *len = (size_t)name.len;
    return cv_linker_done(ctx, handle, CUVET_OK);
}

cuvet_status cuvet_linker_callgraph(cuvet_ctx *ctx, cuvet_linker handle, const cuvet_callgraph_sink *sink)
{
    cuvet_callgraph_sink to = { .size = sizeof(to) };
    cuvet_status status;
    linker_state *linker;

    if (!ctx || !sink)
        return CUVET_E_NULL;
    status = cv_opts_take(ctx, sink, &to, sizeof(to));
    if (status == CUVET_OK && (!to.function || !to.call || !to.raised))
        status = CUVET_E_USAGE;
    if (status != CUVET_OK)
        return status;
    status = cv_linker_use(ctx, handle, &linker);
    if (status != CUVET_OK)
        return status;
    if (!linker->begun || !linker->link.calls->reached || linker->opts.relocatable)
        return cv_linker_done(ctx, handle, CUVET_E_STATE);
    return cv_linker_done(ctx, handle, cv_link_callgraph(&linker->link, &to));
}

cuvet_status cuvet_linker_get_module(cuvet_ctx *ctx, cuvet_linker handle, uint64_t index, const char **name)
{
    cuvet_status status;
    linker_state *linker;

    if (!ctx || !name)
        return CUVET_E_NULL;
    status = cv_linker_use_in(ctx, handle, CV_LINKER_LINKED, &linker);
    if (status != CUVET_OK)
        return status;
    if (index >= linker->module.count)
        return cv_linker_done(ctx, handle, CUVET_END);
    *name = (const char *)cv_link_modules_at(&linker->module, index)->mem;
    return cv_linker_done(ctx, handle, CUVET_OK);
}
