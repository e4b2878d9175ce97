/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Images: what a link, a finalization or a selection made, kept until it is destroyed. An image does not
 * need what it came from any more. */
#ifndef CUVET_IMAGE_H
#define CUVET_IMAGE_H

#include <cuvet/context.h>
#include <cuvet/kind.h>
#include <cuvet/target.h>

typedef struct cuvet_image {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_image;

/** Flags of an image. */
#define CUVET_IMAGE_COMPILED 1u /**< went through a compiler */

typedef struct cuvet_image_info {
    size_t size;         /**< sizeof(cuvet_image_info) of the caller */
    const void *bytes;   /**< borrowed until the image is destroyed; never NULL */
    size_t n;            /**< how many */
    cuvet_kind kind;     /**< CUBIN or MERCURY, PTX, LTOIR (NVVM IR as well) */
    cuvet_target target; /**< that it is for */
    uint32_t flags;      /**< CUVET_IMAGE_... */
} cuvet_image_info;

#ifdef __cplusplus
extern "C" {
#endif

/** Its bytes, and what they are. */
CUVET_API CUVET_MUST cuvet_status cuvet_image_get_info(cuvet_ctx *ctx, cuvet_image image,
                                                       cuvet_image_info *out);
/** Write an image to a file: a temporary one beside it that is renamed when complete, or nothing.
 * cuvet_save() does it in a directory that is open, with the bytes of cuvet_image_get_info().
 *  @param flags CUVET_SAVE_... @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE · CUVET_E_EXISTS ·
 * CUVET_E_IO (also for a folder whose name has more than 767 bytes) */
CUVET_API CUVET_MUST cuvet_status cuvet_image_save(cuvet_ctx *ctx, cuvet_image image, const char *path,
                                                   unsigned flags);
/** End it and poison its memory; *image becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_image_destroy(cuvet_ctx *ctx, cuvet_image *image);

#ifdef __cplusplus
}
#endif
#endif
