/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which of several members goes to a target: fatbin.md section 11, word for word. */
#ifndef CV_TESTS_MODEL_SELECT_H
#define CV_TESTS_MODEL_SELECT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct md_member {
    bool ptx;    /* text; else SASS */
    bool wide;   /* marked 64-bit */
    bool hidden; /* lies in the data of a host object, where the reference does not look: comes last */
    uint32_t sm;
    char suffix; /* 0, 'a', 'f' */
    uint32_t container;
} md_member;

typedef struct md_target {
    uint32_t sm;
    char suffix;
    bool exact;     /* "Strict policy": code for sm_Na goes to sm_Na only */
    bool sass, ptx; /* what is asked for */
} md_target;

bool md_fits(const md_member *member, const md_target *target);
/* Is 'left' taken before 'right'? Both fit; left_at and right_at: their places in the file. */
bool md_is_before(const md_member *left, unsigned left_at, const md_member *right, unsigned right_at,
                  const md_target *target);

#endif
