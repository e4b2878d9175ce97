/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every section of code, data, constants and debug data that stays is the input's, byte for byte outside of
 * fields that were relocated; pieces do not overlap, and between them is nothing. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* Behind the parameters of a kernel, and before the slots, is what the loader fills in. */
bool cv_prove_is_zero(const cv_prove *prove, const cv_sec *out, uint64_t from, uint64_t to)
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
    return out->header.type == CV_SHT_NOBITS || cv_prove_is_zero(prove, out, from, to);
}

/* Pieces of these come in the order of the inputs, and nothing else is there. */
bool cv_prove_is_chain(const cv_prove *prove, const cv_sec *sec)
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
    here->used = 0;
    here->debug = sec->role == CV_ROLE_DEBUG || sec->role == CV_ROLE_NV_DEBUG;
    here->fn =
        sec->role == CV_ROLE_TEXT ? cv_prove_symbol_at(prove, cv_elf_code_symbol(sec->header.info))->out : 0;
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
    if (cv_prove_is_chain(prove, sec)) {
        if (!is_padding(prove, out, *end, place->base, sec->header.align))
            return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    }
    *end = cv_max(*end, cv_sat_add(place->base, sec->header.size));
    if (sec->role == CV_ROLE_CONSTANT_FN && sec->bank == CV_BANK_PARAMETERS &&
        (cv_sat_add(place->base, sec->header.size) > prove->first_slot ||
         !cv_prove_is_zero(prove, out, cv_sat_add(place->base, sec->header.size), out->header.size)))
        return cv_prove_fail_section(prove, CV_R_LINK_PROVE_PLACE, index, 0, place->base, place->sec);
    if (out->header.type == CV_SHT_NOBITS || !sec->in_file)
        return CUVET_OK;
    open_section(prove, index);
    status = cv_prove_relocs(prove);
    return status == CUVET_OK ? cv_prove_bytes(prove) : status;
}

cuvet_status cv_prove_sections(cv_prove *prove)
{
    cuvet_status status;

    if (!cv_u64s_fill(&prove->ctx->mem, &prove->end, prove->facts->result->sec.count))
        return cv_nomem(prove->ctx, 0);
    status = cv_prove_list_kept(prove);
    if (status == CUVET_OK)
        status = cv_prove_list_tables(prove);
    if (status == CUVET_OK)
        status = cv_prove_lines(prove); /* before what refers to lines */
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
        for (uint64_t i = 1; i < prove->in->sec.count && status == CUVET_OK; i++)
            if (cv_prove_holds_content(cv_cubin_sec(prove->in, i)) &&
                !cv_prove_is_rebuilt(prove, cv_cubin_sec(prove->in, i)))
                status = check_section(prove, (uint32_t)i);
    }
    if (status == CUVET_OK)
        status = cv_prove_frames(prove);
    if (status == CUVET_OK)
        status = cv_prove_check_met(prove);
    if (status == CUVET_OK)
        status = cv_prove_ends(prove);
    return status;
}
