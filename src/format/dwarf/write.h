/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is written of DWARF. */
#ifndef CV_FORMAT_DWARF_WRITE_H
#define CV_FORMAT_DWARF_WRITE_H

#include "bytes/builder.h"

/* LEB128, as short as it can be: cv_uleb_read() reads it. */
void cv_put_uleb(cv_builder *out, uint64_t value);

/* An entry of .debug_frame in the wide form: its pointer, what follows it, and 'pad' zero bytes. */
void cv_put_frame(cv_builder *out, uint64_t pointer, cv_span body, uint64_t pad);

#endif
