/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bitcode as a file: how far its triple is looked for, and how many blocks may follow a module. */
#include <check.h>
#include <stdlib.h>

#include "intake/kind_code.h"
#include "unit/intake/made_files.h"

static cv_ctx ctx;

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    cv_ctx_unit(&ctx, CV_GIB);
}

/* Length of the triple that is found in it. */
static uint64_t read_bitcode(const uint8_t *bytes, uint64_t size)
{
    cuvet_source src = { .size = sizeof(src) };
    cv_block head = { 0 }, tmp = { 0 };
    cv_window window = { 0 };
    cv_u8s triple = { 0 };
    cv_ir ir = { &ctx, &head, &tmp, &window, &src, 0, size, false };
    uint64_t count;

    ck_assert_int_eq(cuvet_source_memory(bytes, size, &src), CUVET_OK);
    ck_assert_int_eq(cv_ir_bitcode(&ir, &ctx.mem, &triple), CUVET_OK);
    count = triple.count;
    cv_u8s_free(&ctx.mem, &triple);
    cv_block_free(&ctx, &head);
    cv_block_free(&ctx, &tmp);
    cv_window_free(&ctx, &window);
    ck_assert_uint_eq(ctx.mem.live, 0);
    return count;
}

/* Names and symbols follow a module; of more blocks nobody says what they are for. */
START_TEST(blocks_behind)
{
    static uint8_t bytes[4096];

    for (unsigned behind = 0; behind < 12; behind++) {
        size_t size;

        setup();
        memset(bytes, 0, sizeof(bytes));
        made_bitcode(bytes, sizeof(bytes), (made_module){ .block = 64, .behind = behind }, &size);
        ck_assert_uint_eq(read_bitcode(bytes, size), 19);
        ck_assert_msg(ctx.seen[CV_R_BC_OTHER_MACHINE] == (behind <= 8), "%u", behind);
        ck_assert_uint_eq(ctx.seen[CV_R_BC_OPAQUE], behind > 8);
    }
}
END_TEST

/* The triple is looked for in the first 16 MiB. */
START_TEST(far_triple)
{
    static const uint64_t BLOCKS[] = { 80 * CV_KIB, 15 * CV_MIB, 17 * CV_MIB };

    for (size_t i = 0; i < CV_COUNT(BLOCKS); i++) {
        uint64_t room = BLOCKS[i] + 4096;
        uint8_t *bytes = calloc(1, room);
        bool found = BLOCKS[i] < 16 * CV_MIB;
        size_t size;

        setup();
        ck_assert_ptr_nonnull(bytes);
        made_bitcode(bytes, room, (made_module){ .block = BLOCKS[i], .behind = 2 }, &size);
        ck_assert_uint_eq(read_bitcode(bytes, size), found ? 19 : 0);
        ck_assert_uint_eq(ctx.seen[CV_R_BC_STREAM], !found);
        ck_assert_uint_eq(ctx.seen[CV_R_BC_OTHER_MACHINE], found);
        free(bytes);
    }
}
END_TEST

/* Behind the triple a record may be longer than what is read at a time, up to 2 MiB: of a module that cannot
 * be read to its end nobody says for which machine it is. */
START_TEST(long_records)
{
    static const uint64_t VALUES[] = { 10, 100000, 2000000, 3000000 };

    for (size_t i = 0; i < CV_COUNT(VALUES); i++) {
        uint64_t room = VALUES[i] + 4096;
        uint8_t *bytes = calloc(1, room);
        bool whole = VALUES[i] * 6 / 8 < 2 * CV_MIB;
        size_t size;

        setup();
        ck_assert_ptr_nonnull(bytes);
        made_bitcode(bytes, room, (made_module){ .values = VALUES[i], .behind = 1 }, &size);
        ck_assert_uint_eq(read_bitcode(bytes, size), 19);
        ck_assert_uint_eq(ctx.seen[CV_R_BC_OTHER_MACHINE], whole);
        ck_assert_uint_eq(ctx.seen[CV_R_BC_OPAQUE], !whole);
        free(bytes);
    }
}
END_TEST

Suite *suite_kind_code(void);
Suite *suite_kind_code(void)
{
    Suite *suite = suite_create("intake/kind_code");
    TCase *tcase = tcase_create("kind_code");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, blocks_behind);
    tcase_add_test(tcase, far_triple);
    tcase_add_test(tcase, long_records);
    suite_add_tcase(suite, tcase);
    return suite;
}
