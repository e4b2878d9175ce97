/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line programs and frames made here, with every form of every operation that has a place in it; then one
 * edit each, with the rule that it breaks and where. */
#include <check.h>
#include <string.h>

#include "finalize/remap.h"

#define BASE     UINT64_C(0x2000)
#define N(table) (sizeof(table) / sizeof((table)[0]))
#define NONE     CV_N_RULES

static cv_ctx ctx;
static cv_backend_out said;
static cv_sites sites;
static cv_remap remap;
static uint8_t bytes[512];
static unsigned n_diags;
static cuvet_diag last;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    last = *diag;
    n_diags++;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.diagnostics = 100000; /* some tests loop over all places */
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = emit;
    n_diags = 0;
    memset(&said, 0, sizeof(said));
    memset(&sites, 0, sizeof(sites));
}

static void drop(void)
{
    cv_builder_free(&remap.out);
    cv_moves_free(&ctx.mem, &remap.shifts);
}

static void teardown(void)
{
    drop();
    cv_sites_free(&ctx.mem, &sites);
    cv_offset_maps_free(&ctx.mem, &said.maps);
    cv_moves_free(&ctx.mem, &said.moves);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
}

/* Code of 'size' bytes; 'more' come in at 'at'. */
static void code_moves(uint64_t size, uint64_t at, uint64_t more)
{
    cv_offset_map map = { .section = 1, .size_from = size, .size_to = size + more, .count = 1 };

    ck_assert(cv_moves_push(&ctx.mem, &said.moves, (cv_moved){ at, at + more }));
    ck_assert(cv_offset_maps_push(&ctx.mem, &said.maps, map));
}

static void site(uint64_t at, uint64_t place, uint32_t map, bool is_code)
{
    ck_assert(cv_sites_push(&ctx.mem, &sites, (cv_site){ at, place, map, is_code }));
}

static cuvet_status rewrite(uint64_t count, bool lines)
{
    remap =
        (cv_remap){ .ctx = &ctx, .section = cv_span_of(bytes, count, BASE), .sites = &sites, .said = &said };
    cv_builder_init(&remap.out, &ctx.mem);
    return lines ? cv_remap_lines(&remap) : cv_remap_frames(&remap);
}

static void expect(const char *label, cuvet_status st, cv_rule rule, uint64_t off, uint64_t got,
                   uint64_t want)
{
    const char *id = n_diags ? cuvet_rule_get(last.rule)->id : "nothing";

    ck_assert_msg((st == CUVET_OK) == (rule == NONE) && n_diags == (rule != NONE), "%s: %d, %s", label, st,
                  id);
    if (rule == NONE)
        return;
    ck_assert_msg(last.rule == (cuvet_rule)rule, "%s: %s", label, id);
    ck_assert_msg(last.file_off == BASE + off && last.got == got && last.want == want,
                  "%s: at %llu got %llu want %llu", label, (unsigned long long)(last.file_off - BASE),
                  (unsigned long long)last.got, (unsigned long long)last.want);
}

/* ---- lines ---- */

/* Header to 27; then 27 set address, 38 copy, 39 special: 16 on, 1 line, 40 advance by 32, 43 copy, 44
 * constant 17, 45 fixed 15, 48 an operation of the vendor's, 54 special: 0 on, 55 advance by 16, 57 end,
 * to 60. */
static const uint8_t LINES[] = {
    56, 0,    0, 0, 2, 0, 17, 0, 0, 0, 1,    1, 0xFB, 14, 10,   0, 1,  1, 1, 1,
    0,  0,    0, 1, 0, 0, 0,  0, 9, 2, 0,    0, 0,    0,  0,    0, 0,  0, 1, 0xF0,
    2,  0xA0, 0, 1, 8, 9, 15, 0, 0, 4, 0x90, 1, 2,    3,  0x10, 2, 16, 0, 1, 1,
};

static uint64_t put_lines(void)
{
    memcpy(bytes, LINES, sizeof(LINES));
    return sizeof(LINES);
}

typedef struct dwarf_edit {
    const char *label;
    uint64_t at, width, value;
    cv_rule rule;
    uint64_t off, got, want;
} dwarf_edit;

static void apply(const dwarf_edit *edit)
{
    for (uint64_t i = 0; i < edit->width; i++)
        bytes[edit->at + i] = (uint8_t)(edit->value >> (8 * i));
}

static const dwarf_edit LINE_EDITS[] = {
    { "as it is", 0, 0, 0, NONE, 0, 0, 0 },
    { "longer than the section", 0, 4, 57, CV_R_DWARF_LENGTH, 0, 57, 56 },
    { "no room for a header", 0, 4, 5, CV_R_DWARF_LENGTH, 0, 5, 56 },
    { "64-bit form", 0, 4, 0xFFFFFFFF, CV_R_DWARF_VERSION, 0, 0xFFFFFFFF, 0xFFFFFFF0 },
    { "version 1", 4, 2, 1, CV_R_DWARF_VERSION, 4, 1, 4 },
    { "version 5", 4, 2, 5, CV_R_DWARF_VERSION, 4, 5, 4 },
    { "version 3", 4, 2, 3, NONE, 0, 0, 0 },
    { "header longer than the unit", 6, 4, 51, CV_R_DWARF_HEADER, 6, 51, 50 },
    { "header too short", 6, 4, 4, CV_R_DWARF_HEADER, 6, 4, 5 },
    { "header without operands", 6, 4, 13, CV_R_DWARF_HEADER, 14, 10, 10 },
    { "instructions of no length", 10, 1, 0, CV_R_DWARF_HEADER, 10, 0, 1 },
    { "no range of lines", 13, 1, 0, CV_R_DWARF_HEADER, 13, 0, 1 },
    { "no opcode base", 14, 1, 0, CV_R_DWARF_HEADER, 14, 0, 10 },
    { "copy with an operand", 15, 1, 1, CV_R_DWARF_HEADER, 15, 1, 0 },
    { "advance without one", 16, 1, 0, CV_R_DWARF_HEADER, 16, 0, 1 },
    { "extended operation leaves", 28, 1, 0x40, CV_R_DWARF_OPERAND, 27, 0x40, 31 },
    { "extended operation of no length", 28, 1, 0, CV_R_DWARF_OPERAND, 27, 0, 31 },
    { "address of four bytes", 28, 1, 5, CV_R_DWARF_OPERAND, 27, 5, 9 },
    { "row before the address", 27, 1, 1, CV_R_DWARF_SEQUENCE, 27, 1, 0 },
    { "step before the address", 27, 1, 0xF0, CV_R_DWARF_SEQUENCE, 27, 0xF0, 0 },
    { "number without an end", 41, 8, UINT64_MAX, CV_R_DWARF_NUMBER, 41, 10, 10 },
    { "step out of the code", 41, 2, 0x7FFF, CV_R_DWARF_ADDRESS, 40, 16 + 0x3FFF, 0x60 },
    { "one byte behind the code", 56, 1, 17, CV_R_DWARF_ADDRESS, 55, 0x61, 0x60 },
    { "the sequence does not end", 59, 1, 0x80, CV_R_DWARF_SEQUENCE, 57, 0, 1 },
    { "fixed advance at the end", 59, 1, 3, CV_R_DWARF_SEQUENCE, 57, 0, 1 },
};

START_TEST(line_edits)
{
    const dwarf_edit *edit = &LINE_EDITS[_i];
    uint64_t count = put_lines();

    apply(edit);
    code_moves(0x60, 0x10, 0);
    site(30, 0, 0, true);
    if (strcmp(edit->label, "number without an end") == 0) /* eleven bytes with the mark */
        memset(bytes + 41, 0xFF, 12);
    expect(edit->label, rewrite(count, true), edit->rule, edit->off, edit->got, edit->want);
    if (edit->rule == NONE)
        ck_assert(cv_span_eq(cv_builder_span(&remap.out), cv_span_of(bytes, count, 0)));
}
END_TEST

/* One instruction more at each place: what is encoded anew, and only that. */
START_TEST(line_forms)
{
    static const struct {
        uint64_t at, more, count; /* 'count': bytes of the result */
        uint8_t off, len, bytes[8];
    } FORMS[] = {
        { 0x10, 16, 62, 39, 3, { 2, 32, 0x10 } },           /* special by 32: an advance, and a row */
        { 0x08, 1, 60, 39, 1, { 0xFE } },                   /* … by 17: still one */
        { 0x20, 16, 60, 40, 3, { 2, 0xB0, 0 } },            /* the advance: see below */
        { 0x38, 16, 61, 43, 3, { 1, 2, 33 } },              /* the constant */
        { 0x48, 16, 60, 45, 3, { 9, 31, 0 } },              /* the fixed one */
        { 0x48, 0x10000, 61, 45, 4, { 2, 0x8F, 0x80, 4 } }, /* … has sixteen bits */
        { 0x60, 16, 60, 55, 2, { 2, 32 } },                 /* before the end */
    };

    for (size_t i = 0; i < N(FORMS); i++) {
        uint64_t count = put_lines();
        cv_span span;

        setup();
        code_moves(0x60, FORMS[i].at, FORMS[i].more);
        site(30, 0, 0, true);
        expect("form", rewrite(count, true), NONE, 0, 0, 0);
        span = cv_builder_span(&remap.out);
        if (i == 2) { /* two bytes were one too many for 32, one is enough for 48 */
            ck_assert_uint_eq(span.len, 59);
            ck_assert_uint_eq(cv_u16_at(span, 40), 0x3002);
            ck_assert_uint_eq(cv_remap_shifted(&remap.shifts, 43), 42);
        } else {
            ck_assert_uint_eq(span.len, FORMS[i].count);
            for (unsigned k = 0; k < FORMS[i].len; k++)
                ck_assert_msg(cv_u8_at(span, FORMS[i].off + k) == FORMS[i].bytes[k], "form %zu byte %u", i,
                              k);
        }
        ck_assert_uint_eq(cv_u32_at(span, 0), span.len - 4);
        ck_assert_uint_eq(cv_remap_shifted(&remap.shifts, 60), span.len);
        teardown();
        setup();
    }
}
END_TEST

/* Steps of eight bytes: what is no multiple of them cannot be said. */
START_TEST(line_steps)
{
    uint64_t count = put_lines();

    bytes[10] = 8;
    bytes[39] = 0x10 + 14 * 2;
    bytes[41] = 0x84;
    bytes[42] = 0;
    bytes[56] = 2;
    code_moves(0x10 + 32 + 17 * 8 + 15 + 16, 0x10, 8);
    site(30, 0, 0, true);
    expect("by eight", rewrite(count, true), NONE, 0, 0, 0);
    ck_assert_uint_eq(cv_u8_at(cv_builder_span(&remap.out), 39), 0x10 + 14 * 3);
    drop();
    cv_moves_at(&said.moves, 0)->to = 0x10 + 12;
    expect("by twelve", rewrite(count, true), CV_R_DWARF_STEP, 39, 28, 8);
}
END_TEST

/* A program without the operation that a longer step needs; and one that goes on behind a sequence. */
START_TEST(line_programs)
{
    uint64_t count = put_lines();

    bytes[14] = 2;
    code_moves(0x20000, 5, 0x10000);
    site(30, 0, 0, true);
    expect("no advance", rewrite(count, true), CV_R_DWARF_HEADER, 0, 2, 3);
    drop();
    n_diags = 0;
    count = put_lines();
    bytes[0]++;
    bytes[count] = 0xF0;
    cv_moves_at(&said.moves, 0)->to = 5;
    cv_offset_maps_at(&said.maps, 0)->size_to = 0x20000;
    expect("after the end", rewrite(count + 1, true), CV_R_DWARF_SEQUENCE, count, 0xF0, 0);
}
END_TEST

START_TEST(line_functions)
{
    uint64_t count = put_lines();

    code_moves(0x60, 0x10, 0);
    expect("no relocation", rewrite(count, true), CV_R_DWARF_FUNCTION, 30, 0, 1);
    drop();
    n_diags = 0;
    site(30, 0x60 - 0x50, 0, true);
    expect("begins too late", rewrite(count, true), CV_R_DWARF_ADDRESS, 55, 0x70, 0x60);
    drop();
    n_diags = 0;
    cv_sites_at(&sites, 0)->place = 0x61;
    expect("begins behind the code", rewrite(count, true), CV_R_DWARF_ADDRESS, 27, 0x61, 0x60);
    drop();
    n_diags = 0;
    cv_sites_at(&sites, 0)->code = false;
    expect("names a variable", rewrite(count, true), CV_R_DWARF_FUNCTION, 30, 0, 1);
    drop();
    n_diags = 0;
    *cv_sites_at(&sites, 0) = (cv_site){ 30, 0, CV_STILL, true };
    expect("does not move", rewrite(count, true), NONE, 0, 0, 0);
    drop();
    site(30, 0, 0, true);
    expect("two relocations", rewrite(count, true), CV_R_DWARF_FUNCTION, 30, 2, 1);
}
END_TEST

/* Every prefix, and every byte with each of some values: never more than a finding, which lies inside. */
START_TEST(line_sweep)
{
    static const uint8_t VALUES[] = { 0, 1, 2, 9, 0x7F, 0x80, 0xFF };
    uint64_t count = put_lines();

    code_moves(0x60, 0x20, 0x200);
    site(30, 0, 0, true);
    for (uint64_t i = 0; i < count * (1 + N(VALUES)); i++) {
        uint64_t len = count;
        cuvet_status st;

        put_lines();
        if (i < count)
            len = i;
        else
            bytes[(i - count) % count] = VALUES[(i - count) / count];
        n_diags = 0;
        st = rewrite(len, true);
        ck_assert_msg(n_diags == (st != CUVET_OK), "%d, %u, %llu", (int)st, n_diags, (unsigned long long)i);
        if (st != CUVET_OK)
            ck_assert(last.file_off >= BASE && last.file_off <= BASE + len);
        drop();
    }
}
END_TEST

/* ---- frames ---- */

/* 64-bit form. A common part to 32; a description to 80: its pointer at 44, begin 52, size 60, operations: 68
 * advance by 4 in the byte, 69 by 8 in one, 71 by 4 in two, 74 by 4 in four bytes, 79 nothing. */
static const uint8_t FRAMES[] = {
    255,  255, 255, 255,  20,   0,    0,    0, 0,    0,    0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
    3,    0,   4,   0x7C, 0x0F, 0x0C, 0x81, 0, 0x08, 0x81, 0, 0, 255, 255, 255, 255, 36,  0,   0,   0,
    0,    0,   0,   0,    0,    0,    0,    0, 0,    0,    0, 0, 0,   0,   0,   0,   0,   0,   0,   0,
    0x60, 0,   0,   0,    0,    0,    0,    0, 0x44, 2,    8, 3, 4,   0,   4,   4,   0,   0,   0,   0,
};

static uint64_t put_frames(void)
{
    memcpy(bytes, FRAMES, sizeof(FRAMES));
    return sizeof(FRAMES);
}

static const dwarf_edit FRAME_EDITS[] = {
    { "as it is", 0, 0, 0, NONE, 0, 0, 0 },
    { "longer than the section", 36, 8, 37, CV_R_DWARF_LENGTH, 32, 37, 36 },
    { "no room for the pointer", 36, 8, 7, CV_R_DWARF_LENGTH, 32, 7, 36 },
    { "no room for a range", 36, 8, 20, CV_R_DWARF_LENGTH, 32, 12, 16 },
    { "version 2", 20, 1, 2, CV_R_DWARF_VERSION, 20, 2, 4 },
    { "version 1", 20, 1, 1, NONE, 0, 0, 0 },
    { "version 4 without sizes", 20, 1, 4, CV_R_DWARF_FRAME, 22, 0x7C04, 8 },
    { "augmentation", 21, 1, 'z', CV_R_DWARF_FRAME, 21, 'z', 0 },
    { "steps of no bytes", 22, 1, 0, CV_R_DWARF_STEP, 20, 0, 1 },
    { "a step in the common part", 25, 1, 0x41, CV_R_DWARF_FRAME, 25, 0x40, 0 },
    { "a number leaves", 31, 1, 0x09, CV_R_DWARF_NUMBER, 32, 1, 0 },
    { "an unknown operation", 68, 1, 0x3F, CV_R_DWARF_FRAME, 68, 0x3F, 0 },
    { "an address", 68, 1, 1, CV_R_DWARF_FRAME, 68, 1, 0 },
    { "a block leaves", 68, 2, 0x200F, CV_R_DWARF_OPERAND, 68, 32, 10 },
    { "an operand leaves", 79, 1, 3, CV_R_DWARF_OPERAND, 79, 2, 0 },
    { "too many bytes", 75, 4, 0x7FFFFFFF, CV_R_DWARF_STEP, 74, UINT64_C(0x1FFFFFFFC), 4 },
    { "behind the code", 75, 4, 0x20, CV_R_DWARF_ADDRESS, 74, 0x40 + 0x80, 0x60 },
    { "a step back", 75, 4, 0x3FFFFFFC, NONE, 0, 0, 0 },
    { "back too far", 75, 4, 0x3FFFFF00, CV_R_DWARF_ADDRESS, 74, 0xFFFFFC40, 0x60 },
    { "longer than the code", 60, 8, 0x61, CV_R_DWARF_ADDRESS, 60, 0x61, 0x60 },
    { "no common part", 12, 8, 0, CV_R_DWARF_COMMON, 0, 0, UINT64_MAX },
};

START_TEST(frame_edits)
{
    const dwarf_edit *edit = &FRAME_EDITS[_i];
    uint64_t count = put_frames();

    apply(edit);
    code_moves(0x60, 0x10, 0);
    site(52, 0, 0, true);
    expect(edit->label, rewrite(count, false), edit->rule, edit->off, edit->got, edit->want);
    if (edit->rule == NONE)
        ck_assert(cv_span_eq(cv_builder_span(&remap.out), cv_span_of(bytes, count, 0)));
}
END_TEST

static void frame_form(uint64_t at, uint64_t more, uint64_t len, uint64_t off, const char *text)
{
    uint64_t count = put_frames();
    cv_span span;

    setup();
    code_moves(0x60, at, more);
    site(52, 0, 0, true);
    expect("form", rewrite(count, false), NONE, 0, 0, 0);
    span = cv_builder_span(&remap.out);
    ck_assert_uint_eq(span.len, len);
    ck_assert_uint_eq(cv_u64_at(span, 36), len - 44);
    ck_assert_uint_eq(cv_u64_at(span, 60), 0x60 + more);
    for (uint64_t i = 0; text[2 * i]; i++) {
        unsigned value = (unsigned)((text[2 * i] & 15) + (text[2 * i] > '9' ? 9 : 0)) << 4 |
                         (unsigned)((text[2 * i + 1] & 15) + (text[2 * i + 1] > '9' ? 9 : 0));

        ck_assert_msg(cv_u8_at(span, off + i) == value, "%s: byte %u", text, (unsigned)i);
    }
    teardown();
    setup();
}

START_TEST(frame_forms)
{
    frame_form(0x10, 16, 80, 68, "48");  /* in the byte */
    frame_form(0x10, 236, 80, 68, "7f"); /* … the most that there is room for */
    frame_form(0x10, 240, 88, 68, "0240");
    frame_form(0x10, 0x100, 88, 68, "0244");          /* … in one: entries stay multiples of eight */
    frame_form(0x10, 0x100000, 88, 68, "0404000400"); /* … in four */
    frame_form(0x30, 16, 80, 69, "020c");
    frame_form(0x30, 0x1000, 88, 69, "030804");
    frame_form(0x40, 16, 80, 71, "030800");
    frame_form(0x40, 0x100000, 88, 71, "0404000400");
    frame_form(0x50, 16, 80, 74, "0408000000");
}
END_TEST

/* A pointer as a number follows the part that it names; one with a relocation is left to that. */
START_TEST(frame_pointers)
{
    uint64_t count = put_frames();

    memcpy(bytes + 80, FRAMES, sizeof(FRAMES));
    bytes[80 + 44] = 80;
    code_moves(0x60, 0x10, 0x100);
    site(52, 0, 0, true);
    site(80 + 52, 0, CV_STILL, true);
    expect("two", rewrite(2 * count, false), NONE, 0, 0, 0);
    ck_assert_uint_eq(remap.out.len, 168);
    ck_assert_uint_eq(cv_u64_at(cv_builder_span(&remap.out), 88 + 44), 88);
    ck_assert_uint_eq(cv_remap_shifted(&remap.shifts, 80 + 52), 88 + 52);
    drop();
    cv_sites_clear(&sites);
    site(52, 0, 0, true);
    site(80 + 44, 80, CV_STILL, false);
    site(80 + 52, 0, CV_STILL, true);
    expect("relocated", rewrite(2 * count, false), NONE, 0, 0, 0);
    ck_assert_uint_eq(cv_u64_at(cv_builder_span(&remap.out), 88 + 44), 80);
}
END_TEST

/* A number that names no common part: the last before it counts. */
START_TEST(frame_strays)
{
    uint64_t count = put_frames();

    memcpy(bytes + 80, FRAMES, sizeof(FRAMES));
    bytes[80 + 22] = 2; /* steps of two bytes */
    bytes[80 + 44] = 40;
    code_moves(0x60, 8, 16);
    site(52, 0, CV_STILL, true);
    site(80 + 52, 0, 0, true);
    expect("stray", rewrite(2 * count, false), NONE, 0, 0, 0);
    ck_assert_uint_eq(cv_u8_at(cv_builder_span(&remap.out), 80 + 68), 0x4C);
}
END_TEST

/* 32-bit form, which DWARF allows: lengths and pointers of four bytes. */
START_TEST(frame_narrow)
{
    static const uint8_t NARROW[] = { 12, 0,  0,    0, 255, 255, 255, 255, 3, 0, 4, 0x7C, 0x0F, 0, 0,
                                      0,  25, 0,    0, 0,   0,   0,   0,   0, 0, 0, 0,    0,    0, 0,
                                      0,  0,  0x40, 0, 0,   0,   0,   0,   0, 0, 2, 4,    0,    0, 0 };
    cv_span span;

    memcpy(bytes, NARROW, sizeof(NARROW));
    code_moves(0x40, 0x10, 0x1000);
    site(24, 0, 0, true);
    expect("narrow", rewrite(sizeof(NARROW), false), NONE, 0, 0, 0);
    span = cv_builder_span(&remap.out);
    ck_assert_uint_eq(span.len, sizeof(NARROW) + 1);
    ck_assert_uint_eq(cv_u32_at(span, 16), 26);
    ck_assert_uint_eq(cv_u64_at(span, 32), 0x1040);
    ck_assert_uint_eq(cv_u8_at(span, 40), 3);
    ck_assert_uint_eq(cv_u16_at(span, 41), 0x404);
}
END_TEST

START_TEST(frame_functions)
{
    uint64_t count = put_frames();

    code_moves(0x60, 0x10, 2);
    expect("no relocation", rewrite(count, false), CV_R_DWARF_FUNCTION, 52, 0, 1);
    drop();
    n_diags = 0;
    site(52, 0, 0, true);
    expect("by two", rewrite(count, false), CV_R_DWARF_STEP, 68, 18, 4);
    drop();
    n_diags = 0;
    cv_sites_at(&sites, 0)->place = 0x61;
    expect("behind", rewrite(count, false), CV_R_DWARF_ADDRESS, 52, 0x61, 0x60);
}
END_TEST

START_TEST(frame_sweep)
{
    static const uint8_t VALUES[] = { 0, 1, 2, 4, 0x0F, 0x7F, 0x80, 0xFF };
    uint64_t count = put_frames();

    code_moves(0x60, 0x20, 0x200);
    site(52, 0, 0, true);
    for (uint64_t i = 0; i < count * (1 + N(VALUES)); i++) {
        uint64_t len = count;
        cuvet_status st;

        put_frames();
        if (i < count)
            len = i;
        else
            bytes[(i - count) % count] = VALUES[(i - count) / count];
        n_diags = 0;
        st = rewrite(len, false);
        ck_assert_msg(n_diags == (st != CUVET_OK), "%d, %u, %llu", (int)st, n_diags, (unsigned long long)i);
        if (st != CUVET_OK)
            ck_assert(last.file_off >= BASE && last.file_off <= BASE + len);
        drop();
    }
}
END_TEST

Suite *suite_dwarf(void);
Suite *suite_dwarf(void)
{
    Suite *suite = suite_create("dwarf");
    TCase *tcase = tcase_create("dwarf");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, line_edits, 0, (int)N(LINE_EDITS));
    tcase_add_test(tcase, line_forms);
    tcase_add_test(tcase, line_steps);
    tcase_add_test(tcase, line_programs);
    tcase_add_test(tcase, line_functions);
    tcase_add_test(tcase, line_sweep);
    tcase_add_loop_test(tcase, frame_edits, 0, (int)N(FRAME_EDITS));
    tcase_add_test(tcase, frame_forms);
    tcase_add_test(tcase, frame_pointers);
    tcase_add_test(tcase, frame_strays);
    tcase_add_test(tcase, frame_narrow);
    tcase_add_test(tcase, frame_functions);
    tcase_add_test(tcase, frame_sweep);
    suite_add_tcase(suite, tcase);
    return suite;
}
