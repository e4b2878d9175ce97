/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions of a program, who calls whom, and what they use. */
#ifndef CV_LINK_GRAPH_GRAPH_H
#define CV_LINK_GRAPH_GRAPH_H

#include "link/in/inherit.h"
#include "link/in/link.h"

/* A function of the program: one for each local symbol that is one, and one for each global name. */
typedef struct cv_lfn {
    cv_id id; /* its own number */
    cv_id name;
    cv_id def;   /* the isym that won */
    cv_id owner; /* the function whose code its own is; itself, where it is no alias */
    bool kernel, has_def;
} cv_lfn;

CV_VEC(cv_lfns, cv_lfn);

/* A code section of an input. */
typedef struct cv_code {
    cv_id owner; /* the function that it is part of */
    bool lost;   /* another definition won … */
    bool beaten; /* … one of an earlier input: the reference never takes anything from this one */
} cv_code;

CV_VEC(cv_codes, cv_code);

/* What is known of a function from the call graph. */
typedef struct cv_fn_calls {
    cv_id calls, taken, ind, adr; /* lists of edges, last read first */
    cv_id proto;
    bool launched; /* a kernel: without a prototype, by an input that lost or that does not say so */
    bool live;
    bool kept;       /* and what is undefined and called from there */
    bool reachable;  /* from a kernel; what is kept because its address is taken somewhere may be not */
    bool unreferred; /* a kernel that no host code refers to */
} cv_fn_calls;

CV_VEC(cv_fn_calls_list, cv_fn_calls);

/* Is its address taken, with a prototype or without? */
static inline bool cv_fn_is_taken(const cv_fn_calls *calls)
{
    return calls->taken != CV_NONE || calls->launched;
}

/* What a function uses. */
typedef struct cv_fn_usage {
    uint32_t regs, frame, max_regs;
    uint32_t all_regs;
    cv_traits own, all; /* of its records; of all that it reaches (sums: of a kernel) */
    uint64_t stack;     /* UINT32_MAX: recursion */
    uint32_t strange;   /* code of a record that a kernel may or may not inherit, + 1 */
    bool has_info, recursive, limited;
    bool marked;    /* it says nothing of sparse multiplication, or one of its names does not */
    bool flag_bars; /* bars come from the flags of old code and have no record yet */
} cv_fn_usage;

CV_VEC(cv_fn_usages, cv_fn_usage);

typedef struct cv_edge {
    cv_id to; /* function, or name of a prototype */
    cv_id next;
} cv_edge;

CV_VEC(cv_edges, cv_edge);

struct cv_part_functions {
    cv_lfns fn;
    cv_u32s of;      /* by symbol: the function that it is */
    cv_u32s by_name; /* by name: the function that global symbols of this name are */
    cv_codes code;   /* by section of an input; of code */
};

/* What relocations refer to. */
struct cv_part_uses {
    cv_u8s addressed; /* by function: data has its address, or code that may lack its record */
};

/* Who calls whom. */
struct cv_part_calls {
    cv_fn_calls_list fn;
    cv_edges edge;
    cv_u32s protos; /* names of prototypes in the order of their first use: a node for each */
    cv_u32s node;   /* by name: of a prototype, its node in the call graph */
    cv_u32s takers; /* by node: edges to the functions whose address is taken with it */
    bool reached;   /* the call graph is there */
};

/* What functions use, and kernels inherit. */
struct cv_part_usage {
    cv_fn_usages fn;
    bool silent;        /* some function says nothing of sparse multiplication, others do */
    bool propagated;    /* the registers below kernels are known */
    uint32_t fragments; /* 1: code of 12.x uses tcgen05, 2: code of 13.x */
};

CV_LINK_ELEMENT(functions, cv_lfn, fn, cv_lfns, fn);
CV_LINK_ELEMENT(calls, cv_fn_calls, fn_calls, cv_fn_calls_list, fn);
CV_LINK_ELEMENT(usage, cv_fn_usage, fn_usage, cv_fn_usages, fn);
#define cv_l_fn(view_, index)       CV_LINK_WAY(functions, fn, view_, index)
#define cv_l_fn_calls(view_, index) CV_LINK_WAY(calls, fn_calls, view_, index)
#define cv_l_fn_usage(view_, index) CV_LINK_WAY(usage, fn_usage, view_, index)
/* Of a symbol of an input: the function that it is. */
#define cv_l_fn_of(view_, isym) (*cv_u32s_get(&(view_)->functions->of, (isym)))

/* A kernel that the output has. */
static inline bool cv_calls_is_kernel(const cv_part_functions *functions, const cv_part_calls *calls,
                                      cv_id fn)
{
    const cv_lfn *function = cv_l_fn_get(functions, fn);

    return function->kernel && function->def != CV_NONE && cv_l_fn_calls_get(calls, fn)->live;
}
#define cv_l_is_kernel(view_, fn) cv_calls_is_kernel((view_)->functions, (view_)->calls, (fn))

/* roots.c: is a kernel of this name asked for? Without an option, each is. */
CV_MUST bool cv_link_is_used(const cv_link_options *options, cv_span name);

#endif
