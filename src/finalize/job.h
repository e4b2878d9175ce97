/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One finalization on its way through the stages (engine.c). Everything it makes is in the memory of the job
 * and goes at its end, but for the result. */
#ifndef CV_FINALIZE_JOB_H
#define CV_FINALIZE_JOB_H

#include "finalize/backend.h"

typedef enum cv_final_phase { CV_PHASE_ALONE = 0, CV_PHASE_PRELINK, CV_PHASE_POSTLINK } cv_final_phase;

/* What is wanted; borrowed through the run. */
typedef struct cv_final_options {
    uint32_t target_sm; /* 0: that of the input */
    char target_suffix;
    cv_kind kind; /* CV_KIND_NONE: that of the input */
    cv_final_phase phase;
    bool fastpath_off, self_check;
    uint8_t level_most;  /* claims above it are not believed, 0 to 4 */
    bool exact;          /* code for sm_Na goes to sm_Na only */
    bool only_tool_note; /* see tool */
    /* Our own note among those of the tools; tool NULL: none. */
    const char *tool, *tool_version, *tool_build, *tool_command;
    uint64_t max_output;
    const cv_backend_use *backend; /* to choose from */
    size_t n_backends;
    void (*trace)(void *user, const char *line); /* may be NULL */
    void *trace_user;
    const bool *cancel; /* may be NULL */
} cv_final_options;

/* New contents of a section of the image that the backend wrote. */
typedef struct cv_final_body {
    uint32_t section;
    cv_builder bytes;
} cv_final_body;

CV_VEC(cv_final_bodies, cv_final_body);

typedef struct cv_final_job {
    cv_ctx *x;
    const cv_final_options *o;
    const char *name; /* for messages */
    cv_final code;    /* of the first thing that went wrong */
    /* admit */
    cv_span in;
    cv_cubin cubin; /* picture of the input */
    cv_kind in_kind, out_kind;
    uint32_t dst_sm;
    /* transform */
    cv_backend_use use; /* backend NULL: nothing to do */
    cv_backend_req req;
    cv_backend_out said;
    cv_block made;    /* what the backend wrote … */
    cv_cubin picture; /* … and its picture */
    /* debug remap, notes */
    cv_final_bodies bodies; /* ascending */
    cv_block *out;
} cv_final_job;

/* The debug remap (remap.h) has this form: c is the picture of an image whose code moved and whose
 * .debug_line and .debug_frame still speak of the old places; maps and moves say where it went. New contents
 * of sections (also of relocation sections of debug sections) are pushed onto *bodies, ascending by section;
 * nothing is pushed for what does not change. Reports what is wrong with cv_reject(); *code gets the code.
 *
 *   CV_MUST cuvet_status cv_final_remap(cv_ctx *x, const cv_cubin *c, const cv_backend_out *said,
 * cv_final_bodies *bodies, cv_final *code);
 */

#endif
