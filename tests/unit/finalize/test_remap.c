/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The debug remap over files of compilers: bytes are put into the code of every function, and what the debug
 * sections say afterwards is read by a decoder of this file, which shares nothing with the library. */
#include <check.h>

#include "remap_files.h"

#define MAX_ROWS 4096u
#define N(table) (sizeof(table) / sizeof((table)[0]))

static const char *const FILES[] = { "finalize/lines.sm_75.g.rdc",         "finalize/lines.sm_90.lineinfo",
                                     "finalize/lines.sm_100.lineinfo",     "finalize/lines.sm_100.g.rdc",
                                     "finalize/lines.sm_120.lineinfo.rdc", "samples/plain.sm_100.g",
                                     "samples/plain.sm_75.lineinfo" };

/* ---- a picture of a section, read from its bytes and relocations ---- */

typedef struct row {
    uint32_t section; /* of code */
    uint64_t place;
    int64_t line;
    uint64_t file;
    bool end;
} row;

typedef struct rows {
    row v[MAX_ROWS];
    unsigned n;
} rows;

static cv_span new_body(uint32_t section)
{
    for (uint64_t i = 0; i < bodies.n; i++)
        if (cv_final_bodies_at(&bodies, i)->section == section)
            return cv_builder_span(&cv_final_bodies_at(&bodies, i)->bytes);
    return cv_cubin_body(&cubin, section);
}

/* What a relocation at a place names: section of the symbol, and symbol + addend. */
static bool named_at(uint32_t target, bool now, uint64_t at, uint32_t *section, uint64_t *place)
{
    for (uint32_t i = 1; i < cubin.sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(&cubin, i);
        bool rela = s->h.type == CV_SHT_RELA;
        cv_span t = now ? new_body(i) : cv_cubin_body(&cubin, i);
        cv_span body = now ? new_body(target) : cv_cubin_body(&cubin, target);

        if ((!rela && s->h.type != CV_SHT_REL) || s->h.info != target)
            continue;
        for (uint64_t e = 0; e + (rela ? 24 : 16) <= t.len; e += rela ? 24 : 16) {
            uint64_t sym = cv_u64_at(t, e + 8) >> 32;

            if (cv_u64_at(t, e) != at || (cv_u64_at(t, e + 8) & UINT32_MAX) > 2)
                continue;
            *section = cv_u16_at(cubin.symtab, sym * 24 + 6);
            *place = cv_u64_at(cubin.symtab, sym * 24 + 8) + (rela ? cv_u64_at(t, e + 16)
                                                              : (cv_u64_at(t, e + 8) & UINT32_MAX) == 1
                                                                  ? cv_u32_at(body, at)
                                                                  : cv_u64_at(body, at));
            return true;
        }
    }
    return false;
}

static uint64_t uleb(cv_span s, uint64_t *pos)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b;

    do {
        b = cv_u8_at(s, (*pos)++);
        v |= (uint64_t)(b & 0x7F) << shift;
        shift += 7;
    } while (b & 0x80);
    return v;
}

static int64_t sleb(cv_span s, uint64_t *pos)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b;

    do {
        b = cv_u8_at(s, (*pos)++);
        v |= (uint64_t)(b & 0x7F) << shift;
        shift += 7;
    } while (b & 0x80);
    if (b & 0x40)
        v |= ~UINT64_C(0) << shift;
    return (int64_t)v;
}

static void put_row(rows *out, row r, bool end)
{
    r.end = end;
    ck_assert_uint_lt(out->n, MAX_ROWS);
    out->v[out->n++] = r;
}

/* Versions 2 and 3, as DWARF has it. */
static void decode_unit(uint32_t section, bool now, cv_span s, uint64_t at, rows *out)
{
    uint64_t end = at + 4 + cv_u32_at(s, at), pos = at + 10 + cv_u32_at(s, at + 6);
    int line_base = (int8_t)cv_u8_at(s, at + 12), range = cv_u8_at(s, at + 13), base = cv_u8_at(s, at + 14);
    const row fresh = { .line = 1, .file = 1 };
    row r = fresh;

    while (pos < end) {
        int op = cv_u8_at(s, pos++);

        if (op >= base) {
            r.place += (uint64_t)((op - base) / range);
            r.line += line_base + (op - base) % range;
            put_row(out, r, false);
        } else if (op == 0) {
            uint64_t len = uleb(s, &pos), next = pos + len;

            if (cv_u8_at(s, pos) == 2)
                ck_assert_msg(named_at(section, now, pos + 1, &r.section, &r.place), "no relocation");
            if (cv_u8_at(s, pos) == 1) {
                put_row(out, r, true);
                r = fresh;
            }
            pos = next;
        } else if (op == 1) {
            put_row(out, r, false);
        } else if (op == 2) {
            r.place += uleb(s, &pos);
        } else if (op == 3) {
            r.line += sleb(s, &pos);
        } else if (op == 4) {
            r.file = uleb(s, &pos);
        } else if (op == 5) {
            uleb(s, &pos);
        } else if (op == 8) {
            r.place += (uint64_t)((255 - base) / range);
        } else if (op == 9) {
            r.place += cv_u16_at(s, pos);
            pos += 2;
        } else {
            ck_assert(op == 6 || op == 7);
        }
    }
    ck_assert_uint_eq(pos, end);
}

static void decode_lines(uint32_t section, bool now, rows *out)
{
    cv_span s = now ? new_body(section) : cv_cubin_body(&cubin, section);
    uint64_t at = 0;

    out->n = 0;
    for (; at < s.len; at += 4 + cv_u32_at(s, at))
        decode_unit(section, now, s, at, out);
    ck_assert_uint_eq(at, s.len);
}

static void check_lines(const change *c, const char *name)
{
    static rows was, is;
    uint32_t section = section_named(name);
    unsigned moved = 0;

    ck_assert_uint_gt(section, 0);
    decode_lines(section, false, &was);
    decode_lines(section, true, &is);
    ck_assert_uint_gt(was.n, 1);
    ck_assert_uint_eq(was.n, is.n);
    for (unsigned i = 0; i < was.n; i++) {
        const row *a = &was.v[i], *b = &is.v[i];

        ck_assert_msg(a->line == b->line && a->file == b->file && a->section == b->section &&
                          a->end == b->end,
                      "%s: row %u is another", c->label, i);
        ck_assert_uint_eq(b->place, expect_place(c, a->place, size_before(a->section)));
        moved += a->place != b->place;
    }
    ck_assert_msg((moved > 0) == (c->in != c->out), "%s: %u rows moved", c->label, moved);
}

/* Entries of frames: begin, size, and each place at which the rule changes; the pointer names a common part
 * where it did. */
typedef struct frame_row {
    uint32_t section;
    uint64_t place, names;
} frame_row;

typedef struct frame_rows {
    frame_row v[MAX_ROWS];
    unsigned n;
} frame_rows;

static uint64_t skip_operands(cv_span s, uint64_t pos, int op)
{
    static const char *const KINDS[] = { "",   "8", "1", "2", "4",  "rr", "r",  "r", "r",  "rr", "",  "",
                                         "rr", "r", "r", "b", "rb", "rr", "rr", "r", "rr", "rr", "rb" };
    const char *k;

    ck_assert_int_lt(op, (int)N(KINDS));
    for (k = KINDS[op]; *k; k++) {
        if (*k == 'r')
            uleb(s, &pos);
        else if (*k == 'b') {
            uint64_t n = uleb(s, &pos);

            pos += n;
        } else
            pos += (uint64_t)(*k - '0');
    }
    return pos;
}

static void put_frame(frame_rows *out, uint32_t section, uint64_t place, uint64_t names)
{
    ck_assert_uint_lt(out->n, MAX_ROWS);
    out->v[out->n++] = (frame_row){ section, place, names };
}

static void decode_frames(uint32_t section, bool now, frame_rows *out)
{
    cv_span s = now ? new_body(section) : cv_cubin_body(&cubin, section);
    uint64_t step = 0;

    out->n = 0;
    for (uint64_t at = 0, end; at < s.len; at = end) {
        uint64_t pos = at + 20, place = 0, names = 0;
        uint32_t fn = 0, self = 0;

        ck_assert_uint_eq(cv_u32_at(s, at), UINT32_MAX);
        end = at + 12 + cv_u64_at(s, at + 4);
        if (cv_u64_at(s, at + 12) == UINT64_MAX) {
            pos += 2;
            step = uleb(s, &pos);
            continue;
        }
        if (named_at(section, now, at + 12, &self, &names))
            ck_assert_uint_eq(self, section);
        else
            names = cv_u64_at(s, at + 12);
        ck_assert(named_at(section, now, pos, &fn, &place));
        put_frame(out, fn, place, names);
        put_frame(out, fn, place + cv_u64_at(s, pos + 8), 0);
        for (pos += 16; pos < end;) {
            int op = cv_u8_at(s, pos++);

            uint64_t n = op < 0x40 ? (op == 2   ? cv_u8_at(s, pos)
                                      : op == 3 ? cv_u16_at(s, pos)
                                                : cv_u32_at(s, pos))
                                   : (uint64_t)(op & 0x3F);

            /* Modulo 2^32: on sm_75 there are steps back. */
            if ((op >= 0x40 && op < 0x80) || (op >= 2 && op <= 4))
                put_frame(out, fn, place = (place + n * step) & UINT32_MAX, 0);
            if (op < 0x40)
                pos = skip_operands(s, pos, op);
        }
    }
}

static void check_frames(const change *c)
{
    static frame_rows was, is;
    uint32_t section = section_named(".debug_frame");

    ck_assert_uint_gt(section, 0);
    decode_frames(section, false, &was);
    decode_frames(section, true, &is);
    ck_assert_uint_gt(was.n, 1);
    ck_assert_uint_eq(was.n, is.n);
    for (unsigned i = 0; i < was.n; i++) {
        ck_assert_uint_eq(was.v[i].section, is.v[i].section);
        ck_assert_uint_eq(was.v[i].names, is.v[i].names); /* no entry grew: compilers use four bytes */
        ck_assert_uint_eq(is.v[i].place, expect_place(c, was.v[i].place, size_before(was.v[i].section)));
    }
}

/* Everything else that names code: places of variables, ranges of blocks. */
static unsigned check_others(const change *c, const char *name)
{
    uint32_t target = section_named(name), was_in = 0, is_in = 0;
    uint64_t was = 0, is = 0;
    unsigned n = 0;

    for (uint64_t at = 0; target && at < cv_cubin_body(&cubin, target).len; at++) {
        if (!named_at(target, false, at, &was_in, &was))
            continue;
        ck_assert(named_at(target, true, at, &is_in, &is));
        ck_assert_uint_eq(was_in, is_in);
        if (size_before(was_in) == 0)
            continue;
        ck_assert_uint_eq(is, expect_place(c, was, size_before(was_in)));
        n += was != is;
    }
    return n;
}

static const change CHANGES[] = {
    { "nothing", 0x40, 0, 0 },           { "one instruction more", 0x40, 16, 0 },
    { "much more", 0x70, 0x12340, 0 },   { "at the second instruction", 0x10, 32, 0 },
    { "one less", 0x40, 0, 16 },         { "four become one", 0x30, 16, 64 },
    { "four become six", 0x30, 96, 64 },
};

START_TEST(moved_files)
{
    const change *c = &CHANGES[(unsigned)_i % N(CHANGES)];
    const char *name = FILES[(unsigned)_i / N(CHANGES)];
    cuvet_status st;

    load(name);
    change_code(c);
    st = cv_final_remap(&x, &cubin, &said, &bodies, &code);
    ck_assert_msg(st == CUVET_OK && n_errors == 0 && code == CV_FINAL_OK, "%s, %s: %d, %s", name, c->label,
                  st, n_errors ? cuvet_rule_get(last.rule)->id : "-");
    if (c->in == c->out)
        ck_assert_msg(bodies.n == 0, "%s: the same map, other bytes", name);
    for (uint64_t i = 1; i < bodies.n; i++)
        ck_assert_uint_lt(cv_final_bodies_at(&bodies, i - 1)->section,
                          cv_final_bodies_at(&bodies, i)->section);
    check_lines(c, ".debug_line");
    check_lines(c, ".nv_debug_line_sass");
    check_frames(c);
    if (section_named(".debug_info")) {
        ck_assert_uint_eq(n_stale, 1);
        ck_assert_int_eq(check_others(c, ".debug_info") > 0, c->in != c->out);
        check_others(c, ".debug_loc");
    }
}
END_TEST

/* An identity for some, nothing for others: nothing is said and nothing changes. */
START_TEST(no_maps)
{
    load(FILES[0]);
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_OK);
    ck_assert_uint_eq(bodies.n, 0);
}
END_TEST

/* One function moves, the others do not. */
START_TEST(one_function)
{
    const change c = { "one", 0x40, 48, 0 };

    load(FILES[3]);
    change_code(&c);
    for (uint64_t i = 1; i < said.maps.n; i++)
        cv_secs_at(&cubin.sec, cv_offset_maps_at(&said.maps, i)->section)->h.size -= c.in;
    said.maps.n = 1;
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_OK);
    for (unsigned k = 0; k < 2; k++) {
        static rows was, is;
        uint32_t section = section_named(k ? ".debug_line" : ".nv_debug_line_sass");

        decode_lines(section, false, &was);
        decode_lines(section, true, &is);
        ck_assert_uint_eq(was.n, is.n);
        for (unsigned i = 0; i < was.n; i++) {
            uint64_t code_size = size_before(was.v[i].section);

            ck_assert_uint_eq(is.v[i].place,
                              code_size ? expect_place(&c, was.v[i].place, code_size) : was.v[i].place);
        }
    }
}
END_TEST

Suite *suite_remap(void);
Suite *suite_remap(void)
{
    Suite *s = suite_create("remap");
    TCase *t = tcase_create("remap");

    tcase_add_checked_fixture(t, remap_setup, remap_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, moved_files, 0, (int)(N(FILES) * N(CHANGES)));
    tcase_add_test(t, no_maps);
    tcase_add_test(t, one_function);
    suite_add_tcase(s, t);
    return s;
}
