/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/heap.h"

#include <limits.h>
#include <stdlib.h>

bool heap_fails(heap_state *heap)
{
    heap->calls++;
    if (heap->calls < heap->fail_from || heap->calls >= heap->fail_to)
        return false;
    heap->failed++;
    return true;
}

static void *get(void *user, size_t size)
{
    heap_state *heap = user;
    void *block = heap_fails(heap) ? NULL : malloc(size);

    heap->live += block ? (long)size : 0;
    return block;
}

static void *resize(void *user, void *block, size_t old, size_t count)
{
    heap_state *heap = user;
    void *to = heap_fails(heap) ? NULL : realloc(block, count);

    heap->live += to ? (long)count - (long)old : 0;
    return to;
}

static void put(void *user, void *block, size_t size)
{
    ((heap_state *)user)->live -= (long)size;
    free(block);
}

cuvet_alloc heap_alloc(heap_state *heap)
{
    return (cuvet_alloc){ sizeof(cuvet_alloc), get, resize, put, heap };
}

void heap_fail(heap_state *heap, unsigned long count, bool later)
{
    heap->calls = heap->failed = 0;
    heap->fail_from = count;
    heap->fail_to = later ? ULONG_MAX : count + 1;
}

void heap_mend(heap_state *heap)
{
    heap->fail_from = heap->fail_to = 0;
}
