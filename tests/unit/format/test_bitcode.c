/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode, written bit by bit: where the triple is found, what is passed over on the way to it, what does not
 * fit, and how little a hostile stream can make of it. */
#include <check.h>
#include <string.h>

#include "bits.h"

static cv_span triple_of(const cv_bc *bitcode)
{
    return cv_span_of(bitcode->triple, bitcode->n_triple, 0);
}

static void expect_triple(const char *want)
{
    cv_bc bitcode;

    ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_uint_eq(bitcode.n_triple, strlen(want));
    ck_assert_mem_eq(bitcode.triple, want, strlen(want));
    ck_assert_uint_eq(bitcode.more, 0);
}

static void nothing(void)
{
}

static void plain(void)
{
    uint64_t at;

    fixed(3, 3); /* VERSION 2 */
    vbr(1, 6);
    vbr(1, 6);
    vbr(2, 6);
    at = enter(3, 17, 4);
    fixed(0xFFFFFFFF, 32); /* what is in it does not matter */
    leave(at, 4);
    put_triple(3, "nvptx64-nvidia-cuda");
    put_triple(3, "second");
}

static void wide(void)
{
    char text[CV_BC_TRIPLE_MAX + 41];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    put_triple(3, text);
}

START_TEST(found)
{
    char longest[CV_BC_TRIPLE_MAX + 1];

    (void)build(plain);
    expect_triple("nvptx64-nvidia-cuda");
    (void)build(forms);
    expect_triple("nvptx");
    (void)build(wide);
    memset(longest, 'a', CV_BC_TRIPLE_MAX);
    longest[CV_BC_TRIPLE_MAX] = '\0';
    expect_triple(longest);
    (void)build(nothing);
    expect_triple("");
    begin();
    expect_triple("");
}
END_TEST

START_TEST(wrapped)
{
    static const struct {
        const char *label;
        uint64_t off, len, cut;
        cv_rule rule;
        uint64_t at, got, want;
    } ROWS[] = {
        { "as it is", 0, 0, 0, NONE, 0, 0, 0 },
        { "into the wrapper", 1, 0, 0, CV_R_BC_WRAPPER, 0, 19, 0 },
        { "one byte longer", 0, 1, 0, CV_R_BC_WRAPPER, 0, 20, 0 },
        { "4 GiB", 0, 0xFFFFFFFF, 0, CV_R_BC_WRAPPER, 0, 20, 0 },
        { "far", 2, 0, 0, CV_R_BC_WRAPPER, 0, 0xFFFFFFFF, 0 },
        { "cut to 19 bytes", 0, 0, 19, CV_R_BC_WRAPPER, 0, 20, 19 },
    };
    uint8_t copy[1024];

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        uint64_t len, size, off = ROWS[i].off == 1 ? 19 : ROWS[i].off == 2 ? 0xFFFFFFFF : 20;
        cuvet_status want = ROWS[i].rule == NONE ? CUVET_OK : CUVET_E_MALFORMED;
        cv_bc bitcode;

        setup();
        (void)build(plain);
        len = n_bits / 8;
        memcpy(copy, bytes, len);
        memset(bytes, 0, sizeof(bytes));
        memcpy(bytes + 20, copy, len);
        set_word(0, CV_BC_WRAPPER_MAGIC);
        set_word(8, off);
        set_word(12, ROWS[i].len > 1 ? ROWS[i].len : len + ROWS[i].len);
        size = ROWS[i].cut ? ROWS[i].cut : 20 + len;
        ck_assert_int_eq(cv_bc_read(&the_ctx, cv_span_of(bytes, size, BASE), size, &bitcode), want);
        if (want == CUVET_OK) {
            ck_assert_uint_eq(bitcode.off, 20);
            ck_assert_uint_eq(bitcode.end, 20 + len);
            ck_assert_uint_eq(bitcode.n_triple, 19);
            ck_assert_uint_eq(n_diags, 0);
        } else {
            ck_assert_uint_eq(n_diags, 1);
            ck_assert_uint_eq(first.rule, ROWS[i].rule);
            ck_assert_uint_eq(first.file_off, BASE);
        }
        teardown();
    }
    setup();
    (void)build(plain);
    set_word(0, CV_BC_WRAPPER_MAGIC);
    set_word(8, 20);
    set_word(12, 8);
    {
        cv_bc bitcode;

        ck_assert_int_eq(read_all(&bitcode), CUVET_E_MALFORMED);
    }
    ck_assert_uint_eq(first.rule, CV_R_BC_MAGIC);
    ck_assert_uint_eq(first.file_off, BASE + 20);
}
END_TEST

START_TEST(blocks_fit)
{
    uint64_t at = build(plain), words = (n_bits / 8 - at - 4) / 4;
    cv_bc bitcode;

    set_word(at, words + 1);
    ck_assert_int_eq(read_all(&bitcode), CUVET_E_MALFORMED);
    expect_finding("module", CV_R_BC_BLOCK, BASE + at + 4, words * 4 + 4, words * 4);
    setup();
    at = build(plain);
    set_word(at, 0xFFFFFFFF);
    ck_assert_int_eq(read_all(&bitcode), CUVET_E_MALFORMED);
    expect_finding("module of 16 GiB", CV_R_BC_BLOCK, BASE + at + 4, UINT64_C(0x3FFFFFFFC), words * 4);
    setup();
    at = build(plain);
    set_word(at + 12, 0x100); /* of the block in it */
    ck_assert_int_eq(read_all(&bitcode), CUVET_E_MALFORMED);
    ck_assert_uint_eq(first.rule, CV_R_BC_BLOCK);
    ck_assert_uint_eq(first.file_off, BASE + at + 16);
    ck_assert_uint_eq(first.got, 0x400);
}
END_TEST

static void width_of_40(void)
{
    (void)enter(3, 17, 40);
}

static void no_definition(void)
{
    fixed(4, 3);
}

static void endless_number(void)
{
    fixed(3, 3);
    for (unsigned i = 0; i < 100; i++)
        fixed(0xFFFFFFFF, 32);
}

static void too_many_definitions(void)
{
    for (unsigned i = 0; i < 40; i++) {
        fixed(2, 3);
        vbr(1, 5);
        fixed(1, 1), vbr(2, 8);
    }
    put_triple(3, "nvptx");
}

static void array_of_arrays(void)
{
    fixed(2, 3);
    vbr(2, 5);
    fixed(0, 1), fixed(3, 3);
    fixed(0, 1), fixed(3, 3);
    fixed(4, 3);
    vbr(3, 6);
}

static void wide_number(void)
{
    fixed(2, 3);
    vbr(1, 5);
    fixed(0, 1), fixed(1, 3), vbr(33, 5);
    fixed(4, 3);
}

static void endless_blob(void)
{
    fixed(2, 3);
    vbr(2, 5);
    fixed(1, 1), vbr(9, 8);
    fixed(0, 1), fixed(5, 3);
    fixed(4, 3);
    vbr(UINT64_MAX, 6);
    put_triple(3, "nvptx");
}

static void nothing_a_million_times(void)
{
    fixed(2, 3);
    vbr(2, 5);
    fixed(0, 1), fixed(3, 3);
    fixed(1, 1), vbr(0, 8);
    fixed(4, 3);
    vbr(0xFFFFFFFF, 6);
    put_triple(3, "nvptx");
}

/* What cannot be read is no finding of the reader's: nothing is known then. */
START_TEST(unreadable)
{
    static void (*const FILL[])(
        void) = { width_of_40,     no_definition, endless_number,          too_many_definitions,
                  array_of_arrays, wide_number,   nothing_a_million_times, endless_blob };

    for (size_t i = 0; i < sizeof(FILL) / sizeof(FILL[0]); i++) {
        cv_bc bitcode;

        setup();
        (void)build(FILL[i]);
        ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
        ck_assert_uint_eq(bitcode.n_triple, 0);
        ck_assert_uint_eq(n_diags, 0);
        teardown();
    }
    setup();
}
END_TEST

/* With a part of the object: either more is asked for, or nothing is missing. */
START_TEST(every_prefix)
{
    uint64_t size, found_at = 0;
    bool cut;

    (void)build(plain);
    size = n_bits / 8;
    for (uint64_t count = 4; count <= size; count++) {
        cv_bc bitcode;

        setup();
        ck_assert_int_eq(cv_bc_read(&the_ctx, cv_span_of(bytes, count, BASE), size, &bitcode), CUVET_OK);
        ck_assert_uint_eq(n_diags, 0);
        ck_assert(bitcode.n_triple == 19 ? bitcode.more == 0 : bitcode.more > count && bitcode.more <= size);
        if (bitcode.n_triple && !found_at)
            found_at = count;
        /* … and a file that ends there is cut off, or its module was not reached. */
        cut = (count >= 12 && count < 16) || (count >= 24 && count < size);
        ck_assert_int_eq(cv_bc_read(&the_ctx, cv_span_of(bytes, count, BASE), count, &bitcode),
                         cut ? CUVET_E_MALFORMED : CUVET_OK);
        ck_assert_uint_eq(bitcode.more, 0);
        ck_assert_uint_eq(n_diags, cut);
        ck_assert(!cut || first.rule == CV_R_BC_BLOCK);
        teardown();
    }
    ck_assert(found_at && found_at < size);
    setup();
}
END_TEST

START_TEST(every_byte)
{
    static const uint8_t VALUES[] = { 0, 1, 0x7F, 0x80, 0xFF };

    for (unsigned which = 0; which < 2; which++) {
        uint64_t size;

        (void)build(which ? forms : plain);
        size = n_bits / 8;
        for (uint64_t at = 4; at < size; at++) {
            for (size_t value = 0; value < sizeof(VALUES); value++) {
                uint8_t old = bytes[at];
                cuvet_status status;
                cv_bc bitcode;

                setup();
                bytes[at] = VALUES[value];
                status = read_all(&bitcode);
                bytes[at] = old;
                ck_assert(status == CUVET_OK ? n_diags == 0 : status == CUVET_E_MALFORMED && n_diags == 1);
                ck_assert(bitcode.next <= bitcode.end && bitcode.end <= size &&
                          bitcode.n_triple <= CV_BC_TRIPLE_MAX);
                teardown();
            }
        }
    }
    setup();
}
END_TEST

static void no_definition_behind(void)
{
    put_triple(3, "x86_64-pc-linux-gnu");
    no_definition();
}

static void cuda_last(void)
{
    uint64_t at;

    put_triple(3, "x86_64-pc-linux-gnu");
    at = enter(3, 17, 4);
    for (unsigned i = 0; i < 64; i++)
        fixed(0xFFFFFFFF, 32);
    leave(at, 4);
    put_triple(3, "nvptx64-nvidia-cuda");
}

static void host_alone(void)
{
    put_triple(3, "x86_64-pc-linux-gnu");
    fixed(2, 3); /* 4: a code of 3 bits, an array of vbr 6 */
    vbr(3, 5);
    fixed(0, 1), fixed(1, 3), vbr(3, 5);
    fixed(0, 1), fixed(3, 3);
    fixed(0, 1), fixed(2, 3), vbr(6, 5);
    fixed(4, 3), fixed(7, 3), vbr(2, 6), vbr(5, 6), vbr(6, 6);
}

static void host_twice(void)
{
    host_alone();
    fixed(4, 3), fixed(2, 3), vbr(5, 6); /* through the definition, with letters whose low bits count */
    for (unsigned i = 0; i < 5; i++)
        vbr(0x100u * i + (uint8_t) "avr-x"[i], 6);
}

static void empty_last(void)
{
    put_triple(3, "x86_64-pc-linux-gnu");
    put_triple(3, "");
}

static void past_the_end(void)
{
    put_triple(3, "x86_64-pc-linux-gnu");
    (void)enter(3, 17, 4);
    set_word(n_bits / 8 - 4, 0x100);
}

/* The whole module counts, in whatever parts it is there. */
START_TEST(read_on)
{
    static const struct {
        void (*fill)(void);
        uint32_t triples;
        const char *last;
        bool others, whole;
    } ROWS[] = {
        { host_alone, 1, "x86_64-pc-linux-gnu", true, true },
        { cuda_last, 2, "nvptx64-nvidia-cuda", false, true },
        { plain, 2, "second", false, true },
        { host_twice, 2, "avr-x", true, true },
        { empty_last, 2, "", false, true },
        { no_definition_behind, 1, "x86_64-pc-linux-gnu", true, false },
    };
    const uint64_t PARTS[] = { 1, 40, 100, 4096 };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]) * 4; i++) {
        uint64_t size, len = PARTS[i % 4], at = 0;
        cv_bc bitcode;

        setup();
        (void)build(ROWS[i / 4].fill);
        size = n_bits / 8;
        ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
        ck_assert(!bitcode.whole && bitcode.at != 0);
        while (!bitcode.whole && bitcode.at != at && bitcode.at / 8 < size) {
            uint64_t begin_at = (at = bitcode.at) / 8;
            cv_span part = cv_span_of(bytes + begin_at, cv_min(len, size - begin_at), BASE + begin_at);

            ck_assert_int_eq(cv_bc_rest(&the_ctx, cv_span_of(bytes, size, BASE), part, begin_at, &bitcode),
                             CUVET_OK);
            ck_assert(bitcode.at == at || bitcode.at > at);
        }
        ck_assert(len > 1 || !bitcode.whole); /* no record fits a byte */
        if (len == 4096) {
            ck_assert_uint_eq(bitcode.n_triples, ROWS[i / 4].triples);
            ck_assert_uint_eq(bitcode.n_triple, strlen(ROWS[i / 4].last));
            ck_assert_mem_eq(bitcode.triple, ROWS[i / 4].last, strlen(ROWS[i / 4].last));
            ck_assert(bitcode.others == ROWS[i / 4].others && bitcode.whole == ROWS[i / 4].whole);
        } else if (len == 100 && bitcode.whole) {
            ck_assert_uint_eq(bitcode.n_triples, ROWS[i / 4].triples);
        }
        ck_assert_uint_eq(n_diags, 0);
        teardown();
    }
    setup();
    {
        cv_bc bitcode;
        uint64_t at;

        (void)build(past_the_end);
        ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
        at = bitcode.at / 8;
        ck_assert_int_eq(cv_bc_rest(&the_ctx, cv_span_of(bytes, n_bits / 8, BASE),
                                    cv_span_of(bytes + at, n_bits / 8 - at, BASE + at), at, &bitcode),
                         CUVET_E_MALFORMED);
        ck_assert_uint_lt(first.file_off, BASE + n_bits / 8);
        ck_assert_uint_gt(first.file_off, BASE + at);
        ck_assert_uint_eq(first.rule, CV_R_BC_BLOCK);
        ck_assert(!bitcode.whole);
    }
}
END_TEST

/* Of a wrapped file only the wrapper: where its contents are is known, and more is asked for. */
START_TEST(wrapper_alone)
{
    cv_bc bitcode;

    begin();
    set_word(0, CV_BC_WRAPPER_MAGIC);
    set_word(8, CV_BC_WRAPPER);
    set_word(12, 100);
    ck_assert_int_eq(
        cv_bc_read(&the_ctx, cv_span_of(bytes, CV_BC_WRAPPER, BASE), CV_BC_WRAPPER + 100, &bitcode),
        CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_uint_eq(bitcode.off, CV_BC_WRAPPER);
    ck_assert_uint_eq(bitcode.end, CV_BC_WRAPPER + 100);
    ck_assert_uint_eq(bitcode.n_triple, 0);
    ck_assert_uint_gt(bitcode.more, CV_BC_WRAPPER);
}
END_TEST

START_TEST(machines)
{
    static const struct {
        const char *triple;
        cv_bc_machine want;
    } ROWS[] = {
        { "nvptx64-nvidia-cuda", CV_BC_CUDA },
        { "nvptx64-nvidia-gpulibs", CV_BC_CUDA },
        { "nvptx", CV_BC_CUDA },
        { "amdgcn-amd-amdhsa", CV_BC_OTHER },
        { "x86_64-pc-linux-gnu", CV_BC_OTHER },
        { "x86_64", CV_BC_OTHER },
        { "x86_6", CV_BC_UNKNOWN },
        { "nvptx65-nvidia-cuda", CV_BC_UNKNOWN },
        { "", CV_BC_UNKNOWN },
        { "-nvptx", CV_BC_UNKNOWN },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
        ck_assert_int_eq(cv_bc_machine_of(cv_span_of(ROWS[i].triple, strlen(ROWS[i].triple), 0)),
                         ROWS[i].want);
}
END_TEST

START_TEST(outer_blocks)
{
    uint64_t at, size = 0;
    bool module = true;
    cv_bc bitcode;

    (void)build(plain);
    ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
    ck_assert(cv_bc_block(cv_span_of(bytes + 4, 12, 0), &module, &size));
    ck_assert(!module && size == 12);
    ck_assert(cv_bc_block(cv_span_of(bytes + 16, 12, 0), &module, &size));
    ck_assert(module && 16 + size == bitcode.next && bitcode.next == n_bits / 8);
    for (at = 0; at < 8; at++)
        ck_assert(!cv_bc_block(cv_span_of(bytes + 16, at, 0), &module, &size));
    ck_assert(!cv_bc_block(cv_span_of("\0\0\0\0\0\0\0\0\0\0\0", 12, 0), &module, &size));
    ck_assert_int_eq(cv_bc_probe(cv_span_of(bytes, 4, 0)), CV_BC_PLAIN);
    ck_assert_int_eq(cv_bc_probe(cv_span_of(bytes, 3, 0)), CV_BC_NONE);
    ck_assert_int_eq(cv_bc_probe(triple_of(&bitcode)), CV_BC_NONE);
}
END_TEST

Suite *suite_format_bitcode(void);
Suite *suite_format_bitcode(void)
{
    Suite *suite = suite_create("format/bitcode");
    TCase *tcase = tcase_create("bitcode");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, found);
    tcase_add_test(tcase, wrapped);
    tcase_add_test(tcase, blocks_fit);
    tcase_add_test(tcase, unreadable);
    tcase_add_test(tcase, every_prefix);
    tcase_add_test(tcase, every_byte);
    tcase_add_test(tcase, read_on);
    tcase_add_test(tcase, wrapper_alone);
    tcase_add_test(tcase, machines);
    tcase_add_test(tcase, outer_blocks);
    suite_add_tcase(suite, tcase);
    return suite;
}
