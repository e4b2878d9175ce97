/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: the attribute records of .nv.info, .nv.info.<fn> and .nv.compat. */
#include "cmd_dump.h"

#include <inttypes.h>

#define WORDS_PER_LINE 8u

/* How the payload of a record is shown. */
typedef enum form {
    F_WORDS,  /* u32 numbers: text offsets, masks, register ids */
    F_FUNC,   /* function symbol, value */
    F_SYM,    /* symbol, value */
    F_SYMS,   /* symbols */
    F_CBANK,  /* section symbol, u16 offset, u16 size */
    F_PARAM,  /* one kernel parameter */
    F_PARAM2, /* the same for large parameter blocks */
    F_DIMS,   /* x, y, z */
    F_PAIRS,
    F_TRIPLES,
    F_BRANCHES, /* branch, its targets */
    F_MBARRIER,
    F_VERSION, /* toolkit version times ten */
    F_ANNOTATIONS,
    F_OPAQUE
} form;

/* Codes as in the attribute table of the library (cuvet_eiattr_name() has their names). */
static form form_of(uint8_t code)
{
    switch (code) {
    case 0x11:
    case 0x12:
    case 0x23:
    case 0x2F:
    case 0x3B: return F_FUNC;
    case 0x02:
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x13:
    case 0x14:
    case 0x26: return F_SYM;
    case 0x0F: return F_SYMS;
    case 0x0A: return F_CBANK;
    case 0x17: return F_PARAM;
    case 0x45: return F_PARAM2;
    case 0x05:
    case 0x10:
    case 0x3D: return F_DIMS;
    case 0x0E:
    case 0x2E:
    case 0x44: return F_PAIRS;
    case 0x40: return F_TRIPLES;
    case 0x34: return F_BRANCHES;
    case 0x39: return F_MBARRIER;
    case 0x37: return F_VERSION;
    case 0x55: return F_ANNOTATIONS;
    case 0x5A: return F_OPAQUE;
    default: return F_WORDS;
    }
}

/* Payload sizes that a form needs; others are shown as bytes. */
static bool form_fits(form f, size_t n)
{
    switch (f) {
    case F_FUNC:
    case F_SYM:
    case F_CBANK: return n == 8;
    case F_PARAM:
    case F_PARAM2:
    case F_DIMS: return n == 12;
    case F_VERSION: return n == 4;
    case F_PAIRS: return n % 8 == 0;
    case F_TRIPLES: return n % 12 == 0;
    case F_MBARRIER: return n % 16 == 0;
    case F_WORDS:
    case F_SYMS:
    case F_BRANCHES:
    case F_ANNOTATIONS: return n % 4 == 0;
    case F_OPAQUE: return false;
    }
    return false;
}

static void put_bytes(const dump *d, FILE *t, cuvet_bytes b)
{
    for (size_t i = 0; i < b.n; i++) {
        if (i > 0 && i % 32 == 0)
            out_wrap(&d->o, t);
        fprintf(t, "%s%02x", i % 32 && i % 4 == 0 ? " " : "", b.p[i]);
    }
}

static void put_words(const dump *d, FILE *t, cuvet_bytes b, uint64_t from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0 && i % WORDS_PER_LINE == 0)
            out_wrap(&d->o, t);
        fprintf(t, "%s0x%" PRIx32, i % WORDS_PER_LINE ? " " : "", dump_u32(b, from + 4 * i));
    }
}

static void put_value(dump *d, FILE *t, uint64_t table, const char *what, cuvet_bytes b)
{
    dump_put_symbol(d, t, table, dump_u32(b, 0));
    fprintf(t, " %s 0x%" PRIx32, what, dump_u32(b, 4));
}

/* All ones: the compiler could not tell, as in a stack that recursion makes unbounded. */
static void put_count(dump *d, FILE *t, uint64_t table, const char *what, cuvet_bytes b)
{
    dump_put_symbol(d, t, table, dump_u32(b, 0));
    if (dump_u32(b, 4) == UINT32_MAX)
        fprintf(t, " %s unknown", what);
    else
        fprintf(t, " %s %" PRIu32, what, dump_u32(b, 4));
}

static void put_cbank(dump *d, FILE *t, uint64_t table, cuvet_bytes b)
{
    dump_put_symbol(d, t, table, dump_u32(b, 0));
    fprintf(t, " offset 0x%x size 0x%x", dump_u16(b, 4), dump_u16(b, 6));
}

static void put_param(FILE *t, cuvet_bytes b)
{
    uint32_t w = dump_u32(b, 8);

    fprintf(t,
            "ordinal %u offset 0x%x size 0x%" PRIx32 " pointee-align-log2 %" PRIu32 " space %" PRIu32
            " bank 0x%" PRIx32,
            dump_u16(b, 4), dump_u16(b, 6), w >> 18, w & 0xFF, w >> 8 & 0xF, w >> 12 & 0x1F);
    if (w >> 17 & 1)
        fputs(" parameter-space", t);
    if (dump_u32(b, 0) != 0)
        fprintf(t, " index 0x%" PRIx32, dump_u32(b, 0));
}

static void put_param2(FILE *t, cuvet_bytes b)
{
    fprintf(t, "ordinal %u offset 0x%x size 0x%x", dump_u16(b, 4), dump_u16(b, 6), dump_u16(b, 8));
    if (dump_u16(b, 10) != 0)
        fprintf(t, " rest 0x%x", dump_u16(b, 10));
    if (dump_u32(b, 0) != 0)
        fprintf(t, " index 0x%" PRIx32, dump_u32(b, 0));
}

static void put_groups(const dump *d, FILE *t, cuvet_bytes b, uint64_t each)
{
    for (uint64_t at = 0; at < b.n; at += 4 * each) {
        if (at > 0)
            out_wrap(&d->o, t);
        fprintf(t, "0x%" PRIx32 ":", dump_u32(b, at));
        for (uint64_t k = 1; k < each; k++)
            fprintf(t, " 0x%" PRIx32, dump_u32(b, at + 4 * k));
    }
}

static void put_branches(const dump *d, FILE *t, cuvet_bytes b)
{
    for (uint64_t at = 0; at < b.n;) {
        uint64_t n = dump_u32(b, at + 8), left = (b.n - at) / 4;

        n = left < 3 ? 0 : n < left - 3 ? n : left - 3;
        if (at > 0)
            out_wrap(&d->o, t);
        fprintf(t, "branch 0x%" PRIx32 ": ", dump_u32(b, at));
        if (dump_u32(b, at + 4) != 0)
            fprintf(t, "word 0x%" PRIx32 " ", dump_u32(b, at + 4));
        fprintf(t, "%" PRIu32 " targets ", dump_u32(b, at + 8));
        put_words(d, t, b, at + 12, n);
        at += 12 + 4 * n;
    }
}

static void put_mbarriers(const dump *d, FILE *t, cuvet_bytes b)
{
    for (uint64_t at = 0; at < b.n; at += 16) {
        uint32_t w = dump_u32(b, at + 12);

        if (at > 0)
            out_wrap(&d->o, t);
        fprintf(t,
                "at 0x%" PRIx32 ": operation %" PRIu32 " id 0x%" PRIx32 " shared 0x%" PRIx32
                " register 0x%" PRIx32 " word 0x%08" PRIx32,
                dump_u32(b, at), w & 0xFF, dump_u32(b, at + 4), dump_u32(b, at + 8), w >> 16 & 0xFF, w);
    }
}

/* {type, ...}: 0 has one word, 1 two (text offset of a spill or refill), 2 and 3 a length; only type 1 was
 * ever seen. */
static void put_annotations(const dump *d, FILE *t, cuvet_bytes b)
{
    uint64_t at = 0, i = 0;

    for (; at + 8 <= b.n && dump_u32(b, at) == 1; at += 8, i++) {
        if (i > 0 && i % WORDS_PER_LINE == 0)
            out_wrap(&d->o, t);
        fprintf(t, "%s0x%" PRIx32,
                i == 0               ? "spill-refill "
                : i % WORDS_PER_LINE ? " "
                                     : "",
                dump_u32(b, at + 4));
    }
    if (at < b.n) {
        fprintf(t, "%swords ", i ? " " : "");
        put_words(d, t, b, at, (b.n - at) / 4);
    }
}

static void put_payload(dump *d, FILE *t, uint64_t table, uint8_t code, cuvet_bytes b)
{
    form f = form_of(code);

    if (!form_fits(f, b.n)) {
        put_bytes(d, t, b);
        return;
    }
    switch (f) {
    case F_FUNC: put_count(d, t, table, code == 0x2F ? "registers" : "bytes", b); break;
    case F_SYM: put_value(d, t, table, "value", b); break;
    case F_CBANK: put_cbank(d, t, table, b); break;
    case F_PARAM: put_param(t, b); break;
    case F_PARAM2: put_param2(t, b); break;
    case F_DIMS:
        fprintf(t, "%" PRIu32 " x %" PRIu32 " x %" PRIu32, dump_u32(b, 0), dump_u32(b, 4), dump_u32(b, 8));
        break;
    case F_PAIRS: put_groups(d, t, b, 2); break;
    case F_TRIPLES: put_groups(d, t, b, 3); break;
    case F_BRANCHES: put_branches(d, t, b); break;
    case F_MBARRIER: put_mbarriers(d, t, b); break;
    case F_VERSION: fprintf(t, "%" PRIu32 ".%" PRIu32, dump_u32(b, 0) / 10, dump_u32(b, 0) % 10); break;
    case F_ANNOTATIONS: put_annotations(d, t, b); break;
    case F_SYMS:
        for (uint64_t at = 0; at < b.n && out_spend(&d->o, 16); at += 4) {
            if (at > 0)
                out_wrap(&d->o, t);
            dump_put_symbol(d, t, table, dump_u32(b, at));
        }
        break;
    case F_WORDS: put_words(d, t, b, 0, b.n / 4); break;
    case F_OPAQUE: break; /* never fits */
    }
}

/* Formats 2 and 3. */
static void put_small(FILE *t, const cuvet_tlv *r, bool version)
{
    if (version)
        fprintf(t, "%u.%u", r->value >> 8, r->value & 0xFF);
    else if (r->format == 2 && r->value > 0xFF)
        fprintf(t, "%u, padding 0x%x", r->value & 0xFF, r->value >> 8);
    else
        fprintf(t, "%u", r->value);
}

typedef struct section_view {
    uint64_t index, table;
    bool compat;
} section_view;

static void one_record(dump *d, const section_view *v, const cuvet_tlv *r)
{
    static const char *const FORMATS[] = { "?", "NVAL", "BVAL", "HVAL", "SVAL" };
    const char *name = v->compat ? cuvet_compat_name(r->code) : cuvet_eiattr_name(r->code);
    bool version = v->compat ? r->code == 7 : r->code == 0x5F;
    dump_out *o = &d->o;
    char buf[32];
    FILE *t;

    snprintf(buf, sizeof(buf), "0x%02x", r->code);
    out_begin(o, v->compat ? "compat" : "attribute", false);
    out_number(o, "section", v->index);
    out_hex(o, "offset", 6, r->off);
    out_text(o, "format", 4, r->format <= 4 ? FORMATS[r->format] : "?");
    out_number(o, "code", r->code);
    out_text(o, "name", -34, name ? name : buf);
    t = out_detail(o, "value");
    if (r->format == 4 && v->compat && r->payload.n == 8)
        fprintf(t, "0x%" PRIx64, dump_u64(r->payload, 0));
    else if (r->format == 4)
        put_payload(d, t, v->table, v->compat ? 0 : r->code, r->payload);
    else if (r->format != 1)
        put_small(t, r, version);
    out_detail_end(o, "value");
    if (o->json && r->format == 4) {
        t = out_detail(o, "payload");
        for (size_t i = 0; i < r->payload.n; i++)
            fprintf(t, "%02x", r->payload.p[i]);
        out_detail_end(o, "payload");
    }
    out_end(o);
}

static void records(dump *d, uint64_t i, const cuvet_elf_section *s, bool compat)
{
    section_view v = { i, compat ? 0 : dump_symtab_of(d, s), compat };
    uint64_t pos = 0;
    cuvet_tlv r;
    cuvet_status st;

    out_section_title(&d->o, "Attributes", i, s->name);
    while ((st = cuvet_tlv_next(s->body, &pos, &r)) == CUVET_OK && out_spend(&d->o, 64 + 4 * r.payload.n))
        one_record(d, &v, &r);
    if (st != CUVET_END && st != CUVET_OK)
        out_damage(&d->o, i, pos);
}

void dump_info(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    records(d, i, s, false);
}

void dump_compat(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    records(d, i, s, true);
}
