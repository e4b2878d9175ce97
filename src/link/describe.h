/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the two files of stage describe share. */
#ifndef CV_LINK_DESCRIBE_H
#define CV_LINK_DESCRIBE_H

#include "format/tlv/read.h"
#include "link/stages.h"

enum {
    A_PARAM_CBANK = 0x0A,
    A_BINDLESS_TEXTURE = 0x15,
    A_BINDLESS_SURFACE = 0x16,
    A_EXTERNS = 0x0F,
    A_FRAME_SIZE = 0x11,
    A_MIN_STACK_SIZE = 0x12,
    A_CBANK_PARAM_SIZE = 0x19,
    A_CRS_STACK_SIZE = 0x1E,
    A_MAX_STACK_SIZE = 0x23,
    A_REGCOUNT = 0x2F,
    A_EXPLICIT_CLUSTER = 0x3E,
    A_SW_WAR = 0x36,
    A_NUM_BARRIERS = 0x4C,
    A_SPARSE_MMA_MASK = 0x50,
    SPARSE_ALIAS = 0x8000
};

typedef struct describer {
    cv_link *l;
    cv_u32s list; /* osyms of one EXTERNS record */
    cv_u32s below, seen;
    cv_u32s only; /* by function: it reaches one that has something to tell a kernel */
    cv_u8s tells; /* by function: what its own lists of called symbols say */
    cv_u32s mark; /* by osym: stamp of the list it is in */
    uint32_t stamp;
    uint64_t n_kernels;
} describer;

enum {
    CV_D_KEEPS = 1 /* names a symbol that stays in the list */
};

/* What a kernel's records need to know about the functions below it. */
typedef struct kernel_facts {
    cv_keys below; /* device functions below it in the order of their records */
    bool own_externs, grown, in_place, bars, externs;
} kernel_facts;

/* externs.c */
/* Symbol of the output that a symbol index of an input's record becomes. */
cv_id cv_d_output_symbol(const cv_link *l, const cv_lobj *o, uint32_t index);
cv_span cv_d_info_body(const cv_link *l, const cv_lfn *f);
void cv_d_new_list(describer *d);
/* Add the kept entries of a function's own EXTERNS records to the list. */
CV_MUST bool cv_d_list_kept(describer *d, const cv_lfn *f);
/* What these records say, once for each function: many kernels may reach it. */
CV_MUST bool cv_d_look_at_lists(describer *d, const cv_lfn *f, uint8_t *tells);
CV_MUST bool cv_d_find_facts(describer *d, cv_id k, kernel_facts *f);

#endif
