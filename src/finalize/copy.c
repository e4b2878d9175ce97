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

static bool copy(const cv_backend_req *q, cv_builder *flags, cv_final_sink *to)
{
    uint64_t at = cv_elf_ehdr_at(false, CV_EH_FLAGS);
    cv_span head = cv_span_tail(q->in, 0);

    cv_put_u32(flags, cv_final_flags(q->cubin, q->out_kind, q->dst_sm, q->cubin->h.flags >> 24));
    head.len = at;
    return !flags->failed && cv_final_sink_put(to, head) && cv_final_sink_put(to, cv_builder_span(flags)) &&
           cv_final_sink_put(to, cv_span_tail(q->in, at + 4)) && cv_final_sink_end(to);
}

static cuvet_status run(void *self, cv_ctx *x, const cv_backend_req *q, cv_final_sink *to,
                        cv_backend_out *out)
{
    cuvet_status s = cv_final_sink_begin(to, q->in.len);
    cv_builder flags;

    (void)self;
    if (s != CUVET_OK) {
        out->code = CV_FINAL_LIMIT;
        return s;
    }
    cv_builder_init(&flags, &x->mem);
    if (!copy(q, &flags, to)) {
        s = flags.failed ? cv_nomem(x, 0) : cv_reject(x, CV_R_FINAL_PASSES, 0, to->at, to->size);
        out->code = flags.failed ? CV_FINAL_MEMORY : CV_FINAL_PASSES;
    }
    cv_builder_free(&flags);
    return s;
}

const cv_backend cv_backend_copy = {
    .abi = CV_BACKEND_ABI, .name = "copy", .caps = CV_BACKEND_COPY, .probe = probe, .run = run
};
