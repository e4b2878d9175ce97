/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Islands: in sanitizer builds each sub-span is copied to a heap block of exactly its size, so that
 * AddressSanitizer sees an overread that stays inside the file. */
#ifndef CV_BYTES_ISLAND_H
#define CV_BYTES_ISLAND_H

#include "bytes/span.h"

#if defined(CV_ISLANDS) && CV_ISLANDS
cv_span cv_island(cv_span s);
#else
static inline cv_span cv_island(cv_span s)
{
    return s;
}
#endif

#endif
