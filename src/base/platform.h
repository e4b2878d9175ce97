/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What one kind of processor has and another does not. */
#ifndef CV_BASE_PLATFORM_H
#define CV_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

/* CV_WIDE marks a function that is compiled for vectors of 32 bytes; it may be called where cv_has_wide()
 * says that the processor at hand has them. */
#if defined(__x86_64__)
#define CV_WIDE __attribute__((target("avx2")))
static inline bool cv_has_wide(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}
#else
#define CV_WIDE
static inline bool cv_has_wide(void)
{
    return false;
}
#endif

/* The system call that looks at an open file and fills in the struct stat of the C library; -1: no other than
 * fstat() is known to. */
#if defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define CV_FSTAT_CALL SYS_fstat
#else
#define CV_FSTAT_CALL (-1)
#endif

/* Bytes that a library wrote which is not built as this is: MSan is told what the library says that it did.
 * With libraries that are (CV_FOREIGN_BUILT, tools/msan_libs.sh) it knows. */
#if defined(__has_feature) && !defined(CV_FOREIGN_BUILT)
#if __has_feature(memory_sanitizer)
void __msan_unpoison(const volatile void *begin, size_t bytes);
#define CV_FOREIGN_WROTE(begin, bytes) __msan_unpoison(begin, bytes)
#endif
#endif
#ifndef CV_FOREIGN_WROTE
#define CV_FOREIGN_WROTE(begin, bytes) ((void)0)
#endif

/* Bytes that nobody may touch, and that may be touched again: ASan is told, and asked. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CV_GUARDED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CV_GUARDED 1
#endif
#ifdef CV_GUARDED
void __asan_poison_memory_region(volatile void *begin, size_t bytes);
void __asan_unpoison_memory_region(volatile void *begin, size_t bytes);
void *__asan_region_is_poisoned(void *begin, size_t bytes);
#define CV_GUARD(begin, bytes)   __asan_poison_memory_region(begin, bytes)
#define CV_UNGUARD(begin, bytes) __asan_unpoison_memory_region(begin, bytes)
#define CV_GUARDS(begin, bytes)  (__asan_region_is_poisoned(begin, bytes) != NULL)
#else
#define CV_GUARDED               0
#define CV_GUARD(begin, bytes)   ((void)(begin), (void)(bytes))
#define CV_UNGUARD(begin, bytes) ((void)(begin), (void)(bytes))
#define CV_GUARDS(begin, bytes)  ((void)(begin), (void)(bytes), false)
#endif

#endif
