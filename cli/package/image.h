/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images of containers in one archive: which of its entries are layers, in which order, and which files of
 * a layer a later one deletes or replaces. Pure functions over names and JSON, without libarchive: tests
 * and the fuzz target image reach them without a process. What is kept is names; how much of them has a
 * limit. */
#ifndef CLI_PACKAGE_IMAGE_H
#define CLI_PACKAGE_IMAGE_H

#include "../what.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct package_image package_image;

/* What an entry of a layer is. */
typedef enum image_kind {
    IMAGE_FILE,
    IMAGE_FOLDER,
    IMAGE_LINK, /* a hard link */
    IMAGE_SYMLINK
} image_kind;

/* A file of a layer that is not in the image, as cuvet-package tells itself: by its number among the headers
 * of the layer, ascending. */
typedef struct image_mark {
    uint32_t ordinal, fate, layer; /* cli_fate; the layer that did it, from 1, 0: none */
} image_mark;

enum { IMAGE_JSON_MOST = 4 << 20, IMAGE_MARKS_MOST = 32 << 20 };

/** @param size bytes of the archive as it is shipped  @return NULL: out of memory */
package_image *image_new(uint64_t size);
void image_free(package_image *image);

/* ---- first: the names of the archive's entries ---- */

/** Does an archive of images begin like this, for who cannot look at all of it? */
bool image_name_fits(const char *name);
/** The next entry; they are numbered from 0. @param link where it points to, if it is a link; NULL: it is
 *  none @param hard a hard link, whose target is no matter of its folder */
void image_add_entry(package_image *image, const char *name, const char *link, bool hard);
/** That was all. @return is there anything that may describe an image? */
bool image_end_entries(package_image *image);

/* ---- then: the descriptions ---- */

/** May this entry be one, by its name … */
bool image_wants_json(const package_image *image, uint32_t ordinal);
/** … and by its first bytes? */
bool image_is_json(const char *head, size_t n_head);
/** Keep it. */
void image_add_json(package_image *image, uint32_t ordinal, const char *bytes, size_t size);
/** Read them, and know the layers. @return false: there is no image, and nothing is wrong */
bool image_read_json(package_image *image);

/* ---- then: the names of each layer's entries, one layer after the other ---- */

bool image_wants_layer(const package_image *image, uint32_t ordinal);
/** Of a blob: does it begin like something that can be unpacked, whatever its description says? */
void image_add_head(package_image *image, uint32_t ordinal, bool known);
enum { IMAGE_DIGEST = 32 };
/** Is its name the SHA-256 of its bytes? Some readers take a blob by the one, some by the other. */
bool image_wants_digest(const package_image *image, uint32_t ordinal);
void image_add_digest(package_image *image, uint32_t ordinal, const uint8_t digest[IMAGE_DIGEST]);
void image_begin_layer(package_image *image, uint32_t ordinal);
/** @param link of a hard link */
void image_add_path(package_image *image, uint32_t ordinal, image_kind kind, const char *name,
                    const char *link);
/** Now it is known which files are in an image. */
void image_resolve(package_image *image);

/* ---- what came of it ---- */

/** What becomes of an entry of the archive itself. */
cli_fate image_fate(const package_image *image, uint32_t ordinal);
/** Is it a layer whose description says that it is encrypted? */
bool image_is_secret(const package_image *image, uint32_t ordinal);
/** The marks of a layer, to be freed; NULL: none. */
image_mark *image_marks(const package_image *image, uint32_t ordinal, size_t *count);
/** What is wrong with it; NULL: nothing. @param limit it is too much, and not wrong */
const char *image_fault(const package_image *image, bool *limit);
/** The name of a layer or description that is not there; NULL after the last one. */
const char *image_missing(const package_image *image, size_t which);

/* ---- image_json.c ---- */

/** What is wrong with it; a static text. */
void image_set_fault(package_image *image, const char *why);
/** manifest.json, as docker save writes it. @return false: it is none, or cannot be read */
bool image_take_docker(package_image *image, const char *bytes, size_t size);
/** An index, or a manifest. */
bool image_take_oci(package_image *image, const char *bytes, size_t size);
/** An image begins, and its layers from the lowest on. @param digest by digest, or by name */
void image_begin(package_image *image, bool oci);
void image_add_layer(package_image *image, const char *name, bool digest, bool secret);
/** Another description, by digest. */
void image_add_description(package_image *image, const char *digest);

#endif
