/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/unit.h"

void cv_result_move(cv_result *to, cv_result *from)
{
    static const cv_result NONE; /* a literal of this size would be built on the stack */

    *to = *from;
    *from = NONE;
}

void cv_result_free(cv_result *result)
{
    if (!result->mem)
        return;
    cv_diags_free(result->mem, &result->diags);
    cv_u8s_free(result->mem, &result->ident);
    cv_u8s_free(result->mem, &result->triple);
    cv_keys_free(result->mem, &result->totals);
    cv_claims_free(result->mem, &result->file.claims);
    cv_claims_free(result->mem, &result->inner.claims);
    cv_mem_put(result->mem, result->content.mem, result->content.cap);
    *result = (cv_result){ 0 };
}

cuvet_kind cv_unit_kind_of(uint16_t kind)
{
    switch (kind) {
    case CV_FB_KIND_PTX: return CUVET_K_PTX;
    case CV_FB_KIND_ELF: return CUVET_K_CUBIN;
    case CV_FB_KIND_LTOIR: return CUVET_K_LTOIR;
    case CV_FB_KIND_MERCURY: return CUVET_K_MERCURY;
    default: return CUVET_K_NONE;
    }
}

cuvet_status cv_worker_move_out(cv_worker *worker, cv_block *content, cv_span image, cv_ctx *ctx,
                                cv_block *bytes, cv_cubin *cubin)
{
    uint64_t size;

    cv_keys_free(&worker->ctx.mem, &worker->cubin.by_off); /* scratch of the examination */
    size = content->cap + worker->cubin.sec.cap * sizeof(cv_sec);
    if (!cv_mem_move(&ctx->mem, &worker->ctx.mem, size))
        return cv_nomem(ctx, 0);
    *bytes = *content;
    bytes->span = image;
    *cubin = worker->cubin;
    *content = (cv_block){ 0 };
    cv_cubin_init(&worker->cubin);
    cv_islands_take(&worker->islands);
    return CUVET_OK;
}
