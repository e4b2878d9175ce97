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
    cuvet_content_info info = { .size = sizeof(info) };

    memset(&info, 0xA5, sizeof(info));
    info.size = sizeof(info);
    return info;
}

static bool is_zero(const cuvet_content_info *info)
{
    return info->type == CUVET_K_NONE && info->off == 0 && info->length == 0 && info->sm == 0 &&
           !(info->flags & CUVET_CLASSIFIED_CAPSULE) && !(info->flags & CUVET_CLASSIFIED_MERCURY) &&
           !(info->flags & CUVET_CLASSIFIED_32BIT) && !(info->flags & CUVET_CLASSIFIED_THIN);
}

START_TEST(null_arguments)
{
    cuvet_content_info info = dirty();
    cuvet_diag diag = { .size = sizeof(diag) };

    ck_assert_int_eq(cuvet_classify(NULL, 1, NULL, 0, &info, &diag), CUVET_E_NULL);
    ck_assert(is_zero(&info));
    ck_assert_ptr_null(cuvet_rule_get(diag.rule));
    diag.rule = 0;
    ck_assert_int_eq(cuvet_classify(TEXT, 5, NULL, 0, NULL, &diag), CUVET_E_NULL);
    ck_assert_ptr_null(cuvet_rule_get(diag.rule));
    ck_assert_int_eq(cuvet_classify(TEXT, 5, NULL, 0, NULL, NULL), CUVET_E_NULL);
    info = dirty();
    ck_assert_int_eq(cuvet_classify(NULL, 0, NULL, 0, &info, &diag), CUVET_E_UNKNOWN);
    ck_assert(is_zero(&info));
    ck_assert_uint_eq(diag.rule, CV_R_CLASS_EMPTY);
    ck_assert_int_eq(cuvet_classify(NULL, 0, NULL, 0, &info, NULL), CUVET_E_UNKNOWN);
}
END_TEST

START_TEST(usage)
{
    cuvet_content_info info = dirty();
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_diag diag = { .size = sizeof(diag) };

    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), NULL, 2, &info, &diag), CUVET_E_USAGE);
    ck_assert(is_zero(&info));
    ck_assert_ptr_null(cuvet_rule_get(diag.rule));
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), NULL, CUVET_CLASSIFY_LENIENT | 4, &info, NULL),
                     CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    lim.size = sizeof(lim) + 1;
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), &lim, 0, &info, NULL), CUVET_E_USAGE);
    lim.size = sizeof(lim.size) - 1;
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), &lim, 0, &info, NULL), CUVET_E_USAGE);
}
END_TEST

/* Who was built before the limit existed has the one of the preset, and nothing behind its structure is read.
 */
START_TEST(older_limits)
{
    size_t before = offsetof(cuvet_limits, ptx_probe), with = before + sizeof(uint64_t);
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_limits lim = { .size = sizeof(lim) };
    guard_state guard;

    guard_open(&guard, sizeof(lim));
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.ptx_probe = 4;
    for (size_t size = sizeof(lim.size); size <= sizeof(lim); size += 8) {
        const void *block;

        lim.size = size;
        block = guard_end(&guard, &lim, size);
        ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), block, 0, &info, NULL),
                         size < with ? CUVET_OK : CUVET_E_LIMIT);
    }
    guard_close(&guard);
}
END_TEST

START_TEST(diagnostic)
{
    uint8_t elf[64] = "\x7F"
                      "ELF\2\1\1\x41";
    cuvet_content_info info = { .size = sizeof(info) };
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_diag diag = { .size = sizeof(diag) };
    char text[200];

    elf[18] = 190;
    elf[52] = 63;
    ck_assert_int_eq(cuvet_classify(elf, 64, NULL, 0, &info, &diag), CUVET_E_MALFORMED);
    ck_assert_int_eq(info.type, CUVET_K_CUBIN);
    ck_assert_uint_eq(diag.rule, CV_R_CLASS_ELF_EHSIZE);
    ck_assert_int_eq(diag.severity, CUVET_ERROR);
    ck_assert(diag.file_off == 52 && diag.length == 2 && diag.got == 63 && diag.want == 64 &&
              !(diag.flags & CUVET_DIAG_INNER) && diag.where.n == 0);
    ck_assert_uint_gt(cuvet_diag_message(&diag, text, sizeof(text)), 0);
    ck_assert_str_eq(text, "e_ehsize 63, expected 64");
    ck_assert_int_eq(cuvet_classify(elf, 64, NULL, 0, &info, NULL), CUVET_E_MALFORMED);
    elf[52] = 64;
    ck_assert_int_eq(cuvet_classify(elf, 64, NULL, 0, &info, &diag), CUVET_OK);
    ck_assert_ptr_null(cuvet_rule_get(diag.rule));
    ck_assert_int_eq(cuvet_classify(elf, 63, NULL, 0, &info, &diag), CUVET_E_TRUNCATED);
    ck_assert(diag.rule == CV_R_CLASS_ELF_SHORT && diag.got == 63 && diag.want == 64);
    ck_assert_int_eq(cuvet_classify(elf, 63, NULL, CUVET_CLASSIFY_LENIENT, &info, &diag), CUVET_OK);
    ck_assert(info.type == CUVET_K_CUBIN && info.length == 63);
    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    lim.ptx_probe = 5;
    ck_assert_int_eq(cuvet_classify(TEXT, strlen(TEXT), &lim, 0, &info, &diag), CUVET_E_LIMIT);
    ck_assert(diag.rule == CV_R_LIMIT_PTX_PROBE && diag.file_off == 5 && diag.want == 5);
    ck_assert_int_eq(cuvet_classify("hello, world", 12, NULL, 0, &info, &diag), CUVET_E_UNKNOWN);
    ck_assert(diag.rule == CV_R_CLASS_UNKNOWN && diag.got == UINT64_C(0x77202C6F6C6C6568));
}
END_TEST

/* Nothing but the bytes that are there is read: every prefix, in memory that ends there. */
START_TEST(nothing_else_is_read)
{
    static const char fatbin[] = "\x50\xED\x55\xBA\1\0\x10\0\x10\0\0\0\0\0\0\0aaaaaaaaaaaaaaaa";
    cuvet_content_info info = { .size = sizeof(info) };
    guard_state guard;

    guard_open(&guard, 64);
    for (size_t count = 0; count <= 32; count++) {
        cuvet_status want = count < 2 ? CUVET_E_UNKNOWN : count < 32 ? CUVET_E_TRUNCATED : CUVET_OK;

        ck_assert_int_eq(cuvet_classify(guard_end(&guard, fatbin, count), count, NULL, 0, &info, NULL), want);
        ck_assert_int_eq(info.type, count < 2 ? CUVET_K_NONE : CUVET_K_FATBIN);
    }
    guard_close(&guard);
}
END_TEST

START_TEST(names)
{
    static const struct {
        cuvet_kind kind;
        const char *name;
    } rows[] = {
        { CUVET_K_NONE, "unknown" }, { CUVET_K_NVVM, "nvvm" },       { CUVET_K_FATBIN, "fatbin" },
        { CUVET_K_CUBIN, "elf" },    { CUVET_K_PTX, "ptx" },         { CUVET_K_WRAPPER, "wrapper" },
        { CUVET_K_LTOIR, "lto-ir" }, { CUVET_K_ARCHIVE, "archive" }, { CUVET_K_HOST_ELF, "host-elf" },
    };

    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        ck_assert_str_eq(cuvet_kind_name(rows[k].kind), rows[k].name);
    ck_assert_str_eq(cuvet_kind_name((cuvet_kind)11), "?");
}
END_TEST

Suite *suite_api_classify(void);
Suite *suite_api_classify(void)
{
    Suite *suite = suite_create("api/classify");
    TCase *tcase = tcase_create("classify");

    tcase_add_test(tcase, null_arguments);
    tcase_add_test(tcase, usage);
    tcase_add_test(tcase, older_limits);
    tcase_add_test(tcase, diagnostic);
    tcase_add_test(tcase, nothing_else_is_read);
    tcase_add_test(tcase, names);
    suite_add_tcase(suite, tcase);
    return suite;
}
