/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Budgeted memory: every block is counted before it is asked for. */
#ifndef CV_BASE_MEM_H
#define CV_BASE_MEM_H

#include <cuvet/alloc.h>

#include "base/base.h"

typedef struct cv_mem {
    cuvet_alloc alloc;
    uint64_t limit; /* live bytes allowed */
    uint64_t live;
    uint64_t peak;
    bool limited; /* the limit, not the allocator, refused something since this was cleared */
} cv_mem;

void cv_mem_init(cv_mem *mem, const cuvet_alloc *alloc, uint64_t limit);

/* Zeroed block; NULL when size is 0, over the budget or refused by the allocator (see cv_mem_status). */
CV_MUST void *cv_mem_get(cv_mem *mem, uint64_t size);
/* Block whose bytes are not cleared: only for payload that is filled whole at once. */
CV_MUST void *cv_mem_get_raw(cv_mem *mem, uint64_t size);
/* Grow or shrink; new bytes are zero. NULL on failure, the old block stays valid. */
CV_MUST void *cv_mem_resize(cv_mem *mem, void *block, uint64_t old_size, uint64_t new_size);
/* The same, new bytes as they are: for owners that never look beyond what they wrote. Room that is asked for
 * ahead costs no memory before it is used. */
CV_MUST void *cv_mem_resize_raw(cv_mem *mem, void *block, uint64_t old_size, uint64_t new_size);
void cv_mem_put(cv_mem *mem, void *block, uint64_t size);
/* A block that 'from' counted belongs to 'to' from here on, both of the same allocator. False: over the
 * budget of 'to', and nothing has changed. */
CV_MUST bool cv_mem_move(cv_mem *to, cv_mem *from, uint64_t size);
/* Why a get or resize returned NULL. */
CV_MUST cuvet_status cv_mem_status(const cv_mem *mem);

/* malloc and friends behind the interface. */
extern const cuvet_alloc cv_alloc_default;

#endif
