/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The shared memory of a final link while it is laid out: who uses which variable (shared_uses.c), and where
 * each comes to lie (shared_memory.c). */
#ifndef CV_LINK_PLAN_SHARED_PLAN_H
#define CV_LINK_PLAN_SHARED_PLAN_H

#include "link/plan/shared_memory.h"

/* A link of a list. */
typedef struct shared_item {
    cv_id value, next;
} shared_item;

CV_VEC(items, shared_item);

/* A variable that functions share. */
typedef struct shared_var {
    cv_id sym;
    cv_id kernels; /* list of items, last first */
    cv_id last;    /* kernel that was added last */
    uint64_t n_kernels;
    cv_id next; /* of the same colour */
} shared_var;

typedef struct shared_colour {
    uint64_t align;
    cv_id first, last;
} shared_colour;

typedef struct shared_kernel {
    cv_id fn;
    cv_u32s own;  /* isyms */
    cv_u32s used; /* bits: colours of its variables */
    uint32_t low; /* all colours below it are used */
    uint64_t end, align;
    cv_id unit; /* extern arrays, CV_NONE: none */
} shared_kernel;

/* Functions and kernels that refer to the same extern arrays; a forest. */
typedef struct shared_unit {
    cv_id parent;
    uint64_t align, off;
    bool reached; /* by a kernel */
} shared_unit;

CV_VEC(vars, shared_var);
CV_VEC(colours, shared_colour);
CV_VEC(kernels, shared_kernel);
CV_VEC(units, shared_unit);

typedef struct shared_plan {
    const cv_view_shared_memory *view;
    kernels kernel;
    vars var;
    items item;
    colours colour;
    units unit;
    cv_u32s uses;     /* by function: list of the variables that its code refers to, + 1 */
    cv_u32s user;     /* by symbol: the function that was seen last to refer to it */
    cv_u32s named;    /* by symbol: of an array that a debugger asks for: unit, + 1 */
    cv_u32s var_of;   /* by symbol: the variable that it is */
    cv_u32s order;    /* by function: of a kernel among kernels */
    cv_u32s arrays;   /* by function: unit, + 1 */
    uint64_t end;     /* of the coloured variables */
    uint64_t largest; /* alignment of all variables that functions share */
    bool has_array;   /* somebody names an extern array */
} shared_plan;

static inline cv_mem *cv_shared_mem(const shared_plan *shared)
{
    return &shared->view->ctx->mem;
}

/* The unit that stands for all that were joined with it. */
CV_MUST cv_id cv_shared_find_unit(shared_plan *shared, cv_id unit);
/* The kernels, what the code of each function refers to, where each variable belongs, and what each kernel
 * reaches. */
CV_MUST cuvet_status cv_shared_find_uses(shared_plan *shared);

#endif
