/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/ledger.h"

void cv_ledger_claim(cv_ctx *ctx, cv_ledger *ledger, uint64_t off, uint64_t len, cv_claim_kind kind,
                     uint64_t index, bool shared)
{
    if (!ledger || len == 0 || ledger->failed)
        return;
    if (!cv_claims_push(&ctx->mem, &ledger->claims,
                        (cv_claim){ off, len, (uint32_t)kind, (uint32_t)index, shared }))
        ledger->failed = true;
}

bool cv_ledger_complete(cv_ctx *ctx, cv_ledger *ledger, uint64_t off, uint64_t len, uint64_t *bad_off)
{
    cv_keys keys = { 0 };
    uint64_t at = off, end = cv_sat_add(off, len);
    bool ok = !ledger->failed;

    for (uint64_t i = 0; ok && i < ledger->claims.count; i++)
        ok = cv_keys_push(&ctx->mem, &keys, (cv_key){ cv_claims_at(&ledger->claims, i)->off, i });
    if (ok)
        cv_keys_sort(&keys);
    for (uint64_t i = 0; ok && i < keys.count; i++) {
        const cv_claim *claim = cv_claims_at(&ledger->claims, cv_keys_at(&keys, i)->index);

        if (claim->shared || claim->off >= end)
            continue;
        if (claim->off < off) { /* who begins before has no byte of it */
            ok = cv_sat_add(claim->off, claim->len) <= off;
            continue;
        }
        ok = claim->off == at;
        if (ok)
            at = cv_sat_add(claim->off, claim->len);
    }
    cv_keys_free(&ctx->mem, &keys);
    *bad_off = at;
    return ok && at == end;
}

bool cv_ledger_sort(cv_ctx *ctx, cv_ledger *ledger)
{
    cv_claims sorted = { 0 };
    cv_keys keys = { 0 };
    bool ok = cv_claims_reserve(&ctx->mem, &sorted, ledger->claims.count);

    for (uint64_t i = 0; ok && i < ledger->claims.count; i++)
        ok = cv_keys_push(&ctx->mem, &keys, (cv_key){ cv_claims_at(&ledger->claims, i)->off, i });
    if (ok)
        cv_keys_sort(&keys);
    for (uint64_t i = 0; ok && i < keys.count; i++)
        ok = cv_claims_push(&ctx->mem, &sorted, *cv_claims_at(&ledger->claims, cv_keys_at(&keys, i)->index));
    cv_keys_free(&ctx->mem, &keys);
    if (!ok) {
        cv_claims_free(&ctx->mem, &sorted);
        return false;
    }
    cv_claims_free(&ctx->mem, &ledger->claims);
    ledger->claims = sorted;
    return true;
}

void cv_ledger_free(cv_ctx *ctx, cv_ledger *ledger)
{
    cv_claims_free(&ctx->mem, &ledger->claims);
    ledger->failed = false;
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
