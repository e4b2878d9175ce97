/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages debug remap and notes: new contents of sections of what the backend wrote. */
#include "finalize/remap.h"

#include "format/note/write.h"

cuvet_status cv_final_follow(cv_final_job *j)
{
    cv_final code = CV_FINAL_OK;
    cuvet_status s;

    if (!j->said.moved)
        return CUVET_OK;
    if (j->said.maps.n == 0)
        return cv_final_refuse(j, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_MOVED, 0, 0, 1);
    s = cv_final_remap(j->x, &j->picture, &j->said, &j->bodies, &code);
    if (s != CUVET_OK && j->code == CV_FINAL_OK)
        j->code = code;
    return s;
}

/* Bodies ascend. */
static bool push_body(cv_final_job *j, cv_final_body body)
{
    uint64_t i = j->bodies.n;

    if (!cv_final_bodies_push(&j->x->mem, &j->bodies, body))
        return false;
    for (; i > 0 && cv_final_bodies_at(&j->bodies, i - 1)->section > body.section; i--)
        *cv_final_bodies_at(&j->bodies, i) = *cv_final_bodies_at(&j->bodies, i - 1);
    *cv_final_bodies_at(&j->bodies, i) = body;
    return true;
}

/* Our own note behind those of the other tools: the first stays that of the compiler, whose code it is. */
cuvet_status cv_final_notes(cv_final_job *j)
{
    const cv_cubin *c = &j->picture;
    const cv_final_options *o = j->o;
    uint32_t i = cv_cubin_first(c, CV_ROLE_TKINFO);
    cv_final_body body = { .section = i };
    cv_span old = cv_span_tail(c->image, cv_cubin_sec(c, i)->h.off);
    cv_tkinfo t = { .version = 2,
                    .object = { 0 },
                    .tool = o->tool,
                    .tool_version = o->tool_version,
                    .command = o->tool_command };
    bool named;

    if (o->tool.len == 0)
        return CUVET_OK;
    if (j->verbatim || i == 0) {
        cv_report(j->x, CV_R_FINAL_NO_NOTE, j->cubin.image.off, 0, 0, 0);
        return CUVET_OK;
    }
    old.len = cv_cubin_sec(c, i)->h.size;
    cv_builder_init(&body.bytes, &j->x->mem);
    cv_put_span(&body.bytes, old);
    cv_put_align(&body.bytes, 4);
    named = cv_tkinfo_put(&body.bytes, &t);
    if (named && !body.bytes.failed && push_body(j, body))
        return CUVET_OK;
    cv_builder_free(&body.bytes);
    return named ? cv_final_nomem(j)
                 : cv_final_refuse(j, CV_FINAL_CONFLICT, CV_R_FINAL_CONFLICT, 0, j->o->kind, j->o->phase);
}

/* Each section at most once, in order, and it is there. */
bool cv_final_notes_holds(const cv_final_job *j)
{
    for (uint64_t i = 0; i < j->bodies.n; i++) {
        uint32_t at = cv_final_bodies_at(&j->bodies, i)->section;

        if (at == 0 || at >= j->picture.sec.n ||
            (i > 0 && cv_final_bodies_at(&j->bodies, i - 1)->section >= at))
            return false;
    }
    return true;
}
