/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The input object: one payload on its way from bytes to an admitted device ELF. Every step either happens
 * whole or leaves the object as it was; only select may leave it FAILED. One thread at a time, but for
 * cancel. */
#ifndef CV_DRIVE_SELECT_H
#define CV_DRIVE_SELECT_H

#include "intake/choose.h"
#include "intake/walk.h"

typedef struct cv_input {
    cuvet_alloc alloc;
    cv_ctx ctx; /* of the walk and of the object's own memory */
    cv_emit_fn *emit;
    void *emit_user;
    cuvet_select_state state;
    cuvet_select_options cfg;
    cuvet_compiler compiler; /* compile NULL: none */
    cv_u8s option_text;      /* each with its NUL … */
    cv_u64s option_at;       /* … and where it begins */
    uint8_t *copy;           /* payload, when it is ours */
    uint64_t copy_len;
    const uint8_t *bytes; /* what is bound, without a pad … */
    uint64_t length;      /* … the caller's, or in 'copy' */
    cuvet_content_info content;
    cv_candidates candidates;
    cv_candidates found; /* by the bind that runs */
    cv_walk walk;        /* while members are listed … */
    bool listed;         /* … by us: somebody else has listed those of one container */
    cv_unit unit;
    cv_diags diags; /* of the last bind, and of what followed */
    bool lost;      /* one of them could not be kept … */
    bool has_live;  /* … because of the memory limit: which is kept here */
    cuvet_diag live;
    /* select */
    cv_worker *worker;
    cv_budget budget;         /* of what is bound, for all levels that a select goes down to … */
    const cv_budget *of_file; /* … or what is left of that of the file it lies in; NULL: it is the file */
    cv_result result;         /* of the chosen unit */
    cv_block nested;          /* content that a chosen member was unpacked to, when it holds containers */
    cv_block image;           /* the result */
    cv_u8s log;
    cuvet_select_result out; /* bytes in 'image' */
    bool keep;  /* a device ELF that is chosen stays with the worker: see cv_input_move_out() … */
    bool moved; /* … and its offsets begin at 0 although it is stored as it is */
    int cancel; /* atomic */
} cv_input;

void cv_input_init(cv_input *in, const cuvet_alloc *alloc, const cuvet_limits *lim, cv_emit_fn *emit,
                   void *emit_user);
void cv_input_free(cv_input *in);

/* @return OK · STATE · ARCH · USAGE */
CV_MUST cuvet_status cv_input_configure(cv_input *in, const cuvet_select_options *cfg);
/* @return OK · STATE · USAGE · LIMIT · NOMEM */
CV_MUST cuvet_status cv_input_option(cv_input *in, const char *text, size_t len);
CV_MUST cuvet_status cv_input_bind(cv_input *in, const void *bytes, size_t size, bool copy,
                                   cuvet_content_info *out);
/* The same with the bytes of a source, which are kept. @return as cv_input_bind · IO · LIMIT */
CV_MUST cuvet_status cv_input_bind_source(cv_input *in, const cuvet_source *src, cuvet_content_info *out);
/* The same for a container whose members somebody has listed in walking the file that it lies in, and nothing
 * was wrong with it. */
CV_MUST cuvet_status cv_input_bind_listed(cv_input *in, cv_span container, const cv_listing *list);
CV_MUST cuvet_status cv_input_select(cv_input *in);

/* The device ELF that a selection with 'keep' has chosen: its bytes and what was parsed of them become those
 * of x. What is left can only be freed. @return OK · LIMIT (reported in x) */
CV_MUST cuvet_status cv_input_move_out(cv_input *in, cv_ctx *ctx, cv_block *bytes, cv_cubin *cubin);
/* Was nothing but notes said of the chosen device ELF, and does it lie in memory of its own? */
CV_MUST bool cv_input_is_clean(const cv_input *in);

/* Parts of bind and select: see the files of these names. */
CV_MUST cuvet_status cv_input_walk(cv_input *in, const cuvet_source *src, uint64_t off, uint64_t end,
                                   uint32_t depth, cv_candidates *to);
/* Examine one unit; its findings are delivered. @return OK with in->result filled, or what stands in the way.
 */
CV_MUST cuvet_status cv_input_examine(cv_input *in, const cuvet_source *src, const cv_unit *unit);
CV_MUST cuvet_status cv_input_admit(cv_input *in);
/* The image in in->image becomes a device ELF. */
CV_MUST cuvet_status cv_input_compile(cv_input *in, const cuvet_source *src, const cv_candidate *candidate);
/* The status of a call, unless something that was said could not be kept. */
CV_MUST cuvet_status cv_input_settle(cv_input *in, cuvet_status status);
/* The caller wants it to end. */
CV_MUST bool cv_input_cancelled(const cv_input *in);

#endif
