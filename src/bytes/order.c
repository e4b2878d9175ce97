/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/order.h"

typedef struct sorter {
    cv_before *before;
    void *user;
    bool second;
    cv_u32s *a, *tmp;
} sorter;

static uint32_t get(const cv_u32s *v, uint64_t i)
{
    return *cv_u32s_get(v, i);
}

static void set(cv_u32s *v, uint64_t i, uint32_t value)
{
    *cv_u32s_at(v, i) = value;
}

/* [at, at + n): both halves come out reversed. */
static void split(const sorter *s, uint64_t at, uint64_t n)
{
    uint64_t first = (n + 1) / 2;

    for (uint64_t i = 0; i < n; i++)
        set(s->tmp, i % 2 == 0 ? at + first - 1 - i / 2 : at + n - 1 - i / 2, get(s->a, at + i));
    for (uint64_t i = at; i < at + n; i++)
        set(s->a, i, get(s->tmp, i));
}

static void merge(const sorter *s, uint64_t at, uint64_t middle, uint64_t end)
{
    uint64_t i = at, j = middle, out = at;

    while (i < middle && j < end) {
        uint32_t x = get(s->a, i), y = get(s->a, j);
        bool first = s->before(s->user, x, y) || (!s->before(s->user, y, x) && !s->second);

        set(s->tmp, out++, first ? x : y);
        i += first;
        j += !first;
    }
    for (; i < middle; i++)
        set(s->tmp, out++, get(s->a, i));
    for (; j < end; j++)
        set(s->tmp, out++, get(s->a, j));
    for (i = at; i < end; i++)
        set(s->a, i, get(s->tmp, i));
}

/* Ranges [at, at + n), each before its halves. */
typedef struct range {
    uint64_t at, n;
} range;

CV_VEC(ranges, range);

static bool split_all(cv_mem *m, const sorter *s, ranges *all)
{
    bool ok = ranges_push(m, all, (range){ 0, s->a->n });

    for (uint64_t i = 0; i < all->n && ok; i++) {
        const range r = *ranges_at(all, i);
        uint64_t first = (r.n + 1) / 2;

        if (r.n < 2)
            continue;
        split(s, r.at, r.n);
        ok = ranges_push(m, all, (range){ r.at, first }) &&
             ranges_push(m, all, (range){ r.at + first, r.n - first });
    }
    return ok;
}

bool cv_list_sort(cv_mem *m, cv_u32s *a, cv_before *before, void *user, bool second)
{
    cv_u32s tmp = { 0 };
    ranges all = { 0 };
    bool ok;
    const sorter s = { before, user, second, a, &tmp };

    if (a->n < 2)
        return true;
    if (!cv_u32s_fill(m, &tmp, a->n))
        return false;
    ok = split_all(m, &s, &all);
    for (uint64_t i = all.n; i > 0 && ok; i--) {
        const range *r = ranges_at(&all, i - 1);

        if (r->n > 1)
            merge(&s, r->at, r->at + (r->n + 1) / 2, r->at + r->n);
    }
    ranges_free(m, &all);
    cv_u32s_free(m, &tmp);
    return ok;
}
