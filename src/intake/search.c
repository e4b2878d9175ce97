/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/search.h"

#include "bytes/search.h"
#include "format/elf/read.h"
#include "format/fatbin/read.h"

cuvet_status cv_search(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t from, uint64_t end,
                       bool *found, uint64_t *at, cv_span *head)
{
    *found = false;
    while (from < end && end - from >= 4) {
        cv_span span;
        cuvet_status status = cv_window_at(ctx, window, src, from, CV_SEARCH_HEAD, end, &span);
        uint64_t hit;

        if (status != CUVET_OK)
            return status;
        hit = cv_span_find_u32(span, 0, CV_FATBIN_MAGIC, CV_ELF_MAGIC);
        if (hit < span.len) {
            *found = true;
            *at = from + hit;
            return cv_window_at(ctx, window, src, *at, CV_SEARCH_HEAD, end, head);
        }
        /* The last three bytes may begin a magic that the next window completes; zeros begin none, and are
         * not read where a file has a hole. */
        if (cv_span_find_nonzero(span) == span.len)
            from = cv_source_next_data(src, from + span.len);
        else
            from += span.len - 3;
    }
    return CUVET_OK;
}
