/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives of images in cuvet-package: what is looked at before entries are sent, and what is known of a
 * layer by whoever looked at its archive. */
#ifndef CLI_PACKAGE_IMAGE_READ_H
#define CLI_PACKAGE_IMAGE_READ_H

#include "image.h"
#include "open.h"

/** Is this tar file an archive of images? Then what is in its layers is known, and what of that is content.
 *  Reads  it several times. @return NULL: it is none */
package_image *package_read_image(package_reader *in, package_form form, package_form within);

/* Notes about a package, from the descriptor PACKAGE_NOTES. */
typedef struct package_notes {
    image_mark *mark;
    size_t count, at;
} package_notes;

/** Without them, if they cannot be read. */
void package_read_notes(package_notes *notes);
/** Entries are asked for in their order. @return NULL: nothing is said of this one */
const image_mark *package_note_of(package_notes *notes, uint32_t ordinal);

#endif
