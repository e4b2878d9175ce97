/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every section of the result ends where what lies in it ends, and is aligned for all of it: nothing is
 * reserved that no input asks for, and nothing reaches over the end. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* Sections of unknown names are looked for in all inputs: no more than this, so that the proof stays
 * linear. */
enum { NAMES_MOST = 16 };

static cuvet_status ends_elsewhere(const cv_prove *prove, uint64_t sec, uint64_t end)
{
    return cv_prove_fail(prove, CV_R_LINK_PROVE_END, CUVET_P_SECTION, sec,
                         cv_cubin_sec(prove->facts->result, sec)->header.off,
                         cv_cubin_sec(prove->facts->result, sec)->header.size, end);
}

static cuvet_status aligned_less(const cv_prove *prove, uint64_t sec, uint64_t align)
{
    return cv_prove_fail(prove, CV_R_LINK_PROVE_ALIGN, CUVET_P_SECTION, sec, 0,
                         cv_cubin_sec(prove->facts->result, sec)->header.align, align);
}

/* ---- zero memory: pieces of the inputs, and common variables ---- */

static cuvet_status enter_common(cv_prove *prove, cv_keys *zeros, uint64_t out)
{
    cv_elf_symbol named;

    if (!cv_provens_get(&prove->proven, out)->common)
        return CUVET_OK;
    cv_elf_read_symbol(prove->facts->result->symtab, false, out, &named);
    return named.shndx == CV_SHN_COMMON ||
                   cv_keys_push(&prove->ctx->mem, zeros,
                                (cv_key){ named.value, cv_sat_add(named.value, named.size) })
               ? CUVET_OK
               : cv_nomem(prove->ctx, 0);
}

static cuvet_status enter_zeros(cv_prove *prove, cv_keys *zeros)
{
    cuvet_status status = CUVET_OK;

    for (uint32_t obj = 0; obj < prove->facts->in.count; obj++) {
        const cv_prove_place *place;
        uint64_t sec, end;

        cv_prove_open(prove, obj);
        sec = cv_cubin_first(prove->in, CV_ROLE_GLOBAL);
        place = cv_prove_place_of(prove, sec);
        end = cv_sat_add(place->base, cv_cubin_sec(prove->in, sec)->header.size);
        if (place->sec != 0 && !cv_keys_push(&prove->ctx->mem, zeros, (cv_key){ place->base, end }))
            return cv_nomem(prove->ctx, 0);
    }
    for (uint64_t i = 1; i < prove->facts->result->n_syms && prove->commons && status == CUVET_OK; i++)
        status = enter_common(prove, zeros, i);
    return status;
}

/* A common variable is as large and as aligned as every declaration of it asks for. */
static cuvet_status check_declarations(cv_prove *prove, uint64_t zeros)
{
    for (uint64_t i = 1; i < prove->in->n_syms; i++) {
        const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, i);
        cv_elf_symbol named;

        if (symbol->elf.shndx != CV_SHN_COMMON || symbol->out == 0 ||
            !cv_provens_get(&prove->proven, symbol->out)->common)
            continue;
        cv_elf_read_symbol(prove->facts->result->symtab, false, symbol->out, &named);
        if (named.shndx == CV_SHN_COMMON)
            continue;
        if (named.size < symbol->elf.size || named.value % cv_max(symbol->elf.value, 1) != 0)
            return cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_SYMBOL, i, named.value, symbol->out);
        if (cv_cubin_sec(prove->facts->result, zeros)->header.align < symbol->elf.value)
            return aligned_less(prove, zeros, symbol->elf.value);
    }
    return CUVET_OK;
}

/* Section 0 says how many there are when a header cannot: it is none. */
static uint64_t size_of(const cv_cubin *result, uint64_t sec)
{
    return sec == 0 ? 0 : cv_cubin_sec(result, sec)->header.size;
}

static cuvet_status check_zeros(cv_prove *prove)
{
    uint64_t sec = cv_cubin_first(prove->facts->result, CV_ROLE_GLOBAL), end = 0;
    cv_keys zeros = { 0 };
    cuvet_status status = enter_zeros(prove, &zeros);

    cv_keys_sort(&zeros);
    for (uint64_t i = 0; i < zeros.count && status == CUVET_OK; i++) {
        const cv_key *piece = cv_keys_get(&zeros, i);

        if (piece->key < end)
            status = cv_prove_fail(prove, CV_R_LINK_PROVE_PLACE, CUVET_P_SECTION, 0, 0, piece->key, sec);
        end = cv_max(end, piece->index);
    }
    cv_keys_free(&prove->ctx->mem, &zeros);
    for (uint32_t obj = 0; obj < prove->facts->in.count && prove->commons && status == CUVET_OK; obj++) {
        cv_prove_open(prove, obj);
        status = check_declarations(prove, sec);
    }
    return status == CUVET_OK && size_of(prove->facts->result, sec) != end ? ends_elsewhere(prove, sec, end)
                                                                           : status;
}

/* ---- shared memory that a later link lays out ---- */

static bool is_in_shared(const cv_prove_symbol *symbol)
{
    return symbol->space == CV_STO_SPACE_SHARED || symbol->space == CV_STO_SPACE_RESERVED;
}

/* Each variable once, under the name that stands for it, and the first weak one once more when a strong one
 * that was read later stands for it. 'beaten': by symbol of an input, it was met. */
static bool has_room(const cv_prove *prove, uint64_t sym, cv_u8s *beaten)
{
    const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, sym);
    uint64_t index = cv_sat_add(prove->first_sym, sym);
    uint32_t definition = *cv_u32s_get(&prove->facts->definition, index);

    if (definition == index)
        return true;
    if (cv_elf_sym_bind(&symbol->elf) != CV_STB_WEAK || definition < index || definition >= beaten->count ||
        symbol->out >= prove->proven.count ||
        cv_provens_get(&prove->proven, symbol->out)->bind != CV_STB_GLOBAL ||
        *cv_u8s_get(beaten, definition) != 0)
        return false;
    *cv_u8s_at(beaten, definition) = 1;
    return true;
}

static cuvet_status add_rooms(cv_prove *prove, cv_u64s *need, cv_u8s *beaten)
{
    for (uint64_t i = 1; i < prove->in->n_syms; i++) {
        const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, i);
        const cv_prove_place *place = cv_prove_place_of(prove, symbol->sec);
        uint64_t *sum, align;

        if (!is_in_shared(symbol) || place->sec == 0 || place->sec >= need->count)
            continue;
        align = cv_min(symbol->elf.value, cv_cubin_sec(prove->in, symbol->sec)->header.align);
        if (cv_cubin_sec(prove->facts->result, place->sec)->header.align < align)
            return aligned_less(prove, place->sec, align);
        sum = cv_u64s_at(need, place->sec);
        if (has_room(prove, i, beaten))
            *sum = cv_sat_add(*sum, symbol->elf.size);
    }
    return CUVET_OK;
}

/* One that is not larger than its alignment is larger by that much. In the exact form arrays are instances
 * behind the rest. */
static cuvet_status check_rooms(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    cuvet_status status = CUVET_OK;
    cv_u64s need = { 0 };
    cv_u8s beaten = { 0 };

    if (!prove->facts->relocatable)
        return CUVET_OK;
    if (!cv_u64s_fill(&prove->ctx->mem, &need, result->sec.count) ||
        !cv_u8s_fill(&prove->ctx->mem, &beaten, prove->facts->definition.count))
        status = cv_nomem(prove->ctx, 0);
    for (uint32_t obj = 0; obj < prove->facts->in.count && status == CUVET_OK; obj++) {
        cv_prove_open(prove, obj);
        status = add_rooms(prove, &need, &beaten);
    }
    for (uint64_t i = 1; i < result->sec.count && status == CUVET_OK; i++) {
        const cv_elf_section *header = &cv_cubin_sec(result, i)->header;
        uint64_t sum = *cv_u64s_get(&need, i);

        if (sum == 0 && (prove->facts->exact || cv_cubin_sec(result, i)->role != CV_ROLE_NV_DEBUG_SHARED))
            continue; /* else that of arrays, which have no place yet */
        sum = sum <= header->align ? cv_sat_add(sum, header->align) : sum;
        if (prove->facts->exact ? header->size < *cv_u64s_get(&need, i) : header->size != sum)
            status = ends_elsewhere(prove, i, sum);
    }
    cv_u64s_free(&prove->ctx->mem, &need);
    cv_u8s_free(&prove->ctx->mem, &beaten);
    return status;
}

/* ---- shared memory that a debugger is told ---- */

/* It ends with the last variable that lies in it, arrays without a size lie behind it; without any it has
 * what the system keeps, or nothing. */
static cuvet_status check_shown(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    uint32_t sec = cv_cubin_first(result, CV_ROLE_NV_DEBUG_SHARED);
    uint64_t size = cv_cubin_sec(result, sec)->header.size, end = 0;
    cv_elf_symbol named;

    if (sec == 0 || prove->facts->relocatable)
        return CUVET_OK;
    for (uint64_t i = 1; i < result->n_syms; i++) {
        cv_elf_read_symbol(result->symtab, false, i, &named);
        if (named.size != 0 && cv_cubin_shndx(result, false, i, &named) == sec)
            end = cv_max(end, cv_sat_add(named.value, named.size));
    }
    return size == end || (size == prove->facts->reserved && end == 0) ? CUVET_OK
                                                                       : ends_elsewhere(prove, sec, end);
}

/* What variables of the system's shared memory take. */
static cuvet_status check_reserved(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    uint32_t sec = cv_cubin_first(result, CV_ROLE_SHARED_RESERVED);
    uint64_t end = 0;
    cv_elf_symbol named;

    if (sec == 0 || prove->facts->relocatable)
        return CUVET_OK;
    for (uint64_t i = 1; i < result->n_syms; i++) {
        cv_elf_read_symbol(result->symtab, false, i, &named);
        if (named.size != 0 && cv_cubin_shndx(result, false, i, &named) == sec)
            end = cv_max(end, cv_sat_add(named.value, named.size));
    }
    return end == 0 || end == cv_cubin_sec(result, sec)->header.size ? CUVET_OK
                                                                     : ends_elsewhere(prove, sec, end);
}

/* ---- names ---- */

/* What has no name that a link gives has that of a section of an input which lies in it. */
static cuvet_status check_name(cv_prove *prove, uint32_t index)
{
    const cv_sec *out = cv_cubin_sec(prove->facts->result, index);

    for (uint32_t obj = 0; obj < prove->facts->in.count; obj++) {
        cv_prove_open(prove, obj);
        for (uint64_t i = 1; i < prove->in->sec.count; i++)
            if (cv_prove_place_of(prove, i)->sec == index &&
                cv_span_eq(cv_cubin_sec(prove->in, i)->name, out->name))
                return CUVET_OK;
    }
    return cv_prove_fail(prove, CV_R_LINK_PROVE_PLACE, CUVET_P_SECTION, index, out->header.off, 0, index);
}

/* ---- all others ---- */

cuvet_status cv_prove_ends(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    cuvet_status status = CUVET_OK;
    uint64_t asked = 0;

    for (uint32_t i = 1; i < result->sec.count && status == CUVET_OK; i++) {
        const cv_sec *out = cv_cubin_sec(result, i);
        bool ends = cv_prove_is_chain(prove, out) ||
                    (out->role == CV_ROLE_CONSTANT_FN &&
                     (out->bank == CV_BANK_PARAMETERS || prove->branches.list.count == 0));

        if (ends && *cv_u64s_get(&prove->end, i) != out->header.size)
            return ends_elsewhere(prove, i, *cv_u64s_get(&prove->end, i));
        if (out->role == CV_ROLE_NONE && asked++ < NAMES_MOST)
            status = check_name(prove, i);
    }
    if (status == CUVET_OK)
        status = check_zeros(prove);
    if (status == CUVET_OK)
        status = check_shown(prove);
    if (status == CUVET_OK)
        status = check_reserved(prove);
    return status == CUVET_OK ? check_rooms(prove) : status;
}
