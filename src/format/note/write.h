/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writer of the notes read by read.h. */
#ifndef CV_FORMAT_NOTE_WRITE_H
#define CV_FORMAT_NOTE_WRITE_H

#include "bytes/builder.h"
#include "format/note/read.h"

/* Any note of the owner that all tools use; the descriptor is padded to a whole word. False: descriptor above
 * 4 GiB. */
CV_MUST bool cv_note_put(cv_builder *builder, uint32_t type, cv_span desc);
/* Tool note: offsets and padding are made here. False: a string above 65,535 bytes or with a NUL inside. */
CV_MUST bool cv_tkinfo_put(cv_builder *builder, const cv_tkinfo *tkinfo);
void cv_cuinfo_put(cv_builder *builder, uint16_t virtual_sm, uint16_t toolkit);

#endif
