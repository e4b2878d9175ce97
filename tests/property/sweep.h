/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For tests that change good files a little, many times: the samples, and one scan of some bytes with all it
 * says. */
#ifndef CV_TESTS_SWEEP_H
#define CV_TESTS_SWEEP_H

#include <cuvet/cuvet.h>

typedef struct sample {
    char name[128];
    uint8_t *bytes;
    size_t n;
} sample;

typedef struct outcome {
    cuvet_status status; /* END when all is well */
    cuvet_summary sum;
    uint64_t hash; /* of diagnostics and items */
    bool covered;  /* the claims own every byte once */
} outcome;

/* make check looks at a part of what make check-full looks at. */
bool sweep_full(void);
/* Files of corpus/<dir>, sorted by name, those with the suffix only (NULL: all). Ends the test when there are
 * none. */
size_t sweep_load(const char *dir, const char *suffix, sample **out);
void sweep_free(sample *s, size_t n);
/* lim NULL: strict; claims: with the byte ledger. */
outcome sweep_scan(const uint8_t *bytes, size_t n, const cuvet_limits *lim, bool claims);
/* Device code was found and nothing is wrong with anything. */
bool sweep_accepted(const outcome *o);

#endif
