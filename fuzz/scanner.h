/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A scan through the public interface, with everything it says hashed and checked; used by several targets.
 */
#ifndef CV_FUZZ_SCANNER_H
#define CV_FUZZ_SCANNER_H

#include <cuvet/cuvet.h>

#include "common.h"

/* An allocator that counts, and that fails on request. */
typedef struct fz_alloc {
    uint64_t live;    /* atomic: workers share it */
    uint64_t peak;    /* where one thread allocates */
    uint64_t calls;   /* atomic */
    uint64_t fail_at; /* this call fails (1: the first), 0: none */
    bool fail_on;     /* … and every later one */
    bool failed;
} fz_alloc;

cuvet_alloc fz_alloc_of(fz_alloc *alloc);

typedef struct fz_claim {
    uint64_t off, len;
    bool shared;
} fz_claim;

enum { FZ_KINDS = 5 };

typedef struct fz_scan {
    const fz_input *in;
    uint32_t jobs;
    bool ahead; /* the first units are examined before they are asked for */
    cuvet_depth depth;
    bool claims;
    const cuvet_source *source;                       /* NULL: the input in memory */
    void (*each)(void *user, const cuvet_item *item); /* NULL: items are not told */
    void *user;
    cuvet_rule wanted; /* a rule of which it is counted how often it was reported */
    /* out: */
    uint64_t hash, n_wanted;
    uint64_t n_items, n_diags, n_notes, n_warnings, n_errors;
    cuvet_verdict worst;
    cuvet_summary sum;
    cuvet_status status;     /* what ended the scan: END when all is well */
    bool rule_limit;         /* a limit was reported */
    bool unsupported;        /* so was something that is not examined, whatever the verdict is */
    bool profile;            /* something was reported that no known producer writes */
    uint64_t kind[FZ_KINDS]; /* items by what they are: ELF, PTX, LTO-IR, bitcode, others */
    fz_claim *list;
    size_t n_list, cap_list;
} fz_scan;

/* Run to the end in a context of its own. */
void fz_scan_run(fz_scan *scanning, const cuvet_limits *lim, fz_alloc *other_alloc);
void fz_scan_free(fz_scan *scan);
/* The claims cover [0, len) exactly once, shared ones aside. */
bool fz_scan_covered(fz_scan *scan);

#endif
