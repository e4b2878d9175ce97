/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/heap.h"

#include <limits.h>
#include <stdlib.h>

bool heap_fails(heap *h)
{
    h->calls++;
    if (h->calls < h->fail_from || h->calls >= h->fail_to)
        return false;
    h->failed++;
    return true;
}

static void *get(void *user, size_t n)
{
    heap *h = user;
    void *p = heap_fails(h) ? NULL : malloc(n);

    h->live += p ? (long)n : 0;
    return p;
}

static void *resize(void *user, void *p, size_t old, size_t n)
{
    heap *h = user;
    void *to = heap_fails(h) ? NULL : realloc(p, n);

    h->live += to ? (long)n - (long)old : 0;
    return to;
}

static void put(void *user, void *p, size_t n)
{
    ((heap *)user)->live -= (long)n;
    free(p);
}

cuvet_alloc heap_alloc(heap *h)
{
    return (cuvet_alloc){ sizeof(cuvet_alloc), get, resize, put, h };
}

void heap_fail(heap *h, unsigned long n, bool later)
{
    h->calls = h->failed = 0;
    h->fail_from = n;
    h->fail_to = later ? ULONG_MAX : n + 1;
}

void heap_mend(heap *h)
{
    h->fail_from = h->fail_to = 0;
}
