/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A limit that is made tighter never turns a rejection into an acceptance: whatever is hostile under the
 * usual limits stays so under any, and whatever a limit stops is said to be stopped. */
#include <check.h>
#include <string.h>

#include "sweep.h"

static const uint64_t VALUES[] = { 0, 1, 2, 3, 64, 4096 };

static void one(const sample *s, const outcome *usual, const cuvet_limits *strict)
{
    const cuvet_limit_info *info;
    uint64_t was;

    for (size_t i = 0; cuvet_limits_get(strict, i, &info, &was) == CUVET_OK; i++) {
        for (size_t k = 0; k < sizeof(VALUES) / sizeof(VALUES[0]); k++) {
            cuvet_limits lim = *strict;
            outcome o;

            if (VALUES[k] >= was)
                continue;
            ck_assert_int_eq(cuvet_limits_set(&lim, info->name, VALUES[k]), CUVET_OK);
            o = sweep_scan(s->bytes, s->n, &lim, false);
            ck_assert_msg(o.status == CUVET_END || o.status == CUVET_E_LIMIT || o.status == CUVET_E_NOMEM,
                          "%s: %s=%lu: status %d", s->name, info->name, (unsigned long)VALUES[k], o.status);
            ck_assert_msg(usual->sum.verdict == CUVET_V_CLEAN || o.sum.verdict != CUVET_V_CLEAN,
                          "%s: %s=%lu turns a rejection into an acceptance", s->name, info->name,
                          (unsigned long)VALUES[k]);
            /* Fewer pieces only with a reason. */
            ck_assert_msg(o.sum.members + o.sum.images >= usual->sum.members + usual->sum.images ||
                              o.sum.verdict == CUVET_V_LIMIT || o.sum.verdict == CUVET_V_ERROR,
                          "%s: %s=%lu loses device code without a word", s->name, info->name,
                          (unsigned long)VALUES[k]);
        }
    }
}

static void all_of(const char *dir, size_t step)
{
    cuvet_limits strict;
    sample *s;
    size_t n = sweep_load(dir, NULL, &s);

    ck_assert_int_eq(cuvet_limits_preset("strict", &strict), CUVET_OK);
    for (size_t i = 0; i < n; i += step) {
        outcome usual = sweep_scan(s[i].bytes, s[i].n, &strict, false);

        one(&s[i], &usual, &strict);
    }
    sweep_free(s, n);
}

START_TEST(samples)
{
    all_of("samples", sweep_full() ? 1 : 3);
}
END_TEST

START_TEST(hostile)
{
    all_of("hostile", sweep_full() ? 1 : 3);
}
END_TEST

Suite *suite_tighten(void);
Suite *suite_tighten(void)
{
    Suite *s = suite_create("tighten");
    TCase *t = tcase_create("limits");

    tcase_set_timeout(t, sweep_full() ? 7200 : 110);
    tcase_add_test(t, samples);
    tcase_add_test(t, hostile);
    suite_add_tcase(s, t);
    return s;
}
