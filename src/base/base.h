/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Words every layer uses: must-use results, impossible branches, units, the unsafe-buffer fences. */
#ifndef CV_BASE_BASE_H
#define CV_BASE_BASE_H

#include <cuvet/status.h>

#define CV_MUST __attribute__((warn_unused_result))
/* Put where it is used, also where a compiler would rather call it: for what is done to each relocation. */
#define CV_INLINE       static inline __attribute__((always_inline))
#define CV_LIKELY(c)    __builtin_expect(!!(c), 1)
#define CV_UNLIKELY(c)  __builtin_expect(!!(c), 0)
#define CV_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A branch that cannot be taken unless our own code is wrong. Kept in release builds; excluded from coverage.
 */
#define CV_NEVER(cond) CV_UNLIKELY(cond)

#define CV_KIB         UINT64_C(1024)
#define CV_MIB         (UINT64_C(1024) * CV_KIB)
#define CV_GIB         (UINT64_C(1024) * CV_MIB)

/* The few headers that index memory on behalf of format/ and model/ are fenced: everything else in those
 * layers compiles with clang's -Werror=unsafe-buffer-usage. */
#if defined(__clang__) && __clang_major__ >= 16
#define CV_BUF_BEGIN                                                                                         \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wunsafe-buffer-usage\"")
#define CV_BUF_END _Pragma("clang diagnostic pop")
#else
#define CV_BUF_BEGIN
#define CV_BUF_END
#endif

/* Functions whose unsigned arithmetic is meant to wrap; a build that checks for it leaves them alone. */
#if defined(__clang__)
#define CV_WRAPS __attribute__((no_sanitize("integer")))
#else
#define CV_WRAPS
#endif

/* Builds that check more than what ships: rare ways are taken always. */
#if defined(CV_CHECK_DEEP) && CV_CHECK_DEEP
#define CV_DEEP 1
#else
#define CV_DEEP 0
#endif

/* Constant tables: the index is checked, out of range gives the first row. */
#define CV_AT(table, i)                                                                                      \
    (*cv_table_at_((table), sizeof((table)[0]), CV_COUNT(table), (i), __typeof__(&(table)[0])))
#define cv_table_at_(t, elem, n, i, type) ((type)cv_table_row((const void *)(t), (elem), (n), (size_t)(i)))

/* Store into a fixed array; an index outside of it stores nothing. */
#define CV_PUT(array, i, value) cv_put_byte((array), sizeof(array), (size_t)(i), (value))

CV_BUF_BEGIN
static inline void cv_put_byte(uint8_t *array, size_t n, size_t i, uint8_t value)
{
    if (i < n)
        array[i] = value;
}

static inline const void *cv_table_row(const void *table, size_t elem, size_t n, size_t i)
{
    return (const char *)table + elem * (i < n ? i : 0);
}
CV_BUF_END

/* Elements of a fixed array, checked: out of range is element 0. */
#define CV_ARRAY_AT(array, i)                                                                                \
    ((__typeof__(&(array)[0]))cv_array_at((array), sizeof((array)[0]), CV_COUNT(array), (size_t)(i)))
#define CV_ARRAY_GET(array, i)        (*CV_ARRAY_AT(array, i))
#define CV_ARRAY_SET(array, i, value) (*CV_ARRAY_AT(array, i) = (value))

static inline void *cv_array_at(const void *array, size_t elem, size_t n, size_t i)
{
    return (void *)(uintptr_t)cv_table_row(array, elem, n, i);
}

#endif
