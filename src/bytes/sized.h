/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Structures that callers own begin with their size, a size_t. A program may have been compiled against an
 * older or a newer header than the library: what it does not have keeps its default, and what the library
 * does not know must be zero. */
#ifndef CV_BYTES_SIZED_H
#define CV_BYTES_SIZED_H

#include "base/base.h"

/* Bytes of the caller's structure, as it says itself. */
size_t cv_sized_size(const void *given);
/* Copy a caller's structure onto ours, which holds the defaults and has 'known' bytes. False, and ours
 * untouched: no structure of ours ever had its size, or a byte behind what is known is not zero. */
CV_MUST bool cv_sized_take(const void *given, void *ours, size_t known);
/* Fill a caller's structure from ours: as much as both have; the rest of the caller's is zeroed, and its size
 * stays. False, and nothing is written: its size is none that a structure of ours ever had. */
CV_MUST bool cv_sized_give(void *given, const void *ours, size_t known);
/* The same where the size was asked about before. */
void cv_sized_fill(void *given, const void *ours, size_t known);
/* Can a caller's structure be given an answer at all? */
CV_MUST bool cv_sized_is_possible(const void *given);

#endif
