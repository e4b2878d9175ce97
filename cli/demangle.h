/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --demangle: names of C++ functions as people write them. The C++ library does it (__cxa_demangle), which
 * was not made for names that nobody vouches for: a few hundred bytes may stand for a text that fills any
 * memory, and it recurses. So a process of its own does it, in a cage, with a bound on time and memory for
 * each life; what it dies of keeps its name, and after a few deaths all names are kept. */
#ifndef CLI_DEMANGLE_H
#define CLI_DEMANGLE_H

#include "cli.h"

/** Start it, before the cage. *fd becomes what cli_needs.helper wants to know. @return CLI_X_CLEAN, or the
 * exit code; it was said. Nothing is done without --demangle. */
int cli_demangle_start(const cli_args *args, int *fd);
/** The name as C++, or the name. Valid until the next call. */
cuvet_bytes cli_demangle(cuvet_bytes name);
void cli_demangle_stop(void);

#endif
