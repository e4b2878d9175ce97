/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/scratch.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void scratch_make(char path[SCRATCH_MAX])
{
    static const char *const NAMES[] = { "CV_TMP", "TMPDIR" };
    const char *above = "/tmp";

    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(NAMES[i]);

        if (value && *value) {
            above = value;
            break;
        }
    }
    ck_assert_msg(snprintf(path, SCRATCH_MAX, "%s/cuvet-XXXXXX", above) < SCRATCH_MAX,
                  "%s: longer than tests provide for", above);
    ck_assert_ptr_nonnull(mkdtemp(path));
    ck_assert_int_eq(chmod(path, 0711), 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

void scratch_remove(const char *path)
{
    ck_assert_int_eq(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
