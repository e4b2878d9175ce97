/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of kernels, functions and variables: what a program launches or writes to is found by its name, so
 * that each may be there once. Local ones are found by nobody; a linker may bring those of several objects
 * together.
 */
#include "cubin/internal.h"

/* Names that differ have other hashes, but for those that somebody has made: they pay for being compared. */
CV_WRAPS static uint64_t hash(cv_span name)
{
    uint64_t h = name.len * UINT64_C(0x9E3779B97F4A7C15), at = 0;

    for (; at + 8 <= name.len; at += 8)
        h = (h ^ h >> 29 ^ cv_u64_at(name, at)) * UINT64_C(0xFF51AFD7ED558CCD);
    for (; at < name.len; at++)
        h = (h ^ cv_u8_at(name, at)) * UINT64_C(0x100000001B3);
    return h ^ h >> 32;
}

static cv_span name_at(const cv_cubin *c, uint32_t offset)
{
    cv_span name = c->strtab;

    if (!cv_span_cstr(c->strtab, offset, &name))
        name.len = 0; /* reported with the symbols */
    return name;
}

static cv_span name_of(const cv_cubin *c, uint64_t i)
{
    cv_elf_symbol s;

    cv_elf_read_symbol(c->symtab, c->h.is32, i, &s);
    return name_at(c, s.name);
}

/* The symbol before it that has the same name: among those whose hash is the same. */
static bool twice(cv_ctx *x, const cv_cubin *c, const cv_keys *by_hash, uint64_t k, uint64_t *first)
{
    const cv_key *e = cv_keys_get(by_hash, k);
    cv_span name;

    if (CV_LIKELY(cv_keys_get(by_hash, k - 1)->key != e->key))
        return false;
    name = name_of(c, e->index);
    for (uint64_t m = k; m > 0 && cv_keys_get(by_hash, m - 1)->key == e->key; m--) {
        *first = cv_keys_get(by_hash, m - 1)->index;
        if (!cv_name_work(x, name))
            return false;
        if (cv_span_eq(name, name_of(c, *first)))
            return true;
    }
    return false;
}

/* Found by its name: not of this file alone, and here. */
static bool is_found(const cv_elf_symbol *s)
{
    return cv_elf_sym_bind(s) != CV_STB_LOCAL && cv_elf_sym_type(s) != CV_STT_SECTION &&
           s->shndx != CV_SHN_UNDEF;
}

static cuvet_status collect(cv_ctx *x, const cv_cubin *c, cv_keys *by_hash)
{
    cv_elf_symbol s;

    for (uint64_t i = 1; i < c->n_syms; i++) {
        cv_span name;

        cv_elf_read_symbol(c->symtab, c->h.is32, i, &s);
        if (!is_found(&s))
            continue;
        name = name_at(c, s.name);
        if (!cv_name_work(x, name))
            return CUVET_OK;
        if (name.len != 0 && !cv_keys_push(&x->mem, by_hash, (cv_key){ hash(name), i }))
            return cv_nomem(x, c->image.off);
    }
    return CUVET_OK;
}

static bool is_kernel(const cv_cubin *c, uint64_t i)
{
    cv_elf_symbol s;

    cv_elf_read_symbol(c->symtab, c->h.is32, i, &s);
    return cv_elf_sym_type(&s) == CV_STT_FUNC && (s.other & CV_STO_ENTRY) != 0;
}

cuvet_status cv_cubin_check_unique(cv_ctx *x, const cv_cubin *c)
{
    cv_keys by_hash = { 0 };
    cuvet_status st = CUVET_OK;
    uint64_t first = 0;

    if (!c->conv || c->n_syms < 2 || !cv_work(x, c->n_syms / 16 + c->n_kernels, c->image.off))
        return CUVET_OK;
    st = collect(x, c, &by_hash);
    cv_keys_sort(&by_hash);
    for (uint64_t k = 1; k < by_hash.n; k++) {
        uint64_t i = cv_keys_at(&by_hash, k)->index;

        if (twice(x, c, &by_hash, k, &first))
            cv_report_at(x, CUVET_P_SYMBOL, i,
                         is_kernel(c, i) && is_kernel(c, first) ? CV_R_SYM_KERNEL_TWICE : CV_R_SYM_TWICE,
                         c->symtab.off + i * cv_elf_sym_size(false), 0, first, 0);
    }
    cv_keys_free(&x->mem, &by_hash);
    return st;
}
