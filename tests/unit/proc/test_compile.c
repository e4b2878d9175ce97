/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proc/compile.h"

START_TEST(rules)
{
    static const struct {
        int end;
        cv_rule rule;
        const char *id;
        cuvet_class cls;
    } ROWS[] = {
        { CUVET_COMPILE_FAILED, CV_R_COMPILE_FAILED, "CV-COMPILE-003", CUVET_C_UNSUPPORTED },
        { CUVET_COMPILE_CRASHED, CV_R_COMPILE_CRASHED, "CV-COMPILE-004", CUVET_C_UNSUPPORTED },
        { CUVET_COMPILE_TIMEOUT, CV_R_COMPILE_TIMEOUT, "CV-COMPILE-005", CUVET_C_LIMIT },
        { CUVET_COMPILE_EMPTY, CV_R_COMPILE_EMPTY, "CV-COMPILE-006", CUVET_C_UNSUPPORTED },
        { CUVET_COMPILE_OVERSIZED, CV_R_COMPILE_OVERSIZED, "CV-COMPILE-007", CUVET_C_LIMIT },
        { CUVET_COMPILE_NOT_FOUND, CV_R_COMPILE_NOT_FOUND, "CV-COMPILE-008", CUVET_C_IO },
        { CUVET_COMPILE_UNSUPPORTED, CV_R_COMPILE_UNSUPPORTED, "CV-COMPILE-009", CUVET_C_UNSUPPORTED },
        { 99, CV_R_COMPILE_FAILED, "CV-COMPILE-003", CUVET_C_UNSUPPORTED }, /* a plug-in's invention */
        { -1, CV_R_COMPILE_FAILED, "CV-COMPILE-003", CUVET_C_UNSUPPORTED },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cv_rule r = cv_compile_rule((cuvet_compile_end)ROWS[i].end);

        ck_assert_int_eq(r, ROWS[i].rule);
        ck_assert_str_eq(cuvet_rule_get(r)->id, ROWS[i].id);
        ck_assert_int_eq(cuvet_rule_get(r)->cls, ROWS[i].cls);
        ck_assert_int_eq(cuvet_rule_get(r)->severity, CUVET_ERROR);
    }
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_NEEDED_PTX)->id, "CV-COMPILE-001");
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_NEEDED_IR)->id, "CV-COMPILE-002");
}
END_TEST

START_TEST(messages)
{
    cuvet_diag d = { .rule = CV_R_COMPILE_NEEDED_PTX, .got = 90, .want = 90 | (uint64_t)'a' << 32 };
    char text[128];

    cuvet_diag_message(&d, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "needs a compiler: PTX for compute_90,"));
    ck_assert_ptr_nonnull(strstr(text, "'sm_90a'"));
    d.rule = CV_R_COMPILE_FAILED;
    d.got = 255;
    cuvet_diag_message(&d, text, sizeof(text));
    ck_assert_str_eq(text, "compiler for 'sm_90a' ended with exit code 255");
}
END_TEST

START_TEST(clean_log)
{
    static const char SAID[] = "ok\ttab\r\nline\n\x1b[31mred\x7f\x80\xff\0end";
    cv_mem m;
    cv_u8s out = { 0 };

    cv_mem_init(&m, NULL, UINT64_MAX);
    ck_assert(cv_clean_log(&m, cv_span_of(SAID, sizeof(SAID) - 1, 0), &out));
    ck_assert_str_eq((const char *)out.v, "ok tab\nline\n?[31mred????end");
    ck_assert_uint_eq(out.n, strlen((const char *)out.v) + 1);
    ck_assert(cv_clean_log(&m, cv_span_of("x", 1, 0), &out)); /* overwritten, not appended */
    ck_assert_str_eq((const char *)out.v, "x");
    ck_assert(cv_clean_log(&m, cv_span_of(NULL, 0, 0), &out));
    ck_assert_uint_eq(out.n, 0);
    cv_u8s_free(&m, &out);
    m.limit = 4;
    ck_assert(!cv_clean_log(&m, cv_span_of("hello", 5, 0), &out));
    cv_u8s_free(&m, &out);
    ck_assert_uint_eq(m.live, 0);
}
END_TEST

START_TEST(long_log)
{
    size_t n = CV_LOG_MOST + 10;
    char *said = malloc(n);
    cv_u8s out = { 0 };
    cv_mem m;

    memset(said, 'a', n);
    cv_mem_init(&m, NULL, UINT64_MAX);
    ck_assert(cv_clean_log(&m, cv_span_of(said, n, 0), &out));
    ck_assert_uint_eq(out.n, CV_LOG_MOST + 1);
    ck_assert_uint_eq(*cv_u8s_at(&out, CV_LOG_MOST), 0);
    cv_u8s_free(&m, &out);
    free(said);
}
END_TEST

Suite *suite_compile(void);
Suite *suite_compile(void)
{
    Suite *s = suite_create("compile");
    TCase *t = tcase_create("compile");

    tcase_add_test(t, rules);
    tcase_add_test(t, messages);
    tcase_add_test(t, clean_log);
    tcase_add_test(t, long_log);
    suite_add_tcase(s, t);
    return s;
}
