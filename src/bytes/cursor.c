/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/span.h"

/* Offset of the next n bytes, or false after recording the first failure. */
static bool claim(cv_cur *cur, uint64_t count, uint64_t *at)
{
    if (cur->failed || count > cur->in.len - cur->pos) {
        if (!cur->failed) {
            cur->failed = true;
            cur->bad_at = cur->pos;
            cur->bad_want = count;
        }
        return false;
    }
    *at = cur->pos;
    cur->pos += count;
    return true;
}

uint8_t cv_cur_u8(cv_cur *cur)
{
    uint64_t at;

    return claim(cur, 1, &at) ? cv_u8_at(cur->in, at) : 0;
}

uint16_t cv_cur_u16(cv_cur *cur)
{
    uint64_t at;

    return claim(cur, 2, &at) ? cv_u16_at(cur->in, at) : 0;
}

uint32_t cv_cur_u32(cv_cur *cur)
{
    uint64_t at;

    return claim(cur, 4, &at) ? cv_u32_at(cur->in, at) : 0;
}

uint64_t cv_cur_u64(cv_cur *cur)
{
    uint64_t at;

    return claim(cur, 8, &at) ? cv_u64_at(cur->in, at) : 0;
}

cv_span cv_cur_bytes(cv_cur *cur, uint64_t count)
{
    cv_span out = { cur->in.base, 0, cur->in.off };
    uint64_t at;

    if (!claim(cur, count, &at))
        return out;
    if (CV_NEVER(!cv_span_sub(cur->in, at, count, &out))) /* claim() has just checked the same range */
        cur->failed = true;
    return out;
}

void cv_cur_skip(cv_cur *cur, uint64_t count)
{
    uint64_t at;

    (void)claim(cur, count, &at); /* failure is recorded in the cursor */
}

uint64_t cv_cur_count(cv_cur *cur, uint64_t count, uint64_t elem)
{
    uint64_t bytes = UINT64_MAX;

    if (!cv_mul(count, elem, &bytes))
        bytes = UINT64_MAX;
    if (cur->failed)
        return 0;
    if (bytes > cur->in.len - cur->pos) {
        cur->failed = true;
        cur->bad_at = cur->pos;
        cur->bad_want = bytes;
        return 0;
    }
    return count;
}
