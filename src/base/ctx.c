/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/ctx.h"

#include <string.h>

#include "base/arith.h"

/* Work every unit gets however small: fixed tables are walked even for an empty file. */
#define WORK_FLOOR 65536u

uint64_t cv_padding_most(uint64_t bytes)
{
    return cv_sat_add(cv_sat_mul(bytes, 4), CV_MIB);
}

void cv_ctx_init(cv_ctx *ctx, const cuvet_alloc *alloc, const cuvet_limits *lim)
{
    memset(ctx, 0, sizeof(*ctx));
    ctx->lim = *lim;
    cv_mem_init(&ctx->mem, alloc, lim->live);
    cv_ctx_unit(ctx, 0);
}

void cv_ctx_unit(cv_ctx *ctx, uint64_t bytes)
{
    ctx->work_left = 0;
    ctx->work_rest = cv_sat_add(cv_sat_mul(bytes, ctx->lim.work), WORK_FLOOR);
    ctx->work_granted = ctx->work_rest;
    ctx->work_capped = ctx->work_out = false;
    ctx->mem.limited = false;
    ctx->path.n = 0;
    ctx->inner = false;
    ctx->anchor = 0;
    ctx->embedded = false;
    ctx->profile = CV_PROFILE_NONE;
    ctx->stranger = false;
    ctx->differences = 0;
    if (ctx->counted)
        memset(ctx->seen, 0, sizeof(ctx->seen));
    ctx->counted = false;
    ctx->n_errors = ctx->n_warnings = ctx->n_notes = 0;
    ctx->verdict = CUVET_V_CLEAN;
}

void cv_ctx_cap_work(cv_ctx *ctx, uint64_t most)
{
    if (most >= ctx->work_granted)
        return;
    ctx->work_granted = ctx->work_rest = most;
    ctx->work_left = 0;
    ctx->work_capped = true;
}

uint64_t cv_ctx_spent(const cv_ctx *ctx)
{
    return ctx->work_granted - cv_min(ctx->work_granted, cv_ctx_work(ctx));
}

void cv_ctx_enter_inner(cv_ctx *ctx, uint64_t file_off)
{
    /* Nested content keeps the outermost anchor: that is the offset a person can look up in the file. */
    if (!ctx->inner)
        ctx->anchor = file_off;
    ctx->inner = true;
}

void cv_ctx_leave_inner(cv_ctx *ctx)
{
    ctx->inner = false;
    ctx->anchor = 0;
}

static cuvet_status status_of(cuvet_class cls)
{
    switch (cls) {
    case CUVET_C_FORM:
    case CUVET_C_PROFILE: return CUVET_E_MALFORMED;
    case CUVET_C_UNSUPPORTED: return CUVET_E_UNSUPPORTED;
    case CUVET_C_LIMIT: return CUVET_E_LIMIT;
    case CUVET_C_IO: return CUVET_E_IO;
    case CUVET_C_TARGET: return CUVET_E_REFUSED;
    case CUVET_C_INTERNAL: break;
    }
    return CUVET_E_INTERNAL;
}

/* Severity of a rule for what is examined now. */
static cuvet_severity severity_of(const cv_ctx *ctx, cv_rule rule)
{
    static const bool EMBEDDED[CV_N_RULES] = {
#define EMBEDDED(name) [CV_R_##name] = true,
#include "embedded.def"
#undef EMBEDDED
    };

    if ((ctx->embedded && EMBEDDED[rule]) || (ctx->advisory && cuvet_rule_get(rule)->cls == CUVET_C_TARGET))
        return CUVET_NOTE;
    if (ctx->strict && cuvet_rule_get(rule)->cls == CUVET_C_PROFILE)
        return CUVET_ERROR;
    return cuvet_rule_get(rule)->severity;
}

/* A profile rule that this producer does not keep is not broken; what a stranger does otherwise is counted,
 * but for what everybody has to keep. */
static bool passes(cv_ctx *ctx, cv_rule rule)
{
    if (cuvet_rule_get(rule)->cls != CUVET_C_PROFILE)
        return false;
    if (ctx->profile != CV_PROFILE_NONE && (cv_rule_exempt(rule) >> ctx->profile & 1))
        return true;
    if (!ctx->stranger || ctx->strict || cv_rule_holds(rule))
        return false;
    ctx->differences++;
    return true;
}

void cv_ctx_begin_profile(cv_ctx *ctx, cv_profile profile, bool stranger)
{
    ctx->profile = profile;
    ctx->stranger = stranger;
    ctx->differences = 0;
}

void cv_ctx_end_profile(cv_ctx *ctx, uint64_t off)
{
    uint64_t count = ctx->differences, nearest = ctx->profile;

    cv_ctx_begin_profile(ctx, CV_PROFILE_NONE, false);
    if (count != 0)
        cv_report(ctx, CV_R_PROFILE_STRANGER, off, 0, count, nearest);
}

/* What a finding costs: there are tables that can be made to have millions of them. */
#define REPORT_WORK 32u

/* Without a word: who asks for work next hears that there is none left. */
static void charge(cv_ctx *ctx)
{
    uint64_t here = cv_min(ctx->work_left, REPORT_WORK);

    ctx->work_left -= here;
    ctx->work_rest -= cv_min(ctx->work_rest, REPORT_WORK - here);
}

void cv_report(cv_ctx *ctx, cv_rule rule, uint64_t off, uint64_t len, uint64_t got, uint64_t want)
{
    cuvet_diag diag = {
        .rule = rule, .severity = severity_of(ctx, rule), .got = got, .want = want, .where = ctx->path
    };
    cuvet_verdict verdict;

    charge(ctx);
    if (passes(ctx, rule))
        return;
    if (diag.where.n > CUVET_PATH_MAX)
        diag.where.n = CUVET_PATH_MAX;
    diag.length = len;
    diag.flags = ctx->inner ? CUVET_DIAG_INNER : 0;
    diag.file_off = ctx->inner ? ctx->anchor : off;
    diag.inner_off = ctx->inner ? off : 0;
    ctx->n_errors += diag.severity == CUVET_ERROR;
    ctx->n_warnings += diag.severity == CUVET_WARNING;
    ctx->n_notes += diag.severity == CUVET_NOTE;
    verdict = cuvet_diag_verdict(&diag);
    if (verdict > ctx->verdict)
        ctx->verdict = verdict;
    ctx->counted = true;
    /* Above the cap only counted: whoever delivers the diagnostics of a file tells how many there were. */
    if (ctx->seen[rule]++ < ctx->lim.diagnostics && ctx->emit)
        ctx->emit(ctx->emit_user, &diag);
}

cuvet_status cv_verdict_status(cuvet_verdict verdict)
{
    switch (verdict) {
    case CUVET_V_MALFORMED: return CUVET_E_MALFORMED;
    case CUVET_V_LIMIT: return CUVET_E_LIMIT;
    case CUVET_V_ERROR: return CUVET_E_IO;
    case CUVET_V_CLEAN:
    case CUVET_V_UNSUPPORTED:
    case CUVET_V_SUSPICIOUS: break;
    }
    return CUVET_OK;
}

cuvet_status cv_reject(cv_ctx *ctx, cv_rule rule, uint64_t off, uint64_t got, uint64_t want)
{
    cv_report(ctx, rule, off, 0, got, want);
    return status_of(cuvet_rule_get(rule)->cls);
}

void cv_report_at(cv_ctx *ctx, cuvet_step_kind kind, uint64_t index, cv_rule rule, uint64_t off, uint64_t len,
                  uint64_t got, uint64_t want)
{
    cv_path_push(ctx, kind, true, index);
    cv_report(ctx, rule, off, len, got, want);
    cv_path_pop(ctx);
}

cuvet_status cv_nomem(cv_ctx *ctx, uint64_t off)
{
    if (cv_mem_status(&ctx->mem) == CUVET_E_LIMIT)
        return cv_reject(ctx, CV_R_LIMIT_LIVE, off, ctx->mem.live, ctx->mem.limit);
    return CUVET_E_NOMEM;
}

/* Work is handed out in slices: between two of them is where a caller's wish to stop is noticed. */
#define WORK_SLICE UINT64_C(65536)

bool cv_cancelled(const cv_ctx *ctx)
{
    return ctx->cancel && __atomic_load_n(ctx->cancel, __ATOMIC_RELAXED) != 0;
}

bool cv_work_next(cv_ctx *ctx, uint64_t count, uint64_t off)
{
    uint64_t all = cv_sat_add(ctx->work_left, ctx->work_rest), slice;

    if (count <= all && !cv_cancelled(ctx)) {
        slice = cv_min(cv_max(count, WORK_SLICE), all);
        ctx->work_rest = all - slice;
        ctx->work_left = slice - count;
        return true;
    }
    if (!ctx->work_out && !cv_cancelled(ctx)) {
        if (ctx->work_capped)
            cv_report(ctx, CV_R_LIMIT_EFFORT, off, 0, cv_sat_add(cv_ctx_spent(ctx), count),
                      ctx->work_granted);
        else
            cv_report(ctx, CV_R_LIMIT_WORK, off, 0, 0, ctx->lim.work);
    }
    ctx->work_out = true;
    ctx->work_left = ctx->work_rest = 0;
    return false;
}
