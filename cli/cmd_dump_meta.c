/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: notes, call graph, prototypes, relocation actions, unified tables, Mercury capsules. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <string.h>

static void put_note_words(dump_out *o, cuvet_bytes b)
{
    FILE *t = out_detail(o, "words");

    for (uint64_t at = 0; at < b.n; at += 2)
        fprintf(t, "%s0x%x", at ? " " : "", at + 1 < b.n ? (unsigned)(b.p[at] | b.p[at + 1] << 8) : b.p[at]);
    out_detail_end(o, "words");
}

/* A field of a record that is shown field by field. */
static void put_field(dump_out *o, const cuvet_record *r, const cuvet_field *f, int width)
{
    char buf[48] = "";

    if (f->kind == CUVET_FIELD_VIRTUAL_ARCH)
        snprintf(buf, sizeof(buf), "compute_%" PRIu64, f->value);
    else if (f->kind == CUVET_FIELD_VERSION)
        snprintf(buf, sizeof(buf), "%" PRIu64 ".%" PRIu64, f->value >> 32, f->value & UINT32_MAX);
    if (*buf)
        out_text(o, f->name, 0, buf);
    else if (f->kind == CUVET_FIELD_STRING)
        out_name(o, f->name, 0, cuvet_record_text(r, f->value));
    else if (f->kind == CUVET_FIELD_BITS)
        out_hex(o, f->name, width, f->value);
    else
        out_dec(o, f->name, width, f->value);
}

static void put_note(dump_out *o, const cuvet_record *r)
{
    cuvet_field f = { .size = sizeof(f) };
    cuvet_field_pos pos = { 0 };

    if (!r->decodable)
        put_note_words(o, r->bytes);
    while (cuvet_field_next(r, &pos, &f) == CUVET_OK)
        put_field(o, r, &f, 0);
}

void dump_notes(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t pos = 0;
    cuvet_record r = { .size = sizeof(r) };
    cuvet_note n = { .size = sizeof(n) };
    cuvet_status st;

    out_section_title(o, "Notes", i, s->name);
    while ((st = cuvet_note_next(s->body, &pos, &n)) == CUVET_OK && out_spend(o, 128 + 4 * n.desc.n)) {
        /* The owner's name is stored with its NUL. */
        cuvet_bytes owner = { n.name.p, n.name.n && n.name.p[n.name.n - 1] == 0 ? n.name.n - 1 : n.name.n };

        out_begin(o, "note", true);
        out_number(o, "section", i);
        out_hex(o, "offset", 0, n.off);
        out_name(o, "owner", 0, owner);
        out_dec(o, "note_type", 0, n.type);
        out_dec(o, "size", 0, n.desc.n);
        if (cuvet_note_record(&n, s->name, &r) == CUVET_OK)
            put_note(o, &r);
        out_end(o);
    }
    if (st != CUVET_END && st != CUVET_OK)
        out_damage(o, i, pos);
}

static void put_prototype(dump *d, FILE *t, uint64_t section, uint64_t off)
{
    cuvet_bytes text;

    if (cuvet_elf_get_string(d->ctx, d->elf, section, off, &text) == CUVET_OK) {
        dump_put(&d->o, t, text);
        fprintf(t, " (string 0x%" PRIx64 ")", off);
    } else {
        fprintf(t, "string 0x%" PRIx64, off);
    }
}

/* Records of four kinds, each kind announced by a marker. */
void dump_callgraph(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    static const char *const KINDS[] = { "?", "call", "address-taken", "indirect-call", "possible-target" };
    dump_out *o = &d->o;
    uint64_t table = dump_symtab_of(d, s), pos = 0;
    cuvet_call_kind kind = CUVET_CALL_NONE;
    cuvet_call c = { .size = sizeof(c) };
    cuvet_status st = CUVET_OK;

    out_section_title(o, "Call graph", i, s->name);
    while (out_spend(o, 64) && (st = cuvet_call_next(s->body, &pos, &kind, &c)) == CUVET_OK) {
        FILE *t;

        out_begin(o, "call", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, c.off);
        out_text(o, "kind", -15, c.marker ? "part" : KINDS[c.kind]);
        if (c.marker) {
            out_text(o, "part", 0, KINDS[c.kind]);
            out_end(o);
            continue;
        }
        t = out_detail(o, "value");
        dump_put_symbol(d, t, table, c.from);
        fputs(" -> ", t);
        if (c.kind == CUVET_CALL_ADDRESS || c.kind == CUVET_CALL_INDIRECT)
            put_prototype(d, t, i, c.to);
        else
            dump_put_symbol(d, t, table, c.to);
        out_detail_end(o, "value");
        out_end(o);
    }
    if (st == CUVET_E_MALFORMED)
        out_damage(o, i, pos);
}

void dump_prototype(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t table = dump_symtab_of(d, s), pos = 0;
    cuvet_record r = { .size = sizeof(r) };
    cuvet_status st = CUVET_OK;

    out_section_title(o, "Prototypes", i, s->name);
    while (out_spend(o, 64) &&
           (st = cuvet_table_next(CUVET_CONTENT_PROTOTYPES, s->body, &pos, &r)) == CUVET_OK) {
        cuvet_field f = { .size = sizeof(f) };
        cuvet_field_pos at = { 0 };
        FILE *t;

        out_begin(o, "prototype", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, r.off);
        t = out_detail(o, "value");
        while (cuvet_field_next(&r, &at, &f) == CUVET_OK) {
            if (f.kind == CUVET_FIELD_STRING)
                put_prototype(d, t, i, f.value);
            else
                dump_put_symbol(d, t, table, f.value);
            if (f.kind == CUVET_FIELD_SYMBOL)
                fputs(": ", t);
        }
        out_detail_end(o, "value");
        out_end(o);
    }
    if (st == CUVET_E_MALFORMED)
        out_damage(o, i, pos);
}

/* What the loader does for the relocation types behind those that the writer knew. */
void dump_rel_action(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    cuvet_record r = { .size = sizeof(r) };
    cuvet_status st = CUVET_OK;
    uint64_t pos = 0;

    out_section_title(o, "Relocation actions", i, s->name);
    out_head(o, "  Offset  Type                           Kind Shift  From  Bits    To  From  Bits    To");
    while (out_spend(o, 64) &&
           (st = cuvet_table_next(CUVET_CONTENT_REL_ACTIONS, s->body, &pos, &r)) == CUVET_OK) {
        const char *name = r.number <= UINT32_MAX ? cuvet_reloc_name((uint32_t)r.number) : NULL;
        cuvet_field f = { .size = sizeof(f) };
        cuvet_field_pos at = { 0 };
        char buf[32];

        snprintf(buf, sizeof(buf), "0x%" PRIx64, r.number);
        out_begin(o, "relocation_action", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, r.off);
        out_text(o, "r_type", -28, name ? name : buf);
        while (cuvet_field_next(&r, &at, &f) == CUVET_OK)
            put_field(o, &r, &f, 4);
        out_end(o);
    }
    if (st == CUVET_E_MALFORMED)
        out_damage(o, i, pos);
}

/* One entry. Its identifier is two numbers. */
static void put_unified(dump *d, uint64_t table, const cuvet_record *r)
{
    dump_out *o = &d->o;
    cuvet_field f = { .size = sizeof(f) };
    cuvet_field_pos at = { 0 };
    char id[40] = "";
    size_t n = 0;

    while (cuvet_field_next(r, &at, &f) == CUVET_OK) {
        if (f.kind == CUVET_FIELD_ID && n == 0) {
            n = (size_t)snprintf(id, sizeof(id), "%016" PRIx64 ":", f.value);
        } else if (f.kind == CUVET_FIELD_ID) {
            snprintf(id + n, sizeof(id) - n, "%016" PRIx64, f.value);
            out_text(o, f.name, 0, id);
        } else if (f.kind == CUVET_FIELD_SYMBOL) {
            dump_put_symbol(d, out_detail(o, f.name), table, f.value);
            out_detail_end(o, f.name);
        } else {
            put_field(o, r, &f, strcmp(f.name, "slot") == 0 ? 8 : 6);
        }
    }
}

/* .nv.uft.entry, .nv.udt.entry and their Mercury clones. */
void dump_unified(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t table = dump_symtab_of(d, s), pos = 0;
    cuvet_record r = { .size = sizeof(r) };
    cuvet_status st = CUVET_OK;

    out_section_title(o, "Unified entries", i, s->name);
    out_head(o, "  Offset   Flags      Slot  Id                                 Symbol");
    while (out_spend(o, 96) &&
           (st = cuvet_table_next(CUVET_CONTENT_UNIFIED, s->body, &pos, &r)) == CUVET_OK) {
        out_begin(o, "unified_entry", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, r.off);
        put_unified(d, table, &r);
        out_end(o);
    }
    if (st == CUVET_E_MALFORMED)
        out_damage(o, i, pos);
}

/* The words in front of a capsule; its stream is opaque. */
void dump_capsule(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    cuvet_record r = { .size = sizeof(r) };
    cuvet_field f = { .size = sizeof(f) };
    cuvet_field_pos at = { 0 };
    cuvet_elf_section code = { .size = sizeof(code) };
    uint64_t pos = 0;

    out_section_title(o, "Capsule", i, s->name);
    if (cuvet_table_next(CUVET_CONTENT_CAPSULE, s->body, &pos, &r) != CUVET_OK) {
        out_damage(o, i, pos);
        return;
    }
    out_begin(o, "capsule", true);
    out_number(o, "section", i);
    while (cuvet_field_next(&r, &at, &f) == CUVET_OK) {
        put_field(o, &r, &f, 0);
        if (f.kind != CUVET_FIELD_SECTION)
            continue;
        (void)dump_section(d, f.value, &code); /* a wrong index has no name */
        out_name(o, "code_name", 0, code.name);
    }
    out_dec(o, "stream_bytes", 0, r.tail.n);
    out_end(o);
}
