/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage verify: what comes out is what was asked for, and the program that went in. */
#include "finalize/job.h"

enum { ABI_AT = 7 }; /* e_ident: OSABI, and the version of the ABI behind it */

static cuvet_status wrong(cv_final_job *j, cv_ehdr_field f, uint64_t got, uint64_t want)
{
    return cv_final_refuse(j, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_HEADER, cv_elf_ehdr_at(false, f),
                           got, want);
}

static cuvet_status check_header(cv_final_job *j)
{
    const cv_cubin *a = &j->cubin, *b = &j->result;

    if (b->h.osabi != a->h.osabi || b->h.abiversion != a->h.abiversion)
        return cv_final_refuse(j, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_HEADER, ABI_AT,
                               (uint64_t)b->h.osabi << 8 | b->h.abiversion,
                               (uint64_t)a->h.osabi << 8 | a->h.abiversion);
    if (b->h.type != a->h.type)
        return wrong(j, CV_EH_TYPE, b->h.type, a->h.type);
    if (b->sm != j->dst_sm)
        return wrong(j, CV_EH_FLAGS, b->sm, j->dst_sm);
    if (a->abi8 && (b->h.flags & 0xFF) != (uint32_t)j->out_kind)
        return wrong(j, CV_EH_FLAGS, b->h.flags & 0xFF, j->out_kind);
    if (b->n_kernels != a->n_kernels)
        return cv_final_refuse(j, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS, b->symtab.off,
                               b->n_kernels, a->n_kernels);
    return CUVET_OK;
}

static cuvet_status check_copy(cv_final_job *j)
{
    return CV_NEVER(!cv_span_eq(j->out->span, j->in)) ? cv_final_broken(j) : CUVET_OK;
}

cuvet_status cv_final_verify(cv_final_job *j)
{
    bool stripped = j->in_kind == CV_KIND_CAPMERC && j->out_kind == CV_KIND_SASS;
    cv_final_tally tally = { 0 };
    cv_final_same q = { .a = &j->cubin,
                        .b = &j->result,
                        .stripped = stripped,
                        .bodies = &j->bodies,
                        .made_again = j->said.code_changed,
                        .tally = &tally,
                        .runs_on = j->said.runs_there ? j->dst_sm : 0,
                        .key = { CV_ARRAY_GET(j->o->key, 0), CV_ARRAY_GET(j->o->key, 1) } };
    cv_final code = CV_FINAL_OK;
    cuvet_status s;

    if (j->verbatim)
        return check_copy(j);
    j->of_result = true;
    s = j->bodies.n ? cv_final_examine(j, &j->result, j->out->span) : CUVET_OK; /* the others were examined */
    if (s == CUVET_OK)
        s = check_header(j);
    if (s != CUVET_OK)
        return s;
    if (stripped && !q.made_again)
        q.null_symbol = cv_final_cap_symbol(&j->cubin, &j->part);
    s = cv_final_compare(j->x, &q, &code);
    if (s == CUVET_OK && q.made_again)
        cv_report(j->x, CV_R_FINAL_MADE, j->in.off + cv_elf_ehdr_at(false, CV_EH_FLAGS), 4, tally.other,
                  tally.code);
    if (s != CUVET_OK && j->code == CV_FINAL_OK)
        j->code = code;
    return s;
}
