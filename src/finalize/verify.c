/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage verify: what comes out is what was asked for, and the program that went in. */
#include "finalize/job.h"

static cuvet_status report_wrong(cv_final_job *job, cv_ehdr_field field, uint64_t got, uint64_t want)
{
    return cv_final_refuse(job, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_HEADER,
                           cv_elf_ehdr_at(false, field), got, want);
}

static cuvet_status check_header(cv_final_job *job)
{
    const cv_cubin *first = &job->cubin, *second = &job->result;

    if (second->header.osabi != first->header.osabi || second->header.abiversion != first->header.abiversion)
        return cv_final_refuse(job, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_HEADER, CV_EI_OSABI,
                               (uint64_t)second->header.osabi << 8 | second->header.abiversion,
                               (uint64_t)first->header.osabi << 8 | first->header.abiversion);
    if (second->header.type != first->header.type)
        return report_wrong(job, CV_EH_TYPE, second->header.type, first->header.type);
    if (second->sm != job->dst_sm)
        return report_wrong(job, CV_EH_FLAGS, second->sm, job->dst_sm);
    if (first->abi8 && (second->header.flags & CV_EF_KIND) != (uint32_t)job->out_kind)
        return report_wrong(job, CV_EH_FLAGS, second->header.flags & CV_EF_KIND, job->out_kind);
    if (second->n_kernels != first->n_kernels)
        return cv_final_refuse(job, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS,
                               second->symtab.off, second->n_kernels, first->n_kernels);
    return CUVET_OK;
}

static cuvet_status check_copy(cv_final_job *job)
{
    return CV_NEVER(!cv_span_eq(job->out->span, job->in)) ? cv_final_broken(job) : CUVET_OK;
}

cuvet_status cv_final_verify(cv_final_job *job)
{
    bool stripped = job->in_kind == CV_KIND_CAPMERC && job->out_kind == CV_KIND_SASS;
    cv_final_tally tally = { 0 };
    cv_final_same pair = { .before = &job->cubin,
                           .after = &job->result,
                           .stripped = stripped,
                           .bodies = &job->bodies,
                           .made_again = job->said.code_changed,
                           .tally = &tally,
                           .runs_on = job->said.runs_there ? job->dst_sm : 0,
                           .key = { CV_ARRAY_GET(job->options->key, 0),
                                    CV_ARRAY_GET(job->options->key, 1) } };
    cv_final code = CV_FINAL_OK;
    cuvet_status status;

    if (job->verbatim)
        return check_copy(job);
    job->of_result = true;
    status = job->bodies.count ? cv_final_examine(job, &job->result, job->out->span)
                               : CUVET_OK; /* the others were examined */
    if (status == CUVET_OK)
        status = check_header(job);
    if (status != CUVET_OK)
        return status;
    if (stripped && !pair.made_again)
        pair.null_symbol = cv_final_cap_symbol(&job->cubin, &job->part);
    status = cv_final_compare(job->ctx, &pair, &code);
    if (status == CUVET_OK && pair.made_again)
        cv_report(job->ctx, CV_R_FINAL_MADE, job->in.off + cv_elf_ehdr_at(false, CV_EH_FLAGS), 4, tally.other,
                  tally.code);
    if (status != CUVET_OK && job->code == CV_FINAL_OK)
        job->code = code;
    return status;
}
