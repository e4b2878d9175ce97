/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Edits of linkable objects that lie one after the other: everything keeps its place and its size, so that
 * what is edited is what is said, not how it is stored. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "mutate_int.h"

#define COUNT(table)         (sizeof(table) / sizeof((table)[0]))
#define PICK(mutator, table) ((table)[mut_below((mutator), COUNT(table))])
#define OBJECTS              3
#define TRIES                4

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
typedef struct link_range {
    uint64_t at, count;
} link_range;

typedef struct link_obj {
    link_range all, sym, str, shstr;
    uint64_t shoff, shnum, n_sym;
} link_obj;

size_t mut_next_object(const uint8_t *bytes, size_t size, size_t from)
{
    while (from < size && size - from >= 4) {
        const uint8_t *hit = memchr(bytes + from, 0x7F, size - from - 3);

        if (!hit)
            break;
        if (hit[1] == 'E' && hit[2] == 'L' && hit[3] == 'F')
            return (size_t)(hit - bytes);
        from = (size_t)(hit - bytes) + 1;
    }
    return size;
}

static size_t split(const mut_state *mutator, link_range *out)
{
    size_t count = 0, at = 0;

    while (at < mutator->size && count < OBJECTS) {
        size_t end =
            count + 1 < OBJECTS ? mut_next_object(mutator->data, mutator->size, at + 1) : mutator->size;

        out[count++] = (link_range){ at, end - at };
        at = end;
    }
    return count;
}

static bool body(const mut_state *mutator, const link_obj *object, uint64_t header, link_range *out)
{
    uint64_t off = mut_get(mutator, header + 24, 8);

    *out = (link_range){ 0, mut_get(mutator, header + 32, 8) };
    if (mut_get(mutator, header + 4, 4) == NOBITS || off > object->all.count ||
        out->count > object->all.count - off || out->count == 0)
        return false;
    out->at = object->all.at + off;
    return true;
}

static uint64_t header(const link_obj *object, uint64_t index)
{
    return object->all.at + object->shoff + 64 * (index % object->shnum);
}

/* Header of a section of one of two types, from a random one on. */
static bool find(mut_state *mutator, const link_obj *object, uint32_t first, uint32_t second,
                 uint64_t *handle)
{
    uint64_t start = mut_below(mutator, object->shnum);

    for (uint64_t i = 0; i < object->shnum; i++) {
        uint64_t type;

        *handle = header(object, start + i);
        type = mut_get(mutator, *handle + 4, 4);
        if (type == first || type == second)
            return true;
    }
    return false;
}

static bool look(mut_state *mutator, link_range all, link_obj *object)
{
    uint64_t hash;

    *object = (link_obj){ .all = all };
    if (all.count < 64 || mut_get(mutator, all.at, 4) != 0x464C457F || mutator->data[all.at + 4] != 2)
        return false;
    object->shoff = mut_get(mutator, all.at + 40, 8);
    object->shnum = mut_get(mutator, all.at + 60, 2);
    if (object->shnum == 0 || object->shoff > all.count || object->shnum > (all.count - object->shoff) / 64)
        return false;
    if (!find(mutator, object, SYMTAB, SYMTAB, &hash) || !body(mutator, object, hash, &object->sym))
        return false;
    object->n_sym = object->sym.count / 24;
    return object->n_sym > 1 &&
           body(mutator, object, header(object, mut_get(mutator, hash + 40, 4)), &object->str) &&
           body(mutator, object, header(object, mut_get(mutator, all.at + 62, 2)), &object->shstr);
}

/* A symbol that is none of a section, mostly. */
static uint64_t symbol(mut_state *mutator, const link_obj *object)
{
    uint64_t at = 0;

    for (int i = 0; i < 8; i++) {
        at = object->sym.at + 24 * (1 + mut_below(mutator, object->n_sym - 1));
        if ((mut_get(mutator, at + 4, 1) & 15) != 3)
            break;
    }
    return at;
}

static bool edit_binding(mut_state *mutator, const link_obj *object)
{
    uint64_t second = symbol(mutator, object), info = mut_get(mutator, second + 4, 1);

    if (mut_below(mutator, 8) == 0)
        mut_set(mutator, second + 4, 1,
                (info & 0xF0) | (mut_get(mutator, symbol(mutator, object) + 4, 1) & 15));
    else
        mut_set(mutator, second + 4, 1, (info & 15) | (info >> 4 == 1 ? 2u : 1u) << 4);
    return true;
}

static bool edit_place(mut_state *mutator, const link_obj *object)
{
    static const uint16_t SPECIAL[] = { 0, 0, 0xFFF1, 0xFFF2 };
    uint64_t second = symbol(mutator, object);

    mut_set(mutator, second + 6, 2,
            mut_below(mutator, 2) ? PICK(mutator, SPECIAL)
                                  : mut_get(mutator, symbol(mutator, object) + 6, 2));
    return true;
}

static bool edit_name(mut_state *mutator, const link_obj *object)
{
    uint64_t second = symbol(mutator, object);

    mut_set(mutator, second, 4,
            mut_below(mutator, 4) ? mut_get(mutator, symbol(mutator, object), 4)
                                  : mut_get(mutator, second, 4) + 1);
    return true;
}

static uint64_t number(mut_state *mutator, uint64_t old)
{
    const uint64_t SOME[] = { 0,       1,       3,       4,       8,       16,       24,         32,
                              64,      128,     255,     256,     0x1000,  0xC000,   0xFFF8,     0x10000,
                              old + 4, old + 8, old - 4, 2 * old, old / 2, ~old + 1, UINT32_MAX, old + 1 };

    return PICK(mutator, SOME);
}

static bool edit_value(mut_state *mutator, const link_obj *object)
{
    uint64_t at = symbol(mutator, object) + (mut_below(mutator, 2) ? 8 : 16);

    mut_set(mutator, at, 8,
            mut_below(mutator, 3) ? number(mutator, mut_get(mutator, at, 8))
                                  : mut_get(mutator, symbol(mutator, object) + 16, 8));
    return true;
}

static bool edit_other(mut_state *mutator, const link_obj *object)
{
    static const uint8_t SPACES[] = { 0, 0x10, 0x20, 0x40, 0x60, 0x80, 0x81, 0xA0, 0xC0, 4 };
    uint64_t second = symbol(mutator, object);

    mut_set(mutator, second + 5, 1,
            mut_below(mutator, 2) ? PICK(mutator, SPACES) : mut_get(mutator, symbol(mutator, object) + 5, 1));
    return true;
}

static bool edit_relocation(mut_state *mutator, const link_obj *object)
{
    static const uint8_t TYPES[] = { 1,  2,  4,  55, 56, 57,  58,  59,  60,  64,  65, 66,
                                     68, 69, 73, 74, 75, 102, 103, 112, 113, 114, 115 };
    uint64_t hash, each, at, other, room;
    link_range range;

    if (!find(mutator, object, REL, RELA, &hash) || !body(mutator, object, hash, &range))
        return false;
    each = mut_get(mutator, hash + 4, 4) == REL ? 16 : 24;
    at = range.at + each * mut_below(mutator, range.count / each);
    other = range.at + each * mut_below(mutator, range.count / each);
    room = mut_get(mutator, header(object, mut_get(mutator, hash + 44, 4)) + 32, 8);
    switch (mut_below(mutator, each == 24 ? 8 : 7)) {
    case 0: mut_set(mutator, at, 8, mut_get(mutator, other, 8)); break;
    case 1:
        mut_set(mutator, at, 8, mut_below(mutator, room) & ~((UINT64_C(1) << mut_below(mutator, 5)) - 1));
        break;
    case 2: mut_set(mutator, at + 8, 4, mut_get(mutator, other + 8, 4)); break;
    case 3: mut_set(mutator, at + 8, 4, PICK(mutator, TYPES)); break;
    case 4:
    case 5: mut_set(mutator, at + 12, 4, mut_below(mutator, object->n_sym)); break;
    case 6:
        for (uint64_t i = 0; i < each; i += 8) {
            uint64_t value = mut_get(mutator, at + i, 8);

            mut_set(mutator, at + i, 8, mut_get(mutator, other + i, 8));
            mut_set(mutator, other + i, 8, value);
        }
        break;
    default: mut_set(mutator, at + 16, 8, number(mutator, mut_get(mutator, at + 16, 8))); break;
    }
    return true;
}

/* One record of an information section: its symbol, its number, or a byte. */
static bool edit_info(mut_state *mutator, const link_obj *object)
{
    uint64_t hash, at, end, size = 0, skip = mut_below(mutator, 24);
    link_range range;

    if (!find(mutator, object, INFO, INFO, &hash) || !body(mutator, object, hash, &range))
        return false;
    end = range.at + range.count;
    for (at = range.at; at + 4 <= end; at += 4 + size) {
        size = mut_get(mutator, at, 1) == 4 ? mut_get(mutator, at + 2, 2) : 0;
        if (skip-- == 0 || at + 8 + size > end)
            break;
    }
    if (size == 8 && mut_below(mutator, 3) == 0)
        mut_set(mutator, at + 4, 4, mut_below(mutator, object->n_sym));
    else if (size >= 4)
        mut_set(mutator, at + 4 + 4 * mut_below(mutator, size / 4), 4,
                number(mutator, mut_get(mutator, at + 8, 4)));
    else
        mut_edge(mutator, at + 2, mut_below(mutator, 2) ? 2 : 1);
    return true;
}

/* An edge of the call graph, a prototype: another symbol, or what another entry has. */
static bool edit_graph(mut_state *mutator, const link_obj *object)
{
    uint64_t hash, at, word = 4 * mut_below(mutator, 2);
    link_range range;

    if (!find(mutator, object, CALLGRAPH, PROTOTYPE, &hash) || !body(mutator, object, hash, &range) ||
        range.count < 8)
        return false;
    at = range.at + 8 * mut_below(mutator, range.count / 8) + word;
    if (mut_below(mutator, 2))
        mut_set(mutator, at, 4,
                mut_get(mutator, range.at + 8 * mut_below(mutator, range.count / 8) + word, 4));
    else
        mut_set(mutator, at, 4, (symbol(mutator, object) - object->sym.at) / 24);
    return true;
}

static bool edit_section(mut_state *mutator, const link_obj *object)
{
    uint64_t hash = header(object, mut_below(mutator, object->shnum));

    switch (mut_below(mutator, 4)) {
    case 0: mut_set(mutator, hash + 48, 8, UINT64_C(1) << mut_below(mutator, 10)); break;
    case 1:
        if (!find(mutator, object, NOBITS, SHARED, &hash))
            return false;
        mut_set(mutator, hash + 32, 8, number(mutator, mut_get(mutator, hash + 32, 8)));
        break;
    case 2: /* registers, and the function that code belongs to */
        mut_set(mutator, hash + 44, 4,
                mut_get(mutator, hash + 44, 4) ^ mut_below(mutator, 256) << (mut_below(mutator, 4) ? 24 : 0));
        break;
    default:
        mut_set(mutator, hash + 8, 8,
                mut_get(mutator, header(object, mut_below(mutator, object->shnum)) + 8, 8));
        break;
    }
    return true;
}

static bool edit_bytes(mut_state *mutator, const link_obj *object)
{
    link_range range;

    if (!body(mutator, object, header(object, mut_below(mutator, object->shnum)), &range))
        return false;
    mut_edge(mutator, range.at + (mut_below(mutator, range.count) & ~UINT64_C(3)), 4);
    return true;
}

static void replace(mut_state *mutator, link_range where, const uint8_t *old, const uint8_t *with,
                    uint64_t size)
{
    for (uint64_t i = 0; size < where.count && i < where.count - size; i++)
        if (memcmp(mutator->data + where.at + i, old, size) == 0)
            memcpy(mutator->data + where.at + i, with, size);
}

/* A name becomes another one of the same length wherever it stands, in the names of sections too: one of an
 * object beside it, or one with another letter. */
static bool rename_symbol(mut_state *mutator, const link_obj *object)
{
    uint8_t old[64], with[64];
    link_range all[OBJECTS];
    uint64_t at = object->str.at + mut_get(mutator, symbol(mutator, object), 4) % object->str.count,
             total = 0, from;
    size_t count = split(mutator, all);
    link_obj other;

    while (total < sizeof(old) && mut_get(mutator, at + total, 1) != 0)
        total++;
    if (total == 0 || total == sizeof(old) || at + total > object->str.at + object->str.count)
        return false;
    memcpy(old, mutator->data + at, total);
    memcpy(with, old, total);
    with[mut_below(mutator, total)] = (uint8_t)('a' + mut_below(mutator, 26));
    if (mut_below(mutator, 2) && look(mutator, all[mut_below(mutator, count)], &other)) {
        from = other.str.at + mut_get(mutator, symbol(mutator, &other), 4) % other.str.count;
        if (from + total < mutator->size && mutator->data[from + total] == 0 &&
            !memchr(mutator->data + from, 0, total))
            memcpy(with, mutator->data + from, total);
    }
    replace(mutator, object->str, old, with, total);
    replace(mutator, object->shstr, old, with, total);
    return true;
}

typedef bool edit_fn(mut_state *mutator, const link_obj *object);

static edit_fn *const EDITS[] = { edit_binding,    edit_place,   edit_name,       edit_value,
                                  edit_value,      edit_other,   edit_relocation, edit_relocation,
                                  edit_relocation, edit_info,    edit_info,       edit_graph,
                                  edit_graph,      edit_section, edit_bytes,      rename_symbol,
                                  rename_symbol };

/* One edit of one object. One in eight may break it. */
static bool edit_one(mut_state *mutator, fz_judge_fn *judge)
{
    bool may_break = mut_below(mutator, 8) == 0, done = false;
    link_range all[OBJECTS], range;
    size_t count = split(mutator, all);
    uint8_t *before;
    link_obj object;

    if (count == 0)
        return false;
    range = all[mut_below(mutator, count)];
    before = malloc(range.count);
    if (!before)
        return false;
    memcpy(before, mutator->data + range.at, range.count);
    for (int i = 0; i < TRIES && look(mutator, range, &object); i++) {
        done = PICK(mutator, EDITS)(mutator, &object);
        if (done && (may_break || !judge || judge(mutator->data + range.at, range.count)))
            break;
        if (i + 1 < TRIES)
            memcpy(mutator->data + range.at, before, range.count);
    }
    free(before);
    return done;
}

static void reverse(uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size / 2; i++) {
        uint8_t value = bytes[i];

        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = value;
    }
}

/* An object twice, gone, or elsewhere. */
static bool edit_list(mut_state *mutator)
{
    link_range all[OBJECTS], range, next;
    size_t count = split(mutator, all), i;

    if (count == 0)
        return false;
    i = mut_below(mutator, count);
    range = all[i];
    if (count < OBJECTS && mut_below(mutator, count == 1 ? 2 : 8) == 0) {
        if (!mut_resize(mutator, mutator->size, 0, range.count))
            return false;
        memcpy(mutator->data + mutator->size - range.count, mutator->data + range.at, range.count);
        return true;
    }
    if (count == OBJECTS && mut_below(mutator, 2))
        return mut_resize(mutator, range.at, range.count, 0);
    if (count < 2)
        return false;
    range = all[i % (count - 1)];
    next = all[i % (count - 1) + 1];
    reverse(mutator->data + range.at, range.count);
    reverse(mutator->data + next.at, next.count);
    reverse(mutator->data + range.at, range.count + next.count);
    return true;
}

static uint32_t edit_param(mut_state *mutator, uint32_t param)
{
    switch (mut_below(mutator, 8)) {
    case 0: return param ^ (uint32_t)mut_below(mutator, 32) << 8;
    case 1: return param ^ 1u << mut_below(mutator, 8);
    case 2: return param ^ 1u << mut_below(mutator, 32);
    default: return param ^ 1u << (13 + mut_below(mutator, 9));
    }
}

size_t cv_mutate_link(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw,
                      fz_judge_fn *judge)
{
    mut_state mutator = { data, size, max, seed * UINT64_C(0x9E3779B97F4A7C15) + 1, raw };
    bool has = size >= FZ_TRAILER && mut_get(&mutator, size - 4, 4) == FZ_MAGIC, done = false;
    uint32_t param = has ? (uint32_t)mut_get(&mutator, size - FZ_TRAILER, 4) : 0;
    uint64_t what;

    (void)mut_rand(&mutator);
    what = mut_below(&mutator, 32);
    if (what == 0 || max < FZ_TRAILER || size > max)
        return cv_mutate_file(data, size, max, seed, raw);
    mutator.size -= has ? FZ_TRAILER : 0;
    mutator.max -= FZ_TRAILER;
    if (mutator.size > mutator.max)
        mutator.size = mutator.max;
    if (what < 4) {
        param = edit_param(&mutator, param);
        has = done = true;
    } else if (what < 7) {
        done = edit_list(&mutator);
    } else {
        /* Most often one: each is judged, which takes as long as what a target does with the object. */
        for (uint64_t count = mut_below(&mutator, 4) ? 1 : 2 + mut_below(&mutator, 2); count > 0; count--)
            done = edit_one(&mutator, judge) || done;
    }
    if (!done)
        return cv_mutate_file(data, size, max, seed, raw);
    if (has) {
        mut_put_trailer(data + mutator.size, param);
        mutator.size += FZ_TRAILER;
    }
    return mutator.size;
}
