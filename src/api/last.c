/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api/last.h"

#include "api/opts.h"
#include "base/text.h"

void cv_last_keep(cv_last *last, const cuvet_diag *diag)
{
    if (diag->severity == CUVET_NOTE)
        return;
    pthread_mutex_lock(&last->lock);
    last->diag = *diag;
    last->is_set = true;
    pthread_mutex_unlock(&last->lock);
}

static void add_message(cv_text *out, const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char part[512];

    cv_text_str(out, rule ? rule->title : "?");
    cv_text_str(out, ": ");
    (void)cuvet_diag_message(diag, part, sizeof(part)); /* what is too long is cut */
    cv_text_str(out, part);
}

static void add_place(cv_text *out, const cuvet_diag *diag)
{
    char part[512];

    if (cuvet_path_text(&diag->where, part, sizeof(part)) > 0) {
        cv_text_str(out, part);
        cv_text_char(out, ' ');
    }
    cv_text_str(out, "at ");
    cv_text_hex(out, (diag->flags & CUVET_DIAG_INNER) != 0 ? diag->inner_off : diag->file_off);
}

void cv_last_message(const cuvet_diag *diag, char *buf, size_t cap)
{
    cv_text out = { buf, cap, 0 };

    add_message(&out, diag);
    cv_text_end(&out);
}

void cv_last_place(const cuvet_diag *diag, char *buf, size_t cap)
{
    cv_text out = { buf, cap, 0 };

    add_place(&out, diag);
    cv_text_end(&out);
}

size_t cv_last_text(const cuvet_diag *diag, char *buf, size_t cap)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    cv_text out = { buf, buf ? cap : 0, 0 };

    cv_text_str(&out, rule ? rule->id : "?");
    cv_text_char(&out, ' ');
    add_message(&out, diag);
    cv_text_str(&out, " (");
    add_place(&out, diag);
    cv_text_char(&out, ')');
    cv_text_end(&out);
    return out.len;
}

cuvet_status cuvet_ctx_last_diag(cuvet_ctx *ctx, cuvet_diag *out)
{
    cuvet_status status = CUVET_END;
    cuvet_diag diag;

    if (!ctx || !out)
        return CUVET_E_NULL;
    if (!cv_sized_is_possible(out))
        return CUVET_E_USAGE; /* a diagnostic about it would take the place of what was asked for */
    pthread_mutex_lock(&ctx->last.lock);
    diag = ctx->last.diag;
    if (ctx->last.is_set)
        status = CUVET_OK;
    pthread_mutex_unlock(&ctx->last.lock);
    return cv_opts_give(out, &diag, sizeof(diag), status);
}

const char *cuvet_ctx_last_text(cuvet_ctx *ctx)
{
    if (!ctx)
        return "";
    pthread_mutex_lock(&ctx->last.lock);
    if (ctx->last.is_set)
        (void)cv_last_text(&ctx->last.diag, ctx->last.text, sizeof(ctx->last.text)); /* cut */
    pthread_mutex_unlock(&ctx->last.lock);
    return ctx->last.text;
}
