/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of functions: what the input says of a function that stays the result says, too, and of the same
 * symbols. What kernels inherit, or a linker makes anew, is left out. */
#include "base/arith.h"
#include "format/tlv/attr.h"
#include "link/prove/parts.h"

/* Kernels get other records of this code than they had. */
static bool is_inherited(uint32_t code)
{
    switch (code) {
#define INHERITED(number, name, format, rule, leaves) case number:
#include "inherit.def"
        return true;
    default: return false;
    }
}

/* Do these words of a record of the input and of the result name the same? */
static bool is_same_symbol(const cv_prove *prove, uint32_t before, uint32_t after)
{
    const cv_prove_reloc named = { .symbol = cv_prove_symbol_at(prove, before), .rela = true };
    cv_elf_reloc row = { .sym = after };

    return before < prove->in->n_syms && after < prove->facts->result->n_syms &&
           cv_prove_is_same(prove, &named, &row);
}

static bool is_same_record(const cv_prove *prove, cv_span before, const cv_tlv *old, cv_span after,
                           const cv_tlv *found)
{
    const cv_attr *row = cv_attr_get(old->code);
    cv_span left = cv_tlv_payload(before, old), right = cv_tlv_payload(after, found);
    uint8_t words = row ? row->words : CV_WORDS_PLAIN;

    if (old->code != found->code || old->format != found->format || old->value != found->value)
        return false;
    if (words != CV_WORDS_FUNC && words != CV_WORDS_SYM && words != CV_WORDS_SECTION)
        return cv_span_eq(left, right);
    return cv_span_eq(cv_span_tail(left, 4), cv_span_tail(right, 4)) &&
           is_same_symbol(prove, cv_u32_at(left, 0), cv_u32_at(right, 0));
}

enum { CODES = 256 };

/* Where the result says something for the first time, by code: the section of records << 32 | 1 + the place.
 * What another section is about says nothing of this one. */
static bool find_first(cv_prove *prove, uint32_t info, cv_span after)
{
    cv_tlv found;

    if (!prove->first.items && !cv_u64s_fill(&prove->ctx->mem, &prove->first, CODES))
        return false;
    for (uint64_t pos = 0; cv_tlv_at(after, pos, &found) == CV_TLV_OK; pos = found.next) {
        uint64_t *first = cv_u64s_at(&prove->first, found.code);

        if (*first >> 32 != info)
            *first = (uint64_t)info << 32 | ((pos + 1) & UINT32_MAX);
    }
    return true;
}

/* What a function says more than once stands in the result the other way round, what it says once
 * anywhere. */
static bool is_there(const cv_prove *prove, cv_span before, const cv_tlv *old, uint32_t info, cv_span after,
                     uint64_t *pos)
{
    const cv_attr *row = cv_attr_get(old->code);
    uint64_t first = *cv_u64s_get(&prove->first, old->code),
             at = first >> 32 == info ? first & UINT32_MAX : 0;
    bool same = false;
    cv_tlv found;

    if (row && !row->many) {
        if (at != 0 && cv_tlv_at(after, at - 1, &found) == CV_TLV_OK &&
            is_same_record(prove, before, old, after, &found))
            return true;
        /* It is there twice, which an examination says; without work the link ends anyway. */
        for (at = 0; !same && cv_tlv_at(after, at, &found) == CV_TLV_OK; at = found.next)
            same = !cv_work(prove->ctx, 1, 0) || is_same_record(prove, before, old, after, &found);
        return same;
    }
    for (; !same && cv_tlv_at(after, *pos, &found) == CV_TLV_OK; *pos = found.next)
        same = is_same_record(prove, before, old, after, &found);
    return same;
}

/* out: the section of records of the result. */
static cuvet_status check_info(cv_prove *prove, uint32_t info, uint32_t out)
{
    cv_span before = cv_cubin_body(prove->in, info), after = cv_cubin_body(prove->facts->result, out);
    uint64_t pos = 0;
    cv_tlv old;

    if (!find_first(prove, out, after))
        return cv_nomem(prove->ctx, 0);
    cv_keys_clear(&prove->field);
    for (uint64_t at = 0; cv_tlv_at(before, at, &old) == CV_TLV_OK; at = old.next)
        if (!(prove->facts->relocatable ? old.code == CV_ATTR_EXTERNS : is_inherited(old.code)) &&
            !cv_keys_push(&prove->ctx->mem, &prove->field, (cv_key){ at, 0 }))
            return cv_nomem(prove->ctx, 0);
    for (uint64_t i = prove->field.count; i > 0; i--)
        if (cv_tlv_at(before, cv_keys_get(&prove->field, i - 1)->key, &old) == CV_TLV_OK &&
            !is_there(prove, before, &old, out, after, &pos))
            return cv_prove_fail_section(prove, CV_R_LINK_PROVE_RECORD, info, old.off, old.code,
                                         cv_u32_at(before, old.payload));
    return CUVET_OK;
}

cuvet_status cv_prove_records(cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    cuvet_status status = CUVET_OK;

    for (uint32_t obj = 0; obj < prove->facts->in.count && status == CUVET_OK; obj++) {
        cv_prove_open(prove, obj);
        for (uint64_t i = 1; i < prove->in->sec.count && status == CUVET_OK; i++) {
            const cv_sec *sec = cv_cubin_sec(prove->in, i);
            const cv_prove_place *place = cv_prove_place_of(prove, i);

            if (sec->role == CV_ROLE_TEXT && sec->info_sec != 0 && place->sec != 0)
                status = check_info(prove, sec->info_sec, cv_cubin_sec(result, place->sec)->info_sec);
        }
    }
    return status;
}
