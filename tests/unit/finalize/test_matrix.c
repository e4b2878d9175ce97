/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All pairs of the 23 targets of the reference linker, measured on it in 529 links: which code goes to which
 * target at all, and what a finalization makes of that without making code. */
#include "fixture.h"

#include "target/arch.h"

static const char *const SM[] = { "75",   "80",   "86",   "87",   "88",   "89",   "90",  "90a",
                                  "100",  "100a", "100f", "103",  "103a", "103f", "110", "110a",
                                  "110f", "120",  "120a", "120f", "121",  "121a", "121f" };

/* Rows: source. Columns: target. y: the reference takes it. */
static const char *const TAKES[] = {
    "y----------------------", /* 75 */
    "-yy--y-----------------", /* 80 */
    "--y--y-----------------", /* 86 */
    "---y-------------------", /* 87 */
    "----y------------------", /* 88 */
    "-----y-----------------", /* 89 */
    "------yy---------------", /* 90 */
    "------yy---------------", /* 90a */
    "--------yyyyyy---------", /* 100 */
    "--------yyy------------", /* 100a */
    "--------yyyyyy---------", /* 100f */
    "-----------yyy---------", /* 103 */
    "-----------yyy---------", /* 103a */
    "-----------yyy---------", /* 103f */
    "--------------yyy------", /* 110 */
    "--------------yyy------", /* 110a */
    "--------------yyy------", /* 110f */
    "-----------------yyyyyy", /* 120 */
    "-----------------yyy---", /* 120a */
    "-----------------yyyyyy", /* 120f */
    "--------------------yyy", /* 121 */
    "--------------------yyy", /* 121a */
    "--------------------yyy", /* 121f */
};

static uint32_t number(const char *text, char *suffix)
{
    uint32_t count = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        count = 10 * count + (uint32_t)(*text - '0');
    *suffix = *text;
    return count;
}

START_TEST(admission)
{
    unsigned cells = 0, yes = 0;

    ck_assert_uint_eq(N(TAKES), N(SM));
    for (unsigned step = 0; step < N(SM); step++)
        for (unsigned distance = 0; distance < N(SM); distance++, cells++) {
            cuvet_target target;
            char suffix;
            uint32_t sm = number(SM[step], &suffix);
            bool takes;

            target.sm = number(SM[distance], &target.suffix);
            takes = cv_arch_sass(sm, suffix, target, CUVET_ARCH_REFERENCE) == CUVET_REASON_NONE;
            ck_assert_msg(takes == (TAKES[step][distance] == 'y'), "sm_%s to sm_%s", SM[step], SM[distance]);
            yes += takes;
        }
    ck_assert_uint_eq(cells, 529);
    ck_assert_uint_eq(yes, 70);
}
END_TEST

static const char *const SAMPLES[] = { "75",   "80",  "90",  "90a", "100",  "100a",
                                       "100f", "103", "110", "120", "120f", "121" };

static unsigned row_of(const char *sm)
{
    for (unsigned i = 0; i < N(SM); i++)
        if (strcmp(SM[i], sm) == 0)
            return i;
    ck_abort_msg("no row %s", sm);
}

/* A finalization goes nowhere where the reference linker does not go, nowhere where code would have to be
 * made, and up to sm_90 nowhere but home: such files do not say what else they run on. */
START_TEST(finalization)
{
    char name[60], own_suffix;
    uint32_t own = number(SAMPLES[_i], &own_suffix);

    snprintf(name, sizeof(name), "plain.sm_%s.rdc.cubin", SAMPLES[_i]);
    for (unsigned distance = 0; distance < N(SM); distance++) {
        cv_final_options options;
        char suffix;
        uint32_t sm = number(SM[distance], &suffix);
        bool takes = TAKES[row_of(SAMPLES[_i])][distance] == 'y', want = takes && (own == sm || own >= 100);

        for (unsigned k = 0; k < 2; k++) {
            options = ff_options(sm, k ? CV_KIND_SASS : CV_KIND_NONE);
            options.target_suffix = suffix;
            ff_load(name);
            ck_assert_msg((ff_run(&options) == CUVET_OK) == want, "%s to sm_%s: code %d", name, SM[distance],
                          (int)ff_job.code);
            ck_assert_int_eq(ff_job.code == CV_FINAL_NOT_NEEDED, want && own == sm && (k == 0 || own < 100));
        }
    }
}
END_TEST

Suite *suite_matrix(void)
{
    Suite *suite = suite_create("finalize/matrix");
    TCase *tcase = tcase_create("matrix");

    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_test(tcase, admission);
    tcase_add_loop_test(tcase, finalization, 0, (int)N(SAMPLES));
    suite_add_tcase(suite, tcase);
    return suite;
}
