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

void cv_ctx_init(cv_ctx *x, const cuvet_alloc *alloc, const cuvet_limits *lim)
{
    memset(x, 0, sizeof(*x));
    x->lim = *lim;
    cv_mem_init(&x->mem, alloc, lim->live);
    cv_ctx_unit(x, 0);
}

void cv_ctx_unit(cv_ctx *x, uint64_t bytes)
{
    x->work_left = 0;
    x->work_rest = cv_sat_add(cv_sat_mul(bytes, x->lim.work), WORK_FLOOR);
    x->work_granted = x->work_rest;
    x->work_capped = x->work_out = false;
    x->mem.limited = false;
    x->path.n = 0;
    x->inner = false;
    x->anchor = 0;
    x->embedded = false;
    x->profile = CV_PROFILE_NONE;
    x->stranger = false;
    x->differences = 0;
    x->n_errors = x->n_warnings = x->n_notes = 0;
    x->verdict = CUVET_V_CLEAN;
    memset(x->seen, 0, sizeof(x->seen));
}

void cv_ctx_cap_work(cv_ctx *x, uint64_t most)
{
    if (most >= x->work_granted)
        return;
    x->work_granted = x->work_rest = most;
    x->work_left = 0;
    x->work_capped = true;
}

uint64_t cv_ctx_spent(const cv_ctx *x)
{
    return x->work_granted - cv_min(x->work_granted, cv_ctx_work(x));
}

void cv_ctx_enter_inner(cv_ctx *x, uint64_t file_off)
{
    /* Nested content keeps the outermost anchor: that is the offset a person can look up in the file. */
    if (!x->inner)
        x->anchor = file_off;
    x->inner = true;
}

void cv_ctx_leave_inner(cv_ctx *x)
{
    x->inner = false;
    x->anchor = 0;
}

static cuvet_status status_of(cuvet_class c)
{
    switch (c) {
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
static cuvet_severity severity_of(const cv_ctx *x, cv_rule rule)
{
    static const bool EMBEDDED[CV_N_RULES] = {
#define EMBEDDED(name) [CV_R_##name] = true,
#include "embedded.def"
#undef EMBEDDED
    };

    if ((x->embedded && EMBEDDED[rule]) || (x->advisory && cuvet_rule_get(rule)->cls == CUVET_C_TARGET))
        return CUVET_NOTE;
    if (x->strict && cuvet_rule_get(rule)->cls == CUVET_C_PROFILE)
        return CUVET_ERROR;
    return cuvet_rule_get(rule)->severity;
}

/* A profile rule that this producer does not keep is not broken; what a stranger does otherwise is counted.
 */
static bool passes(cv_ctx *x, cv_rule rule)
{
    if (cuvet_rule_get(rule)->cls != CUVET_C_PROFILE)
        return false;
    if (x->profile != CV_PROFILE_NONE && (cv_rule_exempt(rule) >> x->profile & 1))
        return true;
    if (!x->stranger || x->strict)
        return false;
    x->differences++;
    return true;
}

void cv_ctx_begin_profile(cv_ctx *x, cv_profile p, bool stranger)
{
    x->profile = p;
    x->stranger = stranger;
    x->differences = 0;
}

void cv_ctx_end_profile(cv_ctx *x, uint64_t off)
{
    uint64_t n = x->differences, nearest = x->profile;

    cv_ctx_begin_profile(x, CV_PROFILE_NONE, false);
    if (n != 0)
        cv_report(x, CV_R_PROFILE_STRANGER, off, 0, n, nearest);
}

void cv_report(cv_ctx *x, cv_rule rule, uint64_t off, uint64_t len, uint64_t got, uint64_t want)
{
    cuvet_diag d = {
        .rule = rule, .severity = severity_of(x, rule), .got = got, .want = want, .where = x->path
    };
    cuvet_verdict v;

    if (passes(x, rule))
        return;
    if (d.where.n > CUVET_PATH_MAX)
        d.where.n = CUVET_PATH_MAX;
    d.length = len;
    d.inner = x->inner;
    d.file_off = x->inner ? x->anchor : off;
    d.inner_off = x->inner ? off : 0;
    x->n_errors += d.severity == CUVET_ERROR;
    x->n_warnings += d.severity == CUVET_WARNING;
    x->n_notes += d.severity == CUVET_NOTE;
    v = cuvet_diag_verdict(&d);
    if (v > x->verdict)
        x->verdict = v;
    /* Above the cap only counted: whoever delivers the diagnostics of a file tells how many there were. */
    if (x->seen[rule]++ < x->lim.diagnostics && x->emit)
        x->emit(x->emit_user, &d);
}

cuvet_status cv_verdict_status(cuvet_verdict v)
{
    switch (v) {
    case CUVET_V_MALFORMED: return CUVET_E_MALFORMED;
    case CUVET_V_LIMIT: return CUVET_E_LIMIT;
    case CUVET_V_ERROR: return CUVET_E_IO;
    case CUVET_V_CLEAN:
    case CUVET_V_UNSUPPORTED:
    case CUVET_V_SUSPICIOUS: break;
    }
    return CUVET_OK;
}

cuvet_status cv_reject(cv_ctx *x, cv_rule rule, uint64_t off, uint64_t got, uint64_t want)
{
    cv_report(x, rule, off, 0, got, want);
    return status_of(cuvet_rule_get(rule)->cls);
}

void cv_report_at(cv_ctx *x, cuvet_step_kind kind, uint64_t index, cv_rule rule, uint64_t off, uint64_t len,
                  uint64_t got, uint64_t want)
{
    cv_path_push(x, kind, true, index);
    cv_report(x, rule, off, len, got, want);
    cv_path_pop(x);
}

cuvet_status cv_nomem(cv_ctx *x, uint64_t off)
{
    if (cv_mem_status(&x->mem) == CUVET_E_LIMIT)
        return cv_reject(x, CV_R_LIMIT_LIVE, off, x->mem.live, x->mem.limit);
    return CUVET_E_NOMEM;
}

/* Work is handed out in slices: between two of them is where a caller's wish to stop is noticed. */
#define WORK_SLICE UINT64_C(65536)

bool cv_cancelled(const cv_ctx *x)
{
    return x->cancel && __atomic_load_n(x->cancel, __ATOMIC_RELAXED);
}

bool cv_work_next(cv_ctx *x, uint64_t n, uint64_t off)
{
    uint64_t all = cv_sat_add(x->work_left, x->work_rest), slice;

    if (n <= all && !cv_cancelled(x)) {
        slice = cv_min(cv_max(n, WORK_SLICE), all);
        x->work_rest = all - slice;
        x->work_left = slice - n;
        return true;
    }
    if (!x->work_out && !cv_cancelled(x)) {
        if (x->work_capped)
            cv_report(x, CV_R_LIMIT_EFFORT, off, 0, cv_sat_add(cv_ctx_spent(x), n), x->work_granted);
        else
            cv_report(x, CV_R_LIMIT_WORK, off, 0, 0, x->lim.work);
    }
    x->work_out = true;
    x->work_left = x->work_rest = 0;
    return false;
}
