/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The system call filter of the cage. libseccomp makes its programs when the command is built, from the rules
 * of cli/filter/rules.c; the process fills in its own numbers and hands one to the kernel. */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include "filter/programs.h"
#include "sandbox.h"

/* No program is longer. */
#define CLI_FILTER_MOST 512

/** The program for this cage in this process. @return its instructions. */
size_t cli_filter_program(const cli_cage *cage, struct sock_filter code[CLI_FILTER_MOST]);
/** Hand it to the kernel: for good. @return 0 or an errno. */
int cli_filter_load(const cli_cage *cage);

#endif
