/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public classification: arguments, limits of older callers, the diagnostic, names. What the answers are
 * is tested in tests/unit/intake. */
#include <check.h>
#include <string.h>

#include <cuvet/classify.h>

#include "base/rules.h"
#include "support/guard.h"

#define TEXT "// c\n.version 9.0\n"

static cuvet_content_info dirty(void)
{
    cuvet_content_info i = { .size = sizeof(i) };

    memset(&i, 0xA5, sizeof(i));
    i.size = sizeof(i);
    return i;
}

static bool is_zero(const cuvet_content_info *i)
{
    return i->type == CUVET_K_NONE && i->off == 0 && i->length == 0 && i->sm == 0 && !i->capsule &&
           !i->mercury && !i->is32 && !i->thin;
}

START_TEST(null_arguments)
{
    cuvet_content_info i = dirty();
    cuvet_diag d = { .size = sizeof(d) };

    ck_assert_int_eq(cuvet_classify(NULL, 1, NULL, 0, &i, &d), CUVET_E_NULL);
    ck_assert(is_zero(&i));
    ck_assert_ptr_null(cuvet_rule_get(d.rule));
    d.rule = 0;
    ck_assert_int_eq(cuvet_classify(TEXT, 5, NULL, 0, NULL, &d), CUVET_E_NULL);
    ck_assert_ptr_null(cuvet_rule_get(d.rule));
    ck_assert_int_eq(cuvet_classify(TEXT, 5, NULL, 0, NULL, NULL), CUVET_E_NULL);
    i = dirty();
    ck_assert_int_eq(cuvet_classify(NULL, 0, NULL, 0, &i, &d), CUVET_E_UNKNOWN);
    ck_assert(is_zero(&i));
    ck_assert_uint_eq(d.rule, CV_R_CLASS_EMPTY);
    ck_assert_int_eq(cuvet_classify(NULL, 0, NULL, 0, &i, NULL), CUVET_E_UNKNOWN);
}
END_TEST

START_TEST(usage)
{
    cuvet_content_info i = dirty();
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_diag d = { .size = sizeof(d) };

    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), NULL, 2, &i, &d), CUVET_E_USAGE);
    ck_assert(is_zero(&i));
    ck_assert_ptr_null(cuvet_rule_get(d.rule));
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), NULL, CUVET_CLASSIFY_LENIENT | 4, &i, NULL),
                     CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    lim.size = sizeof(lim) + 1;
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), &lim, 0, &i, NULL), CUVET_E_USAGE);
    lim.size = sizeof(lim.size) - 1;
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), &lim, 0, &i, NULL), CUVET_E_USAGE);
}
END_TEST

/* Who was built before the limit existed has the one of the preset, and nothing behind its structure is read.
 */
START_TEST(older_limits)
{
    size_t before = offsetof(cuvet_limits, ptx_probe), with = before + sizeof(uint64_t);
    cuvet_content_info i = { .size = sizeof(i) };
    cuvet_limits lim = { .size = sizeof(lim) };
    guard g;

    guard_open(&g, sizeof(lim));
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.ptx_probe = 4;
    for (size_t size = sizeof(lim.size); size <= sizeof(lim); size += 8) {
        const void *p;

        lim.size = size;
        p = guard_end(&g, &lim, size);
        ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), p, 0, &i, NULL),
                         size < with ? CUVET_OK : CUVET_E_LIMIT);
    }
    guard_close(&g);
}
END_TEST

START_TEST(diagnostic)
{
    uint8_t elf[64] = "\x7F"
                      "ELF\2\1\1\x41";
    cuvet_content_info i = { .size = sizeof(i) };
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_diag d = { .size = sizeof(d) };
    char text[200];

    elf[18] = 190;
    elf[52] = 63;
    ck_assert_int_eq(cuvet_classify(elf, 64, NULL, 0, &i, &d), CUVET_E_MALFORMED);
    ck_assert_int_eq(i.type, CUVET_K_CUBIN);
    ck_assert_uint_eq(d.rule, CV_R_CLASS_ELF_EHSIZE);
    ck_assert_int_eq(d.severity, CUVET_ERROR);
    ck_assert(d.file_off == 52 && d.length == 2 && d.got == 63 && d.want == 64 && !d.inner && d.where.n == 0);
    ck_assert_uint_gt(cuvet_diag_message(&d, text, sizeof(text)), 0);
    ck_assert_str_eq(text, "e_ehsize 63, expected 64");
    ck_assert_int_eq(cuvet_classify(elf, 64, NULL, 0, &i, NULL), CUVET_E_MALFORMED);
    elf[52] = 64;
    ck_assert_int_eq(cuvet_classify(elf, 64, NULL, 0, &i, &d), CUVET_OK);
    ck_assert_ptr_null(cuvet_rule_get(d.rule));
    ck_assert_int_eq(cuvet_classify(elf, 63, NULL, 0, &i, &d), CUVET_E_TRUNCATED);
    ck_assert(d.rule == CV_R_CLASS_ELF_SHORT && d.got == 63 && d.want == 64);
    ck_assert_int_eq(cuvet_classify(elf, 63, NULL, CUVET_CLASSIFY_LENIENT, &i, &d), CUVET_OK);
    ck_assert(i.type == CUVET_K_CUBIN && i.length == 63);
    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    lim.ptx_probe = 5;
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), &lim, 0, &i, &d), CUVET_E_LIMIT);
    ck_assert(d.rule == CV_R_LIMIT_PTX_PROBE && d.file_off == 5 && d.want == 5);
    ck_assert_int_eq(cuvet_classify("hello, world", 12, NULL, 0, &i, &d), CUVET_E_UNKNOWN);
    ck_assert(d.rule == CV_R_CLASS_UNKNOWN && d.got == UINT64_C(0x77202C6F6C6C6568));
}
END_TEST

/* Nothing but the bytes that are there is read: every prefix, in memory that ends there. */
START_TEST(nothing_else_is_read)
{
    static const char fatbin[] = "\x50\xED\x55\xBA\1\0\x10\0\x10\0\0\0\0\0\0\0aaaaaaaaaaaaaaaa";
    cuvet_content_info i = { .size = sizeof(i) };
    guard g;

    guard_open(&g, 64);
    for (size_t n = 0; n <= 32; n++) {
        cuvet_status want = n < 2 ? CUVET_E_UNKNOWN : n < 32 ? CUVET_E_TRUNCATED : CUVET_OK;

        ck_assert_int_eq(cuvet_classify(guard_end(&g, fatbin, n), n, NULL, 0, &i, NULL), want);
        ck_assert_int_eq(i.type, n < 2 ? CUVET_K_NONE : CUVET_K_FATBIN);
    }
    guard_close(&g);
}
END_TEST

START_TEST(names)
{
    static const struct {
        cuvet_kind c;
        const char *name;
    } rows[] = {
        { CUVET_K_NONE, "unknown" }, { CUVET_K_NVVM, "nvvm" },       { CUVET_K_FATBIN, "fatbin" },
        { CUVET_K_CUBIN, "elf" },    { CUVET_K_PTX, "ptx" },         { CUVET_K_WRAPPER, "wrapper" },
        { CUVET_K_LTOIR, "lto-ir" }, { CUVET_K_ARCHIVE, "archive" }, { CUVET_K_HOST_ELF, "host-elf" },
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        ck_assert_str_eq(cuvet_kind_name(rows[k].c), rows[k].name);
    ck_assert_str_eq(cuvet_kind_name((cuvet_kind)11), "?");
}
END_TEST

Suite *suite_api_classify(void);
Suite *suite_api_classify(void)
{
    Suite *s = suite_create("api/classify");
    TCase *t = tcase_create("classify");

    tcase_add_test(t, null_arguments);
    tcase_add_test(t, usage);
    tcase_add_test(t, older_limits);
    tcase_add_test(t, diagnostic);
    tcase_add_test(t, nothing_else_is_read);
    tcase_add_test(t, names);
    suite_add_tcase(s, t);
    return s;
}
