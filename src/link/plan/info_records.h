/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the three files of stage info_records share. */
#ifndef CV_LINK_PLAN_INFO_RECORDS_H
#define CV_LINK_PLAN_INFO_RECORDS_H

#include "format/tlv/attr.h"
#include "link/graph/walk.h"
#include "link/plan/plan.h"

typedef struct info_describer {
    const cv_view_info_records *view;
    cv_u32s list; /* osyms of one EXTERNS record */
    cv_walk_below below;
    cv_u32s only; /* by function: it reaches one that has something to tell a kernel */
    cv_u8s tells; /* by function: what its own lists of called symbols say */
    cv_u32s mark; /* by osym: stamp of the list it is in */
    uint32_t stamp;
    cv_u32s words;   /* of one record that is joined of many */
    uint32_t lacked; /* rows that some kernel has no record of */
    uint64_t n_kernels;
} info_describer;

enum {
    CV_D_KEEPS = 1, /* names a symbol that stays in the list */
    CV_D_NAMES = 2  /* has a list, whatever stays of it */
};

/* What a kernel's records need to know about the functions below it. */
typedef struct kernel_facts {
    cv_keys below; /* device functions below it in the order of their records */
    uint32_t told; /* rows that it has a record of already */
    bool own_externs, grown, in_place, externs;
} kernel_facts;

/* info_lists.c */
cv_span cv_d_info_body(const cv_view_info_records *view, const cv_lfn *function);
void cv_d_new_list(info_describer *describer);
/* Add the kept entries of a function's own EXTERNS records to the list. */
CV_MUST bool cv_d_list_kept(info_describer *describer, const cv_lfn *function);
/* What these records say, once for each function: many kernels may reach it. */
CV_MUST bool cv_d_look_at_lists(info_describer *describer, const cv_lfn *function, uint8_t *tells);
CV_MUST bool cv_d_find_facts(info_describer *describer, cv_id kernel, kernel_facts *facts);

/* info_inherited.c: records that a kernel inherits. */
/* A record of the kernel's own, with what it inherits. */
CV_MUST bool cv_d_own_record(info_describer *describer, cv_id fn, cv_heir row, kernel_facts *facts);
/* Barriers of a kernel that flags of old code tell and go on telling: a function below it has a record of its
 * own, from which the kernel gets its record, and then the reference leaves the flags as they are. */
uint32_t cv_d_kept_barriers(const info_describer *describer, cv_id fn, const kernel_facts *facts);
/* Records that it has none of. */
CV_MUST bool cv_d_missing(info_describer *describer, cv_id fn, kernel_facts *facts);
CV_MUST bool cv_d_add_value(const cv_view_info_records *view, cv_heir row, uint32_t value);
CV_MUST bool cv_d_add_words(info_describer *describer, cv_heir row);
CV_MUST bool cv_d_add_externs(info_describer *describer);
/* Place of a function's records among those of all inputs. */
CV_MUST cv_id cv_d_place(const cv_view_info_records *view, const cv_lfn *function);

#endif
