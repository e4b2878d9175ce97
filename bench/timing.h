/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Processor time of this process, time by the clock, and the middle of many of its differences. */
#ifndef CV_BENCH_TIMING_H
#define CV_BENCH_TIMING_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t bench_cpu_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static inline double bench_cpu_us(void)
{
    return (double)bench_cpu_ns() / 1e3;
}

static inline double bench_wall_us(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static inline int bench_by_value(const void *left, const void *right)
{
    double first = *(const double *)left, second = *(const double *)right;

    return (first > second) - (first < second);
}

/* The values are sorted. */
static inline double bench_median(double *value, size_t count)
{
    qsort(value, count, sizeof(*value), bench_by_value);
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

#endif
