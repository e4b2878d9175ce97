/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/span.h"

/* Offset of the next n bytes, or false after recording the first failure. */
static bool claim(cv_cur *c, uint64_t n, uint64_t *at)
{
    if (c->failed || n > c->in.len - c->pos) {
        if (!c->failed) {
            c->failed = true;
            c->bad_at = c->pos;
            c->bad_want = n;
        }
        return false;
    }
    *at = c->pos;
    c->pos += n;
    return true;
}

uint8_t cv_cur_u8(cv_cur *c)
{
    uint64_t at;

    return claim(c, 1, &at) ? cv_u8_at(c->in, at) : 0;
}

uint16_t cv_cur_u16(cv_cur *c)
{
    uint64_t at;

    return claim(c, 2, &at) ? cv_u16_at(c->in, at) : 0;
}

uint32_t cv_cur_u32(cv_cur *c)
{
    uint64_t at;

    return claim(c, 4, &at) ? cv_u32_at(c->in, at) : 0;
}

uint64_t cv_cur_u64(cv_cur *c)
{
    uint64_t at;

    return claim(c, 8, &at) ? cv_u64_at(c->in, at) : 0;
}

cv_span cv_cur_bytes(cv_cur *c, uint64_t n)
{
    cv_span out = { c->in.base, 0, c->in.off };
    uint64_t at;

    if (claim(c, n, &at) && !cv_span_sub(c->in, at, n, &out))
        c->failed = true; /* claim() has just checked the same range */
    return out;
}

void cv_cur_skip(cv_cur *c, uint64_t n)
{
    uint64_t at;

    (void)claim(c, n, &at); /* failure is recorded in the cursor */
}

uint64_t cv_cur_count(cv_cur *c, uint64_t count, uint64_t elem)
{
    uint64_t bytes = UINT64_MAX;

    if (!cv_mul(count, elem, &bytes))
        bytes = UINT64_MAX;
    if (c->failed)
        return 0;
    if (bytes > c->in.len - c->pos) {
        c->failed = true;
        c->bad_at = c->pos;
        c->bad_want = bytes;
        return 0;
    }
    return count;
}
