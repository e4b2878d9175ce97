/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin/calls.h"

#include "format/meta/read.h"

#define ANYBODY UINT32_MAX /* caller of functions whose address is taken; callee of indirect calls */
#define READING 8u         /* work of a record: read, sorted */

static uint64_t edge_key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

static bool is_kernel(const cv_cubin *cubin, uint32_t number)
{
    cv_elf_symbol symbol;

    cv_elf_read_symbol(cubin->symtab, false, number, &symbol);
    return cv_elf_sym_type(&symbol) == CV_STT_FUNC && symbol.other & CV_STO_ENTRY;
}

/* Registers and stack are counted along parts 1 to 3. What may be called says nothing of what is needed for
 * it, unless it is called as well, but a kernel that is launched brings its own. */
static bool keep_call(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, const cv_call *call)
{
    uint64_t edge = edge_key(call->from, call->to);

    switch (call->part) {
    case CV_CALL_DIRECT: break;
    case CV_CALL_ADDRESS: edge = edge_key(ANYBODY, call->from); break; /* the other word is a prototype */
    case CV_CALL_INDIRECT: edge = edge_key(call->from, ANYBODY); break;
    case CV_CALL_POSSIBLE:
        return cv_keys_push(&ctx->mem, is_kernel(cubin, call->to) ? &calls->launch : &calls->target,
                            (cv_key){ .key = edge });
    case CV_CALL_NONE: return true;
    }
    return cv_keys_push(&ctx->mem, &calls->edge, (cv_key){ .key = edge });
}

static bool has_edge(const cv_keys *edges, uint64_t index)
{
    uint64_t at = cv_keys_lower_bound(edges, index);

    return at < edges->count && cv_keys_get(edges, at)->key == index;
}

/* Of a call through a pointer whose targets the program lists (.calltargets), compilers say each of them as a
 * direct call, and nothing in part 3: what is below is counted. Edges and targets are sorted. */
static bool add_listed(cv_ctx *ctx, cv_calls *calls)
{
    const cv_keys *target = &calls->target;
    cv_keys listed = { 0 };
    bool ok = true;

    for (uint64_t at = 0; at < target->count && ok;) {
        uint64_t from = cv_keys_get(target, at)->key >> 32;
        bool all = true;

        for (; at < target->count && cv_keys_get(target, at)->key >> 32 == from; at++)
            all = all && has_edge(&calls->edge, cv_keys_get(target, at)->key);
        if (all)
            ok = cv_keys_push(&ctx->mem, &listed, (cv_key){ .key = edge_key((uint32_t)from, ANYBODY) });
    }
    for (uint64_t i = 0; i < listed.count && ok; i++)
        ok = cv_keys_push(&ctx->mem, &calls->edge, *cv_keys_get(&listed, i));
    cv_keys_free(&ctx->mem, &listed);
    cv_keys_sort(&calls->edge);
    return ok;
}

cuvet_status cv_calls_read(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *out)
{
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_CALLGRAPH);
    cv_span body = cv_cubin_body(cubin, i);
    cv_call_cur cur = { 0 };
    cv_call call;

    *out = (cv_calls){ .judged = cubin->conv && (cubin->rel || i != 0) };
    if (!out->judged || i == 0)
        return CUVET_OK;
    if (!cv_work(ctx, body.len / 8 * READING, body.off))
        return CUVET_E_LIMIT;
    while (cv_callgraph_peek(body, &cur, &call))
        if (!keep_call(ctx, cubin, out, &call))
            return cv_nomem(ctx, body.off);
    cv_keys_sort(&out->edge);
    cv_keys_sort(&out->launch);
    cv_keys_sort(&out->target);
    if (out->target.count != 0 && !add_listed(ctx, out))
        return cv_nomem(ctx, body.off);
    return CUVET_OK;
}

void cv_calls_free(cv_ctx *ctx, cv_calls *calls)
{
    cv_keys_free(&ctx->mem, &calls->edge);
    cv_keys_free(&ctx->mem, &calls->launch);
    cv_keys_free(&ctx->mem, &calls->target);
    cv_keys_free(&ctx->mem, &calls->callee.place);
    cv_keys_free(&ctx->mem, &calls->taken.place);
}

bool cv_calls_direct(const cv_calls *calls, uint32_t from, uint32_t to)
{
    return has_edge(&calls->edge, edge_key(from, to));
}

/* Where a function is, as one number: its place in the file. False: nowhere in it. */
static bool place_of(const cv_cubin *cubin, uint32_t index, uint64_t *place)
{
    const cv_sec *sec;
    cv_elf_symbol symbol;

    cv_elf_read_symbol(cubin->symtab, false, index, &symbol);
    sec = cv_cubin_sec(cubin, cv_cubin_shndx(cubin, false, index, &symbol));
    *place = cv_sat_add(sec->header.off, symbol.value);
    return sec->in_file && symbol.value < sec->header.size;
}

/* The places that the records of 'from' name. False: a limit was said. */
static bool list_places(cv_ctx *ctx, const cv_cubin *cubin, const cv_keys *edges, uint32_t from,
                        cv_call_places *out)
{
    uint64_t at = cv_keys_lower_bound(edges, edge_key(from, 0)), place = 0;

    out->caller = from;
    out->made = true;
    out->place.count = 0;
    for (; at < edges->count && cv_keys_get(edges, at)->key >> 32 == from; at++) {
        uint32_t to = (uint32_t)cv_keys_get(edges, at)->key;

        if (!cv_work(ctx, CV_WORK_SCATTERED, cubin->image.off))
            return false;
        if (to != ANYBODY && place_of(cubin, to, &place) &&
            !cv_keys_push(&ctx->mem, &out->place, (cv_key){ place, 0 }))
            return cv_nomem(ctx, cubin->image.off) == CUVET_OK;
    }
    cv_keys_sort(&out->place);
    return true;
}

/* Is one of the other names of 'to' in the records of 'from'? Their places are listed at the first question.
 * */
static bool is_placed(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, uint32_t from, uint32_t to)
{
    cv_call_places *places = from == ANYBODY ? &calls->taken : &calls->callee;
    uint64_t place;

    if (!place_of(cubin, to, &place))
        return false;
    if ((!places->made || places->caller != from) && !list_places(ctx, cubin, &calls->edge, from, places))
        return true; /* a limit was said */
    return has_edge(&places->place, place);
}

bool cv_calls_alias(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, uint32_t from, uint32_t to)
{
    return is_placed(ctx, cubin, calls, from, to);
}

bool cv_calls_taken_alias(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, uint32_t to)
{
    return is_placed(ctx, cubin, calls, ANYBODY, to);
}

bool cv_calls_taken(const cv_calls *calls, uint32_t from, uint32_t to)
{
    return has_edge(&calls->edge, edge_key(ANYBODY, to)) || has_edge(&calls->launch, edge_key(from, to));
}

bool cv_calls_indirect(const cv_calls *calls, uint32_t from)
{
    return has_edge(&calls->edge, edge_key(from, ANYBODY));
}
