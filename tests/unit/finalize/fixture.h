/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of the finalizer share: a sample that is edited in memory, one run over it, what was said.
 */
#ifndef CV_TESTS_FINALIZE_FIXTURE_H
#define CV_TESTS_FINALIZE_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "finalize/job.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

typedef struct ff_file {
    uint8_t bytes[1 << 20];
    size_t size;
} ff_file;

extern ff_file ff;
extern cv_ctx ff_x;
extern cv_block ff_out;
extern cv_final_job ff_job;

void ff_setup(void);
void ff_teardown(void);
void ff_load(const char *sample);
uint64_t ff_get(size_t off, unsigned width);
void ff_put(size_t off, unsigned width, uint64_t value);
/* Place of the header of the first section whose name begins like this; its index in *value unless NULL. */
size_t ff_section(const char *prefix, unsigned *value);
/* Place of the contents of it. */
size_t ff_body(const char *prefix);
/* Place of the record of .nv.compat with this tag. */
size_t ff_claim(uint8_t tag);
/* The name of a section becomes another one of the same length. */
void ff_rename(const char *prefix, const char *to);
/* Options with both backends of the library and the default level. */
cv_final_options ff_options(uint32_t target, cv_kind kind);
/* One run over the file at hand; the job is ended, its numbers stay. */
cuvet_status ff_run(const cv_final_options *options);
/* Was the rule said in the last run, and where? */
bool ff_said(cv_rule rule);
const cuvet_diag *ff_diag(cv_rule rule);
/* As if nothing had been said yet. */
void ff_forget(void);

#endif
