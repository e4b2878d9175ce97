/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/builder.h"

#include <string.h>

#define SMALL 65536 /* what is smaller doubles */

void cv_builder_init(cv_builder *b, cv_mem *mem)
{
    *b = (cv_builder){ .mem = mem };
}

void cv_builder_free(cv_builder *b)
{
    cv_mem_put(b->mem, b->bytes, b->cap);
    *b = (cv_builder){ .mem = b->mem };
}

/* Exactly 'cap' bytes. */
static bool grow(cv_builder *b, uint64_t cap)
{
    uint8_t *p = cv_mem_resize_raw(b->mem, b->bytes, b->cap, cap);

    if (!p)
        return false;
    b->bytes = p;
    b->cap = cap;
    return true;
}

bool cv_builder_room(cv_builder *b, uint64_t n)
{
    uint64_t need = 0, more = b->cap < SMALL ? b->cap : b->cap / 2;

    if (b->failed || !cv_add(b->len, n, &need) ||
        (need > b->cap && !grow(b, cv_max(need, cv_max(64, cv_sat_add(b->cap, more))))))
        b->failed = true;
    return !b->failed;
}

void cv_builder_reserve(cv_builder *b, uint64_t n)
{
    uint64_t need = 0;

    if (!b->failed && cv_add(b->len, n, &need) && need > b->cap && !grow(b, need))
        b->failed = true;
}

void cv_put_span(cv_builder *b, cv_span s)
{
    if (s.len == 0 || !cv_builder_room(b, s.len))
        return;
    memcpy(b->bytes + b->len, s.base, (size_t)s.len);
    b->len += s.len;
}

void cv_put_str(cv_builder *b, const char *text)
{
    cv_put_span(b, cv_span_of(text, strlen(text), 0));
}

void cv_put_zero(cv_builder *b, uint64_t n)
{
    if (n == 0 || !cv_builder_room(b, n))
        return;
    memset(b->bytes + b->len, 0, (size_t)n);
    b->len += n;
}

void cv_put_align(cv_builder *b, uint64_t align)
{
    uint64_t end;

    if (!cv_align(b->len, align, &end))
        b->failed = true;
    else
        cv_put_zero(b, end - b->len);
}

static void patch(cv_builder *b, uint64_t off, uint64_t v, unsigned n)
{
    if (off > b->len || n > b->len - off) {
        b->failed = true;
        return;
    }
    for (unsigned i = 0; i < n; i++)
        b->bytes[off + i] = (uint8_t)(v >> (8 * i));
}

void cv_patch_u32(cv_builder *b, uint64_t off, uint32_t v)
{
    patch(b, off, v, 4);
}

void cv_patch_u64(cv_builder *b, uint64_t off, uint64_t v)
{
    patch(b, off, v, 8);
}

cv_span cv_builder_span(const cv_builder *b)
{
    return cv_span_of(b->bytes, b->failed ? 0 : b->len, 0);
}
