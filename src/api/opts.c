/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api/opts.h"

#include "scan/scan.h"

#include <string.h>

cuvet_status cv_opts_take(cuvet_ctx *ctx, const void *given, void *ours, size_t known)
{
    const cuvet_diag diag = {
        .rule = CV_R_API_SIZE, .severity = CUVET_ERROR, .got = cv_sized_size(given), .want = known
    };

    if (cv_sized_take(given, ours, known))
        return CUVET_OK;
    cv_ctx_emit(ctx, &diag);
    return CUVET_E_USAGE;
}

cuvet_status cv_opts_room(cuvet_ctx *ctx, const void *given, size_t known)
{
    const cuvet_diag diag = {
        .rule = CV_R_API_SIZE, .severity = CUVET_ERROR, .got = cv_sized_size(given), .want = known
    };

    if (cv_sized_is_possible(given))
        return CUVET_OK;
    cv_ctx_emit(ctx, &diag);
    return CUVET_E_USAGE;
}

cuvet_status cv_opts_give(void *given, void *ours, size_t known, cuvet_status status)
{
    if (status != CUVET_OK)
        memset(ours, 0, known);
    cv_sized_fill(given, ours, known);
    return status;
}

cuvet_status cv_opts_source(cuvet_ctx *ctx, const cuvet_source *given, cuvet_source *ours)
{
    cuvet_status status = cv_opts_take(ctx, given, ours, sizeof(*ours));

    return status == CUVET_OK && !ours->read_at ? CUVET_E_USAGE : status;
}

cuvet_status cv_opts_compiler(cuvet_ctx *ctx, const cuvet_compiler *given, cuvet_compiler *ours)
{
    cuvet_status status = cv_opts_take(ctx, given, ours, sizeof(*ours));

    return status == CUVET_OK && !ours->compile ? CUVET_E_USAGE : status;
}

cuvet_status cv_opts_scan(cuvet_ctx *ctx, const cuvet_scan_options *given, cuvet_scan_options *ours)
{
    cuvet_status status = CUVET_OK;

    *ours = (cuvet_scan_options){ .size = sizeof(*ours), .depth = CUVET_DEPTH_FULL };
    if (given)
        status = cv_opts_take(ctx, given, ours, sizeof(*ours));
    if (status != CUVET_OK)
        return status;
    if (ours->jobs > CV_SCAN_JOBS_MAX || (ours->claim && ours->jobs > 1) ||
        (unsigned)ours->depth > CUVET_DEPTH_FULL)
        return CUVET_E_USAGE;
    return ours->target.sm != 0 && !cv_arch_known(ours->target) ? CUVET_E_ARCH : CUVET_OK;
}

bool cv_opts_alloc(const cuvet_alloc *given, cuvet_alloc *ours)
{
    *ours = cv_alloc_default;
    return !given ||
           (cv_sized_take(given, ours, sizeof(*ours)) && ours->alloc && ours->resize && ours->release);
}

bool cv_opts_limits(const cuvet_limits *given, cuvet_limits *ours)
{
    static const cuvet_limits STRICT = {
        .size = sizeof(STRICT),
#define LIMIT(field, unit, strict, roomy, tiny, what) .field = (strict),
#include "limits.def"
#undef LIMIT
    };

    *ours = STRICT;
    return !given || cv_sized_take(given, ours, sizeof(*ours));
}
