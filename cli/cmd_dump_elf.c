/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: header, sections, segments, symbols and relocations. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <string.h>

bool dump_section(const dump *d, uint64_t i, cuvet_elf_section *out)
{
    *out = (cuvet_elf_section){ .size = sizeof(*out) };
    return cuvet_elf_get_section(d->ctx, d->elf, i, out) == CUVET_OK;
}

uint64_t dump_symtab_of(const dump *d, const cuvet_elf_section *s)
{
    cuvet_elf_section t = { .size = sizeof(t) };
    uint64_t table = 0;

    if (dump_section(d, s->link, &t) && cuvet_section_get_content(&t) == CUVET_CONTENT_SYMBOLS)
        return s->link;
    /* Some hand-assembled files link to nothing: there is only one table to mean. */
    return cuvet_elf_get_symtab(d->ctx, d->elf, dump_starts(s->name, ".nv.merc."), &table) == CUVET_OK ? table
                                                                                                       : 0;
}

cuvet_bytes dump_symbol_name(const dump *d, uint64_t table, uint64_t i)
{
    cuvet_symbol_info info = { .size = sizeof(info) };
    cuvet_elf_symbol y = { .size = sizeof(y) };
    cuvet_elf_section s = { .size = sizeof(s) };

    if (cuvet_elf_get_symbol(d->ctx, d->elf, table, i, &y) != CUVET_OK)
        return (cuvet_bytes){ NULL, 0 };
    if (y.name.n == 0 && cuvet_symbol_get_info(&y, &info) == CUVET_OK && info.flags & CUVET_SYMBOL_SECTION &&
        dump_section(d, y.shndx, &s))
        return s.name;
    return y.name;
}

void dump_put_symbol(dump *d, FILE *t, uint64_t table, uint64_t i)
{
    cuvet_bytes name = dump_symbol_name(d, table, i);

    if (name.n > 0) {
        dump_put(&d->o, t, name);
        fputc(' ', t);
    }
    fputc('[', t);
    dump_put_dec(t, i);
    fputc(']', t);
}

static void put_flags(FILE *t, const cuvet_elf_header *h)
{
    cuvet_field f = { .size = sizeof(f) };
    cuvet_field_pos pos = { 0 };

    fprintf(t, "0x%08" PRIx32 ": sm %" PRIu32, h->flags, h->sm);
    while (cuvet_eflags_next(h, &pos, &f) == CUVET_OK) {
        fprintf(t, ", %s", f.name);
        if (f.kind == CUVET_FIELD_NUMBER)
            fprintf(t, " %" PRIu64, f.value);
    }
}

void dump_header(dump *d)
{
    const cuvet_elf_header *h = &d->h;
    dump_out *o = &d->o;
    const char *type = cuvet_elf_type_name(h->type);
    char buf[64];

    out_title(o, "Header");
    out_begin(o, "header", true);
    out_text(o, "class", 0, h->is32 ? "ELF32" : "ELF64");
    out_hex(o, "osabi", 0, h->osabi);
    out_dec(o, "abiversion", 0, h->abiversion);
    out_text(o, "elf_type", 0, type ? type : "unknown");
    out_dec(o, "e_type", 0, h->type);
    out_dec(o, "machine", 0, h->machine);
    out_dec(o, "version", 0, h->version);
    out_hex(o, "entry", 0, h->entry);
    out_hex(o, "phoff", 0, h->phoff);
    out_hex(o, "shoff", 0, h->shoff);
    put_flags(out_detail(o, "flags"), h);
    out_detail_end(o, "flags");
    out_dec(o, "ehsize", 0, h->ehsize);
    out_dec(o, "phentsize", 0, h->phentsize);
    out_dec(o, "phnum", 0, h->phnum);
    out_dec(o, "shentsize", 0, h->shentsize);
    out_dec(o, "shnum", 0, h->shnum);
    out_dec(o, "shstrndx", 0, h->shstrndx);
    out_dec(o, "sections", 0, h->n_sections);
    out_dec(o, "segments", 0, h->n_segments);
    out_dec(o, "extent", 0, h->extent);
    snprintf(buf, sizeof(buf), "sm_%" PRIu32 "%.1s", h->sm, &h->suffix);
    out_text(o, "arch", 0, buf);
    if (h->virtual_sm) {
        snprintf(buf, sizeof(buf), "compute_%" PRIu32 "%.1s", h->virtual_sm, &h->suffix);
        out_text(o, "virtual_arch", 0, buf);
    }
    if (h->toolkit) {
        snprintf(buf, sizeof(buf), "%" PRIu32 ".%" PRIu32, h->toolkit / 10, h->toolkit % 10);
        out_text(o, "toolkit", 0, buf);
    }
    out_end(o);
}

void dump_sections(dump *d)
{
    dump_out *o = &d->o;
    cuvet_elf_section s = { .size = sizeof(s) };
    char buf[32];

    out_title(o, "Sections (%" PRIu64 ")", d->h.n_sections);
    out_head(o, "     Nr  Type                       Flags      Addr      Offset        Size   Link        "
                "Info  Align  "
                "Entry  Name");
    for (uint64_t i = 0; out_spend(o, 128) && dump_section(d, i, &s); i++) {
        const char *type = cuvet_section_type_name(s.type);

        snprintf(buf, sizeof(buf), "0x%" PRIx32, s.type);
        out_begin(o, "section", false);
        out_dec(o, "index", 5, i);
        out_text(o, "sh_type", -20, type ? type : buf);
        out_number(o, "type_number", s.type);
        out_hex(o, "flags", 10, s.flags);
        out_hex(o, "addr", 8, s.addr);
        out_hex(o, "offset", 10, s.off);
        out_hex(o, "size", 10, s.length);
        out_dec(o, "link", 5, s.link);
        out_dec(o, "info", 10, s.info);
        out_dec(o, "align", 5, s.align);
        out_dec(o, "entsize", 5, s.entsize);
        out_name(o, "name", 0, s.name);
        out_end(o);
    }
}

void dump_segments(dump *d)
{
    dump_out *o = &d->o;
    cuvet_elf_segment g = { .size = sizeof(g) };
    char buf[32];

    if (d->h.n_segments == 0)
        return;
    out_title(o, "Segments (%" PRIu64 ")", d->h.n_segments);
    out_head(o, "   Nr  Type      Flags      Offset       Vaddr       Paddr    Filesize     Memsize  Align");
    for (uint64_t i = 0; out_spend(o, 96) && cuvet_elf_get_segment(d->ctx, d->elf, i, &g) == CUVET_OK; i++) {
        const char *type = cuvet_segment_type_name(g.type);

        snprintf(buf, sizeof(buf), "0x%" PRIx32, g.type);
        out_begin(o, "segment", false);
        out_dec(o, "index", 3, i);
        out_text(o, "p_type", -8, type ? type : buf);
        out_number(o, "type_number", g.type);
        out_number(o, "flag_bits", g.flags);
        snprintf(buf, sizeof(buf), "%c%c%c%s", g.flags & 4 ? 'R' : '-', g.flags & 2 ? 'W' : '-',
                 g.flags & 1 ? 'X' : '-', g.flags > 7 ? "+" : "");
        out_text(o, "flags", -5, buf);
        out_hex(o, "offset", 10, g.off);
        out_hex(o, "vaddr", 10, g.vaddr);
        out_hex(o, "paddr", 10, g.paddr);
        out_hex(o, "filesz", 10, g.filesz);
        out_hex(o, "memsz", 10, g.memsz);
        out_dec(o, "align", 5, g.align);
        out_end(o);
    }
}

/* st_other in words: visibility, marks, memory space. */
static void marks_text(const cuvet_symbol_info *y, char *buf, size_t cap)
{
    bool function = (y->flags & CUVET_SYMBOL_FUNCTION) != 0, unified = (y->flags & CUVET_SYMBOL_UNIFIED) != 0;
    const char *words[] = {
        y->visibility,
        y->flags & CUVET_SYMBOL_MANAGED ? "managed" : NULL,
        function && unified ? "unified" : NULL,
        y->flags & CUVET_SYMBOL_OBSCURE ? "obscure" : NULL,
        y->flags & CUVET_SYMBOL_KERNEL ? "kernel" : NULL,
        !function && unified ? "unified" : NULL,
        y->space,
    };
    int n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i] && n >= 0 && (size_t)n < cap)
            n += snprintf(buf + n, cap - (size_t)n, "%s%s", n ? "," : "", words[i]);
    }
    if (n == 0)
        snprintf(buf, cap, "-");
}

static const char *number_text(char *buf, size_t cap, uint32_t number)
{
    snprintf(buf, cap, "%" PRIu32, number);
    return buf;
}

static void one_symbol(dump *d, uint64_t table, uint64_t i, const cuvet_elf_symbol *y)
{
    dump_out *o = &d->o;
    cuvet_symbol_info info = { .size = sizeof(info) };
    const char *bind, *type;
    char buf[64];

    if (cuvet_symbol_get_info(y, &info) != CUVET_OK)
        return; /* cannot be: nothing is missing and the size is ours */
    bind = cuvet_symbol_bind_name(info.bind);
    type = cuvet_symbol_type_name(info.type);
    out_begin(o, "symbol", false);
    out_number(o, "table", table);
    out_dec(o, "index", 5, i);
    out_hex(o, "value", 10, y->value);
    out_hex(o, "size", 10, y->length);
    out_text(o, "bind", -6, bind ? bind : number_text(buf, sizeof(buf), info.bind));
    out_text(o, "st_type", -12, type ? type : number_text(buf, sizeof(buf), info.type));
    out_number(o, "info", y->info);
    out_hex(o, "other", 5, y->other);
    marks_text(&info, buf, sizeof(buf));
    out_text(o, "marks", -16, buf);
    out_number(o, "section", y->shndx);
    if (!o->json)
        out_text(o, "section", 6, info.home ? info.home : number_text(buf, sizeof(buf), y->shndx));
    out_name(o, "name", 0, y->name);
    out_end(o);
}

void dump_symbols(dump *d)
{
    dump_out *o = &d->o;
    cuvet_elf_section s = { .size = sizeof(s) };
    cuvet_elf_symbol y = { .size = sizeof(y) };

    for (uint64_t t = 0; out_spend(o, 1) && dump_section(d, t, &s); t++) {
        if (cuvet_section_get_content(&s) != CUVET_CONTENT_SYMBOLS)
            continue;
        out_section_title(o, "Symbols", t, s.name);
        out_head(
            o,
            "     Nr       Value        Size  Bind    Type          Other  Marks             Section  Name");
        for (uint64_t i = 0; out_spend(o, 96) && cuvet_elf_get_symbol(d->ctx, d->elf, t, i, &y) == CUVET_OK;
             i++)
            one_symbol(d, t, i, &y);
    }
}

static void reloc_table(dump *d, uint64_t t, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t symbols = dump_symtab_of(d, s);
    cuvet_elf_reloc r = { .size = sizeof(r) };
    char buf[32];

    out_section_title(o, "Relocations", t, s->name);
    out_head(o, "      Offset  Type                              Addend  Symbol");
    for (uint64_t i = 0; out_spend(o, 64) && cuvet_elf_get_reloc(d->ctx, d->elf, t, i, &r) == CUVET_OK; i++) {
        const char *type = cuvet_reloc_name(r.type);

        snprintf(buf, sizeof(buf), "0x%" PRIx32, r.type);
        out_begin(o, "relocation", false);
        out_number(o, "section", t);
        out_number(o, "target", s->info);
        out_hex(o, "offset", 10, r.off);
        out_text(o, "r_type", -28, type ? type : buf);
        out_number(o, "type_number", r.type);
        if (r.has_addend)
            out_signed(o, "addend", 10, r.addend);
        else if (!o->json)
            out_text(o, "addend", 10, "in place");
        out_dec(o, "symbol", 5, r.sym);
        out_name(o, "name", 0, dump_symbol_name(d, symbols, r.sym));
        out_end(o);
    }
}

void dump_relocs(dump *d)
{
    cuvet_elf_section s = { .size = sizeof(s) };
    cuvet_elf_reloc r = { .size = sizeof(r) };

    /* the library knows which sections have some */
    for (uint64_t t = 0; out_spend(&d->o, 1) && dump_section(d, t, &s); t++) {
        if (cuvet_elf_get_reloc(d->ctx, d->elf, t, 0, &r) == CUVET_OK)
            reloc_table(d, t, &s);
    }
}
