/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes of a section of the result: outside of fields of relocations that were applied they are the
 * input's. */
#include "base/arith.h"
#include "link/prove/parts.h"

/* Bits 'pos' to 'pos' + 'bits' of 16 bytes. */
static cv_pair bits_of(unsigned pos, unsigned bits)
{
    cv_pair mask = { 0, 0 };
    unsigned end = pos + bits;

    if (bits == 0)
        return mask;
    if (pos < 64)
        mask.low =
            (UINT64_MAX - ((UINT64_C(1) << pos) - 1)) & (end >= 64 ? UINT64_MAX : (UINT64_C(1) << end) - 1);
    if (end > 64)
        mask.high = (UINT64_MAX - ((UINT64_C(1) << (pos > 64 ? pos - 64 : 0)) - 1)) &
                    (end >= 128 ? UINT64_MAX : (UINT64_C(1) << (end - 64)) - 1);
    return mask;
}

static void join(cv_pair *mask, cv_pair more)
{
    mask->low |= more.low;
    mask->high |= more.high;
}

/* Bits that a relocation of this type writes into. */
static cv_pair mask_of(uint32_t type)
{
    const cv_reloc_facts *facts = cv_reloc_of(type);
    cv_pair mask = bits_of(facts->pos, facts->bits);

    if (cv_reloc_has(facts, CV_USE_NUMBER))
        join(&mask, bits_of(CV_R_NUMBER_POS, CV_R_NUMBER_BITS));
    if (cv_reloc_has(facts, CV_USE_REST))
        join(&mask, bits_of(CV_R_REST_POS, CV_R_REST_BITS));
    if (cv_reloc_has(facts, CV_USE_CLEARS))
        join(&mask, bits_of(0, facts->bytes * 8u));
    return mask;
}

/* The same, worked out once while nothing else takes its place. */
cv_pair cv_prove_mask_of(cv_prove *prove, uint32_t type)
{
    cv_prove_mask mask = CV_ARRAY_GET(prove->mask, type % CV_PROVE_MASKS);

    if (mask.type != (uint64_t)type + 1) {
        mask = (cv_prove_mask){ mask_of(type), (uint64_t)type + 1 };
        CV_ARRAY_SET(prove->mask, type % CV_PROVE_MASKS, mask);
    }
    return mask.bits;
}

static cuvet_status differs(const cv_prove *prove, uint64_t off, uint32_t type)
{
    return cv_prove_fail_section(prove, CV_R_LINK_PROVE_BYTES, prove->here.index, off, off, type);
}

/* Bytes that no field is in. */
static bool is_same(const cv_prove *prove, uint64_t from, uint64_t to, uint64_t *where)
{
    cv_span gap = cv_span_tail(prove->here.body, from);
    uint64_t agree = 0;

    gap.len = cv_min(gap.len, to - from);
    if (gap.len == 0 || cv_slices_same(prove->file, cv_sat_add(prove->here.at, from), gap, &agree))
        return true;
    *where = cv_sat_add(from, agree);
    return false;
}

/* The 16 bytes, or those that are left, behind the place of a relocation; bits in 'mask' may differ. */
static bool fits(const cv_prove *prove, uint64_t off, uint64_t len, cv_pair mask)
{
    cv_pair now = cv_slices_pair(prove->file, cv_sat_add(prove->here.at, off), len),
            before = cv_pair_cut(cv_pair_at(prove->here.body, off), len);

    return ((now.low ^ before.low) & ~mask.low) == 0 && ((now.high ^ before.high) & ~mask.high) == 0;
}

static const cv_key *field_at(const cv_prove *prove, uint64_t index)
{
    return cv_keys_get(&prove->field, prove->field_falls ? prove->field.count - 1 - index : index);
}

cuvet_status cv_prove_bytes(cv_prove *prove)
{
    uint64_t pos = 0, where = 0, all = prove->here.body.len;

    for (uint64_t i = 0; i < prove->field.count;) {
        const cv_key *field = field_at(prove, i);
        uint32_t type = (uint32_t)field->index;
        uint64_t off = field->key, len = cv_reloc_of(type)->bytes;
        bool fitted = (field->index & CV_PROVE_FITS) != 0;
        cv_pair mask = { 0, 0 };

        /* No two relocations write into the same bytes, all into the section. */
        if (off < pos || off > all)
            return differs(prove, off, type);
        for (i++; i < prove->field.count; i++) {
            field = field_at(prove, i);
            if (field->key != off)
                break;
            fitted = false;
            join(&mask, cv_prove_mask_of(prove, (uint32_t)field->index));
            len = cv_max(len, cv_reloc_of((uint32_t)field->index)->bytes);
        }
        len = cv_min(len, all - off);
        if (!is_same(prove, pos, off, &where))
            return differs(prove, where, 0);
        if (!fitted) {
            join(&mask, cv_prove_mask_of(prove, type));
            if (!fits(prove, off, len, mask))
                return differs(prove, off, type);
        }
        pos = off + len;
    }
    return is_same(prove, pos, all, &where) ? CUVET_OK : differs(prove, where, 0);
}
