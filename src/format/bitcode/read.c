/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/bitcode/read.h"

enum {
#define BITCODE(name, value) BC_##name = (value),
#include "bitcode.def"
};

#define TOP_WIDTH 2u  /* bits of an abbreviation id outside of all blocks */
#define WIDTH_MAX 32u /* of an id, and of a number in a record */
/* Values without any bits of data: a definition of them could be used a million times. LLVM uses a few in a
 * record. */
#define VALUES_MAX (1u << 14)
/* Section of what clang embeds for its linker wrapper, also in bitcode of the host. */
#define OFFLOADING ".llvm.offloading"
#define IDLE_WORK  4u /* so many of them are a unit of work */

/* A place in the stream. Reads that do not fit make it failed, and give 0. */
typedef struct bit_reader {
    cv_span in;
    uint64_t first;  /* byte of the stream that 'in' begins with */
    cv_span defs;    /* the beginning of the stream, where definitions are */
    uint64_t pos;    /* in bits of the stream */
    uint32_t values; /* without any bits */
    bool failed;
} bit_reader;

/* A record of the module block, as far as it is of interest. */
typedef struct bit_record {
    uint64_t count; /* values, the first is the code */
    uint64_t code;
    uint32_t n_text; /* of a triple, or of the name of a section */
    char text[CV_BC_TRIPLE_MAX];
} bit_record;

static uint64_t read_fixed(bit_reader *bits, uint32_t count)
{
    uint64_t value = 0, all = (bits->first + bits->in.len) * 8;

    if (bits->failed || count > WIDTH_MAX || bits->pos / 8 < bits->first || bits->pos > all ||
        count > all - bits->pos) {
        bits->failed = true;
        return 0;
    }
    for (uint32_t have = 0; have < count;) {
        uint32_t at = (uint32_t)(bits->pos % 8), part = cv_min(8 - at, count - have) & 15;
        uint64_t byte = cv_u8_at(bits->in, bits->pos / 8 - bits->first);

        value |= (byte >> at & ((1u << part) - 1)) << have;
        have += part;
        bits->pos += part;
    }
    return value;
}

static uint64_t read_vbr(bit_reader *bits, uint32_t count)
{
    uint64_t value = 0, part, more;
    bool again;
    uint32_t shift = 0;

    if (count < 2 || count > WIDTH_MAX) {
        bits->failed = true;
        return 0;
    }
    more = UINT64_C(1) << (count - 1);
    do {
        part = read_fixed(bits, count);
        again = (part & more) != 0;
        if (shift >= 64) {
            bits->failed = true;
            return 0;
        }
        part &= more - 1;
        value |= (part & (UINT64_MAX >> shift)) << shift; /* bits above the 64th are no value of a format */
        shift += count - 1;
    } while (again);
    return bits->failed ? 0 : value;
}

static void align32(bit_reader *bits)
{
    bits->pos = (bits->pos + 31) / 32 * 32;
}

/* Bytes, which may end beyond what is there: the next read tells. */
static void skip_bytes(bit_reader *bits, uint64_t count)
{
    if (count > UINT64_MAX / 16)
        bits->failed = true;
    else
        bits->pos += count * 8;
}

typedef struct bit_block {
    uint64_t id, begin, size; /* contents, in bytes */
    uint32_t width;
} bit_block;

/* Behind its ENTER_SUBBLOCK. */
static bool enter(bit_reader *bits, bit_block *out)
{
    out->id = read_vbr(bits, 8);
    out->width = (uint32_t)read_vbr(bits, 4);
    align32(bits);
    out->size = read_fixed(bits, 32) * 4;
    out->begin = bits->pos / 8;
    return !bits->failed && out->width >= TOP_WIDTH && out->width <= WIDTH_MAX;
}

static void take_value(bit_record *record, uint64_t value)
{
    if (record->count++ == 0) {
        record->code = value;
        return;
    }
    if ((record->code != BC_MODULE_TRIPLE && record->code != BC_MODULE_SECTION) ||
        record->n_text >= CV_BC_TRIPLE_MAX)
        return;
    CV_ARRAY_SET(record->text, record->n_text,
                 (char)(uint8_t)value); /* the lowest bits, as LLVM takes them */
    record->n_text++;
}

/* One operand of a definition. */
typedef struct bit_operand {
    bool literal;
    uint64_t value; /* of a literal; else the encoding */
    uint32_t width;
} bit_operand;

static bit_operand read_operand(bit_reader *def)
{
    bit_operand operand = { .literal = read_fixed(def, 1) != 0 };

    operand.value = operand.literal ? read_vbr(def, 8) : read_fixed(def, 3);
    if (!operand.literal && (operand.value == BC_FIXED || operand.value == BC_VBR))
        operand.width = (uint32_t)cv_min(read_vbr(def, 5), WIDTH_MAX + 1);
    return operand;
}

static uint64_t read_scalar(bit_reader *bits, const bit_operand *operand)
{
    static const char CHAR6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

    if (!operand->literal && operand->value == BC_CHAR6)
        return (uint64_t)CV_AT(CHAR6, read_fixed(bits, 6));
    if (operand->literal ||
        (operand->width == 0 && (operand->value == BC_FIXED || operand->value == BC_VBR))) {
        bits->failed = bits->failed || ++bits->values > VALUES_MAX;
        return operand->literal ? operand->value : 0;
    }
    if (operand->value == BC_FIXED)
        return read_fixed(bits, operand->width);
    if (operand->value == BC_VBR)
        return read_vbr(bits, operand->width);
    bits->failed = true;
    return 0;
}

static void read_array(bit_reader *bits, bit_reader *def, bit_record *record)
{
    uint64_t count = read_vbr(bits, 6);
    bit_operand element = read_operand(def);

    bits->failed = bits->failed || def->failed;
    for (uint64_t i = 0; i < count && !bits->failed; i++)
        take_value(record, read_scalar(bits, &element));
}

static void read_blob(bit_reader *bits)
{
    uint64_t count = read_vbr(bits, 6);

    align32(bits);
    skip_bytes(bits, count);
    align32(bits);
}

/* A record in the form that the definition at 'at' describes, which is read along with it: it stands at the
 * beginning of the stream, or in the part at hand. */
static void read_abbreviated(bit_reader *bits, uint64_t at, bit_record *record)
{
    bool near = at / 8 >= bits->first && at / 8 >= bits->defs.len;
    bit_reader def = { .in = near ? bits->in : bits->defs, .first = near ? bits->first : 0, .pos = at };
    uint64_t count = read_vbr(&def, 5);

    bits->failed = def.failed; /* not before: the number of the definition could be read */
    for (uint64_t done = 0; done < count && !bits->failed; done++) {
        bit_operand operand = read_operand(&def);

        bits->failed = def.failed;
        if (!operand.literal && operand.value == BC_ARRAY) {
            read_array(bits, &def, record);
            done++;
        } else if (!operand.literal && operand.value == BC_BLOB) {
            read_blob(bits);
        } else {
            take_value(record, read_scalar(bits, &operand));
        }
    }
}

static void read_plain(bit_reader *bits, bit_record *record)
{
    uint64_t count;

    take_value(record, read_vbr(bits, 6));
    count = read_vbr(bits, 6);
    for (uint64_t i = 0; i < count && !bits->failed; i++)
        take_value(record, read_vbr(bits, 6));
}

static void pass_definition(bit_reader *bits)
{
    uint64_t count = read_vbr(bits, 5);

    for (uint64_t i = 0; i < count && !bits->failed; i++)
        (void)read_operand(bits); /* its value is of interest when it is used */
}

static cuvet_status reject_block(cv_ctx *ctx, const bit_reader *bits, const bit_block *block, uint64_t end)
{
    return cv_reject(ctx, CV_R_BC_BLOCK, bits->in.off + (block->begin - bits->first), block->size,
                     end - cv_min(end, block->begin));
}

/* The next piece of the module: its end, a block, a definition, or a record. */
static cuvet_status read_piece(cv_ctx *ctx, bit_reader *bits, cv_bc *out, bit_record *record)
{
    uint64_t id = read_fixed(bits, out->width), end = out->next - out->off;
    bit_block inner;

    *record = (bit_record){ 0 };
    if (id == BC_END_BLOCK) {
        out->whole = !bits->failed;
    } else if (id == BC_ENTER_SUBBLOCK) {
        if (!enter(bits, &inner))
            bits->failed = true;
        else if (inner.begin > end || inner.size > end - inner.begin)
            return reject_block(ctx, bits, &inner, end);
        skip_bytes(bits, inner.size);
    } else if (id == BC_DEFINE_ABBREV) {
        uint64_t at = bits->pos;

        pass_definition(bits);
        bits->failed = bits->failed || out->n_abbrevs == CV_BC_ABBREVS;
        if (!bits->failed)
            CV_ARRAY_SET(out->abbrev, out->n_abbrevs++, at);
    } else if (id == BC_UNABBREV_RECORD) {
        read_plain(bits, record);
    } else if (id - BC_FIRST_ABBREV < out->n_abbrevs) {
        read_abbreviated(bits, CV_ARRAY_GET(out->abbrev, id - BC_FIRST_ABBREV), record);
    } else {
        bits->failed = true;
    }
    return CUVET_OK;
}

static void take_triple(cv_bc *out, const bit_record *record)
{
    bool other;

    for (uint32_t i = 0; i < record->n_text; i++)
        CV_ARRAY_SET(out->triple, i, CV_ARRAY_GET(record->text, i));
    out->n_triple = record->n_text;
    other = cv_bc_machine_of(cv_span_of(out->triple, out->n_triple, 0)) == CV_BC_OTHER;
    out->others = other && (out->n_triples == 0 || out->others);
    out->n_triples++;
}

/* The name of a section that globals of the module are put in. */
static void take_section(cv_bc *out, const bit_record *record)
{
    out->embeds = out->embeds || cv_span_eq_str(cv_span_of(record->text, record->n_text, 0), OFFLOADING);
}

/* Up to the first triple, or to the end of the module. OK also where it cannot be read on. */
static cuvet_status read_module(cv_ctx *ctx, bit_reader *bits, const bit_block *module, cv_bc *out)
{
    uint64_t end = module->begin + module->size;
    bit_record record;

    out->width = module->width;
    while (!bits->failed && !out->whole && bits->pos / 8 < end) {
        cuvet_status status = read_piece(ctx, bits, out, &record);

        if (status != CUVET_OK)
            return status;
        if (!bits->failed && record.code == BC_MODULE_TRIPLE && record.count > 1) {
            take_triple(out, &record);
            out->at = bits->pos;
            return CUVET_OK;
        }
        if (record.code == BC_MODULE_SECTION)
            take_section(out, &record);
    }
    return CUVET_OK;
}

cuvet_status cv_bc_rest(cv_ctx *ctx, cv_span head, cv_span part, uint64_t first, cv_bc *out)
{
    bit_reader bits = { .in = part, .first = first, .pos = out->at };
    uint64_t end = out->next - out->off;

    bits.defs = cv_span_tail(head, out->off);
    while (!out->whole && out->at / 8 < end && out->at / 8 < first + part.len) {
        bit_record record;
        cuvet_status status = read_piece(ctx, &bits, out, &record);

        if (status != CUVET_OK || bits.failed) {
            out->whole = false;
            return status;
        }
        if (!cv_work(ctx, bits.values / IDLE_WORK, part.off))
            return CUVET_E_LIMIT;
        bits.values = 0;
        if (record.code == BC_MODULE_TRIPLE)
            take_triple(out, &record);
        if (record.code == BC_MODULE_SECTION)
            take_section(out, &record);
        out->at = bits.pos;
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
    bit_reader bits = { .in = head };
    bit_block block = { 0 };

    if (read_fixed(&bits, TOP_WIDTH) != BC_ENTER_SUBBLOCK || !enter(&bits, &block))
        return false;
    *module = block.id == BC_MODULE_BLOCK;
    *size = block.begin + block.size;
    return true;
}

static cuvet_status read_wrapper(cv_ctx *ctx, cv_span head, uint64_t size, cv_bc *out)
{
    uint64_t off = cv_u32_at(head, 8), len = cv_u32_at(head, 12);

    if (head.len < CV_BC_WRAPPER || off < CV_BC_WRAPPER || off > size || len > size - off)
        return cv_reject(ctx, CV_R_BC_WRAPPER, head.off, off + len, size);
    out->off = off;
    out->end = off + len;
    if (off + 4 <= head.len && cv_u32_at(head, off) != CV_BC_MAGIC)
        return cv_reject(ctx, CV_R_BC_MAGIC, head.off + off, cv_u32_at(head, off), CV_BC_MAGIC);
    return CUVET_OK;
}

cuvet_status cv_bc_read(cv_ctx *ctx, cv_span head, uint64_t size, cv_bc *out)
{
    bit_reader bits = { .pos = 0 };
    cuvet_status status = CUVET_OK;
    uint64_t len;

    *out = (cv_bc){ .form = cv_bc_probe(head), .end = size };
    if (out->form == CV_BC_WRAPPED)
        status = read_wrapper(ctx, head, size, out);
    if (status != CUVET_OK)
        return status;
    len = out->end - out->off;
    bits.in = cv_span_tail(head, out->off); /* blocks are aligned in the stream, not in the file */
    bits.in.len = cv_min(bits.in.len, len);
    bits.defs = bits.in;
    skip_bytes(&bits, 4);
    while (bits.pos / 8 < len) {
        bit_block block;

        if (read_fixed(&bits, TOP_WIDTH) != BC_ENTER_SUBBLOCK || !enter(&bits, &block)) {
            bits.failed = true;
            break;
        }
        if (block.size > len - cv_min(block.begin, len))
            return reject_block(ctx, &bits, &block, len);
        if (block.id == BC_MODULE_BLOCK) {
            out->next = out->off + block.begin + block.size;
            status = read_module(ctx, &bits, &block, out);
            break;
        }
        skip_bytes(&bits, block.size);
    }
    /* What stands behind the bytes that are there may be had. */
    if (status == CUVET_OK && out->n_triple == 0 && bits.failed && head.len < size)
        out->more = cv_min(size, cv_sat_add(out->off + bits.pos / 8, head.len));
    return status;
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
