/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of the stage synthetics. */
#ifndef CV_LINK_WRITE_SYNTHETICS_H
#define CV_LINK_WRITE_SYNTHETICS_H

#include "link/write/write.h"

/* Where the bytes of a section go. */
static inline cv_builder *cv_synthetic_bytes(const cv_view_synthetics *view, cv_id sec)
{
    return &cv_l_osec(view, sec)->bytes;
}

/* All of them are there. */
static inline CV_MUST cuvet_status cv_synthetic_end(const cv_view_synthetics *view, cv_id sec)
{
    cv_osec *osec = cv_l_osec(view, sec);

    osec->size = osec->bytes.len;
    return osec->bytes.failed ? cv_l_nomem(view) : CUVET_OK;
}

/* Which tools were here, and the toolkit; notes.c */
CV_MUST cuvet_status cv_fill_tools(const cv_view_synthetics *view);
CV_MUST cuvet_status cv_fill_cuinfo(const cv_view_synthetics *view);
/* What the result may run on, or become; compat.c */
CV_MUST cuvet_status cv_fill_compat(const cv_view_synthetics *view);

#endif
