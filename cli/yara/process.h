/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The process with libyara, in a cage of its own. It reads rules and pieces from one socket, and has nothing
 * else: rules that take it over, or a piece that it dies of, end what rules say, and nothing besides. */
#ifndef CLI_YARA_PROCESS_H
#define CLI_YARA_PROCESS_H

#include "../cli.h"
#include "wire.h"

/** Start it with the rules of a file, and wait until it has taken them. *fd becomes what cli_needs.helper
 * wants to know; it does not block. @param seconds that it may take, and later for the pieces of a file
 *  @return CLI_X_CLEAN, or the exit code; it was said */
int yara_process_start(const cli_args *args, uint32_t seconds, int *fd);
/** When nobody waits any more for what may take so long. */
int64_t yara_process_until(int64_t milliseconds);
/** Does a word stand anywhere in the rules? Compiled ones have the names of their variables, too. */
bool yara_rules_have(const char *word);
void yara_rules_forget(void);

#endif
