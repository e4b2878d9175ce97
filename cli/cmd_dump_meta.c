/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: notes, call graph, prototypes, relocation actions, unified tables, Mercury capsules. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <string.h>

enum { NOTE_CUINFO = 1000, NOTE_TKINFO = 2000 };

/* Text at an offset of the string pool, up to its NUL. */
static cuvet_bytes pool_text(cuvet_bytes pool, uint32_t off)
{
    cuvet_bytes out = { NULL, 0 };

    if (off >= pool.n)
        return out;
    out.p = pool.p + off;
    while (off + out.n < pool.n && out.p[out.n] != 0)
        out.n++;
    return out;
}

static void put_note_words(dump_out *o, cuvet_bytes b)
{
    FILE *t = out_detail(o, "words");

    for (uint64_t at = 0; at < b.n; at += 2)
        fprintf(t, "%s0x%x", at ? " " : "", at + 1 < b.n ? dump_u16(b, at) : b.p[at]);
    out_detail_end(o, "words");
}

static void tkinfo(dump_out *o, cuvet_bytes b)
{
    static const char *const KEYS[] = { "object", "tool", "tool_version", "tool_build", "command_line" };
    cuvet_bytes pool = { b.p + 24, b.n - 24 };

    out_dec(o, "note_version", 0, dump_u32(b, 0));
    for (uint64_t i = 0; i < 5; i++)
        out_name(o, KEYS[i], 0, pool_text(pool, dump_u32(b, 4 + 4 * i)));
}

static void cuinfo(dump_out *o, cuvet_bytes b)
{
    char buf[32];

    out_dec(o, "note_version", 0, dump_u16(b, 0));
    snprintf(buf, sizeof(buf), "compute_%u", dump_u16(b, 2));
    out_text(o, "virtual_arch", 0, buf);
    snprintf(buf, sizeof(buf), "%u.%u", dump_u16(b, 4) / 10, dump_u16(b, 4) % 10);
    out_text(o, "toolkit", 0, buf);
}

void dump_notes(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t pos = 0;
    cuvet_note n;
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
        if (n.type == NOTE_TKINFO && n.desc.n >= 24)
            tkinfo(o, n.desc);
        else if (n.type == NOTE_CUINFO && dump_is(s->name, ".note.nv.cuinfo") && n.desc.n >= 6)
            cuinfo(o, n.desc);
        else
            put_note_words(o, n.desc);
        out_end(o);
    }
    if (st != CUVET_END && st != CUVET_OK)
        out_damage(o, i, pos);
}

static void put_prototype(dump *d, FILE *t, uint64_t section, uint32_t off)
{
    cuvet_bytes text;

    if (cuvet_elf_get_string(d->ctx, d->elf, section, off, &text) == CUVET_OK) {
        dump_put(&d->o, t, text);
        fprintf(t, " (string 0x%" PRIx32 ")", off);
    } else {
        fprintf(t, "string 0x%" PRIx32, off);
    }
}

/* Records of four kinds, each kind announced by a marker {0, -kind}. */
void dump_callgraph(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    static const char *const KINDS[] = { "?", "call", "address-taken", "indirect-call", "possible-target" };
    dump_out *o = &d->o;
    uint64_t table = dump_symtab_of(d, s);
    uint32_t kind = 0;

    out_section_title(o, "Call graph", i, s->name);
    for (uint64_t at = 0; at + 8 <= s->body.n && out_spend(o, 64); at += 8) {
        uint32_t a = dump_u32(s->body, at), b = dump_u32(s->body, at + 4);
        FILE *t;

        out_begin(o, "call", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, at);
        if (b >= UINT32_MAX - 3) {
            kind = UINT32_MAX - b + 1;
            out_text(o, "kind", -15, "part");
            out_text(o, "part", 0, KINDS[kind]);
            out_end(o);
            continue;
        }
        out_text(o, "kind", -15, KINDS[kind]);
        t = out_detail(o, "value");
        dump_put_symbol(d, t, table, a);
        fputs(" -> ", t);
        if (kind == 2 || kind == 3)
            put_prototype(d, t, i, b);
        else
            dump_put_symbol(d, t, table, b);
        out_detail_end(o, "value");
        out_end(o);
    }
    if (s->body.n % 8 != 0)
        out_damage(o, i, s->body.n - s->body.n % 8);
}

void dump_prototype(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t table = dump_symtab_of(d, s);

    out_section_title(o, "Prototypes", i, s->name);
    for (uint64_t at = 0; at + 8 <= s->body.n && out_spend(o, 64); at += 8) {
        FILE *t;

        out_begin(o, "prototype", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, at);
        t = out_detail(o, "value");
        dump_put_symbol(d, t, table, dump_u32(s->body, at));
        fputs(": ", t);
        put_prototype(d, t, i, dump_u32(s->body, at + 4));
        out_detail_end(o, "value");
        out_end(o);
    }
    if (s->body.n % 8 != 0)
        out_damage(o, i, s->body.n - s->body.n % 8);
}

/* Header {number of relocation types the writer knew, 0}, then packed actions for the types from there on. */
void dump_rel_action(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint32_t type = dump_u32(s->body, 0);

    out_section_title(o, "Relocation actions", i, s->name);
    out_head(o, "  Offset  Type                           Kind Shift  From  Bits    To  From  Bits    To");
    for (uint64_t at = 8; at + 8 <= s->body.n && out_spend(o, 64); at += 8, type++) {
        static const char *const KEYS[] = { "kind", "shift", "from", "bits", "to", "from2", "bits2", "to2" };
        const char *name = cuvet_reloc_name(type);
        char buf[32];

        snprintf(buf, sizeof(buf), "0x%" PRIx32, type);
        out_begin(o, "relocation_action", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, at);
        out_text(o, "r_type", -28, name ? name : buf);
        for (uint64_t k = 0; k < 8; k++)
            out_dec(o, KEYS[k], 4, s->body.p[at + k]);
        out_end(o);
    }
}

/* .nv.uft.entry, .nv.udt.entry and their Mercury clones. */
void dump_unified(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t table = dump_symtab_of(d, s);

    out_section_title(o, "Unified entries", i, s->name);
    out_head(o, "  Offset   Flags      Slot  Id                                 Symbol");
    for (uint64_t at = 0; at + 32 <= s->body.n && out_spend(o, 96); at += 32) {
        char buf[48];

        snprintf(buf, sizeof(buf), "%016" PRIx64 ":%016" PRIx64, dump_u64(s->body, at + 16),
                 dump_u64(s->body, at + 24));
        out_begin(o, "unified_entry", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 6, at);
        out_hex(o, "flags", 6, dump_u32(s->body, at + 4));
        out_hex(o, "slot", 8, dump_u64(s->body, at + 8));
        out_text(o, "id", 0, buf);
        dump_put_symbol(d, out_detail(o, "symbol"), table, dump_u32(s->body, at));
        out_detail_end(o, "symbol");
        out_end(o);
    }
    if (s->body.n % 32 != 0)
        out_damage(o, i, s->body.n - s->body.n % 32);
}

/* The words in front of a capsule; its stream is opaque. */
void dump_capsule(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint32_t text = dump_u32(s->body, 0);
    cuvet_elf_section t;

    (void)dump_section(d, text, &t); /* a wrong index has no name */
    out_section_title(o, "Capsule", i, s->name);
    out_begin(o, "capsule", true);
    out_number(o, "section", i);
    out_dec(o, "code_section", 0, text);
    out_name(o, "code_name", 0, t.name);
    out_hex(o, "word1", 0, dump_u32(s->body, 4));
    out_hex(o, "word2", 0, dump_u32(s->body, 8));
    out_dec(o, "stream_bytes", 0, s->body.n > 12 ? s->body.n - 12 : 0);
    out_end(o);
}
