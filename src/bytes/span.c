/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/span.h"

bool cv_span_from(cv_span span, uint64_t off, cv_span *out)
{
    return cv_span_sub(span, off, span.len - cv_min(off, span.len), out);
}

uint64_t cv_span_find_byte(cv_span span, uint8_t byte)
{
    const uint8_t *found = span.len ? memchr(span.base, byte, (size_t)span.len) : NULL;

    return found ? (uint64_t)(found - span.base) : span.len;
}

bool cv_span_cstr(cv_span span, uint64_t off, cv_span *out)
{
    cv_span rest = cv_span_tail(span, off);
    uint64_t count;

    if (off >= span.len)
        return false;
    count = cv_span_find_byte(rest, 0);
    if (count == rest.len)
        return false;
    *out = (cv_span){ rest.base, count, rest.off };
    return true;
}

bool cv_span_same_cstr(cv_span left, uint64_t off, cv_span right, uint64_t other)
{
    cv_span first = cv_span_tail(left, off), second = cv_span_tail(right, other);
    uint64_t len = cv_min(first.len, second.len);

    /* Where the shorter rest ends with a NUL, the comparison ended with one. */
    if (len == 0 || strncmp((const char *)first.base, (const char *)second.base, (size_t)len) != 0)
        return false;
    return (first.len == len ? first : second).base[len - 1] == 0 ||
           memchr(first.base, 0, (size_t)len) != NULL;
}

uint64_t cv_span_find_nonzero(cv_span span)
{
    uint64_t i = 0;

    /* Eight at a time: gaps are short, but a hostile one may be the whole file. */
    for (; span.len - i >= 8 && cv_u64_at(span, i) == 0; i += 8)
        ;
    while (i < span.len && span.base[i] == 0)
        i++;
    return i;
}

void cv_span_copy(cv_span span, void *to)
{
    if (span.len)
        memcpy(to, span.base, (size_t)span.len);
}

uint64_t cv_span_agree(cv_span left, cv_span right)
{
    enum { STEP = 64, WORD = 8 };
    uint64_t len = cv_min(left.len, right.len), at = 0;

    if (left.base == right.base || len == 0 || memcmp(left.base, right.base, (size_t)len) == 0)
        return len;
    while (len - at > STEP && memcmp(left.base + at, right.base + at, STEP) == 0)
        at += STEP;
    while (len - at >= WORD && memcmp(left.base + at, right.base + at, WORD) == 0)
        at += WORD;
    while (!CV_NEVER(at >= len) && left.base[at] == right.base[at]) /* they differ somewhere */
        at++;
    return at;
}

cv_pair cv_pair_at_end(cv_span span, uint64_t off)
{
    cv_pair pair = { 0, 0 };

    for (unsigned i = 0; i < 16; i++) {
        uint64_t byte = cv_u8_at(span, cv_sat_add(off, i));

        if (i < 8)
            pair.low |= byte << (8 * i);
        else
            pair.high |= byte << (8 * (i - 8));
    }
    return pair;
}

bool cv_span_eq(cv_span left, cv_span right)
{
    return left.len == right.len &&
           (left.len == 0 || left.base == right.base || memcmp(left.base, right.base, (size_t)left.len) == 0);
}

bool cv_span_decimal(cv_span span, uint64_t off, uint32_t *value, uint64_t *end)
{
    uint64_t sum = 0, i = off;

    for (; i < span.len && span.base[i] >= '0' && span.base[i] <= '9'; i++) {
        sum = sum * 10 + (uint64_t)(span.base[i] - '0');
        if (sum > UINT32_MAX)
            return false;
    }
    if (i <= off)
        return false;
    *value = (uint32_t)sum;
    *end = i;
    return true;
}
