/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names as numbers: entering one is paid for. */
#include "link/in/link.h"

/* Work that was used up was reported where that happened. */
cuvet_status cv_in_nomem(cv_ctx *ctx)
{
    return ctx->work_out ? CUVET_E_LIMIT : cv_nomem(ctx, 0);
}

bool cv_l_fill_none(cv_mem *mem, cv_u32s *list, uint64_t count)
{
    if (!cv_u32s_room(mem, list, count))
        return false;
    while (list->count < count)
        if (!cv_u32s_push(mem, list, CV_NONE))
            return false;
    return true;
}

/* Texts are read as often as somebody names them: they cost. */
static bool pay_for_text(cv_ctx *ctx, cv_span text)
{
    return cv_work(ctx, 1 + text.len / 16, 0);
}

cv_id cv_in_name(cv_ctx *ctx, cv_part_names *names, cv_span text)
{
    return pay_for_text(ctx, text) ? cv_names_put(&ctx->mem, &names->set, text) : CV_NONE;
}

cv_id cv_in_name_like(cv_ctx *ctx, cv_part_names *names, cv_span text, cv_id likely)
{
    if (!pay_for_text(ctx, text))
        return CV_NONE;
    return cv_span_eq(cv_names_text(&names->set, likely), text) ? likely
                                                                : cv_names_put(&ctx->mem, &names->set, text);
}

cv_id cv_in_name_join(cv_ctx *ctx, cv_part_names *names, const char *prefix, cv_span rest)
{
    return pay_for_text(ctx, rest) ? cv_names_join(&ctx->mem, &names->set, prefix, rest) : CV_NONE;
}
