/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One link from objects to a file. */
#ifndef CV_LINK_RUN_H
#define CV_LINK_RUN_H

#include "io/source.h"
#include "link/link.h"

void cv_link_begin(cv_link *l, cv_ctx *x, const cv_link_options *o);
/* An object, which must stay until the end. @return OK · status of its examination */
CV_MUST cuvet_status cv_link_add(cv_link *l, cv_span image, const char *name);
/* Does an object refer to a function that none defines, and that the driver does not provide? out: those that
 * do not count, by number. */
CV_MUST cuvet_status cv_link_lacks_functions(cv_link *l, const cv_u8s *out, bool *lacks);
/* Take objects out again; the others keep their order. */
void cv_link_leave_out(cv_link *l, const cv_u8s *out);
/* @return OK: the file is in *out · REFUSED · LIMIT · NOMEM · INTERNAL */
CV_MUST cuvet_status cv_link_complete(cv_link *l, cv_block *out);
void cv_link_end(cv_link *l);

#endif
