/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a package is as well: for readers that look elsewhere to know what a file is. */
#ifndef CLI_PACKAGE_ALSO_H
#define CLI_PACKAGE_ALSO_H

#include "open.h"

/** By its first bytes. @return what it is, or NULL; a static text */
const char *package_also_before(package_form form);
/** By its last ones: who opens a zip file looks for its directory from the end on. What a package in it has
 *  there is inside of an entry. @param end of what was read of it @param at where in the file */
const char *package_also_behind(package_reader *in, package_form form, uint64_t end, uint64_t *at);

#endif
