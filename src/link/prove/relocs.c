/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every relocation of every input is found again: applied, kept, or dropped for a reason. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* Where the result has what a symbol of an input stands for. */
static cv_prove_place home_of(const cv_prove *prove, const cv_prove_symbol *symbol)
{
    const cv_cubin *result = prove->facts->result;
    cv_prove_place home;
    cv_elf_symbol named;

    if (symbol->out != 0 && symbol->out < result->n_syms) {
        cv_elf_read_symbol(result->symtab, false, symbol->out, &named);
        home = (cv_prove_place){ cv_cubin_shndx(result, false, symbol->out, &named), named.value };
        return home;
    }
    home = *cv_prove_place_of(prove, symbol->sec);
    home.base = cv_sat_add(home.base, symbol->elf.value);
    return home;
}

static bool is_section(const cv_elf_symbol *symbol)
{
    return cv_elf_sym_type(symbol) == CV_STT_SECTION;
}

/* Code that another definition took the place of: what debug data says of its section it says of the other
 * one's, as it does of its function. */
static bool is_taken_over(const cv_prove *prove, const cv_prove_symbol *symbol, uint32_t sec)
{
    const cv_sec *old = cv_cubin_sec(prove->in, symbol->sec), *found;

    if (old->role != CV_ROLE_TEXT || !is_section(&symbol->elf) || sec >= prove->facts->result->sec.count)
        return false;
    found = cv_cubin_sec(prove->facts->result, sec);
    return found->role == CV_ROLE_TEXT && cv_span_eq(old->name, found->name);
}

/* A local symbol that nothing defines: nobody else can. */
static bool is_nowhere(const cv_prove_symbol *symbol)
{
    return symbol->sec == 0 && cv_elf_sym_bind(&symbol->elf) == CV_STB_LOCAL;
}

/* A unit of lines that are made anew. */
static bool find_moved_unit(const cv_prove *prove, const cv_prove_reloc *reloc, cv_prove_place *home)
{
    uint64_t at = cv_wrap_add(reloc->symbol->elf.value, (uint64_t)reloc->elf.addend);

    home->sec = cv_prove_place_of(prove, reloc->symbol->sec)->sec;
    return cv_prove_find_unit(prove, reloc->symbol->sec, at, &home->base);
}

static bool is_at(const cv_cubin *result, const cv_elf_reloc *row, const cv_prove_place *home)
{
    cv_elf_symbol named;

    cv_elf_read_symbol(result->symtab, false, row->sym, &named);
    return cv_cubin_shndx(result, false, row->sym, &named) == home->sec &&
           cv_wrap_add(named.value, (uint64_t)row->addend) == home->base;
}

bool cv_prove_is_same(const cv_prove *prove, const cv_prove_reloc *reloc, const cv_elf_reloc *row)
{
    const cv_cubin *result = prove->facts->result;
    cv_prove_place home;
    cv_elf_symbol named;
    uint32_t sec;

    if (prove->unit.count != 0 && is_section(&reloc->symbol->elf) && find_moved_unit(prove, reloc, &home))
        return is_at(result, row, &home);
    if (row->sym == reloc->symbol->out && row->sym != 0)
        return row->addend == reloc->elf.addend;
    if (row->sym == 0 && reloc->symbol->out == 0 && is_nowhere(reloc->symbol))
        return row->addend == reloc->elf.addend;
    /* a shared variable has an alignment for a value: another one is never the same */
    if (reloc->symbol->space == CV_STO_SPACE_SHARED && reloc->symbol->out != 0)
        return false;
    home = home_of(prove, reloc->symbol);
    cv_elf_read_symbol(result->symtab, false, row->sym, &named);
    sec = cv_cubin_shndx(result, false, row->sym, &named);
    if (home.sec == 0 && is_section(&named) && is_taken_over(prove, reloc->symbol, sec))
        return row->addend == reloc->elf.addend;
    if (home.sec == 0 || home.sec >= result->sec.count || sec != home.sec)
        return false;
    if (!reloc->rela && is_section(&reloc->symbol->elf) && is_section(&named))
        return true; /* the field counts from there: check_moved */
    return cv_wrap_add(home.base, (uint64_t)reloc->elf.addend) ==
           cv_wrap_add(named.value, (uint64_t)row->addend);
}

/* Bits of a pair of words from 'pos' on. */
static uint64_t bits_at(cv_pair pair, unsigned pos, unsigned bits)
{
    uint64_t value = pos >= 64 ? pair.high >> (pos - 64) : pair.low >> pos;

    if (pos < 64 && pos > 0)
        value |= (pair.high & ((UINT64_C(1) << pos) - 1)) << (64 - pos);
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

/* The bytes of a relocation that was applied, in the input … */
static cv_pair bytes_before(const cv_prove *prove, const cv_prove_reloc *reloc)
{
    return cv_pair_at(prove->here.body, reloc->elf.off);
}

/* … and in the result. */
static cv_pair bytes_now(const cv_prove *prove, const cv_prove_reloc *reloc)
{
    return cv_slices_pair(prove->file, cv_sat_add(prove->here.at, reloc->elf.off),
                          cv_reloc_of(reloc->elf.type)->bytes);
}

/* The field of a relocation as it was. */
static uint64_t field_before(const cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);

    return bits_at(bytes_before(prove, reloc), facts->pos, facts->bits);
}

static uint64_t field_mask(const cv_reloc_facts *facts)
{
    return facts->bits >= 64 ? UINT64_MAX : (UINT64_C(1) << facts->bits) - 1;
}

/* The field that was applied holds this value, and the number of this bank where it has one. */
static cuvet_status check_value(cv_prove *prove, const cv_prove_reloc *reloc, uint64_t value, uint32_t bank)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);
    cv_pair now = bytes_now(prove, reloc), before = bytes_before(prove, reloc),
            mask = cv_prove_mask_of(prove, reloc->elf.type);
    uint64_t field = bits_at(now, facts->pos, facts->bits), want, addend = (uint64_t)reloc->elf.addend;

    if (!reloc->rela)
        addend = (bits_at(before, facts->pos, facts->bits) & (UINT64_MAX >> facts->shift)) << facts->shift;
    before = cv_pair_cut(before, facts->bytes);
    prove->here.fits =
        ((now.low ^ before.low) & ~mask.low) == 0 && ((now.high ^ before.high) & ~mask.high) == 0;
    want = cv_wrap_add(value, addend) >> facts->shift & field_mask(facts);
    if (field == want &&
        (!cv_reloc_has(facts, CV_USE_NUMBER) || bits_at(now, CV_R_NUMBER_POS, CV_R_NUMBER_BITS) == bank))
        return CUVET_OK;
    return cv_prove_fail_section(prove, CV_R_LINK_PROVE_APPLIED, prove->here.index, reloc->elf.off, field,
                                 want);
}

/* Of a shared variable: the place that the code uses follows from the field. Where it holds only a part of
 * it, it follows from another one. */
static cuvet_status check_shared(cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);
    uint64_t field, addend, place;

    if (prove->here.used == (uint64_t)reloc->elf.sym + 1)
        return check_value(prove, reloc, prove->here.used_at, 0);
    if (reloc->symbol->space != CV_STO_SPACE_SHARED)
        return cv_prove_shared_place(prove, reloc->elf.sym, &place) ? check_value(prove, reloc, place, 0)
                                                                    : CUVET_OK;
    if (cv_prove_shared_place(prove, reloc->elf.sym, &place)) {
        cuvet_status status = check_value(prove, reloc, place, 0);

        prove->here.used = (uint64_t)reloc->elf.sym + 1;
        prove->here.used_at = place;
        return status == CUVET_OK ? cv_prove_use_shared(prove, reloc, place) : status;
    }
    if (facts->shift != 0 || facts->bits < 24) {
        prove->array_part = prove->array_part || reloc->symbol->elf.shndx == CV_SHN_UNDEF;
        return CUVET_OK;
    }
    field = bits_at(bytes_now(prove, reloc), facts->pos, facts->bits);
    addend = reloc->rela ? (uint64_t)reloc->elf.addend : field_before(prove, reloc);
    return cv_prove_use_shared(prove, reloc, cv_wrap_sub(field, addend) & field_mask(facts));
}

/* It writes into the section, and its result is not that of the loader. A type that a linker writes nothing
 * for may lie in what another one writes. */
static bool add_field(cv_prove *prove, const cv_prove_reloc *reloc)
{
    cv_pair written = cv_prove_mask_of(prove, reloc->elf.type);

    if ((written.low | written.high) == 0)
        return true;
    return cv_keys_push(&prove->ctx->mem, &prove->field,
                        (cv_key){ reloc->elf.off, reloc->elf.type | (prove->here.fits ? CV_PROVE_FITS : 0) });
}

static bool is_debug(const cv_sec *sec)
{
    return sec->role == CV_ROLE_DEBUG || sec->role == CV_ROLE_NV_DEBUG;
}

static bool is_constant(const cv_sec *sec)
{
    return sec->role == CV_ROLE_CONSTANT || sec->role == CV_ROLE_CONSTANT_FN;
}

/* A relocation without an addend that stays, against a section of an input that does not begin that of the
 * result: its field counts from there. */
static cuvet_status check_moved(cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_sec *sec = cv_cubin_sec(prove->in, reloc->symbol->sec);
    const cv_prove_place *place = cv_prove_place_of(prove, reloc->symbol->sec);

    if (place->sec == 0 || place->base == 0 || cv_prove_is_rebuilt(prove, sec))
        return CUVET_OK;
    if (!add_field(prove, reloc))
        return cv_nomem(prove->ctx, 0);
    return check_value(prove, reloc, place->base, sec->bank);
}

/* Gone with the code that it is about, or with the code that another definition took the place of. */
static bool is_gone(const cv_prove *prove, const cv_prove_symbol *symbol)
{
    if (symbol->out == 0)
        return true;
    return symbol->sec != 0 && cv_prove_place_of(prove, symbol->sec)->sec == 0;
}

static cuvet_status lost(const cv_prove *prove, const cv_prove_reloc *reloc)
{
    return cv_prove_fail_section(prove, CV_R_LINK_PROVE_KEPT, prove->here.index, reloc->elf.off,
                                 reloc->elf.type, reloc->elf.sym);
}

/* Eight bytes that are zero when the function is gone. */
static cuvet_status check_cleared(cv_prove *prove, const cv_prove_reloc *reloc)
{
    uint64_t now = bytes_now(prove, reloc).low, before = bytes_before(prove, reloc).low;

    if (now == before || (now == 0 && is_gone(prove, reloc->symbol)))
        return CUVET_OK;
    return cv_prove_fail_section(prove, CV_R_LINK_PROVE_APPLIED, prove->here.index, reloc->elf.off, now,
                                 before);
}

/* Debug data tells the place of a shared variable; what the system has before it the compiler added already.
 * Of one that no kernel has it tells the place before all of them. Where the place depends on the kernel
 * nothing is said. */
static cuvet_status check_shown(cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);
    uint64_t place, nowhere = cv_wrap_sub(prove->facts->reserved, 1);

    if (prove->facts->relocatable || !cv_prove_shared_place(prove, reloc->elf.sym, &place) ||
        bits_at(bytes_now(prove, reloc), facts->pos, facts->bits) == (nowhere & field_mask(facts)))
        return CUVET_OK;
    return check_value(prove, reloc, place, 0);
}

static cuvet_status check_debug(cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_prove_symbol *symbol = reloc->symbol;
    const cv_sec *sec = cv_cubin_sec(prove->in, symbol->sec);
    cv_prove_place home = *cv_prove_place_of(prove, symbol->sec);

    if (is_debug(sec) && home.sec != 0 && cv_prove_is_rebuilt(prove, sec))
        return CUVET_OK;
    if (is_debug(sec) && home.sec != 0) /* a later link moves it again */
        return prove->facts->relocatable && !prove->facts->exact
                   ? lost(prove, reloc)
                   : check_value(prove, reloc, cv_wrap_add(home.base, symbol->elf.value), 0);
    if (symbol->space == CV_STO_SPACE_SHARED)
        return check_shown(prove, reloc);
    if (symbol->space == CV_STO_SPACE_CONSTANT || is_gone(prove, symbol) || is_nowhere(symbol))
        return CUVET_OK;
    return lost(prove, reloc);
}

/* A branch table of a device function: it is in the banks of kernels. Of code that none reaches it has no
 * place. */
static cuvet_status check_branch(cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_sec *sec = cv_cubin_sec(prove->in, reloc->symbol->sec);
    uint64_t place;

    if (sec->role != CV_ROLE_CONSTANT_FN)
        return lost(prove, reloc);
    return cv_prove_table_place(prove, reloc->symbol->sec, &place)
               ? check_value(prove, reloc, cv_wrap_add(place, reloc->symbol->elf.value), sec->bank)
               : CUVET_OK;
}

static cuvet_status check_constant(cv_prove *prove, const cv_prove_reloc *reloc)
{
    cv_prove_place home = home_of(prove, reloc->symbol);
    const cv_sec *bank = cv_cubin_sec(prove->facts->result, home.sec);

    if (home.sec == 0)
        return check_branch(prove, reloc);
    return is_constant(bank) ? check_value(prove, reloc, home.base, bank->bank) : lost(prove, reloc);
}

static cuvet_status check_slot(cv_prove *prove, const cv_prove_reloc *reloc)
{
    uint64_t slot =
        reloc->symbol->out < prove->slot.count ? *cv_u64s_get(&prove->slot, reloc->symbol->out) : 0;

    if (slot == 0)
        return lost(prove, reloc);
    if (prove->here.fn != 0 && prove->here.fn < prove->slots_used.count)
        *cv_u8s_at(&prove->slots_used, prove->here.fn) |=
            cv_prove_slot_kind(cv_elf_sym_type(&reloc->symbol->elf));
    return check_value(prove, reloc, slot - 1, CV_BANK_PARAMETERS);
}

/* Does a weak variable of the input lie there whose name means another place in the result? Nothing names
 * its bytes any more. */
static bool lies_in_beaten(const cv_prove *prove, uint64_t off)
{
    for (uint64_t i = 0; i < prove->in->n_syms; i++) {
        const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, i);
        cv_prove_place home;

        if (symbol->sec != prove->here.index || symbol->out == 0 || off < symbol->elf.value ||
            off - symbol->elf.value >= symbol->elf.size || cv_elf_sym_bind(&symbol->elf) != CV_STB_WEAK)
            continue;
        home = home_of(prove, symbol);
        if (home.sec != prove->here.place.sec ||
            home.base != cv_sat_add(prove->here.place.base, symbol->elf.value))
            return true;
    }
    return false;
}

/* Variables have an initial value there, and the search is paid for. */
static cuvet_status check_data(cv_prove *prove, const cv_prove_reloc *reloc, bool *of_nobody)
{
    *of_nobody = false;
    if (cv_cubin_sec(prove->in, prove->here.index)->role != CV_ROLE_GLOBAL_INIT)
        return CUVET_OK;
    if (!cv_work(prove->ctx, prove->in->n_syms, 0))
        return CUVET_E_LIMIT;
    *of_nobody = lies_in_beaten(prove, reloc->elf.off);
    return CUVET_OK;
}

/* It is not in the result. */
static cuvet_status check_applied(cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);
    const cv_prove_symbol *symbol = reloc->symbol;
    uint8_t type = cv_elf_sym_type(&symbol->elf);
    bool of_nobody;
    cuvet_status status = check_data(prove, reloc, &of_nobody);

    if (status != CUVET_OK || of_nobody)
        return status;
    if (cv_reloc_has(facts, CV_USE_CLEARS))
        return check_cleared(prove, reloc);
    if (cv_reloc_has(facts, CV_USE_TABLE))
        return CUVET_OK;
    if (prove->here.debug || is_debug(cv_cubin_sec(prove->in, symbol->sec)))
        return check_debug(prove, reloc);
    if (prove->facts->exact)
        return CUVET_OK;
    if (prove->facts->relocatable && !is_nowhere(symbol))
        return lost(prove, reloc); /* a later link has to apply it */
    if (symbol->space == CV_STO_SPACE_SHARED || symbol->space == CV_STO_SPACE_RESERVED)
        return check_shared(prove, reloc);
    if (type >= CV_STT_CUDA_TEXTURE && type <= CV_STT_CUDA_SURFACE &&
        !is_constant(cv_cubin_sec(prove->in, symbol->sec)))
        return check_slot(prove, reloc);
    if (symbol->space == CV_STO_SPACE_CONSTANT || is_constant(cv_cubin_sec(prove->in, symbol->sec)))
        return check_constant(prove, reloc);
    if (is_nowhere(symbol))
        return CUVET_OK; /* a variable that is nowhere */
    if (type == CV_STT_FUNC && symbol->out == 0 &&
        cv_cubin_sec(prove->in, prove->here.index)->role == CV_ROLE_TEXT)
        return CUVET_OK; /* of code that no kernel reaches: functions.c */
    return lost(prove, reloc);
}

/* A place in shared memory is known when a program is whole: no loader applies it. */
static bool is_always_applied(const cv_prove *prove, const cv_prove_reloc *reloc)
{
    return reloc->symbol->space == CV_STO_SPACE_SHARED && !prove->facts->relocatable &&
           !prove->facts->preserve && !prove->here.debug;
}

/* Where the result tells what was applied it tells it as the input did. */
static cuvet_status meet_resolved(cv_prove *prove, const cv_prove_reloc *reloc)
{
    uint32_t table = *cv_u32s_get(&prove->kept.resolved, prove->here.place.sec);
    bool told;

    return table == 0 ? CUVET_OK
                      : cv_prove_find_kept(prove, cv_prove_tables_at(&prove->kept.table, table - 1), reloc,
                                           reloc->elf.type, &told);
}

/* The instruction is what the addends say, or as it was where an input counts on it. */
static cuvet_status check_yield(cv_prove *prove, const cv_prove_reloc *reloc)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);
    bool zero = cv_reloc_has(facts, CV_USE_ZERO);
    uint64_t want = zero ? 0 : (uint64_t)reloc->elf.addend,
             field = bits_at(bytes_now(prove, reloc), facts->pos, facts->bits);

    if (prove->progress || (!zero && !reloc->rela))
        return CUVET_OK; /* in no field: none of it changed */
    if (field != want)
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_APPLIED, prove->here.index, reloc->elf.off, field,
                                     want);
    return add_field(prove, reloc) ? meet_resolved(prove, reloc) : cv_nomem(prove->ctx, 0);
}

/* It is in the result, or it was applied, or it left no trace. */
static cuvet_status check_reloc(cv_prove *prove, cv_prove_table *kept_table, const cv_prove_reloc *reloc)
{
    const cv_reloc_facts *facts = cv_reloc_of(reloc->elf.type);
    bool partial = prove->facts->relocatable, kept = false;
    uint32_t type = facts->final == 0 || partial ? reloc->elf.type : facts->final;
    cuvet_status status = CUVET_OK;

    prove->here.fits = false;
    if (cv_reloc_has(facts, CV_USE_DROPS))
        return check_yield(prove, reloc);
    if (is_always_applied(prove, reloc)) {
        status = check_shared(prove, reloc);
    } else {
        if (kept_table)
            status = cv_prove_find_kept(prove, kept_table, reloc, type, &kept);
        if (status == CUVET_OK && !kept)
            status = check_applied(prove, reloc);
        else if (status == CUVET_OK && !reloc->rela && is_section(&reloc->symbol->elf))
            status = check_moved(prove, reloc);
    }
    if (status == CUVET_OK && !kept)
        status = add_field(prove, reloc) ? meet_resolved(prove, reloc) : cv_nomem(prove->ctx, 0);
    return status;
}

static cuvet_status check_table(cv_prove *prove, uint64_t table)
{
    cv_prove_reloc reloc = { .rela = cv_cubin_sec(prove->in, table)->role == CV_ROLE_RELA };
    uint32_t kept_in = *cv_u32s_get(reloc.rela ? &prove->kept.rela : &prove->kept.rel, prove->here.place.sec);
    cv_prove_table *kept_table = kept_in ? cv_prove_tables_at(&prove->kept.table, kept_in - 1) : NULL;
    cv_span body = cv_cubin_body(prove->in, table);
    uint64_t count = body.len / cv_elf_rel_size(false, reloc.rela);
    cuvet_status status = CUVET_OK;

    for (uint64_t row = 0, met; row < count && status == CUVET_OK; row += cv_max(met, 1)) {
        cv_elf_read_reloc(body, false, reloc.rela, row, &reloc.elf);
        reloc.symbol = cv_prove_symbol_at(prove, reloc.elf.sym);
        met = kept_table && reloc.symbol->plain ? cv_prove_meet_run(prove, kept_table, body, row) : 0;
        if (met == 0)
            status = check_reloc(prove, kept_table, &reloc);
    }
    return status;
}

/* Most tables of inputs descend. */
static void sort_fields(cv_prove *prove)
{
    const cv_keys *field = &prove->field;
    bool falls = field->count > 1;

    for (uint64_t i = 1; i < field->count && falls; i++)
        falls = cv_keys_get(field, i)->key <= cv_keys_get(field, i - 1)->key;
    prove->field_falls = falls;
    if (!falls && field->count > 1)
        cv_keys_sort(&prove->field);
}

cuvet_status cv_prove_relocs(cv_prove *prove)
{
    uint32_t sec = prove->here.index;
    cuvet_status status = CUVET_OK;

    cv_keys_clear(&prove->field);
    for (uint64_t i = cv_keys_lower_bound(&prove->table, sec);
         status == CUVET_OK && i < prove->table.count && cv_keys_get(&prove->table, i)->key == sec; i++)
        status = check_table(prove, cv_keys_get(&prove->table, i)->index);
    sort_fields(prove);
    return status;
}
