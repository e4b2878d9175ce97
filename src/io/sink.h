/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where output goes: a slice list to a descriptor, or to a file that appears complete or not at all. */
#ifndef CV_IO_SINK_H
#define CV_IO_SINK_H

#include "bytes/slices.h"

/* All bytes, in order. @return OK or IO. */
CV_MUST cuvet_status cv_sink_fd(int fd, const cv_slices *out);

typedef struct cv_sink_options {
    bool replace; /* an existing file may be replaced */
    bool sync;    /* fsync before the rename */
} cv_sink_options;
/* CUVET_SAVE_REPLACE, CUVET_SAVE_SYNC. */
cv_sink_options cv_sink_options_of(unsigned flags);

/* File 'name' in dirfd: written as a temporary beside it, then renamed. A name with a slash, empty, "." or
 * ".." is USAGE; an existing file without replace is EXISTS. On any failure nothing stays behind. */
CV_MUST cuvet_status cv_sink_file(int dirfd, const char *name, const cv_slices *out, cv_sink_options opt);

/* cuvet_save() into the folder that a path names. @return as cuvet_save() · IO (no such folder) */
CV_MUST cuvet_status cv_sink_path(const char *path, const void *bytes, size_t size, unsigned flags);

#endif
