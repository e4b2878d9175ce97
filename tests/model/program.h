/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program as its author means it: functions, who calls whom, what they need. The models (model.h) say from
 * it alone what a link has to make of it; fuzz/program.c draws one, fuzz/program_elf.c writes its objects.
 * Numbers are small, so that sets are bits of a word. */
#ifndef CV_TESTS_MODEL_PROGRAM_H
#define CV_TESTS_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define MD_UNITS  3
#define MD_FNS    10
#define MD_PROTOS 3
#define MD_VARS   10
#define MD_IMAGES 6
#define MD_NONE   UINT8_MAX

#define MD_BIT(n) (UINT32_C(1) << (n))

/* A set of functions, kernels, variables: a bit for each. */
typedef uint32_t md_set;

/* What a record of a function says that a kernel above it may need as well: a number, or that there is none.
 */
typedef enum md_trait {
    MD_BARRIERS,    /* NUM_BARRIERS */
    MD_MBARRIERS,   /* NUM_MBARRIERS */
    MD_SYNC_STACK,  /* CRS_STACK_SIZE */
    MD_SPARSE,      /* SPARSE_MMA_MASK */
    MD_CTAIDZ,      /* CTAIDZ_USED: a flag, its number is 1 */
    MD_RESERVED,    /* RESERVED_SMEM_USED: likewise */
    MD_RECONFIGURE, /* REG_RECONFIG: likewise */
    MD_TRAITS
} md_trait;

typedef struct md_traits {
    uint32_t has; /* a bit for each trait */
    uint32_t value[MD_TRAITS];
} md_traits;

typedef struct md_fn {
    bool kernel;
    bool provided;                    /* by the driver: no input defines it */
    bool missing;                     /* nobody defines it */
    uint8_t unit;                     /* the input that defines it */
    md_set calls;                     /* by name: part 1 of .nv.callgraph, and a relocation for each */
    md_set takes;                     /* whose address it takes: part 4 */
    uint8_t by_type;                  /* prototypes of its indirect calls, a bit for each: part 3 */
    uint8_t type;                     /* its own prototype */
    bool in_data;                     /* variables hold its address */
    uint8_t said;                     /* units that say in part 2 that its address is taken, a bit for each */
    uint32_t registers, frame, limit; /* limit: MAXREG_COUNT, 0xFF is none */
    md_traits own;
    uint16_t uses;  /* shared variables that its code refers to */
    uint8_t images; /* textures and surfaces that its code refers to */
    uint32_t bank;  /* of a kernel: bytes of its parameter bank */
} md_fn;

/* A shared variable. */
typedef struct md_var {
    bool of_kernel; /* in .nv.shared of the kernel 'owner', else in .nv_debug.shared of the unit */
    bool array;     /* extern, without a size */
    bool global;    /* others see its name */
    uint8_t owner, unit;
    uint32_t size, align;
} md_var;

/* A texture or surface that code names. */
typedef struct md_image {
    uint8_t kind; /* 10 texture, 12 surface: the type of its symbol */
} md_image;

typedef struct md_program {
    uint32_t sm;
    unsigned n_units, n_fns, n_vars, n_images;
    md_fn fn[MD_FNS];
    md_var var[MD_VARS];
    md_image image[MD_IMAGES];
    bool keep_dead, reserves;
    uint8_t asked; /* whose name alone is asked for, kernel or not; MD_NONE: all kernels are */
} md_program;

/* Does an input define it? */
static inline bool md_is_defined(const md_fn *fn)
{
    return !fn->provided && !fn->missing;
}

#endif
