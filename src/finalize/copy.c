/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Backend copy: code that runs on the target as it is, in the form that is wanted. The number of the machine
 * in e_flags changes, and no other byte. */
#include "finalize/job.h"
#include "finalize/rewrite.h"

static cv_final probe_copy(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    bool level;
    cv_final answer;

    (void)self;
    *cost = 1;
    if (req->out_kind != req->in_kind || !req->cubin->conv)
        return CV_FINAL_NO_BACKEND;
    if (req->src_sm == req->dst_sm)
        return CV_FINAL_OK;
    answer = cv_can_finalize_most(req->compat, req->src_sm, req->dst_sm, req->level_most, &level);
    if (answer != CV_FINAL_OK)
        return answer;
    return cv_can_fastpath(req->compat, req->src_sm, req->dst_sm, req->fastpath) ? CV_FINAL_OK
                                                                                 : CV_FINAL_NO_BACKEND;
}

/* A byte of the input that becomes another. */
typedef struct change {
    uint64_t at;
    uint8_t byte;
} change;

/* The mask, where it has to be raised. */
static change find_mask_change(const cv_backend_req *req)
{
    const cv_cubin *cubin = req->cubin;
    uint64_t bit = cv_fastpath_bit(req->dst_sm);
    change to = { 0, 0 };

    if (bit == 0 || bit > UINT8_MAX || !cv_compat_has(&cubin->claims, CV_COMPAT_CAN_FASTPATH_FINALIZE) ||
        (cubin->claims.fastpath & bit) != 0)
        return to;
    to.at = cv_sat_add(cv_cubin_sec(cubin, cv_cubin_first(cubin, CV_ROLE_COMPAT))->header.off,
                       cubin->claims.fastpath_at);
    to.byte = (uint8_t)((cubin->claims.fastpath | bit) & UINT8_MAX);
    return to;
}

static bool put_copy(const cv_backend_req *req, change mask, cv_builder *flags, cv_final_sink *to)
{
    uint64_t at = cv_elf_ehdr_at(false, CV_EH_FLAGS);
    cv_span head = cv_span_tail(req->in, 0), rest = cv_span_tail(req->in, at + 4), most = rest;

    cv_put_u32(flags, cv_final_flags(req->cubin, req->out_kind, req->dst_sm,
                                     cv_elf_flags_note(req->cubin->header.flags)));
    head.len = at;
    if (flags->failed || !cv_final_sink_put(to, head) || !cv_final_sink_put(to, cv_builder_span(flags)))
        return false;
    if (mask.at > at + 4) {
        most.len = mask.at - (at + 4);
        rest = cv_span_tail(req->in, mask.at + 1);
        if (!cv_final_sink_put(to, most) || !cv_final_sink_put(to, cv_span_of(&mask.byte, 1, 0)))
            return false;
    }
    return cv_final_sink_put(to, rest) && cv_final_sink_end(to);
}

static cuvet_status write_copy(cv_ctx *ctx, const cv_backend_req *req, change mask, cv_final_sink *to,
                               cv_backend_out *out)
{
    cuvet_status status = cv_final_sink_begin(to, req->in.len);
    cv_builder flags;

    if (status != CUVET_OK) {
        out->code = status == CUVET_E_NOMEM ? CV_FINAL_MEMORY : CV_FINAL_LIMIT;
        return status;
    }
    cv_builder_init(&flags, &ctx->mem);
    if (!put_copy(req, mask, &flags, to)) {
        status = flags.failed ? cv_nomem(ctx, 0) : cv_reject(ctx, CV_R_FINAL_PASSES, 0, to->at, to->size);
        out->code = flags.failed ? CV_FINAL_MEMORY : CV_FINAL_PASSES;
    }
    cv_builder_free(&flags);
    return status;
}

static cuvet_status run_copy(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                             cv_backend_out *out)
{
    (void)self;
    return write_copy(ctx, req, (change){ 0, 0 }, to, out);
}

bool cv_backend_can_copy_as(const cv_backend_req *req)
{
    return cv_can_fastpath(req->compat, req->src_sm, req->dst_sm, true) || find_mask_change(req).at != 0;
}

cuvet_status cv_backend_copy_as(cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                                cv_backend_out *out)
{
    change mask = find_mask_change(req);

    out->runs_there = mask.at != 0;
    return write_copy(ctx, req, mask, to, out);
}

const cv_backend cv_backend_copy = {
    .abi = CV_BACKEND_ABI, .name = "copy", .caps = CV_BACKEND_COPY, .probe = probe_copy, .run = run_copy
};
