/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/search.h"

#include <string.h>

#include "base/platform.h"

typedef uint8_t lane __attribute__((vector_size(16)));
typedef uint64_t pair __attribute__((vector_size(16)));
typedef uint8_t broad __attribute__((vector_size(32)));
typedef uint64_t quad __attribute__((vector_size(32)));

/* One test per block: hits are rare, so the position is found by a second look. */
#define BLOCK UINT64_C(64)
#define WIDE  UINT64_C(128)

static lane load(const uint8_t *at)
{
    lane lanes;

    memcpy(&lanes, at, sizeof(lanes));
    return lanes;
}

static lane fill(uint32_t byte)
{
    return (lane){ 0 } + (uint8_t)byte;
}

/* Could one of the 64 positions from p on start with the first two bytes of a or b? Reads 65 bytes. */
static bool maybe(const uint8_t *at, uint32_t first, uint32_t second)
{
    const lane a0 = fill(first), a1 = fill(first >> 8), b0 = fill(second), b1 = fill(second >> 8);
    lane any = { 0 };
    pair mask;

    for (uint64_t i = 0; i < BLOCK; i += 16) {
        lane v0 = load(at + i), v1 = load(at + i + 1);

        any |= (lane)(((v0 == a0) & (v1 == a1)) | ((v0 == b0) & (v1 == b1)));
    }
    memcpy(&mask, &any, sizeof(mask));
    return (mask[0] | mask[1]) != 0;
}

/* First block from i on in which one of the values may begin. The last one ends with the span: what it sees
 * again of the one before costs less than a step per byte. */
static uint64_t skip(cv_span span, uint64_t index, uint32_t first, uint32_t second)
{
    if (span.len <= BLOCK)
        return index;
    while (span.len - index > BLOCK && !maybe(span.base + index, first, second))
        index += BLOCK;
    return span.len - index <= BLOCK && !maybe(span.base + (span.len - BLOCK - 1), first, second) ? span.len
                                                                                                  : index;
}

/* The same at steps of 128 bytes, in vectors twice as long: whatever is unpacked is searched as well, and
 * that must not be felt beside the unpacking. */
CV_WIDE static uint64_t skip_wide(cv_span span, uint64_t index, uint32_t first, uint32_t second)
{
    const broad a0 = (broad){ 0 } + (uint8_t)first, a1 = (broad){ 0 } + (uint8_t)(first >> 8);
    const broad b0 = (broad){ 0 } + (uint8_t)second, b1 = (broad){ 0 } + (uint8_t)(second >> 8);

    for (; span.len - index > WIDE; index += WIDE) {
        broad any = { 0 };
        quad rotated;

        for (uint64_t k = 0; k < WIDE; k += 32) {
            broad v0, v1;

            memcpy(&v0, span.base + index + k, sizeof(v0));
            memcpy(&v1, span.base + index + k + 1, sizeof(v1));
            any |= (broad)(((v0 == a0) & (v1 == a1)) | ((v0 == b0) & (v1 == b1)));
        }
        memcpy(&rotated, &any, sizeof(rotated));
        if ((rotated[0] | rotated[1] | rotated[2] | rotated[3]) != 0)
            break;
    }
    return index;
}

static uint64_t find(cv_span span, uint64_t from, uint32_t first, uint32_t second, bool wide)
{
    uint64_t i = from;

    while (i < span.len && span.len - i >= 4) {
        uint64_t last;

        if (wide)
            i = skip_wide(span, i, first, second);
        i = skip(span, i, first, second);
        last = cv_min(span.len - 4, i + BLOCK - 1);
        for (; i <= last; i++) {
            uint32_t value = cv_u32_at(span, i);

            if (value == first || value == second)
                return i;
        }
    }
    return span.len;
}

uint64_t cv_span_find_u32(cv_span span, uint64_t from, uint32_t first, uint32_t second)
{
    return find(span, from, first, second, cv_has_wide());
}

uint64_t cv_span_find_u32_plain(cv_span span, uint64_t from, uint32_t first, uint32_t second)
{
    return find(span, from, first, second, false);
}

typedef int8_t tiny __attribute__((vector_size(16)));

bool cv_span_is_text(cv_span span)
{
    /* SSE2 compares signed bytes only: both ranges are moved down to where -128 is. */
    const lane from_blank = fill(0x80 - ' '), from_tab = fill(0x80 - '\t');
    const tiny text = (tiny)fill(0x80 + 0x5E), space = (tiny)fill(0x80 + 4);
    lane odd = { 0 };
    uint64_t i = 0;
    pair mask;

    /* No branch per lane: odd bytes are the exception, and who they are is looked up elsewhere. */
    for (; span.len - i >= 16; i += 16) {
        lane lanes = load(span.base + i);

        odd |= (lane)(((tiny)(lanes + from_blank) > text) & ((tiny)(lanes + from_tab) > space));
    }
    memcpy(&mask, &odd, sizeof(mask));
    if ((mask[0] | mask[1]) != 0)
        return false;
    for (; i < span.len; i++) {
        uint8_t byte = span.base[i];

        if ((uint8_t)(byte - ' ') > 0x5E && (uint8_t)(byte - '\t') > 4)
            return false;
    }
    return true;
}
