/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What kernels of executables have, against what the functions need that they call: the linker has summed it
 * up, and nobody does so after it. */
#include "cubin/meta.h"

#include "format/meta/read.h"
#include "format/tlv/attr.h"

/* Rounds in which registers go up the call graph: genuine ones are less deep, and what is left out of deeper
 * ones is not reported. */
#define ROUNDS 16u

typedef struct needs_reading {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    cv_span graph;
    cv_u32s regs, frame, stack; /* by symbol */
    cv_u32s below;              /* registers of the function and of what it calls */
} needs_reading;

static void read_sizes(needs_reading *needs)
{
    cv_span span = cv_cubin_body(needs->cubin, cv_cubin_first(needs->cubin, CV_ROLE_NV_INFO));
    uint64_t pos = 0;
    cv_tlv tlv;

    for (; cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        uint32_t sym = cv_u32_at(span, tlv.payload), value = cv_u32_at(span, tlv.payload + 4);

        if (tlv.format != CV_TLV_SVAL || tlv.value != 8 || sym >= needs->regs.count)
            continue;
        if (tlv.code == CV_ATTR_REGCOUNT)
            *cv_u32s_at(&needs->regs, sym) = *cv_u32s_at(&needs->below, sym) = value;
        else if (tlv.code == CV_ATTR_FRAME_SIZE)
            *cv_u32s_at(&needs->frame, sym) = value;
        else if (tlv.code == CV_ATTR_MIN_STACK_SIZE)
            *cv_u32s_at(&needs->stack, sym) = value;
    }
}

static bool next_call(const needs_reading *needs, cv_call_cur *cur, cv_call *call)
{
    while (cv_callgraph_peek(needs->graph, cur, call))
        if (call->part == CV_CALL_DIRECT && call->from < needs->regs.count && call->to < needs->regs.count)
            return true;
    return false;
}

static bool any_call(const cv_cubin *cubin, cv_span graph)
{
    cv_call_cur cur = { 0 };
    cv_call call;

    while (cv_callgraph_peek(graph, &cur, &call))
        if (call.part == CV_CALL_DIRECT)
            return cubin->n_syms != 0;
    return false;
}

/* One step up; false: nothing changed any more. */
static bool raise_callers(needs_reading *needs)
{
    cv_call_cur cur = { 0 };
    bool changed = false;
    cv_call call;

    while (next_call(needs, &cur, &call)) {
        uint32_t *up = cv_u32s_at(&needs->below, call.from), down = *cv_u32s_get(&needs->below, call.to);

        changed = changed || down > *up;
        *up = down > *up ? down : *up;
    }
    return changed;
}

/* A kernel that sets its registers while it runs begins with as many as it says: the reference linker leaves
 * them as they are. */
static bool sets_registers(const needs_reading *needs, uint32_t sym, const cv_elf_symbol *symbol)
{
    return cv_cubin_sec(needs->cubin, cv_cubin_shndx(needs->cubin, false, sym, symbol))->sets_regs;
}

static void compare_records(const needs_reading *needs)
{
    cv_call_cur cur = { 0 };
    cv_call call;

    while (next_call(needs, &cur, &call)) {
        uint32_t regs = *cv_u32s_get(&needs->regs, call.from), stack = *cv_u32s_get(&needs->stack, call.from);
        uint64_t frames =
            (uint64_t)*cv_u32s_get(&needs->frame, call.from) + *cv_u32s_get(&needs->frame, call.to);
        cv_elf_symbol symbol;

        cv_elf_read_symbol(needs->cubin->symtab, false, call.from, &symbol);
        if (!(symbol.other & CV_STO_ENTRY) || regs == 0)
            continue;
        if (regs < *cv_u32s_get(&needs->below, call.from) && !sets_registers(needs, call.from, &symbol))
            cv_report(needs->ctx, CV_R_CALL_REGISTERS, needs->graph.off + call.off, 4, regs,
                      *cv_u32s_get(&needs->below, call.from));
        if (stack < frames)
            cv_report(needs->ctx, CV_R_CALL_STACK, needs->graph.off + call.off, 4, stack, frames);
    }
}

static bool fill_needs(needs_reading *needs)
{
    cv_mem *mem = &needs->ctx->mem;
    uint64_t count = needs->cubin->n_syms;

    return cv_u32s_fill(mem, &needs->regs, count) && cv_u32s_fill(mem, &needs->below, count) &&
           cv_u32s_fill(mem, &needs->frame, count) && cv_u32s_fill(mem, &needs->stack, count);
}

cuvet_status cv_meta_needs(cv_ctx *ctx, const cv_cubin *cubin)
{
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_CALLGRAPH), info = cv_cubin_first(cubin, CV_ROLE_NV_INFO);
    needs_reading needs = { .ctx = ctx, .cubin = cubin, .graph = cv_cubin_body(cubin, i) };
    uint64_t calls = needs.graph.len / 8;
    cuvet_status status = CUVET_OK;

    if (!cubin->exe || i == 0 || info == 0 || !any_call(cubin, needs.graph))
        return CUVET_OK;
    if (!cv_work(ctx, 2 * calls + cubin->n_syms / 4 + cv_cubin_body(cubin, info).len / 4, needs.graph.off))
        return CUVET_OK; /* reported */
    if (fill_needs(&needs)) {
        read_sizes(&needs);
        for (unsigned k = 0; k < ROUNDS && raise_callers(&needs) && cv_work(ctx, calls, needs.graph.off); k++)
            continue;
        cv_path_push(ctx, CUVET_P_SECTION, true, i);
        compare_records(&needs);
        cv_path_pop(ctx);
    } else {
        status = cv_nomem(ctx, needs.graph.off);
    }
    cv_u32s_free(&ctx->mem, &needs.regs);
    cv_u32s_free(&ctx->mem, &needs.below);
    cv_u32s_free(&ctx->mem, &needs.frame);
    cv_u32s_free(&ctx->mem, &needs.stack);
    return status;
}
