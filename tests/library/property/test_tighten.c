/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A limit that is made tighter never turns a rejection into an acceptance: whatever is hostile under the
 * usual limits stays so under any, and whatever a limit stops is said to be stopped. */
#include <check.h>
#include <string.h>

#include "sweep.h"

static const uint64_t VALUES[] = { 0, 1, 2, 3, 64, 4096 };

/* @return limits tried */
static size_t one(const sample *s, const outcome *usual, const cuvet_limits *strict)
{
    const cuvet_limit_info *info;
    size_t tried = 0;
    uint64_t was;

    for (size_t i = 0; cuvet_limits_get(strict, i, &info, &was) == CUVET_OK; i++) {
        for (size_t k = 0; k < sizeof(VALUES) / sizeof(VALUES[0]); k++) {
            unsigned long v = (unsigned long)VALUES[k];
            cuvet_limits lim = *strict;
            outcome o;

            if (VALUES[k] >= was)
                continue;
            SWEEP_CHECK(cuvet_limits_set(&lim, info->name, VALUES[k]) == CUVET_OK, "%s=%lu: refused",
                        info->name, v);
            o = sweep_scan(s->bytes, s->n, &lim, false);
            tried++;
            SWEEP_CHECK(o.status == CUVET_END || o.status == CUVET_E_LIMIT || o.status == CUVET_E_NOMEM,
                        "%s: %s=%lu: status %d", s->name, info->name, v, o.status);
            SWEEP_CHECK(usual->sum.verdict == CUVET_V_CLEAN || o.sum.verdict != CUVET_V_CLEAN,
                        "%s: %s=%lu turns a rejection into an acceptance", s->name, info->name, v);
            /* Fewer pieces only with a reason. */
            SWEEP_CHECK(o.sum.members + o.sum.images >= usual->sum.members + usual->sum.images ||
                            o.sum.verdict == CUVET_V_LIMIT || o.sum.verdict == CUVET_V_ERROR,
                        "%s: %s=%lu loses device code without a word", s->name, info->name, v);
        }
    }
    return tried;
}

static void all_of(const char *dir, const char *what, size_t step)
{
    size_t looked_at = 0, tried = 0;
    sweep w = sweep_load(dir);
    cuvet_limits strict = { .size = sizeof(strict) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &strict), CUVET_OK);
    for (size_t i = 0; i < w.n; i += step, looked_at++) {
        outcome usual = sweep_scan(w.v[i].bytes, w.v[i].n, &strict, false);

        tried += one(&w.v[i], &usual, &strict);
    }
    ck_assert_uint_gt(tried, looked_at);
    sweep_end(&w, what, looked_at, tried);
}

START_TEST(samples)
{
    all_of("samples", "limits of samples", sweep_full() ? 1 : 3);
}
END_TEST

START_TEST(hostile)
{
    all_of("hostile", "limits of hostile files", sweep_full() ? 1 : 3);
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
