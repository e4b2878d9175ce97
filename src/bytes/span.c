/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/span.h"

#include <string.h>

bool cv_span_from(cv_span s, uint64_t off, cv_span *out)
{
    return off <= s.len && cv_span_sub(s, off, s.len - off, out);
}

uint64_t cv_span_find_byte(cv_span s, uint8_t b)
{
    const uint8_t *p = s.len ? memchr(s.base, b, (size_t)s.len) : NULL;

    return p ? (uint64_t)(p - s.base) : s.len;
}

bool cv_span_cstr(cv_span s, uint64_t off, cv_span *out)
{
    cv_span rest = cv_span_tail(s, off);
    uint64_t n;

    if (off >= s.len)
        return false;
    n = cv_span_find_byte(rest, 0);
    if (n == rest.len)
        return false;
    *out = (cv_span){ rest.base, n, rest.off };
    return true;
}

uint64_t cv_span_find_nonzero(cv_span s)
{
    uint64_t i = 0;

    /* Eight at a time: gaps are short, but a hostile one may be the whole file. */
    for (; s.len - i >= 8 && cv_u64_at(s, i) == 0; i += 8)
        ;
    while (i < s.len && s.base[i] == 0)
        i++;
    return i;
}

void cv_span_copy(cv_span s, void *to)
{
    if (s.len)
        memcpy(to, s.base, (size_t)s.len);
}

bool cv_span_eq(cv_span a, cv_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.base, b.base, (size_t)a.len) == 0);
}

bool cv_span_eq_str(cv_span s, const char *text)
{
    size_t n = strlen(text);

    return s.len == n && (n == 0 || memcmp(s.base, text, n) == 0);
}

bool cv_span_starts(cv_span s, const char *text)
{
    size_t n = strlen(text);

    return s.len >= n && (n == 0 || memcmp(s.base, text, n) == 0);
}

bool cv_span_after(cv_span s, const char *text, cv_span *rest)
{
    if (!cv_span_starts(s, text))
        return false;
    *rest = cv_span_tail(s, strlen(text));
    return true;
}

bool cv_span_decimal(cv_span s, uint64_t off, uint32_t *value, uint64_t *end)
{
    uint64_t v = 0, i = off;

    for (; i < s.len && s.base[i] >= '0' && s.base[i] <= '9'; i++) {
        v = v * 10 + (uint64_t)(s.base[i] - '0');
        if (v > UINT32_MAX)
            return false;
    }
    if (i <= off)
        return false;
    *value = (uint32_t)v;
    *end = i;
    return true;
}
