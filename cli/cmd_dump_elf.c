/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: header, sections, segments, symbols and relocations. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <string.h>

bool dump_section(const dump_state *dump, uint64_t index, cuvet_elf_section *out)
{
    *out = (cuvet_elf_section){ .size = sizeof(*out) };
    return cuvet_elf_get_section(dump->ctx, dump->elf, index, out) == CUVET_OK;
}

uint64_t dump_symtab_of(const dump_state *dump, const cuvet_elf_section *section)
{
    cuvet_elf_section symtab = { .size = sizeof(symtab) };
    uint64_t table = 0;

    if (dump_section(dump, section->link, &symtab) &&
        cuvet_section_get_content(&symtab) == CUVET_CONTENT_SYMBOLS)
        return section->link;
    /* Some hand-assembled files link to nothing: there is only one table to mean. */
    return cuvet_elf_get_symtab(dump->ctx, dump->elf,
                                dump_starts(section->name, ".nv.merc.") ? CUVET_SYMTAB_MERCURY : 0,
                                &table) == CUVET_OK
               ? table
               : 0;
}

cuvet_bytes dump_symbol_name(const dump_state *dump, uint64_t table, uint64_t index)
{
    cuvet_symbol_info info = { .size = sizeof(info) };
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };
    cuvet_elf_section section = { .size = sizeof(section) };

    if (cuvet_elf_get_symbol(dump->ctx, dump->elf, table, index, &symbol) != CUVET_OK)
        return (cuvet_bytes){ NULL, 0 };
    if (symbol.name.n == 0 && cuvet_symbol_get_info(&symbol, &info) == CUVET_OK &&
        info.flags & CUVET_SYMBOL_SECTION && dump_section(dump, symbol.shndx, &section))
        return section.name;
    return symbol.name;
}

void dump_put_symbol(dump_state *dump, FILE *to, uint64_t table, uint64_t index)
{
    cuvet_bytes name = dump_symbol_name(dump, table, index);

    if (name.n > 0) {
        dump_put(&dump->out, to, name);
        fputc(' ', to);
    }
    fputc('[', to);
    dump_put_dec(to, index);
    fputc(']', to);
}

static void put_flags(FILE *to, const cuvet_elf_header *header)
{
    cuvet_field field = { .size = sizeof(field) };
    cuvet_field_pos pos = { 0 };

    fprintf(to, "0x%08" PRIx32 ": sm %" PRIu32, header->flags, header->sm);
    while (cuvet_eflags_next(header, &pos, &field) == CUVET_OK) {
        fprintf(to, ", %s", field.name);
        if (field.kind == CUVET_FIELD_NUMBER)
            fprintf(to, " %" PRIu64, field.value);
    }
}

void dump_header(dump_state *dump)
{
    const cuvet_elf_header *header = &dump->header;
    dump_out *out = &dump->out;
    const char *type = cuvet_elf_type_name(header->type);
    char buf[64];

    out_title(out, "Header");
    out_begin(out, "header", true);
    out_text(out, "class", 0, (header->marks & CUVET_ELF_32BIT) != 0 ? "ELF32" : "ELF64");
    out_hex(out, "osabi", 0, header->osabi);
    out_dec(out, "abiversion", 0, header->abiversion);
    out_text(out, "elf_type", 0, type ? type : "unknown");
    out_dec(out, "e_type", 0, header->type);
    out_dec(out, "machine", 0, header->machine);
    out_dec(out, "version", 0, header->version);
    out_hex(out, "entry", 0, header->entry);
    out_hex(out, "phoff", 0, header->phoff);
    out_hex(out, "shoff", 0, header->shoff);
    put_flags(out_detail(out, "flags"), header);
    out_detail_end(out, "flags");
    out_dec(out, "ehsize", 0, header->ehsize);
    out_dec(out, "phentsize", 0, header->phentsize);
    out_dec(out, "phnum", 0, header->phnum);
    out_dec(out, "shentsize", 0, header->shentsize);
    out_dec(out, "shnum", 0, header->shnum);
    out_dec(out, "shstrndx", 0, header->shstrndx);
    out_dec(out, "sections", 0, header->n_sections);
    out_dec(out, "segments", 0, header->n_segments);
    out_dec(out, "extent", 0, header->extent);
    snprintf(buf, sizeof(buf), "sm_%" PRIu32 "%.1s", header->sm, &header->suffix);
    out_text(out, "arch", 0, buf);
    if (header->virtual_sm) {
        snprintf(buf, sizeof(buf), "compute_%" PRIu32 "%.1s", header->virtual_sm, &header->suffix);
        out_text(out, "virtual_arch", 0, buf);
    }
    if (header->toolkit) {
        snprintf(buf, sizeof(buf), "%" PRIu32 ".%" PRIu32, header->toolkit / 10, header->toolkit % 10);
        out_text(out, "toolkit", 0, buf);
    }
    out_end(out);
}

void dump_sections(dump_state *dump)
{
    dump_out *out = &dump->out;
    cuvet_elf_section section = { .size = sizeof(section) };
    char buf[32];

    out_title(out, "Sections (%" PRIu64 ")", dump->header.n_sections);
    out_head(out, "     Nr  Type                       Flags      Addr      Offset        Size   Link        "
                  "Info  Align  "
                  "Entry  Name");
    for (uint64_t i = 0; out_spend(out, 128) && dump_section(dump, i, &section); i++) {
        const char *type = cuvet_section_type_name(section.type);

        snprintf(buf, sizeof(buf), "0x%" PRIx32, section.type);
        out_begin(out, "section", false);
        out_dec(out, "index", 5, i);
        out_text(out, "sh_type", -20, type ? type : buf);
        out_number(out, "type_number", section.type);
        out_hex(out, "flags", 10, section.flags);
        out_hex(out, "addr", 8, section.addr);
        out_hex(out, "offset", 10, section.off);
        out_hex(out, "size", 10, section.length);
        out_dec(out, "link", 5, section.link);
        out_dec(out, "info", 10, section.info);
        out_dec(out, "align", 5, section.align);
        out_dec(out, "entsize", 5, section.entsize);
        out_name(out, "name", 0, section.name);
        out_end(out);
    }
}

void dump_segments(dump_state *dump)
{
    dump_out *out = &dump->out;
    cuvet_elf_segment segment = { .size = sizeof(segment) };
    char buf[32];

    if (dump->header.n_segments == 0)
        return;
    out_title(out, "Segments (%" PRIu64 ")", dump->header.n_segments);
    out_head(out,
             "   Nr  Type      Flags      Offset       Vaddr       Paddr    Filesize     Memsize  Align");
    for (uint64_t i = 0;
         out_spend(out, 96) && cuvet_elf_get_segment(dump->ctx, dump->elf, i, &segment) == CUVET_OK; i++) {
        const char *type = cuvet_segment_type_name(segment.type);

        snprintf(buf, sizeof(buf), "0x%" PRIx32, segment.type);
        out_begin(out, "segment", false);
        out_dec(out, "index", 3, i);
        out_text(out, "p_type", -8, type ? type : buf);
        out_number(out, "type_number", segment.type);
        out_number(out, "flag_bits", segment.flags);
        snprintf(buf, sizeof(buf), "%c%c%c%s", segment.flags & 4 ? 'R' : '-', segment.flags & 2 ? 'W' : '-',
                 segment.flags & 1 ? 'X' : '-', segment.flags > 7 ? "+" : "");
        out_text(out, "flags", -5, buf);
        out_hex(out, "offset", 10, segment.off);
        out_hex(out, "vaddr", 10, segment.vaddr);
        out_hex(out, "paddr", 10, segment.paddr);
        out_hex(out, "filesz", 10, segment.filesz);
        out_hex(out, "memsz", 10, segment.memsz);
        out_dec(out, "align", 5, segment.align);
        out_end(out);
    }
}

/* st_other in words: visibility, marks, memory space. */
static void marks_text(const cuvet_symbol_info *info, char *buf, size_t cap)
{
    bool function = (info->flags & CUVET_SYMBOL_FUNCTION) != 0,
         unified = (info->flags & CUVET_SYMBOL_UNIFIED) != 0;
    const char *words[] = {
        info->visibility,
        info->flags & CUVET_SYMBOL_MANAGED ? "managed" : NULL,
        function && unified ? "unified" : NULL,
        info->flags & CUVET_SYMBOL_OBSCURE ? "obscure" : NULL,
        info->flags & CUVET_SYMBOL_KERNEL ? "kernel" : NULL,
        !function && unified ? "unified" : NULL,
        info->space,
    };
    int count = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i] && count >= 0 && (size_t)count < cap)
            count += snprintf(buf + count, cap - (size_t)count, "%s%s", count ? "," : "", words[i]);
    }
    if (count == 0)
        snprintf(buf, cap, "-");
}

static const char *number_text(char *buf, size_t cap, uint32_t number)
{
    snprintf(buf, cap, "%" PRIu32, number);
    return buf;
}

static void one_symbol(dump_state *dump, uint64_t table, uint64_t index, const cuvet_elf_symbol *symbol)
{
    dump_out *out = &dump->out;
    cuvet_symbol_info info = { .size = sizeof(info) };
    const char *bind, *type;
    char buf[64];

    if (cuvet_symbol_get_info(symbol, &info) != CUVET_OK)
        return; /* cannot be: nothing is missing and the size is ours */
    bind = cuvet_symbol_bind_name(info.bind);
    type = cuvet_symbol_type_name(info.type);
    out_begin(out, "symbol", false);
    out_number(out, "table", table);
    out_dec(out, "index", 5, index);
    out_hex(out, "value", 10, symbol->value);
    out_hex(out, "size", 10, symbol->length);
    out_text(out, "bind", -6, bind ? bind : number_text(buf, sizeof(buf), info.bind));
    out_text(out, "st_type", -12, type ? type : number_text(buf, sizeof(buf), info.type));
    out_number(out, "info", symbol->info);
    out_hex(out, "other", 5, symbol->other);
    marks_text(&info, buf, sizeof(buf));
    out_text(out, "marks", -16, buf);
    out_number(out, "section", symbol->shndx);
    if (!out->json)
        out_text(out, "section", 6, info.home ? info.home : number_text(buf, sizeof(buf), symbol->shndx));
    out_name(out, "name", 0, symbol->name);
    out_end(out);
}

void dump_symbols(dump_state *dump)
{
    dump_out *out = &dump->out;
    cuvet_elf_section section = { .size = sizeof(section) };
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };

    for (uint64_t table = 0; out_spend(out, 1) && dump_section(dump, table, &section); table++) {
        if (cuvet_section_get_content(&section) != CUVET_CONTENT_SYMBOLS)
            continue;
        out_section_title(out, "Symbols", table, section.name);
        out_head(
            out,
            "     Nr       Value        Size  Bind    Type          Other  Marks             Section  Name");
        for (uint64_t i = 0;
             out_spend(out, 96) && cuvet_elf_get_symbol(dump->ctx, dump->elf, table, i, &symbol) == CUVET_OK;
             i++)
            one_symbol(dump, table, i, &symbol);
    }
}

static void reloc_table(dump_state *dump, uint64_t table, const cuvet_elf_section *section)
{
    dump_out *out = &dump->out;
    uint64_t symbols = dump_symtab_of(dump, section);
    cuvet_elf_reloc reloc = { .size = sizeof(reloc) };
    char buf[32];

    out_section_title(out, "Relocations", table, section->name);
    out_head(out, "      Offset  Type                              Addend  Symbol");
    for (uint64_t i = 0;
         out_spend(out, 64) && cuvet_elf_get_reloc(dump->ctx, dump->elf, table, i, &reloc) == CUVET_OK; i++) {
        const char *type = cuvet_reloc_name(reloc.type);

        snprintf(buf, sizeof(buf), "0x%" PRIx32, reloc.type);
        out_begin(out, "relocation", false);
        out_number(out, "section", table);
        out_number(out, "target", section->info);
        out_hex(out, "offset", 10, reloc.off);
        out_text(out, "r_type", -28, type ? type : buf);
        out_number(out, "type_number", reloc.type);
        if ((reloc.flags & CUVET_RELOC_ADDEND) != 0)
            out_signed(out, "addend", 10, reloc.addend);
        else if (!out->json)
            out_text(out, "addend", 10, "in place");
        out_dec(out, "symbol", 5, reloc.sym);
        out_name(out, "name", 0, dump_symbol_name(dump, symbols, reloc.sym));
        out_end(out);
    }
}

void dump_relocs(dump_state *dump)
{
    cuvet_elf_section section = { .size = sizeof(section) };
    cuvet_elf_reloc reloc = { .size = sizeof(reloc) };

    /* the library knows which sections have some */
    for (uint64_t table = 0; out_spend(&dump->out, 1) && dump_section(dump, table, &section); table++) {
        if (cuvet_elf_get_reloc(dump->ctx, dump->elf, table, 0, &reloc) == CUVET_OK)
            reloc_table(dump, table, &section);
    }
}
