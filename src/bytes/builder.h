/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing: a builder appends little-endian values to an owned, growing, budgeted buffer and patches what it
 * has written. A failure is sticky; one test at the end. */
#ifndef CV_BYTES_BUILDER_H
#define CV_BYTES_BUILDER_H

#include "base/mem.h"
#include "bytes/span.h"

typedef struct cv_builder {
    cv_mem *mem;
    uint8_t *bytes; /* private to src/bytes */
    uint64_t len, cap;
    bool failed; /* out of memory or budget, or a patch outside of what was written */
} cv_builder;

void cv_builder_init(cv_builder *b, cv_mem *mem);
void cv_builder_free(cv_builder *b);
/* Room for exactly n more bytes: for what knows its size. A failure is sticky. */
void cv_builder_reserve(cv_builder *b, uint64_t n);
static inline void cv_put_u8(cv_builder *b, uint8_t v);
static inline void cv_put_u16(cv_builder *b, uint16_t v);
static inline void cv_put_u32(cv_builder *b, uint32_t v);
static inline void cv_put_u64(cv_builder *b, uint64_t v);
void cv_put_span(cv_builder *b, cv_span s);
void cv_put_str(cv_builder *b, const char *text); /* without its NUL */
void cv_put_zero(cv_builder *b, uint64_t n);
/* Zeros up to the next multiple of align, a power of two. */
void cv_put_align(cv_builder *b, uint64_t align);
void cv_patch_u32(cv_builder *b, uint64_t off, uint32_t v);
void cv_patch_u64(cv_builder *b, uint64_t off, uint64_t v);
/* What was written so far; valid until the next put. */
cv_span cv_builder_span(const cv_builder *b);

/* For the functions below: room for n more bytes, or the sticky failure. */
CV_MUST bool cv_builder_room(cv_builder *b, uint64_t n);

CV_BUF_BEGIN
/* Where n more bytes go; NULL: no room. What is put there is written out byte by byte, not in a loop: only
 * then do compilers make one store of it. */
static inline uint8_t *cv_builder_next(cv_builder *b, uint64_t n)
{
    uint8_t *p;

    if (CV_UNLIKELY(b->failed || b->cap - b->len < n) && !cv_builder_room(b, n))
        return NULL;
    p = b->bytes + b->len;
    b->len += n;
    return p;
}

static inline void cv_put_u8(cv_builder *b, uint8_t v)
{
    uint8_t *p = cv_builder_next(b, 1);

    if (!p)
        return;
    p[0] = v;
}

static inline void cv_put_u16(cv_builder *b, uint16_t v)
{
    uint8_t *p = cv_builder_next(b, 2);

    if (!p)
        return;
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void cv_put_u32(cv_builder *b, uint32_t v)
{
    uint8_t *p = cv_builder_next(b, 4);

    if (!p)
        return;
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

static inline void cv_put_u64(cv_builder *b, uint64_t v)
{
    uint8_t *p = cv_builder_next(b, 8);

    if (!p)
        return;
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
    p[4] = (uint8_t)(v >> 32);
    p[5] = (uint8_t)(v >> 40);
    p[6] = (uint8_t)(v >> 48);
    p[7] = (uint8_t)(v >> 56);
}
CV_BUF_END

#endif
