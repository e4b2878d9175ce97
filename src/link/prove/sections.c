/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every section of code, data, constants and debug data that stays is the input's, byte for byte outside of
 * fields that were relocated; pieces do not overlap, and between them is nothing. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* Behind the parameters of a kernel is what the loader fills in. */
static bool is_zero(const cv_prove *prove, const cv_sec *out, uint64_t from, uint64_t to)
{
    enum { STEP = 16 };

    for (; from < to; from += STEP) {
        cv_pair bytes =
            cv_slices_pair(prove->file, cv_sat_add(out->header.off, from), cv_min(to - from, STEP));

        if (bytes.low | bytes.high)
            return false;
    }
    return true;
}

/* Between pieces is what alignment asks for, all zero. */
static bool is_padding(const cv_prove *prove, const cv_sec *out, uint64_t from, uint64_t to, uint64_t align)
{
    if (to < from || to - from >= cv_max(align, 1))
        return false;
    return out->header.type == CV_SHT_NOBITS || is_zero(prove, out, from, to);
}

/* Pieces of these come in the order of the inputs, and nothing else is there. */
static bool is_chain(const cv_prove *prove, const cv_sec *sec)
{
    bool debug = sec->role == CV_ROLE_DEBUG || sec->role == CV_ROLE_NV_DEBUG;

    return sec->role == CV_ROLE_TEXT || sec->role == CV_ROLE_GLOBAL_INIT || sec->role == CV_ROLE_CONSTANT ||
           (debug && !cv_prove_is_rebuilt(prove, sec));
}

/* The section becomes the one at hand. */
static void open_section(cv_prove *prove, uint32_t index)
{
    const cv_sec *sec = cv_cubin_sec(prove->in, index);
    cv_prove_section *here = &prove->here;

    here->index = index;
    here->place = *cv_prove_place_of(prove, index);
    here->body = cv_cubin_body(prove->in, index);
    here->at = cv_sat_add(cv_cubin_sec(prove->facts->result, here->place.sec)->header.off, here->place.base);
    here->debug = sec->role == CV_ROLE_DEBUG || sec->role == CV_ROLE_NV_DEBUG;
    here->fn =
        sec->role == CV_ROLE_TEXT ? cv_prove_symbol_at(prove, cv_elf_code_symbol(sec->header.info))->out : 0;
}

/* Shared memory that a later link lays out has room for the variables of the input. */
static cuvet_status check_rooms(cv_prove *prove)
{
    cuvet_status status = CUVET_OK;
    cv_u64s need = { 0 };

    if (!prove->facts->relocatable)
        return CUVET_OK;
    if (!cv_u64s_fill(&prove->ctx->mem, &need, prove->in->sec.count))
        return cv_nomem(prove->ctx, 0);
    for (uint64_t i = 1; i < prove->in->n_syms && status == CUVET_OK; i++) {
        const cv_prove_symbol *symbol = cv_prove_symbol_at(prove, i);
        const cv_prove_place *place = cv_prove_place_of(prove, symbol->sec);
        uint64_t *sum;

        if (symbol->space != CV_STO_SPACE_SHARED || place->sec == 0)
            continue;
        sum = cv_u64s_at(&need, symbol->sec);
        *sum = cv_sat_add(*sum, symbol->elf.size);
        if (cv_cubin_sec(prove->facts->result, place->sec)->header.size < *sum)
            status = cv_prove_fail_symbol(prove, CV_R_LINK_PROVE_MEMORY, i,
                                          cv_cubin_sec(prove->facts->result, place->sec)->header.size, *sum);
    }
    cv_u64s_free(&prove->ctx->mem, &need);
    return status;
}

static cuvet_status check_section(cv_prove *prove, uint32_t index)
{
    const cv_sec *sec = cv_cubin_sec(prove->in, index), *out;
    const cv_prove_place *place = cv_prove_place_of(prove, index);
    bool data = sec->role == CV_ROLE_GLOBAL_INIT || sec->role == CV_ROLE_CONSTANT;
    cuvet_status status;
    uint64_t *end;

    if (place->sec == 0)
        return data && sec->header.size != 0
                   ? cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, 0, 0)
                   : CUVET_OK;
    if (place->sec >= prove->facts->result->sec.count)
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    out = cv_cubin_sec(prove->facts->result, place->sec);
    end = cv_u64s_at(&prove->end, place->sec);
    if (out->role != sec->role || !cv_span_eq(out->name, sec->name) ||
        cv_sat_add(place->base, sec->header.size) > out->header.size ||
        place->base % cv_max(sec->header.align, 1) != 0 || out->header.align < sec->header.align)
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    if (is_chain(prove, sec)) {
        if (!is_padding(prove, out, *end, place->base, sec->header.align))
            return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
        *end = cv_sat_add(place->base, sec->header.size);
    }
    if (sec->role == CV_ROLE_CONSTANT_FN && sec->bank == CV_BANK_PARAMETERS &&
        !is_zero(prove, out, cv_sat_add(place->base, sec->header.size), out->header.size))
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    if (out->header.type == CV_SHT_NOBITS || !sec->in_file)
        return CUVET_OK;
    open_section(prove, index);
    status = cv_prove_relocs(prove);
    return status == CUVET_OK ? cv_prove_bytes(prove) : status;
}

/* Zero memory: pieces of the inputs, and common variables. */
static cuvet_status enter_zeros(cv_prove *prove, cv_keys *zeros)
{
    const cv_cubin *result = prove->facts->result;

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
    for (uint64_t i = 1; i < result->n_syms; i++) {
        cv_elf_symbol named;

        if (!cv_provens_get(&prove->proven, i)->common)
            continue;
        cv_elf_read_symbol(result->symtab, false, i, &named);
        if (named.shndx != CV_SHN_COMMON &&
            !cv_keys_push(&prove->ctx->mem, zeros,
                          (cv_key){ named.value, cv_sat_add(named.value, named.size) }))
            return cv_nomem(prove->ctx, 0);
    }
    return CUVET_OK;
}

static cuvet_status check_zeros(cv_prove *prove)
{
    cv_keys zeros = { 0 };
    cuvet_status status = enter_zeros(prove, &zeros);
    uint64_t end = 0;

    cv_keys_sort(&zeros);
    for (uint64_t i = 0; i < zeros.count && status == CUVET_OK; i++) {
        const cv_key *piece = cv_keys_get(&zeros, i);

        if (piece->key < end)
            status = cv_prove_fail(prove, CV_R_LINK_PROVE_PLACE, CUVET_P_SECTION, 0, 0, piece->key,
                                   cv_cubin_first(prove->facts->result, CV_ROLE_GLOBAL));
        end = cv_max(end, piece->index);
    }
    cv_keys_free(&prove->ctx->mem, &zeros);
    return status;
}

/* The last piece ends the section. */
static cuvet_status check_ends(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;

    for (uint64_t i = 1; i < result->sec.count; i++) {
        const cv_sec *out = cv_cubin_sec(result, i);

        if (is_chain(prove, out) && *cv_u64s_get(&prove->end, i) != out->header.size)
            return cv_prove_fail(prove, CV_R_LINK_PROVE_PLACE, CUVET_P_SECTION, i, out->header.off,
                                 *cv_u64s_get(&prove->end, i), i);
    }
    return CUVET_OK;
}

cuvet_status cv_prove_sections(cv_prove *prove)
{
    cuvet_status status = cv_prove_list_kept(prove);

    if (!cv_u64s_fill(&prove->ctx->mem, &prove->end, prove->facts->result->sec.count))
        return cv_nomem(prove->ctx, 0);
    for (uint32_t obj = 0; obj < prove->facts->in.count && status == CUVET_OK; obj++) {
        cv_prove_open(prove, obj);
        cv_keys_clear(&prove->table);
        for (uint64_t i = 1; i < prove->in->sec.count; i++) {
            const cv_sec *sec = cv_cubin_sec(prove->in, i);

            if ((sec->role == CV_ROLE_REL || sec->role == CV_ROLE_RELA) &&
                !cv_keys_push(&prove->ctx->mem, &prove->table, (cv_key){ sec->header.info, i }))
                return cv_nomem(prove->ctx, 0);
        }
        cv_keys_sort(&prove->table);
        status = check_rooms(prove);
        for (uint64_t i = 1; i < prove->in->sec.count && status == CUVET_OK; i++)
            if (cv_prove_holds_content(cv_cubin_sec(prove->in, i)) &&
                !cv_prove_is_rebuilt(prove, cv_cubin_sec(prove->in, i)))
                status = check_section(prove, (uint32_t)i);
    }
    if (status == CUVET_OK)
        status = cv_prove_check_met(prove);
    if (status == CUVET_OK)
        status = check_ends(prove);
    return status == CUVET_OK ? check_zeros(prove) : status;
}
