/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The last look at a result: its header against what was asked for. */
#include "fixture.h"

static void judged(cv_rule rule, uint64_t off, uint64_t got, uint64_t want)
{
    const cuvet_diag *diag;

    ff_job.code = CV_FINAL_OK;
    ck_assert_int_eq(cv_final_verify(&ff_job), CUVET_E_REFUSED);
    ck_assert_int_eq(ff_job.code, CV_FINAL_BACKEND_BAD_OUTPUT);
    diag = ff_diag(rule);
    ck_assert_uint_eq(diag->file_off, off);
    ck_assert_uint_eq(diag->got, got);
    ck_assert_uint_eq(diag->want, want);
}

/* The header of a result: each field that has to stay, or to be what was asked for. */
START_TEST(headers)
{
    cv_final_options options = ff_options(103, CV_KIND_SASS);
    cv_final_job *job = &ff_job;
    cv_cubin *cubin = &job->result;

    ff_load("plain.sm_100.cubin");
#define WRONG(change, back, rule, off, got, want)                                                            \
    ff_forget();                                                                                             \
    cv_ctx_unit(&ff_x, 64 * ff.size);                                                                        \
    change;                                                                                                  \
    judged(rule, off, got, want);                                                                            \
    back
    cv_ctx_unit(&ff_x, 64 * ff.size);
    ck_assert_int_eq(cv_final_run(job, &ff_x, &options, cv_span_of(ff.bytes, ff.size, 0), "x", &ff_out),
                     CUVET_OK);
    ck_assert_int_eq(cv_final_verify(job), CUVET_OK);
    WRONG(cubin->header.osabi = 0x33, cubin->header.osabi = 0x41, CV_R_FINAL_OUTPUT_HEADER, 7, 0x3308,
          0x4108);
    WRONG(cubin->header.abiversion = 7, cubin->header.abiversion = 8, CV_R_FINAL_OUTPUT_HEADER, 7, 0x4107,
          0x4108);
    WRONG(cubin->header.type = 1, cubin->header.type = 2, CV_R_FINAL_OUTPUT_HEADER, 16, 1, 2);
    WRONG(cubin->sm = 100, cubin->sm = 103, CV_R_FINAL_OUTPUT_HEADER, 48, 100, 103);
    WRONG(cubin->header.flags ^= 6, cubin->header.flags ^= 6, CV_R_FINAL_OUTPUT_HEADER, 48, 2, 4);
    WRONG(cubin->n_kernels++, cubin->n_kernels--, CV_R_FINAL_OUTPUT_SYMBOLS, cubin->symtab.off, 2, 1);
    ck_assert_int_eq(cv_final_verify(job), CUVET_OK);
    cv_final_end(job);
    cv_islands_drop();
}
END_TEST

Suite *suite_verify(void);
Suite *suite_verify(void)
{
    Suite *suite = suite_create("finalize/verify");
    TCase *tcase = tcase_create("verify");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_test(tcase, headers);
    suite_add_tcase(suite, tcase);
    return suite;
}
