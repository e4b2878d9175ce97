/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The other side of the fork: a supervisor, and below it the program in its sandbox. The supervisor is a
 * process of ours that adopts whatever the program starts, so that all of it can be found and killed without
 * a word to the caller's process; it also clears up when the caller dies. Nothing in here allocates, locks or
 * returns. */
#ifndef CV_PROC_SANDBOX_H
#define CV_PROC_SANDBOX_H

#include "proc/tmpdir.h"

/* All of it is prepared before the fork. Descriptors are CV_FD_LOWEST or above. */
typedef struct cv_sandbox {
    const char *path;
    const char *const *argv; /* NULL at the end */
    cv_tmpdir tmpdir;
    int null, log, channel;
    uint64_t cpu_seconds, memory, file, files, processes; /* of the program */
} cv_sandbox;

/* What the supervisor says over the channel, a socket that keeps messages apart. */
typedef enum cv_sandbox_word {
    CV_SANDBOX_STARTED = 1, /* value: a process id that leads a group: the program, or its first process */
    CV_SANDBOX_FAILED,      /* value: errno; nothing runs */
    CV_SANDBOX_EXITED,      /* value: exit code; nothing runs any more, as below */
    CV_SANDBOX_SIGNALED     /* value: signal */
} cv_sandbox_word;

typedef struct cv_sandbox_message {
    uint32_t word;
    int32_t value;
    uint64_t cpu_ms; /* of the program, when it has ended */
} cv_sandbox_message;

/* What it is told: one byte. When the channel ends instead, the caller is gone: the supervisor kills, removes
 * the private directory, and ends. */
#define CV_SANDBOX_GO    'g' /* the first word */
#define CV_SANDBOX_KILL  'k'
#define CV_SANDBOX_LEAVE 'l' /* the last word */

/* In the child of a fork, with every signal blocked. */
_Noreturn void cv_sandbox_supervise(const cv_sandbox *sandbox);

#endif
