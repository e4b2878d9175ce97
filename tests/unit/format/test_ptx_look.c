/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The look at the head of a text that is read piece by piece: no piece may end in a way that hides the rest.
 */
#include <check.h>
#include <string.h>

#include "format/ptx/read.h"

static cv_ptx_guess look(const char *text, size_t len)
{
    return cv_ptx_look(cv_span_of(text, len, 0));
}

static const char *const texts[] = {
    ".version 9.0\n",
    "\xEF\xBB\xBF.version 9.0\n",
    " \t\n\v\f\r.version 9.0\n",
    "// a\n/* b **/ /*/ c */.version /* d */ 9.0\n",
    "/**/.version/**/9.0\n",
    "//\n.version // e\n9.0\n",
    ".version\n\n9.0\n",
    "\x1A.version 9.0\n",
    "# 1 \"a.cu\"\n.version 9.0\n",
    " #line 12 \"a\nb.cu\" 1 2\r\n/**/# 3 \"\"\n.version\x1A 9.0\n",
};

/* Every prefix may still become the text, or is one; without a byte behind the word it is none yet. */
START_TEST(no_prefix_is_refused)
{
    size_t len = strlen(texts[_i]), word = (size_t)(strstr(texts[_i], ".version") - texts[_i]);
    size_t at = texts[_i][0] == '\xEF' ? 4 : 0; /* fewer bytes of a mark are none */

    ck_assert_int_eq(look(texts[_i], len), CV_PTX_YES);
    for (; at <= len; at++)
        ck_assert_int_ne(look(texts[_i], at), CV_PTX_NO);
    for (at = 4; at <= word + CV_PTX_VERSION_LEN; at++)
        ck_assert_int_eq(look(texts[_i], at), CV_PTX_MORE);
}
END_TEST

START_TEST(refused_at_once)
{
    static const char *const no[] = { ".versions", ".version_", ".VERSION", ".verse",  "x",       "/x",
                                      "*/",        "/ /",       "#include", "#pragma", "# 1 x.cu" };

    for (size_t i = 0; i < CV_COUNT(no); i++)
        ck_assert_msg(look(no[i], strlen(no[i])) == CV_PTX_NO, "%s", no[i]);
    ck_assert_int_eq(look("", 0), CV_PTX_MORE);
    ck_assert_int_eq(look("\0", 1), CV_PTX_NO);
}
END_TEST

static const struct {
    const char *text;
    cv_ptx_word word;
} words[] = {
    { "", CV_PTX_WORD_CUT },
    { ".", CV_PTX_WORD_CUT },
    { ".versio", CV_PTX_WORD_CUT },
    { "/", CV_PTX_WORD_CUT },
    { ".version", CV_PTX_WORD_VERSION },
    { ".versionX", CV_PTX_WORD_VERSION },
    { ".versioN", CV_PTX_WORD_OTHER },
    { "/x", CV_PTX_WORD_OTHER },
    { "version", CV_PTX_WORD_OTHER },
    { ". version", CV_PTX_WORD_OTHER },
};

START_TEST(first_word)
{
    ck_assert_int_eq(cv_ptx_first(cv_span_of(words[_i].text, strlen(words[_i].text), 7)), words[_i].word);
}
END_TEST

static const struct {
    const char *text;
    bool closed, loose_closed;
    uint64_t at, loose_at;
} skips[] = {
    { "", true, true, 0, 0 },         { " \tx", true, true, 2, 2 },    { "/**/x", true, true, 4, 4 },
    { "/*/x", false, true, 0, 3 },    { "/*/x*/y", true, true, 6, 3 }, { " /* ", false, false, 1, 1 },
    { "/***/x", true, true, 5, 5 },   { "//x", true, true, 3, 3 },     { "//\n/", true, true, 3, 3 },
    { "/*/*/x", true, true, 5, 3 },   { "//*/\nx", true, true, 5, 5 }, { "/*//*/x", true, true, 6, 6 },
    { "/*/ /*/x", true, true, 7, 7 },
};

START_TEST(skipping)
{
    cv_span span = cv_span_of(skips[_i].text, strlen(skips[_i].text), 7);
    uint64_t at = 0;

    ck_assert_int_eq(cv_ptx_skip(span, false, &at), skips[_i].closed);
    ck_assert_uint_eq(at, skips[_i].at);
    at = 0;
    ck_assert_int_eq(cv_ptx_skip(span, true, &at), skips[_i].loose_closed);
    ck_assert_uint_eq(at, skips[_i].loose_at);
}
END_TEST

Suite *suite_format_ptx_look(void);
Suite *suite_format_ptx_look(void)
{
    Suite *suite = suite_create("format/ptx look");
    TCase *tcase = tcase_create("look");

    tcase_add_loop_test(tcase, no_prefix_is_refused, 0, (int)CV_COUNT(texts));
    tcase_add_test(tcase, refused_at_once);
    tcase_add_loop_test(tcase, first_word, 0, (int)CV_COUNT(words));
    tcase_add_loop_test(tcase, skipping, 0, (int)CV_COUNT(skips));
    suite_add_tcase(suite, tcase);
    return suite;
}
