/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inputs of a command: files, directories with -r, standard input. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli.h"

typedef struct cli_input {
    const char *name;    /* as given, or as found below a directory; "-" is standard input */
    cuvet_source source; /* valid when why is NULL; released by the caller of the callback */
    const char *why;     /* it cannot be read, for this reason */
    int rc;              /* exit code that goes with why */
} cli_input;

/** Called once per input, in the order of the command line; what a directory holds comes in order of the
 *  names' bytes.
 *  @return false: stop here. */
typedef bool cli_input_fn(void *user, cli_input *in);

/** @return false when the callback stopped the walk. */
bool cli_each_input(const cli_args *a, cli_input_fn *fn, void *user);

#endif
