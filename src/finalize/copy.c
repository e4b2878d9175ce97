/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Backend copy: code that runs on the target as it is, in the form that is wanted. The number of the machine
 * in e_flags changes, and no other byte. */
#include "finalize/job.h"
#include "finalize/rewrite.h"

static cv_final probe(const void *self, const cv_backend_req *q, uint32_t *cost)
{
    bool level;
    cv_final f;

    (void)self;
    *cost = 1;
    if (q->out_kind != q->in_kind || !q->cubin->conv)
        return CV_FINAL_NO_BACKEND;
    if (q->src_sm == q->dst_sm)
        return CV_FINAL_OK;
    f = cv_can_finalize_most(q->compat, q->src_sm, q->dst_sm, q->level_most, &level);
    if (f != CV_FINAL_OK)
        return f;
    return cv_can_fastpath(q->compat, q->src_sm, q->dst_sm, q->fastpath) ? CV_FINAL_OK : CV_FINAL_NO_BACKEND;
}

/* A byte of the input that becomes another. */
typedef struct change {
    uint64_t at;
    uint8_t byte;
} change;

/* The mask, where it has to be raised. */
static change raised(const cv_backend_req *q)
{
    const cv_cubin *c = q->cubin;
    uint64_t bit = cv_fastpath_bit(q->dst_sm);
    change to = { 0, 0 };

    if (bit == 0 || bit > UINT8_MAX || !cv_compat_has(&c->claims, CV_COMPAT_CAN_FASTPATH_FINALIZE) ||
        (c->claims.fastpath & bit) != 0)
        return to;
    to.at = cv_sat_add(cv_cubin_sec(c, cv_cubin_first(c, CV_ROLE_COMPAT))->h.off, c->claims.fastpath_at);
    to.byte = (uint8_t)((c->claims.fastpath | bit) & UINT8_MAX);
    return to;
}

static bool copy(const cv_backend_req *q, change mask, cv_builder *flags, cv_final_sink *to)
{
    uint64_t at = cv_elf_ehdr_at(false, CV_EH_FLAGS);
    cv_span head = cv_span_tail(q->in, 0), rest = cv_span_tail(q->in, at + 4), most = rest;

    cv_put_u32(flags, cv_final_flags(q->cubin, q->out_kind, q->dst_sm, q->cubin->h.flags >> 24));
    head.len = at;
    if (flags->failed || !cv_final_sink_put(to, head) || !cv_final_sink_put(to, cv_builder_span(flags)))
        return false;
    if (mask.at > at + 4) {
        most.len = mask.at - (at + 4);
        rest = cv_span_tail(q->in, mask.at + 1);
        if (!cv_final_sink_put(to, most) || !cv_final_sink_put(to, cv_span_of(&mask.byte, 1, 0)))
            return false;
    }
    return cv_final_sink_put(to, rest) && cv_final_sink_end(to);
}

static cuvet_status write_copy(cv_ctx *x, const cv_backend_req *q, change mask, cv_final_sink *to,
                               cv_backend_out *out)
{
    cuvet_status s = cv_final_sink_begin(to, q->in.len);
    cv_builder flags;

    if (s != CUVET_OK) {
        out->code = s == CUVET_E_NOMEM ? CV_FINAL_MEMORY : CV_FINAL_LIMIT;
        return s;
    }
    cv_builder_init(&flags, &x->mem);
    if (!copy(q, mask, &flags, to)) {
        s = flags.failed ? cv_nomem(x, 0) : cv_reject(x, CV_R_FINAL_PASSES, 0, to->at, to->size);
        out->code = flags.failed ? CV_FINAL_MEMORY : CV_FINAL_PASSES;
    }
    cv_builder_free(&flags);
    return s;
}

static cuvet_status run(void *self, cv_ctx *x, const cv_backend_req *q, cv_final_sink *to,
                        cv_backend_out *out)
{
    (void)self;
    return write_copy(x, q, (change){ 0, 0 }, to, out);
}

bool cv_backend_can_copy_as(const cv_backend_req *q)
{
    return cv_can_fastpath(q->compat, q->src_sm, q->dst_sm, true) || raised(q).at != 0;
}

cuvet_status cv_backend_copy_as(cv_ctx *x, const cv_backend_req *q, cv_final_sink *to, cv_backend_out *out)
{
    change mask = raised(q);

    out->runs_there = mask.at != 0;
    return write_copy(x, q, mask, to, out);
}

const cv_backend cv_backend_copy = {
    .abi = CV_BACKEND_ABI, .name = "copy", .caps = CV_BACKEND_COPY, .probe = probe, .run = run
};
