/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a process that the command or a worker pool starts gets of the environment. In a header, because
 * libcuvet-worker has no object in common with the command. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <unistd.h>

/** Nothing: secrets of the program are nothing for it. In builds with sanitizers or counts all of it, which
 * says what they do and where counts go. */
static inline char *const *cli_environment(void)
{
#ifdef CLI_INSTRUMENTED
    return environ;
#else
    static char *const none[] = { NULL };

    return none;
#endif
}

#endif
