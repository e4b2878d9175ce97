/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call frame information as people read it: every field and operand. Whatever the bytes say is given as it
 * is; frame.c is the strict reader that relocations and findings rest on. */
#ifndef CV_FORMAT_DWARF_CFI_H
#define CV_FORMAT_DWARF_CFI_H

#include <cuvet/decode.h>

#include "bytes/span.h"

/* Entry at *pos, which goes on. OK, END, MALFORMED. address_bytes: 4 or 8. Of its program the length is set,
 * and *program is where it begins. */
CV_MUST cuvet_status cv_cfi_next(cv_span section, uint32_t address_bytes, uint64_t *pos, uint64_t *program,
                                 cuvet_cfi_entry *out);
/* Operation at *pos of the entry's program, which goes on. OK, END, MALFORMED, UNSUPPORTED. */
CV_MUST cuvet_status cv_cfi_op_next(cv_span program, uint32_t address_bytes, uint64_t *pos,
                                    cuvet_cfi_op *out);

/* Number of a general register; UINT64_MAX: it is of another class. */
uint64_t cv_cfi_register(uint64_t value);

#endif
