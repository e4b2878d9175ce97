/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The working context of one thread: memory, limits, work, the path, and the only ways to say that something
 * is wrong. */
#ifndef CV_BASE_CTX_H
#define CV_BASE_CTX_H

#include <cuvet/diag.h>
#include <cuvet/limits.h>

#include "base/mem.h"
#include "base/rules.h"

typedef void cv_emit_fn(void *user, const cuvet_diag *diag);

typedef struct cv_ctx {
    cv_mem mem;
    cuvet_limits lim;
    uint64_t work_left;    /* of the current slice */
    uint64_t work_rest;    /* not handed out yet */
    uint64_t work_granted; /* of this unit, to begin with … */
    bool work_capped;      /* … by what is left for the file, not by the size of the unit */
    bool work_out;         /* the work limit was reported for this unit */
    cv_emit_fn *emit;      /* may be NULL */
    void *emit_user;
    cuvet_path path;    /* where the code that runs now is; diagnostics copy it */
    bool inner;         /* offsets given to cv_reject are offsets in decompressed content … */
    uint64_t anchor;    /* … whose stored bytes start here in the file */
    cv_profile profile; /* who wrote what is examined now, or the nearest one known */
    bool stranger;      /* … but is not it: what differs is counted, see cv_ctx_end_profile */
    bool strict;        /* of a link, a finalization, an input for them: what breaks a profile is an error */
    /* Code and data are not in the image, but where they were copied from: nobody looks at them. */
    bool no_contents;
    uint64_t differences;
    bool advisory;     /* nothing is to be linked: findings about a target are notes */
    const int *cancel; /* read atomically; NULL: cannot be cancelled */
    bool embedded;     /* the unit is a raw image outside of containers: see spec/embedded.def */
    uint64_t n_errors, n_warnings, n_notes; /* of this unit, suppressed ones included */
    cuvet_verdict verdict;                  /* worst of this unit */
    uint32_t seen[CV_N_RULES];              /* per rule, of this unit … */
    bool counted;                           /* … and whether one of them is not 0 */
} cv_ctx;

/* Most padding of a file that we write, for what is in it: alignments that a stranger names make the rest. */
CV_MUST uint64_t cv_padding_most(uint64_t bytes);

void cv_ctx_init(cv_ctx *ctx, const cuvet_alloc *alloc, const cuvet_limits *lim);

/* Start a unit (a file, a member): clears path, counters and verdict; work = lim.work * bytes + a floor for
 * tiny units. */
void cv_ctx_unit(cv_ctx *ctx, uint64_t bytes);

/* The unit gets no more than that, because its file has no more left. */
void cv_ctx_cap_work(cv_ctx *ctx, uint64_t most);
/* Units that were spent since cv_ctx_unit(). */
uint64_t cv_ctx_spent(const cv_ctx *ctx);

/* Offsets from here on lie in decompressed content stored at file_off. */
void cv_ctx_enter_inner(cv_ctx *ctx, uint64_t file_off);
void cv_ctx_leave_inner(cv_ctx *ctx);

/* Judge by the profile of a producer, from here to cv_ctx_end_profile(): of a stranger by the nearest one
 * known, which makes one note at 'off' of all that differs. */
void cv_ctx_begin_profile(cv_ctx *ctx, cv_profile profile, bool stranger);
void cv_ctx_end_profile(cv_ctx *ctx, uint64_t off);

/* Status that a verdict amounts to; OK: nothing that stands in the way. */
CV_MUST cuvet_status cv_verdict_status(cuvet_verdict verdict);
/* The only way to reject. Reports, and returns the status of the rule's class (FORM: CUVET_E_MALFORMED). */
CV_MUST cuvet_status cv_reject(cv_ctx *ctx, cv_rule rule, uint64_t off, uint64_t got, uint64_t want);
/* Report and go on: findings that do not stop the parse. */
void cv_report(cv_ctx *ctx, cv_rule rule, uint64_t off, uint64_t len, uint64_t got, uint64_t want);
/* Allocation failed: reports CV-LIMIT live or nothing (NOMEM has no rule), returns the status. */
CV_MUST cuvet_status cv_nomem(cv_ctx *ctx, uint64_t off);

/* Spend 'count' units of work; false: used up, reported once per unit with the offset. */
static inline CV_MUST bool cv_work(cv_ctx *ctx, uint64_t count, uint64_t off);
CV_MUST bool cv_work_next(cv_ctx *ctx, uint64_t count, uint64_t off);
/* Exactly 'count' units from here on, and how many there are: for tests. */
static inline void cv_ctx_set_work(cv_ctx *ctx, uint64_t count)
{
    ctx->work_left = count;
    ctx->work_rest = 0;
}
static inline uint64_t cv_ctx_work(const cv_ctx *ctx)
{
    return ctx->work_left + ctx->work_rest;
}
/* The caller of a function wants it to end: loops without work units ask here. */
CV_MUST bool cv_cancelled(const cv_ctx *ctx);

static inline bool cv_work(cv_ctx *ctx, uint64_t count, uint64_t off)
{
    if (CV_UNLIKELY(count > ctx->work_left))
        return cv_work_next(ctx, count, off);
    ctx->work_left -= count;
    return true;
}

CV_BUF_BEGIN
static inline void cv_path_push(cv_ctx *ctx, cuvet_step_kind kind, bool has_index, uint64_t index)
{
    /* A path that is too deep keeps its head: nesting is limited far below CUVET_PATH_MAX. */
    if (ctx->path.n < CUVET_PATH_MAX)
        ctx->path.step[ctx->path.n] = (cuvet_step){ (uint8_t)kind, has_index ? CUVET_STEP_INDEX : 0, index };
    ctx->path.n++;
}
CV_BUF_END

static inline void cv_path_pop(cv_ctx *ctx)
{
    if (ctx->path.n > 0)
        ctx->path.n--;
}

/* Report for an element of the current object: path + one step, without pushing it for every element. */
void cv_report_at(cv_ctx *ctx, cuvet_step_kind kind, uint64_t index, cv_rule rule, uint64_t off, uint64_t len,
                  uint64_t got, uint64_t want);

#endif
