/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What happens where an index lies outside of its vector, table or array. No file may bring that about:
 * it is a defect of ours. Builds for tests end there: the sanitizer modes and fuzzing (CV_TRAPS is 1) print
 * the index, the length and the stack, and abort; the test programs of the release build (cv_trap_ends is
 * true in them) print the stack, and abort.
 * In what ships the access gets zeros of its own, nothing outside is touched, and the thread counts one
 * wrong index: whoever ends an operation compares the count with that of its beginning, and the operation
 * fails with CUVET_E_INTERNAL. A const reader has no other way to say so, and this state is the only one
 * of a thread. */
#ifndef CV_BASE_TRAP_H
#define CV_BASE_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CV_TRAP_ELEMENT 1024 /* bytes of the largest element of a vector or array … */
#define CV_TRAP_SMALL   256  /* … and of those that stay clear of cv_trap_large() */

/* The state of a thread: what every function can reach without a call, and so no more than a program that
 * loads the library later can spare. */
typedef struct cv_trap_state {
    uint64_t wrong; /* indexes so far */
    uint64_t element[CV_TRAP_SMALL / sizeof(uint64_t)];
} cv_trap_state;

extern _Thread_local cv_trap_state cv_trap_here
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern const bool cv_trap_ends __attribute__((visibility("hidden")));
/* Zeros that nobody writes. */
extern const uint64_t CV_TRAP_ZEROS[CV_TRAP_ELEMENT / sizeof(uint64_t)] __attribute__((visibility("hidden")));

/* Print, and abort. */
void cv_trap_stop(uint64_t index, uint64_t length) __attribute__((cold, noinline, noreturn));
/* Zeros of this thread for an element that is larger than most. */
void *cv_trap_large(uint64_t size) __attribute__((cold, noinline));

/* Wrong indexes of this thread so far. */
uint64_t cv_trap_count(void);
/* Those of a thread that has ended count for the one that waited for it. */
void cv_trap_add(uint64_t count);

/* Only what prints the two gets them: in what ships no access keeps them at hand for the worst case. */
static inline __attribute__((always_inline)) void cv_trap_tell(uint64_t index, uint64_t length)
{
#if defined(CV_TRAPS) && CV_TRAPS
    cv_trap_stop(index, length);
#else
    (void)index;
    (void)length;
#endif
}

/* The three are functions of each file, take nothing and call nothing: a compiler then knows which registers
 * they leave alone, and what is called as good as never costs the access nothing. */
static __attribute__((cold, noinline, unused)) void cv_trap_note(void)
{
    cv_trap_here.wrong++;
    if (cv_trap_ends)
        __builtin_trap(); /* trap.c goes on from there */
}

static __attribute__((cold, noinline, unused)) const void *cv_trap_zeros(void)
{
    cv_trap_here.wrong++;
    if (cv_trap_ends)
        __builtin_trap();
    return CV_TRAP_ZEROS;
}

CV_BUF_BEGIN
/* May be written; cleared again at the next wrong index. */
static __attribute__((cold, noinline, unused)) void *cv_trap_small(void)
{
    cv_trap_here.wrong++;
    if (cv_trap_ends)
        __builtin_trap();
    for (size_t i = 0; i < sizeof(cv_trap_here.element) / sizeof(cv_trap_here.element[0]); i++) {
        cv_trap_here.element[i] = 0;
        __asm__ volatile("" ::: "memory"); /* or this would be a call of memset() */
    }
    return cv_trap_here.element;
}
CV_BUF_END

static inline __attribute__((always_inline)) const void *cv_trap_read(uint64_t index, uint64_t length)
{
    cv_trap_tell(index, length);
    return cv_trap_zeros();
}

/* The first row of the table is as good as any, and nobody writes it. */
static inline __attribute__((always_inline)) const void *cv_trap_table(const void *table, uint64_t index,
                                                                       uint64_t length)
{
    cv_trap_tell(index, length);
    cv_trap_note();
    return table;
}

static inline __attribute__((always_inline)) void *cv_trap_write(uint64_t index, uint64_t length, size_t size)
{
    void *small;

    cv_trap_tell(index, length);
    small = cv_trap_small();
    return size <= CV_TRAP_SMALL ? small : cv_trap_large(size);
}

#endif
