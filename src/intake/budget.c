/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/budget.h"

#include "base/arith.h"
#include "format/fatbin/read.h"

/* A tiny file has as much work as one of this size: its tables have to be read all the same. */
#define LEAST_BYTES (16 * CV_MIB)

void cv_budget_open(cv_budget *budget, const cuvet_limits *lim, uint64_t file_bytes)
{
    uint64_t most = cv_max(lim->budget, cv_sat_mul(file_bytes, lim->budget_ratio));

    *budget = (cv_budget){ .effort = lim->effort,
                           .file = file_bytes,
                           .unpacked_most = cv_min(most, lim->total),
                           .unpacked_rule = lim->total < most ? CV_R_LIMIT_TOTAL : CV_R_LIMIT_BUDGET };
}

uint64_t cv_budget_work_most(const cv_budget *budget, uint64_t unpacked)
{
    return cv_sat_mul(budget->effort, cv_sat_add(cv_max(budget->file, LEAST_BYTES), unpacked));
}

bool cv_budget_fits(const cv_budget *budget, uint64_t bytes, cv_rule *rule, uint64_t *got, uint64_t *want)
{
    uint64_t unpacked = cv_sat_add(budget->unpacked, bytes),
             work = cv_budget_work_most(budget, budget->unpacked);

    if (unpacked > budget->unpacked_most) {
        *rule = budget->unpacked_rule;
        *got = unpacked;
        *want = budget->unpacked_most;
        return false;
    }
    *rule = CV_R_LIMIT_EFFORT;
    *got = budget->work;
    *want = work;
    return budget->work <= work;
}

void cv_budget_charge(cv_budget *budget, uint64_t bytes, uint64_t work)
{
    budget->unpacked = cv_sat_add(budget->unpacked, bytes);
    budget->work = cv_sat_add(budget->work, work);
}

uint64_t cv_budget_cost(const cuvet_limits *lim, cv_span head)
{
    cv_fatbin_claim claim = cv_fatbin_member_claim(head);
    uint64_t ratio = claim.flags & CV_FB_LZ4 ? lim->lz4_ratio : lim->ratio;

    if (!(claim.flags & CV_FB_COMPRESSED) || claim.flags & CV_FB_SCRAMBLED || claim.unpacked > lim->member ||
        claim.unpacked > cv_sat_mul(ratio, claim.stored))
        return 0;
    return claim.unpacked;
}
