/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the public linker share. */
#ifndef CV_API_LINKER_INT_H
#define CV_API_LINKER_INT_H

#include <cuvet/linker.h>

#include "api/opts.h"
#include "drive/link.h"

typedef cv_linker linker_state;

/* What a link is asked by options that were checked; the key is the caller's to choose. */
cv_link_options cv_linker_options_of(const cuvet_linker_options *opt);
/* The linker behind a handle, which stays in use until cv_linker_done(). */
CV_MUST cuvet_status cv_linker_use(cuvet_ctx *ctx, cuvet_linker handle, linker_state **out);
/* The same; STATE when it is in another state. */
CV_MUST cuvet_status cv_linker_use_in(cuvet_ctx *ctx, cuvet_linker handle, cv_linker_state in,
                                      linker_state **out);
CV_MUST cuvet_status cv_linker_done(cuvet_ctx *ctx, cuvet_linker handle, cuvet_status status);

#endif
