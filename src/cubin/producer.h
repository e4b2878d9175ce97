/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which tool wrote a device ELF, by its tool note or, where there is none, by its header: spec/producers.def.
 */
#ifndef CV_CUBIN_PRODUCER_H
#define CV_CUBIN_PRODUCER_H

#include "cubin/cubin.h"

/* Its name for people, static; "" when there is none to give. */
const char *cv_tool_name(cv_tool tool);
/* Fills c->producer, and c->hand, from the header, the roles of the sections and the first tool note. Says
 * nothing: what is wrong with the note is said by who reads it for its rules. */
void cv_producer_find(cv_ctx *ctx, cv_cubin *cubin);

#endif
