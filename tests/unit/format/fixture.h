/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the tests of all formats share: one context under the strict limits, and what was reported to it. */
#ifndef CV_TESTS_FORMAT_FIXTURE_H
#define CV_TESTS_FORMAT_FIXTURE_H

#include "base/ctx.h"

#define NONE CV_N_RULES /* in tables: no rule, nothing is reported */

extern cv_ctx the_ctx;
/* Since setup(), or since a test set n_diags to 0. */
extern unsigned n_diags;
extern cuvet_diag first, last;

/* Checked fixture of each case; a test may call setup() again for a context that has seen nothing. */
void setup(void);
/* Every test gives back what it took. */
void teardown(void);
/* One finding, this one; or none. The label is the row's. */
void expect_finding(const char *label, cv_rule rule, uint64_t file_off, uint64_t got, uint64_t want);

#endif
