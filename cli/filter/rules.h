/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rules of the system call filter, told to libseccomp. The build exports programs from them (export.c),
 * tests/cli/parts/filter holds the programs against them; the command has neither them nor libseccomp. */
#ifndef CLI_FILTER_RULES_H
#define CLI_FILTER_RULES_H

#include <stddef.h>

#include "programs.h"

/** The program that libseccomp makes for this shape and these numbers; those of what the shape has not are
 * not looked at. @return its instructions, owned by the caller; NULL when it cannot be made. */
struct sock_filter *filter_program_of(unsigned shape, const uint32_t number[FILTER_N_COUNT], size_t *count);

#endif
