/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cubin/calls.h"

#include "format/meta/read.h"

#define ANYBODY UINT32_MAX /* caller of functions whose address is taken */
#define READING 2u         /* work of a record: read, sorted */

static uint64_t key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

cuvet_status cv_calls_read(cv_ctx *x, const cv_cubin *c, cv_calls *out)
{
    uint32_t i = cv_cubin_first(c, CV_ROLE_CALLGRAPH);
    cv_span body = cv_cubin_body(c, i);
    cv_call_cur cur = { 0 };
    cv_call r;

    *out = (cv_calls){ .judged = c->conv && (c->rel || i != 0) };
    if (!out->judged || i == 0)
        return CUVET_OK;
    if (!cv_work(x, body.len / 8 * READING, body.off))
        return CUVET_E_LIMIT;
    while (cv_callgraph_peek(body, &cur, &r)) {
        if (r.part == CV_CALL_NONE || r.part == CV_CALL_INDIRECT)
            continue;
        if (r.part == CV_CALL_ADDRESS) { /* the other word is a prototype */
            r.to = r.from;
            r.from = ANYBODY;
        }
        if (!cv_keys_push(&x->mem, &out->edge, (cv_key){ key(r.from, r.to), r.part }))
            return cv_nomem(x, body.off);
    }
    cv_keys_sort(&out->edge);
    return CUVET_OK;
}

void cv_calls_free(cv_ctx *x, cv_calls *calls)
{
    cv_keys_free(&x->mem, &calls->edge);
}

static bool has(const cv_calls *calls, uint64_t k, bool direct)
{
    uint64_t at = cv_keys_lower_bound(&calls->edge, k);
    const cv_key *e;

    if (at >= calls->edge.n)
        return false;
    e = cv_keys_get(&calls->edge, at);
    /* of equal keys the lowest part comes first */
    return e->key == k && (!direct || e->index == CV_CALL_DIRECT);
}

bool cv_calls_direct(const cv_calls *calls, uint32_t from, uint32_t to)
{
    return has(calls, key(from, to), true);
}

static bool same_place(const cv_cubin *c, uint32_t one, uint32_t two)
{
    cv_elf_symbol a, b;
    uint32_t place;

    cv_elf_read_symbol(c->symtab, false, one, &a);
    cv_elf_read_symbol(c->symtab, false, two, &b);
    place = cv_cubin_shndx(c, false, one, &a);
    return place != CV_SHN_UNDEF && place == cv_cubin_shndx(c, false, two, &b) && a.value == b.value;
}

bool cv_calls_alias(cv_ctx *x, const cv_cubin *c, const cv_calls *calls, uint32_t from, uint32_t to)
{
    uint64_t at = cv_keys_lower_bound(&calls->edge, key(from, 0));

    if (same_place(c, from, to)) /* of itself */
        return true;
    for (; at < calls->edge.n && cv_keys_get(&calls->edge, at)->key >> 32 == from; at++) {
        const cv_key *e = cv_keys_get(&calls->edge, at);

        if (!cv_work(x, 1, c->image.off))
            return true; /* a limit was said */
        if (e->index == CV_CALL_DIRECT && same_place(c, (uint32_t)e->key, to))
            return true;
    }
    return false;
}

bool cv_calls_taken(const cv_calls *calls, uint32_t from, uint32_t to)
{
    return has(calls, key(ANYBODY, to), false) || has(calls, key(from, to), false);
}
