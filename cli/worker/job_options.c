/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "job.h"

#include "sized.h"

#include <stdlib.h>
#include <string.h>

static bool add_word(cuvet_job *job, const char *text)
{
    size_t len = strlen(text) + 1;
    char *grown = len < WIRE_PACKET ? realloc(job->word, job->n_word + len) : NULL;

    if (!grown)
        return false;
    memcpy(grown + job->n_word, text, len);
    job->word = grown;
    job->n_word += len;
    job->head.n_words++;
    return true;
}

static void take_target(wire_request *head, cuvet_target target)
{
    head->sm = target.sm;
    head->suffix = (uint32_t)(unsigned char)target.suffix;
}

static cuvet_status take_link(cuvet_job *job, const cuvet_linker_options *given)
{
    cuvet_linker_options options;
    const cuvet_linker_options *opt = &options;

    if (!given)
        return CUVET_E_NULL;
    if (!sized_take(&options, sizeof(options), given) || opt->generator || opt->generator_log || opt->event ||
        opt->compiler || opt->compiler_log || opt->n_compiler_options > 0)
        return CUVET_E_USAGE;
    take_target(&job->head, opt->target);
    job->head.policy = (uint32_t)opt->policy;
    job->head.toolkit = opt->toolkit;
    job->head.flags = opt->flags;
    for (size_t i = 0; i < opt->n_kernels_used; i++) {
        if (!opt->kernels_used || !opt->kernels_used[i])
            return CUVET_E_NULL;
        if (job->n_word + strlen(opt->kernels_used[i]) >= WIRE_PACKET)
            return CUVET_E_LIMIT;
        if (!add_word(job, opt->kernels_used[i]))
            return CUVET_E_NOMEM;
    }
    return CUVET_OK;
}

static cuvet_status take_scan(cuvet_job *job, const cuvet_scan_options *given)
{
    cuvet_scan_options options;
    const cuvet_scan_options *opt = &options;

    job->head.want = CUVET_DEPTH_FULL;
    if (!given)
        return CUVET_OK;
    if (!sized_take(&options, sizeof(options), given) || opt->claim || opt->jobs > 1)
        return CUVET_E_USAGE;
    job->head.want = (uint32_t)opt->depth;
    take_target(&job->head, opt->target);
    return CUVET_OK;
}

static cuvet_status take_select(cuvet_job *job, const cuvet_select_options *given)
{
    cuvet_select_options options;
    const cuvet_select_options *opt = &options;

    if (!given)
        return CUVET_E_NULL;
    if (!sized_take(&options, sizeof(options), given) || opt->compiler)
        return CUVET_E_USAGE;
    take_target(&job->head, opt->target);
    job->head.want = (uint32_t)opt->request;
    job->head.policy = (uint32_t)opt->policy;
    job->head.flags = opt->flags;
    job->head.toolkit = opt->toolkit;
    return CUVET_OK;
}

static cuvet_status take_finalize(cuvet_job *job, const cuvet_finalize_options *given)
{
    cuvet_finalize_options options;
    const cuvet_finalize_options *opt = &options;

    if (!given)
        return CUVET_E_NULL;
    if (!sized_take(&options, sizeof(options), given) || opt->trace || opt->generator || opt->generator_log)
        return CUVET_E_USAGE;
    take_target(&job->head, opt->target);
    job->head.want = (uint32_t)opt->kind;
    job->head.phase = (uint32_t)opt->phase;
    job->head.level = opt->max_level;
    job->head.policy = (uint32_t)opt->policy;
    job->head.flags = opt->flags;
    job->head.max_output = opt->max_output;
    for (size_t i = 0; i < WIRE_FINAL_WORDS; i++) {
        const char *const WORD[] = { [WIRE_BACKEND] = opt->backend,
                                     [WIRE_TOOL] = opt->tool,
                                     [WIRE_TOOL_VERSION] = opt->tool_version,
                                     [WIRE_TOOL_COMMAND] = opt->tool_command };
        const char *word = WORD[i] ? WORD[i] : "";

        if (job->n_word + strlen(word) >= WIRE_PACKET)
            return CUVET_E_LIMIT;
        if (!add_word(job, word))
            return CUVET_E_NOMEM;
    }
    return CUVET_OK;
}

static uint64_t least(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static cuvet_status take_limits(cuvet_job *job, const cuvet_limits *limits)
{
    job->head.limits.size = sizeof(job->head.limits);
    if (limits && limits->size != sizeof(*limits))
        return CUVET_E_USAGE; /* one that ends earlier would have limits of 0 */
    if (limits)
        job->head.limits = *limits;
    else
        job->head.limits.live = UINT64_MAX; /* the preset of the worker */
    job->head.strict = limits == NULL;
    job->head.limits.live = least(job->head.limits.live, job->memory);
    return CUVET_OK;
}

cuvet_status job_take_options(cuvet_job *job, const cuvet_job_options *given)
{
    cuvet_job_options options;
    const cuvet_job_options *opt = &options;
    const cuvet_workers_options *common = &job->workers->options;
    cuvet_status status;

    if (!sized_take(&options, sizeof(options), given) || opt->deadline_ms > INT32_MAX ||
        opt->cpu_ms > INT32_MAX || opt->memory > UINT64_MAX / 4 || opt->output > INT64_MAX ||
        (opt->output && opt->output < 4096))
        return CUVET_E_USAGE;
    job->deadline_ms = opt->deadline_ms ? opt->deadline_ms : common->deadline_ms;
    job->memory = opt->memory ? opt->memory : common->memory;
    job->head = (wire_request){ .mark = WIRE_REQUEST,
                                .kind = (uint32_t)opt->kind,
                                .most = opt->output ? opt->output : common->output,
                                .cpu_ms = opt->cpu_ms };
    status = take_limits(job, opt->limits);
    if (status != CUVET_OK)
        return status;
    switch (opt->kind) {
    case CUVET_JOB_LINK: return take_link(job, opt->link);
    case CUVET_JOB_SCAN: return take_scan(job, opt->scan);
    case CUVET_JOB_SELECT: return take_select(job, opt->select);
    case CUVET_JOB_FINALIZE: return take_finalize(job, opt->finalize);
    default: return CUVET_E_USAGE;
    }
}
