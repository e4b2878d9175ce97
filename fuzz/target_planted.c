/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A parser with a bug on purpose: both engines must find it within a minute, or harness, flags or sanitizers
 * do not bite. It is the classic one: offset and length of a record are checked with a 32-bit sum, which
 * wraps. Behind a magic number, a version and a tag, so that it is not found by accident. Not a part of
 * normal campaigns. */
#include "common.h"

#define PLANTED_MAGIC UINT32_C(0x44454221)
#define PLANTED_TAG   0x2F11u
#define HEADER        8u
#define RECORD        12u

static uint32_t word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* {tag u16, 0 u16, offset u32, length u32}; the bytes it names are summed up. */
static bool record(const fz_input *in, const uint8_t *out, uint32_t *sum)
{
    uint32_t off = word(out + 4), len = word(out + 8), end;

    if ((word(out) & 0xFFFF) != PLANTED_TAG)
        return false;
    (void)__builtin_add_overflow(off, len, &end); /* the bug: what it says is not looked at */
    if (end > in->len)
        return false;
    for (uint32_t i = 0; i < len; i++)
        *sum += in->bytes[(size_t)off + i];
    return true;
}

CV_FUZZ_TARGET(planted)
{
    volatile uint32_t keep;
    uint32_t sum = 0;
    fz_input in;

    fz_open(&in, data, size);
    if (in.len >= HEADER && word(in.bytes) == PLANTED_MAGIC && word(in.bytes + 4) == 3)
        for (size_t at = HEADER; in.len - at >= RECORD && record(&in, in.bytes + at, &sum); at += RECORD)
            ;
    keep = sum;
    (void)keep;
    fz_close(&in);
    return 0;
}
