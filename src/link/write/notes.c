/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage synthetics: the notes of the result. */
#include "cubin/admit.h"
#include "format/note/read.h"
#include "format/note/write.h"
#include "link/write/synthetics.h"

/* Our note, then those of all inputs. */
cuvet_status cv_fill_tools(const cv_view_synthetics *view)
{
    static const char NAME[] = "cuvet", VERSION[] = CV_VERSION; /* our name, never the vendor's */
    const cv_tkinfo ours = { .version = 2,
                             .tool = cv_span_of(NAME, sizeof(NAME) - 1, 0),
                             .tool_version = cv_span_of(VERSION, sizeof(VERSION) - 1, 0) };
    cv_builder *builder = cv_synthetic_bytes(view, view->out->tkinfo);

    if (CV_NEVER(!cv_tkinfo_put(builder, &ours)))
        return cv_link_broken(view);
    for (cv_id i = 0; i < view->inputs->obj.count && !view->options->relocatable; i++)
        cv_put_span(builder, cv_cubin_body(&cv_l_obj(view, i)->cubin, cv_l_obj(view, i)->tkinfo));
    return cv_synthetic_end(view, view->out->tkinfo);
}

/* The oldest virtual architecture among the inputs. */
cuvet_status cv_fill_cuinfo(const cv_view_synthetics *view)
{
    uint32_t sm = UINT32_MAX;

    for (cv_id i = 0; i < view->inputs->obj.count; i++) {
        uint32_t lowest = cv_l_obj(view, i)->cubin.virtual_sm;

        if (lowest < sm)
            sm = lowest;
    }
    cv_cuinfo_put(cv_synthetic_bytes(view, view->out->cuinfo),
                  (uint16_t)(view->inputs->obj.count ? sm : view->options->target.sm), CV_ADMIT_TOOLKIT);
    return cv_synthetic_end(view, view->out->cuinfo);
}
