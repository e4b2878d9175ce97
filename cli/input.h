/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inputs of a command: files, directories with -r, standard input. All are opened before the cage is entered,
 * and handed out inside of it. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli.h"

typedef struct cli_input {
    const char *name;    /* as given, or as found below a directory; "-" is standard input */
    cuvet_source source; /* valid when why is NULL; released by the caller of the callback */
    const char *why;     /* it cannot be read, for this reason */
    int rc;              /* exit code that goes with why */
} cli_input;

/* What a command does besides reading its inputs and writing to the standard streams. -1: nothing. */
typedef struct cli_needs {
    int out_dir;  /* makes files in this directory … */
    int more_dir; /* … and in this one */
    int broker;   /* asks a compiler through this stream */
} cli_needs;

/** Called once per input, in the order of the command line; what a directory holds comes in order of the
 *  names' bytes.
 *  @return false: stop here. */
typedef bool cli_input_fn(void *user, cli_input *in);

/** Open the inputs, enter the cage, then hand them out. No byte of an input is looked at before, and nothing
 *  can be opened by name afterwards. Once per process. @param needs NULL: nothing else.
 *  @return CLI_X_CLEAN, whatever became of single inputs (also after the callback stopped it), or the exit
 *  code of what kept the whole from its end; it has been said on standard error. */
int cli_each_input(const cli_args *a, const cli_needs *needs, cli_input_fn *fn, void *user);

#endif
