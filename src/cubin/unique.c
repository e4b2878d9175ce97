/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of kernels, functions and variables: what a program launches or writes to is found by its name, so
 * that each may be there once. */
#include "cubin/internal.h"

/* Names that differ have other hashes, but for those that somebody has made: they pay for being compared. */
CV_WRAPS static uint64_t hash_name(cv_span name)
{
    uint64_t hash = name.len * UINT64_C(0x9E3779B97F4A7C15), at = 0;

    for (; at + 8 <= name.len; at += 8)
        hash = (hash ^ hash >> 29 ^ cv_u64_at(name, at)) * UINT64_C(0xFF51AFD7ED558CCD);
    for (; at < name.len; at++)
        hash = (hash ^ cv_u8_at(name, at)) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 32;
}

static cv_span name_at(const cv_cubin *cubin, uint32_t offset)
{
    cv_span name = cubin->strtab;

    if (!cv_span_cstr(cubin->strtab, offset, &name))
        name.len = 0; /* reported with the symbols */
    return name;
}

/* What is sorted with a hash: a symbol and, so that comparing reads no symbol again, where its name is. */
static uint64_t pack_symbol(uint64_t index, uint32_t name)
{
    return index << 32 | name;
}

static uint64_t symbol_of(const cv_key *entry)
{
    return entry->index >> 32;
}

static cv_span name_of(const cv_cubin *cubin, const cv_key *entry)
{
    return name_at(cubin, (uint32_t)entry->index);
}

/* The symbol before it that has the same name: among those whose hash is the same. */
static bool find_namesake(cv_ctx *ctx, const cv_cubin *cubin, const cv_keys *by_hash, uint64_t index,
                          uint64_t *first)
{
    const cv_key *entry = cv_keys_get(by_hash, index);
    cv_span name;

    if (CV_LIKELY(cv_keys_get(by_hash, index - 1)->key != entry->key))
        return false;
    name = name_of(cubin, entry);
    for (uint64_t j = index; j > 0 && cv_keys_get(by_hash, j - 1)->key == entry->key; j--) {
        *first = symbol_of(cv_keys_get(by_hash, j - 1));
        if (!cv_name_work(ctx, name))
            return false;
        if (cv_span_eq(name, name_of(cubin, cv_keys_get(by_hash, j - 1))))
            return true;
    }
    return false;
}

/* Found by its name: not of this file alone, and here. A program launches kernels that are local, too, and
 * reaches the variables of what a compiler finished, which are all local; a linker brings those of several
 * objects together. */
static bool is_found(const cv_cubin *cubin, const cv_elf_symbol *symbol)
{
    uint8_t type = cv_elf_sym_type(symbol);

    if (type == CV_STT_SECTION || symbol->shndx == CV_SHN_UNDEF)
        return false;
    if (cv_elf_sym_bind(symbol) != CV_STB_LOCAL ||
        (type == CV_STT_FUNC && (symbol->other & CV_STO_ENTRY) != 0))
        return true;
    return cubin->exe && cubin->producer.tool == CV_TOOL_PTXAS &&
           (type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT) && symbol->shndx < CV_SHN_LORESERVE;
}

static cuvet_status collect_names(cv_ctx *ctx, const cv_cubin *cubin, cv_keys *by_hash)
{
    cv_elf_symbol symbol;

    for (uint64_t i = 1; i < cubin->n_syms; i++) {
        cv_span name;

        cv_elf_read_symbol(cubin->symtab, cubin->header.is32, i, &symbol);
        if (!is_found(cubin, &symbol))
            continue;
        name = name_at(cubin, symbol.name);
        if (!cv_name_work(ctx, name) || !cv_work(ctx, CV_WORK_SCATTERED, name.off))
            return CUVET_OK;
        if (name.len != 0 &&
            !cv_keys_push(&ctx->mem, by_hash, (cv_key){ hash_name(name), pack_symbol(i, symbol.name) }))
            return cv_nomem(ctx, cubin->image.off);
    }
    return CUVET_OK;
}

static bool is_kernel(const cv_cubin *cubin, uint64_t index)
{
    cv_elf_symbol symbol;

    cv_elf_read_symbol(cubin->symtab, cubin->header.is32, index, &symbol);
    return cv_elf_sym_type(&symbol) == CV_STT_FUNC && (symbol.other & CV_STO_ENTRY) != 0;
}

cuvet_status cv_cubin_check_unique(cv_ctx *ctx, const cv_cubin *cubin)
{
    cv_keys by_hash = { 0 };
    cuvet_status status = CUVET_OK;
    uint64_t first = 0;

    if (!cubin->conv || cubin->n_syms < 2 ||
        !cv_work(ctx, cubin->n_syms / 16 + cubin->n_kernels, cubin->image.off))
        return CUVET_OK;
    status = collect_names(ctx, cubin, &by_hash);
    cv_keys_sort(&by_hash);
    for (uint64_t k = 1; k < by_hash.count; k++) {
        uint64_t i = symbol_of(cv_keys_get(&by_hash, k));

        if (find_namesake(ctx, cubin, &by_hash, k, &first))
            cv_report_at(ctx, CUVET_P_SYMBOL, i,
                         is_kernel(cubin, i) && is_kernel(cubin, first) ? CV_R_SYM_KERNEL_TWICE
                                                                        : CV_R_SYM_TWICE,
                         cubin->symtab.off + i * cv_elf_sym_size(false), 0, first, 0);
    }
    cv_keys_free(&ctx->mem, &by_hash);
    return status;
}
