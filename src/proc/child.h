/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Run one program on one file, in a sandbox: no descriptor of ours, no environment, a private directory,
 * limits, a deadline after which everything that it started is dead. Needs Linux 5.9 and /proc; nothing runs
 * without.  The caller's process: a child of it appears and ends (its SIGCHLD handling is left alone,
 * ignoring it does no harm), the signal mask of this thread is as before, no other state is touched. Several
 * threads may call at once. */
#ifndef CV_PROC_CHILD_H
#define CV_PROC_CHILD_H

#include "base/mem.h"

typedef struct cv_child_options {
    const char *path;        /* absolute */
    const char *directory;   /* private directories are made in here */
    const char *const *argv; /* from argv[0] on, NULL at the end */
    const char *in_name;     /* plain names in the private directory, which is the working directory */
    const void *in;
    size_t n_in;
    const char *out_name;
    /* Bytes that are kept: of the output file, and the last ones of standard output and error. */
    uint64_t output, log;
    uint64_t deadline_ms;
    uint64_t cpu_seconds, memory, files, processes;
    const int *cancel; /* read atomically; asked at least every 50 ms */
} cv_child_options;

typedef enum cv_child_end {
    CV_CHILD_EXITED = 0,  /* value: exit code */
    CV_CHILD_SIGNALED,    /* value: signal */
    CV_CHILD_NOT_STARTED, /* value: errno */
    CV_CHILD_DEADLINE,
    CV_CHILD_CANCELLED,
    CV_CHILD_LOST /* its supervisor was killed by somebody: nothing is known about the end */
} cv_child_end;

typedef enum cv_child_output {
    CV_CHILD_NO_OUTPUT = 0, /* nothing, an empty file, or no plain file of its own */
    CV_CHILD_OUTPUT,
    CV_CHILD_OVERSIZED
} cv_child_output;

typedef struct cv_child_result {
    cv_child_end end;
    int value;
    uint64_t cpu_ms;
    int left; /* errno of removing the private directory: something of it is still there; 0: gone */
    cv_child_output output;
    uint8_t *bytes; /* n of them, in memory of 'mem', when it EXITED with code 0 and OUTPUT */
    uint64_t n_bytes;
    char *log; /* n_log bytes, in memory of 'mem' */
    uint64_t n_log;
} cv_child_result;

/* @return OK with *out filled · NOMEM, LIMIT (memory) with nothing to free; nothing runs any more in any case
 */
CV_MUST cuvet_status cv_child_run(cv_mem *mem, const cv_child_options *options, cv_child_result *out);
void cv_child_free(cv_mem *mem, cv_child_result *result);

#endif
