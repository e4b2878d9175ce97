/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The bytes of the output. */
#ifndef CV_LINK_WRITE_WRITE_H
#define CV_LINK_WRITE_WRITE_H

#include "bytes/slices.h"
#include "io/source.h"
#include "link/plan/plan.h"

/* What the file says of itself when it is read again. */
typedef struct cv_seen {
    uint64_t sections, symbols, extent, kernels, functions;
} cv_seen;

/* What the link writes itself. */
struct cv_part_synthetics {
    uint64_t shoff, phoff;
};

/* The result. */
struct cv_part_file {
    uint64_t phnum, size;
    cv_block *block;   /* the caller's */
    cv_slices *slices; /* of *block and of the images */
};

/* What the file says of itself when it is read again. */
struct cv_part_reread {
    cv_seen seen;
    cv_cubin cubin; /* the result, as it was read */
};

#endif
