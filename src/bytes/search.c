/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/search.h"

#include <string.h>

typedef uint8_t lane __attribute__((vector_size(16)));
typedef uint64_t pair __attribute__((vector_size(16)));

/* One test per block: hits are rare, so the position is found by a second look. */
#define BLOCK UINT64_C(64)

static lane load(const uint8_t *p)
{
    lane v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static lane fill(uint32_t byte)
{
    return (lane){ 0 } + (uint8_t)byte;
}

/* Could one of the 64 positions from p on start with the first two bytes of a or b? Reads 65 bytes. */
static bool maybe(const uint8_t *p, lane a0, lane a1, lane b0, lane b1)
{
    lane any = { 0 };
    pair r;

    for (uint64_t i = 0; i < BLOCK; i += 16) {
        lane v0 = load(p + i), v1 = load(p + i + 1);

        any |= (lane)(((v0 == a0) & (v1 == a1)) | ((v0 == b0) & (v1 == b1)));
    }
    memcpy(&r, &any, sizeof(r));
    return (r[0] | r[1]) != 0;
}

uint64_t cv_span_find_u32(cv_span s, uint64_t from, uint32_t a, uint32_t b)
{
    lane a0 = fill(a), a1 = fill(a >> 8), b0 = fill(b), b1 = fill(b >> 8);
    uint64_t i = from;

    while (i < s.len && s.len - i >= 4) {
        uint64_t last;

        if (s.len > BLOCK) {
            /* The last block ends with the span: what it sees again of the one before costs less than a step
             * per byte. */
            uint64_t at = cv_min(i, s.len - BLOCK - 1);

            if (!maybe(s.base + at, a0, a1, b0, b1)) {
                i = at + BLOCK;
                continue;
            }
        }
        last = cv_min(s.len - 4, i + BLOCK - 1);
        for (; i <= last; i++) {
            uint32_t v = cv_u32_at(s, i);

            if (v == a || v == b)
                return i;
        }
    }
    return s.len;
}

typedef uint32_t quad __attribute__((vector_size(16)));

static quad load_quad(const uint8_t *p)
{
    quad v;

    memcpy(&v, p, sizeof(v));
    return v;
}

uint64_t cv_span_find_u32_aligned(cv_span s, uint64_t from, uint32_t a, uint32_t b)
{
    quad va = (quad){ 0 } + a, vb = (quad){ 0 } + b;
    uint64_t i = cv_sat_align(from, 4);

    while (i < s.len && s.len - i >= 4) {
        uint64_t last = cv_min(s.len - 4, i + BLOCK - 4);

        if (s.len >= BLOCK) {
            uint64_t at = cv_min(i, (s.len - BLOCK) / 4 * 4);
            const uint8_t *p = s.base + at;
            quad v0 = load_quad(p), v1 = load_quad(p + 16), v2 = load_quad(p + 32), v3 = load_quad(p + 48);
            quad any = (quad)((v0 == va) | (v0 == vb) | (v1 == va) | (v1 == vb) | (v2 == va) | (v2 == vb) |
                              (v3 == va) | (v3 == vb));
            pair r;

            memcpy(&r, &any, sizeof(r));
            if ((r[0] | r[1]) == 0) {
                i = at + BLOCK;
                continue;
            }
        }
        for (; i <= last; i += 4) {
            uint32_t v = cv_u32_at(s, i);

            if (v == a || v == b)
                return i;
        }
    }
    return s.len;
}

typedef int8_t tiny __attribute__((vector_size(16)));

bool cv_span_is_text(cv_span s)
{
    /* SSE2 compares signed bytes only: both ranges are moved down to where -128 is. */
    const lane from_blank = fill(0x80 - ' '), from_tab = fill(0x80 - '\t');
    const tiny text = (tiny)fill(0x80 + 0x5E), space = (tiny)fill(0x80 + 4);
    lane odd = { 0 };
    uint64_t i = 0;
    pair r;

    /* No branch per lane: odd bytes are the exception, and who they are is looked up elsewhere. */
    for (; s.len - i >= 16; i += 16) {
        lane v = load(s.base + i);

        odd |= (lane)(((tiny)(v + from_blank) > text) & ((tiny)(v + from_tab) > space));
    }
    memcpy(&r, &odd, sizeof(r));
    if ((r[0] | r[1]) != 0)
        return false;
    for (; i < s.len; i++) {
        uint8_t b = s.base[i];

        if ((uint8_t)(b - ' ') > 0x5E && (uint8_t)(b - '\t') > 4)
            return false;
    }
    return true;
}
