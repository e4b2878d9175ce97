/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The proof of a link: that the result is right is shown from the bytes of the inputs and of the result.
 * Whoever makes the result hands over hints: where it put sections and symbols. Nobody trusts them: a wrong
 * one can only make the proof fail. Nothing here knows how the stages of a link do their work. */
#ifndef CV_LINK_PROVE_PROVE_H
#define CV_LINK_PROVE_PROVE_H

#include "bytes/intern.h"
#include "bytes/lanes.h"
#include "bytes/slices.h"
#include "cubin/cubin.h"

/* An input, and where its sections and its symbols begin in the lists of hints. */
typedef struct cv_prove_input {
    const cv_cubin *cubin;
    uint64_t first_sec, first_sym;
} cv_prove_input;

CV_VEC(cv_prove_inputs, cv_prove_input);

/* Hints: where a section of an input lies in the result. */
typedef struct cv_prove_place {
    uint32_t sec; /* 0: nowhere */
    uint64_t base;
} cv_prove_place;

CV_VEC(cv_prove_places, cv_prove_place);

typedef struct cv_prove_facts {
    cv_prove_inputs in;
    cv_prove_places place; /* by section of an input */
    cv_u32s sym;           /* by symbol of an input: the symbol that stands for it; 0: none */
    cv_u32s
        definition; /* by symbol of an input, of shared variables: the symbol that defines it, among all */
    cv_u64s
        shared; /* by symbol of an input, of shared variables: 1 + its place; 0: it depends on the kernel */
    cv_u64s table;       /* by section of an input, of branch tables of device functions: 1 + its place */
    uint64_t key0, key1; /* of the hashes of names */
    uint64_t reserved;   /* shared memory that the system has of each kernel's */
    uint32_t machine;    /* that the link is for */
    const cv_cubin *result;
    const cv_slices *file;
    bool relocatable, exact; /* -r; in the form that cannot be linked again */
    bool debug, preserve;    /* -g, --preserve-relocs */
    bool whole;              /* functions that nobody calls stay */
    bool rebuilt;            /* call frames and lines are made anew */
    /* Is a kernel of this name asked for? By options and host code. */
    bool (*asks)(const void *user, cv_span name);
    const void *user;
    const cuvet_executor *executor; /* threads for the sections; NULL: none */
} cv_prove_facts;

void cv_prove_facts_free(cv_mem *mem, cv_prove_facts *facts);
/* @return OK · INTERNAL: what does not hold was reported · NOMEM */
CV_MUST cuvet_status cv_prove_link(cv_ctx *ctx, const cv_prove_facts *facts);

#endif
