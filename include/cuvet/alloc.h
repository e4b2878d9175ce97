/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Allocator a caller may inject. All library allocations go through it, counted against limits.live first.
 */
#ifndef CUVET_ALLOC_H
#define CUVET_ALLOC_H

#include <cuvet/base.h>

/** resize must behave like realloc: on failure it returns NULL and the old block stays valid. size is never
 * 0. */
typedef struct cuvet_alloc {
    size_t size; /**< sizeof(cuvet_alloc) of the caller */
    void *(*alloc)(void *user, size_t size);
    void *(*resize)(void *user, void *block, size_t old_size, size_t new_size);
    void (*release)(void *user, void *block, size_t size);
    void *user;
} cuvet_alloc;

#endif
