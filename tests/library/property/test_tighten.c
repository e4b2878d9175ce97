/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A limit that is made tighter never turns a rejection into an acceptance: whatever is hostile under the
 * usual limits stays so under any, and whatever a limit stops is said to be stopped. */
#include <check.h>
#include <string.h>

#include "sweep.h"

static const uint64_t VALUES[] = { 0, 1, 2, 3, 64, 4096 };

/* @return limits tried */
static size_t one(const sweep_piece *sample, const sweep_outcome *usual, const cuvet_limits *strict)
{
    const cuvet_limit_info *info;
    size_t tried = 0;
    uint64_t was;

    for (size_t i = 0; cuvet_limits_get(strict, i, &info, &was) == CUVET_OK; i++) {
        for (size_t k = 0; k < sizeof(VALUES) / sizeof(VALUES[0]); k++) {
            unsigned long value = (unsigned long)VALUES[k];
            cuvet_limits lim = *strict;
            sweep_outcome outcome;

            if (VALUES[k] >= was)
                continue;
            SWEEP_CHECK(cuvet_limits_set(&lim, info->name, VALUES[k]) == CUVET_OK, "%s=%lu: refused",
                        info->name, value);
            outcome = sweep_scan(sample->bytes, sample->size, &lim, false);
            tried++;
            SWEEP_CHECK(outcome.status == CUVET_END || outcome.status == CUVET_E_LIMIT ||
                            outcome.status == CUVET_E_NOMEM,
                        "%s: %s=%lu: status %d", sample->name, info->name, value, outcome.status);
            SWEEP_CHECK(usual->sum.verdict == CUVET_V_CLEAN || outcome.sum.verdict != CUVET_V_CLEAN,
                        "%s: %s=%lu turns a rejection into an acceptance", sample->name, info->name, value);
            /* Fewer pieces only with a reason. */
            SWEEP_CHECK(outcome.sum.members + outcome.sum.images >= usual->sum.members + usual->sum.images ||
                            outcome.sum.verdict == CUVET_V_LIMIT || outcome.sum.verdict == CUVET_V_ERROR,
                        "%s: %s=%lu loses device code without a word", sample->name, info->name, value);
        }
    }
    return tried;
}

static void all_of(const char *dir, const char *what, size_t step)
{
    size_t looked_at = 0, tried = 0;
    sweep_state sweep = sweep_load(dir);
    cuvet_limits strict = { .size = sizeof(strict) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &strict), CUVET_OK);
    for (size_t i = 0; i < sweep.count; i += step, looked_at++) {
        sweep_outcome usual = sweep_scan(sweep.samples[i].bytes, sweep.samples[i].size, &strict, false);

        tried += one(&sweep.samples[i], &usual, &strict);
    }
    ck_assert_uint_gt(tried, looked_at);
    sweep_end(&sweep, what, looked_at, tried);
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
    Suite *suite = suite_create("tighten");
    TCase *tcase = tcase_create("limits");

    tcase_set_timeout(tcase, sweep_full() ? 7200 : 110);
    tcase_add_test(tcase, samples);
    tcase_add_test(tcase, hostile);
    suite_add_tcase(suite, tcase);
    return suite;
}
