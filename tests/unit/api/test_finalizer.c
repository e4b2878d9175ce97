/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public finalizer: misuse, results, texts that are copied, the queries, and files that are written whole
 * or not. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuvet/cuvet.h>

#include "support/fatbins.h"
#include "support/scratch.h"

static cuvet_ctx *ctx;
static char said[4000];

static void on_diag(void *user, const cuvet_diag *diag)
{
    (void)user;
    strncat(said, cuvet_rule_get(diag->rule)->id, sizeof(said) - strlen(said) - 2);
    strcat(said, " ");
}

static void setup(void)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .diag = on_diag };

    said[0] = 0;
    ck_assert_int_eq(cuvet_ctx_create(&co, &ctx), CUVET_OK);
}

static void teardown(void)
{
    cuvet_ctx_destroy(ctx);
}

static cuvet_finalize_options options(uint32_t sm, cuvet_form form)
{
    return (
        cuvet_finalize_options){ .size = sizeof(cuvet_finalize_options), .target = { sm, 0 }, .kind = form };
}

static cuvet_finalizer make(cuvet_finalize_options options)
{
    cuvet_finalizer finalizer;

    ck_assert_int_eq(cuvet_finalizer_create(ctx, &options, &finalizer), CUVET_OK);
    return finalizer;
}

START_TEST(misuse)
{
    cuvet_finalize_options opts = options(0, CUVET_FORM_SAME);
    cuvet_finalizer finalizer = { 77 }, handle;
    cuvet_final_explanation explanation = { .size = sizeof(explanation) };
    cuvet_final_result result = { .size = sizeof(result) };
    static char big[70000];

    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, NULL, &finalizer), CUVET_E_NULL);
    ck_assert_uint_eq(finalizer.bits, 0);
    ck_assert_int_eq(cuvet_finalizer_create(NULL, &opts, &finalizer), CUVET_E_NULL);
    opts.size--;
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts = options(0, (cuvet_form)5);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts = options(0, CUVET_FORM_SAME);
    opts.max_level = 5;
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts.max_level = 0;
    opts.backend = "nvlink";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts.backend = "strip2";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts.backend = "stri";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts.backend = NULL;
    opts.flags |= CUVET_FINALIZE_TOOL_NOTE;
    memset(big, 'x', sizeof(big) - 1);
    opts.tool = big;
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    finalizer = make(options(0, CUVET_FORM_SAME));
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, AT_FDCWD, "x", CUVET_SAVE_REPLACE), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, NULL, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, finalizer, NULL, 0, &explanation), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, finalizer, "x", 1, NULL), CUVET_E_NULL);
    handle = finalizer;
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &finalizer), CUVET_OK);
    ck_assert_uint_eq(finalizer.bits, 0);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, handle, "x", 1, NULL), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, handle, &result), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &handle), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, "x", 1, NULL), CUVET_E_HANDLE);
}
END_TEST

START_TEST(results)
{
    cuvet_finalizer finalizer = make(options(103, CUVET_FORM_SASS));
    cuvet_final_result result = { .size = sizeof(result) };
    size_t count;
    const uint8_t *bytes = sample("plain.sm_100.cubin", &count, 0);

    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, bytes, count, "a"), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result), CUVET_OK);
    ck_assert_uint_eq(result.code, 0);
    ck_assert_int_eq(result.from, CUVET_FORM_CAPMERC);
    ck_assert_int_eq(result.to, CUVET_FORM_SASS);
    ck_assert_uint_eq(result.source.sm, 100);
    ck_assert_uint_eq(result.target.sm, 103);
    ck_assert_str_eq(result.backend, "strip");
    ck_assert(strstr(said, "CV-FINAL-023") && strstr(said, "CV-FINAL-022"));
    ck_assert(!strstr(said, "CV-NOTE-022")); /* of the result: it is what was meant */
    /* the next one takes its place, whatever becomes of it */
    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, bytes, count / 2, "a"), CUVET_E_MALFORMED);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result), CUVET_OK);
    ck_assert_uint_eq(result.code, 6);
    ck_assert_str_eq(result.text, "unsupported elf type");
    ck_assert_ptr_null(result.bytes);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, AT_FDCWD, "x", CUVET_SAVE_REPLACE), CUVET_E_STATE);
    bytes = sample("plain.sm_110.cubin", &count, 0);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, bytes, count, NULL), CUVET_E_REFUSED);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result), CUVET_OK);
    ck_assert_uint_eq(result.code, 26);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &finalizer), CUVET_OK);
}
END_TEST

START_TEST(explanations)
{
    cuvet_finalizer finalizer = make(options(103, CUVET_FORM_SAME));
    cuvet_final_explanation explanation = { .size = sizeof(explanation) };
    cuvet_final_result result = { .size = sizeof(result) };
    size_t count;
    const uint8_t *bytes = sample("plain.sm_100.rdc.cubin", &count, 0);

    ck_assert_int_eq(cuvet_finalizer_explain(ctx, finalizer, bytes, count, &explanation), CUVET_OK);
    ck_assert_str_eq(explanation.backend, "copy");
    ck_assert(explanation.claims && (explanation.claims->flags & CUVET_CLAIMS_MASK) != 0 &&
              (explanation.flags & CUVET_EXPLAIN_FASTPATH) != 0 &&
              !(explanation.flags & CUVET_EXPLAIN_LINKED));
    ck_assert_uint_eq(explanation.claims->mask, 9);
    ck_assert_uint_eq(explanation.can, 0);
    ck_assert_uint_eq(explanation.capsules, 1);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result),
                     CUVET_E_STATE); /* nothing was made */
    bytes = sample("plain.sm_110.cubin", &count, 0);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, finalizer, bytes, count, &explanation), CUVET_E_REFUSED);
    ck_assert_uint_eq(explanation.code, 26);
    ck_assert_uint_eq(explanation.can, 26);
    ck_assert_ptr_null(explanation.backend);
    bytes = sample("plain.sm_103.cubin", &count, 0);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, finalizer, bytes, count, &explanation), CUVET_OK);
    ck_assert_uint_eq(explanation.code, 257);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, finalizer, "no ELF", 6, &explanation), CUVET_E_MALFORMED);
    ck_assert_uint_eq(explanation.code, 6);
    ck_assert_uint_eq(explanation.target.sm, 103);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &finalizer), CUVET_OK);
    /* nothing is known, and nothing is said of it; what was wanted is known all the same */
    finalizer = make(options(0, CUVET_FORM_SASS));
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, finalizer, "no ELF", 6, &explanation), CUVET_E_MALFORMED);
    ck_assert_uint_eq(explanation.source.sm + explanation.target.sm, 0);
    ck_assert(!(explanation.flags & CUVET_EXPLAIN_FASTPATH));
    ck_assert_int_eq(explanation.to, CUVET_FORM_SASS);
}
END_TEST

static cuvet_final_code can(const cuvet_final_claims *claims, uint32_t source, uint32_t target, uint8_t level)
{
    return cuvet_can_finalize(claims, (cuvet_target){ source, 0 }, (cuvet_target){ target, 0 }, level);
}

static cuvet_final_code runs(const cuvet_final_claims *claims, uint32_t source, uint32_t target)
{
    return cuvet_can_fastpath(claims, (cuvet_target){ source, 0 }, (cuvet_target){ target, 0 });
}

/* Yes is said of targets alone: of what cuvet_target_parse() takes, whatever a file claims. */
START_TEST(only_targets)
{
    static const char SUFFIXES[] = { 0, 'a', 'f', 'b' };
    const cuvet_final_claims claims = {
        .size = sizeof(claims), .isa = 0x0101, .level = 4, .flags = CUVET_CLAIMS_MASK, .mask = UINT64_MAX
    };
    const cuvet_target from = { 100, 0 };
    unsigned yes = 0, targets = 0;

    for (uint32_t number = 0; number < 400; number++) {
        for (size_t i = 0; i < sizeof(SUFFIXES); i++) {
            const cuvet_target to = { number, SUFFIXES[i] };
            cuvet_target parsed;
            char text[24];
            bool known;

            snprintf(text, sizeof(text), "sm_%u%.1s", (unsigned)number, SUFFIXES[i] ? &SUFFIXES[i] : "");
            known = cuvet_target_parse(text, &parsed) == CUVET_OK;
            targets += known;
            yes += cuvet_can_finalize(&claims, from, to, 4) == CUVET_FINAL_OK;
            ck_assert_msg((cuvet_can_finalize(&claims, from, to, 4) == CUVET_FINAL_SM) == !known, "%s", text);
            ck_assert_msg((cuvet_can_finalize(&claims, to, from, 4) == CUVET_FINAL_SM) == !known, "%s", text);
            ck_assert_msg((cuvet_can_fastpath(&claims, from, to) == CUVET_FINAL_SM) == !known, "%s", text);
            ck_assert_msg((cuvet_can_fastpath(&claims, to, from) == CUVET_FINAL_SM) == !known, "%s", text);
        }
    }
    ck_assert_uint_gt(targets, 10);
    ck_assert_uint_gt(yes, 3);
    ck_assert_int_eq(can(&claims, 100, 130, 4), CUVET_FINAL_SM); /* another number of sm_107, and no name */
}
END_TEST

/* The pure queries; every cell of their tables is in model/test_retarget.c. */
START_TEST(queries)
{
    cuvet_final_claims claims = {
        .size = sizeof(claims), .isa = 0x0101, .level = 1, .flags = CUVET_CLAIMS_MASK, .mask = 9
    };

    ck_assert_uint_eq(can(NULL, 100, 103, 4), 24);
    ck_assert_uint_eq(can(&claims, 100, 103, 4), 0);
    ck_assert_uint_eq(can(&claims, 103, 100, 4), 26);
    claims.flags |= CUVET_CLAIMS_ACCEL;
    ck_assert_uint_eq(can(&claims, 100, 103, 4), 26);
    claims.level = 2;
    ck_assert_uint_eq(can(&claims, 100, 103, 2), 0);
    ck_assert_uint_eq(can(&claims, 100, 103, 1), 26);
    ck_assert_int_eq(runs(&claims, 100, 103), CUVET_FINAL_OK);
    ck_assert_int_eq(runs(&claims, 100, 110), CUVET_FINAL_INCOMPATIBLE);
    ck_assert_int_eq(runs(NULL, 110, 110), CUVET_FINAL_OK);
    ck_assert_int_eq(runs(NULL, 110, 101),
                     CUVET_FINAL_SM); /* the same machine, by a number that is no target */
    claims.isa = 0x0102;
    ck_assert_uint_eq(can(&claims, 100, 100, 4), 25);
    claims.size = 1; /* of no structure that ever was */
    ck_assert_uint_eq(can(&claims, 100, 100, 4), CUVET_FINAL_CONFLICT);
    ck_assert_int_eq(runs(&claims, 100, 103), CUVET_FINAL_CONFLICT);
    ck_assert_str_eq(cuvet_final_text(12), "Param struct passed to finalizer is Nil");
    ck_assert_str_eq(cuvet_final_text(8), "");
    ck_assert_str_eq(cuvet_form_name(CUVET_FORM_CAPMERC), "capmerc");
    ck_assert_str_eq(cuvet_form_name(CUVET_FORM_MERCURY), "mercury");
    ck_assert_str_eq(cuvet_form_name(CUVET_FORM_SASS), "sass");
    ck_assert_str_eq(cuvet_form_name(CUVET_FORM_SAME), "?");
}
END_TEST

/* A note is never in the name of one of the vendor's tools, never of nobody, and has no control characters.
 */
START_TEST(bad_names)
{
    static const char *const TOOLS[] = { "",           "nvlink",    "NVLINK",    "ptxas",     "nvcc",
                                         "cicc",       "nvJitLink", "nvJIT API", "nvlink 13", "fatbinary",
                                         "nvlink.exe", "cuobjdump", "nvdisasm",  " ptxas",    "mine\n",
                                         "\x1b[2J",    "a\x7f" };
    static const char *const GOOD[] = { "cuvet", "nvlinker", "not nvlink", "ptxas2", "M\xc3\xbcller" };
    cuvet_finalize_options opts = options(103, CUVET_FORM_SAME);
    cuvet_finalizer finalizer;

    opts.flags |= CUVET_FINALIZE_TOOL_NOTE;
    for (size_t i = 0; i < sizeof(TOOLS) / sizeof(TOOLS[0]); i++) {
        opts.tool = TOOLS[i];
        ck_assert_msg(cuvet_finalizer_create(ctx, &opts, &finalizer) == CUVET_E_USAGE, "%zu", i);
    }
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        opts.tool = GOOD[i];
        finalizer = make(opts);
        ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &finalizer), CUVET_OK);
    }
    opts.tool = NULL;
    opts.tool_version = "1\t";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts.tool_version = NULL;
    opts.tool_command = "x\x01";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &opts, &finalizer), CUVET_E_USAGE);
    opts.flags &= ~CUVET_FINALIZE_TOOL_NOTE; /* not asked for: not looked at */
    opts.tool = "nvlink";
    finalizer = make(opts);
}
END_TEST

/* Names given for the note are copied, and written. */
START_TEST(names)
{
    char tool[] = "mine", command[] = "as I like";
    cuvet_finalize_options opts = options(103, CUVET_FORM_SAME);
    cuvet_finalizer finalizer;
    cuvet_final_result result = { .size = sizeof(result) };
    size_t count;
    const uint8_t *bytes = sample("plain.sm_100.cubin", &count, 0);

    opts.flags |= CUVET_FINALIZE_TOOL_NOTE;
    opts.tool = tool;
    opts.tool_command = command;
    finalizer = make(opts);
    memset(tool, 'x', 4);
    memset(command, 'x', 9);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, bytes, count, NULL), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result), CUVET_OK);
    ck_assert_ptr_nonnull(
        memmem(result.bytes, result.n, "\0mine\0" CV_VERSION "\0\0as I like\0", 16 + sizeof(CV_VERSION) - 1));
}
END_TEST

/* What was cancelled ends as that, and stays so. */
START_TEST(cancelled)
{
    cuvet_finalizer finalizer = make(options(103, CUVET_FORM_SASS)), none = { 0 };
    cuvet_final_result result = { .size = sizeof(result) };
    size_t count;
    const uint8_t *bytes = sample("plain.sm_100.g.cubin", &count, 0);

    ck_assert_int_eq(cuvet_finalizer_cancel(NULL, finalizer), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_cancel(ctx, none), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_cancel(ctx, finalizer), CUVET_OK);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, bytes, count, NULL), CUVET_E_CANCELLED);
        ck_assert_int_eq(cuvet_finalizer_get_result(ctx, finalizer, &result), CUVET_OK);
        ck_assert_uint_eq(result.code, 263);
        ck_assert_ptr_null(result.bytes);
    }
}
END_TEST

START_TEST(files)
{
    char dir[SCRATCH_MAX];
    cuvet_finalizer finalizer = make(options(0, CUVET_FORM_SAME));
    size_t count;
    const uint8_t *bytes = sample("plain.sm_100.cubin", &count, 0);
    int fd;

    scratch_make(dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, finalizer, bytes, count, NULL), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, fd, "a/b", 0), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, fd, "out", 0), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, fd, "out", 0), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, fd, "out", CUVET_SAVE_REPLACE), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, finalizer, -1, "out", CUVET_SAVE_REPLACE), CUVET_E_IO);
    ck_assert_int_eq(unlinkat(fd, "out", 0), 0);
    close(fd);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing else was left */
}
END_TEST

Suite *suite_finalizer(void)
{
    Suite *suite = suite_create("api/finalizer");
    TCase *tcase = tcase_create("finalizer");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, misuse);
    tcase_add_test(tcase, results);
    tcase_add_test(tcase, explanations);
    tcase_add_test(tcase, only_targets);
    tcase_add_test(tcase, queries);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, bad_names);
    tcase_add_test(tcase, cancelled);
    tcase_add_test(tcase, files);
    suite_add_tcase(suite, tcase);
    return suite;
}
