/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The list sort of the reference linker: not stable, and its order of equal elements is part of the layout.
 */
#ifndef CV_BYTES_ORDER_H
#define CV_BYTES_ORDER_H

#include "base/vec.h"

/* True: a belongs before b. */
typedef bool cv_before(void *user, uint32_t left, uint32_t right);

/* A merge sort that takes the elements alternately to the front of two lists. second: of two equal heads the
 * one of the second list comes first. False: no memory. */
CV_MUST bool cv_list_sort(cv_mem *mem, cv_u32s *list, cv_before *before, void *user, bool second);

#endif
