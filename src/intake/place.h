/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where device code was found, and whether anybody takes it from there: asked by scan, select and link. */
#ifndef CV_INTAKE_PLACE_H
#define CV_INTAKE_PLACE_H

#include "intake/walk.h"

typedef enum cv_taking { CV_TAKEN, CV_LEFT, CV_REFUSED } cv_taking;

/* Place of what the walk finds at this offset of its region; container: it is one, not a device ELF. */
cuvet_place cv_place_at(cv_ctx *ctx, const cv_walk *walk, uint64_t at, bool container);
/* Part in a link; *rule: what is to be said, CV_N_RULES: nothing. */
cv_taking cv_place_part(cuvet_place place, cv_rule *rule);
/* Is it a candidate when one piece of code is chosen? */
bool cv_place_chosen(cuvet_place place);

#endif
