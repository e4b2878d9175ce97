/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fat binary writer: the mirror of read.h. A canonical header: identifier area, option area, nothing else. */
#ifndef CV_FORMAT_FATBIN_WRITE_H
#define CV_FORMAT_FATBIN_WRITE_H

#include "bytes/builder.h"
#include "format/fatbin/read.h"

/* Container header for 'size' bytes of members. */
void cv_fatbin_put_container(cv_builder *out, uint64_t size);
/* Member header from kind, version pair, arch, flags, key, sizes, ident, options, compat_copy of *m; offsets
 * and header_size are computed. The payload (payload_size bytes, padding included) follows by the caller. */
void cv_fatbin_put_member(cv_builder *out, const cv_fatbin_member *member);

#endif
