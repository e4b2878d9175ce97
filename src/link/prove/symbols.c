/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which definition stands for each symbol of the result, found from the inputs alone; and the symbol says the
 * place where the section of that definition was put. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* The next symbol of the object at hand. False: no memory. */
static bool read_symbol(cv_prove *prove, uint64_t index, cv_prove_symbol *symbol)
{
    bool stays = prove->facts->relocatable || prove->facts->preserve; /* what names shared variables */
    uint8_t type;
    uint32_t sec;

    cv_elf_read_symbol(prove->in->symtab, false, index, &symbol->elf);
    type = cv_elf_sym_type(&symbol->elf);
    sec = cv_cubin_shndx(prove->in, false, index, &symbol->elf);
    if (cv_cubin_is_array(prove->in, &symbol->elf, sec))
        sec = symbol->elf.shndx = CV_SHN_UNDEF;
    symbol->out = *cv_u32s_get(&prove->facts->sym, prove->symbol.count);
    symbol->sec = symbol->elf.shndx != CV_SHN_COMMON && sec < prove->in->sec.count ? sec : 0;
    symbol->won = false; /* until it is entered */
    symbol->space = type == CV_STT_CUDA_OBJECT ? symbol->elf.other & CV_STO_SPACE : 0;
    symbol->plain =
        symbol->out != 0 && (symbol->space != CV_STO_SPACE_SHARED || stays) && type != CV_STT_SECTION;
    return cv_prove_symbol_list_push(&prove->ctx->mem, &prove->symbol, *symbol);
}

static bool is_named(const cv_elf_symbol *symbol)
{
    uint8_t type = cv_elf_sym_type(symbol);

    return type != CV_STT_SECTION && type != CV_STT_FILE;
}

static bool is_variable(const cv_prove_symbol *symbol)
{
    uint8_t type = cv_elf_sym_type(&symbol->elf);

    return type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT;
}

/* A part of a bank, as compilers mark it: a final link leaves such symbols out. */
static bool is_part_of_bank(const cv_prove *prove, const cv_prove_symbol *symbol)
{
    const unsigned bits = CV_STO_SPACE_CONSTANT | CV_STV_INTERNAL;

    return !prove->facts->relocatable && (symbol->elf.other & bits) == bits;
}

static bool is_data(const cv_sec *sec)
{
    return sec->role == CV_ROLE_GLOBAL_INIT || sec->role == CV_ROLE_GLOBAL || sec->role == CV_ROLE_CONSTANT;
}

/* Is this definition taken where the other one is there already? */
static bool is_better(const cv_proven *old, const cv_proven *found, bool function)
{
    if (old->common != found->common)
        return old->common;
    if (old->bind != found->bind)
        return found->bind == CV_STB_GLOBAL;
    if (!function || found->bind != CV_STB_WEAK)
        return false;
    return found->regs < old->regs || (found->regs == old->regs && found->virtual_sm > old->virtual_sm);
}

static cuvet_status enter_definition(cv_prove *prove, uint64_t index, const cv_prove_symbol *symbol,
                                     bool common)
{
    bool function = cv_elf_sym_type(&symbol->elf) == CV_STT_FUNC;
    cv_proven found = { .obj = prove->obj,
                        .sym = (uint32_t)index,
                        .found = true,
                        .common = common,
                        .bind = cv_elf_sym_bind(&symbol->elf),
                        .regs = cv_cubin_sec(prove->in, symbol->sec)->regs,
                        .virtual_sm = prove->in->virtual_sm };
    cv_proven *old = cv_provens_at(&prove->proven, symbol->out);
    uint32_t virtual_sm;

    if (old->found && found.bind == CV_STB_LOCAL) /* of a file of its own */
        return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, index, old->sym, symbol->out);
    /* Where nothing counts the registers of a weak function any of them may be taken. */
    found.unsure = old->unsure || (old->found && function && found.bind == CV_STB_WEAK &&
                                   old->bind == CV_STB_WEAK && (found.regs == 0 || old->regs == 0));
    found.again = old->found;
    virtual_sm = old->found ? old->virtual_sm : found.virtual_sm;
    if (!old->found || is_better(old, &found, function)) {
        cv_prove_symbol_list_at(&prove->symbol, prove->symbol.count - 1)->won =
            true; /* it was read just now */
        *old = found;
    }
    old->virtual_sm = virtual_sm;
    old->again = found.again;
    old->unsure = found.unsure && old->bind == CV_STB_WEAK;
    return CUVET_OK;
}

/* What stands for a symbol has its name. */
static cuvet_status enter(cv_prove *prove, uint64_t index, const cv_prove_symbol *symbol)
{
    const cv_cubin *result = prove->facts->result;
    bool common = symbol->elf.shndx == CV_SHN_COMMON;
    uint32_t name;

    if (symbol->out >= result->n_syms)
        return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, index, 0, symbol->out);
    name = cv_u32_at(result->symtab, symbol->out * cv_elf_sym_size(false)); /* st_name comes first */
    if (!cv_span_same_cstr(prove->in->strtab, symbol->elf.name, result->strtab, name))
        return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, index, name, symbol->out);
    prove->commons = prove->commons || common;
    return symbol->sec == 0 && !common ? CUVET_OK : enter_definition(prove, index, symbol, common);
}

/* Of its definition a symbol has the binding and the type; of a variable a program says that it is one. */
static bool is_alike(const cv_prove *prove, const cv_prove_symbol *symbol, const cv_elf_symbol *named)
{
    uint8_t type = cv_elf_sym_type(&symbol->elf), found = cv_elf_sym_type(named);
    bool variable = type == CV_STT_CUDA_OBJECT && found == CV_STT_OBJECT && !prove->facts->relocatable;
    /* no variable is a kernel, whatever its input says */
    uint8_t entry =
        type == CV_STT_FUNC ? symbol->elf.other ^ named->other : named->other & (uint8_t)~symbol->elf.other;

    return (type == found || variable) && cv_elf_sym_bind(&symbol->elf) == cv_elf_sym_bind(named) &&
           (entry & CV_STO_ENTRY) == 0;
}

/* A symbol of a shared variable: of its size, at the place that code uses, behind what the system has. */
static cuvet_status compare_shared(const cv_prove *prove, const cv_prove_symbol *symbol, uint32_t sym,
                                   const cv_elf_symbol *named, uint32_t out)
{
    uint64_t place = symbol->elf.value;

    if (named->shndx == CV_SHN_UNDEF || symbol->sec == 0)
        return CUVET_OK;
    if (named->size != symbol->elf.size || !is_alike(prove, symbol, named))
        return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, sym, named->size, out);
    if (!prove->facts->relocatable && cv_prove_shared_place(prove, sym, &place))
        place = cv_sat_add(place, prove->facts->reserved);
    return named->value == place
               ? CUVET_OK
               : cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, sym, named->value, out);
}

/* A variable in what the system has: of its size, aligned, at the place that code uses, and inside. */
static cuvet_status compare_reserved(const cv_prove *prove, const cv_prove_symbol *symbol, uint32_t sym,
                                     const cv_elf_symbol *named, uint32_t out)
{
    uint32_t sec = cv_cubin_shndx(prove->facts->result, false, out, named);
    uint64_t place = symbol->elf.value;

    if (named->shndx == CV_SHN_UNDEF)
        return CUVET_OK;
    if (!prove->facts->relocatable &&
        (!cv_prove_shared_place(prove, sym, &place) || place % cv_max(symbol->elf.value, 1) != 0))
        return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, sym, named->value, out);
    if (named->value == place && named->size == symbol->elf.size && is_alike(prove, symbol, named) &&
        sec < prove->facts->result->sec.count &&
        (prove->facts->relocatable ||
         cv_sat_add(place, named->size) <= cv_cubin_sec(prove->facts->result, sec)->header.size))
        return CUVET_OK;
    return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, sym, named->value, out);
}

/* Where another definition of a function won, names in the bank of the one that lost stay in a relocatable
 * result, as names of the same place in the bank of the other; without work the link ends anyway. */
static bool lies_in_heir(const cv_prove *prove, const cv_prove_symbol *symbol, const cv_elf_symbol *named,
                         uint32_t sec)
{
    const cv_sec *own = cv_cubin_sec(prove->in, symbol->sec), *heir = cv_cubin_sec(prove->facts->result, sec);

    return cv_elf_sym_bind(&symbol->elf) == CV_STB_LOCAL && own->role == CV_ROLE_CONSTANT_FN &&
           heir->role == own->role && named->value == symbol->elf.value && named->size == symbol->elf.size &&
           (!cv_work(prove->ctx, 1 + own->fn.len / 16, 0) || cv_span_eq(own->fn, heir->fn));
}

/* Code is as large as its section, which a compiler says of its function, too. */
static bool is_as_large(const cv_prove *prove, const cv_prove_symbol *symbol, const cv_elf_symbol *named)
{
    return named->size == symbol->elf.size ||
           (cv_elf_sym_type(named) == CV_STT_FUNC &&
            named->size == cv_cubin_sec(prove->in, symbol->sec)->header.size);
}

/* The symbol of the result is that of its definition. */
static cuvet_status compare(cv_prove *prove, uint32_t out, const cv_proven *proven)
{
    const cv_cubin *result = prove->facts->result;
    const cv_prove_place *place;
    const cv_prove_symbol *symbol;
    cv_elf_symbol named;
    uint32_t sec;

    cv_prove_open(prove, proven->obj);
    symbol = cv_prove_symbol_at(prove, proven->sym);
    cv_elf_read_symbol(result->symtab, false, out, &named);
    if (symbol->space == CV_STO_SPACE_SHARED &&
        !cv_prove_holds_content(cv_cubin_sec(
            prove->in, symbol->sec))) /* its value is an alignment here and, in a program, a place there */
        return compare_shared(prove, symbol, proven->sym, &named, out);
    if (symbol->space == CV_STO_SPACE_RESERVED)
        return compare_reserved(prove, symbol, proven->sym, &named, out);
    sec = cv_cubin_shndx(result, false, out, &named);
    if (proven->common) {
        if (sec == CV_SHN_COMMON && prove->facts->relocatable)
            return CUVET_OK;
        return sec != 0 && sec < result->sec.count && named.size >= symbol->elf.size &&
                       cv_sat_add(named.value, named.size) <= cv_cubin_sec(result, sec)->header.size
                   ? CUVET_OK
                   : cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, proven->sym, named.value, out);
    }
    place = cv_prove_place_of(prove, symbol->sec);
    if (is_alike(prove, symbol, &named) && place->sec == sec && sec != 0 &&
        named.value == cv_sat_add(place->base, symbol->elf.value) && is_as_large(prove, symbol, &named))
        return CUVET_OK;
    if (place->sec == 0 && sec < result->sec.count && lies_in_heir(prove, symbol, &named, sec))
        return CUVET_OK;
    return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, proven->sym, named.value, out);
}

/* What the result defines some input defines. */
static cuvet_status check_result(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 1; i < result->n_syms && status == CUVET_OK; i++) {
        const cv_proven *proven = cv_provens_get(&prove->proven, i);
        cv_elf_symbol named;

        if (proven->found && !proven->unsure)
            status = compare(prove, (uint32_t)i, proven);
        if (proven->found || status != CUVET_OK)
            continue;
        cv_elf_read_symbol(result->symtab, false, i, &named);
        if (cv_elf_sym_type(&named) == CV_STT_FUNC && cv_cubin_shndx(result, false, i, &named) != 0)
            status = cv_prove_fail(prove, CV_R_LINK_PROVE_SYMBOL, CUVET_P_SYMBOL, i, 0, named.value, i);
    }
    return status;
}

static cuvet_status enter_object(cv_prove *prove)
{
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 0; i < prove->in->n_syms && status == CUVET_OK; i++) {
        cv_prove_symbol symbol;

        if (!read_symbol(prove, i, &symbol))
            return cv_nomem(prove->ctx, 0);
        if (i == 0)
            continue;
        if (symbol.out != 0 && is_named(&symbol.elf))
            status = enter(prove, i, &symbol);
        else if (symbol.sec != 0 && is_variable(&symbol) && !is_part_of_bank(prove, &symbol) &&
                 is_data(cv_cubin_sec(prove->in, symbol.sec)))
            status = cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, i, 0, 0);
    }
    return status;
}

cuvet_status cv_prove_symbols(cv_prove *prove)
{
    cuvet_status status = CUVET_OK;

    if (!cv_provens_reserve(&prove->ctx->mem, &prove->proven, prove->facts->result->n_syms) ||
        !cv_prove_symbol_list_room(&prove->ctx->mem, &prove->symbol, prove->facts->sym.count))
        return cv_nomem(prove->ctx, 0);
    prove->proven.count = prove->facts->result->n_syms;
    for (uint32_t obj = 0; obj < prove->facts->in.count && status == CUVET_OK; obj++) {
        cv_prove_open(prove, obj);
        status = enter_object(prove);
    }
    return status == CUVET_OK ? check_result(prove) : status;
}
