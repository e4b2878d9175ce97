/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What follows the first triple of a module, in parts, with definitions that are not there in whole. */
#include <check.h>

#include "bits.h"

/* A triple, then each form of a definition, and records that use them. */
static void definitions_behind(void)
{
    put_triple(3, "x86_64-pc-linux-gnu");
    forms();
}

/* However little of the beginning is there, or of the part at hand: the answer is the whole one, or none. */
START_TEST(definitions_cut)
{
    uint64_t size, at, whole = 0, cut = 0;

    (void)build(definitions_behind);
    size = n_bits / 8;
    for (uint64_t head = 0; head <= size; head++) {
        for (uint64_t len = 0; len <= size; len++) {
            cv_bc bitcode;

            setup();
            ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
            at = bitcode.at / 8;
            for (unsigned parts = 0; parts < 30 && !bitcode.whole && bitcode.at / 8 < size; parts++) {
                uint64_t from = bitcode.at / 8;

                ck_assert_int_eq(cv_bc_rest(&the_ctx, cv_span_of(bytes, head, BASE),
                                            cv_span_of(bytes + from, cv_min(len, size - from), BASE + from),
                                            from, &bitcode),
                                 CUVET_OK);
            }
            ck_assert_uint_eq(n_diags, 0);
            ck_assert_uint_ge(bitcode.at / 8, at);
            if (bitcode.whole) {
                ck_assert_uint_eq(bitcode.n_triples, 2);
                ck_assert_uint_eq(bitcode.n_triple, 5);
                ck_assert_mem_eq(bitcode.triple, "nvptx", 5);
            }
            ck_assert(bitcode.whole || head < size || len < size - at);
            whole += bitcode.whole;
            cut += !bitcode.whole;
            teardown();
        }
    }
    ck_assert(whole > 0 && cut > 0);
    setup();
}
END_TEST

/* A part that begins behind the place says nothing, and loses nothing. */
START_TEST(part_behind)
{
    cv_bc bitcode;
    uint64_t at;

    (void)build(definitions_behind);
    ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
    at = bitcode.at;
    ck_assert_int_eq(cv_bc_rest(&the_ctx, cv_span_of(bytes, n_bits / 8, BASE),
                                cv_span_of(bytes + at / 8 + 1, n_bits / 8 - at / 8 - 1, BASE), at / 8 + 1,
                                &bitcode),
                     CUVET_OK);
    ck_assert(!bitcode.whole && bitcode.at == at && bitcode.n_triples == 1 && n_diags == 0);
}
END_TEST

static void idle_behind(void)
{
    put_triple(3, "x86_64-pc-linux-gnu");
    fixed(2, 3); /* an array of literals: a thousand values, no bit of data */
    vbr(2, 5);
    fixed(0, 1), fixed(3, 3);
    fixed(1, 1), vbr(0, 8);
    fixed(4, 3);
    vbr(1000, 6);
}

/* Values that cost no byte cost work. */
START_TEST(idle_work)
{
    for (uint64_t work = 249; work <= 250; work++) {
        cv_bc bitcode;
        uint64_t at;

        setup();
        (void)build(idle_behind);
        ck_assert_int_eq(read_all(&bitcode), CUVET_OK);
        at = bitcode.at / 8;
        cv_ctx_set_work(&the_ctx, work);
        ck_assert_int_eq(cv_bc_rest(&the_ctx, cv_span_of(bytes, n_bits / 8, BASE),
                                    cv_span_of(bytes + at, n_bits / 8 - at, BASE + at), at, &bitcode),
                         work < 250 ? CUVET_E_LIMIT : CUVET_OK);
        ck_assert_int_eq(bitcode.whole, work == 250);
        ck_assert_uint_eq(n_diags, work < 250);
        ck_assert(work == 250 || last.rule == CV_R_LIMIT_WORK);
        teardown();
    }
    setup();
}
END_TEST

Suite *suite_format_bitcode_rest(void);
Suite *suite_format_bitcode_rest(void)
{
    Suite *suite = suite_create("format/bitcode rest");
    TCase *tcase = tcase_create("rest");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, definitions_cut);
    tcase_add_test(tcase, part_behind);
    tcase_add_test(tcase, idle_work);
    suite_add_tcase(suite, tcase);
    return suite;
}
