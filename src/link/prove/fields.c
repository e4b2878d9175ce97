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

static cuvet_status differs(const cv_prove *prove, uint32_t sec, uint64_t off, uint32_t type)
{
    return cv_prove_fail_section(prove, CV_R_LINK_PROVE_BYTES, sec, off, off, type);
}

/* Bytes that no field is in. */
static bool is_same(const cv_prove *prove, cv_span body, uint64_t from, uint64_t to, uint64_t at,
                    uint64_t *where)
{
    cv_span gap = cv_span_tail(body, from);

    gap.len = cv_min(gap.len, to - from);
    *where = cv_sat_add(from, cv_slices_agree(prove->file, cv_sat_add(at, from), gap));
    return *where - from == gap.len;
}

/* The 16 bytes, or those that are left, behind the place of a relocation; bits in 'mask' may differ. */
static bool fits(const cv_prove *prove, cv_span body, uint64_t off, uint64_t len, uint64_t at, cv_pair mask)
{
    cv_pair now = cv_slices_pair(prove->file, cv_sat_add(at, off), len), before;

    body.len = cv_min(body.len, cv_sat_add(off, len));
    before = cv_pair_at(body, off);
    return ((now.low ^ before.low) & ~mask.low) == 0 && ((now.high ^ before.high) & ~mask.high) == 0;
}

cuvet_status cv_prove_bytes(const cv_prove *prove, uint32_t sec, uint64_t at)
{
    cv_span body = cv_cubin_body(prove->in, sec);
    uint64_t pos = 0, where = 0;

    for (uint64_t i = 0; i < prove->field.count;) {
        const cv_key *field = cv_keys_get(&prove->field, i);
        uint32_t type = (uint32_t)field->index;
        uint64_t off = field->key, len = cv_reloc_of(type)->bytes;
        cv_pair mask = { 0, 0 };

        /* No two relocations write into the same bytes, all into the section. */
        if (off < pos || off > body.len)
            return differs(prove, sec, off, type);
        for (; i < prove->field.count && cv_keys_get(&prove->field, i)->key == off; i++) {
            join(&mask, mask_of((uint32_t)cv_keys_get(&prove->field, i)->index));
            len = cv_max(len, cv_reloc_of((uint32_t)cv_keys_get(&prove->field, i)->index)->bytes);
        }
        len = cv_min(len, body.len - off);
        if (!is_same(prove, body, pos, off, at, &where))
            return differs(prove, sec, where, 0);
        if (!fits(prove, body, off, len, at, mask))
            return differs(prove, sec, off, type);
        pos = off + len;
    }
    return is_same(prove, body, pos, body.len, at, &where) ? CUVET_OK : differs(prove, sec, where, 0);
}
