/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links for the targets of its stages: an input is up to three objects, each where an ELF magic begins; the
 * first byte of the input begins the first one. Parameters: bits 8..12 target (0: that of the first object,
 * else the list of targets from sm_90 on, which goes round), 13 relocatable, 14 in the reference's form, 15
 * debug, 16 preserve_relocs, 17 no_stack_warning, 18 warnings_are_errors, 19 kernels_used, 20 other order, 21
 * exact policy.
 */
#ifndef CV_FUZZ_LINKING_H
#define CV_FUZZ_LINKING_H

#include <cuvet/linker.h>

#include "common.h"
#include "link/run.h"
#include "mutate.h"

#define FZ_OBJECTS 3

typedef struct fz_piece {
    const uint8_t *bytes;
    size_t size;
    bool added;
} fz_piece;

/* Pieces of the input; at most FZ_OBJECTS. */
size_t fz_split(const uint8_t *bytes, size_t size, fz_piece *out);
cuvet_linker_options fz_linker_options(const fz_input *in);

typedef struct fz_link {
    fz_state *fuzz;
    fz_piece piece[FZ_OBJECTS];
    size_t count;
    cuvet_linker_options opt;
    cv_link link;
    size_t from[FZ_OBJECTS];    /* piece of each object that was taken … */
    cv_block image[FZ_OBJECTS]; /* … and its bytes, which a link may write in */
    cv_block out;               /* of a whole link: the result but for what is borrowed … */
    cv_slices file;             /* … and all of it */
} fz_link;

/* An object into a link as the public linker takes it; false: it does not. */
bool fz_take(cv_link *link, cv_span image, const char *name);
/* Examine the pieces and take those that the public linker takes; turned: the last one first. Nothing that is
 * found in them is delivered. The result of a link does not depend on the key. */
void fz_link_open(fz_link *linking, fz_state *fuzz, bool turned, uint64_t key);
/* A status that a link has, and not our own fault. */
void fz_link_status(cuvet_status status);
/* The recipe up to a stage, NULL: all of it. The status is one that a link has, and not our own fault. */
cuvet_status fz_link_run(fz_link *linking, const char *stage);
void fz_link_close(fz_link *linking);
/* The work of a link has no limit and its memory no tiny one. */
bool fz_link_roomy(const fz_state *fuzz);

/* Edits of objects that keep them linkable, or break one thing. */
fz_mutate_fn fz_mutate_link;
size_t fz_cross_link(const uint8_t *left, size_t na, const uint8_t *right, size_t nb, uint8_t *out,
                     size_t max, unsigned seed);

#define CV_FUZZ_LINK_MUTATOR                                                                                 \
    CV_FUZZ_MUTATOR(fz_mutate_link)                                                                          \
    __attribute__((visibility("default"))) size_t LLVMFuzzerCustomCrossOver(                                 \
        const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out, size_t max, unsigned seed);  \
    size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out, \
                                     size_t max, unsigned seed)                                              \
    {                                                                                                        \
        return fz_cross_link(a, na, b, nb, out, max, seed);                                                  \
    }

#endif
