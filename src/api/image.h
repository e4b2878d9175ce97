/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Images: results that stay when what made them goes. */
#ifndef CV_API_IMAGE_H
#define CV_API_IMAGE_H

#include <cuvet/image.h>

#include "api/ctx.h"

/* An image with a copy of the bytes that 'info' has, and what else it says. *out is zero unless OK.
 * @return OK · NOMEM · LIMIT (told) */
CV_MUST cuvet_status cv_image_make(cuvet_ctx *ctx, const cuvet_image_info *info, cuvet_image *out);
/* The end of a call that may have made one: it goes where the call did not end well. STALE_HANDLE: the
 * context may be gone, and nothing of it is touched. @return status */
CV_MUST cuvet_status cv_image_settle(cuvet_ctx *ctx, cuvet_image *image, cuvet_status status);

#endif
