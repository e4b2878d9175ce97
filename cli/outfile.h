/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The file that -o names: made in a directory that was opened before the cage, or standard output for "-". */
#ifndef CLI_OUTFILE_H
#define CLI_OUTFILE_H

#include "cli.h"

typedef struct cli_outfile {
    const char *path, *name; /* name: without the directory; NULL: none is wanted */
    int dir;                 /* -1: none, or standard output */
    bool standard;
} cli_outfile;

#define CLI_NO_OUTFILE                                                                                       \
    {                                                                                                        \
        .dir = -1                                                                                            \
    }

/** @param path NULL: none is wanted. @return NULL, or why it cannot be had. */
const char *cli_outfile_open(cli_outfile *o, const char *path);
/** All of it, or nothing where it is a file. A failed write to standard output is told when that is flushed.
 */
cuvet_status cli_outfile_save(const cli_outfile *o, const void *bytes, size_t n, bool replace);
void cli_outfile_close(cli_outfile *o);

#endif
