/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Search for one of two 32-bit values at any offset, at the speed of reading memory. */
#ifndef CV_BYTES_SEARCH_H
#define CV_BYTES_SEARCH_H

#include "bytes/span.h"

/* Smallest offset >= from where the little-endian u32 equals a or b; s.len when there is none. */
uint64_t cv_span_find_u32(cv_span span, uint64_t from, uint32_t first, uint32_t second);
/* The same without the vectors that only some processors have: for comparison. */
uint64_t cv_span_find_u32_plain(cv_span span, uint64_t from, uint32_t first, uint32_t second);

/* Only printable ASCII, blanks and line ends: nothing below ' ' but 9..13, nothing from 0x7F on. */
bool cv_span_is_text(cv_span span);

#endif
