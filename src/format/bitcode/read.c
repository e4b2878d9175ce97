/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/bitcode/read.h"

enum {
#define BITCODE(name, value) BC_##name = (value),
#include "bitcode.def"
};

#define TOP_WIDTH   2u  /* bits of an abbreviation id outside of all blocks */
#define WIDTH_MAX   32u /* of an id, and of a number in a record */
#define ABBREVS_MAX 32u /* of the module block; LLVM writes 3 */
/* Values that are looked at on the way to a triple: a definition without any bits of data could be used a
 * million times. Those of LLVM take a few hundred. */
#define VALUES_MAX (1u << 14)

/* A place in the stream. Reads that do not fit make it failed, and give 0. */
typedef struct bits {
    cv_span in;
    uint64_t pos; /* in bits */
    uint32_t values;
    bool failed;
} bits;

/* A record of the module block, as far as it is of interest. */
typedef struct record {
    uint64_t n; /* values, the first is the code */
    uint64_t code;
    cv_bc *out;
} record;

static uint64_t read_fixed(bits *b, uint32_t n)
{
    uint64_t v = 0, all = b->in.len * 8;

    if (b->failed || n > WIDTH_MAX || b->pos > all || n > all - b->pos) {
        b->failed = true;
        return 0;
    }
    for (uint32_t have = 0; have < n;) {
        uint32_t at = (uint32_t)(b->pos % 8), part = cv_min(8 - at, n - have) & 15;
        uint64_t byte = cv_u8_at(b->in, b->pos / 8);

        v |= (byte >> at & ((1u << part) - 1)) << have;
        have += part;
        b->pos += part;
    }
    return v;
}

static uint64_t read_vbr(bits *b, uint32_t n)
{
    uint64_t v = 0, part, more;
    bool again;
    uint32_t shift = 0;

    if (n < 2 || n > WIDTH_MAX) {
        b->failed = true;
        return 0;
    }
    more = UINT64_C(1) << (n - 1);
    do {
        part = read_fixed(b, n);
        again = (part & more) != 0;
        if (shift >= 64) {
            b->failed = true;
            return 0;
        }
        part &= more - 1;
        v |= (part & (UINT64_MAX >> shift)) << shift; /* bits above the 64th are no value of a format */
        shift += n - 1;
    } while (again);
    return b->failed ? 0 : v;
}

static void align32(bits *b)
{
    b->pos = (b->pos + 31) / 32 * 32;
}

/* Bytes, which may end beyond what is there: the next read tells. */
static void skip_bytes(bits *b, uint64_t n)
{
    if (n > UINT64_MAX / 16)
        b->failed = true;
    else
        b->pos += n * 8;
}

typedef struct block {
    uint64_t id, begin, size; /* contents, in bytes */
    uint32_t width;
} block;

/* Behind its ENTER_SUBBLOCK. */
static bool enter(bits *b, block *out)
{
    out->id = read_vbr(b, 8);
    out->width = (uint32_t)read_vbr(b, 4);
    align32(b);
    out->size = read_fixed(b, 32) * 4;
    out->begin = b->pos / 8;
    return !b->failed && out->width >= TOP_WIDTH && out->width <= WIDTH_MAX;
}

static void take_value(record *r, uint64_t v)
{
    cv_bc *out = r->out;

    if (r->n++ == 0) {
        r->code = v;
        return;
    }
    if (r->code != BC_MODULE_TRIPLE || v > 0xFF || out->n_triple >= CV_BC_TRIPLE_MAX)
        return;
    CV_ARRAY_SET(out->triple, out->n_triple, (char)(uint8_t)v);
    out->n_triple++;
}

/* One operand of a definition. */
typedef struct operand {
    bool literal;
    uint64_t value; /* of a literal; else the encoding */
    uint32_t width;
} operand;

static operand read_operand(bits *def)
{
    operand o = { .literal = read_fixed(def, 1) != 0 };

    o.value = o.literal ? read_vbr(def, 8) : read_fixed(def, 3);
    if (!o.literal && (o.value == BC_FIXED || o.value == BC_VBR))
        o.width = (uint32_t)cv_min(read_vbr(def, 5), WIDTH_MAX + 1);
    return o;
}

static uint64_t read_scalar(bits *b, const operand *o)
{
    static const char CHAR6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

    b->failed = b->failed || ++b->values > VALUES_MAX;
    if (o->literal)
        return o->value;
    if (o->value == BC_CHAR6)
        return (uint64_t)CV_AT(CHAR6, read_fixed(b, 6));
    if (o->width == 0 && (o->value == BC_FIXED || o->value == BC_VBR))
        return 0;
    if (o->value == BC_FIXED)
        return read_fixed(b, o->width);
    if (o->value == BC_VBR)
        return read_vbr(b, o->width);
    b->failed = true;
    return 0;
}

static void read_array(bits *b, bits *def, record *r)
{
    uint64_t n = read_vbr(b, 6);
    operand element = read_operand(def);

    b->failed = b->failed || def->failed;
    for (uint64_t i = 0; i < n && !b->failed; i++)
        take_value(r, read_scalar(b, &element));
}

static void read_blob(bits *b)
{
    uint64_t n = read_vbr(b, 6);

    align32(b);
    skip_bytes(b, n);
    align32(b);
}

/* A record in the form that the definition at 'at' describes, which is read along with it. */
static void read_abbreviated(bits *b, uint64_t at, record *r)
{
    bits def = { .in = b->in, .pos = at };
    uint64_t n = read_vbr(&def, 5);

    for (uint64_t i = 0; i < n && !b->failed; i++) {
        operand o = read_operand(&def);

        b->failed = b->failed || def.failed;
        if (!o.literal && o.value == BC_ARRAY) {
            read_array(b, &def, r);
            i++;
        } else if (!o.literal && o.value == BC_BLOB) {
            read_blob(b);
        } else {
            take_value(r, read_scalar(b, &o));
        }
    }
}

static void read_plain(bits *b, record *r)
{
    uint64_t n;

    take_value(r, read_vbr(b, 6));
    n = read_vbr(b, 6);
    for (uint64_t i = 0; i < n && !b->failed; i++) {
        b->failed = ++b->values > VALUES_MAX;
        take_value(r, read_vbr(b, 6));
    }
}

static void pass_definition(bits *b)
{
    uint64_t n = read_vbr(b, 5);

    for (uint64_t i = 0; i < n && !b->failed; i++) {
        b->failed = ++b->values > VALUES_MAX;
        (void)read_operand(b); /* its value is of interest when it is used */
    }
}

static cuvet_status reject_block(cv_ctx *x, const bits *b, const block *k, uint64_t end)
{
    return cv_reject(x, CV_R_BC_BLOCK, b->in.off + k->begin, k->size, end - cv_min(end, k->begin));
}

/* Up to the triple, or to the end of the module. OK also where it cannot be read on. */
static cuvet_status read_module(cv_ctx *x, bits *b, const block *module, cv_bc *out)
{
    uint64_t def[ABBREVS_MAX] = { 0 }, end = module->begin + module->size;
    uint32_t n_def = 0;

    while (!b->failed && b->pos / 8 < end) {
        uint64_t id = read_fixed(b, module->width);
        record r = { .out = out };
        block inner;

        if (id == BC_END_BLOCK)
            break;
        if (id == BC_ENTER_SUBBLOCK) {
            if (!enter(b, &inner))
                b->failed = true;
            else if (inner.begin > end || inner.size > end - inner.begin)
                return reject_block(x, b, &inner, end);
            skip_bytes(b, inner.size);
            continue;
        }
        if (id == BC_DEFINE_ABBREV) {
            b->failed = n_def == ABBREVS_MAX;
            CV_ARRAY_SET(def, cv_min(n_def++, ABBREVS_MAX - 1), b->pos);
            pass_definition(b);
            continue;
        }
        if (id == BC_UNABBREV_RECORD)
            read_plain(b, &r);
        else if (id - BC_FIRST_ABBREV < n_def)
            read_abbreviated(b, CV_ARRAY_GET(def, id - BC_FIRST_ABBREV), &r);
        else
            b->failed = true;
        if (!b->failed && r.code == BC_MODULE_TRIPLE && r.n > 1)
            return CUVET_OK;
        out->n_triple = 0;
    }
    return CUVET_OK;
}

cv_bc_form cv_bc_probe(cv_span head)
{
    uint32_t magic = cv_u32_at(head, 0);

    return magic == CV_BC_MAGIC ? CV_BC_PLAIN : magic == CV_BC_WRAPPER_MAGIC ? CV_BC_WRAPPED : CV_BC_NONE;
}

bool cv_bc_block(cv_span head, bool *module, uint64_t *size)
{
    bits b = { .in = head };
    block k = { 0 };

    if (read_fixed(&b, TOP_WIDTH) != BC_ENTER_SUBBLOCK || !enter(&b, &k))
        return false;
    *module = k.id == BC_MODULE_BLOCK;
    *size = k.begin + k.size;
    return true;
}

static cuvet_status read_wrapper(cv_ctx *x, cv_span head, uint64_t size, cv_bc *out)
{
    uint64_t off = cv_u32_at(head, 8), len = cv_u32_at(head, 12);

    if (head.len < CV_BC_WRAPPER || off < CV_BC_WRAPPER || off > size || len > size - off)
        return cv_reject(x, CV_R_BC_WRAPPER, head.off, off + len, size);
    out->off = off;
    out->end = off + len;
    if (off + 4 <= head.len && cv_u32_at(head, off) != CV_BC_MAGIC)
        return cv_reject(x, CV_R_BC_MAGIC, head.off + off, cv_u32_at(head, off), CV_BC_MAGIC);
    return CUVET_OK;
}

cuvet_status cv_bc_read(cv_ctx *x, cv_span head, uint64_t size, cv_bc *out)
{
    bits b = { .pos = 0 };
    cuvet_status s = CUVET_OK;
    uint64_t len;

    *out = (cv_bc){ .form = cv_bc_probe(head), .end = size };
    if (out->form == CV_BC_WRAPPED)
        s = read_wrapper(x, head, size, out);
    if (s != CUVET_OK)
        return s;
    len = out->end - out->off;
    b.in = cv_span_tail(head, out->off); /* blocks are aligned in the stream, not in the file */
    b.in.len = cv_min(b.in.len, len);
    skip_bytes(&b, 4);
    while (!b.failed && b.pos / 8 < len) {
        block k;

        if (read_fixed(&b, TOP_WIDTH) != BC_ENTER_SUBBLOCK || !enter(&b, &k)) {
            b.failed = true;
            break;
        }
        if (k.size > len - cv_min(k.begin, len))
            return reject_block(x, &b, &k, len);
        if (k.id == BC_MODULE_BLOCK) {
            out->next = out->off + k.begin + k.size;
            s = read_module(x, &b, &k, out);
            break;
        }
        skip_bytes(&b, k.size);
    }
    /* What stands behind the bytes that are there may be had. */
    if (s == CUVET_OK && out->n_triple == 0 && b.failed && head.len < size)
        out->more = cv_min(size, cv_sat_add(out->off + b.pos / 8, head.len));
    return s;
}

cv_bc_machine cv_bc_machine_of(cv_span triple)
{
    static const struct {
        const char *word;
        cv_bc_machine machine;
    } WORDS[] = {
#define TRIPLE(word, machine) { word, CV_BC_##machine },
#include "bitcode.def"
    };
    cv_span first = triple;

    first.len = cv_span_find_byte(triple, '-');
    for (size_t i = 0; i < CV_COUNT(WORDS); i++) {
        if (cv_span_eq_str(first, CV_AT(WORDS, i).word))
            return CV_AT(WORDS, i).machine;
    }
    return CV_BC_UNKNOWN;
}
