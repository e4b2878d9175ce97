/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names as numbers: entering one is paid for, and gives it a meaning. */
#include "link/in/stages.h"

/* Work that was used up was reported where that happened. */
cuvet_status cv_l_nomem(const cv_link *link)
{
    return link->ctx->work_out ? CUVET_E_LIMIT : cv_nomem(link->ctx, 0);
}

/* Texts are read as often as somebody names them: they cost. */
static bool pay(cv_link *link, cv_span text)
{
    return cv_work(link->ctx, 1 + text.len / 16, 0);
}

cv_id cv_l_name(cv_link *link, cv_span text)
{
    return pay(link, text) ? cv_names_put(&link->ctx->mem, &link->names->set, text) : CV_NONE;
}

cv_id cv_l_name_join(cv_link *link, const char *prefix, cv_id rest)
{
    cv_span text = cv_l_text(link, rest);
    return pay(link, text) ? cv_names_join(&link->ctx->mem, &link->names->set, prefix, text) : CV_NONE;
}

cv_id cv_l_name_join_span(cv_link *link, const char *prefix, cv_span rest)
{
    return pay(link, rest) ? cv_names_join(&link->ctx->mem, &link->names->set, prefix, rest) : CV_NONE;
}
