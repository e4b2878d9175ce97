/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Notes: built by the writer, read back the same, then one edit each with the rule it must raise and where.
 */
#include <check.h>
#include <string.h>

#include "fixture.h"
#include "format/note/write.h"

#define BASE 0x2000u

static uint8_t bytes[512];
static uint64_t size;

static cv_span text(const char *string)
{
    return cv_span_of(string, strlen(string), 0);
}

static void keep(cv_builder *builder)
{
    cv_span span = cv_builder_span(builder);

    ck_assert(!builder->failed);
    ck_assert_uint_lt(span.len, sizeof(bytes));
    memset(bytes, 0xEE, sizeof(bytes));
    for (size = 0; size < span.len; size++)
        bytes[size] = cv_u8_at(span, size);
    cv_builder_free(builder);
}

static cv_span section(void)
{
    return cv_span_of(bytes, size, BASE);
}

/* Descriptor at 24; words at 24..47; strings from 48: "" 48, tool 49, version 55, build 60, line 66; ends
 * at 84. */
static const char LINE[] = "-arch sm_90a -m 6";

static void build_tkinfo(void)
{
    cv_tkinfo tkinfo = { 2, text(""), text("ptxas"), text("V1.2"), text("Build"), text(LINE) };
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    ck_assert(cv_tkinfo_put(&builder, &tkinfo));
    keep(&builder);
}

typedef struct note_edit {
    const char *label;
    uint64_t at;
    unsigned width;
    uint64_t value;
    cv_rule rule;
    uint64_t off, got, want;
} note_edit;

static void apply(const note_edit *edit)
{
    for (unsigned i = 0; i < edit->width; i++)
        bytes[edit->at + i] = (uint8_t)(edit->value >> 8 * i);
}

static void expect(const note_edit *edit)
{
    expect_finding(edit->label, edit->rule, BASE + edit->off, edit->got, edit->want);
}

static const note_edit TOOL[] = {
    { "as written", 0, 0, 0, NONE, 0, 0, 0 },
    { "name of 8", 0, 4, 8, CV_R_NOTE_OWNER, 0, 0x100, 'o' },
    { "name without its end", 0, 4, 11, CV_R_NOTE_OWNER, 0, 0x100, 0 },
    { "name of 13", 0, 4, 13, CV_R_NOTE_CUT, 0, 84, 88 },
    { "name of 4 GiB", 0, 4, 0xFFFFFFFF, CV_R_NOTE_CUT, 0, 84, UINT64_C(0x10000000C) + 60 },
    { "another owner", 12, 1, 'O', CV_R_NOTE_OWNER, 0, 'O', 'N' },
    { "owner without end", 23, 1, '!', CV_R_NOTE_OWNER, 0, '!', 0 },
    { "descriptor past the end", 4, 4, 61, CV_R_NOTE_CUT, 0, 84, 88 },
    { "descriptor of 4 GiB", 4, 4, 0xFFFFFFFF, CV_R_NOTE_CUT, 0, 84, UINT64_C(0x100000018) },
    { "type", 8, 4, 1000, CV_R_NOTE_TYPE, 8, 1000, 2000 },
    { "object not empty", 28, 4, 1, CV_R_TKINFO_ORDER, 28, 1, 0 },
    { "tool into itself", 32, 4, 2, CV_R_TKINFO_ORDER, 32, 2, 1 },
    { "version before", 36, 4, 6, CV_R_TKINFO_ORDER, 36, 6, 7 },
    { "build out", 40, 4, 36, CV_R_TKINFO_OFFSET, 40, 36, 36 },
    { "line far out", 44, 4, 0xFFFFFFFF, CV_R_TKINFO_OFFSET, 44, 0xFFFFFFFF, 36 },
    { "last byte", 83, 1, 'x', CV_R_TKINFO_NUL, 84, 36, 0 },
};

static cuvet_status read_tool(cv_tkinfo *tkinfo)
{
    uint64_t pos = 0;
    cv_note note;
    cuvet_status st = cv_note_next(&the_ctx, section(), CV_NOTE_TKINFO, &pos, &note);

    if (st == CUVET_OK)
        st = cv_tkinfo_read(&the_ctx, section(), &note, tkinfo);
    if (st == CUVET_OK)
        ck_assert_int_eq(cv_note_next(&the_ctx, section(), CV_NOTE_TKINFO, &pos, &note), CUVET_END);
    return st;
}

START_TEST(tool)
{
    const note_edit *edit = &TOOL[_i];
    cuvet_status want = edit->rule == NONE || edit->rule == CV_R_TKINFO_ORDER ? CUVET_OK : CUVET_E_MALFORMED;
    cv_tkinfo tkinfo = { 0 };

    build_tkinfo();
    ck_assert_uint_eq(size, 84);
    apply(edit);
    ck_assert_int_eq(read_tool(&tkinfo), want);
    expect(edit);
}
END_TEST

/* A name that begins like the owner's and goes on: 16 of 84 bytes, and a descriptor shorter by as many. */
START_TEST(longer_owner)
{
    static const note_edit NAME = { "name of 16", 0, 4, 16, CV_R_NOTE_OWNER, 0, 2, 0x100 },
                           ZERO = { "one more zero", 24, 4, 0x0300, CV_R_NOTE_OWNER, 0, 0, 0x100 },
                           DESCRIPTOR = { "descriptor of 56", 4, 4, 56, NONE, 0, 0, 0 };
    cv_tkinfo tkinfo = { 0 };

    build_tkinfo();
    apply(&NAME);
    apply(&DESCRIPTOR);
    ck_assert_int_eq(read_tool(&tkinfo), CUVET_E_MALFORMED);
    expect(&NAME);
    setup();
    apply(&ZERO);
    ck_assert_int_eq(read_tool(&tkinfo), CUVET_E_MALFORMED);
    expect(&ZERO);
}
END_TEST

START_TEST(tool_round_trip)
{
    uint32_t sm = 0;
    cv_tkinfo tkinfo;
    cv_builder builder, copy;
    char suffix = 0;

    build_tkinfo();
    ck_assert_int_eq(read_tool(&tkinfo), CUVET_OK);
    ck_assert_uint_eq(tkinfo.version, 2);
    ck_assert_uint_eq(tkinfo.object.len, 0);
    ck_assert(cv_span_eq_str(tkinfo.tool, "ptxas"));
    ck_assert(cv_span_eq_str(tkinfo.tool_version, "V1.2"));
    ck_assert(cv_span_eq_str(tkinfo.build, "Build"));
    ck_assert(cv_span_eq_str(tkinfo.command, LINE));
    ck_assert(cv_tkinfo_arch(&tkinfo, &sm, &suffix));
    ck_assert_uint_eq(sm, 90);
    ck_assert_int_eq(suffix, 'a');
    cv_builder_init(&builder, &the_ctx.mem);
    ck_assert(cv_tkinfo_put(&builder, &tkinfo));
    ck_assert(cv_span_eq(cv_builder_span(&builder), section()));
    tkinfo.build = cv_span_of("a\0b", 3, 0);
    ck_assert(!cv_tkinfo_put(&builder, &tkinfo));
    cv_builder_free(&builder);
    cv_builder_init(&builder, &the_ctx.mem);
    for (unsigned i = 0; i < 65536; i++)
        cv_put_u8(&builder, 'x');
    tkinfo.build = cv_builder_span(&builder);
    cv_builder_init(&copy, &the_ctx.mem);
    ck_assert(!cv_tkinfo_put(&copy, &tkinfo)); /* one byte too long */
    tkinfo.build.len--;
    ck_assert(cv_tkinfo_put(&copy, &tkinfo));
    cv_builder_free(&copy);
    cv_builder_free(&builder);
}
END_TEST

static void set_descsz(uint32_t count)
{
    const note_edit edit = { .at = 4, .width = 4, .value = count };

    apply(&edit);
}

/* Descriptors of other sizes: the section goes with them. */
static const struct {
    uint32_t descsz;
    cv_rule rule;
    uint64_t off, got;
} SIZES[] = {
    { 60, NONE, 0, 0 },
    { 61, NONE, 0, 0 },
    { 62, NONE, 0, 0 },
    { 63, NONE, 0, 0 },
    { 64, CV_R_TKINFO_REST, 84, 4 },
    { 59, CV_R_TKINFO_NUL, 83, 35 },
    { 0, CV_R_TKINFO_SIZE, 4, 0 },
    { 23, CV_R_TKINFO_SIZE, 4, 23 },
    { 24, CV_R_TKINFO_NUL, 48, 0 },
    { 25, CV_R_TKINFO_OFFSET, 32, 1 },
};

START_TEST(tool_sizes)
{
    cv_tkinfo tkinfo = { 0 };

    build_tkinfo();
    memset(bytes + 84, 0, 8);
    set_descsz(SIZES[_i].descsz);
    size = 24 + (SIZES[_i].descsz + 3) / 4 * 4;
    if (SIZES[_i].descsz < 60)
        memset(bytes + 24 + SIZES[_i].descsz, 0, 4);
    ck_assert_int_eq(read_tool(&tkinfo) == CUVET_OK,
                     SIZES[_i].rule == NONE || SIZES[_i].rule == CV_R_TKINFO_REST);
    ck_assert_uint_eq(n_diags, SIZES[_i].rule != NONE);
    if (SIZES[_i].rule == NONE)
        return;
    ck_assert_uint_eq(last.rule, SIZES[_i].rule);
    ck_assert_uint_eq(last.file_off, BASE + SIZES[_i].off);
    ck_assert_uint_eq(last.got, SIZES[_i].got);
}
END_TEST

START_TEST(tool_rest_not_zero)
{
    cv_tkinfo tkinfo;

    build_tkinfo();
    memset(bytes + 84, 0, 8);
    bytes[84] = 'x';
    set_descsz(62);
    size = 88;
    ck_assert_int_eq(read_tool(&tkinfo), CUVET_OK);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, CV_R_TKINFO_REST);
    ck_assert_uint_eq(last.file_off, BASE + 84);
}
END_TEST

START_TEST(padding)
{
    cv_tkinfo tkinfo;

    build_tkinfo();
    memset(bytes + 84, 0, 8);
    set_descsz(61);
    size = 88;
    bytes[86] = 9;
    ck_assert_int_eq(read_tool(&tkinfo), CUVET_OK);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, CV_R_NOTE_PADDING);
    ck_assert_uint_eq(last.file_off, BASE + 86);
    ck_assert_uint_eq(last.got, 9);
}
END_TEST

/* Every shorter section is refused, at the note that does not fit. */
START_TEST(every_prefix)
{
    cv_tkinfo tkinfo;

    build_tkinfo();
    for (size = 1; size < 84; size++) {
        n_diags = 0;
        ck_assert_int_eq(read_tool(&tkinfo), CUVET_E_MALFORMED);
        ck_assert_uint_eq(n_diags, 1);
        ck_assert_uint_eq(last.rule, CV_R_NOTE_CUT);
        ck_assert_uint_eq(last.file_off, BASE);
        ck_assert_uint_eq(last.got, size);
        ck_assert_uint_eq(last.want, size < 12 ? 12 : 84);
    }
    size = 0;
    ck_assert_int_eq(read_tool(&tkinfo), CUVET_END);
}
END_TEST

static const struct {
    const char *line;
    bool ok;
    uint32_t sm;
    char suffix;
} LINES[] = {
    { "-arch sm_75 -m 64 ", true, 75, 0 },
    { "-c -arch sm_100f", true, 100, 'f' },
    { "-arch=sm_120a", true, 120, 'a' },
    { "-arch sm_90b", true, 90, 0 },
    { "-m 64 -arch SM75", false, 0, 0 },
    { "-arch sm_", false, 0, 0 },
    { "-arch sm_99999999999", false, 0, 0 },
    { "--arch sm_80", true, 80, 0 },
    { "-", false, 0, 0 },
    { "", false, 0, 0 },
};

START_TEST(lines)
{
    cv_tkinfo tkinfo = { .command = text(LINES[_i].line) };
    char suffix = 0;
    uint32_t sm = 0;

    ck_assert_int_eq(cv_tkinfo_arch(&tkinfo, &sm, &suffix), LINES[_i].ok);
    ck_assert_uint_eq(sm, LINES[_i].sm);
    ck_assert_int_eq(suffix, LINES[_i].suffix);
}
END_TEST

static const note_edit DEVICE[] = {
    { "as written", 0, 0, 0, NONE, 0, 0, 0 },
    { "declares 6", 4, 4, 6, NONE, 0, 0, 0 },
    { "declares 4", 4, 4, 4, CV_R_CUINFO_SIZE, 0, 28, 32 },
    { "type", 8, 4, 2000, CV_R_NOTE_TYPE, 8, 2000, 1000 },
    { "version 1", 24, 2, 1, CV_R_CUINFO_VERSION, 24, 1, 2 },
    { "version 0", 24, 2, 0, CV_R_CUINFO_VERSION, 24, 0, 2 },
    { "version 3", 24, 2, 3, CV_R_CUINFO_NEW, 24, 3, 2 },
    { "reserved", 30, 2, 7, CV_R_CUINFO_RESERVED, 30, 7, 0 },
};

START_TEST(device)
{
    const note_edit *edit = &DEVICE[_i];
    cv_cuinfo cuinfo = { 0 };
    uint32_t stored = 0;
    cuvet_status st;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    cv_cuinfo_put(&builder, 80, 130);
    keep(&builder);
    ck_assert_uint_eq(size, 32);
    apply(edit);
    st = cv_cuinfo_read(&the_ctx, section(), &cuinfo, &stored);
    expect(edit);
    if (edit->rule == CV_R_CUINFO_NEW)
        ck_assert_int_eq(st, CUVET_E_UNSUPPORTED);
    else if (edit->rule != NONE && edit->rule != CV_R_CUINFO_RESERVED)
        ck_assert_int_eq(st, CUVET_E_MALFORMED);
    else {
        ck_assert_int_eq(st, CUVET_OK);
        ck_assert_uint_eq(cuinfo.version, 2);
        ck_assert_uint_eq(cuinfo.virtual_sm, 80);
        ck_assert_uint_eq(cuinfo.toolkit, 130);
        ck_assert_uint_eq(stored, edit->width == 4 ? 6 : 8);
    }
}
END_TEST

START_TEST(device_alone)
{
    cv_cuinfo cuinfo;
    uint32_t stored;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    cv_cuinfo_put(&builder, 80, 130);
    cv_cuinfo_put(&builder, 80, 130);
    keep(&builder);
    ck_assert_int_eq(cv_cuinfo_read(&the_ctx, section(), &cuinfo, &stored), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_CUINFO_SIZE);
    ck_assert_uint_eq(last.got, 64);
    size = 0;
    ck_assert_int_eq(cv_cuinfo_read(&the_ctx, section(), &cuinfo, &stored), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_CUINFO_SIZE);
    ck_assert_uint_eq(last.got, 0);
}
END_TEST

/* A section that ends with its name: the name has no end in it. */
START_TEST(owner_at_the_end)
{
    cv_tkinfo tkinfo;

    build_tkinfo();
    set_descsz(0);
    bytes[23] = '!';
    size = 24;
    ck_assert_int_eq(read_tool(&tkinfo), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_NOTE_OWNER);
    ck_assert_uint_eq(last.file_off, BASE);
}
END_TEST

/* One note that fills its section, but with half of the content. */
START_TEST(device_half)
{
    cv_cuinfo cuinfo;
    uint32_t stored;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    cv_cuinfo_put(&builder, 80, 130);
    keep(&builder);
    set_descsz(4);
    size = 28;
    ck_assert_int_eq(cv_cuinfo_read(&the_ctx, section(), &cuinfo, &stored), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_CUINFO_SIZE);
    ck_assert(last.got == 28 && last.want == 32);
}
END_TEST

static const note_edit VERSION[] = {
    { "as written", 0, 0, 0, NONE, 0, 0, 0 },
    { "version 2", 24, 2, 2, CV_R_CUVER, 24, 0x640002, 1 },
    { "first word", 28, 4, 0, CV_R_CUVER, 28, 0, 1 },
    { "second word", 32, 4, 5, CV_R_CUVER, 32, 5, 1 },
    { "declares 8", 4, 4, 8, CV_R_CUINFO_SIZE, 0, 32, 36 },
    { "declares 9", 4, 4, 9, CV_R_CUINFO_DESCSZ, 4, 9, 12 },
};

START_TEST(version_note)
{
    static const uint8_t desc[12] = { 1, 0, 100, 0, 1, 0, 0, 0, 1, 0, 0, 0 };
    const note_edit *edit = &VERSION[_i];
    cv_cuver cuver = { 0 };
    cuvet_status st;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    ck_assert(cv_note_put(&builder, CV_NOTE_CUINFO, cv_span_of(desc, sizeof(desc), 0)));
    keep(&builder);
    ck_assert_uint_eq(size, 36);
    apply(edit);
    st = cv_cuver_read(&the_ctx, section(), &cuver);
    expect(edit);
    ck_assert_int_eq(st, edit->rule == CV_R_CUINFO_SIZE ? CUVET_E_MALFORMED : CUVET_OK);
    if (st == CUVET_OK)
        ck_assert_uint_eq(cuver.sm, 100);
}
END_TEST

/* The general writer pads; a descriptor that no 32-bit size can hold is refused before anything is written.
 */
START_TEST(writer)
{
    cv_span huge = { .len = UINT64_C(1) << 32 };
    cv_tkinfo tkinfo = { 2, text(""), text(""), text(""), text(""), text("") };
    cv_builder builder;
    cv_note note;

    cv_builder_init(&builder, &the_ctx.mem);
    ck_assert(!cv_note_put(&builder, 5, huge));
    ck_assert_uint_eq(builder.len, 0);
    ck_assert(cv_note_put(&builder, 5, text("abcde")));
    ck_assert_uint_eq(builder.len, 32);
    ck_assert_int_eq(cv_note_at(cv_builder_span(&builder), 0, &note), CV_NOTE_OK);
    ck_assert_uint_eq(note.type, 5);
    ck_assert_uint_eq(note.descsz, 5);
    ck_assert_uint_eq(note.next, 32);
    ck_assert_int_eq(cv_note_at(cv_builder_span(&builder), 32, &note), CV_NOTE_END);
    ck_assert(cv_tkinfo_put(&builder, &tkinfo));
    ck_assert_uint_eq(builder.len, 32 + 24 + 32);
    cv_builder_free(&builder);
}
END_TEST

Suite *suite_note(void)
{
    Suite *suite = suite_create("note");
    TCase *tcase = tcase_create("note");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, tool, 0, (int)CV_COUNT(TOOL));
    tcase_add_test(tcase, longer_owner);
    tcase_add_test(tcase, tool_round_trip);
    tcase_add_loop_test(tcase, tool_sizes, 0, (int)CV_COUNT(SIZES));
    tcase_add_test(tcase, tool_rest_not_zero);
    tcase_add_test(tcase, padding);
    tcase_add_test(tcase, every_prefix);
    tcase_add_loop_test(tcase, lines, 0, (int)CV_COUNT(LINES));
    tcase_add_loop_test(tcase, device, 0, (int)CV_COUNT(DEVICE));
    tcase_add_test(tcase, device_alone);
    tcase_add_test(tcase, device_half);
    tcase_add_test(tcase, owner_at_the_end);
    tcase_add_loop_test(tcase, version_note, 0, (int)CV_COUNT(VERSION));
    tcase_add_test(tcase, writer);
    suite_add_tcase(suite, tcase);
    return suite;
}
