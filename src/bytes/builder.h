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
    bool fixed;  /* the buffer is somebody else's, and does not grow */
} cv_builder;

void cv_builder_init(cv_builder *out, cv_mem *mem);
/* One that writes to a place of exactly so many bytes. What does not fit is a failure; nothing is freed. */
void cv_builder_at(cv_builder *out, uint8_t *place, uint64_t size);
void cv_builder_free(cv_builder *out);
/* Room for exactly n more bytes: for what knows its size. A failure is sticky. */
void cv_builder_reserve(cv_builder *out, uint64_t count);
static inline void cv_put_u8(cv_builder *out, uint8_t value);
static inline void cv_put_u16(cv_builder *out, uint16_t value);
static inline void cv_put_u32(cv_builder *out, uint32_t value);
static inline void cv_put_u64(cv_builder *out, uint64_t value);
void cv_put_span(cv_builder *out, cv_span span);
void cv_put_str(cv_builder *out, const char *text); /* without its NUL */
void cv_put_zero(cv_builder *out, uint64_t count);
/* Zeros up to the next multiple of align, a power of two. */
void cv_put_align(cv_builder *out, uint64_t align);
void cv_patch_u32(cv_builder *out, uint64_t off, uint32_t value);
void cv_patch_u64(cv_builder *out, uint64_t off, uint64_t value);
/* What was written so far; valid until the next put. */
cv_span cv_builder_span(const cv_builder *out);

/* For the functions below: room for n more bytes, or the sticky failure. */
CV_MUST bool cv_builder_room(cv_builder *out, uint64_t count);

CV_BUF_BEGIN
/* Where n more bytes go; NULL: no room. What is put there is written out byte by byte, not in a loop: only
 * then do compilers make one store of it. */
static inline uint8_t *cv_builder_next(cv_builder *out, uint64_t count)
{
    uint8_t *at;

    if (CV_UNLIKELY(out->failed || out->cap - out->len < count) && !cv_builder_room(out, count))
        return NULL;
    at = out->bytes + out->len;
    out->len += count;
    return at;
}

static inline void cv_put_u8(cv_builder *out, uint8_t value)
{
    uint8_t *at = cv_builder_next(out, 1);

    if (!at)
        return;
    at[0] = value;
}

static inline void cv_put_u16(cv_builder *out, uint16_t value)
{
    uint8_t *at = cv_builder_next(out, 2);

    if (!at)
        return;
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void cv_put_u32(cv_builder *out, uint32_t value)
{
    uint8_t *at = cv_builder_next(out, 4);

    if (!at)
        return;
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
}

static inline void cv_put_u64(cv_builder *out, uint64_t value)
{
    uint8_t *at = cv_builder_next(out, 8);

    if (!at)
        return;
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
    at[4] = (uint8_t)(value >> 32);
    at[5] = (uint8_t)(value >> 40);
    at[6] = (uint8_t)(value >> 48);
    at[7] = (uint8_t)(value >> 56);
}
CV_BUF_END

#endif
