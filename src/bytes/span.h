/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The only two types that point into input: a span (bytes, length, offset) and a cursor over it. Every access
 * is checked against the span, the innermost object, never against the file. base is private to src/bytes. */
#ifndef CV_BYTES_SPAN_H
#define CV_BYTES_SPAN_H

#include <string.h>

#include "base/arith.h"

typedef struct cv_span {
    const uint8_t *base; /* private to src/bytes and the codecs */
    uint64_t len;
    uint64_t off; /* of base[0] in the file, or in the decompressed content */
} cv_span;

/* Sub-range; false and *out untouched when it does not fit. Sanitizer builds copy it to a heap block of its
 * own size. Like the other functions that are written out below: somebody asks for each symbol or relocation,
 * and a call would cost more than what it does. */
CV_MUST static inline bool cv_span_sub(cv_span span, uint64_t off, uint64_t len, cv_span *out);
/* From off to the end. */
CV_MUST bool cv_span_from(cv_span span, uint64_t off, cv_span *out);

/* Total loads, little-endian: a place outside the span reads as 0 and touches no memory. */
static inline uint8_t cv_u8_at(cv_span span, uint64_t off);
static inline uint16_t cv_u16_at(cv_span span, uint64_t off);
static inline uint32_t cv_u32_at(cv_span span, uint64_t off);
static inline uint64_t cv_u64_at(cv_span span, uint64_t off);
/* Three words of 8 bytes one behind the other, or two (the third is 0): a whole record, for which is asked
 * once whether it fits. All 0 when it does not. */
typedef struct cv_row {
    uint64_t first, second, third;
} cv_row;
CV_INLINE cv_row cv_row_at(cv_span span, uint64_t off, unsigned words);

/* len bytes at off fit. */
static inline bool cv_span_has(cv_span span, uint64_t off, uint64_t len)
{
    return off <= span.len && len <= span.len - off;
}

/* NUL-terminated string at off: *out gets it without the NUL. False: off outside or no NUL before the end. */
CV_MUST bool cv_span_cstr(cv_span span, uint64_t off, cv_span *out);
/* Have two tables the same NUL-terminated string at these places? False, too, where one of them has none. */
CV_MUST bool cv_span_same_cstr(cv_span left, uint64_t off, cv_span right, uint64_t other);
/* Offset of the first byte equal to 'byte', or span.len. */
uint64_t cv_span_find_byte(cv_span span, uint8_t byte);
/* Offset of the first byte that is not zero, or span.len. */
uint64_t cv_span_find_nonzero(cv_span span);
/* Bytes that both begin with. Where they are the same memory nobody looks. */
uint64_t cv_span_agree(cv_span left, cv_span right);
/* 16 bytes at off, as two words; those outside the span are 0. */
typedef struct cv_pair {
    uint64_t low, high;
} cv_pair;
static inline cv_pair cv_pair_at(cv_span span, uint64_t off);
/* The same at the end of a span. */
cv_pair cv_pair_at_end(cv_span span, uint64_t off);
/* All bytes to memory that has room for them. */
void cv_span_copy(cv_span span, void *to);
bool cv_span_eq(cv_span left, cv_span right);
static inline bool cv_span_eq_str(cv_span span, const char *text);
static inline bool cv_span_starts(cv_span span, const char *text);
/* If 'span' starts with text: true, and *rest is what follows (may be empty). No island is made. */
CV_MUST static inline bool cv_span_after(cv_span span, const char *text, cv_span *rest);
/* Tail without a copy in sanitizer builds: for names that are compared, never parsed. */
static inline cv_span cv_span_tail(cv_span span, uint64_t off);
/* Read a decimal number at off; *end is the offset behind the last digit. False: no digit or over UINT32_MAX.
 */
CV_MUST bool cv_span_decimal(cv_span span, uint64_t off, uint32_t *value, uint64_t *end);

/* Only src/bytes, src/io, src/codec and the boundary of src/api make spans from memory. */
static inline cv_span cv_span_of(const void *base, uint64_t len, uint64_t off)
{
    return (cv_span){ (const uint8_t *)base, len, off };
}

/* Sequential reads. The first read that does not fit sets failed and records where and how much; later ones
 * give 0. */
typedef struct cv_cur {
    cv_span in;
    uint64_t pos;
    bool failed;
    uint64_t bad_at, bad_want;
} cv_cur;

static inline cv_cur cv_cur_of(cv_span in)
{
    return (cv_cur){ .in = in };
}

uint8_t cv_cur_u8(cv_cur *cursor);
uint16_t cv_cur_u16(cv_cur *cursor);
uint32_t cv_cur_u32(cv_cur *cursor);
uint64_t cv_cur_u64(cv_cur *cursor);
/* 'count' bytes as a span; the empty span after a failure. */
cv_span cv_cur_bytes(cv_cur *cursor, uint64_t count);
void cv_cur_skip(cv_cur *cursor, uint64_t count);
/* A count of elements of elem bytes: 0 and failed unless that many fit what remains. */
uint64_t cv_cur_count(cv_cur *cursor, uint64_t count, uint64_t elem);
static inline uint64_t cv_cur_left(const cv_cur *cursor)
{
    return cursor->in.len - cursor->pos;
}

/* Islands: in sanitizer builds each sub-span is copied to a place of exactly its size, so that
 * AddressSanitizer sees an overread that stays inside the file. */
#if defined(CV_ISLANDS) && CV_ISLANDS
cv_span cv_island(cv_span span);
#else
static inline cv_span cv_island(cv_span span)
{
    return span;
}
#endif
/* Release the islands of this thread; a no-op otherwise. Spans made before are dead afterwards. */
void cv_islands_drop(void);
/* A thread that lives as long as its process, and makes many units, keeps the memory of dropped islands. */
void cv_islands_reuse(void);
/* The islands of this thread, kept for an object whose spans outlive the call that made them. */
typedef struct cv_islands {
    void *first;
} cv_islands;
void cv_islands_keep(cv_islands *to);
/* They are this thread's again. */
void cv_islands_take(cv_islands *kept);
void cv_islands_free(cv_islands *kept);

CV_BUF_BEGIN
static inline bool cv_span_sub(cv_span span, uint64_t off, uint64_t len, cv_span *out)
{
    if (off > span.len || len > span.len - off) /* subtract, never add */
        return false;
    *out = cv_island((cv_span){ off ? span.base + off : span.base, len, span.off + off });
    return true;
}

static inline cv_span cv_span_tail(cv_span span, uint64_t off)
{
    if (off > span.len)
        off = span.len;
    if (off == 0)
        return span; /* also the empty span without a base: NULL + 0 is undefined */
    return (cv_span){ span.base + off, span.len - off, span.off + off };
}

/* The texts are constants: their lengths are known where these are compiled. */
static inline bool cv_span_starts(cv_span span, const char *text)
{
    size_t len = strlen(text);

    return span.len >= len && (len == 0 || memcmp(span.base, text, len) == 0);
}

static inline cv_span cv_span_of_str(const char *text)
{
    return cv_span_of(text, strlen(text), 0);
}

static inline bool cv_span_eq_str(cv_span span, const char *text)
{
    return span.len == strlen(text) && cv_span_starts(span, text);
}

static inline bool cv_span_after(cv_span span, const char *text, cv_span *rest)
{
    if (!cv_span_starts(span, text))
        return false;
    *rest = cv_span_tail(span, strlen(text));
    return true;
}

static inline uint8_t cv_u8_at(cv_span span, uint64_t off)
{
    return cv_span_has(span, off, 1) ? span.base[off] : 0;
}

static inline uint16_t cv_u16_at(cv_span span, uint64_t off)
{
    const uint8_t *bytes;

    if (CV_UNLIKELY(!cv_span_has(span, off, 2)))
        return 0;
    bytes = span.base + off;
    return (uint16_t)((unsigned)bytes[0] | (unsigned)bytes[1] << 8);
}

static inline uint32_t cv_u32_at(cv_span span, uint64_t off)
{
    const uint8_t *bytes;

    if (CV_UNLIKELY(!cv_span_has(span, off, 4)))
        return 0;
    bytes = span.base + off;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline uint64_t cv_u64_at(cv_span span, uint64_t off)
{
    const uint8_t *bytes;

    if (CV_UNLIKELY(!cv_span_has(span, off, 8)))
        return 0;
    bytes = span.base + off;
    return (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
           (uint64_t)bytes[3] << 24 | (uint64_t)bytes[4] << 32 | (uint64_t)bytes[5] << 40 |
           (uint64_t)bytes[6] << 48 | (uint64_t)bytes[7] << 56;
}

CV_INLINE cv_row cv_row_at(cv_span span, uint64_t off, unsigned words)
{
    uint64_t bytes = words < 3 ? 16 : 24;
    cv_span row;

    if (CV_UNLIKELY(!cv_span_has(span, off, bytes)))
        return (cv_row){ 0 };
    row = (cv_span){ off ? span.base + off : span.base, bytes, 0 };
    return (cv_row){ cv_u64_at(row, 0), cv_u64_at(row, 8), words < 3 ? 0 : cv_u64_at(row, 16) };
}

static inline cv_pair cv_pair_at(cv_span span, uint64_t off)
{
    cv_row row;

    if (CV_UNLIKELY(!cv_span_has(span, off, 16)))
        return cv_pair_at_end(span, off);
    row = cv_row_at(span, off, 2);
    return (cv_pair){ row.first, row.second };
}
CV_BUF_END

#endif
