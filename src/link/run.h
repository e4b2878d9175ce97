/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One link from objects to a file. */
#ifndef CV_LINK_RUN_H
#define CV_LINK_RUN_H

#include "io/source.h"
#include "link/link.h"

void cv_link_begin(cv_link *l, cv_ctx *x, const cv_link_options *o);
/* An object, which must stay until the end. @return OK · status of its examination */
CV_MUST cuvet_status cv_link_add(cv_link *l, cv_span image, const char *name);
/* The recipe up to and with stage number 'last'. @return OK · REFUSED · LIMIT · NOMEM · INTERNAL */
CV_MUST cuvet_status cv_link_run_to(cv_link *l, uint64_t last);
/* Name of a stage; NULL: there are no more. */
const char *cv_link_stage(uint64_t i);
/* @return OK: the file is in *out · REFUSED · LIMIT · NOMEM · INTERNAL */
CV_MUST cuvet_status cv_link_complete(cv_link *l, cv_block *out);
void cv_link_end(cv_link *l);

#endif
