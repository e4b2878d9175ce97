/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An allocator that fails when a test says so, and that counts what is alive. */
#ifndef CV_TESTS_HEAP_H
#define CV_TESTS_HEAP_H

#include <stdbool.h>

#include <cuvet/alloc.h>

/* All zero: a heap that never fails. One thread at a time. */
typedef struct heap_state {
    unsigned long calls;              /* that ask for memory, since heap_fail() */
    unsigned long fail_from, fail_to; /* of these, [fail_from, fail_to) fail; the first has number 1 */
    unsigned long failed;             /* since heap_fail() */
    long live;                        /* bytes, by the sizes that the library names */
} heap_state;

/* Valid as long as the heap. */
cuvet_alloc heap_alloc(heap_state *heap);
/* Count anew; the nth call fails, alone or with every later one. */
void heap_fail(heap_state *heap, unsigned long count, bool later);
/* No call fails any more. */
void heap_mend(heap_state *heap);
/* Counts as a call, for a test that takes memory from elsewhere: does it fail? */
bool heap_fails(heap_state *heap);

#endif
