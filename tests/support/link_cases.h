/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The golden cases of corpus/link: inputs of a link, and what it must give. */
#ifndef CV_TESTS_LINK_CASES_H
#define CV_TESTS_LINK_CASES_H

#include <stddef.h>
#include <stdint.h>

#define LC_INPUTS 8

/* A row of corpus/link/index.tsv; the texts are pieces of it. */
typedef struct lc_case {
    const char *name, *target, *options, *output; /* a file of the archive, or rules */
    const char *input[LC_INPUTS];
    unsigned count;
} lc_case;

/* Rows of the index, for a suite: outside of a test nothing can be asserted. */
int lc_rows(void);
/* The same, read on the first call. */
unsigned lc_count(void);
const lc_case *lc_get(unsigned index);
const lc_case *lc_find(const char *name, const char *target);
/* A file of the archive. */
const uint8_t *lc_file(const char *name, size_t *len);

#endif
