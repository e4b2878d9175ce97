/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Archives: every form of a member header, and one broken field after the other with its rule and place. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "format/archive/read.h"

#define OFF 1000 /* of the header in the file */

static cv_span text(const char *string)
{
    return cv_span_of(string, strlen(string), OFF);
}

static void make(char *head, const char *name, const char *size)
{
    char line[64];

    snprintf(line, sizeof(line), "%-16s%-12s%-6s%-6s%-8s%-10s`\n", name, "0", "0", "0", "100644", size);
    memcpy(head, line, 60);
}

static cuvet_status read_one(const char *name, const char *size, uint64_t left, cv_ar_kind kind,
                             cv_ar_header *header)
{
    static char head[60];

    make(head, name, size);
    return cv_ar_read_header(&the_ctx, cv_span_of(head, 60, OFF), left, kind, header);
}

START_TEST(magic)
{
    cv_ar_kind kind = CV_AR_NONE;

    ck_assert_int_eq(cv_ar_probe(text("!<arch>\nrest")), CV_AR_NORMAL);
    ck_assert_int_eq(cv_ar_probe(text("!<thin>\n")), CV_AR_THIN);
    ck_assert_int_eq(cv_ar_probe(text("!<arch>")), CV_AR_NONE);
    ck_assert_int_eq(cv_ar_probe(text("")), CV_AR_NONE);
    ck_assert_int_eq(cv_ar_read_magic(&the_ctx, text("!<arch>\n"), &kind), CUVET_OK);
    ck_assert_int_eq(kind, CV_AR_NORMAL);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_int_eq(cv_ar_read_magic(&the_ctx, text("!<thin>\n"), &kind), CUVET_OK);
    ck_assert_int_eq(kind, CV_AR_THIN);
    ck_assert_uint_eq(last.rule, CV_R_AR_THIN);
    ck_assert_int_eq(last.severity, CUVET_NOTE);
    ck_assert_int_eq(cv_ar_read_magic(&the_ctx, text("!<arch>x"), &kind), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_AR_MAGIC);
    ck_assert_uint_eq(last.file_off, OFF);
    ck_assert_int_eq(kind, CV_AR_THIN);
    /* what the message says is expected is what is accepted */
    ck_assert_uint_eq(last.want, cv_u64_at(text("!<arch>\n"), 0));
}
END_TEST

/* Genuine headers: what each is taken for, and where its parts are. */
static const struct {
    const char *name, *size;
    uint64_t left;
    cv_ar_kind kind;
    cv_ar_entry entry;
    const char *short_name;
    uint64_t name_at, name_size, body, body_size, end, next;
    bool stored;
} good[] = {
    { "a.o/", "4", 100, CV_AR_NORMAL, CV_AR_MEMBER, "a.o", 0, 0, 60, 4, 64, 64, true },
    { "a.o/", "3", 100, CV_AR_NORMAL, CV_AR_MEMBER, "a.o", 0, 0, 60, 3, 63, 64, true },
    { "a.o/", "3", 63, CV_AR_NORMAL, CV_AR_MEMBER, "a.o", 0, 0, 60, 3, 63, 63, true },
    { "a.o", "0", 60, CV_AR_NORMAL, CV_AR_MEMBER, "a.o", 0, 0, 60, 0, 60, 60, true },
    { "two words", "0", 60, CV_AR_NORMAL, CV_AR_MEMBER, "two words", 0, 0, 60, 0, 60, 60, true },
    { "sixteen_letters_", "2", 62, CV_AR_NORMAL, CV_AR_MEMBER, "sixteen_letters_", 0, 0, 60, 2, 62, 62,
      true },
    { "", "0", 60, CV_AR_NORMAL, CV_AR_MEMBER, "", 0, 0, 60, 0, 60, 60, true },
    { "/", "8", 68, CV_AR_NORMAL, CV_AR_SYMBOLS, "", 0, 0, 60, 8, 68, 68, true },
    { "/SYM64/", "8", 68, CV_AR_NORMAL, CV_AR_SYMBOLS, "", 0, 0, 60, 8, 68, 68, true },
    { "/<ECSYMBOLS>/", "8", 68, CV_AR_NORMAL, CV_AR_SYMBOLS, "", 0, 0, 60, 8, 68, 68, true },
    { "__.SYMDEF", "8", 68, CV_AR_NORMAL, CV_AR_SYMBOLS, "__.SYMDEF", 0, 0, 60, 8, 68, 68, true },
    { "__.SYMDEF SORTED", "8", 68, CV_AR_NORMAL, CV_AR_SYMBOLS, "__.SYMDEF SORTED", 0, 0, 60, 8, 68, 68,
      true },
    { "__.SYMDEF/", "8", 68, CV_AR_NORMAL, CV_AR_MEMBER, "__.SYMDEF", 0, 0, 60, 8, 68, 68, true },
    { "__.SYMDEF_64/", "8", 68, CV_AR_NORMAL, CV_AR_MEMBER, "__.SYMDEF_64", 0, 0, 60, 8, 68, 68, true },
    { "//", "8", 68, CV_AR_NORMAL, CV_AR_NAMES, "", 0, 0, 60, 8, 68, 68, true },
    { "/0", "8", 68, CV_AR_NORMAL, CV_AR_LONG_NAME, "", 0, 0, 60, 8, 68, 68, true },
    { "/123", "8", 68, CV_AR_NORMAL, CV_AR_LONG_NAME, "", 123, 0, 60, 8, 68, 68, true },
    { "/123456789012345", "8", 68, CV_AR_NORMAL, CV_AR_LONG_NAME, "", 123456789012345, 0, 60, 8, 68, 68,
      true },
    { "#1/20", "24", 84, CV_AR_NORMAL, CV_AR_BSD_NAME, "", 0, 20, 80, 4, 84, 84, true },
    { "#1/20", "20", 80, CV_AR_NORMAL, CV_AR_BSD_NAME, "", 0, 20, 80, 0, 80, 80, true },
    { "/7", "5000", 120, CV_AR_THIN, CV_AR_LONG_NAME, "", 7, 0, 60, 0, 60, 60, false },
    { "/7:68", "5000", 120, CV_AR_THIN, CV_AR_LONG_NAME, "", 7, 0, 60, 0, 60, 60, false },
    { "/", "4", 64, CV_AR_THIN, CV_AR_SYMBOLS, "", 0, 0, 60, 4, 64, 64, true },
    { "//", "4", 64, CV_AR_THIN, CV_AR_NAMES, "", 0, 0, 60, 4, 64, 64, true },
    { "big", "9999999999", 10000000059, CV_AR_NORMAL, CV_AR_MEMBER, "big", 0, 0, 60, 9999999999, 10000000059,
      10000000059, true },
};

START_TEST(header_forms)
{
    cv_ar_header header;

    ck_assert_int_eq(read_one(good[_i].name, good[_i].size, good[_i].left, good[_i].kind, &header), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_int_eq(header.entry, good[_i].entry);
    ck_assert(cv_span_eq_str(header.name, good[_i].short_name));
    ck_assert_uint_eq(header.name_at, good[_i].name_at);
    ck_assert_uint_eq(header.name_size, good[_i].name_size);
    ck_assert_uint_eq(header.body, good[_i].body);
    ck_assert_uint_eq(header.body_size, good[_i].body_size);
    ck_assert_uint_eq(header.end, good[_i].end);
    ck_assert_uint_eq(header.next, good[_i].next);
    ck_assert_int_eq(header.stored, good[_i].stored);
}
END_TEST

static const struct {
    const char *name, *size;
    uint64_t left;
    cv_rule rule;
    uint64_t at, got, want;
} bad[] = {
    { "a/", "4", 59, CV_R_AR_HEADER_TRUNCATED, 0, 59, 60 },
    { "a/", "4", 0, CV_R_AR_HEADER_TRUNCATED, 0, 0, 60 },
    { "a/", "", 100, CV_R_AR_SIZE, 48, ' ', 0 },
    { "a/", "-1", 100, CV_R_AR_SIZE, 48, '-', 0 },
    { "a/", "0x10", 100, CV_R_AR_SIZE, 49, 'x', 0 },
    { "a/", " 12", 100, CV_R_AR_SIZE, 48, ' ', 0 },
    { "a/", "1 2", 100, CV_R_AR_SIZE, 50, '2', 0 },
    { "#1/", "4", 100, CV_R_AR_NAME_FIELD, 3, ' ', 0 },
    { "#1/2x", "4", 100, CV_R_AR_NAME_FIELD, 4, 'x', 0 },
    { "#1/5", "4", 100, CV_R_AR_BSD_NAME, 0, 5, 4 },
    { "/x", "4", 100, CV_R_AR_NAME_FIELD, 1, 'x', 0 },
    { "/1/", "4", 100, CV_R_AR_NAME_FIELD, 2, '/', 0 },
    { "/1:", "4", 100, CV_R_AR_NAME_FIELD, 2, ':', 0 },
    { "/1:x", "4", 100, CV_R_AR_NAME_FIELD, 2, ':', 0 },
    { "/:1", "4", 100, CV_R_AR_NAME_FIELD, 1, ':', 0 },
    { "/SYM64", "4", 100, CV_R_AR_NAME_FIELD, 1, 'S', 0 },
};

START_TEST(header_broken)
{
    cv_ar_header header = { .size = 77 };

    ck_assert_int_eq(read_one(bad[_i].name, bad[_i].size, bad[_i].left, CV_AR_NORMAL, &header),
                     CUVET_E_MALFORMED);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, bad[_i].rule);
    ck_assert_uint_eq(last.file_off, OFF + bad[_i].at);
    ck_assert_uint_eq(last.got, bad[_i].got);
    ck_assert_uint_eq(last.want, bad[_i].want);
    ck_assert_uint_eq(header.size, 77); /* untouched */
}
END_TEST

START_TEST(every_prefix_and_terminator)
{
    char head[60];
    cv_ar_header header;

    make(head, "a/", "4");
    for (uint64_t count = 0; count < 60; count++) {
        ck_assert_int_eq(
            cv_ar_read_header(&the_ctx, cv_span_of(head, count, OFF), 1000, CV_AR_NORMAL, &header),
            CUVET_E_MALFORMED);
        ck_assert_uint_eq(last.rule, CV_R_AR_HEADER_TRUNCATED);
        ck_assert_uint_eq(last.got, count);
    }
    for (int i = 58; i < 60; i++) {
        make(head, "a/", "4");
        head[i] ^= 1;
        ck_assert_int_eq(cv_ar_read_header(&the_ctx, cv_span_of(head, 60, OFF), 1000, CV_AR_NORMAL, &header),
                         CUVET_E_MALFORMED);
        ck_assert_uint_eq(last.rule, CV_R_AR_TERMINATOR);
        ck_assert_uint_eq(last.file_off, OFF + 58);
        ck_assert_uint_eq(last.want, 0x0A60);
    }
}
END_TEST

START_TEST(member_past_the_end)
{
    cv_ar_header header;

    ck_assert_int_eq(read_one("a/", "41", 100, CV_AR_NORMAL, &header), CUVET_OK);
    ck_assert_uint_eq(last.rule, CV_R_AR_MEMBER_TRUNCATED);
    ck_assert_uint_eq(last.file_off, OFF + 48);
    ck_assert_uint_eq(last.got, 41);
    ck_assert_uint_eq(last.want, 40);
    ck_assert_uint_eq(header.body_size, 40);
    ck_assert_uint_eq(header.next, 100);
    /* the name of a cut member is cut as well */
    ck_assert_int_eq(read_one("#1/30", "50", 80, CV_AR_NORMAL, &header), CUVET_OK);
    ck_assert_uint_eq(header.name_size, 20);
    ck_assert_uint_eq(header.body, 80);
    ck_assert_uint_eq(header.body_size, 0);
    ck_assert_uint_eq(n_diags, 2);
    /* just legal */
    ck_assert_int_eq(read_one("a/", "40", 100, CV_AR_NORMAL, &header), CUVET_OK);
    ck_assert_uint_eq(n_diags, 2);
}
END_TEST

START_TEST(long_names)
{
    static const char table[] = "first_long_name.o/\nsecond\n/\nwindows.obj\0tail";
    static char big[6000];
    cv_span names = cv_span_of(table, sizeof(table) - 1, 5000), name;

    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, 0, OFF, &name), CUVET_OK);
    ck_assert(cv_span_eq_str(name, "first_long_name.o"));
    ck_assert_uint_eq(name.off, 5000);
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, 6, OFF, &name), CUVET_OK);
    ck_assert(cv_span_eq_str(name, "long_name.o"));
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, 19, OFF, &name), CUVET_OK);
    ck_assert(cv_span_eq_str(name, "second"));
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, 26, OFF, &name), CUVET_OK);
    ck_assert_uint_eq(name.len, 0);
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, 27, OFF, &name), CUVET_OK);
    ck_assert_uint_eq(name.len, 0);
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, 28, OFF, &name), CUVET_OK);
    ck_assert(cv_span_eq_str(name, "windows.obj"));
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, 40, OFF, &name), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_AR_NAME_END);
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, names.len, OFF, &name), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_AR_NAME_OFFSET);
    ck_assert_uint_eq(last.file_off, OFF);
    ck_assert_uint_eq(last.want, names.len);
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, names, UINT64_MAX, OFF, &name), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_AR_NAME_OFFSET);
    /* a name is looked for in 4096 bytes, no more */
    memset(big, 'n', sizeof(big));
    big[4095] = '\n';
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, cv_span_of(big, sizeof(big), 0), 0, OFF, &name), CUVET_OK);
    ck_assert_uint_eq(name.len, 4095);
    big[4095] = 'n';
    big[4096] = '\n';
    ck_assert_int_eq(cv_ar_long_name(&the_ctx, cv_span_of(big, sizeof(big), 0), 0, OFF, &name),
                     CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_AR_NAME_END);
}
END_TEST

START_TEST(bsd_names_and_padding)
{
    ck_assert(cv_span_eq_str(cv_ar_bsd_name(cv_span_of("name.o\0\0", 8, 0)), "name.o"));
    ck_assert(cv_span_eq_str(cv_ar_bsd_name(cv_span_of("a\0b", 3, 0)), "a") == false);
    ck_assert_uint_eq(cv_ar_bsd_name(cv_span_of("\0\0", 2, 0)).len, 0);
    ck_assert(cv_ar_is_symbols(text("__.SYMDEF_64")));
    ck_assert(cv_ar_is_symbols(text("__.SYMDEF_64 SORTED")));
    ck_assert(!cv_ar_is_symbols(text("__.SYMDEF_")));
    cv_ar_check_padding(&the_ctx, text("\n"));
    cv_ar_check_padding(&the_ctx, cv_span_of("\0", 1, OFF));
    ck_assert_uint_eq(n_diags, 0);
    cv_ar_check_padding(&the_ctx, text("x"));
    ck_assert_uint_eq(last.rule, CV_R_AR_PADDING);
    ck_assert_uint_eq(last.got, 'x');
    ck_assert_int_eq(last.severity, CUVET_NOTE);
}
END_TEST

/* Any byte anywhere: a verdict, and places that lie inside the archive. */
START_TEST(every_byte)
{
    static const char *const names[] = { "a/", "/12", "#1/4", "//", "/" };

    for (size_t k = 0; k < 5; k++)
        for (int i = 0; i < 60; i++)
            for (int value = 0; value < 256; value++) {
                char head[60];
                cv_ar_header header;

                make(head, names[k], "30");
                head[i] = (char)value;
                cv_ctx_set_work(&the_ctx, 1000);
                if (cv_ar_read_header(&the_ctx, cv_span_of(head, 60, OFF), 100, CV_AR_NORMAL, &header) !=
                    CUVET_OK)
                    continue;
                ck_assert(header.body >= 60 && header.body <= header.end && header.end <= header.next &&
                          header.next <= 100);
                ck_assert_uint_eq(header.body + header.body_size, header.end);
            }
}
END_TEST

Suite *suite_format_archive(void);
Suite *suite_format_archive(void)
{
    Suite *suite = suite_create("format/archive");
    TCase *tcase = tcase_create("read");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, magic);
    tcase_add_loop_test(tcase, header_forms, 0, (int)CV_COUNT(good));
    tcase_add_loop_test(tcase, header_broken, 0, (int)CV_COUNT(bad));
    tcase_add_test(tcase, every_prefix_and_terminator);
    tcase_add_test(tcase, member_past_the_end);
    tcase_add_test(tcase, long_names);
    tcase_add_test(tcase, bsd_names_and_padding);
    tcase_add_test(tcase, every_byte);
    suite_add_tcase(suite, tcase);
    return suite;
}
