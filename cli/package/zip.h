/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A zip file says twice what is in it: in the directory at its end, and before the bytes of each entry.
 * Readers believe the one or the other. */
#ifndef CLI_PACKAGE_ZIP_H
#define CLI_PACKAGE_ZIP_H

#include <stdbool.h>
#include <stdint.h>

/** Do both halves say the same, for everybody? Each entry of the directory is where it says, with its name,
 *  method, sizes and checksum; entries follow each other, and the directory them, without a byte that belongs
 *  to none; no name comes twice; none is a directory for some and a file for others. @param fd read by
 *  position @param size of the file @param at where in the file that is not so @return NULL, or what is not
 *  so; a static text, also where there is no directory, or no memory to compare */
const char *package_zip_differs(int fd, uint64_t size, uint64_t *at);
/** Does it end with a directory that has entries? */
bool package_zip_ends(int fd, uint64_t size);

typedef enum package_zip_look {
    ZIP_NOWHERE,
    ZIP_END_ALONE, /* the file ends as one with entries does, and nothing else of it is there */
    ZIP_DIRECTORY,
    ZIP_MANY_MARKS /* there are more marks of an end than are looked at; the first ones are of no directory */
} package_zip_look;

/** Is there a directory for those who look for it from the end on, whatever stands behind it? @param at where
 *  it ends in the file; of many marks: the first one that was not looked at */
package_zip_look package_zip_found(int fd, uint64_t size, uint64_t *at);

#endif
