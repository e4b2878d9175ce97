/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images: results that stay when what made them goes. */
#ifndef CV_API_IMAGE_H
#define CV_API_IMAGE_H

#include <cuvet/image.h>

#include "api/ctx.h"
#include "api/handle.h"

/* An image with a copy of the bytes that 'info' has, and what else it says. *out is zero unless OK.
 * @return OK · NOMEM · LIMIT (told) */
CV_MUST cuvet_status cv_image_make(cuvet_ctx *ctx, const cuvet_image_info *info, cuvet_image *out);
/* What an object has as an image. @return OK · a status that says why there is none */
typedef cuvet_status cv_image_maker(cuvet_ctx *ctx, void *body, cuvet_image *out);
/* The image of an object that is taken in use for it. *out is zero unless OK.
 * @return as cv_handle_get, 'make' and cv_handle_done · NULL */
CV_MUST cuvet_status cv_image_of(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits, cv_image_maker *make,
                                 cuvet_image *out);

#endif
