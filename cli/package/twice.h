/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef CLI_PACKAGE_TWICE_H
#define CLI_PACKAGE_TWICE_H

#include <stdbool.h>
#include <stdint.h>

/** Does the directory of this zip file say something else of an entry than what stands before that: another
 *  name, another size, another place? False also where it cannot be found out. @param fd read by position
 *  @param size of the file */
bool package_says_twice(int fd, uint64_t size);

#endif
