/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of stage shared_memory share. */
#ifndef CV_LINK_PLAN_SHARED_MEMORY_H
#define CV_LINK_PLAN_SHARED_MEMORY_H

#include "link/plan/plan.h"

/* Extern arrays are aligned for what a load of the widest kind asks for. */
enum { CV_SHARED_LARGE_ALIGN = 16 };

/* shared_partial.c: of a relocatable link. */
CV_MUST cuvet_status cv_shared_partial(const cv_view_shared_memory *view);
/* Does the definition 'id' have room of its own? The one that wins has, and a weak one that was read before
 * the strong one. */
CV_MUST bool cv_shared_has_room(const cv_view_shared_memory *view, cv_id id);
/* shared_reserved.c: in what the system has for itself. */
void cv_shared_place_reserved(const cv_view_shared_memory *view);
CV_MUST bool cv_shared_reserved_hold(const cv_check_shared_memory *view);

#endif
