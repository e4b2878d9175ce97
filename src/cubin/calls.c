/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin/calls.h"

#include "format/meta/read.h"

#define ANYBODY UINT32_MAX /* caller of functions whose address is taken */
#define READING 8u         /* work of a record: read, sorted */

static uint64_t key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

cuvet_status cv_calls_read(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *out)
{
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_CALLGRAPH);
    cv_span body = cv_cubin_body(cubin, i);
    cv_call_cur cur = { 0 };
    cv_call call;

    *out = (cv_calls){ .caller = ANYBODY, .judged = cubin->conv && (cubin->rel || i != 0) };
    if (!out->judged || i == 0)
        return CUVET_OK;
    if (!cv_work(ctx, body.len / 8 * READING, body.off))
        return CUVET_E_LIMIT;
    while (cv_callgraph_peek(body, &cur, &call)) {
        if (call.part == CV_CALL_NONE || call.part == CV_CALL_INDIRECT)
            continue;
        if (call.part == CV_CALL_ADDRESS) { /* the other word is a prototype */
            call.to = call.from;
            call.from = ANYBODY;
        }
        if (!cv_keys_push(&ctx->mem, &out->edge, (cv_key){ key(call.from, call.to), call.part }))
            return cv_nomem(ctx, body.off);
    }
    cv_keys_sort(&out->edge);
    return CUVET_OK;
}

void cv_calls_free(cv_ctx *ctx, cv_calls *calls)
{
    cv_keys_free(&ctx->mem, &calls->edge);
    cv_keys_free(&ctx->mem, &calls->callee);
}

static bool has(const cv_calls *calls, uint64_t index, bool direct)
{
    uint64_t at = cv_keys_lower_bound(&calls->edge, index);
    const cv_key *entry;

    if (at >= calls->edge.count)
        return false;
    entry = cv_keys_get(&calls->edge, at);
    /* of equal keys the lowest part comes first */
    return entry->key == index && (!direct || entry->index == CV_CALL_DIRECT);
}

bool cv_calls_direct(const cv_calls *calls, uint32_t from, uint32_t to)
{
    return has(calls, key(from, to), true);
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

/* The places that the calls of 'from' lead to. False: a limit was said. */
static bool list_callees(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, uint32_t from)
{
    uint64_t at = cv_keys_lower_bound(&calls->edge, key(from, 0)), place = 0;

    calls->caller = from;
    calls->callee.count = 0;
    for (; at < calls->edge.count && cv_keys_get(&calls->edge, at)->key >> 32 == from; at++) {
        const cv_key *entry = cv_keys_get(&calls->edge, at);

        if (!cv_work(ctx, CV_WORK_SCATTERED, cubin->image.off))
            return false;
        if (entry->index == CV_CALL_DIRECT && place_of(cubin, (uint32_t)entry->key, &place) &&
            !cv_keys_push(&ctx->mem, &calls->callee, (cv_key){ place, 0 }))
            return cv_nomem(ctx, cubin->image.off) == CUVET_OK;
    }
    cv_keys_sort(&calls->callee);
    return true;
}

bool cv_calls_alias(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, uint32_t from, uint32_t to)
{
    uint64_t own, place, at;

    if (!place_of(cubin, to, &place))
        return false;
    if (place_of(cubin, from, &own) && own == place) /* of itself */
        return true;
    if (calls->caller != from && !list_callees(ctx, cubin, calls, from))
        return true; /* a limit was said */
    at = cv_keys_lower_bound(&calls->callee, place);
    return at < calls->callee.count && cv_keys_get(&calls->callee, at)->key == place;
}

bool cv_calls_taken(const cv_calls *calls, uint32_t from, uint32_t to)
{
    return has(calls, key(ANYBODY, to), false) || has(calls, key(from, to), false);
}
