/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a package is as well: for readers that look elsewhere to know what a file is. */
#ifndef CLI_PACKAGE_ALSO_H
#define CLI_PACKAGE_ALSO_H

#include "open.h"

/** By its first bytes. @return what it is, or NULL; a static text */
const char *package_also_before(package_form form);
/** By its last ones: who opens a zip file looks for its directory from the end on. To be called before the
 *  entries are read: whoever does so then finds out where what is packed ends. */
void package_also_look(package_reader *in, package_form form);
/** When they were read: what a package in it has at its end is inside of an entry. @return what it is, or why
 *  that is not known; NULL: nothing. In the file that is at in->zip */
const char *package_also_behind(const package_reader *in, package_cause *cause);

#endif
