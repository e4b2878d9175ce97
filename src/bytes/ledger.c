/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/ledger.h"

void cv_ledger_claim(cv_ctx *x, cv_ledger *l, uint64_t off, uint64_t len, cv_claim_kind kind, uint64_t index,
                     bool shared)
{
    if (!l || len == 0 || l->failed)
        return;
    if (!cv_claims_push(&x->mem, &l->claims, (cv_claim){ off, len, (uint32_t)kind, (uint32_t)index, shared }))
        l->failed = true;
}

bool cv_ledger_complete(cv_ctx *x, cv_ledger *l, uint64_t off, uint64_t len, uint64_t *bad_off)
{
    cv_keys keys = { 0 };
    uint64_t at = off, end = cv_sat_add(off, len);
    bool ok = !l->failed;

    for (uint64_t i = 0; ok && i < l->claims.n; i++)
        ok = cv_keys_push(&x->mem, &keys, (cv_key){ cv_claims_at(&l->claims, i)->off, i });
    if (ok)
        cv_keys_sort(&keys);
    for (uint64_t i = 0; ok && i < keys.n; i++) {
        const cv_claim *c = cv_claims_at(&l->claims, cv_keys_at(&keys, i)->index);

        if (c->off < off || c->off >= end)
            continue;
        if (c->shared)
            continue;
        ok = c->off == at;
        if (ok)
            at = cv_sat_add(c->off, c->len);
    }
    cv_keys_free(&x->mem, &keys);
    *bad_off = at;
    return ok && at == end;
}

bool cv_ledger_sort(cv_ctx *x, cv_ledger *l)
{
    cv_claims sorted = { 0 };
    cv_keys keys = { 0 };
    bool ok = cv_claims_reserve(&x->mem, &sorted, l->claims.n);

    for (uint64_t i = 0; ok && i < l->claims.n; i++)
        ok = cv_keys_push(&x->mem, &keys, (cv_key){ cv_claims_at(&l->claims, i)->off, i });
    if (ok)
        cv_keys_sort(&keys);
    for (uint64_t i = 0; ok && i < keys.n; i++)
        ok = cv_claims_push(&x->mem, &sorted, *cv_claims_at(&l->claims, cv_keys_at(&keys, i)->index));
    cv_keys_free(&x->mem, &keys);
    if (!ok) {
        cv_claims_free(&x->mem, &sorted);
        return false;
    }
    cv_claims_free(&x->mem, &l->claims);
    l->claims = sorted;
    return true;
}

void cv_ledger_free(cv_ctx *x, cv_ledger *l)
{
    cv_claims_free(&x->mem, &l->claims);
    l->failed = false;
}

const char *cv_claim_name(cv_claim_kind kind)
{
    static const char *const NAMES[] = {
#define CLAIM(name, text) text,
#include "claims.def"
#undef CLAIM
    };

    return CV_AT(NAMES, kind);
}
