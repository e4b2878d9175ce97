/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PTX text: the probe, the directives at its head, its bytes and its end. */
#include <check.h>
#include <string.h>

#include "fixture.h"
#include "format/ptx/read.h"

#define OFF 500

static cv_span text(const char *string)
{
    return cv_span_of(string, strlen(string), OFF);
}

static const struct {
    const char *text;
    bool is;
} probes[] = {
    { ".version 9.0", true },
    { "\n\n\t .version\t7.0\n", true },
    { "// a licence\n/* of two\n kinds **/.version 8.1", true },
    { ".version/**/8.1", true },
    { "", false },
    { ".version", false },
    { ".version ", false },
    { ".versions 1.0", false },
    { ".version_1", false },
    { ".versionZ 1", false },
    { ".version$ 1", false },
    { ".version{9", true }, /* no word goes on there; what follows is judged by the reader */
    { ".version[9", true },
    { "version 9.0", false },
    { "/* .version 9.0", false },
    { "/*/ .version 9.0", false },
    { "// .version 9.0", false },
    { "\xEF\xBB\xBF.version 9.0", true },
    { "\x7F"
      "ELF",
      false },
};

START_TEST(probe)
{
    ck_assert_int_eq(cv_ptx_probe(text(probes[_i].text)), probes[_i].is);
    ck_assert_uint_eq(n_diags, 0);
}
END_TEST

START_TEST(probe_is_bounded)
{
    static char big[CV_PTX_PROBE + 100];
    static const char dir[] = ".version 9";

    memset(big, '\n', sizeof(big));
    memcpy(big + CV_PTX_PROBE - 10, dir, 10);
    ck_assert(cv_ptx_probe(cv_span_of(big, sizeof(big), 0)));
    memset(big, '\n', sizeof(big));
    memcpy(big + CV_PTX_PROBE - 9, dir, 10);
    ck_assert(!cv_ptx_probe(cv_span_of(big, sizeof(big), 0)));
}
END_TEST

static const struct {
    const char *text;
    uint32_t major, minor, target;
    char suffix;
    bool debug;
    uint32_t address_size;
} heads[] = {
    { ".version 9.0\n.target sm_90\n.address_size 64\n", 9, 0, 90, 0, false, 64 },
    { "//\n.version 7.8 .target sm_90a .address_size 32", 7, 8, 90, 'a', false, 32 },
    { ".version 12.34\n.target sm_100f, debug\n.address_size 64", 12, 34, 100, 'f', true, 64 },
    { ".version 1.4\n.target sm_13, map_f64_to_f32", 1, 4, 13, 0, false, 0 },
    { ".version 3.2 .target sm_20 , texmode_independent , debug .address_size 64", 3, 2, 20, 0, true, 64 },
    { ".version 3.2 .target sm_20, texmode_unified .address_size 64", 3, 2, 20, 0, false, 64 },
    /* names of targets that are none: a file, comments, a longer word, a word without a number */
    { ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"a/*\n .target sm_75\"", 9, 0, 90, 0, false,
      64 },
    { ".version 9.0\n.target sm_90\n.address_size 64\n// \" .target sm_75\n/*/ .target sm_75 */ .targets "
      "sm_75",
      9, 0, 90, 0, false, 64 },
    { ".version 9.0\n.target sm_90\n.address_size 64\n.target smx_75", 9, 0, 90, 0, false, 64 },
    { ".version 9.0\n.target sm_90\n.address_size 64\n.target ", 9, 0, 90, 0, false, 64 },
    { ".version/* v */9.1/* t */.target/* n */sm_75/* c */,/* d */debug/* e */.address_size/**/64", 9, 1, 75,
      0, true, 64 },
    { ".version 9.0\n.target sm_90\n.visible .entry k() { ret; }", 9, 0, 90, 0, false, 0 },
    { ".version 9.0\n.target sm_90\n/* no end", 9, 0, 90, 0, false, 0 },
    { ".version 9.0\n.target sm_90, /* no end", 9, 0, 90, 0, false, 0 },
    { ".version 9.0\n.target sm_90\n.address_size /* no end", 9, 0, 90, 0, false, 0 },
};

START_TEST(head)
{
    cv_ptx ptx;
    cv_span span = text(heads[_i].text);

    ck_assert_int_eq(cv_ptx_read(&the_ctx, span, CV_PTX_BARE, &ptx), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_uint_eq(ptx.major, heads[_i].major);
    ck_assert_uint_eq(ptx.minor, heads[_i].minor);
    ck_assert_uint_eq(ptx.target, heads[_i].target);
    ck_assert_int_eq(ptx.suffix, heads[_i].suffix);
    ck_assert(ptx.suffix_known);
    ck_assert_int_eq(ptx.debug, heads[_i].debug);
    ck_assert_uint_eq(ptx.address_size, heads[_i].address_size);
    ck_assert_uint_eq(ptx.text_len, span.len);
    ck_assert(cv_u8_at(span, ptx.version_off) == '0' + ptx.major % 10 || ptx.major > 9);
    ck_assert_uint_eq(cv_u8_at(span, ptx.target_off), 's');
    ck_assert_int_eq(ptx.address_off != 0, ptx.address_size != 0);
}
END_TEST

/* What the compiler skips, says twice, or does not know. at: of the first finding. */
static const struct {
    const char *text;
    cv_rule rule;
    uint64_t at, got, want;
    uint32_t target;
    char suffix;
    bool debug;
    unsigned found;
} odd[] = {
    { "# 1 \"a\"\n.version 9.0 .target sm_90", CV_R_PTX_LINE_MARKER, 0, 0, 0, 90, 0, false, 1 },
    { "\n #line 22 \"a\nb\" 1 2\r\n.version 9.0 .target sm_90", CV_R_PTX_LINE_MARKER, 2, 0, 0, 90, 0, false,
      1 },
    { "/**/# line 1 \"\"\n.version 9.0 .target sm_90", CV_R_PTX_LINE_MARKER, 4, 0, 0, 90, 0, false, 1 },
    { ".version 9.0 .target sm_90 # 1 \"a\"\n, debug", CV_R_PTX_LINE_MARKER, 27, 0, 0, 90, 0, true, 1 },
    { "# 1 \"a\"\n# 2 \"b\"\n.version 9.0 .target sm_90\n# 3 \"c\"\n, debug", CV_R_PTX_LINE_MARKER, 0, 0, 0,
      90, 0, true, 1 },
    { "\x1A.version 9.0 .target sm_90", CV_R_PTX_CONTROL, 0, 0x1A, 0, 90, 0, false, 1 },
    { ".version 9.0 .target sm_75, sm_90a", CV_R_PTX_TARGET_AGAIN, 28, 90, 75, 90, 'a', false, 1 },
    { ".version 9.0 .target sm_90a, debug, sm_75", CV_R_PTX_TARGET_AGAIN, 36, 75, 90, 75, 0, true, 1 },
    { ".version 9.0 .target sm_75 .target compute_90", CV_R_PTX_TARGET_AGAIN, 35, 90, 75, 90, 0, false, 1 },
    { ".version 9.0 .target sm_75 k(){.target/**/sm_90,debug}", CV_R_PTX_TARGET_AGAIN, 42, 90, 75, 90, 0,
      true, 1 },
    /* a slash behind a comment begins no other one */
    { ".version 9.0 .target sm_75 k(){a/**// 2;.target sm_90,debug}", CV_R_PTX_TARGET_AGAIN, 48, 90, 75, 90,
      0, true, 1 },
    { ".version 9.0 .target sm_75 \"\\\".target sm_90", CV_R_PTX_TARGET_AGAIN, 38, 90, 75, 90, 0, false, 1 },
    { ".version 9.0 .target sm_75 .tar.target sm_80.target sm_90", CV_R_PTX_TARGET_AGAIN, 39, 80, 75, 90, 0,
      false, 2 },
    { ".version 9.0 .target sm_20, debugger, .address_size 64", CV_R_PTX_TARGET_OPTION, 28,
      0x7265676775626564, 0, 20, 0, false, 2 },
    { ".version 9.0 .target sm_20, sm_x", CV_R_PTX_TARGET_OPTION, 28, 0x785F6D73, 0, 20, 0, false, 1 },
};

START_TEST(odd_heads)
{
    cv_ptx ptx;

    ck_assert_int_eq(cv_ptx_read(&the_ctx, text(odd[_i].text), CV_PTX_BARE, &ptx), CUVET_OK);
    ck_assert_uint_eq(n_diags, odd[_i].found);
    if (n_diags == 1) {
        ck_assert_uint_eq(last.rule, odd[_i].rule);
        ck_assert_uint_eq(last.file_off, OFF + odd[_i].at);
        ck_assert_uint_eq(last.got, odd[_i].got);
        ck_assert_uint_eq(last.want, odd[_i].want);
    }
    ck_assert_uint_eq(ptx.target, odd[_i].target);
    ck_assert_int_eq(ptx.suffix, odd[_i].suffix);
    ck_assert_int_eq(ptx.debug, odd[_i].debug);
}
END_TEST

#define REST " .target sm_90 .address_size 64"

static const struct {
    const char *text;
    cv_rule rule;
    uint64_t at, got;
} broken[] = {
    { "", CV_R_PTX_VERSION_MISSING, 0, 0 },
    { "hello", CV_R_PTX_VERSION_MISSING, 0, 0x6F6C6C6568 },
    { ".versionx 9.0" REST, CV_R_PTX_VERSION_MISSING, 0, 0x6E6F69737265762E },
    { "/* open .version 9.0" REST, CV_R_PTX_COMMENT_END, 0, OFF },
    { ".version /* open", CV_R_PTX_COMMENT_END, 9, OFF + 9 },
    { ".version x", CV_R_PTX_VERSION, 9, 'x' },
    { ".version 9" REST, CV_R_PTX_VERSION, 10, 0x656772617433202E },
    { ".version 9,0" REST, CV_R_PTX_VERSION, 10, 0 },
    { ".version 9." REST, CV_R_PTX_VERSION, 10, 0 },
    { ".version 9.0a" REST, CV_R_PTX_VERSION, 12, 0 },
    { ".version 99999999999.0" REST, CV_R_PTX_VERSION, 9, 0 },
    { ".version 9.0", CV_R_PTX_TARGET_MISSING, 12, 0 },
    { ".version 9.0 .address_size 64", CV_R_PTX_TARGET_MISSING, 13, 0 },
    { ".version 9.0 /* open", CV_R_PTX_COMMENT_END, 13, OFF + 13 },
    { ".version 9.0 .target", CV_R_PTX_TARGET, 20, 0 },
    { ".version 9.0 .target /* open", CV_R_PTX_COMMENT_END, 21, OFF + 21 },
    { ".version 9.0 .target compute_90", CV_R_PTX_TARGET, 21, 0 },
    { ".version 9.0 .target sm_", CV_R_PTX_TARGET, 21, 0x5F6D73 },
    { ".version 9.0 .target sm_x", CV_R_PTX_TARGET, 21, 0x785F6D73 },
    { ".version 9.0 .target sm_90ab", CV_R_PTX_TARGET, 27, 'b' },
    { ".version 9.0 .target sm_90_1", CV_R_PTX_TARGET, 27, '1' },
    { "# 1 .version 9.0" REST, CV_R_PTX_VERSION_MISSING, 0, 0x7265762E20312023 },
    { "# 1 \"a\" b\n.version 9.0" REST, CV_R_PTX_VERSION_MISSING, 0, 0x2022612220312023 },
};

START_TEST(head_broken)
{
    cv_ptx ptx = { .target = 77 };

    ck_assert_int_eq(cv_ptx_read(&the_ctx, text(broken[_i].text), CV_PTX_BARE, &ptx), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, broken[_i].rule);
    ck_assert_uint_eq(last.file_off, OFF + broken[_i].at);
    if (broken[_i].got != 0 && broken[_i].rule != CV_R_PTX_VERSION)
        ck_assert_uint_eq(last.got, broken[_i].got);
    ck_assert_uint_eq(ptx.target, 77);
    ck_assert_uint_eq(the_ctx.n_errors, 1);
}
END_TEST

START_TEST(suffix_and_address_size)
{
    cv_ptx ptx;

    ck_assert_int_eq(cv_ptx_read(&the_ctx, text(".version 9.0 .target sm_90x"), CV_PTX_BARE, &ptx), CUVET_OK);
    ck_assert_uint_eq(last.rule, CV_R_PTX_TARGET_SUFFIX);
    ck_assert_int_eq(last.severity, CUVET_NOTE);
    ck_assert_uint_eq(last.got, 'x');
    ck_assert_uint_eq(last.file_off, OFF + 26);
    ck_assert(!ptx.suffix_known && ptx.suffix == 0 && ptx.target == 90);
    ck_assert_int_eq(
        cv_ptx_read(&the_ctx, text(".version 9.0 .target sm_90 .address_size 16"), CV_PTX_BARE, &ptx),
        CUVET_OK);
    ck_assert_uint_eq(last.rule, CV_R_PTX_ADDRESS_SIZE);
    ck_assert_uint_eq(last.got, 16);
    ck_assert_uint_eq(ptx.address_size, 0);
    ck_assert_int_eq(
        cv_ptx_read(&the_ctx, text(".version 9.0 .target sm_90 .address_size x"), CV_PTX_BARE, &ptx),
        CUVET_OK);
    ck_assert_uint_eq(last.rule, CV_R_PTX_ADDRESS_SIZE);
    ck_assert_int_eq(
        cv_ptx_read(&the_ctx, text(".version 9.0 .target sm_90 .address_size "), CV_PTX_BARE, &ptx),
        CUVET_OK);
    ck_assert_uint_eq(last.rule, CV_R_PTX_ADDRESS_SIZE);
    ck_assert_uint_eq(ptx.address_off, 0); /* no value, no place */
    ck_assert_uint_eq(n_diags, 4);
}
END_TEST

#define HEAD     ".version 9.0 .target sm_90\n"
#define HEAD_LEN 27

static const struct {
    const char *tail;
    uint64_t len;
    cv_ptx_form form;
    cv_rule rule; /* CV_N_RULES: none */
    uint64_t got, want;
} ends[] = {
    { "", 0, CV_PTX_BARE, CV_N_RULES, 0, 0 },
    { "\0", 1, CV_PTX_BARE, CV_N_RULES, 0, 0 },
    { "\0\0\0\0\0\0\0\0\0\0", 10, CV_PTX_BARE, CV_N_RULES, 0, 0 },
    { "\0x", 2, CV_PTX_BARE, CV_R_PTX_NUL_INSIDE, OFF + HEAD_LEN, OFF + HEAD_LEN + 1 },
    { "\0", 1, CV_PTX_MEMBER, CV_N_RULES, 0, 0 },
    { "", 0, CV_PTX_MEMBER, CV_R_PTX_NO_NUL, 0, HEAD_LEN },
    { "\0\0", 2, CV_PTX_MEMBER, CV_N_RULES, 0, 0 },
    { "\0\0\0\0\0\0\0\0\0", 9, CV_PTX_MEMBER, CV_R_PTX_TAIL, 9, 8 },
    { "\0\0\0\0\0\0\0\0\0\0x", 11, CV_PTX_MEMBER, CV_R_PTX_NUL_INSIDE, OFF + HEAD_LEN, OFF + HEAD_LEN + 10 },
    { "\0", 1, CV_PTX_PADDED, CV_N_RULES, 0, 0 },
    { "\0\0\0\0\0\0\0\0", 8, CV_PTX_PADDED, CV_N_RULES, 0, 0 },
    { "\0\0\0\0\0\0\0\0\0", 9, CV_PTX_PADDED, CV_R_PTX_TAIL, 9, 8 },
    { "", 0, CV_PTX_PADDED, CV_R_PTX_NO_NUL, 0, HEAD_LEN },
    { "\0\0\1", 3, CV_PTX_PADDED, CV_R_PTX_NUL_INSIDE, OFF + HEAD_LEN, OFF + HEAD_LEN + 2 },
};

START_TEST(end_of_text)
{
    char buf[64] = HEAD;
    cv_ptx ptx;

    memcpy(buf + HEAD_LEN, ends[_i].tail, ends[_i].len);
    ck_assert_int_eq(
        cv_ptx_read(&the_ctx, cv_span_of(buf, HEAD_LEN + ends[_i].len, OFF), ends[_i].form, &ptx), CUVET_OK);
    ck_assert_uint_eq(ptx.text_len, HEAD_LEN);
    ck_assert_uint_eq(ptx.target, 90);
    ck_assert_uint_eq(n_diags, ends[_i].rule != CV_N_RULES);
    if (n_diags) {
        ck_assert_uint_eq(last.rule, ends[_i].rule);
        ck_assert_uint_eq(last.file_off, OFF + HEAD_LEN);
        ck_assert_uint_eq(last.got, ends[_i].got);
        ck_assert_uint_eq(last.want, ends[_i].want);
    }
}
END_TEST

/* One byte of every value, at every place of a word and on both sides of the part that is looked at in one
 * go. */
START_TEST(every_byte_value)
{
    static char buf[9000];
    static const uint64_t places[] = { 100, 101,  102,  103,  104,  105,  106,
                                       107, 4095, 4096, 8191, 8192, 8998, 8999 };

    for (size_t k = 0; k < CV_COUNT(places); k++)
        for (unsigned value = 0; value < 256; value++) {
            bool space = value >= 9 && value <= 13, control = (value < 32 && !space) || value == 127;
            cv_ptx ptx;

            memset(buf, 'a', sizeof(buf));
            memcpy(buf, HEAD, HEAD_LEN);
            buf[places[k]] = (char)value;
            cv_ctx_unit(&the_ctx, sizeof(buf));
            n_diags = 0;
            ck_assert_int_eq(cv_ptx_read(&the_ctx, cv_span_of(buf, sizeof(buf), OFF), CV_PTX_BARE, &ptx),
                             CUVET_OK);
            if (value == 0) {
                ck_assert_uint_eq(ptx.text_len, places[k]);
                ck_assert_uint_eq(n_diags, places[k] != sizeof(buf) - 1);
                continue;
            }
            ck_assert_uint_eq(ptx.text_len, sizeof(buf));
            ck_assert_uint_eq(n_diags, control || value > 127);
            if (n_diags) {
                ck_assert_uint_eq(last.rule, control ? CV_R_PTX_CONTROL : CV_R_PTX_NON_ASCII);
                ck_assert_uint_eq(last.got, value);
                ck_assert_uint_eq(last.file_off, OFF + places[k]);
            }
        }
}
END_TEST

/* Both kinds are reported once, in whatever order, and the end of the text is found behind them all the same.
 */
START_TEST(many_odd_bytes)
{
    static char buf[20000];
    cv_ptx ptx;

    for (int order = 0; order < 2; order++) {
        memset(buf, 'a', sizeof(buf));
        memcpy(buf, HEAD, HEAD_LEN);
        memset(buf + 100, order ? 1 : 0x80, 50);
        memset(buf + 6000, order ? 0x80 : 1, 50);
        buf[15000] = 0;
        cv_ctx_unit(&the_ctx, sizeof(buf));
        n_diags = 0;
        ck_assert_int_eq(cv_ptx_read(&the_ctx, cv_span_of(buf, sizeof(buf), OFF), CV_PTX_MEMBER, &ptx),
                         CUVET_OK);
        ck_assert_uint_eq(ptx.text_len, 15000);
        ck_assert_uint_eq(n_diags, 3);
        ck_assert_uint_eq(last.rule, CV_R_PTX_NUL_INSIDE);
        ck_assert_uint_eq(the_ctx.seen[CV_R_PTX_CONTROL], 1);
        ck_assert_uint_eq(the_ctx.seen[CV_R_PTX_NON_ASCII], 1);
    }
    /* odd bytes in the same part as the end */
    memset(buf, 'a', sizeof(buf));
    memcpy(buf, HEAD, HEAD_LEN);
    buf[50] = 2;
    buf[60] = 0;
    buf[70] = 3;
    cv_ctx_unit(&the_ctx, sizeof(buf));
    n_diags = 0;
    ck_assert_int_eq(cv_ptx_read(&the_ctx, cv_span_of(buf, sizeof(buf), OFF), CV_PTX_MEMBER, &ptx), CUVET_OK);
    ck_assert_uint_eq(the_ctx.seen[CV_R_PTX_CONTROL], 1);
    ck_assert_uint_eq(ptx.text_len, 60);
}
END_TEST

START_TEST(work_limit)
{
    cv_ptx ptx = { .target = 77 };

    cv_ctx_set_work(&the_ctx, 3);
    ck_assert_int_eq(cv_ptx_read(&the_ctx, text(HEAD), CV_PTX_BARE, &ptx), CUVET_E_LIMIT);
    ck_assert_uint_eq(last.rule, CV_R_LIMIT_WORK);
    ck_assert_uint_eq(ptx.target, 77);
    cv_ctx_set_work(&the_ctx, 7); /* one look at the bytes, one for a second target */
    ck_assert_int_eq(cv_ptx_read(&the_ctx, text(HEAD), CV_PTX_BARE, &ptx), CUVET_E_LIMIT);
    ck_assert_uint_eq(ptx.target, 77);
    cv_ctx_set_work(&the_ctx, 8);
    ck_assert_int_eq(cv_ptx_read(&the_ctx, text(HEAD), CV_PTX_BARE, &ptx), CUVET_OK);
}
END_TEST

/* Options, and targets said again far behind: whatever is left of the work, all of it is paid for, or nothing
 * is known. */
START_TEST(every_work_limit)
{
    static const char whole[] =
        ".version 9.0 .target sm_75, debug, texmode_unified\n"
        "// .target sm_80\n"
        ".target                                                        sm_90, debug\n";
    uint64_t enough = 0;

    for (uint64_t work = 0; work < 1000; work++) {
        cv_ptx ptx = { .target = 77 };
        cuvet_status status;

        setup();
        cv_ctx_set_work(&the_ctx, work);
        status = cv_ptx_read(&the_ctx, text(whole), CV_PTX_BARE, &ptx);
        if (status == CUVET_OK) {
            enough = enough ? enough : work;
            ck_assert_uint_eq(ptx.target, 90);
            ck_assert_uint_eq(n_diags, 1);
            ck_assert_uint_eq(last.rule, CV_R_PTX_TARGET_AGAIN);
        } else {
            ck_assert_int_eq(status, CUVET_E_LIMIT);
            ck_assert_uint_eq(enough, 0);
            ck_assert_uint_eq(ptx.target, 77);
            ck_assert_uint_eq(last.rule, CV_R_LIMIT_WORK);
        }
        teardown();
    }
    ck_assert_uint_gt(enough, 150); /* three options and two places at 32 each */
    setup();
}
END_TEST

/* What ends a word and what is blank, byte by byte. */
START_TEST(words_and_blanks)
{
    for (unsigned value = 1; value < 128; value++) {
        bool digit = value >= '0' && value <= '9', upper = value >= 'A' && value <= 'Z',
             lower = value >= 'a' && value <= 'z';
        bool word = digit || upper || lower || value == '_' || value == '$',
             blank = value == ' ' || (value >= 9 && value <= 13) || value == 0x1A; /* dropped, and said */
        char buf[] = ".version?9.0 .target sm_90 .address_size 64";
        cv_ptx ptx;

        buf[8] = (char)value;
        cv_ctx_set_work(&the_ctx, 1000);
        ck_assert_int_eq(cv_ptx_probe(text(buf)), !word);
        n_diags = 0;
        ck_assert_int_eq(cv_ptx_read(&the_ctx, text(buf), CV_PTX_BARE, &ptx) == CUVET_OK, blank);
        if (!blank)
            ck_assert_uint_eq(last.rule, word ? CV_R_PTX_VERSION_MISSING : CV_R_PTX_VERSION);
    }
}
END_TEST

/* Every prefix is rejected or is the head of the same text. */
START_TEST(every_prefix)
{
    static const char whole[] = "/* l */ .version 9.0 // c\n.target sm_90a, debug\n.address_size 64\n";

    for (uint64_t count = 0; count < sizeof(whole) - 1; count++) {
        cv_ptx ptx;

        cv_ctx_set_work(&the_ctx, 1000);
        if (cv_ptx_read(&the_ctx, cv_span_of(whole, count, 0), CV_PTX_BARE, &ptx) != CUVET_OK)
            continue;
        ck_assert_uint_ge(count, 38); /* with "sm_9" it can be one */
        ck_assert_uint_eq(ptx.major, 9);
        ck_assert_uint_eq(ptx.text_len, count);
    }
}
END_TEST

Suite *suite_format_ptx(void);
Suite *suite_format_ptx(void)
{
    Suite *suite = suite_create("format/ptx");
    TCase *tcase = tcase_create("read");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, probe, 0, (int)CV_COUNT(probes));
    tcase_add_test(tcase, probe_is_bounded);
    tcase_add_loop_test(tcase, head, 0, (int)CV_COUNT(heads));
    tcase_add_loop_test(tcase, head_broken, 0, (int)CV_COUNT(broken));
    tcase_add_loop_test(tcase, odd_heads, 0, (int)CV_COUNT(odd));
    tcase_add_test(tcase, suffix_and_address_size);
    tcase_add_loop_test(tcase, end_of_text, 0, (int)CV_COUNT(ends));
    tcase_add_test(tcase, every_byte_value);
    tcase_add_test(tcase, many_odd_bytes);
    tcase_add_test(tcase, work_limit);
    tcase_add_test(tcase, every_work_limit);
    tcase_add_test(tcase, words_and_blanks);
    tcase_add_test(tcase, every_prefix);
    suite_add_tcase(suite, tcase);
    return suite;
}
