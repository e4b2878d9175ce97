/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The boundary where structures of callers become ours: each is copied once, and nothing behind looks at its
 * size. */
#ifndef CV_API_OPTS_H
#define CV_API_OPTS_H

#include <cuvet/compiler.h>
#include <cuvet/scan.h>

#include "api/ctx.h"
#include "bytes/sized.h"

/* cv_sized_take() for a call of this context: what cannot be taken is diagnosed. @return OK · USAGE */
CV_MUST cuvet_status cv_opts_take(cuvet_ctx *ctx, const void *given, void *ours, size_t known);
/* Answers go into a structure of the caller: first it is asked whether that has room at all, @return OK ·
 * USAGE (it is diagnosed), then it is filled, with zeroes but for its size where the status is another than
 * OK. 'ours' is zeroed then as well. */
CV_MUST cuvet_status cv_opts_room(cuvet_ctx *ctx, const void *given, size_t known);
CV_MUST cuvet_status cv_opts_give(void *given, void *ours, size_t known, cuvet_status status);
/* The same for parts of a structure that point to others. A source without a function, or a compiler without
 * one, is CUVET_E_USAGE. */
CV_MUST cuvet_status cv_opts_source(cuvet_ctx *ctx, const cuvet_source *given, cuvet_source *ours);
CV_MUST cuvet_status cv_opts_compiler(cuvet_ctx *ctx, const cuvet_compiler *given, cuvet_compiler *ours);
/* Options of a scan: NULL has everything judged on one thread. @return OK · USAGE · ARCH */
CV_MUST cuvet_status cv_opts_scan(cuvet_ctx *ctx, const cuvet_scan_options *given, cuvet_scan_options *ours);
/* The allocator of a caller, all three functions of it; NULL: malloc. */
CV_MUST bool cv_opts_alloc(const cuvet_alloc *given, cuvet_alloc *ours);
/* Limits: what an older caller does not have keeps the value of the preset "strict". NULL: all of them do. */
CV_MUST bool cv_opts_limits(const cuvet_limits *given, cuvet_limits *ours);

#endif
