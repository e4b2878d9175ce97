/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One link from objects to a file. */
#ifndef CV_LINK_RUN_H
#define CV_LINK_RUN_H

#include "bytes/slices.h"
#include "io/source.h"
#include "link/in/stages.h"

void cv_link_begin(cv_link *link, cv_ctx *ctx, const cv_link_options *options);
/* An object and its picture, examined and admitted, which becomes the link's. The image must stay until the
 * end, and is the link's to write in: long code is relocated where it lies. @return OK · NOMEM · LIMIT, and
 * the picture stays the caller's */
CV_MUST cuvet_status cv_link_add(cv_link *link, cv_span image, const cv_cubin *picture, const char *name);
/* The recipe up to and with stage number 'last'. @return OK · REFUSED · LIMIT · NOMEM · INTERNAL */
CV_MUST cuvet_status cv_link_run_to(cv_link *link, uint64_t last);
/* Name of a stage; NULL: there are no more. */
const char *cv_link_stage(uint64_t index);
/* What must hold after a stage: OK, or INTERNAL, reported. */
CV_MUST cuvet_status cv_link_check(cv_link *link, uint64_t index);
/* @return OK: *file is the result, put together of *out, which is as long as the file and has everything but
 * the code that is lent, and of the images · REFUSED · LIMIT · NOMEM · INTERNAL */
CV_MUST cuvet_status cv_link_complete(cv_link *link, cv_block *out, cv_slices *file);
void cv_link_end(cv_link *link);

#endif
