/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages debug remap and notes: new contents of sections of what the backend wrote. */
#include "finalize/remap.h"

#include "format/note/write.h"

cuvet_status cv_final_follow(cv_final_job *job)
{
    cv_final code = CV_FINAL_OK;
    cuvet_status status;

    if (!job->said.moved)
        return CUVET_OK;
    if (job->said.maps.count == 0)
        return cv_final_refuse(job, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_MOVED, 0, 0, 1);
    status = cv_final_remap(job->ctx, &job->made_cubin, &job->said, &job->bodies, &code);
    if (status != CUVET_OK && job->code == CV_FINAL_OK)
        job->code = code;
    return status;
}

/* Bodies ascend. */
static bool push_body(cv_final_job *job, cv_final_body body)
{
    uint64_t i = job->bodies.count;

    if (!cv_final_bodies_push(&job->ctx->mem, &job->bodies, body))
        return false;
    for (; i > 0 && cv_final_bodies_at(&job->bodies, i - 1)->section > body.section; i--)
        *cv_final_bodies_at(&job->bodies, i) = *cv_final_bodies_at(&job->bodies, i - 1);
    *cv_final_bodies_at(&job->bodies, i) = body;
    return true;
}

/* Our own note behind those of the other tools: the first stays that of the compiler, whose code it is. */
cuvet_status cv_final_notes(cv_final_job *job)
{
    const cv_cubin *cubin = &job->made_cubin;
    const cv_final_options *options = job->options;
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_TKINFO);
    cv_final_body body = { .section = i };
    cv_span old = cv_span_tail(cubin->image, cv_cubin_sec(cubin, i)->header.off);
    cv_tkinfo tkinfo = { .version = 2,
                         .object = { 0 },
                         .tool = options->tool,
                         .tool_version = options->tool_version,
                         .command = options->tool_command };
    bool named;

    if (options->tool.len == 0)
        return CUVET_OK;
    if (job->verbatim || i == 0) {
        cv_report(job->ctx, CV_R_FINAL_NO_NOTE, job->cubin.image.off, 0, 0, 0);
        return CUVET_OK;
    }
    old.len = cv_cubin_sec(cubin, i)->header.size;
    cv_builder_init(&body.bytes, &job->ctx->mem);
    cv_put_span(&body.bytes, old);
    cv_put_align(&body.bytes, 4);
    named = cv_tkinfo_put(&body.bytes, &tkinfo);
    if (named && !body.bytes.failed && push_body(job, body))
        return CUVET_OK;
    cv_builder_free(&body.bytes);
    return named ? cv_final_nomem(job)
                 : cv_final_refuse(job, CV_FINAL_CONFLICT, CV_R_FINAL_CONFLICT, 0, job->options->kind,
                                   job->options->phase);
}

/* Each section at most once, in order, and it is there. */
bool cv_final_notes_holds(const cv_final_job *job)
{
    for (uint64_t i = 0; i < job->bodies.count; i++) {
        uint32_t at = cv_final_bodies_get(&job->bodies, i)->section;

        if (at == 0 || at >= job->made_cubin.sec.count ||
            (i > 0 && cv_final_bodies_get(&job->bodies, i - 1)->section >= at))
            return false;
    }
    return true;
}
