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
        cv_rule rule = cv_compile_rule((cuvet_compile_end)ROWS[i].end);

        ck_assert_int_eq(rule, ROWS[i].rule);
        ck_assert_str_eq(cuvet_rule_get(rule)->id, ROWS[i].id);
        ck_assert_int_eq(cuvet_rule_get(rule)->cls, ROWS[i].cls);
        ck_assert_int_eq(cuvet_rule_get(rule)->severity, CUVET_ERROR);
    }
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_NEEDED_PTX)->id, "CV-COMPILE-001");
    ck_assert_str_eq(cuvet_rule_get(CV_R_COMPILE_NEEDED_IR)->id, "CV-COMPILE-002");
}
END_TEST

START_TEST(messages)
{
    cuvet_diag diag = { .rule = CV_R_COMPILE_NEEDED_PTX, .got = 90, .want = 90 | (uint64_t)'a' << 32 };
    char text[128];

    cuvet_diag_message(&diag, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "needs a compiler: PTX for compute_90,"));
    ck_assert_ptr_nonnull(strstr(text, "'sm_90a'"));
    diag.rule = CV_R_COMPILE_FAILED;
    diag.got = 255;
    cuvet_diag_message(&diag, text, sizeof(text));
    ck_assert_str_eq(text, "compiler for 'sm_90a' ended with exit code 255");
}
END_TEST

START_TEST(clean_log)
{
    static const char SAID[] = "ok\ttab\r\nline\n\x1b[31mred\x7f\x80\xff\0end";
    cv_mem mem;
    cv_u8s out = { 0 };

    cv_mem_init(&mem, NULL, UINT64_MAX);
    ck_assert(cv_clean_log(&mem, cv_span_of(SAID, sizeof(SAID) - 1, 0), &out));
    ck_assert_str_eq((const char *)out.items, "ok tab\nline\n?[31mred????end");
    ck_assert_uint_eq(out.count, strlen((const char *)out.items) + 1);
    ck_assert(cv_clean_log(&mem, cv_span_of("x", 1, 0), &out)); /* overwritten, not appended */
    ck_assert_str_eq((const char *)out.items, "x");
    ck_assert(cv_clean_log(&mem, cv_span_of(NULL, 0, 0), &out));
    ck_assert_uint_eq(out.count, 0);
    cv_u8s_free(&mem, &out);
    mem.limit = 4;
    ck_assert(!cv_clean_log(&mem, cv_span_of("hello", 5, 0), &out));
    cv_u8s_free(&mem, &out);
    ck_assert_uint_eq(mem.live, 0);
}
END_TEST

START_TEST(long_log)
{
    size_t count = CV_LOG_MOST + 10;
    char *said = malloc(count);
    cv_u8s out = { 0 };
    cv_mem mem;

    memset(said, 'a', count);
    cv_mem_init(&mem, NULL, UINT64_MAX);
    ck_assert(cv_clean_log(&mem, cv_span_of(said, count, 0), &out));
    ck_assert_uint_eq(out.count, CV_LOG_MOST + 1);
    ck_assert_uint_eq(*cv_u8s_at(&out, CV_LOG_MOST), 0);
    cv_u8s_free(&mem, &out);
    free(said);
}
END_TEST

Suite *suite_compile(void);
Suite *suite_compile(void)
{
    Suite *suite = suite_create("compile");
    TCase *tcase = tcase_create("compile");

    tcase_add_test(tcase, rules);
    tcase_add_test(tcase, messages);
    tcase_add_test(tcase, clean_log);
    tcase_add_test(tcase, long_log);
    suite_add_tcase(suite, tcase);
    return suite;
}
