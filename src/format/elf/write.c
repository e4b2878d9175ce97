/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/elf/write.h"

/* A field of 4 or 8 bytes by class. */
static void put_word(cv_builder *out, bool is32, uint64_t value)
{
    uint32_t narrow = 0;

    if (!is32) {
        cv_put_u64(out, value);
        return;
    }
    if (!cv_to_u32(value, &narrow))
        out->failed = true;
    cv_put_u32(out, narrow);
}

void cv_elf_write_header(cv_builder *out, const cv_elf_header *header)
{
    cv_put_u32(out, CV_ELF_MAGIC);
    cv_put_u8(out, header->is32 ? 1 : 2);
    cv_put_u8(out, 1);
    cv_put_u8(out, 1);
    cv_put_u8(out, header->osabi);
    cv_put_u8(out, header->abiversion);
    cv_put_zero(out, 7);
    cv_put_u16(out, header->type);
    cv_put_u16(out, header->machine);
    cv_put_u32(out, header->version);
    put_word(out, header->is32, header->entry);
    put_word(out, header->is32, header->phoff);
    put_word(out, header->is32, header->shoff);
    cv_put_u32(out, header->flags);
    cv_put_u16(out, header->ehsize);
    cv_put_u16(out, header->phentsize);
    cv_put_u16(out, header->phnum);
    cv_put_u16(out, header->shentsize);
    cv_put_u16(out, header->shnum);
    cv_put_u16(out, header->shstrndx);
}

void cv_elf_write_section(cv_builder *out, bool is32, const cv_elf_section *header)
{
    cv_put_u32(out, header->name);
    cv_put_u32(out, header->type);
    put_word(out, is32, header->flags);
    put_word(out, is32, header->addr);
    put_word(out, is32, header->off);
    put_word(out, is32, header->size);
    cv_put_u32(out, header->link);
    cv_put_u32(out, header->info);
    put_word(out, is32, header->align);
    put_word(out, is32, header->entsize);
}

void cv_elf_write_segment(cv_builder *out, bool is32, const cv_elf_segment *segment)
{
    cv_put_u32(out, segment->type);
    if (!is32)
        cv_put_u32(out, segment->flags);
    put_word(out, is32, segment->off);
    put_word(out, is32, segment->vaddr);
    put_word(out, is32, segment->paddr);
    put_word(out, is32, segment->filesz);
    put_word(out, is32, segment->memsz);
    if (is32)
        cv_put_u32(out, segment->flags);
    put_word(out, is32, segment->align);
}

void cv_elf_write_symbol(cv_builder *out, bool is32, const cv_elf_symbol *sym)
{
    cv_put_u32(out, sym->name);
    if (is32) {
        put_word(out, true, sym->value);
        put_word(out, true, sym->size);
    }
    cv_put_u8(out, sym->info);
    cv_put_u8(out, sym->other);
    cv_put_u16(out, sym->shndx);
    if (!is32) {
        cv_put_u64(out, sym->value);
        cv_put_u64(out, sym->size);
    }
}

void cv_elf_write_reloc(cv_builder *out, bool is32, bool rela, const cv_elf_reloc *reloc)
{
    put_word(out, is32, reloc->off);
    if (!is32) {
        cv_put_u32(out, reloc->type);
        cv_put_u32(out, reloc->sym);
        if (rela)
            cv_put_u64(out, (uint64_t)reloc->addend);
        return;
    }
    /* One byte of type, three of symbol. */
    if (reloc->type > 0xFF || reloc->sym > 0xFFFFFF || reloc->addend < INT32_MIN || reloc->addend > INT32_MAX)
        out->failed = true;
    cv_put_u32(out, (reloc->type & 0xFF) | (reloc->sym & 0xFFFFFF) << 8);
    if (rela)
        cv_put_u32(out, (uint32_t)((uint64_t)reloc->addend & 0xFFFFFFFF));
}
