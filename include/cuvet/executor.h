/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Executor: threads that the caller lends the library for work that has independent parts. The library
 * starts none of its own for it. Results and diagnostics are those of one thread. */
#ifndef CUVET_EXECUTOR_H
#define CUVET_EXECUTOR_H

#include <stddef.h>
#include <stdint.h>

/** Parts of a piece of work that may be done at the same time, at most. */
#define CUVET_LANES_MOST 64u

typedef struct cuvet_executor {
    size_t size;    /**< sizeof(cuvet_executor) of the caller */
    uint32_t lanes; /**< parts at the same time: 2 to CUVET_LANES_MOST; 0, 1: none */
    /** Work is split when it has so many units for each lane, relocations for most of it; 0: 8192, what it
     * takes to be worth the waking of a thread. */
    uint64_t least;
    /** Call work(arg, index) once for each index below count, by any threads and in any order, and return
     * when all of these calls have returned: none may go on afterwards. May call nothing with the context.
     * The library does what was left out, and passes over what comes again. */
    void (*run)(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count);
    void *user;
} cuvet_executor;

#endif
