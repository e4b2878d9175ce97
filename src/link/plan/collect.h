/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of stage collect share. */
#ifndef CV_LINK_PLAN_COLLECT_H
#define CV_LINK_PLAN_COLLECT_H

#include "link/plan/plan.h"

/* collect_relocs.c: room for the relocations of all inputs, but for those of code that was beaten; and which
 * functions shed relocations of debug data. False: no memory. */
CV_MUST bool cv_collect_room(const cv_view_collect *view);
/* The entries of a relocation section of an input. */
CV_MUST cuvet_status cv_collect_relocations(const cv_view_collect *view, cv_id isec);
CV_MUST bool cv_collect_is_twice(const cv_view_collect *view, cv_id id);
/* collect_data.c: where the bytes of an input section go. */
CV_MUST cuvet_status cv_collect_section(const cv_view_collect *view, cv_id isec);
/* The section that shared variables of device functions lie in, made when it is not there. */
CV_MUST cv_id cv_collect_debug_shared(const cv_view_collect *view);

#endif
