/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Byte ledger: who owns which bytes. Parsing claims ranges; the check proves that a range is covered without
 * a hole and that bytes are shared only where the format says so. Filled only on request (cuvet map, fuzz
 * targets, tests). */
#ifndef CV_BYTES_LEDGER_H
#define CV_BYTES_LEDGER_H

#include "base/ctx.h"
#include "base/vec.h"

typedef enum cv_claim_kind {
#define CLAIM(name, text) CV_CLAIM_##name,
#include "claims.def"
#undef CLAIM
    CV_N_CLAIMS
} cv_claim_kind;

typedef struct cv_claim {
    uint64_t off, len;
    uint32_t kind;  /* cv_claim_kind */
    uint32_t index; /* section, member … the kind says */
    bool shared;    /* legal second owner of the same bytes (Mercury clone) */
} cv_claim;

CV_VEC(cv_claims, cv_claim);

typedef struct cv_ledger {
    cv_claims claims;
    bool failed; /* a claim could not be stored: out of memory or budget */
} cv_ledger;

/* NULL ledger: nothing happens. */
void cv_ledger_claim(cv_ctx *ctx, cv_ledger *ledger, uint64_t off, uint64_t len, cv_claim_kind kind,
                     uint64_t index, bool shared);
/* Sort by offset and prove: [off, off+len) is covered, no overlap but shared ones. *bad_off: first place that
 * is not. */
CV_MUST bool cv_ledger_complete(cv_ctx *ctx, cv_ledger *ledger, uint64_t off, uint64_t len,
                                uint64_t *bad_off);
/* Order by offset; false: out of memory, the order is as claimed. */
CV_MUST bool cv_ledger_sort(cv_ctx *ctx, cv_ledger *ledger);
void cv_ledger_free(cv_ctx *ctx, cv_ledger *ledger);
const char *cv_claim_name(cv_claim_kind kind);

#endif
