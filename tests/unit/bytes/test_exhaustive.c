/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Everything small, and everything near a border: all spans of up to 12 bytes, and all offsets and lengths
 * around 0, the end, 2^31, 2^32, 2^63 and 2^64, for each primitive. The models know nothing but single bytes
 * and numbers that cannot wrap. Bytes end where memory does. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bytes/builder.h"
#include "bytes/search.h"
#include "bytes/span.h"
#include "support/guard.h"

enum { LONGEST = 12, AROUND = LONGEST + 2, N_NEAR = 2 * AROUND + 1, N_BORDERS = 4 * N_NEAR };

static guard_state left_room, right_room;
static uint64_t border[N_BORDERS]; /* around 0, which is 2^64 as well, 2^31, 2^32 and 2^63 */

static void setup(void)
{
    static const uint64_t PLACE[] = { 0, UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 63 };
    size_t count = 0;

    guard_open(&left_room, 4096);
    guard_open(&right_room, 4096);
    for (size_t i = 0; i < sizeof(PLACE) / sizeof(PLACE[0]); i++) {
        for (uint64_t j = 0; j <= AROUND; j++)
            border[count++] = cv_wrap_add(PLACE[i], j);
        for (uint64_t j = 1; j <= AROUND; j++)
            border[count++] = cv_wrap_sub(PLACE[i], j);
    }
    ck_assert_uint_eq(count, N_BORDERS);
}

static void teardown(void)
{
    cv_islands_drop();
    guard_close(&left_room);
    guard_close(&right_room);
}

/* Check notes each assertion that holds, which costs more than what is asserted here. */
static void must(bool holds, const char *what, uint64_t size, uint64_t off, uint64_t len)
{
    if (!holds)
        ck_abort_msg("%s: %llu bytes, at %llx, %llx", what, (unsigned long long)size, (unsigned long long)off,
                     (unsigned long long)len);
}

static cv_span ends(guard_state *room, const void *bytes, size_t size, uint64_t off)
{
    return cv_span_of(guard_end(room, bytes, size), size, off);
}

/* Both are small, or it does not fit: no sum can wrap. */
static bool fits(uint64_t size, uint64_t off, uint64_t len)
{
    return off <= LONGEST && len <= LONGEST && off + len <= size;
}

/* 'count' bytes as a number; those outside are 0. */
static uint64_t number(const uint8_t *bytes, uint64_t size, uint64_t off, uint64_t count)
{
    uint64_t value = 0;

    for (uint64_t i = count; i-- > 0;)
        value = value << 8 | (off < size && i < size - off ? bytes[off + i] : 0);
    return value;
}

/* A load is whole, or it is 0. */
static uint64_t whole(const uint8_t *bytes, uint64_t size, uint64_t off, uint64_t count)
{
    return fits(size, off, count) ? number(bytes, size, off, count) : 0;
}

static const uint8_t DIGITS[LONGEST] = { 0x81, 0x92, 0xA3, 0xB4, 0xC5, 0xD6,
                                         0xE7, 0xF8, 0x89, 0x9A, 0xAB, 0xBC };

static void ranges_at(cv_span span, uint64_t off, uint64_t len)
{
    static const cv_span NONE = { NULL, 77, 88 };
    bool fit = fits(span.len, off, len), rest = fits(span.len, off, 0);
    cv_span out = NONE;
    cv_cur cur = cv_cur_of(span);

    must(cv_span_has(span, off, len) == fit, "has", span.len, off, len);
    must(cv_span_sub(span, off, len, &out) == fit, "sub", span.len, off, len);
    if (fit)
        must(out.len == len && out.off == span.off + off && (len == 0 || cv_u8_at(out, 0) == DIGITS[off]) &&
                 (len == 0 || cv_u8_at(out, len - 1) == DIGITS[off + len - 1]),
             "sub's span", span.len, off, len);
    else
        must(memcmp(&out, &NONE, sizeof(out)) == 0, "sub: untouched", span.len, off, len);
    out = NONE;
    must(cv_span_from(span, off, &out) == rest, "from", span.len, off, len);
    must(rest ? out.len == span.len - off && out.off == span.off + off : out.len == NONE.len, "from's span",
         span.len, off, len);
    out = cv_span_tail(span, off);
    must(out.len == (rest ? span.len - off : 0), "tail", span.len, off, len);

    cv_cur_skip(&cur, off);
    must(cur.failed == !rest, "skip", span.len, off, len);
    out = cv_cur_bytes(&cur, len);
    must(cur.failed == !fit && out.len == (fit ? len : 0), "cursor", span.len, off, len);
    must(fit || (cur.bad_at == (rest ? off : 0) && cur.bad_want == (rest ? len : off)), "cursor's failure",
         span.len, off, len);
    cv_islands_drop();
}

START_TEST(ranges)
{
    for (size_t size = 0; size <= LONGEST; size++) {
        cv_span span = ends(&left_room, DIGITS, size, 1000);

        for (size_t i = 0; i < N_BORDERS; i++)
            for (size_t j = 0; j < N_BORDERS; j++)
                ranges_at(span, border[i], border[j]);
    }
}
END_TEST

static void loads_at(cv_span span, uint64_t off)
{
    cv_pair pair = cv_pair_at(span, off), end = cv_pair_at_end(span, off);
    cv_row two = cv_row_at(span, off, 2), three = cv_row_at(span, off, 3);
    uint64_t low = number(DIGITS, span.len, off, 8),
             high = off <= LONGEST ? number(DIGITS, span.len, off + 8, 8) : 0;

    must(cv_u8_at(span, off) == whole(DIGITS, span.len, off, 1), "u8", span.len, off, 1);
    must(cv_u16_at(span, off) == whole(DIGITS, span.len, off, 2), "u16", span.len, off, 2);
    must(cv_u32_at(span, off) == whole(DIGITS, span.len, off, 4), "u32", span.len, off, 4);
    must(cv_u64_at(span, off) == whole(DIGITS, span.len, off, 8), "u64", span.len, off, 8);
    must(pair.low == low && pair.high == high, "pair", span.len, off, 16);
    must(end.low == low && end.high == high, "pair at the end", span.len, off, 16);
    must((two.first | two.second | two.third) == 0, "row of two", span.len, off, 16);
    must((three.first | three.second | three.third) == 0, "row of three", span.len, off, 24);
}

START_TEST(loads)
{
    for (size_t size = 0; size <= LONGEST; size++) {
        cv_span span = ends(&left_room, DIGITS, size, 0);

        for (size_t i = 0; i < N_BORDERS; i++)
            loads_at(span, border[i]);
    }
}
END_TEST

/* Rows are longer than the spans above: they fit in a few places only. */
START_TEST(rows)
{
    uint8_t bytes[40];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(0x80 + i);
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        cv_span span = ends(&left_room, bytes, size, 0);

        for (size_t off = 0; off <= size + 1; off++) {
            cv_row two = cv_row_at(span, off, 2), three = cv_row_at(span, off, 3);
            bool has_two = off + 16 <= size, has_three = off + 24 <= size;

            must(two.first == (has_two ? number(bytes, size, off, 8) : 0) &&
                     two.second == (has_two ? number(bytes, size, off + 8, 8) : 0) && two.third == 0,
                 "row of two", size, off, 16);
            must(three.first == (has_three ? number(bytes, size, off, 8) : 0) &&
                     three.second == (has_three ? number(bytes, size, off + 8, 8) : 0) &&
                     three.third == (has_three ? number(bytes, size, off + 16, 8) : 0),
                 "row of three", size, off, 24);
        }
    }
}
END_TEST

/* Counts of elements: the product is not made where it would wrap. */
START_TEST(counts)
{
    for (uint64_t size = 0; size <= LONGEST; size++)
        for (size_t i = 0; i < N_BORDERS; i++)
            for (size_t j = 0; j < N_BORDERS; j++) {
                uint64_t count = border[i], elem = border[j];
                bool fit = count == 0 || elem == 0 || (count <= size && elem <= size && count * elem <= size);
                cv_cur cur = cv_cur_of(cv_span_of(DIGITS, size, 0));

                must(cv_cur_count(&cur, count, elem) == (fit ? count : 0) && cur.failed == !fit, "count",
                     size, count, elem);
            }
}
END_TEST

/* The span number 'index' of those of 'size' bytes, each of which is one of the letters. */
static void spell(uint64_t index, const char *letters, uint8_t *bytes, size_t size)
{
    uint64_t count = strlen(letters);

    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)letters[index % count];
        index /= count;
    }
}

static uint64_t power(uint64_t base, size_t exponent)
{
    uint64_t value = 1;

    while (exponent-- > 0)
        value *= base;
    return value;
}

static uint64_t first_of(const uint8_t *bytes, size_t size, size_t from, uint8_t byte, bool other)
{
    while (from < size && (bytes[from] == byte) == other)
        from++;
    return from;
}

/* Texts: where they end, whether they do. '.' stands for a NUL. */
START_TEST(texts)
{
    for (size_t size = 0; size <= LONGEST; size++)
        for (uint64_t index = 0; index < power(2, size); index++) {
            uint8_t bytes[LONGEST];
            cv_span span, out;

            spell(index, ".a", bytes, size);
            for (size_t i = 0; i < size; i++)
                bytes[i] = bytes[i] == '.' ? 0 : 'a';
            span = ends(&left_room, bytes, size, 50);
            must(cv_span_find_byte(span, 0) == first_of(bytes, size, 0, 0, false), "byte", size, 0, index);
            must(cv_span_find_nonzero(span) == first_of(bytes, size, 0, 0, true), "not zero", size, 0, index);
            must(cv_span_find_byte(span, 'b') == size, "no byte", size, 0, index);
            for (size_t i = 0; i < N_NEAR; i++) {
                uint64_t off = border[i],
                         end = off < size ? first_of(bytes, size, (size_t)off, 0, false) : size;

                must(cv_span_cstr(span, off, &out) == (off < size && end < size), "text", size, off, index);
                must(off >= size || end >= size || (out.len == end - off && out.off == 50 + off),
                     "text's span", size, off, index);
            }
        }
}
END_TEST

static bool same_text(const uint8_t *left, size_t size, const uint8_t *right, size_t other)
{
    for (size_t i = 0; i < size && i < other && left[i] == right[i]; i++)
        if (left[i] == 0)
            return true;
    return false;
}

enum { PAIR_LONGEST = 6 };

static void pair_of(const uint8_t *left, size_t size, const uint8_t *right, size_t other)
{
    cv_span first = ends(&left_room, left, size, 0), second = ends(&right_room, right, other, 0);
    uint64_t agree = 0;

    while (agree < size && agree < other && left[agree] == right[agree])
        agree++;
    must(cv_span_agree(first, second) == agree, "agree", size, other, agree);
    must(cv_span_eq(first, second) == (size == other && agree == size), "equal", size, other, agree);
    for (size_t i = 0; i <= size + 1; i++)
        for (size_t j = 0; j <= other + 1; j++)
            must(cv_span_same_cstr(first, i, second, j) ==
                     (i <= size && j <= other && same_text(left + i, size - i, right + j, other - j)),
                 "same text", size, i, j);
}

START_TEST(pairs)
{
    for (size_t size = 0; size <= PAIR_LONGEST; size++)
        for (size_t other = 0; other <= PAIR_LONGEST; other++)
            for (uint64_t index = 0; index < power(2, size + other); index++) {
                uint8_t bytes[2 * PAIR_LONGEST];

                spell(index, "ab", bytes, size + other);
                for (size_t i = 0; i < size + other; i++)
                    bytes[i] = bytes[i] == 'b';
                pair_of(bytes, size, bytes + size, other);
            }
}
END_TEST

/* Longer ones are compared in steps: one byte differs, in each place. */
START_TEST(steps)
{
    uint8_t left[150], right[150];

    memset(left, 'x', sizeof(left));
    memset(right, 'x', sizeof(right));
    for (size_t size = 0; size <= sizeof(left); size++) {
        cv_span first = ends(&left_room, left, size, 0);

        for (size_t at = 0; at <= size; at++) {
            cv_span second;

            if (at < size)
                right[at] = 'y';
            second = ends(&right_room, right, size, 0);
            must(cv_span_agree(first, second) == at, "agree", size, at, 0);
            must(cv_span_eq(first, second) == (at == size), "equal", size, at, 0);
            memset(right, 'x', sizeof(right));
        }
        for (size_t at = 0; at <= size; at++) {
            uint8_t zeros[150] = { 0 };

            if (at < size)
                zeros[at] = 1;
            must(cv_span_find_nonzero(ends(&right_room, zeros, size, 0)) == at, "not zero", size, at, 0);
        }
    }
}
END_TEST

/* Beginnings: every text of up to 4 letters, every span of up to 6. */
START_TEST(beginnings)
{
    for (size_t len = 0; len <= 4; len++)
        for (uint64_t which = 0; which < power(2, len); which++) {
            char text[5] = { 0 };

            spell(which, "ab", (uint8_t *)text, len);
            for (size_t size = 0; size <= 6; size++)
                for (uint64_t index = 0; index < power(3, size); index++) {
                    uint8_t bytes[6];
                    cv_span span, rest = { NULL, 77, 0 };
                    bool starts = len <= size;

                    spell(index, "abc", bytes, size);
                    span = ends(&left_room, bytes, size, 0);
                    for (size_t i = 0; starts && i < len; i++)
                        starts = bytes[i] == (uint8_t)text[i];
                    must(cv_span_starts(span, text) == starts, "starts", size, len, index);
                    must(cv_span_eq_str(span, text) == (starts && len == size), "is the text", size, len,
                         index);
                    must(cv_span_after(span, text, &rest) == starts, "after", size, len, index);
                    must(rest.len == (starts ? size - len : 77), "after's span", size, len, index);
                }
        }
}
END_TEST

/* A number as a person reads it: digit by digit, given up above 2^32 - 1. */
static bool decimal(const uint8_t *bytes, uint64_t size, uint64_t off, uint64_t *value, uint64_t *end)
{
    *value = 0;
    *end = off;
    while (*end < size && bytes[*end] >= '0' && bytes[*end] <= '9') {
        *value = *value * 10 + bytes[*end] - '0';
        if (*value >> 32 != 0)
            return false;
        ++*end;
    }
    return *end > off;
}

static void decimals_of(const uint8_t *bytes, size_t size)
{
    cv_span span = ends(&left_room, bytes, size, 0);

    for (size_t i = 0; i < N_NEAR; i++) {
        uint64_t value, end, got_end = 77;
        uint32_t got = 77;
        bool good = decimal(bytes, size, border[i], &value, &end);

        must(cv_span_decimal(span, border[i], &got, &got_end) == good, "decimal", size, border[i], value);
        must(good ? got == value && got_end == end : got == 77 && got_end == 77, "decimal's value", size,
             border[i], value);
    }
}

START_TEST(decimals)
{
    for (size_t size = 0; size <= 6; size++)
        for (uint64_t index = 0; index < power(6, size); index++) {
            uint8_t bytes[6];

            spell(index, "0149/:", bytes, size);
            decimals_of(bytes, size);
        }
    for (uint64_t value = (UINT64_C(1) << 32) - 300; value < (UINT64_C(1) << 32) + 300; value++)
        for (int zeros = 0; zeros <= 2; zeros++) {
            char text[32];
            int len = snprintf(text, sizeof(text), "%.*s%llu", zeros, "00", (unsigned long long)value);

            decimals_of((const uint8_t *)text, (size_t)len);
        }
}
END_TEST

/* Each byte, in each place of spans of all lengths around the steps of the search. */
START_TEST(printable)
{
    uint8_t bytes[40];

    for (size_t size = 1; size <= sizeof(bytes); size++)
        for (size_t at = 0; at < size; at++)
            for (unsigned byte = 0; byte < 256; byte++) {
                bool text = (byte >= ' ' && byte <= '~') || (byte >= 9 && byte <= 13);
                cv_span span = cv_span_of(left_room.room + left_room.cap - size, size, 0);

                if (byte == 0) {
                    memset(bytes, 'x', sizeof(bytes));
                    (void)guard_end(&left_room, bytes, size);
                }
                left_room.room[left_room.cap - size + at] = (uint8_t)byte;
                must(cv_span_is_text(span) == text, "text", size, at, byte);
            }
    must(cv_span_is_text(cv_span_of(NULL, 0, 0)), "no bytes", 0, 0, 0);
}
END_TEST

#define FIRST  UINT32_C(0x61626161) /* "aaba" */
#define SECOND UINT32_C(0x62616262) /* "bbab" */

static uint64_t found(const uint8_t *bytes, uint64_t size, uint64_t from)
{
    for (uint64_t i = from; i < size && size - i >= 4; i++)
        if (number(bytes, size, i, 4) == FIRST || number(bytes, size, i, 4) == SECOND)
            return i;
    return size;
}

/* Nothing may be touched behind the bytes, or in front of them: the last block is read from its end. */
static void search_in(const uint8_t *bytes, size_t size, uint64_t from)
{
    uint64_t want = found(bytes, size, from);

    for (unsigned side = 0; side < 2; side++) {
        cv_span span = side ? cv_span_of(guard_start(&left_room, bytes, size), size, 0)
                            : ends(&left_room, bytes, size, 0);

        must(cv_span_find_u32(span, from, FIRST, SECOND) == want, "search", size, from, want);
        must(cv_span_find_u32_plain(span, from, FIRST, SECOND) == want, "plain search", size, from, want);
    }
}

START_TEST(searches)
{
    uint8_t bytes[300];

    for (size_t size = 0; size <= LONGEST; size++)
        for (uint64_t index = 0; index < power(2, size); index++) {
            spell(index, "ab", bytes, size);
            for (uint64_t from = 0; from <= size + 1; from++)
                search_in(bytes, size, from);
        }
    for (size_t size = 0; size <= sizeof(bytes); size += size % 64 < 4 || size % 64 > 60 ? 1 : 19)
        for (size_t at = 0; at + 4 <= size; at++) {
            memset(bytes, 'a', sizeof(bytes));
            bytes[at + 2] = 'b';
            if (at % 2 != 0)
                memcpy(bytes + at, "bbab", 4);
            search_in(bytes, size, 0);
            search_in(bytes, size, at + 1);
        }
    for (size_t i = 0; i < N_BORDERS; i++)
        search_in(bytes, LONGEST, border[i]);
}
END_TEST

/* ---- arithmetic ---- */

static void arithmetic_of(uint64_t left, uint64_t right)
{
    bool add = left <= UINT64_MAX - right, mul = left == 0 || right <= UINT64_MAX / left;
    uint64_t out = 77;

    must(cv_add(left, right, &out) == add, "add", 0, left, right);
    must(out == (add ? left + right : 77), "sum", 0, left, right);
    must(cv_sat_add(left, right) == (add ? left + right : UINT64_MAX), "saturated sum", 0, left, right);
    out = 77;
    must(cv_mul(left, right, &out) == mul, "mul", 0, left, right);
    must(out == (mul ? left * right : 77), "product", 0, left, right);
    must(cv_sat_mul(left, right) == (mul ? left * right : UINT64_MAX), "saturated product", 0, left, right);
    must(cv_min(left, right) == (left < right ? left : right), "min", 0, left, right);
    must(cv_max(left, right) == (left > right ? left : right), "max", 0, left, right);
}

static void align_of(uint64_t value, uint64_t align)
{
    uint64_t pad, out = 77;
    unsigned ones = 0;
    bool good;

    for (unsigned i = 0; i < 64; i++)
        ones += (align >> i & 1) != 0;
    must(cv_is_pow2(align) == (ones == 1), "power", 0, value, align);
    good = ones == 1;
    pad = good && value % align != 0 ? align - value % align : 0;
    good = good && value <= UINT64_MAX - pad;
    must(cv_align(value, align, &out) == good, "align", 0, value, align);
    must(out == (good ? value + pad : 77), "aligned", 0, value, align);
    must(cv_sat_align(value, align) == (good ? value + pad : UINT64_MAX), "saturated", 0, value, align);
}

START_TEST(arithmetic)
{
    for (size_t i = 0; i < N_BORDERS; i++) {
        uint32_t small = 77;

        for (size_t j = 0; j < N_BORDERS; j++) {
            arithmetic_of(border[i], border[j]);
            align_of(border[i], border[j]);
        }
        for (unsigned bit = 0; bit < 64; bit++)
            align_of(border[i], UINT64_C(1) << bit);
        must(cv_to_u32(border[i], &small) == (border[i] >> 32 == 0), "32 bits", 0, border[i], 0);
        must(small == (border[i] >> 32 == 0 ? border[i] : 77), "32 bits' value", 0, border[i], 0);
    }
}
END_TEST

/* ---- what is written is patched inside of it, or not at all ---- */

static void patch_at(cv_mem *mem, size_t size, uint64_t off, unsigned width)
{
    uint8_t want[LONGEST];
    cv_builder out;
    cv_span span;

    memcpy(want, DIGITS, sizeof(want));
    cv_builder_init(&out, mem);
    cv_put_span(&out, cv_span_of(DIGITS, size, 0));
    if (width == 4)
        cv_patch_u32(&out, off, 0x04030201);
    else
        cv_patch_u64(&out, off, UINT64_C(0x0807060504030201));
    span = cv_builder_span(&out);
    must(out.failed == !fits(size, off, width), "patch", size, off, width);
    for (unsigned i = 0; !out.failed && i < width; i++)
        want[off + i] = (uint8_t)(i + 1);
    must(out.failed ? span.len == 0 : cv_span_eq(span, cv_span_of(want, size, 0)), "patched", size, off,
         width);
    cv_builder_free(&out);
}

START_TEST(patches)
{
    cv_mem mem;

    cv_mem_init(&mem, NULL, CV_GIB);
    for (size_t size = 0; size <= LONGEST; size++)
        for (size_t i = 0; i < N_BORDERS; i++) {
            patch_at(&mem, size, border[i], 4);
            patch_at(&mem, size, border[i], 8);
        }
    ck_assert_uint_eq(mem.live, 0);
}
END_TEST

Suite *suite_exhaustive(void)
{
    Suite *suite = suite_create("exhaustive");
    TCase *tcase = tcase_create("small and near a border");

    tcase_set_timeout(tcase, 1200); /* for slow machines and slow builds */
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, ranges);
    tcase_add_test(tcase, loads);
    tcase_add_test(tcase, rows);
    tcase_add_test(tcase, counts);
    tcase_add_test(tcase, texts);
    tcase_add_test(tcase, pairs);
    tcase_add_test(tcase, steps);
    tcase_add_test(tcase, beginnings);
    tcase_add_test(tcase, decimals);
    tcase_add_test(tcase, printable);
    tcase_add_test(tcase, searches);
    tcase_add_test(tcase, arithmetic);
    tcase_add_test(tcase, patches);
    suite_add_tcase(suite, tcase);
    return suite;
}
