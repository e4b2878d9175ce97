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

/* Small or nearly sorted arrays are the rule (section tables in file order): insertion while it stays cheap.
 * False: so many moves were not enough. */
static bool insertion_sort(cv_key *keys, uint64_t count, uint64_t allowed)
{
    uint64_t moves = 0;

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

/* Bits in which the elements differ, of their keys or of their indices. */
static uint64_t differences(const cv_key *keys, uint64_t count, bool by_index)
{
    uint64_t any = 0, all = UINT64_MAX;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = by_index ? keys[i].index : keys[i].key;

        any |= value;
        all &= value;
    }
    return any & ~all;
}

/* Those without the bit before those that have it; how many there are. It stores always, so that it has
 * nothing to predict. */
static uint64_t divide(cv_key *keys, uint64_t count, bool by_index, unsigned bit)
{
    uint64_t low = 0;

    for (uint64_t i = 0; i < count; i++) {
        cv_key key = keys[i];

        keys[i] = keys[low];
        keys[low] = key;
        low += (~(by_index ? key.index : key.key) >> bit) & 1;
    }
    return low;
}

/* A range that is still to be sorted. */
typedef struct key_range {
    uint64_t first, count;
} key_range;

#define FEW 24 /* elements that are sorted by insertion */

/* By the highest bit in which the elements of a range differ, again and again: in the order of the array,
 * where a heap would miss the caches at every step, and no array that somebody makes needs more than 128
 * rounds. */
static void radix_sort(cv_key *keys, uint64_t count)
{
    key_range open[48] = { { 0, count } }; /* the smaller half comes first: one for each bit of the count */
    unsigned depth = 1;

    while (depth > 0) {
        key_range range = open[--depth], low, high;
        cv_key *first = keys + range.first;
        uint64_t bits;
        bool by_index;

        if (range.count <= FEW) {
            insertion_sort(first, range.count, UINT64_MAX);
            continue;
        }
        bits = differences(first, range.count, false);
        by_index = bits == 0;
        if (by_index)
            bits = differences(first, range.count, true);
        if (bits == 0)
            continue;
        low = high = range;
        low.count = divide(first, range.count, by_index, 63 - (unsigned)__builtin_clzll(bits));
        high.first += low.count;
        high.count -= low.count;
        open[depth++] = low.count > high.count ? low : high;
        open[depth++] = low.count > high.count ? high : low;
    }
}

void cv_keys_sort(cv_keys *keys)
{
    if (!insertion_sort(keys->items, keys->count, 8 * keys->count + 64))
        radix_sort(keys->items, keys->count);
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
