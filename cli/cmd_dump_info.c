/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: the attribute records of .nv.info, .nv.info.<fn> and .nv.compat. */
#include "cmd_dump.h"

#include <inttypes.h>

#define WORDS_PER_LINE 8u

static void put_bytes(const dump *d, FILE *t, cuvet_bytes b)
{
    for (size_t i = 0; i < b.n; i++) {
        if (i > 0 && i % 32 == 0)
            out_wrap(&d->o, t);
        fprintf(t, "%s%02x", i % 32 && i % 4 == 0 ? " " : "", b.p[i]);
    }
}

/* What was printed of a record so far. */
typedef struct progress {
    bool any, total;  /* something; the last field said how many words follow */
    uint64_t group;   /* of the last field */
    uint64_t words;   /* of the list that is being printed … */
    const char *list; /* … and its name; NULL: none */
} progress;

/* Between two fields: a blank, or a new line where something new begins. */
static void separate(const dump *d, FILE *t, const progress *p, const cuvet_field *f)
{
    bool word = f->kind == CUVET_FIELD_WORD;

    if (!p->any || p->total)
        return;
    if (word ? p->words > 0 && p->words % WORDS_PER_LINE == 0 : f->group != p->group)
        out_wrap(&d->o, t);
    else
        fputs(f->kind == CUVET_FIELD_EXTENT ? " x " : f->kind == CUVET_FIELD_PADDING ? ", " : " ", t);
}

static void put_number(dump *d, FILE *t, uint64_t table, const cuvet_field *f)
{
    switch (f->kind) {
    case CUVET_FIELD_FLAG: break;
    case CUVET_FIELD_SYMBOL: dump_put_symbol(d, t, table, f->value); break;
    case CUVET_FIELD_PLACE:
        dump_put_hex(t, f->value);
        fputc(':', t);
        break;
    case CUVET_FIELD_RAW: fprintf(t, "0x%08" PRIx64, f->value); break;
    case CUVET_FIELD_TOTAL: fprintf(t, "%" PRIu64 " %s ", f->value, f->name); break;
    case CUVET_FIELD_VERSION:
        fprintf(t, "%" PRIu64 ".%" PRIu64, f->value >> 32, f->value & UINT32_MAX);
        break;
    case CUVET_FIELD_BITS:
    case CUVET_FIELD_WORD:
    case CUVET_FIELD_PADDING: dump_put_hex(t, f->value); break;
    case CUVET_FIELD_COUNT:
        if (f->value == UINT32_MAX) {
            fputs("unknown", t); /* as in a stack that recursion makes unbounded */
            break;
        } /* fall through */
    case CUVET_FIELD_NUMBER:
    case CUVET_FIELD_EXTENT:
    case CUVET_FIELD_SECTION:
    case CUVET_FIELD_STRING:
    case CUVET_FIELD_VIRTUAL_ARCH:
    case CUVET_FIELD_ID: dump_put_dec(t, f->value); break;
    }
}

/* The name in front of a number. That of a list is said once. */
static void put_label(FILE *t, const progress *p, const cuvet_field *f)
{
    if (*f->name == '\0' || f->kind == CUVET_FIELD_TOTAL || f->kind == CUVET_FIELD_EXTENT || p->words > 0)
        return;
    fputs(f->name, t);
    if (f->kind != CUVET_FIELD_FLAG)
        fputc(' ', t);
}

static void put_field(dump *d, FILE *t, uint64_t table, progress *p, const cuvet_field *f)
{
    bool word = f->kind == CUVET_FIELD_WORD;

    if ((f->flags & CUVET_FIELD_OPTIONAL) != 0 && f->value == 0)
        return;
    if (!word || p->list != f->name)
        p->words = 0;
    separate(d, t, p, f);
    put_label(t, p, f);
    put_number(d, t, table, f);
    p->words += word;
    p->list = word ? f->name : NULL;
    p->group = f->group;
    p->total = f->kind == CUVET_FIELD_TOTAL;
    p->any = true;
}

static void put_value(dump *d, FILE *t, uint64_t table, const cuvet_record *r)
{
    cuvet_field f = { .size = sizeof(f) };
    cuvet_field_pos pos = { 0 };
    progress p = { .any = false };

    if (!r->decodable)
        put_bytes(d, t, r->bytes);
    while (cuvet_field_next(r, &pos, &f) == CUVET_OK &&
           (f.kind != CUVET_FIELD_SYMBOL || out_spend(&d->o, 16)))
        put_field(d, t, table, &p, &f);
}

typedef struct section_view {
    uint64_t index, table;
    bool compat;
} section_view;

static void one_record(dump *d, const section_view *v, const cuvet_tlv *tlv)
{
    const char *name = v->compat ? cuvet_compat_name(tlv->code) : cuvet_eiattr_name(tlv->code);
    cuvet_record r = { .size = sizeof(r) };
    dump_out *o = &d->o;
    char buf[32];
    FILE *t;

    if ((v->compat ? cuvet_compat_record(tlv, &r) : cuvet_attr_record(tlv, &r)) != CUVET_OK)
        return; /* cannot be: nothing is missing and the size is ours */
    snprintf(buf, sizeof(buf), "0x%02x", tlv->code);
    out_begin(o, v->compat ? "compat" : "attribute", false);
    out_number(o, "section", v->index);
    out_hex(o, "offset", 6, tlv->off);
    out_text(o, "format", 4, cuvet_tlv_format_name(tlv->format));
    out_number(o, "code", tlv->code);
    out_text(o, "name", -34, name ? name : buf);
    put_value(d, out_detail(o, "value"), v->table, &r);
    out_detail_end(o, "value");
    if (o->json && tlv->format == CUVET_TLV_PAYLOAD) {
        t = out_detail(o, "payload");
        for (size_t i = 0; i < tlv->payload.n; i++)
            fprintf(t, "%02x", tlv->payload.p[i]);
        out_detail_end(o, "payload");
    }
    out_end(o);
}

static void records(dump *d, uint64_t i, const cuvet_elf_section *s, bool compat)
{
    section_view v = { i, compat ? 0 : dump_symtab_of(d, s), compat };
    uint64_t pos = 0;
    cuvet_tlv r = { .size = sizeof(r) };
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
