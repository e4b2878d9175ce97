/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a selection does not go beyond: limits of bytes, members and costs, places that no tool reads, broken
 * code. */
#include "input_fixture.h"

/* A context with limits of its own, and an input of it in *in; the fixture's is replaced. */
static void limit_to(const cuvet_limits *limits, const char *target, cuvet_select *in)
{
    const cuvet_ctx_options options = { .size = sizeof(options), .limits = limits, .diag = on_diag };

    cuvet_ctx_destroy(ctx);
    n_said = 0;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    *in = make_for(target);
}

static cuvet_limits narrow_limits(void)
{
    cuvet_limits limits = { .size = sizeof(limits) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &limits), CUVET_OK);
    return limits;
}

/* As many members as the limit says are listed, and not one more. */
START_TEST(members_up_to_the_limit)
{
    static const char *const MEMBERS[] = { "sm_75", "sm_75 sm_80", "sm_75 sm_80 sm_90" };
    cuvet_limits limits = narrow_limits();
    cuvet_select in;

    limits.candidates = 2;
    limit_to(&limits, "sm_75", &in);
    fb_make(&bin, MEMBERS[_i]);
    ck_assert_int_eq(bind_bin(in), _i < 2 ? CUVET_OK : CUVET_E_LIMIT);
    ck_assert_uint_eq(was_said("CV-LIMIT-019"), _i == 2);
    ck_assert_uint_eq(candidates(in), _i < 2 ? (uint64_t)_i + 1 : 0);
    end(in);
}
END_TEST

/* The same for bytes, whoever keeps them. */
START_TEST(bytes_up_to_the_limit)
{
    cuvet_limits limits = narrow_limits();
    cuvet_select in;

    fb_make(&bin, "sm_75");
    for (unsigned copy = 0; copy < 2; copy++) {
        for (unsigned over = 0; over < 2; over++) {
            limits.input = bin.size - over;
            limit_to(&limits, "sm_75", &in);
            ck_assert_int_eq(cuvet_select_bind(ctx, in, bin.bytes, bin.size,
                                               copy ? CUVET_BIND_COPY : CUVET_BIND_BORROW, NULL),
                             over ? CUVET_E_LIMIT : CUVET_OK);
            ck_assert_uint_eq(was_said("CV-LIMIT-001"), over);
            end(in);
        }
    }
}
END_TEST

/* What is above the limit is not copied first. */
START_TEST(too_much_is_not_kept)
{
    cuvet_limits limits = narrow_limits();
    cuvet_select in;

    limits.input = FATBIN_MAX - 1;
    limits.live = FATBIN_MAX / 2;
    limit_to(&limits, "sm_75", &in);
    ck_assert_int_eq(cuvet_select_bind(ctx, in, bin.bytes, FATBIN_MAX, CUVET_BIND_COPY, NULL), CUVET_E_LIMIT);
    ck_assert(n_said == 1 && was_said("CV-LIMIT-001"));
    end(in);
}
END_TEST

static size_t put_archive(uint8_t *to, size_t size)
{
    static const char MAGIC[] = "!<arch>\n";

    memcpy(to, MAGIC, sizeof(MAGIC) - 1);
    return sizeof(MAGIC) - 1 + size;
}

static size_t put_file(uint8_t *to, const char *name, const void *front, size_t n_front, const void *bytes,
                       size_t size)
{
    char head[61];

    (void)snprintf(head, sizeof(head), "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644,
                   n_front + size);
    memcpy(to, head, 60);
    memcpy(to + 60, front, n_front);
    memcpy(to + 60 + n_front, bytes, size);
    to[60 + n_front + size] = '\n';
    return (60 + n_front + size + 1) / 2 * 2;
}

/* A fat binary somewhere in a file of text is no candidate: no tool would look for it there. */
START_TEST(code_among_other_bytes)
{
    static const char TEXT[] = "Read me first.\n\n";
    static uint8_t archive[FATBIN_MAX];
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    cuvet_select in = make_for("sm_75");
    size_t size;

    fb_make(&bin, "sm_75");
    size = put_archive(archive, put_file(archive + 8, "text/", TEXT, sizeof(TEXT) - 1, bin.bytes, bin.size));
    ck_assert_int_eq(cuvet_select_bind(ctx, in, archive, size, CUVET_BIND_BORROW, NULL), CUVET_E_REFUSED);
    ck_assert(was_said("CV-INPUT-013") && was_said("CV-INPUT-008"));
    ck_assert_uint_eq(candidates(in), 0);
    end(in);
    n_said = 0;
    in = make_for("sm_75");
    size = put_archive(archive, put_file(archive + 8, "code/", "", 0, bin.bytes, bin.size));
    ck_assert_int_eq(cuvet_select_bind(ctx, in, archive, size, CUVET_BIND_BORROW, NULL), CUVET_OK);
    ck_assert(!was_said("CV-INPUT-013") && candidates(in) == 1);
    ck_assert_int_eq(cuvet_select_get_candidate(ctx, in, 0, &candidate), CUVET_OK);
    ck_assert_uint_eq(candidate.container_off, 68);
    end(in);
}
END_TEST

/* Code that is broken is not given out, whether it lies in a container or is all there is. */
START_TEST(broken_code)
{
    static uint8_t broken[1 << 17];
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_select in = make_for("sm_90");
    size_t count;
    const uint8_t *bytes = sample("plain.sm_90.rdc.cubin", &count, 0);

    ck_assert_uint_lt(count, sizeof(broken));
    memcpy(broken, bytes, count);
    broken[15] = 1; /* of the padding in e_ident */
    if (_i == 0) {
        ck_assert_int_eq(cuvet_select_bind(ctx, in, broken, count, CUVET_BIND_COPY, NULL), CUVET_OK);
    } else {
        bin.size = 0;
        fb_begin(&bin);
        fb_bytes(&bin, 2, 90, 0, broken, count);
        fb_member(&bin, "sm_90"); /* no other member takes its place */
        fb_end(&bin);
        ck_assert_int_eq(bind_bin(in), CUVET_OK);
    }
    ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_E_MALFORMED);
    ck_assert(was_said("CV-ELF-007"));
    ck_assert_int_eq(state(in), CUVET_SELECT_FAILED);
    ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_E_STATE);
    ck_assert(result.bytes == NULL && result.n == 0);
    end(in);
}
END_TEST

/* What the members of an archive unpack is paid by the archive: each fits, both together do not. */
START_TEST(one_budget_for_all_that_is_chosen)
{
    enum { UNPACKED = 3696 }; /* bytes of the code for sm_90a */
    static uint8_t archive[1 << 15];
    const cuvet_linker_options options = { .size = sizeof(options), .target = { 90, 'a' } };
    cuvet_limits limits = narrow_limits();
    cuvet_linker linker;
    cuvet_select in;
    size_t count, size;
    const uint8_t *bytes = sample("multi-lz4.fatbin", &count, 0);

    ck_assert_uint_lt(2 * (60 + count) + 16, sizeof(archive));
    size = put_file(archive + 8, "a.fatbin/", "", 0, bytes, count);
    size += put_file(archive + 8 + size, "b.fatbin/", "", 0, bytes, count);
    size = put_archive(archive, size);
    limits.budget_ratio = 0;
    limits.budget =
        _i < 2 ? (uint64_t)UNPACKED - 1 + (uint64_t)_i : (uint64_t)2 * UNPACKED - 3 + (uint64_t)_i;
    limit_to(&limits, "sm_90a", &in);
    end(in);
    ck_assert_int_eq(cuvet_linker_create(ctx, &options, &linker), CUVET_OK);
    ck_assert_int_ne(cuvet_linker_add_memory(ctx, linker, archive, size, "x.a", NULL), CUVET_OK);
    count = 0;
    for (unsigned i = 0; i < n_said; i++)
        count += strcmp(said[i].id, "CV-LIMIT-020") == 0;
    ck_assert_uint_eq(count, 2 - limits.budget / UNPACKED);
    ck_assert_int_eq(cuvet_linker_destroy(ctx, &linker), CUVET_OK);
}
END_TEST

Suite *suite_input_bounds(void);
Suite *suite_input_bounds(void)
{
    Suite *suite = suite_create("input bounds");
    TCase *tcase = tcase_create("input bounds");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, members_up_to_the_limit, 0, 3);
    tcase_add_test(tcase, bytes_up_to_the_limit);
    tcase_add_test(tcase, too_much_is_not_kept);
    tcase_add_test(tcase, code_among_other_bytes);
    tcase_add_loop_test(tcase, broken_code, 0, 2);
    tcase_add_loop_test(tcase, one_budget_for_all_that_is_chosen, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}
