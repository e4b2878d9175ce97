/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The other side of the fork: a keeper, and below it the program in its cage. The keeper is a process of ours
 * that adopts whatever the program starts, so that all of it can be found and killed without a word to the
 * caller's process; it also clears up when the caller dies. Nothing in here allocates, locks or returns. */
#ifndef CV_PROC_CAGE_H
#define CV_PROC_CAGE_H

#include "proc/nest.h"

/* All of it is prepared before the fork. Descriptors are CV_FD_LOWEST or above. */
typedef struct cv_cage {
    const char *path;
    const char *const *argv; /* NULL at the end */
    cv_nest nest;
    int null, log, channel;
    uint64_t cpu_seconds, memory, file, files, processes; /* of the program */
} cv_cage;

/* What the keeper says over the channel, a socket that keeps messages apart. */
typedef enum cv_cage_word {
    CV_CAGE_STARTED = 1, /* value: a process id that leads a group: the program, or its first process */
    CV_CAGE_FAILED,      /* value: errno; nothing runs */
    CV_CAGE_EXITED,      /* value: exit code; nothing runs any more, as below */
    CV_CAGE_SIGNALED     /* value: signal */
} cv_cage_word;

typedef struct cv_cage_message {
    uint32_t word;
    int32_t value;
    uint64_t cpu_ms; /* of the program, when it has ended */
} cv_cage_message;

/* What it is told: one byte. When the channel ends instead, the caller is gone: the keeper kills, removes the
 * nest, and ends. */
#define CV_CAGE_GO    'g' /* the first word */
#define CV_CAGE_KILL  'k'
#define CV_CAGE_LEAVE 'l' /* the last word */

/* In the child of a fork, with every signal blocked. */
_Noreturn void cv_cage_keep(const cv_cage *c);

#endif
