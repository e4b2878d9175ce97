/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/builder.h"

#include <string.h>

#define SMALL 65536 /* what is smaller doubles */

void cv_builder_init(cv_builder *out, cv_mem *mem)
{
    *out = (cv_builder){ .mem = mem };
}

void cv_builder_at(cv_builder *out, uint8_t *place, uint64_t size)
{
    *out = (cv_builder){ .bytes = place, .cap = size, .fixed = true };
}

void cv_builder_free(cv_builder *out)
{
    if (!out->fixed)
        cv_mem_put(out->mem, out->bytes, out->cap);
    *out = (cv_builder){ .mem = out->mem };
}

/* Exactly 'cap' bytes. */
static bool grow(cv_builder *out, uint64_t cap)
{
    uint8_t *at = out->fixed ? NULL : cv_mem_resize_raw(out->mem, out->bytes, out->cap, cap);

    if (!at)
        return false;
    out->bytes = at;
    out->cap = cap;
    return true;
}

bool cv_builder_room(cv_builder *out, uint64_t count)
{
    uint64_t need = 0, more = out->cap < SMALL ? out->cap : out->cap / 2;

    if (out->failed || !cv_add(out->len, count, &need) ||
        (need > out->cap && !grow(out, cv_max(need, cv_max(64, cv_sat_add(out->cap, more))))))
        out->failed = true;
    return !out->failed;
}

void cv_builder_reserve(cv_builder *out, uint64_t count)
{
    uint64_t need = 0;

    if (!out->failed && (!cv_add(out->len, count, &need) || (need > out->cap && !grow(out, need))))
        out->failed = true;
}

void cv_put_span(cv_builder *out, cv_span span)
{
    if (span.len == 0 || !cv_builder_room(out, span.len))
        return;
    memcpy(out->bytes + out->len, span.base, (size_t)span.len);
    out->len += span.len;
}

void cv_put_str(cv_builder *out, const char *text)
{
    cv_put_span(out, cv_span_of(text, strlen(text), 0));
}

void cv_put_zero(cv_builder *out, uint64_t count)
{
    if (count == 0 || !cv_builder_room(out, count))
        return;
    memset(out->bytes + out->len, 0, (size_t)count);
    out->len += count;
}

void cv_put_align(cv_builder *out, uint64_t align)
{
    uint64_t end;

    if (!cv_align(out->len, align, &end))
        out->failed = true;
    else
        cv_put_zero(out, end - out->len);
}

static void patch(cv_builder *out, uint64_t off, uint64_t value, unsigned count)
{
    if (off > out->len || count > out->len - off) {
        out->failed = true;
        return;
    }
    for (unsigned i = 0; i < count; i++)
        out->bytes[off + i] = (uint8_t)(value >> (8 * i));
}

void cv_patch_u32(cv_builder *out, uint64_t off, uint32_t value)
{
    patch(out, off, value, 4);
}

void cv_patch_u64(cv_builder *out, uint64_t off, uint64_t value)
{
    patch(out, off, value, 8);
}

cv_span cv_builder_span(const cv_builder *out)
{
    return cv_span_of(out->bytes, out->failed ? 0 : out->len, 0);
}
