/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A compiler that runs ptxas or nvlink, or something that takes their arguments, as a child in a sandbox. */
#ifndef CV_PROC_EXTERNAL_H
#define CV_PROC_EXTERNAL_H

#include <cuvet/compiler.h>

#include "base/mem.h"

typedef struct cv_external {
    cuvet_alloc alloc;
    cuvet_external conf; /* no field is 0 or NULL */
} cv_external;

/* Fill in the defaults, and judge: OK · USAGE. */
CV_MUST cuvet_status cv_external_check(const cuvet_external *given, cuvet_external *out);
/* Limits of a child that this one runs; the rest of its options is left alone. */
struct cv_child_options;
struct cv_child_result;
void cv_external_limits(const cuvet_external *conf, struct cv_child_options *options);
/* How a child ended, in the words of the interface. Its log is handed on, and its bytes when it compiled:
 * else they are given back to 'mem'. */
void cv_external_end(cv_mem *mem, const cuvet_external *conf, struct cv_child_result *result,
                     cuvet_compile_result *out);
/* For cuvet_compiler; user: a cv_external that lasts. Several threads may call at once. */
CV_MUST cuvet_status cv_external_compile(void *user, const cuvet_compile_request *req,
                                         cuvet_compile_result *out);

#endif
