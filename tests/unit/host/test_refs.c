/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who decides that kernels may be left out: host code that says what it refers to, all of it, and names
 * something. The library of the system has a list of its own kernels, which says nothing about those of the
 * program. */
#include <check.h>

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

Suite *suite_refs(void);
Suite *suite_refs(void)
{
    Suite *suite = suite_create("host/refs");
    TCase *tcase = tcase_create("refs");

    tcase_add_test(tcase, who_tells);
    suite_add_tcase(suite, tcase);
    return suite;
}
