/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Variables against each other: whoever writes to one of two that share memory changes the other as well. */
#include "cubin/internal.h"

typedef struct variable_pass {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    cv_keys by_section, by_value; /* of each variable: what it is sorted by, its symbol */
} variable_pass;

/* Symbols of 24 bytes, which is what files with conventions have. */
#define INFO_AT 4

/* Memory in which a value is a place: shared variables of relocatable files have none yet, and of those in
 * the section for debuggers the linker lets some share a place that no kernel has both of. */
static bool has_places(const cv_cubin *cubin, const cv_sec *sec)
{
    if (sec->role == CV_ROLE_NV_DEBUG_SHARED)
        return false;
    if (sec->role == CV_ROLE_SHARED_FN || sec->role == CV_ROLE_SHARED_RESERVED)
        return !cubin->rel;
    return cv_role_holds_variables(sec->role);
}

/* A constant without a name that a program knows. */
static bool is_compilers(const cv_cubin *cubin, const cv_elf_symbol *symbol, const cv_sec *sec, uint32_t bank)
{
    const unsigned space = cubin->rel ? CV_STO_SPACE_CONSTANT : 0; /* linkers drop it */
    const unsigned bits = space | CV_STV_INTERNAL;

    return (sec->role == CV_ROLE_CONSTANT || sec->role == CV_ROLE_CONSTANT_FN) && sec->bank == bank &&
           cv_elf_sym_bind(symbol) == CV_STB_LOCAL && (symbol->other & bits) == bits;
}

/* Compilers before 11 name pieces of their own constants, and pieces of these pieces; linkers that preserve
 * relocations keep the names. */
static bool is_piece(const cv_cubin *cubin, const cv_elf_symbol *symbol, const cv_sec *sec)
{
    return is_compilers(cubin, symbol, sec, CV_BANK_TABLES);
}

/* Two names of all parameters of one kernel: each input that defined the weak kernel had its own, with the
 * parameters that it knew, and linkers keep them. Nobody writes there. */
static bool are_parameters(const cv_cubin *cubin, const cv_sec *sec, uint64_t one, uint64_t other)
{
    cv_elf_symbol first, second;

    cv_elf_read_symbol(cubin->symtab, false, one, &first);
    cv_elf_read_symbol(cubin->symtab, false, other, &second);
    return is_compilers(cubin, &first, sec, CV_BANK_PARAMETERS) &&
           is_compilers(cubin, &second, sec, CV_BANK_PARAMETERS);
}

/* Empty ones share nothing; those that end behind their section were said with the symbols. */
static bool takes_room(const cv_elf_symbol *symbol, const cv_sec *sec)
{
    return symbol->size != 0 && cv_sat_add(symbol->value, symbol->size) <= sec->header.size;
}

static cuvet_status collect_variables(variable_pass *pass)
{
    const cv_cubin *cubin = pass->cubin;
    cv_elf_symbol symbol;

    for (uint64_t i = 1; i < cubin->n_syms; i++) {
        uint64_t index;
        const cv_sec *sec;

        if (!cv_is_variable(cv_elf_info_type(cv_u8_at(cubin->symtab, i * cv_elf_sym_size(false) + INFO_AT))))
            continue;
        cv_elf_read_symbol(cubin->symtab, false, i, &symbol);
        index = cv_cubin_shndx(cubin, false, i, &symbol);
        sec = cv_cubin_sec(cubin, index); /* the null section for what is no section */
        if (index != CV_SHN_UNDEF &&      /* whose size may be the number of all sections */
            has_places(cubin, sec) && takes_room(&symbol, sec) && !is_piece(cubin, &symbol, sec) &&
            !cv_keys_push(&pass->ctx->mem, &pass->by_section, (cv_key){ index, i }))
            return cv_nomem(pass->ctx, cubin->image.off);
    }
    return CUVET_OK;
}

/* The variables of one section, in the order of their places. */
static void check_section(variable_pass *pass, const cv_sec *sec)
{
    uint64_t begin = 0, end = 0, widest = 0; /* of those so far, the one that ends last; its symbol */
    cv_elf_symbol symbol;

    cv_keys_sort(&pass->by_value);
    for (uint64_t k = 0; k < pass->by_value.count; k++) {
        uint64_t index = cv_keys_get(&pass->by_value, k)->index, stop;
        bool same;

        cv_elf_read_symbol(pass->cubin->symtab, false, index, &symbol);
        stop = symbol.value + symbol.size; /* within the section */
        same = symbol.value == begin && stop == end;
        if (symbol.value < end && !are_parameters(pass->cubin, sec, index, widest))
            cv_report_at(pass->ctx, CUVET_P_SYMBOL, index, same ? CV_R_SYM_SAME_PLACE : CV_R_SYM_OVERLAP,
                         pass->cubin->symtab.off + index * cv_elf_sym_size(false) +
                             cv_elf_sym_at(false, CV_ST_VALUE),
                         0, symbol.value, widest);
        if (stop > end) {
            begin = symbol.value;
            end = stop;
            widest = index;
        }
    }
}

static cuvet_status check_all(variable_pass *pass)
{
    cv_elf_symbol symbol;

    cv_keys_sort(&pass->by_section);
    for (uint64_t k = 0; k < pass->by_section.count;) {
        uint64_t section = cv_keys_get(&pass->by_section, k)->key;

        cv_keys_clear(&pass->by_value);
        for (; k < pass->by_section.count && cv_keys_get(&pass->by_section, k)->key == section; k++) {
            uint64_t index = cv_keys_get(&pass->by_section, k)->index;

            cv_elf_read_symbol(pass->cubin->symtab, false, index, &symbol);
            if (!cv_keys_push(&pass->ctx->mem, &pass->by_value, (cv_key){ symbol.value, index }))
                return cv_nomem(pass->ctx, pass->cubin->image.off);
        }
        check_section(pass, cv_cubin_sec(pass->cubin, section));
    }
    return CUVET_OK;
}

cuvet_status cv_cubin_check_variables(cv_ctx *ctx, const cv_cubin *cubin)
{
    variable_pass pass = { .ctx = ctx, .cubin = cubin };
    cuvet_status status;

    if (!cubin->conv || !cv_work(ctx, cubin->n_syms / 16, cubin->symtab.off))
        return CUVET_OK;
    status = collect_variables(&pass);
    if (status == CUVET_OK && cv_work(ctx, pass.by_section.count, cubin->symtab.off))
        status = check_all(&pass);
    cv_keys_free(&ctx->mem, &pass.by_section);
    cv_keys_free(&ctx->mem, &pass.by_value);
    return status;
}
