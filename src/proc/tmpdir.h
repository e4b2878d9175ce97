/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A private directory for one child process: made new, readable by nobody else, emptied and removed whatever
 * lies in it. Links are never followed. What says so is safe between fork and exec, without memory. */
#ifndef CV_PROC_TMPDIR_H
#define CV_PROC_TMPDIR_H

#include "base/base.h"

typedef struct cv_tmpdir {
    int base; /* where it lies */
    int dir;
    char name[32];
} cv_tmpdir;

/* Each returns 0 or an errno. */
CV_MUST int cv_tmpdir_create(cv_tmpdir *tmpdir, const char *directory);
/* A new file in it; a name that exists is an error. */
CV_MUST int cv_tmpdir_write(const cv_tmpdir *tmpdir, const char *name, const void *bytes, size_t len);
/* Everything in it and itself; after a fork, too. That it is gone already is no error. The descriptors stay.
 */
CV_MUST int cv_tmpdir_remove(const cv_tmpdir *tmpdir);
void cv_tmpdir_close(cv_tmpdir *tmpdir);

/* Descriptors of ours are never among the first ones, whatever the caller has closed: a child gives those new
 * meanings. -1: errno. */
#define CV_FD_LOWEST 16
CV_MUST int cv_fd_lift(int fd);

/* Names in a directory; after a fork, too. */
typedef struct cv_listing {
    int fd, error;
    size_t at, end;
    uint64_t space[48]; /* aligned as the kernel writes it; the longest entry has 280 bytes */
} cv_listing;

void cv_listing_begin(cv_listing *listing, int fd);
/* NULL: no more, or listing->error. "." and ".." are left out. Valid until the next call. */
const char *cv_listing_next(cv_listing *listing);

#endif
