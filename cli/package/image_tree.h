/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names in the layers of images as one tree, and what each layer does to those below it. */
#ifndef CLI_PACKAGE_IMAGE_TREE_H
#define CLI_PACKAGE_IMAGE_TREE_H

#include "image.h"

typedef struct image_tree image_tree;

/** @param size bytes of the archive as it is shipped: what may be kept and compared follows them.
 *  @return NULL: out of memory */
image_tree *image_tree_new(uint64_t size);
void image_tree_free(image_tree *tree);

/** A layer begins. @return its number, from 1; 0: there is no memory */
uint32_t image_tree_begin(image_tree *tree);
void image_tree_add(image_tree *tree, uint32_t ordinal, image_kind kind, const char *name, const char *link);

/** An image begins: its layers are told, in any order, and then looked at from the highest down. */
void image_tree_open(image_tree *tree);
void image_tree_tell(image_tree *tree, uint32_t layer, uint32_t number);
/** @param number by which this layer is called, from 1 @param layer 0: one that could not be read */
void image_tree_look(image_tree *tree, uint32_t layer, uint32_t number);

/** What is in none of the images. To be freed; NULL: nothing. */
image_mark *image_tree_marks(const image_tree *tree, uint32_t layer, size_t *count);
/** There was more than is kept or compared. */
bool image_tree_beyond(const image_tree *tree);
/** A hard link leads through a symbolic one: what it keeps is not known. */
bool image_tree_unsure(const image_tree *tree);
/** A whiteout names nothing, or the folder that it is in: some readers refuse it, and others delete that. */
bool image_tree_odd(const image_tree *tree);

/** "./a//b/../c/" is "a/c"; "" is the whole. To be freed; NULL: out of memory. */
char *image_tidy(const char *name);

#endif
