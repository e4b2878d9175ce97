/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Checked arithmetic on numbers that come from a file. False = the result does not fit; *out is untouched. */
#ifndef CV_BASE_ARITH_H
#define CV_BASE_ARITH_H

#include "base/base.h"

static inline CV_MUST bool cv_add(uint64_t left, uint64_t right, uint64_t *out)
{
    uint64_t result;

    if (__builtin_add_overflow(left, right, &result))
        return false;
    *out = result;
    return true;
}

static inline CV_MUST bool cv_mul(uint64_t left, uint64_t right, uint64_t *out)
{
    uint64_t result;

    if (__builtin_mul_overflow(left, right, &result))
        return false;
    *out = result;
    return true;
}

/* a + right, or the largest value: for ends that are only compared. */
static inline uint64_t cv_sat_add(uint64_t left, uint64_t right)
{
    uint64_t result;

    return __builtin_add_overflow(left, right, &result) ? UINT64_MAX : result;
}

static inline uint64_t cv_sat_mul(uint64_t left, uint64_t right)
{
    uint64_t result;

    return __builtin_mul_overflow(left, right, &result) ? UINT64_MAX : result;
}

/* Round 'value' up to a multiple of align, a power of two. */
static inline CV_MUST bool cv_align(uint64_t value, uint64_t align, uint64_t *out)
{
    uint64_t result;

    if (align == 0 || (align & (align - 1)) != 0 || __builtin_add_overflow(value, align - 1, &result))
        return false;
    *out = result & ~(align - 1);
    return true;
}

static inline uint64_t cv_sat_align(uint64_t value, uint64_t align)
{
    uint64_t result = UINT64_MAX;

    return cv_align(value, align, &result) ? result : UINT64_MAX;
}

static inline CV_MUST bool cv_to_u32(uint64_t value, uint32_t *out)
{
    if (value > UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

static inline bool cv_is_pow2(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static inline uint64_t cv_min(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static inline uint64_t cv_max(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

/* Modulo 2^64: addends are signed numbers in unsigned fields. */
CV_WRAPS static inline uint64_t cv_wrap_add(uint64_t left, uint64_t right)
{
    return left + right;
}

CV_WRAPS static inline uint64_t cv_wrap_sub(uint64_t left, uint64_t right)
{
    return left - right;
}

#endif
