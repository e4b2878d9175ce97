/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/lto.h>

#include "api/opts.h"
#include "proc/external.h"
#include "proc/lto.h"

/* The inputs as ours, n_inputs of them. @return OK · NOMEM · NULL · USAGE (a size) */
static cuvet_status take_inputs(cv_mem *mem, const cuvet_lto_request *req, cuvet_lto_input **out)
{
    *out = cv_mem_get(mem, req->n_inputs * sizeof(**out));
    if (!*out)
        return CUVET_E_NOMEM;
    for (size_t i = 0; i < req->n_inputs; i++) {
        if (!req->input[i])
            return CUVET_E_NULL;
        (*out)[i] = (cuvet_lto_input){ .size = sizeof(**out) };
        if (!cv_sized_take(req->input[i], &(*out)[i], sizeof(**out)))
            return CUVET_E_USAGE;
    }
    return CUVET_OK;
}

static bool is_text(const char *const *list, size_t len)
{
    if (len > 0 && !list)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!list[i] || list[i][0] == '\0')
            return false;
    }
    return true;
}

cuvet_status cuvet_lto_run(const cuvet_external *program, const char *library, const cuvet_alloc *alloc,
                           const cuvet_lto_request *req, cuvet_compile_result *out)
{
    cuvet_external conf, given = { .size = sizeof(given) };
    cuvet_lto_request ours = { .size = sizeof(ours) };
    cuvet_compile_result made = { .size = sizeof(made), .end = CUVET_COMPILE_UNSUPPORTED };
    cuvet_lto_input *inputs = NULL;
    cuvet_alloc from;
    cuvet_status status;
    cv_mem mem;

    if (!program || !library || !req || !out)
        return CUVET_E_NULL;
    if (!cv_sized_take(program, &given, sizeof(given)) || !cv_sized_take(req, &ours, sizeof(ours)) ||
        !cv_sized_is_possible(out) || !cv_opts_alloc(alloc, &from))
        return CUVET_E_USAGE;
    if (ours.n_inputs > 0 && !ours.input)
        return CUVET_E_NULL;
    if (library[0] != '/' || (ours.flags & ~CUVET_LTO_PTX) || !is_text(ours.option, ours.n_options))
        return CUVET_E_USAGE;
    status = cv_external_check(&given, &conf);
    if (status != CUVET_OK)
        return status;
    cv_mem_init(&mem, &from, UINT64_MAX); /* each part has its own limit */
    if (ours.n_inputs > 0 && ours.n_inputs <= CV_LTO_INPUTS_MOST) {
        status = take_inputs(&mem, &ours, &inputs);
        if (status == CUVET_OK)
            status = cv_lto_run(&mem, &conf, library, &ours, inputs, &made);
        cv_mem_put(&mem, inputs, ours.n_inputs * sizeof(*inputs));
    }
    return cv_opts_give(out, &made, sizeof(made), status);
}

void cuvet_lto_end(const cuvet_alloc *alloc, cuvet_compile_result *result)
{
    static const cuvet_compile_result NONE = { 0 };
    cuvet_alloc from;

    if (!result || !cv_sized_is_possible(result) || !cv_opts_alloc(alloc, &from))
        return;
    if (result->bytes)
        from.release(from.user, result->bytes, result->n);
    if (result->log)
        from.release(from.user, result->log, result->n_log);
    cv_sized_fill(result, &NONE, sizeof(NONE));
}
