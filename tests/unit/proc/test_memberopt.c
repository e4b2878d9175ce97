/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options of a member: what passes, in which spelling, and what is said about the rest. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/compile.h"

#define BASE 0x1000

static char said[1024]; /* "id@offset+length " of each finding */

static void on_diag(void *user, const cuvet_diag *diag)
{
    size_t len = strlen(said);

    (void)user;
    ck_assert_int_eq(diag->severity, CUVET_NOTE);
    snprintf(said + len, sizeof(said) - len, "%s@%d+%d ", cuvet_rule_get(diag->rule)->id + 11,
             (int)(diag->file_off - BASE), (int)diag->length);
}

static cv_ctx *context(const char *preset)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset(preset, &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = on_diag;
    said[0] = 0;
    return &ctx;
}

/* Options as one text: each in brackets. */
static const char *parse(const char *text, size_t len, bool ltoir, const char *caller, size_t n_caller)
{
    static char got[2048];
    cv_ctx *ctx = context("strict");
    cv_u8s given = { 0 }, out = { 0 };
    size_t at = 0;

    for (size_t i = 0; i < n_caller; i++)
        ck_assert(cv_u8s_push(&ctx->mem, &given, (uint8_t)caller[i]));
    ck_assert_int_eq(cv_member_options(ctx, cv_span_of(text, len, BASE), ltoir, &given, &out), CUVET_OK);
    got[0] = 0;
    while (at < out.count) {
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "[%s]", (const char *)out.items + at);
        at += strlen((const char *)out.items + at) + 1;
    }
    cv_u8s_free(&ctx->mem, &given);
    cv_u8s_free(&ctx->mem, &out);
    ck_assert_uint_eq(ctx->mem.live, 0);
    ck_assert_int_eq(ctx->verdict, CUVET_V_CLEAN); /* only notes */
    cv_islands_drop();
    return got;
}

static const struct {
    const char *text, *want, *said;
} PTX[] = {
    { "", "", "" },
    { "   \t\n ", "", "" },
    /* what genuine members hold */
    { "--compile-only  ", "[--compile-only]", "" },
    { "-maxrregcount=96 -v --compile-only  ", "[--maxrregcount=96][--verbose][--compile-only]", "" },
    { " --fmad false ", "[--fmad=false]", "" },
    { "-regUsageLevel=4  ", "[--register-usage-level=4]", "" },
    { "--register-usage-level=3  ", "[--register-usage-level=3]", "" },
    { " -maxrregcount=40 ", "[--maxrregcount=40]", "" },
    { "-uumn  ", "", "010@0+5 " },
    { "-uumn --ext-desc-file=\"/usr/local/x y.txt\"  ", "", "010@0+5 010@6+36 " },
    { " -maxrregcount=40 -g --dont-merge-basicblocks --return-at-end ",
      "[--maxrregcount=40][--device-debug][--dont-merge-basicblocks][--return-at-end]", "" },
    { " --generate-line-info ", "[--generate-line-info]", "" },
    { "-v -O2  ", "[--verbose][--opt-level=2]", "" },
    { "-dlcm=ca  ", "[--def-load-cache=ca]", "" },
    { "-optf /tmp/x  ", "", "010@0+12 " },
    /* spellings */
    { "-O0", "[--opt-level=0]", "" },
    { "-O=3", "[--opt-level=3]", "" },
    { "--opt-level 1", "[--opt-level=1]", "" },
    { "--opt-level=1", "[--opt-level=1]", "" },
    { "-O 2", "", "011@0+2 010@3+1 " },
    { "-opt-level=2", "", "010@0+12 " },
    { "-O4", "", "011@0+3 " },
    { "-O22", "", "011@0+4 " },
    { "-O02", "", "011@0+4 " },
    { "-O", "", "011@0+2 " },
    { "-Ofc mid", "[--Ofast-compile=mid]", "" },
    { "-Ofcmid", "", "010@0+7 " },
    { "--O2", "", "010@0+4 " },
    { "-m64 -m32", "[--machine=64]", "011@5+4 " },
    { "--machine 64", "[--machine=64]", "" },
    { "-c", "[--compile-only]", "" },
    { "--device-debug", "[--device-debug]", "" },
    { "-lineinfo", "[--generate-line-info]", "" },
    { "-g=", "", "011@0+3 " },
    { "-g=true", "", "011@0+7 " },
    { "--device-debug=/etc/passwd", "", "011@0+26 " },
    { "-gx", "", "010@0+3 " },
    { "-g true", "[--device-debug]", "010@3+4 " },
    { "g", "", "010@0+1 " },
    { "-", "", "010@0+1 " },
    { "--", "", "010@0+2 " },
    { "=", "", "010@0+1 " },
    /* values */
    { "-maxrregcount 0", "[--maxrregcount=0]", "" },
    { "-maxrregcount 255", "[--maxrregcount=255]", "" },
    { "-maxrregcount 256", "", "011@0+17 " },
    { "-maxrregcount=99999999999999999999", "", "011@0+34 " },
    { "-maxrregcount=0x20", "", "011@0+18 " },
    { "-maxrregcount=040", "", "011@0+17 " },
    { "-maxrregcount=+40", "", "011@0+17 " },
    { "-maxrregcount=40,", "", "011@0+17 " },
    { "-maxrregcount=\"40\"", "", "011@0+18 " },
    { "-maxrregcount=", "", "011@0+14 " },
    { "-maxrregcount", "", "011@0+13 " },
    { "-maxrregcount -g", "[--device-debug]", "011@0+13 " },
    { "-maxrregcount32", "", "010@0+15 " },
    { "-maxrregcount=archmax", "[--maxrregcount=archmax]", "" },
    { "-maxrregcount=archmaxx", "", "011@0+22 " },
    { "-maxrregcount=archmax archmin", "[--maxrregcount=archmax]", "010@22+7 " },
    { "-maxrregcount=\"archmax archmin\"", "", "011@0+31 " },
    { "--fmad=1", "", "011@0+8 " },
    { "--fmad=TRUE", "", "011@0+11 " },
    { "-regUsageLevel=10 -regUsageLevel=11", "[--register-usage-level=10]", "011@18+17 " },
    /* files, outputs, targets, threads, other code: never */
    { "@file", "", "010@0+5 " },
    { "-o /tmp/x", "", "010@0+9 " },
    { "--output-file=/x", "", "010@0+16 " },
    { "/etc/passwd", "", "010@0+11 " },
    { "-arch=sm_75 -ias x -e k --split-compile=0 --sanitize=memcheck -h", "",
      "010@0+11 010@12+6 010@19+4 010@24+17 010@42+19 010@62+2 " },
    { "\"-g -c\"", "", "010@0+7 " },
    { "--x=\"-g", "", "010@0+7 " },
    { "-g;rm", "", "010@0+5 " },
    { "-g\x01", "", "010@0+3 " },
    /* twice */
    { "-g -g --device-debug", "[--device-debug]", "" },
    { "-O2 -v -O3", "[--verbose][--opt-level=3]", "012@0+3 " },
    { "-O3 -O3", "[--opt-level=3]", "" },
    { "-O2 -O9", "[--opt-level=2]", "011@4+3 " },
};

START_TEST(ptx)
{
    const char *got = parse(PTX[_i].text, strlen(PTX[_i].text), false, "", 0);

    ck_assert_msg(!strcmp(got, PTX[_i].want) && !strcmp(said, PTX[_i].said), "'%s': %s, said '%s'",
                  PTX[_i].text, got, said);
}
END_TEST

START_TEST(ir)
{
    ck_assert_str_eq(parse("-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 ", 40, true, "", 0),
                     "[-ftz=0][-prec_div=1][-prec_sqrt=1][-fmad=1]");
    ck_assert_str_eq(said, "");
    ck_assert_str_eq(
        parse("-maxreg 32 -generate-line-info -split-compile 2 -O3 --ftz=0 -ftz=2", 66, true, "", 0),
        "[-maxreg=32][-generate-line-info]");
    ck_assert_str_eq(said, "010@31+16 010@48+3 010@52+7 011@60+6 ");
    /* neither knows the other's */
    ck_assert_str_eq(parse("-ftz=0 -fmad=1", 14, false, "", 0), "");
    ck_assert_str_eq(said, "010@0+6 011@7+7 ");
    ck_assert_str_eq(parse("-g -maxrregcount=3", 18, true, "", 0), "");
}
END_TEST

/* An option of the caller, whatever its spelling and its value. */
START_TEST(caller_wins)
{
    static const char CALLER[] = "-O1\0--maxrregcount\00032\0-g x\0file.ptx\0-o\0";

    ck_assert_str_eq(parse("--opt-level=3 -v -maxrregcount=40 -g", 36, false, CALLER, sizeof(CALLER) - 1),
                     "[--verbose][--device-debug]");
    ck_assert_str_eq(said, "013@0+13 013@17+16 ");
    ck_assert_str_eq(parse("-O3", 3, false, "--opt-level=9", 14), ""); /* though its value is odd */
    ck_assert_str_eq(said, "013@0+3 ");
    ck_assert_str_eq(parse("-O3", 3, false, "--opt-level=0", 13), "[--opt-level=3]"); /* no NUL: no option */
}
END_TEST

START_TEST(rules)
{
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_OPTION_UNKNOWN)->id, "CV-COMPILE-010");
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_OPTION_VALUE)->id, "CV-COMPILE-011");
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_OPTION_TWICE)->id, "CV-COMPILE-012");
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_OPTION_CALLER)->id, "CV-COMPILE-013");
}
END_TEST

START_TEST(bytes)
{
    ck_assert_str_eq(parse("-g\0-c", 5, false, "", 0), ""); /* one word, and none that is known */
    ck_assert_str_eq(said, "010@0+5 ");
    ck_assert_str_eq(parse("\xff\xfe", 2, false, "", 0), "");
    ck_assert_str_eq(said, "010@0+2 ");
}
END_TEST

/* Whatever the bytes: only our own words come out, each of them once. */
START_TEST(random_bytes)
{
    static const char *const WORDS[] = { "-g", "-O", "--fmad", "=", " ", "3", "true", "-maxrregcount",
                                         "\"", "-",  "x" };
    uint32_t seed = 12345;

    for (int i = 0; i < 5000; i++) {
        char text[128] = "";
        const char *got;
        int count;

        for (int j = 0; j < 12; j++) {
            seed = seed * 1664525 + 1013904223;
            strcat(text, WORDS[(seed >> 16) % 11]);
        }
        got = parse(text, strlen(text), false, "", 0);
        count = 0;
        for (const char *at = got; *at; at++) {
            ck_assert_msg((*at >= 'a' && *at <= 'z') || strchr("[]-=0123456789", *at), "'%s': %s", text, got);
            count += *at == '[';
        }
        ck_assert_int_le(count, 4);
    }
}
END_TEST

START_TEST(limits)
{
    cv_ctx *ctx = context("tiny");
    char text[200000];
    cv_u8s none = { 0 }, out = { 0 };
    int cancel = 1;

    memset(text, ' ', sizeof(text));
    for (size_t i = 0; i < sizeof(text); i += 2)
        text[i] = '-';
    ctx->emit = NULL;
    ck_assert_int_eq(cv_member_options(ctx, cv_span_of(text, sizeof(text), BASE), false, &none, &out),
                     CUVET_E_LIMIT);
    ck_assert_uint_eq(ctx->seen[CV_R_LIMIT_WORK], 1);
    cv_ctx_unit(ctx, 0);
    cv_ctx_set_work(ctx, 0);
    ctx->cancel = &cancel;
    ck_assert_int_eq(cv_member_options(ctx, cv_span_of("-g", 2, BASE), false, &none, &out),
                     CUVET_E_CANCELLED);
    ctx = context("tiny");
    ctx->emit = NULL;
    ctx->mem.limit = 3;
    ck_assert_int_eq(cv_member_options(ctx, cv_span_of("-g", 2, BASE), false, &none, &out), CUVET_E_LIMIT);
    cv_u8s_free(&ctx->mem, &out);
    cv_islands_drop();
}
END_TEST

/* What a scan says: warnings. */
static void on_warning(void *user, const cuvet_diag *diag)
{
    size_t len = strlen(said);
    char text[200];

    (void)user;
    ck_assert_int_eq(diag->severity, CUVET_WARNING);
    (void)cuvet_diag_message(diag, text, sizeof(text));
    snprintf(said + len, sizeof(said) - len, "%s@%d+%d %.*s ", cuvet_rule_get(diag->rule)->id + 10,
             (int)(diag->file_off - BASE), (int)diag->length,
             (int)(strrchr(text, '\'') + 1 - strchr(text, '\'')), strchr(text, '\''));
}

static const struct {
    bool ltoir;
    const char *text, *said;
} LOOK[] = {
    { false, "", "" },
    { false, "-maxrregcount=96 -v --compile-only  --generate-line-info ", "" },
    { false, "-uumn --ext-desc-file=\"/opt/cuda-13/bin/ptxExtDesc.txt\"  ", "" },
    { false, "--ext-desc-file /opt/bin/ptxExtDesc.txt -e kern,_Z1fv$x -m32 -sanitize memcheck -fmad", "" },
    { true, "-maxreg 40 -generate-line-info -ftz=1 -prec_div=0 -prec_sqrt=0 -fmad=1 ", "" },
    { true, "-O3 --compile-only -opt=2", "" },
    { false, "-ftz=1", "053@0+6 '-ftz=1' " },
    { false, "-v\t-optf /tmp/x", "052@3+12 '-optf /tmp/x' " },
    { false, "--output-file=/tmp/made -v", "052@0+23 '--output-file=/t' " },
    { false, "--ext-desc-file=ptxExtDesc.txt", "052@0+30 '--ext-desc-file=' " },
    { false, "--ext-desc-file=\"/a\"b/ptxExtDesc.txt\"", "052@0+37 '--ext-desc-file=' " },
    { false, "-o", "052@0+2 '-o' " },
    { true, "-optf=/x", "052@0+8 '-optf=/x' " },
    { false, "-v -", "053@3+1 '-' " },
    { false, "/etc/passwd", "053@0+11 '/etc/passwd' " },
    { false, "-g=/x -O/x -maxrregcount /x", "053@0+5 '-g=/x' 053@6+4 '-O/x' 053@11+16 '-maxrregcount /x' " },
    { false, "-e \"a -optf /x", "053@0+14 '-e \"a -optf /x' " },
    { false, "\x1b[2J\xff", "053@0+5 '?[2J?' " },
};

START_TEST(looked_at)
{
    cv_ctx *ctx = context("strict");

    ctx->emit = on_warning;
    cv_member_options_look(ctx, cv_span_of(LOOK[_i].text, strlen(LOOK[_i].text), BASE), LOOK[_i].ltoir);
    ck_assert_str_eq(said, LOOK[_i].said);
    cv_islands_drop();
}
END_TEST

Suite *suite_memberopt(void);
Suite *suite_memberopt(void)
{
    Suite *suite = suite_create("memberopt");
    TCase *tcase = tcase_create("memberopt");

    tcase_add_loop_test(tcase, ptx, 0, sizeof(PTX) / sizeof(PTX[0]));
    tcase_add_loop_test(tcase, looked_at, 0, sizeof(LOOK) / sizeof(LOOK[0]));
    tcase_add_test(tcase, ir);
    tcase_add_test(tcase, caller_wins);
    tcase_add_test(tcase, rules);
    tcase_add_test(tcase, bytes);
    tcase_add_test(tcase, random_bytes);
    tcase_add_test(tcase, limits);
    suite_add_tcase(suite, tcase);
    return suite;
}
