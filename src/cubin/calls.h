/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the call graph of a file says about its functions, for the relocations to be compared with: a linker
 * decides by the one what stays, and the code does what the others say. */
#ifndef CV_CUBIN_CALLS_H
#define CV_CUBIN_CALLS_H

#include "cubin/internal.h"

/* Places that the records of one function name. */
typedef struct cv_call_places {
    bool made;
    uint32_t caller;
    cv_keys place;
} cv_call_places;

typedef struct cv_calls {
    bool judged;    /* false: an executable without a graph, as linkers before 12.0 leave it */
    cv_keys edge;   /* parts 1 to 3: what registers and stack are counted along */
    cv_keys launch; /* part 4, of kernels */
    cv_keys target; /* part 4, of functions */
    cv_call_places callee,
        taken; /* made when somebody asks for other names: of the caller that was asked about last; of
                                   * functions whose address is taken */
} cv_calls;

/* OK, NOMEM or LIMIT. Says nothing about the graph itself: that is cv_meta_callgraph(). */
CV_MUST cuvet_status cv_calls_read(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *out);
void cv_calls_free(cv_ctx *ctx, cv_calls *calls);

/* Does 'from' call 'to'? Numbers of symbols. */
CV_MUST bool cv_calls_direct(const cv_calls *calls, uint32_t from, uint32_t to);
/* Does it call one of the other names of 'to', at the same place? The first question about 'from' looks at
 * all of its calls, and pays. */
CV_MUST bool cv_calls_alias(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, uint32_t from, uint32_t to);
/* Is the address of one of its other names known to be taken? The first question pays as well. */
CV_MUST bool cv_calls_taken_alias(cv_ctx *ctx, const cv_cubin *cubin, cv_calls *calls, uint32_t to);
/* Is its address known to be taken, by whoever, or, of a kernel, by 'from'? */
CV_MUST bool cv_calls_taken(const cv_calls *calls, uint32_t from, uint32_t to);
/* Does it call through pointers, to whom part 3 says, or to those that part 4 lists and part 1 as well? */
CV_MUST bool cv_calls_indirect(const cv_calls *calls, uint32_t from);

#endif
