/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/order.h"

typedef struct order_sorter {
    cv_before *before;
    void *user;
    bool second;
    cv_u32s *list, *tmp;
} order_sorter;

static uint32_t get(const cv_u32s *list, uint64_t index)
{
    return *cv_u32s_get(list, index);
}

static void set(cv_u32s *list, uint64_t index, uint32_t value)
{
    *cv_u32s_at(list, index) = value;
}

/* [at, at + count): both halves come out reversed. */
static void split(const order_sorter *sorter, uint64_t at, uint64_t count)
{
    uint64_t first = (count + 1) / 2;

    for (uint64_t i = 0; i < count; i++)
        set(sorter->tmp, i % 2 == 0 ? at + first - 1 - i / 2 : at + count - 1 - i / 2,
            get(sorter->list, at + i));
    for (uint64_t i = at; i < at + count; i++)
        set(sorter->list, i, get(sorter->tmp, i));
}

static void merge(const order_sorter *sorter, uint64_t at, uint64_t middle, uint64_t end)
{
    uint64_t i = at, j = middle, out = at;

    while (i < middle && j < end) {
        uint32_t left = get(sorter->list, i), right = get(sorter->list, j);
        bool first = sorter->before(sorter->user, left, right) ||
                     (!sorter->before(sorter->user, right, left) && !sorter->second);

        set(sorter->tmp, out++, first ? left : right);
        i += first;
        j += !first;
    }
    for (; i < middle; i++)
        set(sorter->tmp, out++, get(sorter->list, i));
    for (; j < end; j++)
        set(sorter->tmp, out++, get(sorter->list, j));
    for (i = at; i < end; i++)
        set(sorter->list, i, get(sorter->tmp, i));
}

/* Ranges [at, at + count), each before its halves. */
typedef struct order_range {
    uint64_t at, count;
} order_range;

CV_VEC(ranges, order_range);

static bool split_all(cv_mem *mem, const order_sorter *sorter, ranges *all)
{
    bool ok = ranges_push(mem, all, (order_range){ 0, sorter->list->count });

    for (uint64_t i = 0; i < all->count && ok; i++) {
        const order_range range = *ranges_at(all, i);
        uint64_t first = (range.count + 1) / 2;

        if (range.count < 2)
            continue;
        split(sorter, range.at, range.count);
        /* There is an odd number of them before the first of two, and room for an even one. */
        if (CV_NEVER(!ranges_push(mem, all, (order_range){ range.at, first })))
            return false;
        ok = ranges_push(mem, all, (order_range){ range.at + first, range.count - first });
    }
    return ok;
}

bool cv_list_sort(cv_mem *mem, cv_u32s *list, cv_before *before, void *user, bool second)
{
    cv_u32s tmp = { 0 };
    ranges all = { 0 };
    bool ok;
    const order_sorter sorter = { before, user, second, list, &tmp };

    if (list->count < 2)
        return true;
    if (!cv_u32s_fill(mem, &tmp, list->count))
        return false;
    ok = split_all(mem, &sorter, &all);
    for (uint64_t i = all.count; i > 0 && ok; i--) {
        const order_range *range = ranges_at(&all, i - 1);

        if (range->count > 1)
            merge(&sorter, range->at, range->at + (range->count + 1) / 2, range->at + range->count);
    }
    ranges_free(mem, &all);
    cv_u32s_free(mem, &tmp);
    return ok;
}
