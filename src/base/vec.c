/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/vec.h"

#include <string.h>

#define SMALL 4096 /* elements */

bool cv_vec_grow(cv_mem *mem, void **items, uint64_t *cap, uint64_t need, uint64_t elem)
{
    uint64_t old = *cap;

    if (!cv_vec_grow_raw(mem, items, cap, need, elem))
        return false;
    memset((char *)*items + old * elem, 0, (size_t)((*cap - old) * elem));
    return true;
}

bool cv_vec_grow_raw(cv_mem *mem, void **items, uint64_t *cap, uint64_t need, uint64_t elem)
{
    /* Small ones double, large ones grow by half: half of what is large may be more than there is. */
    uint64_t more = *cap < SMALL ? *cap : *cap / 2;
    uint64_t want = cv_max(need, cv_max(16, cv_sat_add(*cap, more)));
    uint64_t bytes;
    void *block;

    if (!cv_mul(want, elem, &bytes)) {
        mem->limited = true;
        return false;
    }
    block = cv_mem_resize_raw(mem, *items, *cap * elem, bytes);
    if (!block)
        return false;
    *items = block;
    *cap = want;
    return true;
}

static bool key_less(const cv_key *left, const cv_key *right)
{
    return left->key < right->key || (left->key == right->key && left->index < right->index);
}

static void sift_down(cv_key *keys, uint64_t root, uint64_t count)
{
    for (;;) {
        uint64_t child = 2 * root + 1;
        cv_key swapped;

        if (child >= count)
            return;
        if (child + 1 < count && key_less(&keys[child], &keys[child + 1]))
            child++;
        if (!key_less(&keys[root], &keys[child]))
            return;
        swapped = keys[root];
        keys[root] = keys[child];
        keys[child] = swapped;
        root = child;
    }
}

/* Small or nearly sorted arrays are the rule (section tables in file order): insertion while it stays cheap.
 */
static bool insertion_sort(cv_key *keys, uint64_t count)
{
    uint64_t moves = 0, allowed = 8 * count + 64;

    for (uint64_t i = 1; i < count; i++) {
        cv_key key = keys[i];
        uint64_t j = i;

        for (; j > 0 && key_less(&key, &keys[j - 1]); j--) {
            keys[j] = keys[j - 1];
            moves++;
        }
        keys[j] = key;
        if (moves > allowed)
            return false;
    }
    return true;
}

void cv_keys_sort(cv_keys *keys)
{
    if (insertion_sort(keys->items, keys->count))
        return;
    for (uint64_t i = keys->count / 2; i > 0; i--)
        sift_down(keys->items, i - 1, keys->count);
    for (uint64_t left = keys->count; left > 1; left--) {
        cv_key swapped = keys->items[0];

        keys->items[0] = keys->items[left - 1];
        keys->items[left - 1] = swapped;
        sift_down(keys->items, 0, left - 1);
    }
}

uint64_t cv_keys_lower_bound(const cv_keys *sorted, uint64_t key)
{
    uint64_t lo = 0, hi = sorted->count;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (cv_keys_get(sorted, mid)->key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool cv_u32s_fill(cv_mem *mem, cv_u32s *list, uint64_t count)
{
    if (!cv_u32s_room(mem, list, count))
        return false;
    if (count)
        memset(list->items, 0, (size_t)count * sizeof(list->items[0]));
    list->count = count;
    return true;
}

bool cv_u64s_fill(cv_mem *mem, cv_u64s *list, uint64_t count)
{
    if (!cv_u64s_room(mem, list, count))
        return false;
    if (count)
        memset(list->items, 0, (size_t)count * sizeof(list->items[0]));
    list->count = count;
    return true;
}

bool cv_u8s_fill(cv_mem *mem, cv_u8s *bytes, uint64_t count)
{
    if (!cv_u8s_room(mem, bytes, count))
        return false;
    if (count)
        memset(bytes->items, 0, (size_t)count);
    bytes->count = count;
    return true;
}
