/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who decides that kernels may be left out: host code that says what it refers to, all of it, and names
 * something. The library of the system has a list of its own kernels, which says nothing about those of the
 * program. And which kernels a reference means. */
#include <check.h>
#include <string.h>

#include "host/refs.h"
#include "support/heap.h"

START_TEST(who_tells)
{
    static const struct {
        cv_lhost program, system;
        bool told;
    } ROWS[] = {
        { { .object = true, .lists = true, .n_refs = 1 },
          { .object = true, .lists = true, .of_system = true },
          true },
        { { .object = true, .lists = true },
          { .object = true, .lists = true, .of_system = true, .n_refs = 1 },
          false },
        { { .object = true, .lists = true, .n_refs = 1 },
          { .object = true, .lists = true, .of_system = true, .n_refs = 1 },
          true },
        { { .object = true, .lists = true }, { .object = true, .lists = true, .n_refs = 1 }, true },
        { { .object = true, .lists = true, .n_refs = 1 }, { .object = true, .of_system = true }, false },
        { { .object = true, .lists = true, .n_refs = 1 }, { .of_system = true }, true },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cv_hosts hosts;
        cv_mem mem;
        bool told;

        cv_mem_init(&mem, NULL, CV_MIB);
        cv_hosts_init(&hosts, 1, 2);
        ck_assert(cv_lhosts_push(&mem, &hosts.host, ROWS[i].program));
        ck_assert(cv_lhosts_push(&mem, &hosts.host, ROWS[i].system));
        ck_assert(cv_u32s_push(&mem, &hosts.kernel, 0));
        told = cv_hosts_tell_kernels(&hosts);
        cv_hosts_free(&mem, &hosts);
        ck_assert_msg(told == ROWS[i].told, "row %u", (unsigned)i);
    }
}
END_TEST

/* '*' is any text, and everything else is itself: a pattern is matched as a whole. */
START_TEST(patterns)
{
    static const struct {
        const char *pattern, *name;
        bool meant;
    } ROWS[] = {
        { "kernel", "kernel", true },  { "kernel", "kerne", false },    { "kernel", "kernels", false },
        { "kern*", "kern", true },     { "kern*", "kernel", true },     { "kern*l", "kern", false },
        { "kern**", "kern", true },    { "kern**l", "kern", false },    { "*nel", "kernel", true },
        { "*nel", "kerne", false },    { "*e*e*", "kernel", true },     { "*e*e*e", "kernel", false },
        { "*", "kernel", true },       { "*l*x", "kernel", false },     { "k*n*ls", "kernel", false },
        { "?ernel", "kernel", false }, { "k*rnel", "kernel", true },    { "kernel*", "kernel", true },
        { "k*el", "kernelel", true },  { "kernel*x", "kernel", false },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cuvet_limits lim = { .size = sizeof(lim) };
        cv_hosts hosts;
        cv_ctx ctx;
        cv_id ref;
        bool meant;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        cv_ctx_init(&ctx, NULL, &lim);
        cv_ctx_unit(&ctx, CV_KIB);
        cv_hosts_init(&hosts, 1, 2);
        ref = cv_names_put(&ctx.mem, &hosts.ref, cv_span_of(ROWS[i].pattern, strlen(ROWS[i].pattern), 0));
        ck_assert(ref != CV_NONE && cv_u32s_push(&ctx.mem, &hosts.used, ref));
        ck_assert(cv_lhosts_push(&ctx.mem, &hosts.host, (cv_lhost){ .n_refs = 1 }));
        ck_assert_int_eq(cv_hosts_settle(&ctx, &hosts, false), CUVET_OK);
        ck_assert_int_eq(
            cv_hosts_refer(&ctx, &hosts, cv_span_of(ROWS[i].name, strlen(ROWS[i].name), 0), &meant),
            CUVET_OK);
        cv_hosts_free(&ctx.mem, &hosts);
        ck_assert_msg(meant == ROWS[i].meant, "%s, %s", ROWS[i].pattern, ROWS[i].name);
    }
}
END_TEST

/* ---- more than one reference ---- */

enum { MOST_REFS = 4 };

static void open_ctx(cv_ctx *ctx)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(ctx, NULL, &lim);
    cv_ctx_unit(ctx, CV_KIB);
}

/* One host object refers to them. */
static void put_refs(cv_ctx *ctx, cv_hosts *hosts, const char *const *refs, cv_lhost host)
{
    host.first_ref = hosts->used.count;
    for (; host.n_refs < MOST_REFS && refs[host.n_refs]; host.n_refs++) {
        const char *text = refs[host.n_refs];
        cv_id ref = cv_names_put(&ctx->mem, &hosts->ref, cv_span_of(text, strlen(text), 0));

        ck_assert(ref != CV_NONE && cv_u32s_push(&ctx->mem, &hosts->used, ref));
    }
    ck_assert(cv_lhosts_push(&ctx->mem, &hosts->host, host));
}

static const struct {
    const char *refs[MOST_REFS], *name;
    bool meant;
} SETS[] = {
    { { "ab", "abc", "a", NULL }, "abc", true },
    { { "ab", "abc", "a", NULL }, "ab", true },
    { { "abcd", "abc", "b", NULL }, "ab", false },
    { { "abc", "ab", "abc", NULL }, "abc", true },
    { { "*", "kern*", NULL, NULL }, "kernel", true },
    { { "*x", "*nel", NULL, NULL }, "kernel", true },
    { { "*", "*nel", NULL, NULL }, "kernel", true },
    { { "*x", "*y", "kern*", "kernels" }, "kernel", true },
    { { "*x", "*y", "kern*x", "kernels" }, "kernel", false },
    { { NULL, NULL, NULL, NULL }, "kernel", false },
};

/* However they are sorted, and however one is the beginning of another: a name that one of them means is
 * found. With less work than that takes there is a limit, and no answer. */
START_TEST(sets)
{
    cv_span name = cv_span_of(SETS[_i].name, strlen(SETS[_i].name), 0);
    cuvet_status status = CUVET_E_LIMIT;

    for (uint64_t work = 0; status != CUVET_OK; work++) {
        cv_hosts hosts;
        cv_ctx ctx;
        bool meant;

        open_ctx(&ctx);
        cv_hosts_init(&hosts, 1, 2);
        put_refs(&ctx, &hosts, SETS[_i].refs, (cv_lhost){ .object = true, .lists = true });
        ck_assert_int_eq(cv_hosts_settle(&ctx, &hosts, false), CUVET_OK);
        ck_assert(cv_hosts_tell_kernels(&hosts) == (SETS[_i].refs[0] != NULL));
        cv_ctx_set_work(&ctx, work);
        status = cv_hosts_refer(&ctx, &hosts, name, &meant);
        ck_assert(status == CUVET_OK || status == CUVET_E_LIMIT);
        ck_assert_msg(meant == (status == CUVET_OK && SETS[_i].meant), "%llu", (unsigned long long)work);
        cv_hosts_free(&ctx.mem, &hosts);
        ck_assert_uint_eq(ctx.mem.live, 0);
        ck_assert_uint_lt(work, 200);
    }
}
END_TEST

/* What a library of the system refers to counts when one takes part. */
START_TEST(of_a_system_library)
{
    static const char *const OWN[MOST_REFS] = { "own" }, *const SYSTEM[MOST_REFS] = { "system" };

    for (int libraries = 0; libraries < 2; libraries++) {
        cv_hosts hosts;
        cv_ctx ctx;
        bool own, system;

        open_ctx(&ctx);
        cv_hosts_init(&hosts, 1, 2);
        put_refs(&ctx, &hosts, OWN, (cv_lhost){ .object = true, .lists = true });
        put_refs(&ctx, &hosts, SYSTEM, (cv_lhost){ .object = true, .lists = true, .of_system = true });
        ck_assert_int_eq(cv_hosts_settle(&ctx, &hosts, libraries == 1), CUVET_OK);
        ck_assert_int_eq(cv_hosts_refer(&ctx, &hosts, cv_span_of("own", 3, 0), &own), CUVET_OK);
        ck_assert_int_eq(cv_hosts_refer(&ctx, &hosts, cv_span_of("system", 6, 0), &system), CUVET_OK);
        ck_assert(own && system == (libraries == 1));
        cv_hosts_free(&ctx.mem, &hosts);
    }
}
END_TEST

START_TEST(no_room_to_settle)
{
    static const char *const REFS[MOST_REFS] = { "a", "b*", "ab", "a" };
    cuvet_status status = CUVET_E_NOMEM;

    for (unsigned count = 1; status != CUVET_OK; count++) {
        heap_state heap = { 0 };
        cv_hosts hosts;
        cv_ctx ctx;

        open_ctx(&ctx);
        ctx.mem.alloc = heap_alloc(&heap);
        cv_hosts_init(&hosts, 1, 2);
        put_refs(&ctx, &hosts, REFS, (cv_lhost){ .object = true, .lists = true });
        heap_fail(&heap, count, _i != 0);
        status = cv_hosts_settle(&ctx, &hosts, false);
        ck_assert(status == CUVET_OK || (status == CUVET_E_NOMEM && heap.failed > 0));
        cv_hosts_free(&ctx.mem, &hosts);
        ck_assert_int_eq(heap.live, 0);
        ck_assert_uint_lt(count, 50);
    }
}
END_TEST

Suite *suite_refs(void);
Suite *suite_refs(void)
{
    Suite *suite = suite_create("host/refs");
    TCase *tcase = tcase_create("refs");

    tcase_add_test(tcase, who_tells);
    tcase_add_test(tcase, patterns);
    tcase_add_loop_test(tcase, sets, 0, (int)CV_COUNT(SETS));
    tcase_add_test(tcase, of_a_system_library);
    tcase_add_loop_test(tcase, no_room_to_settle, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
