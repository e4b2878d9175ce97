/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the readers of both sections share. */
#ifndef CV_FORMAT_DWARF_DWARF_H
#define CV_FORMAT_DWARF_DWARF_H

#include "format/dwarf/read.h"

/* Always false, so that it can be returned. */
static inline CV_MUST bool cv_dwarf_no(cv_dwarf_bad *bad, cv_rule rule, uint64_t at, uint64_t got,
                                       uint64_t want)
{
    *bad = (cv_dwarf_bad){ rule, at, got, want };
    return false;
}

#endif
