/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Admission: every rule by the facts that break it, its legal neighbour by one that does not; and real
 * files. / */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "cubin/admit.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static uint32_t seen[CV_N_RULES];
static unsigned n_seen, n_errors;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    seen[diag->rule]++;
    n_seen++;
    n_errors += diag->severity == CUVET_ERROR;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    ctx.emit = emit;
}

static void start(void)
{
    memset(seen, 0, sizeof(seen));
    n_seen = n_errors = 0;
    cv_ctx_unit(&ctx, 0);
}

typedef struct row {
    const char *what;
    cv_cubin cubin;
    cv_admit_for wanted;
    int rule; /* -1: none */
} row;

/* A relocatable file of ABI 8, and one of ABI 7. */
#define ABI8(number, kind, ...)                                                                              \
    {                                                                                                        \
        .header = { .osabi = 0x41, .abiversion = 8, .type = 1, .flags = (kind) }, .abi8 = true,              \
        .sm = (number), .toolkit = 130, __VA_ARGS__                                                          \
    }
/* Code of a capsule that says where it runs as it is, and where it can be made again: for all up to its own
 * family. */
#define SAYS(number, text, bits)                                                                             \
    ABI8(number, 2, .suffix = 'f', .suffix_known = true, .first[CV_ROLE_TEXT] = (text),                      \
         .compat = { .len = 4 },                                                                             \
         .claims = { .has = 1u << CV_COMPAT_CAN_FASTPATH_FINALIZE, .fastpath = (bits) })
#define AS_IS(number)                                                                                        \
    {                                                                                                        \
        .target = { number, 0 }, .toolkit = 130, .finished = true                                            \
    }
#define ABI7(number, version)                                                                                \
    {                                                                                                        \
        .header = { .osabi = 0x33, .abiversion = 7, .type = 1, .flags = 0x500550 }, .legacy = true,          \
        .sm = (number), .toolkit = (version)                                                                 \
    }
#define FOR(number, letter)                                                                                  \
    {                                                                                                        \
        .target = { number, letter }, .toolkit = 130                                                         \
    }

static const row ROWS[] = {
    { "plain", ABI8(90, 4, 0), FOR(90, 0), -1 },
    { "no target", ABI8(90, 4, 0), FOR(0, 0), -1 },
    { "capsule", ABI8(100, 2, 0), FOR(103, 0), -1 },
    { "legacy", ABI7(80, 115), FOR(86, 0), -1 },
    { "class 32",
      { .header = { .is32 = true, .osabi = 0x33, .abiversion = 7, .type = 1 },
        .legacy = true,
        .sm = 80,
        .toolkit = 115 },
      FOR(80, 0),
      CV_R_ADMIT_CLASS },
    { "0x41 and 7",
      { .header = { .osabi = 0x41, .abiversion = 7, .type = 1 }, .sm = 80, .toolkit = 130 },
      FOR(80, 0),
      CV_R_ADMIT_ABI },
    { "0x33 and 8",
      { .header = { .osabi = 0x33, .abiversion = 8, .type = 1 }, .sm = 80, .toolkit = 130 },
      FOR(80, 0),
      CV_R_ADMIT_ABI },
    { "executable",
      { .header = { .osabi = 0x33, .abiversion = 7, .type = 2 }, .legacy = true, .sm = 80, .toolkit = 115 },
      FOR(80, 0),
      CV_R_ADMIT_EXECUTABLE },
    { "executable that is wanted",
      { .header = { .osabi = 0x33, .abiversion = 7, .type = 2 }, .legacy = true, .sm = 80, .toolkit = 115 },
      { .target = { 80, 0 }, .toolkit = 130, .execute = true },
      -1 },
    { "ewp",
      { .header = { .osabi = 0x33, .abiversion = 7, .type = 0xFF00 },
        .legacy = true,
        .sm = 80,
        .toolkit = 115 },
      FOR(80, 0),
      CV_R_ADMIT_TYPE },
    { "other family", ABI8(80, 4, 0), FOR(90, 0), CV_R_ADMIT_ARCH },
    { "newer than the target", ABI8(89, 4, 0), FOR(86, 0), CV_R_ADMIT_ARCH },
    { "80 for 87", ABI8(80, 4, 0), FOR(87, 0), CV_R_ADMIT_ARCH },
    { "80 for 88", ABI8(80, 4, 0), FOR(88, 0), CV_R_ADMIT_ARCH },
    { "100f for 110", ABI8(100, 2, .suffix = 'f', .suffix_known = true), FOR(110, 0), CV_R_ADMIT_ARCH },
    { "100f for 103", ABI8(100, 2, .suffix = 'f', .suffix_known = true), FOR(103, 0), -1 },
    { "120f for 121a", ABI8(120, 2, .suffix = 'f', .suffix_known = true), FOR(121, 'a'), -1 },
    { "100a for 103", ABI8(100, 2, .suffix = 'a', .suffix_known = true), FOR(103, 0), CV_R_ADMIT_SUFFIX },
    { "120a for 121", ABI8(120, 2, .suffix = 'a', .suffix_known = true), FOR(121, 0), CV_R_ADMIT_SUFFIX },
    { "90a for 90a", ABI8(90, 4, .suffix = 'a', .suffix_known = true), FOR(90, 'a'), -1 },
    { "90 for 90a", ABI8(90, 4, .suffix_known = true), FOR(90, 'a'), -1 },
    { "90a for 90", ABI8(90, 4, .suffix = 'a', .suffix_known = true), FOR(90, 0), CV_R_ADMIT_SUFFIX_LOST },
    { "suffix from compat", ABI8(90, 4, .compat_accel_known = true, .compat_accel = true), FOR(90, 0),
      CV_R_ADMIT_SUFFIX_LOST },
    { "90a for 90, exact",
      ABI8(90, 4, .suffix = 'a', .suffix_known = true),
      { .target = { 90, 0 }, .policy = CUVET_ARCH_EXACT, .toolkit = 130 },
      CV_R_ADMIT_SUFFIX },
    { "toolkit 131",
      { .header = { .osabi = 0x41, .abiversion = 8, .type = 1, .flags = 4 },
        .abi8 = true,
        .sm = 80,
        .toolkit = 131 },
      FOR(80, 0),
      CV_R_ADMIT_TOOLKIT_NEWER },
    { "toolkit 131 for a newer linker",
      { .header = { .osabi = 0x41, .abiversion = 8, .type = 1, .flags = 4 },
        .abi8 = true,
        .sm = 80,
        .toolkit = 131 },
      { .target = { 80, 0 }, .toolkit = 131 },
      -1 },
    { "legacy 131", ABI7(75, 131), FOR(75, 0), CV_R_ADMIT_TOOLKIT_NEWER },
    { "legacy version 1", ABI7(75, 1), FOR(75, 0), -1 },
    { "sm_90 of 11.8", ABI7(90, 118), FOR(90, 0), CV_R_ADMIT_TOOLKIT_OLD },
    { "sm_90 of 11.9", ABI7(90, 119), FOR(90, 0), CV_R_ADMIT_TOOLKIT_OLD },
    { "sm_90 of 12.0", ABI7(90, 120), FOR(90, 0), -1 },
    { "sm_100 of 11.9",
      { .header = { .osabi = 0x41, .abiversion = 8, .type = 1, .flags = 2 },
        .abi8 = true,
        .sm = 100,
        .toolkit = 119 },
      FOR(100, 0),
      -1 },
    { "sm_90 without a note",
      { .header = { .osabi = 0x41, .abiversion = 8, .type = 1, .flags = 4 }, .abi8 = true, .sm = 90 },
      FOR(90, 0),
      CV_R_ADMIT_TOOLKIT_UNKNOWN },
    { "sm_80 without a note",
      { .header = { .osabi = 0x41, .abiversion = 8, .type = 1, .flags = 4 }, .abi8 = true, .sm = 80 },
      FOR(80, 0),
      -1 },
    { "Mercury", ABI8(100, 1, 0), FOR(100, 0), CV_R_ADMIT_KIND },
    { "two kinds", ABI8(100, 6, 0), FOR(100, 0), CV_R_ADMIT_KIND },
    { "no kind", ABI8(90, 0, 0), FOR(90, 0), CV_R_ADMIT_KIND },
    { "sm_90 of the older ABI without a version", ABI7(90, 0), FOR(90, 0), -1 },
    { "as it is, a machine whose code says nothing of it", ABI7(80, 115), AS_IS(86), -1 },
    { "as it is, for itself", SAYS(100, 3, 0), AS_IS(100), -1 },
    { "as it is, no code", SAYS(100, 0, 0), AS_IS(103), -1 },
    { "as it is, the bit is not there", SAYS(100, 3, 0), AS_IS(103), CV_R_ADMIT_RETARGET },
    { "as it is, the bit is there", SAYS(100, 3, 8), AS_IS(103), -1 },
    { "to be made again, the bit is not there", SAYS(100, 3, 0), FOR(103, 0), -1 },
    { "as it is, nothing is said",
      ABI8(100, 2, .suffix = 'f', .suffix_known = true, .first[CV_ROLE_TEXT] = 3), AS_IS(103),
      CV_R_ADMIT_RETARGET },
};

START_TEST(rules)
{
    for (size_t i = 0; i < N(ROWS); i++) {
        static cv_cubin cubin;
        cuvet_status status;

        start();
        cubin = ROWS[i].cubin;
        cubin.gen = cv_gen_of(cubin.sm);
        status = cv_admit(&ctx, &cubin, &ROWS[i].wanted);
        ck_assert_msg(n_seen == (ROWS[i].rule >= 0), "%s: %u findings", ROWS[i].what, n_seen);
        ck_assert_msg(ROWS[i].rule < 0 || seen[ROWS[i].rule] == 1, "%s", ROWS[i].what);
        ck_assert_msg((status == CUVET_OK) == (n_errors == 0) &&
                          (status == CUVET_OK || status == CUVET_E_REFUSED),
                      "%s: %s", ROWS[i].what, cuvet_status_name(status));
    }
}
END_TEST

START_TEST(texts)
{
    cuvet_diag diag = { .rule = CV_R_ADMIT_ARCH, .got = cv_arch_pack(80, 0), .want = cv_arch_pack(90, 'a') };
    char text[200];

    cuvet_diag_message(&diag, text, sizeof(text));
    ck_assert_str_eq(text, "arch does not match target 'sm_90a': code is for 'sm_80'");
    diag = (cuvet_diag){ .rule = CV_R_ADMIT_TOOLKIT_NEWER, .got = 131, .want = 130 };
    cuvet_diag_message(&diag, text, sizeof(text));
    ck_assert_str_eq(text, "newer than toolkit (131 vs 130)");
}
END_TEST

/* Whoever scans is not linking: the same findings, as notes. */
START_TEST(advice)
{
    start();
    cv_admit_note(&ctx, &ROWS[4].cubin, &ROWS[4].wanted);
    ck_assert_uint_eq(n_seen, 1);
    ck_assert_uint_eq(n_errors, 0);
    ck_assert_int_eq(ctx.verdict, CUVET_V_CLEAN);
}
END_TEST

/* Real files: each target that the file's name does not fit is refused, the others are not. */
START_TEST(samples)
{
    static const struct {
        const char *name;
        uint32_t sm;
        char suffix;
        bool rdc;
    } FILES[] = { { "plain.sm_75.rdc", 75, 0, true },      { "plain.sm_90a.rdc", 90, 'a', true },
                  { "plain.sm_100a.rdc", 100, 'a', true }, { "plain.sm_100f.rdc", 100, 'f', true },
                  { "plain.sm_103.rdc", 103, 0, true },    { "plain.sm_120f.rdc", 120, 'f', true },
                  { "plain.sm_90", 90, 0, false } };
    static uint8_t bytes[1 << 18];

    for (size_t i = 0; i < N(FILES); i++) {
        uint64_t extent, got;
        char path[100];
        cv_cubin cubin;
        FILE *file;

        snprintf(path, sizeof(path), "corpus/samples/%s.cubin", FILES[i].name);
        file = fopen(path, "rb");
        ck_assert_msg(file != NULL, "%s: run from the root of the repository", path);
        got = fread(bytes, 1, sizeof(bytes), file);
        fclose(file);
        cv_cubin_init(&cubin);
        cv_ctx_unit(&ctx, got);
        ck_assert_int_eq(cv_cubin_examine(&ctx, &cubin, cv_span_of(bytes, got, 0), NULL, &extent), CUVET_OK);
        ck_assert_int_eq(cv_admit_suffix(&cubin), FILES[i].suffix);
        for (size_t total = 0;; total++) {
            cv_admit_for f_t = { .toolkit = 130 };
            bool fits;

            if (cuvet_target_get(total, &f_t.target) == CUVET_END)
                break;
            fits = cv_arch_sass(FILES[i].sm, FILES[i].suffix, f_t.target, 0) == CUVET_REASON_NONE &&
                   FILES[i].rdc;
            start();
            ck_assert_msg((cv_admit(&ctx, &cubin, &f_t) == CUVET_OK) == fits, "%s for sm_%u", path,
                          f_t.target.sm);
            ck_assert_uint_eq(seen[CV_R_ADMIT_EXECUTABLE], !FILES[i].rdc);
        }
        cv_cubin_free(&ctx, &cubin);
    }
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
}
END_TEST

Suite *suite_test_admit(void)
{
    Suite *suite = suite_create("admit");
    TCase *tcase = tcase_create("admit");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, rules);
    tcase_add_test(tcase, texts);
    tcase_add_test(tcase, advice);
    tcase_add_test(tcase, samples);
    suite_add_tcase(suite, tcase);
    return suite;
}
