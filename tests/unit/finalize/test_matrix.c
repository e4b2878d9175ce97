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

static uint32_t number(const char *s, char *suffix)
{
    uint32_t n = 0;

    for (; *s >= '0' && *s <= '9'; s++)
        n = 10 * n + (uint32_t)(*s - '0');
    *suffix = *s;
    return n;
}

START_TEST(admission)
{
    unsigned cells = 0, yes = 0;

    ck_assert_uint_eq(N(TAKES), N(SM));
    for (unsigned s = 0; s < N(SM); s++)
        for (unsigned d = 0; d < N(SM); d++, cells++) {
            cuvet_target t;
            char suffix;
            uint32_t sm = number(SM[s], &suffix);
            bool takes;

            t.sm = number(SM[d], &t.suffix);
            takes = cv_arch_sass(sm, suffix, t, CUVET_ARCH_REFERENCE) == CUVET_REASON_NONE;
            ck_assert_msg(takes == (TAKES[s][d] == 'y'), "sm_%s to sm_%s", SM[s], SM[d]);
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
    for (unsigned d = 0; d < N(SM); d++) {
        cv_final_options o;
        char suffix;
        uint32_t sm = number(SM[d], &suffix);
        bool takes = TAKES[row_of(SAMPLES[_i])][d] == 'y', want = takes && (own == sm || own >= 100);

        for (unsigned k = 0; k < 2; k++) {
            o = ff_options(sm, k ? CV_KIND_SASS : CV_KIND_NONE);
            o.target_suffix = suffix;
            ff_load(name);
            ck_assert_msg((ff_run(&o) == CUVET_OK) == want, "%s to sm_%s: code %d", name, SM[d],
                          (int)ff_job.code);
            ck_assert_int_eq(ff_job.code == CV_FINAL_NOT_NEEDED, want && own == sm && (k == 0 || own < 100));
        }
    }
}
END_TEST

Suite *suite_matrix(void)
{
    Suite *s = suite_create("finalize/matrix");
    TCase *c = tcase_create("matrix");

    tcase_add_checked_fixture(c, ff_setup, ff_teardown);
    tcase_add_test(c, admission);
    tcase_add_loop_test(c, finalization, 0, (int)N(SAMPLES));
    suite_add_tcase(s, c);
    return s;
}
