/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A private directory for one child process: made new, readable by nobody else, emptied and removed whatever
 * lies in it. Links are never followed. What says so is safe between fork and exec, without memory. */
#ifndef CV_PROC_NEST_H
#define CV_PROC_NEST_H

#include "base/base.h"

typedef struct cv_nest {
    int base; /* where it lies */
    int dir;
    char name[32];
} cv_nest;

/* Each returns 0 or an errno. */
CV_MUST int cv_nest_open(cv_nest *n, const char *directory);
/* A new file in it; a name that exists is an error. */
CV_MUST int cv_nest_write(const cv_nest *n, const char *name, const void *bytes, size_t len);
/* Everything in it and itself; after a fork, too. That it is gone already is no error. The descriptors stay.
 */
CV_MUST int cv_nest_remove(const cv_nest *n);
void cv_nest_close(cv_nest *n);

/* Descriptors of ours are never among the first ones, whatever the caller has closed: a child gives those new
 * meanings. -1: errno. */
#define CV_FD_LOWEST 16
CV_MUST int cv_fd_lift(int fd);

/* Names in a directory; after a fork, too. */
typedef struct cv_listing {
    int fd, error;
    size_t at, n;
    uint64_t space[48]; /* aligned as the kernel writes it; the longest entry has 280 bytes */
} cv_listing;

void cv_listing_begin(cv_listing *l, int fd);
/* NULL: no more, or l->error. "." and ".." are left out. Valid until the next call. */
const char *cv_listing_next(cv_listing *l);

#endif
