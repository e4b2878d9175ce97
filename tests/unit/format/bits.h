/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode, written bit by bit to 'bytes', for the tests of its reader. */
#ifndef CV_TESTS_FORMAT_BITS_H
#define CV_TESTS_FORMAT_BITS_H

#include <check.h>
#include <string.h>

#include "fixture.h"
#include "format/bitcode/read.h"

#define BASE 0x1000u

static uint8_t bytes[8192];
static uint64_t n_bits;

static inline void fixed(uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++, n_bits++) {
        ck_assert_uint_lt(n_bits / 8, sizeof(bytes));
        if (value >> i & 1)
            bytes[n_bits / 8] |= (uint8_t)(1u << n_bits % 8);
    }
}

static inline void vbr(uint64_t value, unsigned width)
{
    uint64_t half = UINT64_C(1) << (width - 1);

    for (; value >= half; value >>= width - 1)
        fixed((value & (half - 1)) | half, width);
    fixed(value, width);
}

static inline void align32(void)
{
    n_bits = (n_bits + 31) / 32 * 32;
}

static inline void begin(void)
{
    memset(bytes, 0, sizeof(bytes));
    n_bits = 0;
    fixed(CV_BC_MAGIC, 32);
}

/* @return where its length is, to be filled by leave(). */
static inline uint64_t enter(unsigned outer, uint64_t id, uint64_t width)
{
    fixed(1, outer);
    vbr(id, 8);
    vbr(width, 4);
    align32();
    n_bits += 32;
    return n_bits / 8 - 4;
}

static inline void set_word(uint64_t at, uint64_t value)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static inline void leave(uint64_t at, unsigned width)
{
    fixed(0, width);
    align32();
    set_word(at, (n_bits / 8 - at - 4) / 4);
}

static inline void put_triple(unsigned width, const char *triple)
{
    fixed(3, width);
    vbr(2, 6);
    vbr(strlen(triple), 6);
    for (; *triple; triple++)
        vbr((uint8_t)*triple, 6);
}

static inline cuvet_status read_all(cv_bc *out)
{
    return cv_bc_read(&the_ctx, cv_span_of(bytes, n_bits / 8, BASE), n_bits / 8, out);
}

/* Identification, then a module that 'fill' writes at width 3. @return where the module's length is. */
static inline uint64_t build(void (*fill)(void))
{
    uint64_t at, module;

    begin();
    at = enter(2, 13, 5);
    leave(at, 5);
    module = enter(2, 8, 3);
    fill();
    leave(module, 3);
    return module;
}

/* Every form of an operand before the triple, and the triple as an array of 6-bit characters. */
static inline void forms(void)
{
    fixed(2, 3); /* 4: a literal, fixed 0, fixed 7, vbr 0, vbr 5, an array of fixed 3 */
    vbr(7, 5);
    fixed(1, 1), vbr(9, 8);
    fixed(0, 1), fixed(1, 3), vbr(0, 5);
    fixed(0, 1), fixed(1, 3), vbr(7, 5);
    fixed(0, 1), fixed(2, 3), vbr(0, 5);
    fixed(0, 1), fixed(2, 3), vbr(5, 5);
    fixed(0, 1), fixed(3, 3);
    fixed(0, 1), fixed(1, 3), vbr(3, 5);
    fixed(2, 3); /* 5: a literal, a blob */
    vbr(2, 5);
    fixed(1, 1), vbr(16, 8);
    fixed(0, 1), fixed(5, 3);
    fixed(2, 3); /* 6: the code in 4 bits, an array of characters */
    vbr(3, 5);
    fixed(0, 1), fixed(1, 3), vbr(4, 5);
    fixed(0, 1), fixed(3, 3);
    fixed(0, 1), fixed(4, 3);
    fixed(4, 3);
    fixed(100, 7), vbr(1000, 5), vbr(4, 6), fixed(0x29C, 12);
    fixed(5, 3);
    vbr(5, 6), align32(), fixed(0x0102030405, 40), align32();
    fixed(6, 3);
    fixed(2, 4), vbr(5, 6), fixed(13, 6), fixed(21, 6), fixed(15, 6), fixed(19, 6), fixed(23, 6);
}

#endif
