/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/base.h"

#include <execinfo.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Thread_local cv_trap_state cv_trap_here;
const uint64_t CV_TRAP_ZEROS[CV_TRAP_ELEMENT / sizeof(uint64_t)];
static _Thread_local alignas(max_align_t) unsigned char large[CV_TRAP_ELEMENT];

void *cv_trap_large(uint64_t size)
{
    return memset(large, 0, size < sizeof(large) ? (size_t)size : sizeof(large));
}

uint64_t cv_trap_count(void)
{
    return cv_trap_here.wrong;
}

void cv_trap_add(uint64_t count)
{
    cv_trap_here.wrong += count;
}

#if (defined(CV_TRAPS) && CV_TRAPS) || defined(CV_TRAP_ENDS)
enum { FRAMES = 32 };

/* Of the sanitizers: with names, files and lines, also of what was put into its caller. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

static __attribute__((noreturn)) void stop(void)
{
    void *frame[FRAMES];

    if (__sanitizer_print_stack_trace)
        __sanitizer_print_stack_trace();
    else /* addr2line -ipfe PROGRAM +OFFSET names file and line */
        backtrace_symbols_fd(frame, backtrace(frame, FRAMES), STDERR_FILENO);
    abort();
}
#endif

#if defined(CV_TRAPS) && CV_TRAPS
void cv_trap_stop(uint64_t index, uint64_t length)
{
    (void)fprintf(stderr, "cuvet: index %llu, but there are %llu: a defect of cuvet\n",
                  (unsigned long long)index, (unsigned long long)length);
    stop();
}
#endif

#if defined(CV_TRAP_ENDS)
const bool cv_trap_ends = true;

/* __builtin_trap() of base/trap.h. Any other illegal instruction ends the process by itself. */
static void go_on(int number)
{
    if (cv_trap_here.wrong == 0) {
        (void)signal(number, SIG_DFL);
        return;
    }
    (void)fprintf(stderr, "cuvet: an index outside of its vector, table or array: a defect of cuvet\n");
    stop();
}

static __attribute__((constructor)) void listen(void)
{
    (void)signal(SIGILL, go_on);
    (void)signal(SIGTRAP, go_on);
}
#else
const bool cv_trap_ends = false;
#endif
