/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small, slow models of what the stages of a link decide. Each is written from the sheets of the format and
 * from docs/link.md, and names the place; none looks at the code of a stage. A fuzz target of the same name
 * runs the stage and compares. */
#ifndef CV_TESTS_MODEL_MODEL_H
#define CV_TESTS_MODEL_MODEL_H

#include "model/program.h"

/* reach.c: which functions stay, and which of them run. */
typedef struct md_reach {
    md_set below[MD_FNS]; /* what a function can come to, itself included */
    md_set runs;          /* what a kernel that stays comes to */
    md_set stays;         /* code of the output, or what it leaves undefined */
    md_set kernels;       /* that stay */
    bool undefined;       /* something that nobody has is referred to */
} md_reach;

void md_find_reach(const md_program *program, md_reach *reach);
/* Does some function call it or take its address, or a variable hold it? */
bool md_is_named(const md_program *program, unsigned fn);
/* Does one call of it come to another, by name or by type? */
bool md_leads_to(const md_program *program, unsigned from, unsigned to);

/* usage.c: what each kernel needs for whatever it comes to. */
typedef struct md_need {
    uint32_t registers;
    uint32_t stack; /* UINT32_MAX: nobody knows */
    bool recursive;
    bool exceeds; /* a sum that its record cannot hold */
    md_traits all;
} md_need;

typedef struct md_usage {
    md_need of[MD_FNS]; /* of kernels that stay */
    bool too_many;      /* a callee has more registers than its kernel was promised */
    bool sum_exceeds;   /* of one of them */
} md_usage;

/* The records of a function that stays, with what is said of those that say nothing. */
md_traits md_own_of(const md_program *program, const md_reach *reach, unsigned at);
void md_find_usage(const md_program *program, const md_reach *reach, md_usage *usage);

/* list_sort.c: the sort of the reference linker, which is not stable. second: of equals take that of the
 * second half. */
#define MD_LIST 16

typedef bool md_before(const void *user, unsigned left, unsigned right);

void md_list_sort(unsigned *list, unsigned count, md_before *before, const void *user, bool second);

/* shared.c: where shared variables lie, and how much a kernel has of shared memory. */
typedef struct md_place {
    bool placed;
    uint8_t kernel; /* that alone has it; MD_NONE: several, or none */
    uint64_t off;
} md_place;

typedef struct md_section {
    bool there;
    uint64_t end, align;
} md_section;

typedef struct md_shared {
    md_place var[MD_VARS];
    md_section of[MD_FNS];   /* of kernels that stay */
    md_set has_arrays;       /* functions that refer to extern arrays, and that a kernel reaches */
    uint64_t arrays[MD_FNS]; /* where they find them */
    bool too_much;
} md_shared;

void md_find_shared(const md_program *program, const md_reach *reach, md_shared *shared);

/* slots.c: where the loader writes which texture a kernel uses. */
typedef struct md_slots {
    unsigned count;
    md_set users;            /* kernels that have slots */
    uint64_t off[MD_IMAGES]; /* of a texture, in the banks of all of them */
    uint64_t size[MD_FNS];   /* of the parameter bank of a kernel */
} md_slots;

void md_find_slots(const md_program *program, const md_reach *reach, md_slots *slots);

/* describe.c: what .nv.info of the output says of each function. */
typedef struct md_said {
    md_traits of[MD_FNS];                                     /* records of .nv.info.<f> */
    uint32_t registers[MD_FNS], frame[MD_FNS], stack[MD_FNS]; /* of .nv.info; stack: of kernels */
    md_set described;                                         /* functions with code that stays */
} md_said;

void md_find_said(const md_program *program, const md_reach *reach, const md_usage *usage, md_said *said);

#endif
