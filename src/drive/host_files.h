/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host objects of a file that is linked. */
#ifndef CV_DRIVE_HOST_FILES_H
#define CV_DRIVE_HOST_FILES_H

#include "host/refs.h"

/* Begin a file that is in memory: a host object, an archive with some, or anything else; of_system: a
 * library of the system.
 * What was read of host objects without a word goes to the shelf, for whoever walks the file.
 * Members of archives that are no objects are said; those that begin like one and are cut off, damaged or of
 * a kind that has to be compiled first are refused, as they would be alone.
 * @return OK · MALFORMED, TRUNCATED, LIMIT (reported) · NOMEM · REFUSED (a module has no proper name, or see
 * above) */
CV_MUST cuvet_status cv_hosts_read(cv_ctx *ctx, cv_hosts *hosts, cv_span all, bool of_system,
                                   cv_host_shelf *shelf);

#endif
