/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call graph, prototypes, unified entries, relocation actions: that every number in them refers to something.
 */
#include "cubin/meta.h"

#include "format/meta/read.h"

/* Newest toolkit whose relocation actions are known. */
#define TOOLKIT_KNOWN 131u

typedef struct graph_table {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    cv_span body, syms;
    uint64_t n_syms;
} graph_table;

/* Open section 'index': its body, its path step. False: nothing to read. */
static bool open_table(graph_table *table, cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, bool merc)
{
    if (index == 0 || !cv_cubin_sec(cubin, index)->in_file)
        return false;
    *table =
        (graph_table){ ctx, cubin, cv_cubin_body(cubin, index), merc ? cubin->merc_symtab : cubin->symtab,
                       merc ? cubin->n_merc_syms : cubin->n_syms };
    if (!cv_work(ctx, table->body.len * 4 + 16, table->body.off))
        return false;
    cv_path_push(ctx, CUVET_P_SECTION, true, index);
    return true;
}

/* Symbol in range and a function; at is the place of its index. */
static bool check_func(const graph_table *table, uint64_t at, uint32_t sym, cv_rule range, cv_rule type)
{
    uint8_t got = cv_meta_sym_type(table->syms, sym);

    if (CV_LIKELY(sym < table->n_syms && got == CV_STT_FUNC))
        return true;
    if (sym >= table->n_syms)
        cv_report(table->ctx, range, table->body.off + at, 4, sym, table->n_syms);
    else
        cv_report(table->ctx, type, table->body.off + at, 4, got, CV_STT_FUNC);
    return false;
}

static void check_string(const graph_table *table, uint64_t at, uint32_t off, cv_rule rule)
{
    if (cv_u8_at(table->cubin->strtab, off) != '#')
        cv_report(table->ctx, rule, table->body.off + at, 4, off, table->cubin->strtab.len);
}

/* Kernels are launched, not called, and need no prototype; a function without one is called by nobody. */
static bool needs_none(const graph_table *table, const cv_call *call)
{
    cv_elf_symbol symbol;

    if (call->part != CV_CALL_ADDRESS || call->to >= table->cubin->strtab.len ||
        cv_u8_at(table->cubin->strtab, call->to) != 0)
        return false;
    cv_elf_read_symbol(table->syms, false, call->from, &symbol);
    return cv_elf_sym_type(&symbol) != CV_STT_FUNC || symbol.other & CV_STO_ENTRY;
}

/* Who calls is here, and nobody calls a kernel like a function. */
static void check_call(const graph_table *table, const cv_call *call)
{
    cv_elf_symbol symbol;

    cv_elf_read_symbol(table->syms, false, call->from, &symbol);
    if (call->part != CV_CALL_ADDRESS && call->from < table->n_syms && symbol.shndx == CV_SHN_UNDEF)
        cv_report(table->ctx, CV_R_CALL_FROM, table->body.off + call->off, 4, call->from, call->part);
    cv_elf_read_symbol(table->syms, false, call->to, &symbol);
    if (call->part == CV_CALL_DIRECT && call->to < table->n_syms && cv_elf_sym_type(&symbol) == CV_STT_FUNC &&
        symbol.other & CV_STO_ENTRY)
        cv_report(table->ctx, CV_R_CALL_KERNEL, table->body.off + call->off + 4, 4, call->to, 0);
}

void cv_meta_callgraph(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section)
{
    cv_call_cur cur = { .loose = cubin->hand || cubin->legacy };
    graph_table table;
    cv_call call;

    if (!open_table(&table, ctx, cubin, section, false))
        return;
    while (cv_callgraph_next(ctx, table.body, &cur, &call) == CUVET_OK) {
        (void)check_func(&table, call.off, call.from, CV_R_CALL_SYMBOL,
                         CV_R_CALL_SYMBOL_TYPE); /* reported, nothing to stop */
        check_call(&table, &call);
        if (call.part == CV_CALL_DIRECT || call.part == CV_CALL_POSSIBLE)
            (void)check_func(&table, call.off + 4, call.to, CV_R_CALL_SYMBOL, CV_R_CALL_SYMBOL_TYPE);
        else if (!needs_none(&table, &call))
            check_string(&table, call.off + 4, call.to, CV_R_CALL_STRING);
    }
    cv_path_pop(ctx);
}

static void check_prototype(const graph_table *table, const cv_proto *proto)
{
    cv_elf_symbol symbol;

    if (check_func(table, proto->off, proto->symbol, CV_R_PROTO_SYMBOL, CV_R_PROTO_SYMBOL_TYPE)) {
        cv_elf_read_symbol(table->syms, false, proto->symbol, &symbol);
        if (symbol.other & CV_STO_ENTRY)
            cv_report(table->ctx, CV_R_PROTO_KERNEL, table->body.off + proto->off, 4, proto->symbol, 0);
    }
    check_string(table, proto->off + 4, proto->string, CV_R_PROTO_STRING);
}

cuvet_status cv_meta_prototype(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section)
{
    cuvet_status status = CUVET_OK;
    cv_keys by_symbol = { 0 };
    uint64_t pos = 0;
    graph_table table;
    cv_proto proto;

    if (!open_table(&table, ctx, cubin, section, false))
        return CUVET_OK;
    while (status == CUVET_OK && cv_prototype_next(ctx, table.body, &pos, &proto) == CUVET_OK) {
        check_prototype(&table, &proto);
        if (!cv_keys_push(&ctx->mem, &by_symbol, (cv_key){ proto.symbol, proto.off }))
            status = cv_nomem(ctx, table.body.off);
    }
    cv_keys_sort(&by_symbol);
    for (uint64_t k = 1; status == CUVET_OK && k < by_symbol.count; k++) {
        const cv_key *entry = cv_keys_at(&by_symbol, k);

        if (entry->key == cv_keys_at(&by_symbol, k - 1)->key)
            cv_report(ctx, CV_R_PROTO_TWICE, table.body.off + entry->index, 4, entry->key, 0);
    }
    cv_keys_free(&ctx->mem, &by_symbol);
    cv_path_pop(ctx);
    return status;
}

/* Data entries: a variable before (13) or after (1) linking. */
static bool kind_ok(uint8_t type, bool functions)
{
    return functions ? type == CV_STT_FUNC : type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT;
}

void cv_meta_unified(cv_ctx *ctx, const cv_cubin *cubin, uint64_t section, bool merc, bool functions)
{
    uint64_t pos = 0;
    cv_unified unified;
    graph_table table;

    if (!open_table(&table, ctx, cubin, section, merc))
        return;
    while (cv_unified_next(ctx, table.body, &pos, &unified) == CUVET_OK) {
        uint8_t type = cv_meta_sym_type(table.syms, unified.symbol);

        if (unified.symbol >= table.n_syms)
            cv_report(ctx, CV_R_UNIFIED_SYMBOL, table.body.off + unified.off, 4, unified.symbol,
                      table.n_syms);
        else if (!kind_ok(type, functions))
            cv_report(ctx, CV_R_UNIFIED_SYMBOL_TYPE, table.body.off + unified.off, 4, type,
                      functions ? CV_STT_FUNC : CV_STT_OBJECT);
    }
    cv_path_pop(ctx);
}

/* Our linker keeps the conventions of the reference. */
static bool is_linked(const cv_cubin *cubin)
{
    return cubin->producer.tool == CV_TOOL_NVLINK || cubin->producer.tool == CV_TOOL_CUVET;
}

void cv_meta_rel_action(cv_ctx *ctx, const cv_cubin *cubin)
{
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_REL_ACTION);
    bool linked = cv_gen_has(cubin->gen, CV_GEN_LINKED_ACTION);
    bool want = cubin->exe && (cv_gen_has(cubin->gen, CV_GEN_COMPILED_ACTION) ||
                               (linked && cv_arch_of(cubin->sm) && is_linked(cubin)));
    bool either = cubin->exe && !linked && !cubin->flag_capsule; /* a link of stripped objects has them */
    graph_table table;

    if (!either && (i != 0) != want)
        cv_report_at(ctx, CUVET_P_SECTION, i, CV_R_REL_ACTION_PRESENCE,
                     cubin->image.off + cubin->header.shoff, 0, i != 0, want);
    if (!open_table(&table, ctx, cubin, i, false))
        return;
    cv_rel_action_check(ctx, table.body, cubin->legacy, cubin->toolkit > TOOLKIT_KNOWN);
    cv_path_pop(ctx);
}
