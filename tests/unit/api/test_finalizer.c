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

static void on_diag(void *user, const cuvet_diag *d)
{
    (void)user;
    strncat(said, cuvet_rule_get(d->rule)->id, sizeof(said) - strlen(said) - 2);
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

static cuvet_finalizer make(cuvet_finalize_options o)
{
    cuvet_finalizer f;

    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_OK);
    return f;
}

START_TEST(misuse)
{
    cuvet_finalize_options o = options(0, CUVET_FORM_SAME);
    cuvet_finalizer f = { 77 }, g;
    cuvet_final_explanation e = { .size = sizeof(e) };
    cuvet_final_result r = { .size = sizeof(r) };
    static char big[70000];

    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, NULL, &f), CUVET_E_NULL);
    ck_assert_uint_eq(f.bits, 0);
    ck_assert_int_eq(cuvet_finalizer_create(NULL, &o, &f), CUVET_E_NULL);
    o.size--;
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o = options(0, (cuvet_form)5);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o = options(0, CUVET_FORM_SAME);
    o.max_level = 5;
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o.max_level = 0;
    o.backend = "nvlink";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o.backend = "strip2";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o.backend = "stri";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o.backend = NULL;
    o.flags |= CUVET_FINALIZE_TOOL_NOTE;
    memset(big, 'x', sizeof(big) - 1);
    o.tool = big;
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    f = make(options(0, CUVET_FORM_SAME));
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, AT_FDCWD, "x", CUVET_SAVE_REPLACE), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, NULL, 0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, f, NULL, 0, &e), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, f, "x", 1, NULL), CUVET_E_NULL);
    g = f;
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &f), CUVET_OK);
    ck_assert_uint_eq(f.bits, 0);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, g, "x", 1, NULL), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, g, &r), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &g), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, "x", 1, NULL), CUVET_E_HANDLE);
}
END_TEST

START_TEST(results)
{
    cuvet_finalizer f = make(options(103, CUVET_FORM_SASS));
    cuvet_final_result r = { .size = sizeof(r) };
    size_t n;
    const uint8_t *p = sample("plain.sm_100.cubin", &n, 0);

    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, p, n, "a"), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_OK);
    ck_assert_uint_eq(r.code, 0);
    ck_assert_int_eq(r.from, CUVET_FORM_CAPMERC);
    ck_assert_int_eq(r.to, CUVET_FORM_SASS);
    ck_assert_uint_eq(r.source.sm, 100);
    ck_assert_uint_eq(r.target.sm, 103);
    ck_assert_str_eq(r.backend, "strip");
    ck_assert(strstr(said, "CV-FINAL-023") && strstr(said, "CV-FINAL-022"));
    ck_assert(!strstr(said, "CV-NOTE-022")); /* of the result: it is what was meant */
    /* the next one takes its place, whatever becomes of it */
    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, p, n / 2, "a"), CUVET_E_MALFORMED);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_OK);
    ck_assert_uint_eq(r.code, 6);
    ck_assert_str_eq(r.text, "unsupported elf type");
    ck_assert_ptr_null(r.bytes);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, AT_FDCWD, "x", CUVET_SAVE_REPLACE), CUVET_E_STATE);
    p = sample("plain.sm_110.cubin", &n, 0);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, p, n, NULL), CUVET_E_REFUSED);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_OK);
    ck_assert_uint_eq(r.code, 26);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &f), CUVET_OK);
}
END_TEST

START_TEST(explanations)
{
    cuvet_finalizer f = make(options(103, CUVET_FORM_SAME));
    cuvet_final_explanation e = { .size = sizeof(e) };
    cuvet_final_result r = { .size = sizeof(r) };
    size_t n;
    const uint8_t *p = sample("plain.sm_100.rdc.cubin", &n, 0);

    ck_assert_int_eq(cuvet_finalizer_explain(ctx, f, p, n, &e), CUVET_OK);
    ck_assert_str_eq(e.backend, "copy");
    ck_assert(e.claims && e.claims->has_mask && e.fastpath && !e.linked);
    ck_assert_uint_eq(e.claims->mask, 9);
    ck_assert_uint_eq(e.can, 0);
    ck_assert_uint_eq(e.capsules, 1);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_E_STATE); /* nothing was made */
    p = sample("plain.sm_110.cubin", &n, 0);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, f, p, n, &e), CUVET_E_REFUSED);
    ck_assert_uint_eq(e.code, 26);
    ck_assert_uint_eq(e.can, 26);
    ck_assert_ptr_null(e.backend);
    p = sample("plain.sm_103.cubin", &n, 0);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, f, p, n, &e), CUVET_OK);
    ck_assert_uint_eq(e.code, 257);
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, f, "no ELF", 6, &e), CUVET_E_MALFORMED);
    ck_assert_uint_eq(e.code, 6);
    ck_assert_uint_eq(e.target.sm, 103);
    ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &f), CUVET_OK);
    /* nothing is known, and nothing is said of it; what was wanted is known all the same */
    f = make(options(0, CUVET_FORM_SASS));
    ck_assert_int_eq(cuvet_finalizer_explain(ctx, f, "no ELF", 6, &e), CUVET_E_MALFORMED);
    ck_assert_uint_eq(e.source.sm + e.target.sm, 0);
    ck_assert(!e.fastpath);
    ck_assert_int_eq(e.to, CUVET_FORM_SASS);
}
END_TEST

/* The pure queries; every cell of their tables is in model/test_retarget.c. */
START_TEST(queries)
{
    cuvet_final_claims c = { .size = sizeof(c), .isa = 0x0101, .level = 1, .has_mask = true, .mask = 9 };

    ck_assert_uint_eq(cuvet_can_finalize(NULL, 100, 103, 4), 24);
    ck_assert_uint_eq(cuvet_can_finalize(&c, 100, 103, 4), 0);
    ck_assert_uint_eq(cuvet_can_finalize(&c, 103, 100, 4), 26);
    c.accel = true;
    ck_assert_uint_eq(cuvet_can_finalize(&c, 100, 103, 4), 26);
    c.level = 2;
    ck_assert_uint_eq(cuvet_can_finalize(&c, 100, 103, 2), 0);
    ck_assert_uint_eq(cuvet_can_finalize(&c, 100, 103, 1), 26);
    ck_assert(cuvet_can_fastpath(&c, 100, 103, true));
    ck_assert(!cuvet_can_fastpath(&c, 100, 103, false));
    ck_assert(!cuvet_can_fastpath(&c, 100, 110, true));
    ck_assert(cuvet_can_fastpath(NULL, 110, 101, true));
    c.isa = 0x0102;
    ck_assert_uint_eq(cuvet_can_finalize(&c, 100, 100, 4), 25);
    c.size = 1; /* of no structure that ever was */
    ck_assert_uint_eq(cuvet_can_finalize(&c, 100, 100, 4), CUVET_FINAL_CONFLICT);
    ck_assert(!cuvet_can_fastpath(&c, 100, 103, true));
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
    cuvet_finalize_options o = options(103, CUVET_FORM_SAME);
    cuvet_finalizer f;

    o.flags |= CUVET_FINALIZE_TOOL_NOTE;
    for (size_t i = 0; i < sizeof(TOOLS) / sizeof(TOOLS[0]); i++) {
        o.tool = TOOLS[i];
        ck_assert_msg(cuvet_finalizer_create(ctx, &o, &f) == CUVET_E_USAGE, "%zu", i);
    }
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        o.tool = GOOD[i];
        f = make(o);
        ck_assert_int_eq(cuvet_finalizer_destroy(ctx, &f), CUVET_OK);
    }
    o.tool = NULL;
    o.tool_version = "1\t";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o.tool_version = NULL;
    o.tool_command = "x\x01";
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &o, &f), CUVET_E_USAGE);
    o.flags &= ~CUVET_FINALIZE_TOOL_NOTE; /* not asked for: not looked at */
    o.tool = "nvlink";
    f = make(o);
}
END_TEST

/* Names given for the note are copied, and written. */
START_TEST(names)
{
    char tool[] = "mine", command[] = "as I like";
    cuvet_finalize_options o = options(103, CUVET_FORM_SAME);
    cuvet_finalizer f;
    cuvet_final_result r = { .size = sizeof(r) };
    size_t n;
    const uint8_t *p = sample("plain.sm_100.cubin", &n, 0);

    o.flags |= CUVET_FINALIZE_TOOL_NOTE;
    o.tool = tool;
    o.tool_command = command;
    f = make(o);
    memset(tool, 'x', 4);
    memset(command, 'x', 9);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, p, n, NULL), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_OK);
    ck_assert_ptr_nonnull(
        memmem(r.bytes, r.n, "\0mine\0" CV_VERSION "\0\0as I like\0", 16 + sizeof(CV_VERSION) - 1));
}
END_TEST

/* What was cancelled ends as that, and stays so. */
START_TEST(cancelled)
{
    cuvet_finalizer f = make(options(103, CUVET_FORM_SASS)), none = { 0 };
    cuvet_final_result r = { .size = sizeof(r) };
    size_t n;
    const uint8_t *p = sample("plain.sm_100.g.cubin", &n, 0);

    ck_assert_int_eq(cuvet_finalizer_cancel(NULL, f), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_finalizer_cancel(ctx, none), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_finalizer_cancel(ctx, f), CUVET_OK);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(cuvet_finalizer_run(ctx, f, p, n, NULL), CUVET_E_CANCELLED);
        ck_assert_int_eq(cuvet_finalizer_get_result(ctx, f, &r), CUVET_OK);
        ck_assert_uint_eq(r.code, 263);
        ck_assert_ptr_null(r.bytes);
    }
}
END_TEST

START_TEST(files)
{
    char dir[SCRATCH_MAX];
    cuvet_finalizer f = make(options(0, CUVET_FORM_SAME));
    size_t n;
    const uint8_t *p = sample("plain.sm_100.cubin", &n, 0);
    int fd;

    scratch_make(dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(cuvet_finalizer_run(ctx, f, p, n, NULL), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, fd, "a/b", 0), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, fd, "out", 0), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, fd, "out", 0), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, fd, "out", CUVET_SAVE_REPLACE), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_save(ctx, f, -1, "out", CUVET_SAVE_REPLACE), CUVET_E_IO);
    ck_assert_int_eq(unlinkat(fd, "out", 0), 0);
    close(fd);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing else was left */
}
END_TEST

Suite *suite_finalizer(void)
{
    Suite *s = suite_create("api/finalizer");
    TCase *c = tcase_create("finalizer");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, misuse);
    tcase_add_test(c, results);
    tcase_add_test(c, explanations);
    tcase_add_test(c, queries);
    tcase_add_test(c, names);
    tcase_add_test(c, bad_names);
    tcase_add_test(c, cancelled);
    tcase_add_test(c, files);
    suite_add_tcase(s, c);
    return s;
}
