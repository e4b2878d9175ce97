/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Large blocks that were given back are kept for the next who asks: pages that the system has just taken away
 * cost more to get again than most of a link. And large blocks in large pages, for who asks for them. */
#ifndef CV_IO_KEEP_H
#define CV_IO_KEEP_H

#include <pthread.h>

#include "base/mem.h"

#define CV_KEEP_BLOCKS 128u

typedef struct cv_kept_block {
    void *block;
    uint64_t size; /* of its class */
} cv_kept_block;

/* An allocator on top of another. It may be used by several threads, if that one may. */
typedef struct cv_keep {
    cuvet_alloc below;
    uint64_t most, bytes; /* that may be kept, and that are */
    bool huge;            /* the system is asked for large pages */
    pthread_mutex_t lock;
    uint32_t count;
    cv_kept_block kept[CV_KEEP_BLOCKS]; /* the one that has been here longest first */
} cv_keep;

/* @return OK · NOMEM (no mutex to be had) */
CV_MUST cuvet_status cv_keep_init(cv_keep *keep, const cuvet_alloc *below, uint64_t most, bool huge);
/* What is kept goes back; blocks that are still out have to be back before. */
void cv_keep_end(cv_keep *keep);
/* The allocator itself; borrowed, as long as 'keep' stays where it is. */
cuvet_alloc cv_keep_alloc(cv_keep *keep);

#endif
