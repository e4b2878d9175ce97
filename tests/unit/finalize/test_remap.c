/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The debug remap over files of compilers: bytes are put into the code of every function, and what the debug
 * sections say afterwards is read by a decoder of this file, which shares nothing with the library. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "finalize/remap.h"

#define MAX_FILE (1u << 16)
#define MAX_ROWS 4096u
#define N(table) (sizeof(table) / sizeof((table)[0]))

static const char *const FILES[] = { "finalize/lines.sm_75.g.rdc",         "finalize/lines.sm_90.lineinfo",
                                     "finalize/lines.sm_100.lineinfo",     "finalize/lines.sm_100.g.rdc",
                                     "finalize/lines.sm_120.lineinfo.rdc", "samples/plain.sm_100.g",
                                     "samples/plain.sm_75.lineinfo" };

static cv_ctx x;
static cv_cubin cubin;
static cv_backend_out said;
static cv_final_bodies bodies;
static cv_final code;
static uint8_t bytes[MAX_FILE];
static uint64_t size;
static unsigned n_errors, n_stale;
static cuvet_diag last;

static void emit(void *user, const cuvet_diag *d)
{
    (void)user;
    if (d->severity == CUVET_ERROR) {
        last = *d;
        n_errors++;
    }
    n_stale += d->rule == CV_R_DWARF_STALE;
}

static void setup(void)
{
    cuvet_limits lim;

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&x, NULL, &lim);
    x.emit = emit;
    cv_cubin_init(&cubin);
    memset(&said, 0, sizeof(said));
    memset(&bodies, 0, sizeof(bodies));
    n_errors = n_stale = 0;
}

static void drop_bodies(void)
{
    for (uint64_t i = 0; i < bodies.n; i++)
        cv_builder_free(&cv_final_bodies_at(&bodies, i)->bytes);
    cv_final_bodies_free(&x.mem, &bodies);
}

static void drop(void)
{
    drop_bodies();
    cv_offset_maps_free(&x.mem, &said.maps);
    cv_moves_free(&x.mem, &said.moves);
    cv_cubin_free(&x, &cubin);
    cv_islands_drop();
}

static void teardown(void)
{
    drop();
    ck_assert_uint_eq(x.mem.live, 0);
}

static void load(const char *name)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "corpus/%s.cubin", name);
    f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: run from the root of the repository", path);
    size = fread(bytes, 1, sizeof(bytes), f);
    ck_assert_uint_lt(size, sizeof(bytes));
    fclose(f);
}

static void examine(void)
{
    uint64_t extent = 0;

    cv_ctx_unit(&x, size);
    ck_assert_int_eq(cv_cubin_examine(&x, &cubin, cv_span_of(bytes, size, 0), NULL, &extent), CUVET_OK);
    ck_assert_uint_eq(n_errors, 0);
    x.work_left = x.work_rest = UINT64_C(1) << 40;
}

/* ---- maps: what is done to the code of each function ---- */

typedef struct change {
    const char *label;
    uint64_t at, in, out; /* 'in' bytes come in at 'at' in place of 'out' */
} change;

static uint64_t expect_place(const change *c, uint64_t was, uint64_t code_size)
{
    if (was == code_size)
        return was + c->in - c->out;
    if (was < c->at)
        return was;
    return was < c->at + c->out ? c->at + c->in : was + c->in - c->out;
}

static void change_code(const change *c)
{
    for (uint32_t i = 1; i < cubin.sec.n; i++) {
        cv_sec *s = cv_secs_at(&cubin.sec, i);
        cv_offset_map m = { .section = i, .size_from = s->h.size, .first = said.moves.n };

        if (s->role != CV_ROLE_TEXT)
            continue;
        ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ 0, 0 }));
        if (c->out)
            ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ c->at, c->at + c->in }));
        ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ c->at + c->out, c->at + c->in }));
        m.n = said.moves.n - m.first;
        m.size_to = s->h.size + c->in - c->out;
        s->h.size = m.size_to; /* the picture is that of the new file */
        ck_assert(cv_offset_maps_push(&x.mem, &said.maps, m));
    }
    ck_assert_uint_gt(said.maps.n, 0);
}

static uint64_t size_before(uint32_t section)
{
    for (uint64_t i = 0; i < said.maps.n; i++)
        if (cv_offset_maps_at(&said.maps, i)->section == section)
            return cv_offset_maps_at(&said.maps, i)->size_from;
    return 0;
}

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

static uint32_t section_named(const char *name)
{
    for (uint32_t i = 1; i < cubin.sec.n; i++)
        if (cv_span_eq_str(cv_cubin_sec(&cubin, i)->name, name))
            return i;
    return 0;
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
    examine();
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
    examine();
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_OK);
    ck_assert_uint_eq(bodies.n, 0);
}
END_TEST

/* One function moves, the others do not. */
START_TEST(one_function)
{
    const change c = { "one", 0x40, 48, 0 };

    load(FILES[3]);
    examine();
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

typedef struct map_edit {
    const char *label;
    uint64_t from[3], to[3];
    uint64_t size_to;
    uint32_t section;
    uint64_t n;
    bool ok;
} map_edit;

START_TEST(maps)
{
    static const map_edit EDITS[] = {
        { "good", { 0, 0x10, 0x20 }, { 0, 0x20, 0x20 }, 0, 0, 3, true },
        { "places twice", { 0, 0x10, 0x10 }, { 0, 0x20, 0x30 }, 0, 0, 3, false },
        { "places go back", { 0, 0x20, 0x10 }, { 0, 0x20, 0x30 }, 0, 0, 3, false },
        { "code in another order", { 0, 0x10, 0x20 }, { 0x20, 0, 0x30 }, 0, 0, 3, false },
        { "behind the code before", { 0, 0x10, 1u << 20 }, { 0, 0x10, 0x20 }, 0, 0, 3, false },
        { "behind the code after", { 0, 0x10, 0x20 }, { 0, 0x10, 1u << 20 }, 0, 0, 3, false },
        { "another size", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 16, 0, 3, false },
        { "no code", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 0, 1, 3, false },
        { "no section", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 0, 0xFFFF, 3, false },
        { "more than there are", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 0, 0, UINT64_MAX, false },
    };
    const map_edit *e = &EDITS[_i];
    cv_offset_map m = { 0 };

    ck_assert_uint_eq(N(EDITS), 10);
    load(FILES[2]);
    examine();
    m.section = e->section ? e->section : section_named(".text.turn");
    m.size_from = m.size_to = cv_cubin_sec(&cubin, section_named(".text.turn"))->h.size;
    m.size_to += e->size_to;
    m.n = e->n;
    for (unsigned i = 0; i < 3; i++)
        ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ e->from[i], e->to[i] }));
    ck_assert(cv_offset_maps_push(&x.mem, &said.maps, m));
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), e->ok ? CUVET_OK : CUVET_E_MALFORMED);
    ck_assert_msg(n_errors == !e->ok, "%s", e->label);
    ck_assert_int_eq(code, e->ok ? CV_FINAL_OK : CV_FINAL_BACKEND_BAD_OUTPUT);
    if (!e->ok) {
        ck_assert_int_eq(last.rule, CV_R_DWARF_MAP);
        ck_assert_uint_eq(last.want, m.section);
        ck_assert_uint_eq(bodies.n, 0);
    }
}
END_TEST

/* ---- too little memory, too little work, nobody wants it ---- */

typedef struct countdown {
    uint64_t left, blocks;
} countdown;

static void *fail_acquire(void *user, size_t n)
{
    countdown *c = user;

    return c->left-- == 0 ? (c->left = 0, NULL) : cv_alloc_default.alloc(cv_alloc_default.user, n);
}

static void *fail_resize(void *user, void *p, size_t was, size_t n)
{
    countdown *c = user;

    return c->left-- == 0 ? (c->left = 0, NULL) : cv_alloc_default.resize(cv_alloc_default.user, p, was, n);
}

static void ok_release(void *user, void *p, size_t n)
{
    (void)user;
    cv_alloc_default.release(cv_alloc_default.user, p, n);
}

START_TEST(no_memory)
{
    const change c = { "memory", 0x40, 0x5000, 0 };
    countdown count = { UINT64_MAX, 0 };
    uint64_t n = 0;
    cuvet_status st;

    load(FILES[0]); /* REL: fields are written as well */
    examine();
    change_code(&c);
    x.mem.alloc = cv_alloc_default;
    x.mem.alloc.user = &count;
    x.mem.alloc.alloc = fail_acquire;
    x.mem.alloc.resize = fail_resize;
    x.mem.alloc.release = ok_release;
    do {
        uint64_t live = x.mem.live;

        count.left = n++;
        st = cv_final_remap(&x, &cubin, &said, &bodies, &code);
        count.left = UINT64_MAX;
        if (st == CUVET_OK)
            break;
        ck_assert_int_eq(st, CUVET_E_NOMEM);
        ck_assert_int_eq(code, CV_FINAL_MEMORY);
        ck_assert_uint_eq(bodies.n, 0);
        cv_final_bodies_free(&x.mem, &bodies);
        ck_assert_uint_eq(x.mem.live, live);
    } while (n < 10000);
    ck_assert_int_eq(st, CUVET_OK);
    ck_assert_uint_gt(n, 20);
    ck_assert_uint_eq(n_errors, 0);
    drop_bodies();
}
END_TEST

START_TEST(no_work)
{
    const change c = { "work", 0x40, 16, 0 };
    bool cancel = true;
    uint64_t need, live;

    load(FILES[3]);
    examine();
    change_code(&c);
    need = cv_ctx_work(&x);
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_OK);
    need -= cv_ctx_work(&x);
    ck_assert_uint_gt(need, 100);
    ck_assert_uint_lt(need, 4 * size); /* linear, with a small factor */
    drop_bodies();
    for (uint64_t w = 0; w < need; w += 1 + w / 16) {
        live = x.mem.live;
        x.work_out = false;
        cv_ctx_set_work(&x, w);
        ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_E_LIMIT);
        ck_assert_int_eq(code, CV_FINAL_LIMIT);
        ck_assert_uint_eq(bodies.n, 0);
        cv_final_bodies_free(&x.mem, &bodies);
        ck_assert_uint_eq(x.mem.live, live);
    }
    x.cancel = &cancel;
    cv_ctx_set_work(&x, 0);
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_E_CANCELLED);
    ck_assert_int_eq(code, CV_FINAL_CANCELLED);
}
END_TEST

Suite *suite_remap(void);
Suite *suite_remap(void)
{
    Suite *s = suite_create("remap");
    TCase *t = tcase_create("remap");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, moved_files, 0, (int)(N(FILES) * N(CHANGES)));
    tcase_add_test(t, no_maps);
    tcase_add_test(t, one_function);
    tcase_add_loop_test(t, maps, 0, 10);
    tcase_add_test(t, no_memory);
    tcase_add_test(t, no_work);
    suite_add_tcase(s, t);
    return s;
}
