/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Selection: which of many members goes to a target, by the rules of the reference linker. Pure: the same
 * members in another order give the same choice but for full ties, where the first one wins, or the last one
 * of PTX without suffix for the very number of the target. */
#ifndef CV_INTAKE_CHOOSE_H
#define CV_INTAKE_CHOOSE_H

#include "intake/unit.h"
#include "target/arch.h"

typedef struct cv_candidate {
    cuvet_candidate pub;
    cv_unit unit;
} cv_candidate;

CV_VEC(cv_candidates, cv_candidate);

typedef struct cv_wanted {
    cuvet_target target;
    cuvet_request request;
    cuvet_arch_policy policy;
    bool address32;
    bool direct; /* the payload itself, not a member: LTO-IR counts, and there is no 64-bit mark */
} cv_wanted;

/* Whether a candidate fits: NONE, or the first reason why it does not. */
cuvet_reason cv_select_judge(const cuvet_candidate *candidate, const cv_wanted *wanted);
/* < 0: a before b; 0: a full tie. Both fit. */
int cv_select_compare(const cuvet_candidate *left, const cuvet_candidate *right);
/* Judge and rank candidates [from, n); *best is the winner of the best, *reference the winner of the best
 * that the reference linker would have seen; both n when there is none. @return OK · NOMEM · LIMIT */
CV_MUST cuvet_status cv_select(cv_ctx *ctx, cv_candidates *all, uint64_t from, const cv_wanted *wanted,
                               uint64_t *best, uint64_t *reference);

#endif
