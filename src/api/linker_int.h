/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the public linker share. */
#ifndef CV_API_LINKER_INT_H
#define CV_API_LINKER_INT_H

#include <cuvet/linker.h>

#include "api/opts.h"
#include "finalize/external.h"
#include "finalize/job.h"
#include "link/in/stages.h"
#include "link/run.h"

/* An input as it was given: ours, because the link reads it again, and works in it. */
typedef struct input {
    cv_block bytes;
    cv_block name;
    cv_id host;     /* host object that it comes from, CV_NONE: none */
    bool of_system; /* of a system library */
} input;

CV_VEC(inputs, input);
CV_VEC(modules, cv_block);

typedef enum state { COLLECTING, LINKED, FAILED, POISONED } state;

typedef struct linker {
    cv_ctx x;
    cv_link_options o;
    inputs input;
    cv_link link;
    cv_islands islands; /* that the pictures of the inputs refer to */
    cv_hosts hosts;
    bool host_info, of_system; /* of_system: the file at hand is a library of the system */
    modules module;            /* names of those that took part, terminated */
    cv_cubin picture;          /* of what is judged */
    cv_final_options final;    /* of inputs for another member of the family */
    cv_final_tool generator;
    cv_backend_use backend[2];
    cv_final_job job; /* of the finalization at hand: too large for a stack */
    cv_emit_fn *emit; /* who listens meanwhile */
    void *emit_user;
    bool begun;
    state state;
    cv_block out;   /* the result but for the code that is lent from the inputs … */
    bool whole;     /* … or all of it */
    cv_slices file; /* all of it */
    cuvet_link_result result;
} linker;

/* The linker behind a handle, which stays in use until cv_linker_done(). */
CV_MUST cuvet_status cv_linker_use(cuvet_ctx *ctx, cuvet_linker h, linker **k);
/* The same; STATE when it is in another state. */
CV_MUST cuvet_status cv_linker_use_in(cuvet_ctx *ctx, cuvet_linker h, state in, linker **k);
CV_MUST cuvet_status cv_linker_done(cuvet_ctx *ctx, cuvet_linker h, cuvet_status s);
/* linker_hosts.c: which of the inputs are objects of the link. They stand in the same order in both lists
 * until then. */
CV_MUST cuvet_status cv_linker_gather(linker *k);
/* Work on the input that comes next, as if it had so many bytes. */
void cv_linker_unit(linker *k, uint64_t bytes);
/* linker_retarget.c: who finalizes. */
CV_MUST cuvet_status cv_linker_choose(cuvet_ctx *ctx, linker *k, const cuvet_linker_options *opt);
/* Is the code of k->picture, which was admitted, for another machine than that of the link? */
CV_MUST bool cv_linker_is_off_target(const linker *k);
/* Finalize it for the target: in->bytes and k->picture become those of the result. */
CV_MUST cuvet_status cv_linker_retarget(linker *k, input *in);

#endif
