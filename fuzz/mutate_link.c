/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Edits of linkable objects that lie one after the other: everything keeps its place and its size, so that
 * what is edited is what is said, not how it is stored. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "mutate_int.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define PICK(m, a) ((a)[mut_below((m), COUNT(a))])
#define OBJECTS    3
#define TRIES      4

enum {
    SYMTAB = 2,
    STRTAB = 3,
    RELA = 4,
    NOBITS = 8,
    REL = 9,
    INFO = 0x70000000,
    CALLGRAPH = 0x70000001,
    PROTOTYPE = 0x70000002,
    SHARED = 0x7000000A
};

/* A place in the buffer. */
typedef struct range {
    uint64_t at, n;
} range;

typedef struct obj {
    range all, sym, str, shstr;
    uint64_t shoff, shnum, n_sym;
} obj;

size_t mut_next_object(const uint8_t *p, size_t n, size_t from)
{
    while (from < n && n - from >= 4) {
        const uint8_t *hit = memchr(p + from, 0x7F, n - from - 3);

        if (!hit)
            break;
        if (hit[1] == 'E' && hit[2] == 'L' && hit[3] == 'F')
            return (size_t)(hit - p);
        from = (size_t)(hit - p) + 1;
    }
    return n;
}

static size_t split(const mut *m, range *out)
{
    size_t count = 0, at = 0;

    while (at < m->size && count < OBJECTS) {
        size_t end = count + 1 < OBJECTS ? mut_next_object(m->data, m->size, at + 1) : m->size;

        out[count++] = (range){ at, end - at };
        at = end;
    }
    return count;
}

static bool body(const mut *m, const obj *o, uint64_t header, range *out)
{
    uint64_t off = mut_get(m, header + 24, 8);

    *out = (range){ 0, mut_get(m, header + 32, 8) };
    if (mut_get(m, header + 4, 4) == NOBITS || off > o->all.n || out->n > o->all.n - off || out->n == 0)
        return false;
    out->at = o->all.at + off;
    return true;
}

static uint64_t header(const obj *o, uint64_t i)
{
    return o->all.at + o->shoff + 64 * (i % o->shnum);
}

/* Header of a section of one of two types, from a random one on. */
static bool find(mut *m, const obj *o, uint32_t a, uint32_t b, uint64_t *h)
{
    uint64_t start = mut_below(m, o->shnum);

    for (uint64_t i = 0; i < o->shnum; i++) {
        uint64_t type;

        *h = header(o, start + i);
        type = mut_get(m, *h + 4, 4);
        if (type == a || type == b)
            return true;
    }
    return false;
}

static bool look(mut *m, range all, obj *o)
{
    uint64_t h;

    *o = (obj){ .all = all };
    if (all.n < 64 || mut_get(m, all.at, 4) != 0x464C457F || m->data[all.at + 4] != 2)
        return false;
    o->shoff = mut_get(m, all.at + 40, 8);
    o->shnum = mut_get(m, all.at + 60, 2);
    if (o->shnum == 0 || o->shoff > all.n || o->shnum > (all.n - o->shoff) / 64)
        return false;
    if (!find(m, o, SYMTAB, SYMTAB, &h) || !body(m, o, h, &o->sym))
        return false;
    o->n_sym = o->sym.n / 24;
    return o->n_sym > 1 && body(m, o, header(o, mut_get(m, h + 40, 4)), &o->str) &&
           body(m, o, header(o, mut_get(m, all.at + 62, 2)), &o->shstr);
}

/* A symbol that is none of a section, mostly. */
static uint64_t symbol(mut *m, const obj *o)
{
    uint64_t at = 0;

    for (int i = 0; i < 8; i++) {
        at = o->sym.at + 24 * (1 + mut_below(m, o->n_sym - 1));
        if ((mut_get(m, at + 4, 1) & 15) != 3)
            break;
    }
    return at;
}

static bool edit_binding(mut *m, const obj *o)
{
    uint64_t y = symbol(m, o), info = mut_get(m, y + 4, 1);

    if (mut_below(m, 8) == 0)
        mut_set(m, y + 4, 1, (info & 0xF0) | (mut_get(m, symbol(m, o) + 4, 1) & 15));
    else
        mut_set(m, y + 4, 1, (info & 15) | (info >> 4 == 1 ? 2u : 1u) << 4);
    return true;
}

static bool edit_place(mut *m, const obj *o)
{
    static const uint16_t SPECIAL[] = { 0, 0, 0xFFF1, 0xFFF2 };
    uint64_t y = symbol(m, o);

    mut_set(m, y + 6, 2, mut_below(m, 2) ? PICK(m, SPECIAL) : mut_get(m, symbol(m, o) + 6, 2));
    return true;
}

static bool edit_name(mut *m, const obj *o)
{
    uint64_t y = symbol(m, o);

    mut_set(m, y, 4, mut_below(m, 4) ? mut_get(m, symbol(m, o), 4) : mut_get(m, y, 4) + 1);
    return true;
}

static uint64_t number(mut *m, uint64_t old)
{
    const uint64_t SOME[] = { 0,       1,       3,       4,       8,       16,       24,         32,
                              64,      128,     255,     256,     0x1000,  0xC000,   0xFFF8,     0x10000,
                              old + 4, old + 8, old - 4, 2 * old, old / 2, ~old + 1, UINT32_MAX, old + 1 };

    return PICK(m, SOME);
}

static bool edit_value(mut *m, const obj *o)
{
    uint64_t at = symbol(m, o) + (mut_below(m, 2) ? 8 : 16);

    mut_set(m, at, 8, mut_below(m, 3) ? number(m, mut_get(m, at, 8)) : mut_get(m, symbol(m, o) + 16, 8));
    return true;
}

static bool edit_other(mut *m, const obj *o)
{
    static const uint8_t SPACES[] = { 0, 0x10, 0x20, 0x40, 0x60, 0x80, 0x81, 0xA0, 0xC0, 4 };
    uint64_t y = symbol(m, o);

    mut_set(m, y + 5, 1, mut_below(m, 2) ? PICK(m, SPACES) : mut_get(m, symbol(m, o) + 5, 1));
    return true;
}

static bool edit_relocation(mut *m, const obj *o)
{
    static const uint8_t TYPES[] = { 1,  2,  4,  55, 56, 57,  58,  59,  60,  64,  65, 66,
                                     68, 69, 73, 74, 75, 102, 103, 112, 113, 114, 115 };
    uint64_t h, each, at, other, room;
    range b;

    if (!find(m, o, REL, RELA, &h) || !body(m, o, h, &b))
        return false;
    each = mut_get(m, h + 4, 4) == REL ? 16 : 24;
    at = b.at + each * mut_below(m, b.n / each);
    other = b.at + each * mut_below(m, b.n / each);
    room = mut_get(m, header(o, mut_get(m, h + 44, 4)) + 32, 8);
    switch (mut_below(m, each == 24 ? 8 : 7)) {
    case 0: mut_set(m, at, 8, mut_get(m, other, 8)); break;
    case 1: mut_set(m, at, 8, mut_below(m, room) & ~((UINT64_C(1) << mut_below(m, 5)) - 1)); break;
    case 2: mut_set(m, at + 8, 4, mut_get(m, other + 8, 4)); break;
    case 3: mut_set(m, at + 8, 4, PICK(m, TYPES)); break;
    case 4:
    case 5: mut_set(m, at + 12, 4, mut_below(m, o->n_sym)); break;
    case 6:
        for (uint64_t i = 0; i < each; i += 8) {
            uint64_t v = mut_get(m, at + i, 8);

            mut_set(m, at + i, 8, mut_get(m, other + i, 8));
            mut_set(m, other + i, 8, v);
        }
        break;
    default: mut_set(m, at + 16, 8, number(m, mut_get(m, at + 16, 8))); break;
    }
    return true;
}

/* One record of an information section: its symbol, its number, or a byte. */
static bool edit_info(mut *m, const obj *o)
{
    uint64_t h, at, end, size = 0, skip = mut_below(m, 24);
    range b;

    if (!find(m, o, INFO, INFO, &h) || !body(m, o, h, &b))
        return false;
    end = b.at + b.n;
    for (at = b.at; at + 4 <= end; at += 4 + size) {
        size = mut_get(m, at, 1) == 4 ? mut_get(m, at + 2, 2) : 0;
        if (skip-- == 0 || at + 8 + size > end)
            break;
    }
    if (size == 8 && mut_below(m, 3) == 0)
        mut_set(m, at + 4, 4, mut_below(m, o->n_sym));
    else if (size >= 4)
        mut_set(m, at + 4 + 4 * mut_below(m, size / 4), 4, number(m, mut_get(m, at + 8, 4)));
    else
        mut_edge(m, at + 2, mut_below(m, 2) ? 2 : 1);
    return true;
}

/* An edge of the call graph, a prototype: another symbol, or what another entry has. */
static bool edit_graph(mut *m, const obj *o)
{
    uint64_t h, at, word = 4 * mut_below(m, 2);
    range b;

    if (!find(m, o, CALLGRAPH, PROTOTYPE, &h) || !body(m, o, h, &b) || b.n < 8)
        return false;
    at = b.at + 8 * mut_below(m, b.n / 8) + word;
    if (mut_below(m, 2))
        mut_set(m, at, 4, mut_get(m, b.at + 8 * mut_below(m, b.n / 8) + word, 4));
    else
        mut_set(m, at, 4, (symbol(m, o) - o->sym.at) / 24);
    return true;
}

static bool edit_section(mut *m, const obj *o)
{
    uint64_t h = header(o, mut_below(m, o->shnum));

    switch (mut_below(m, 4)) {
    case 0: mut_set(m, h + 48, 8, UINT64_C(1) << mut_below(m, 10)); break;
    case 1:
        if (!find(m, o, NOBITS, SHARED, &h))
            return false;
        mut_set(m, h + 32, 8, number(m, mut_get(m, h + 32, 8)));
        break;
    case 2: /* registers, and the function that code belongs to */
        mut_set(m, h + 44, 4, mut_get(m, h + 44, 4) ^ mut_below(m, 256) << (mut_below(m, 4) ? 24 : 0));
        break;
    default: mut_set(m, h + 8, 8, mut_get(m, header(o, mut_below(m, o->shnum)) + 8, 8)); break;
    }
    return true;
}

static bool edit_bytes(mut *m, const obj *o)
{
    range b;

    if (!body(m, o, header(o, mut_below(m, o->shnum)), &b))
        return false;
    mut_edge(m, b.at + (mut_below(m, b.n) & ~UINT64_C(3)), 4);
    return true;
}

static void replace(mut *m, range where, const uint8_t *old, const uint8_t *with, uint64_t n)
{
    for (uint64_t i = 0; n < where.n && i < where.n - n; i++)
        if (memcmp(m->data + where.at + i, old, n) == 0)
            memcpy(m->data + where.at + i, with, n);
}

/* A name becomes another one of the same length wherever it stands, in the names of sections too: one of an
 * object beside it, or one with another letter. */
static bool rename_symbol(mut *m, const obj *o)
{
    uint8_t old[64], with[64];
    range all[OBJECTS];
    uint64_t at = o->str.at + mut_get(m, symbol(m, o), 4) % o->str.n, n = 0, from;
    size_t count = split(m, all);
    obj other;

    while (n < sizeof(old) && mut_get(m, at + n, 1) != 0)
        n++;
    if (n == 0 || n == sizeof(old) || at + n > o->str.at + o->str.n)
        return false;
    memcpy(old, m->data + at, n);
    memcpy(with, old, n);
    with[mut_below(m, n)] = (uint8_t)('a' + mut_below(m, 26));
    if (mut_below(m, 2) && look(m, all[mut_below(m, count)], &other)) {
        from = other.str.at + mut_get(m, symbol(m, &other), 4) % other.str.n;
        if (from + n < m->size && m->data[from + n] == 0 && !memchr(m->data + from, 0, n))
            memcpy(with, m->data + from, n);
    }
    replace(m, o->str, old, with, n);
    replace(m, o->shstr, old, with, n);
    return true;
}

typedef bool edit_fn(mut *m, const obj *o);

static edit_fn *const EDITS[] = { edit_binding,    edit_place,   edit_name,       edit_value,
                                  edit_value,      edit_other,   edit_relocation, edit_relocation,
                                  edit_relocation, edit_info,    edit_info,       edit_graph,
                                  edit_graph,      edit_section, edit_bytes,      rename_symbol,
                                  rename_symbol };

/* One edit of one object. One in eight may break it. */
static bool edit_one(mut *m, fz_judge_fn *judge)
{
    bool may_break = mut_below(m, 8) == 0, done = false;
    range all[OBJECTS], r;
    size_t n = split(m, all);
    uint8_t *before;
    obj o;

    if (n == 0)
        return false;
    r = all[mut_below(m, n)];
    before = malloc(r.n);
    if (!before)
        return false;
    memcpy(before, m->data + r.at, r.n);
    for (int i = 0; i < TRIES && look(m, r, &o); i++) {
        done = PICK(m, EDITS)(m, &o);
        if (done && (may_break || !judge || judge(m->data + r.at, r.n)))
            break;
        if (i + 1 < TRIES)
            memcpy(m->data + r.at, before, r.n);
    }
    free(before);
    return done;
}

static void reverse(uint8_t *p, uint64_t n)
{
    for (uint64_t i = 0; i < n / 2; i++) {
        uint8_t v = p[i];

        p[i] = p[n - 1 - i];
        p[n - 1 - i] = v;
    }
}

/* An object twice, gone, or elsewhere. */
static bool edit_list(mut *m)
{
    range all[OBJECTS], r, next;
    size_t n = split(m, all), i;

    if (n == 0)
        return false;
    i = mut_below(m, n);
    r = all[i];
    if (n < OBJECTS && mut_below(m, n == 1 ? 2 : 8) == 0) {
        if (!mut_resize(m, m->size, 0, r.n))
            return false;
        memcpy(m->data + m->size - r.n, m->data + r.at, r.n);
        return true;
    }
    if (n == OBJECTS && mut_below(m, 2))
        return mut_resize(m, r.at, r.n, 0);
    if (n < 2)
        return false;
    r = all[i % (n - 1)];
    next = all[i % (n - 1) + 1];
    reverse(m->data + r.at, r.n);
    reverse(m->data + next.at, next.n);
    reverse(m->data + r.at, r.n + next.n);
    return true;
}

static uint32_t edit_param(mut *m, uint32_t param)
{
    switch (mut_below(m, 8)) {
    case 0: return param ^ (uint32_t)mut_below(m, 32) << 8;
    case 1: return param ^ 1u << mut_below(m, 8);
    case 2: return param ^ 1u << mut_below(m, 32);
    default: return param ^ 1u << (13 + mut_below(m, 9));
    }
}

size_t cv_mutate_link(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw,
                      fz_judge_fn *judge)
{
    mut m = { data, size, max, seed * UINT64_C(0x9E3779B97F4A7C15) + 1, raw };
    bool has = size >= FZ_TRAILER && mut_get(&m, size - 4, 4) == FZ_MAGIC, done = false;
    uint32_t param = has ? (uint32_t)mut_get(&m, size - FZ_TRAILER, 4) : 0;
    uint64_t what;

    (void)mut_rand(&m);
    what = mut_below(&m, 32);
    if (what == 0 || max < FZ_TRAILER || size > max)
        return cv_mutate_file(data, size, max, seed, raw);
    m.size -= has ? FZ_TRAILER : 0;
    m.max -= FZ_TRAILER;
    if (m.size > m.max)
        m.size = m.max;
    if (what < 4) {
        param = edit_param(&m, param);
        has = done = true;
    } else if (what < 7) {
        done = edit_list(&m);
    } else {
        for (uint64_t n = 1 + mut_below(&m, 3); n > 0; n--)
            done = edit_one(&m, judge) || done;
    }
    if (!done)
        return cv_mutate_file(data, size, max, seed, raw);
    if (has) {
        mut_put_trailer(data + m.size, param);
        m.size += FZ_TRAILER;
    }
    return m.size;
}
