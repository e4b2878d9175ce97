/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linking.md section 5, "List sort": alternately to the front of two lists, each sorted so, then merged. */
#include "model/model.h"

/* By the sheet's own words, on copies: lists are short. */
void md_list_sort(unsigned *list, unsigned count, md_before *before, const void *user, bool second)
{
    unsigned half[2][MD_LIST], n[2] = { 0, 0 }, at[2] = { 0, 0 };

    if (count < 2)
        return;
    for (unsigned i = 0; i < count; i++) {
        unsigned which = i % 2;

        for (unsigned k = n[which]; k > 0; k--)
            half[which][k] = half[which][k - 1];
        half[which][0] = list[i];
        n[which]++;
    }
    md_list_sort(half[0], n[0], before, user, second);
    md_list_sort(half[1], n[1], before, user, second);
    for (unsigned i = 0; i < count; i++) {
        bool from_second;

        if (at[0] == n[0] || at[1] == n[1]) {
            from_second = at[0] == n[0];
        } else {
            unsigned left = half[0][at[0]], right = half[1][at[1]];

            from_second = before(user, right, left) || (second && !before(user, left, right));
        }
        list[i] = half[from_second][at[from_second]++];
    }
}
