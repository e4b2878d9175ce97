/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/vec.h"

#include <string.h>

#define SMALL 4096 /* elements */

bool cv_vec_grow(cv_mem *m, void **v, uint64_t *cap, uint64_t need, uint64_t elem)
{
    uint64_t old = *cap;

    if (!cv_vec_grow_raw(m, v, cap, need, elem))
        return false;
    memset((char *)*v + old * elem, 0, (size_t)((*cap - old) * elem));
    return true;
}

bool cv_vec_grow_raw(cv_mem *m, void **v, uint64_t *cap, uint64_t need, uint64_t elem)
{
    /* Small ones double, large ones grow by half: half of what is large may be more than there is. */
    uint64_t more = *cap < SMALL ? *cap : *cap / 2;
    uint64_t want = cv_max(need, cv_max(16, cv_sat_add(*cap, more)));
    uint64_t bytes;
    void *p;

    if (!cv_mul(want, elem, &bytes)) {
        m->limited = true;
        return false;
    }
    p = cv_mem_resize_raw(m, *v, *cap * elem, bytes);
    if (!p)
        return false;
    *v = p;
    *cap = want;
    return true;
}

static bool key_less(const cv_key *a, const cv_key *b)
{
    return a->key < b->key || (a->key == b->key && a->index < b->index);
}

static void sift_down(cv_key *v, uint64_t root, uint64_t n)
{
    for (;;) {
        uint64_t child = 2 * root + 1;
        cv_key t;

        if (child >= n)
            return;
        if (child + 1 < n && key_less(&v[child], &v[child + 1]))
            child++;
        if (!key_less(&v[root], &v[child]))
            return;
        t = v[root];
        v[root] = v[child];
        v[child] = t;
        root = child;
    }
}

/* Small or nearly sorted arrays are the rule (section tables in file order): insertion while it stays cheap.
 */
static bool insertion_sort(cv_key *v, uint64_t n)
{
    uint64_t moves = 0, allowed = 8 * n + 64;

    for (uint64_t i = 1; i < n; i++) {
        cv_key k = v[i];
        uint64_t j = i;

        for (; j > 0 && key_less(&k, &v[j - 1]); j--) {
            v[j] = v[j - 1];
            moves++;
        }
        v[j] = k;
        if (moves > allowed)
            return false;
    }
    return true;
}

void cv_keys_sort(cv_keys *a)
{
    if (insertion_sort(a->v, a->n))
        return;
    for (uint64_t i = a->n / 2; i > 0; i--)
        sift_down(a->v, i - 1, a->n);
    for (uint64_t n = a->n; n > 1; n--) {
        cv_key t = a->v[0];

        a->v[0] = a->v[n - 1];
        a->v[n - 1] = t;
        sift_down(a->v, 0, n - 1);
    }
}

uint64_t cv_keys_lower_bound(const cv_keys *sorted, uint64_t key)
{
    uint64_t lo = 0, hi = sorted->n;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (cv_keys_get(sorted, mid)->key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool cv_u32s_fill(cv_mem *m, cv_u32s *a, uint64_t n)
{
    if (!cv_u32s_room(m, a, n))
        return false;
    if (n)
        memset(a->v, 0, (size_t)n * sizeof(a->v[0]));
    a->n = n;
    return true;
}

bool cv_u64s_fill(cv_mem *m, cv_u64s *a, uint64_t n)
{
    if (!cv_u64s_room(m, a, n))
        return false;
    if (n)
        memset(a->v, 0, (size_t)n * sizeof(a->v[0]));
    a->n = n;
    return true;
}

bool cv_u8s_fill(cv_mem *m, cv_u8s *a, uint64_t n)
{
    if (!cv_u8s_room(m, a, n))
        return false;
    if (n)
        memset(a->v, 0, (size_t)n);
    a->n = n;
    return true;
}
