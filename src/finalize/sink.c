/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where backends write: a block of exactly the size that was announced, filled from its start. */
#include "finalize/backend.h"

cuvet_status cv_final_sink_begin(cv_final_sink *s, uint64_t size)
{
    cuvet_status st;

    if (s->begun)
        return cv_reject(s->x, CV_R_FINAL_OUTPUT_SHORT, 0, s->at, s->size);
    if (size > s->most)
        return cv_reject(s->x, CV_R_FINAL_OUTPUT_LIMIT, 0, size, s->most);
    st = cv_block_room(s->x, s->to, size, 0);
    if (st != CUVET_OK)
        return st;
    cv_block_filled(s->to, size);
    s->size = size;
    s->at = 0;
    s->begun = true;
    return CUVET_OK;
}

static bool takes(const cv_final_sink *s, uint64_t n)
{
    return s->begun && n <= s->size - s->at;
}

bool cv_final_sink_put(cv_final_sink *s, cv_span bytes)
{
    if (!takes(s, bytes.len))
        return false;
    if (bytes.len)
        cv_span_copy(bytes, (void *)(uintptr_t)cv_span_tail(cv_span_of(s->to->mem, s->size, 0), s->at).base);
    s->at += bytes.len;
    return true;
}

bool cv_final_sink_zero(cv_final_sink *s, uint64_t n)
{
    if (!takes(s, n))
        return false;
    cv_block_clear(s->to, s->at, n);
    s->at += n;
    return true;
}

bool cv_final_sink_end(cv_final_sink *s)
{
    s->done = s->begun && s->at == s->size;
    return s->done;
}
