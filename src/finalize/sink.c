/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where backends write: a block of exactly the size that was announced, filled from its start. */
#include "finalize/backend.h"

cuvet_status cv_final_sink_begin(cv_final_sink *sink, uint64_t size)
{
    cuvet_status status;

    if (sink->begun)
        return cv_reject(sink->ctx, CV_R_FINAL_OUTPUT_SHORT, 0, sink->at, sink->size);
    if (size > sink->most)
        return cv_reject(sink->ctx, CV_R_FINAL_OUTPUT_LIMIT, 0, size, sink->most);
    status = cv_block_room(sink->ctx, sink->to, size, 0);
    if (status != CUVET_OK)
        return status;
    cv_block_filled(sink->to, size);
    sink->size = size;
    sink->at = 0;
    sink->begun = true;
    return CUVET_OK;
}

static bool has_room(const cv_final_sink *sink, uint64_t count)
{
    return sink->begun && count <= sink->size - sink->at;
}

bool cv_final_sink_put(cv_final_sink *sink, cv_span bytes)
{
    if (!has_room(sink, bytes.len))
        return false;
    if (bytes.len && !cv_block_put(sink->to, sink->at, bytes))
        return false;
    sink->at += bytes.len;
    return true;
}

bool cv_final_sink_zero(cv_final_sink *sink, uint64_t count)
{
    if (!has_room(sink, count))
        return false;
    cv_block_clear(sink->to, sink->at, count);
    sink->at += count;
    return true;
}

bool cv_final_sink_end(cv_final_sink *sink)
{
    sink->done = sink->begun && sink->at == sink->size;
    return sink->done;
}
