/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For tests that change good files a little, many times: the samples, and one scan of some bytes with all it
 * says. */
#ifndef CV_TESTS_SWEEP_H
#define CV_TESTS_SWEEP_H

#include <cuvet/cuvet.h>

typedef struct sweep_piece {
    char name[128];
    uint8_t *bytes;
    size_t size;
} sweep_piece;

typedef struct sweep_state {
    sweep_piece *samples;
    size_t count, of; /* samples of this process, and of all */
} sweep_state;

typedef struct sweep_outcome {
    cuvet_status status; /* END when all is well */
    cuvet_summary sum;
    uint64_t hash; /* of diagnostics and items */
    bool covered;  /* the claims own every byte once */
} sweep_outcome;

/* ck_assert_msg() writes a mark to a file even when all is well, which takes longer than a scan: in loops
 * over millions of them only a failure is worth one. */
#define SWEEP_CHECK(ok, ...)                                                                                 \
    do {                                                                                                     \
        if (!(ok))                                                                                           \
            ck_abort_msg(__VA_ARGS__);                                                                       \
    } while (0)

/* make check looks at a part of what make check-full looks at. */
bool sweep_full(void);
/* CV_STEP=N: then it looks at each Nth byte only. */
size_t sweep_step(void);
/* CV_PART=K/N: this process sweeps every Nth sample from the Kth on (0 <= K < N), N - 1 others sweep the
 * rest. */
bool sweep_is_part(void);
/* Files of corpus/<dir>, sorted by name, those of this part only. Ends the test when there are none. */
sweep_state sweep_load(const char *dir);
/* Bytes of all samples of this part. */
size_t sweep_bytes(const sweep_state *sweep);
/* The end of every test of this directory: says what was swept, for tools/runtests.py to add up over the
 * parts, and frees the samples. */
void sweep_end(sweep_state *sweep, const char *what, size_t looked_at, size_t cases);
/* lim NULL: strict; claims: with the byte ledger. */
sweep_outcome sweep_scan(const uint8_t *bytes, size_t size, const cuvet_limits *lim, bool claims);
/* Device code was found and nothing is wrong with anything. */
bool sweep_accepted(const sweep_outcome *outcome);

#endif
