/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Code that was made again: its bytes and places are others, what it works on is not. Data, the symbols in
 * it, and what code and data refer to have to be those of the input. */
#include "finalize/compare.h"

#include "bytes/intern.h"

/* What is no code and does not come with it: data, and the claims of the file. Of the constant banks that
 * belong to one function only that of the parameters: the others, and the bank of addresses, hold what a code
 * generator wants to have there. */
bool cv_final_stays_again(const cv_cubin *cubin, uint64_t index)
{
    const cv_sec *sec = cv_cubin_sec(cubin, index);

    switch ((unsigned)sec->role) {
    case CV_ROLE_COMPAT:
    case CV_ROLE_GLOBAL:
    case CV_ROLE_GLOBAL_INIT: return true;
    case CV_ROLE_CONSTANT: return sec->bank != CV_BANK_ADDRESSES;
    case CV_ROLE_CONSTANT_FN: return sec->bank == CV_BANK_PARAMETERS;
    default: return false;
    }
}

static bool is_variable(const cv_elf_symbol *sym)
{
    return cv_elf_sym_type(sym) == CV_STT_OBJECT || cv_elf_sym_type(sym) == CV_STT_CUDA_OBJECT;
}

/* A function or a variable that is defined and seen from outside, or a variable of data that relocations may
 * name. */
static bool is_checked(const cv_cubin *cubin, uint64_t index, const cv_elf_symbol *sym)
{
    cv_span name = cv_span_tail(cubin->strtab, sym->name); /* its begin is enough */

    if (sym->shndx == CV_SHN_UNDEF || cv_span_starts(name, "__nv_reservedSMEM") ||
        cv_span_starts(name, ".nv.reservedSmem"))
        return false;
    if (cv_elf_sym_bind(sym) == CV_STB_LOCAL)
        return is_variable(sym) && cv_final_in_section(sym) &&
               cv_final_stays_again(cubin, cv_cubin_shndx(cubin, false, index, sym));
    return cv_elf_sym_type(sym) == CV_STT_FUNC || is_variable(sym);
}

/* Of a name and of two numbers with it. */
static uint64_t hash_name(const cv_final_same *pair, uint64_t low, uint64_t high, cv_span name)
{
    const uint64_t key[2] = { CV_ARRAY_GET(pair->key, 0) ^ low, CV_ARRAY_GET(pair->key, 1) ^ high };

    return cv_siphash(key, name);
}

static cuvet_status gather_symbols(cv_ctx *ctx, const cv_final_same *pair, const cv_cubin *cubin,
                                   cv_keys *out)
{
    cv_elf_symbol sym;

    for (uint64_t i = 1; i < cubin->n_syms; i++) {
        bool local;
        cv_span name;

        cv_elf_read_symbol(cubin->symtab, false, i, &sym);
        if (!is_checked(cubin, i, &sym))
            continue;
        local = cv_elf_sym_bind(&sym) == CV_STB_LOCAL; /* several may have one name */
        name = cv_final_symbol_name(cubin, &sym);
        if (!cv_work(ctx, name.len / 4 + 1, name.off))
            return CUVET_E_LIMIT;
        if (!cv_keys_push(&ctx->mem, out,
                          (cv_key){ hash_name(pair, local ? sym.value : 0, local ? sym.size : 0, name), i }))
            return cv_nomem(ctx, 0);
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

/* Name, kind, visibility, and the same section by its name; of variables place and size as well. */
static bool symbol_same(cv_ctx *ctx, const cv_final_same *pair, uint64_t index, uint64_t value)
{
    cv_elf_symbol first, second;
    cv_span name, section;

    cv_elf_read_symbol(pair->before->symtab, false, index, &first);
    cv_elf_read_symbol(pair->after->symtab, false, value, &second);
    name = cv_final_symbol_name(pair->before, &first);
    if (first.info != second.info || first.other != second.other ||
        !cv_work(ctx, name.len / 4 + 1, name.off) ||
        !cv_span_eq(name, cv_final_symbol_name(pair->after, &second)) ||
        (is_variable(&first) && (first.value != second.value || first.size != second.size)))
        return false;
    if (!cv_final_in_section(&first) || !cv_final_in_section(&second))
        return first.shndx == second.shndx;
    section = cv_cubin_sec(pair->before, cv_cubin_shndx(pair->before, false, index, &first))->name;
    return cv_work(ctx, section.len / 4 + 1, section.off) &&
           cv_span_eq(section,
                      cv_cubin_sec(pair->after, cv_cubin_shndx(pair->after, false, value, &second))->name);
}

cuvet_status cv_final_symbols_again(cv_ctx *ctx, const cv_final_same *pair, cv_final *code)
{
    cv_keys first = { 0 }, second = { 0 };
    cuvet_status status;
    uint64_t n_before;

    if (!cv_work(ctx, cv_sat_mul(cv_sat_add(pair->before->n_syms, pair->after->n_syms), 8), 0))
        return CUVET_E_LIMIT;
    status = gather_symbols(ctx, pair, pair->before, &first);
    if (status == CUVET_OK)
        status = gather_symbols(ctx, pair, pair->after, &second);
    n_before = cv_max(first.count, second.count);
    for (uint64_t k = 0; k < n_before && status == CUVET_OK; k++) {
        uint64_t i = k < first.count ? cv_keys_get(&first, k)->index : 0; /* symbol 0 stands for none */
        uint64_t n_after = k < second.count ? cv_keys_get(&second, k)->index : 0;

        if (k >= first.count || k >= second.count || !symbol_same(ctx, pair, i, n_after))
            status = ctx->work_out ? CUVET_E_LIMIT : cv_final_symbols_differ(ctx, code, pair, i, n_after);
    }
    cv_keys_free(&ctx->mem, &first);
    cv_keys_free(&ctx->mem, &second);
    return status;
}

/* What a relocation says, but for the name of the symbol: the section, the type, the addend. The place too
 * where it is data; of code the places are others, also those in the function itself that it refers to. */
static void describe_target(const cv_cubin *cubin, uint64_t section, const cv_elf_reloc *reloc, uint64_t *low,
                            uint64_t *high)
{
    uint32_t target = cv_cubin_sec(cubin, section)->header.info;
    bool own = false;
    cv_elf_symbol sym;

    cv_elf_read_symbol(cubin->symtab, false, reloc->sym, &sym);
    if (cv_final_part(cubin, target) == CV_PART_CODE)
        own = cv_final_in_section(&sym) && cv_cubin_shndx(cubin, false, reloc->sym, &sym) == target &&
              (uint64_t)reloc->addend < cv_cubin_sec(cubin, target)->header.size &&
              reloc->addend % cubin->gen->instruction == 0;
    else
        *low ^= reloc->off;
    *low ^= (uint64_t)reloc->type << 48;
    if (!own)
        *high ^= (uint64_t)reloc->addend;
}

static cuvet_status read_references(cv_ctx *ctx, const cv_final_same *pair, const cv_cubin *cubin,
                                    cv_keys *out)
{
    cv_elf_reloc reloc;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);
        bool rela = sec->header.type == CV_SHT_RELA;
        uint64_t base;
        cv_span table = cv_final_body_of(cubin, i);

        if (cv_final_part(cubin, i) != CV_PART_RELOC ||
            cv_final_part(cubin, sec->header.info) == CV_PART_DEBUG)
            continue;
        if (!cv_work(ctx, sec->name.len / 4 + 1, table.off))
            return CUVET_E_LIMIT;
        base = cv_siphash(pair->key, sec->name);
        for (uint64_t k = 0; k < table.len / cv_elf_rel_size(false, rela); k++) {
            uint64_t low = base, high = 0;
            cv_span name;

            cv_elf_read_reloc(table, false, rela, k, &reloc);
            name = cv_final_reloc_symbol(cubin, false, reloc.sym);
            if (!cv_work(ctx, name.len / 4 + 2, table.off))
                return CUVET_E_LIMIT;
            describe_target(cubin, i, &reloc, &low, &high);
            if (!cv_keys_push(&ctx->mem, out,
                              (cv_key){ hash_name(pair, low, high, name), (uint64_t)i << 32 | k }))
                return cv_nomem(ctx, 0);
        }
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

/* Index of a key that only the first list has; none: first->n. How often a key is there does not matter. */
static uint64_t find_missing(const cv_keys *first, const cv_keys *second)
{
    uint64_t i = 0;

    for (uint64_t k = 0; i < first->count; i++) {
        while (k < second->count && cv_keys_get(second, k)->key < cv_keys_get(first, i)->key)
            k++;
        if (k >= second->count || cv_keys_get(second, k)->key != cv_keys_get(first, i)->key)
            break;
    }
    return i;
}

/* The relocation with this index is in one file only. */
static cuvet_status report_lone(cv_ctx *ctx, const cv_cubin *cubin, cv_rule rule, uint64_t index,
                                cv_final *code)
{
    uint64_t i = index >> 32, nth = index & UINT32_MAX;
    const cv_sec *sec = cv_cubin_sec(cubin, i);
    bool rela = sec->header.type == CV_SHT_RELA;
    cv_span table = cv_final_body_of(cubin, i);
    cv_elf_reloc reloc;

    cv_elf_read_reloc(table, false, rela, nth, &reloc);
    *code = CV_FINAL_CHECK_RELOC;
    return cv_reject(
        ctx, rule,
        cv_sat_add(cubin->image.off, cv_sat_add(sec->header.off, nth * cv_elf_rel_size(false, rela))),
        reloc.sym, sec->header.info);
}

cuvet_status cv_final_references_kept(cv_ctx *ctx, const cv_final_same *pair, cv_final *code)
{
    cv_keys first = { 0 }, second = { 0 };
    cuvet_status status = read_references(ctx, pair, pair->before, &first);
    uint64_t i;

    if (status == CUVET_OK)
        status = read_references(ctx, pair, pair->after, &second);
    i = find_missing(&first, &second);
    if (status == CUVET_OK && i < first.count)
        status = report_lone(ctx, pair->before, CV_R_FINAL_LOST, cv_keys_at(&first, i)->index, code);
    i = find_missing(&second, &first);
    if (status == CUVET_OK && i < second.count)
        status = report_lone(ctx, pair->after, CV_R_FINAL_ADDED, cv_keys_at(&second, i)->index, code);
    if (status == CUVET_E_LIMIT)
        *code = CV_FINAL_LIMIT;
    else if (status == CUVET_E_NOMEM)
        *code = CV_FINAL_MEMORY;
    cv_keys_free(&ctx->mem, &first);
    cv_keys_free(&ctx->mem, &second);
    return status;
}
