/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory for contexts of targets under an engine. A run makes hundreds of small blocks; on ASan's heap they
 * cost more than what is done with them. Here they stand side by side in stretches that stay from run to run,
 * and everything is poisoned but the bytes of the blocks that are in use: before, behind and after its time
 * each byte is guarded as on the heap. What was released is not used again before its whole stretch is free
 * and has rested. A block must be released with the size that it has.
 *
 * Where ASan is not, and in the replay driver, whose reports say where a block was made, blocks are the
 * heap's. */
#ifndef CV_FUZZ_POOL_H
#define CV_FUZZ_POOL_H

#include <cuvet/alloc.h>

void *fz_pool_get(size_t size);
void *fz_pool_resize(void *block, size_t old_size, size_t new_size);
void fz_pool_put(void *block, size_t size);

/* The pool as an allocator that never fails by itself. */
extern const cuvet_alloc fz_pool;

#endif
