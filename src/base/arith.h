/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checked arithmetic on numbers that come from a file. False = the result does not fit; *out is untouched. */
#ifndef CV_BASE_ARITH_H
#define CV_BASE_ARITH_H

#include "base/base.h"

static inline CV_MUST bool cv_add(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;

    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline CV_MUST bool cv_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;

    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* a + b, or the largest value: for ends that are only compared. */
static inline uint64_t cv_sat_add(uint64_t a, uint64_t b)
{
    uint64_t r;

    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static inline uint64_t cv_sat_mul(uint64_t a, uint64_t b)
{
    uint64_t r;

    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* Round v up to a multiple of align, a power of two. */
static inline CV_MUST bool cv_align(uint64_t v, uint64_t align, uint64_t *out)
{
    uint64_t r;

    if (align == 0 || (align & (align - 1)) != 0 || __builtin_add_overflow(v, align - 1, &r))
        return false;
    *out = r & ~(align - 1);
    return true;
}

static inline uint64_t cv_sat_align(uint64_t v, uint64_t align)
{
    uint64_t r = UINT64_MAX;

    return cv_align(v, align, &r) ? r : UINT64_MAX;
}

static inline CV_MUST bool cv_to_u32(uint64_t v, uint32_t *out)
{
    if (v > UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

static inline bool cv_is_pow2(uint64_t v)
{
    return v != 0 && (v & (v - 1)) == 0;
}

static inline uint64_t cv_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t cv_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Modulo 2^64: addends are signed numbers in unsigned fields. */
CV_WRAPS static inline uint64_t cv_wrap_add(uint64_t a, uint64_t b)
{
    return a + b;
}

#endif
