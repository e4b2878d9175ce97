/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records with fixed fields, by the table of spec/fields.def: which layout a record has, and its fields one
 * after the other. Pure functions that report nothing: whoever checks records has said what is wrong with
 * them. */
#ifndef CV_FORMAT_RECORD_FIELDS_H
#define CV_FORMAT_RECORD_FIELDS_H

#include <cuvet/decode.h>

#include "base/base.h"
#include "bytes/span.h"

typedef enum cv_layout {
#define LAYOUT(name, size, repeat, tail) CV_LAYOUT_##name,
#include "fields.def"
    CV_N_LAYOUTS
} cv_layout;

/* Layout of a payload (SVAL) or of a value (BVAL, or wide: HVAL) of .nv.info and of .nv.compat, whatever its
 * length. */
cv_layout cv_layout_of_attr(uint32_t code);
cv_layout cv_layout_of_compat(uint32_t tag);
cv_layout cv_layout_of_attr_value(uint32_t code, bool wide);
cv_layout cv_layout_of_compat_value(uint32_t tag, bool wide);
/* Bytes of one record. */
uint64_t cv_layout_size(cv_layout layout);
/* So many bytes can be records of the layout. OPAQUE never fits. */
CV_MUST bool cv_layout_fits(cv_layout layout, uint64_t bytes);
/* Next field at *pos (begin with zeros), which goes on. False: no more. A layout that does not fit has fields
 * as far as there are whole records. */
CV_MUST bool cv_field_next(cv_layout layout, cv_span bytes, cuvet_field_pos *pos, cuvet_field *out);

#endif
