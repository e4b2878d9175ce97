/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A context that keeps what its objects gave back. */
#include <stdlib.h>

#include "link_fixture.h"

#define LARGE ((size_t)1 << 16)

/* Blocks that are not small, and bytes that are out. */
typedef struct counted {
    unsigned large;
    size_t live;
} counted;

static void *counted_get(void *user, size_t size)
{
    counted *count = user;

    count->large += size >= LARGE;
    count->live += size;
    return malloc(size);
}

static void *counted_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    counted *count = user;

    count->large += new_size >= LARGE;
    count->live += new_size - old_size;
    return realloc(block, new_size);
}

static void counted_put(void *user, void *block, size_t size)
{
    counted *count = user;

    count->live -= size;
    free(block);
}

/* A link of what is good, behind something large that is not; the result is in 'out'. */
static void link_once(cuvet_ctx *ctx, lc_object *out)
{
    static const uint8_t BAD[2 * LARGE];
    const lc_case *lcase = lc_find("samplers", "sm_90");
    cuvet_linker_options options = lc_options("sm_90");
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_linker linker;

    ck_assert_int_eq(cuvet_linker_create(ctx, &options, &linker), CUVET_OK);
    ck_assert_int_ne(cuvet_linker_add(ctx, linker, BAD, sizeof(BAD), "bad"), CUVET_OK);
    for (unsigned i = 0; i < lcase->count; i++) {
        lc_load(out, lcase->input[i]);
        ck_assert_int_eq(cuvet_linker_add(ctx, linker, out->bytes, out->size, "good"), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_linker_complete(ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(ctx, linker, &result), CUVET_OK);
    ck_assert_uint_le(result.n, sizeof(out->bytes));
    memcpy(out->bytes, result.bytes, result.n);
    out->size = result.n;
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &linker), CUVET_OK);
}

START_TEST(the_second_link_asks_for_no_large_block)
{
    static lc_object first, second;
    counted count = { 0 };
    const cuvet_alloc alloc = { sizeof(alloc), counted_get, counted_resize, counted_put, &count };
    cuvet_ctx_options options = { .size = sizeof(options),
                                  .alloc = &alloc,
                                  .flags = _i % 2 ? CUVET_CTX_HUGE_PAGES : 0 };
    bool kept = _i / 2;
    cuvet_ctx *ctx;
    unsigned large;

    options.keep = kept ? UINT64_C(16) << 20 : 0;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    link_once(ctx, &first);
    large = count.large;
    ck_assert_uint_gt(large, 0);
    link_once(ctx, &second);
    ck_assert_uint_eq(count.large, kept ? large : 2 * large);
    ck_assert_uint_eq(first.size, second.size);
    ck_assert_mem_eq(first.bytes, second.bytes, first.size);
    cuvet_ctx_destroy(ctx);
    ck_assert_uint_eq(count.live, 0);
}
END_TEST

START_TEST(flags_that_there_are)
{
    cuvet_ctx_options options = { .size = sizeof(options), .flags = 2 };
    cuvet_ctx *ctx = NULL;

    for (; options.flags; options.flags *= 2)
        ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_E_USAGE);
    /* who was built before there were any */
    options = (cuvet_ctx_options){ .size = offsetof(cuvet_ctx_options, keep), .keep = 1, .flags = 2 };
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    cuvet_ctx_destroy(ctx);
}
END_TEST

Suite *suite_ctx_keep(void);
Suite *suite_ctx_keep(void)
{
    Suite *suite = suite_create("ctx keep");
    TCase *tcase = tcase_create("keep");

    tcase_add_loop_test(tcase, the_second_link_asks_for_no_large_block, 0, 4);
    tcase_add_test(tcase, flags_that_there_are);
    suite_add_tcase(suite, tcase);
    return suite;
}
