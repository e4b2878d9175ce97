/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is written of DWARF. */
#ifndef CV_FORMAT_DWARF_WRITE_H
#define CV_FORMAT_DWARF_WRITE_H

#include "bytes/builder.h"

/* LEB128, as short as it can be: cv_uleb_read() reads it. */
void cv_put_uleb(cv_builder *out, uint64_t value);

#endif
