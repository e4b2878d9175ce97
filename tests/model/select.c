/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model/select.h"

#include <stddef.h>

/* "Families: {75}, {80, 86, 89}, {87}, {88}, {90}, {100, 103}, {110}, {120, 121}." Others are alone. */
static bool same_family(uint32_t left, uint32_t right)
{
    static const uint32_t FAMILY[3][3] = { { 80, 86, 89 }, { 100, 103, 103 }, { 120, 121, 121 } };

    for (size_t i = 0; i < 3; i++) {
        bool has_left = false, has_right = false;

        for (size_t k = 0; k < 3; k++) {
            has_left = has_left || FAMILY[i][k] == left;
            has_right = has_right || FAMILY[i][k] == right;
        }
        if (has_left && has_right)
            return true;
    }
    return left == right;
}

static bool fits_machine(const md_member *member, const md_target *target)
{
    bool family = same_family(member->sm, target->sm) && target->sm >= member->sm;

    if (member->sm == 0) /* "Unknown arch name" */
        return false;
    if (!member->ptx && member->suffix != 'a')
        return family;
    if (!member->ptx)
        return target->sm == member->sm && (!target->exact || target->suffix == 'a');
    switch (member->suffix) {
    case 'a': return target->sm == member->sm && target->suffix == 'a';
    case 'f': return family;
    default: return target->sm >= member->sm;
    }
}

bool md_fits(const md_member *member, const md_target *target)
{
    return (member->ptx ? target->ptx : target->sass) && member->wide && fits_machine(member, target);
}

static int worth(char suffix)
{
    return suffix == 'a' ? 2 : suffix == 'f' ? 1 : 0;
}

bool md_is_before(const md_member *left, unsigned left_at, const md_member *right, unsigned right_at,
                  const md_target *target)
{
    if (left->hidden != right->hidden)
        return right->hidden;
    if (left->sm != right->sm) /* 1. "higher arch number wins, regardless of kind" */
        return left->sm > right->sm;
    if (left->ptx != right->ptx) /* 2. "SASS before PTX" */
        return right->ptx;
    if (left->suffix != right->suffix) /* 3. "a > f > none" */
        return worth(left->suffix) > worth(right->suffix);
    /* 4. "the FIRST member wins; except PTX without suffix whose number is the target's: of several the
     * LAST": of one container, which is read whole before the next one. */
    if (left->container == right->container && left->ptx && left->suffix == 0 && left->sm == target->sm)
        return left_at > right_at;
    return left_at < right_at;
}
