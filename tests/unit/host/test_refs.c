/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who decides that kernels may be left out: host code that says what it refers to, all of it, and names
 * something. The library of the system has a list of its own kernels, which says nothing about those of the
 * program. And which kernels a reference means. */
#include <check.h>
#include <string.h>

#include "host/refs.h"

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

Suite *suite_refs(void);
Suite *suite_refs(void)
{
    Suite *suite = suite_create("host/refs");
    TCase *tcase = tcase_create("refs");

    tcase_add_test(tcase, who_tells);
    tcase_add_test(tcase, patterns);
    suite_add_tcase(suite, tcase);
    return suite;
}
