/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one outermost file may cost: bytes decompressed from it, and work. Everything inside of it, at
 * whatever depth, draws from the same budget, and nothing adds to it but decompressed bytes to the work. */
#ifndef CV_INTAKE_BUDGET_H
#define CV_INTAKE_BUDGET_H

#include "base/ctx.h"
#include "bytes/span.h"

typedef struct cv_budget {
    uint64_t effort;        /* units per byte */
    uint64_t file;          /* bytes of the outermost file */
    uint64_t unpacked_most; /* bytes … */
    cv_rule unpacked_rule;  /* … by the limit that this rule is about */
    uint64_t unpacked;      /* so far */
    uint64_t work;          /* so far */
    bool over;              /* used up, and said: nothing more is examined */
} cv_budget;

void cv_budget_open(cv_budget *budget, const cuvet_limits *lim, uint64_t file_bytes);
/* Work that may be spent once so many bytes were decompressed. */
uint64_t cv_budget_work_most(const cv_budget *budget, uint64_t unpacked);
/* Does a piece that unpacks so many bytes fit? Otherwise *rule, *got and *want tell what is used up. */
CV_MUST bool cv_budget_fits(const cv_budget *budget, uint64_t bytes, cv_rule *rule, uint64_t *got,
                            uint64_t *want);
void cv_budget_charge(cv_budget *budget, uint64_t bytes, uint64_t work);
/* Bytes that a member with this header will be decompressed to; 0 when a limit of its own refuses it. */
uint64_t cv_budget_cost(const cuvet_limits *lim, cv_span head);

#endif
