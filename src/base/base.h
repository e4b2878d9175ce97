/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Words every layer uses: must-use results, impossible branches, units, the unsafe-buffer fences. */
#ifndef CV_BASE_BASE_H
#define CV_BASE_BASE_H

#include <cuvet/status.h>

/* The few places that index memory on behalf of format/ and the layers above it are fenced: everything else
 * there compiles with clang's -Werror=unsafe-buffer-usage. */
#if defined(__clang__) && __clang_major__ >= 16
#define CV_BUF_BEGIN                                                                                         \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wunsafe-buffer-usage\"")
#define CV_BUF_END _Pragma("clang diagnostic pop")
#else
#define CV_BUF_BEGIN
#define CV_BUF_END
#endif

/* It is fenced itself. */
#include "base/trap.h"

#define CV_MUST __attribute__((warn_unused_result))
/* Put where it is used, also where a compiler would rather call it: for what is done to each relocation. */
#define CV_INLINE static inline __attribute__((always_inline))
#ifdef CV_NO_HINTS /* who counts conditions does not see through a call */
#define CV_LIKELY(cond)   (cond)
#define CV_UNLIKELY(cond) (cond)
#else
#define CV_LIKELY(cond)   __builtin_expect(!!(cond), 1)
#define CV_UNLIKELY(cond) __builtin_expect(!!(cond), 0)
#endif
#define CV_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A branch that cannot be taken unless our own code is wrong. Kept in release builds; excluded from coverage.
 */
#define CV_NEVER(cond) CV_UNLIKELY(cond)

#define CV_KIB         UINT64_C(1024)
#define CV_MIB         (UINT64_C(1024) * CV_KIB)
#define CV_GIB         (UINT64_C(1024) * CV_MIB)

/* Functions whose unsigned arithmetic is meant to wrap; a build that checks for it leaves them alone. */
#if defined(__clang__)
#define CV_WRAPS __attribute__((no_sanitize("integer")))
#else
#define CV_WRAPS
#endif

/* For parameters that others declare without const and that they only read: the vector of writev(), the
 * arguments of execve(), what a source is read from. Nothing is ever written through what this returns. */
static inline void *cv_without_const(const void *block)
{
    return (void *)(uintptr_t)block;
}

/* Builds for tests take ways always that what ships takes rarely. */
#if defined(CV_CHECK_DEEP) && CV_CHECK_DEEP
#define CV_DEEP 1
#else
#define CV_DEEP 0
#endif

/* The build that makes defects on purpose, to show that they are noticed (tests/planted). */
#if defined(CV_PLANTS) && CV_PLANTS
#define CV_PLANTED 1
#else
#define CV_PLANTED 0
#endif

#ifdef __cppcheck__ /* which reads no cast to __typeof__ and no _Generic */
#define CV_BY_CONST(type, pointer, plain, constant) plain
#define CV_AT(table, index)                         ((table)[index])
#define CV_ARRAY_AT(array, index)                   (&(array)[index])
#else
/* The function for what a pointer points to: one to const has its own. */
#define CV_BY_CONST(type, pointer, plain, constant)                                                          \
    _Generic((pointer), type * : plain, const type * : constant)

/* Row i of a constant table. An index outside of it is a defect of ours (see base/trap.h): a build for
 * tests ends there, and what ships goes on with the first row until the operation fails. */
#define CV_AT(table, index)                                                                                  \
    (*(const __typeof__((table)[0]) *)cv_table_row((table), sizeof((table)[0]), CV_COUNT(table),             \
                                                   (size_t)(index)))

/* Element i of a fixed array. Outside of it: as above, with an element of zeros that nothing else is
 * stored in. */
#define CV_ARRAY_AT(array, index)                                                                            \
    ((__typeof__(&(array)[0]))cv_array_at((array), cv_element_size(array), CV_COUNT(array), (size_t)(index)))
/* Compiles only where what stands in for an element is as large as one. */
#define cv_element_size(array)                                                                               \
    (sizeof((array)[0]) + 0 * sizeof(char[sizeof((array)[0]) <= CV_TRAP_ELEMENT ? 1 : -1]))
#endif
#define CV_ARRAY_SET(array, index, value) (*CV_ARRAY_AT(array, index) = (value))
/* The same for reading, also of an array that is const. */
#define CV_ARRAY_GET(array, index) CV_AT(array, index)

CV_BUF_BEGIN
static inline const void *cv_table_row(const void *table, size_t elem, size_t count, size_t index)
{
    if (CV_NEVER(index >= count))
        return cv_trap_table(table, index, count);
    return (const char *)table + elem * index;
}

static inline void *cv_array_at(void *array, size_t elem, size_t count, size_t index)
{
    if (CV_NEVER(index >= count))
        return cv_trap_write(index, count, elem);
    return (char *)array + elem * index;
}
CV_BUF_END

#endif
