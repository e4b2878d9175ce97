/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A backend that asks a code generator outside: a program in a caged child (proc/external.h), or whatever the
 * caller plugged in. It takes relocatable objects with capsules and gives such objects. */
#ifndef CV_FINALIZE_EXTERNAL_H
#define CV_FINALIZE_EXTERNAL_H

#include <cuvet/compiler.h>

#include "finalize/backend.h"

/* self of cv_backend_external; lasts as long as it is used, by any number of threads. */
typedef struct cv_final_tool {
    cuvet_compiler compiler; /* takes requests with 'cubin' */
    /* What it said, made safe; not called when it said nothing. May be NULL. */
    void (*said)(void *user, const char *log);
    void *user;
} cv_final_tool;

extern const cv_backend cv_backend_external;

#endif
