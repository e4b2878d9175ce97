/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A folder that is one test's alone. tools/runtests.py names the one that it lies in (CV_TMP) and removes
 * that. */
#ifndef CV_TESTS_SCRATCH_H
#define CV_TESTS_SCRATCH_H

enum { SCRATCH_MAX = 100 }; /* bytes of its path */

/* Make a new folder in CV_TMP, else in TMPDIR, else in /tmp, and give its path. Others may pass through it,
 * but not list it: some tests become another user. */
void scratch_make(char path[SCRATCH_MAX]);
/* Of the folder, with everything in it. */
void scratch_remove(const char *path);

#endif
