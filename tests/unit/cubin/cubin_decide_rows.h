/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples with some places changed, for test_cubin_decides.c. */
#ifndef TESTS_UNIT_CUBIN_CUBIN_DECIDE_ROWS_H
#define TESTS_UNIT_CUBIN_CUBIN_DECIDE_ROWS_H

#include "cubin_edit.h"

enum { EDITS = 4 };

typedef struct cubin_decide_row {
    const char *what, *sample;
    cubin_edit edits[EDITS]; /* those that are left out change nothing */
    cv_rule rule;
    bool said; /* after the edits */
} cubin_decide_row;

static const cubin_decide_row ROWS[] = {
    { "a stub", EXE, { H(54, 2, 0) }, CV_R_ELF_PHENTSIZE, true },
};

/* What is looked at while work or memory runs out. */
static const cubin_decide_row RUN_OUT[] = {
    { "a link with capsules", TWINS, { NONE }, 0, false },
    { "branch tables", TABLES, { NONE }, 0, false },
    { "unified functions", "unified.sm_100.rdc", { NONE }, 0, false },
};

#endif
