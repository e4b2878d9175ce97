/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Life of an input: configuration, options, the end. */
#include "drive/select.h"

#include "cubin/admit.h"

#define THREADS_MAX 64u

/* A diagnostic that the memory limit leaves no room for: the limit is what is said instead, once a call. */
static void keep_live(cv_input *in)
{
    if (cv_mem_status(&in->ctx.mem) != CUVET_E_LIMIT)
        return;
    in->has_live = true;
    in->live = (cuvet_diag){
        .rule = CV_R_LIMIT_LIVE, .severity = CUVET_ERROR, .got = in->ctx.mem.live, .want = in->ctx.mem.limit
    };
    if (in->emit)
        in->emit(in->emit_user, &in->live);
}

cuvet_status cv_input_settle(cv_input *in, cuvet_status status)
{
    if (!in->lost || status == CUVET_E_INTERNAL || status == CUVET_E_CANCELLED)
        return status;
    return in->has_live ? CUVET_E_LIMIT : CUVET_E_NOMEM; /* a verdict without its reasons is none */
}

/* Keeps what is said, and passes it on. */
static void keep_diag(void *user, const cuvet_diag *diag)
{
    cv_input *in = user;

    if (!cv_diags_push(&in->ctx.mem, &in->diags, *diag)) {
        if (!in->lost)
            keep_live(in);
        in->lost = true;
    }
    if (in->emit)
        in->emit(in->emit_user, diag);
}

/* *in is zero. */
void cv_input_init(cv_input *in, const cuvet_alloc *alloc, const cuvet_limits *lim, cv_emit_fn *emit,
                   void *emit_user)
{
    in->alloc = *alloc;
    in->emit = emit;
    in->emit_user = emit_user;
    cv_ctx_init(&in->ctx, alloc, lim);
    in->ctx.emit = keep_diag;
    in->ctx.emit_user = in;
    in->ctx.cancel = &in->cancel;
}

void cv_input_free(cv_input *in)
{
    cv_mem *mem = &in->ctx.mem;

    /* What a caller asked for may be worth something to the next owner of the memory. */
    for (uint64_t i = 0; i < in->option_text.count; i++)
        *cv_u8s_at(&in->option_text, i) = 0;
    cv_result_free(&in->result);
    if (in->worker) {
        cv_worker_free(in->worker);
        cv_mem_put(mem, in->worker, sizeof(*in->worker));
    }
    cv_block_free(&in->ctx, &in->nested);
    cv_block_free(&in->ctx, &in->image);
    cv_u8s_free(mem, &in->log);
    cv_candidates_free(mem, &in->candidates);
    cv_diags_free(mem, &in->diags);
    cv_u8s_free(mem, &in->option_text);
    cv_u64s_free(mem, &in->option_at);
    cv_mem_put(mem, in->copy, in->copy_len);
}

bool cv_input_cancelled(const cv_input *in)
{
    return cv_cancelled(&in->ctx);
}

static bool config_in_range(const cuvet_select_options *config)
{
    return (unsigned)config->request <= CUVET_REQUEST_LTOIR && (unsigned)config->policy <= CUVET_ARCH_EXACT &&
           config->threads <= THREADS_MAX &&
           !(config->flags & ~(CUVET_SELECT_ADDRESS32 | CUVET_SELECT_LENIENT)) &&
           config->toolkit <= UINT16_MAX;
}

cuvet_status cv_input_configure(cv_input *in, const cuvet_select_options *cfg)
{
    if (in->state > CUVET_SELECT_NEW)
        return CUVET_E_STATE;
    if (!config_in_range(cfg))
        return CUVET_E_USAGE;
    if (!cv_arch_known(cfg->target))
        return CUVET_E_ARCH;
    in->cfg = *cfg;
    if (in->cfg.threads == 0)
        in->cfg.threads = 1;
    if (in->cfg.toolkit == 0)
        in->cfg.toolkit = CV_ADMIT_TOOLKIT;
    return CUVET_OK;
}

/* Elements, never one string: what holds a blank stays one option. */
cuvet_status cv_input_option(cv_input *in, const char *text, size_t len)
{
    cv_mem *mem = &in->ctx.mem;
    uint64_t at = in->option_text.count, all = cv_sat_add(cv_sat_add(at, len), 1);

    if (in->state > CUVET_SELECT_BOUND)
        return CUVET_E_STATE;
    if (len == 0)
        return in->cfg.flags & CUVET_SELECT_LENIENT ? CUVET_OK : CUVET_E_USAGE;
    if (cv_span_find_byte(cv_span_of(text, len, 0), 0) != len)
        return CUVET_E_USAGE;
    if (in->option_at.count >= in->ctx.lim.options)
        return cv_reject(&in->ctx, CV_R_LIMIT_OPTIONS, 0, in->option_at.count + 1, in->ctx.lim.options);
    if (all > in->ctx.lim.option_bytes)
        return cv_reject(&in->ctx, CV_R_LIMIT_OPTION_BYTES, 0, all, in->ctx.lim.option_bytes);
    if (!cv_u64s_reserve(mem, &in->option_at, in->option_at.count + 1) ||
        !cv_u8s_reserve(mem, &in->option_text, all))
        return cv_nomem(&in->ctx, 0);
    in->option_text.count = all;
    cv_span_copy(cv_span_of(text, len, 0), cv_u8s_at(&in->option_text, at));
    *cv_u8s_at(&in->option_text, all - 1) = 0;
    in->option_at.count++;
    *cv_u64s_at(&in->option_at, in->option_at.count - 1) = at;
    return CUVET_OK;
}
