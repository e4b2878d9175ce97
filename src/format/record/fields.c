/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/record/fields.h"

typedef enum repeat { ONE, LIST, HEAD } repeat;
typedef enum tail { NONE, WORDS } tail;
enum { ALWAYS = 0, OPTIONAL = CUVET_FIELD_OPTIONAL };

#define WORD_BYTES 4u

/* Ways to store a version come behind the kinds that everybody sees. */
enum {
    CUVET_FIELD_VERSION_TENTHS = CUVET_FIELD_VERSION | 0x40, /* times ten */
    CUVET_FIELD_VERSION_BYTES = CUVET_FIELD_VERSION | 0x80   /* two bytes */
};

typedef struct field_row {
    const char *text;
    uint8_t kind, off, bit, bits, flags;
} field_row;

static const field_row FIELDS[] = {
#define FIELD(layout, name, text, kind, off, bit, bits, presence)                                            \
    { text, CUVET_FIELD_##kind, off, bit, bits, presence },
#include "fields.def"
};

/* A layout's fields begin where those of the one before it end. */
enum {
#define LAYOUT(name, ...)        FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define FIELD(layout, name, ...) FIELD_##layout##_##name,
#include "fields.def"
    N_FIELDS
};
_Static_assert(CV_COUNT(FIELDS) == N_FIELDS, "one row per field");

typedef struct layout_row {
    uint8_t first, size, repeat, tail;
} layout_row;

static const layout_row LAYOUTS[] = {
#define LAYOUT(name, size, repeat, tail) { FIRST_##name, size, repeat, tail },
#include "fields.def"
    { N_FIELDS, 0, 0, 0 } /* the end of the last one */
};

enum {
#define ATTR(code, name, format, scope, repeat, shape, size, words) ATTR_##name = code,
#include "eiattr.def"
    N_ATTRS
};
enum {
#define COMPAT(tag, name, format, size, merge, absent) COMPAT_##name = tag,
#include "compat.def"
    N_COMPAT
};
_Static_assert(CV_LAYOUT_WORDS == 0, "what has no row");

static const uint8_t ATTR_LAYOUTS[N_ATTRS] = {
#define ATTR_LAYOUT(attribute, layout) [ATTR_##attribute] = CV_LAYOUT_##layout,
#include "fields.def"
};
static const uint8_t ATTR_VALUES[N_ATTRS] = {
#define ATTR_VALUE(attribute, layout) [ATTR_##attribute] = CV_LAYOUT_##layout,
#include "fields.def"
};
static const uint8_t COMPAT_LAYOUTS[N_COMPAT] = {
#define COMPAT_LAYOUT(tag, layout) [COMPAT_##tag] = CV_LAYOUT_##layout,
#include "fields.def"
};
static const uint8_t COMPAT_VALUES[N_COMPAT] = {
#define COMPAT_VALUE(tag, layout) [COMPAT_##tag] = CV_LAYOUT_##layout,
#include "fields.def"
};

static cv_layout of_value(uint8_t row, bool wide)
{
    if (row != CV_LAYOUT_WORDS)
        return (cv_layout)row;
    return wide ? CV_LAYOUT_HALF : CV_LAYOUT_BYTE;
}

cv_layout cv_layout_of_attr(uint32_t code)
{
    return code < N_ATTRS ? (cv_layout)CV_AT(ATTR_LAYOUTS, code) : CV_LAYOUT_WORDS;
}

cv_layout cv_layout_of_compat(uint32_t tag)
{
    return tag < N_COMPAT ? (cv_layout)CV_AT(COMPAT_LAYOUTS, tag) : CV_LAYOUT_WORDS;
}

cv_layout cv_layout_of_attr_value(uint32_t code, bool wide)
{
    return of_value(code < N_ATTRS ? CV_AT(ATTR_VALUES, code) : 0, wide);
}

cv_layout cv_layout_of_compat_value(uint32_t tag, bool wide)
{
    return of_value(tag < N_COMPAT ? CV_AT(COMPAT_VALUES, tag) : 0, wide);
}

uint64_t cv_layout_size(cv_layout layout)
{
    return CV_AT(LAYOUTS, layout).size;
}

bool cv_layout_fits(cv_layout layout, uint64_t bytes)
{
    const layout_row *row = &CV_AT(LAYOUTS, layout);

    if (row->size == 0)
        return false;
    switch (row->repeat) {
    case ONE: return bytes == row->size;
    case HEAD: return bytes >= row->size;
    default: break;
    }
    /* What follows a record is words, and so may be what no record is found in. */
    return bytes % (row->tail == WORDS || layout == CV_LAYOUT_ANNOTATIONS ? WORD_BYTES : row->size) == 0;
}

static void give(const field_row *row, cv_span bytes, uint64_t at, uint64_t group, cuvet_field *out)
{
    uint64_t value = 0;

    for (unsigned i = 0; 8 * i < (unsigned)row->bit + row->bits; i++)
        value |= (uint64_t)cv_u8_at(bytes, at + row->off + i) << 8 * i;
    value >>= row->bit;
    if (row->bits < 64)
        value &= (UINT64_C(1) << row->bits) - 1;
    if (row->kind == CUVET_FIELD_VERSION_TENTHS)
        value = (value / 10) << 32 | value % 10;
    else if (row->kind == CUVET_FIELD_VERSION_BYTES)
        value = (value >> 8) << 32 | (value & 0xFF);
    *out = (cuvet_field){
        .name = row->text,
        .kind = (cuvet_field_kind)(row->kind & 0x3F),
        .flags = row->flags,
        .group = group,
        .off = at + row->off,
        .value = value,
    };
}

/* A word of a list that has no end of its own. */
static bool give_word(size_t field, cv_span bytes, cuvet_field_pos *pos, cuvet_field *out)
{
    const field_row *row = &CV_AT(FIELDS, field);

    if (!cv_span_has(bytes, pos->at, WORD_BYTES))
        return false;
    give(row, bytes, pos->at, pos->group, out);
    pos->at += WORD_BYTES;
    return true;
}

/* Spills and refills, then words. */
static bool next_annotation(cv_span bytes, cuvet_field_pos *pos, cuvet_field *out)
{
    enum { KIND_SPILL = 1 };
    uint64_t size = cv_layout_size(CV_LAYOUT_ANNOTATIONS);

    if (pos->field == 0 && cv_span_has(bytes, pos->at, size) && cv_u32_at(bytes, pos->at) == KIND_SPILL) {
        give(&CV_AT(FIELDS, FIELD_ANNOTATIONS_SPILL), bytes, pos->at, pos->group, out);
        pos->at += size;
        return true;
    }
    pos->group += pos->field == 0;
    pos->field = 1;
    return give_word(FIELD_REST_WORD, bytes, pos, out);
}

bool cv_field_next(cv_layout layout, cv_span bytes, cuvet_field_pos *pos, cuvet_field *out)
{
    const layout_row *row = &CV_AT(LAYOUTS, layout);
    size_t first = row->first, count = CV_AT(LAYOUTS, layout + 1).first - first;

    if (layout == CV_LAYOUT_ANNOTATIONS)
        return next_annotation(bytes, pos, out);
    if (pos->left > 0) { /* words behind a record */
        if (!give_word(FIELD_WORDS_WORD, bytes, pos, out))
            return false;
        pos->group += --pos->left == 0;
        return true;
    }
    if (pos->field >= count)
        return false;
    if (!cv_span_has(bytes, pos->at, row->size))
        return row->tail == WORDS && pos->field == 0 && give_word(FIELD_REST_WORD, bytes, pos, out);
    give(&CV_AT(FIELDS, first + pos->field), bytes, pos->at, pos->group, out);
    if (++pos->field < count)
        return true;
    /* The record is over. */
    pos->at += row->size;
    pos->field = row->repeat == LIST ? 0 : pos->field;
    if (row->tail == WORDS)
        pos->left = cv_min(out->value, (bytes.len - pos->at) / WORD_BYTES);
    pos->group += pos->left == 0;
    return true;
}
