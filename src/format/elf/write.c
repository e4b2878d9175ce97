/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/elf/write.h"

/* A field of 4 or 8 bytes by class. */
static void put_word(cv_builder *b, bool is32, uint64_t v)
{
    uint32_t narrow = 0;

    if (!is32) {
        cv_put_u64(b, v);
        return;
    }
    if (!cv_to_u32(v, &narrow))
        b->failed = true;
    cv_put_u32(b, narrow);
}

void cv_elf_write_header(cv_builder *b, const cv_elf_header *h)
{
    cv_put_u32(b, CV_ELF_MAGIC);
    cv_put_u8(b, h->is32 ? 1 : 2);
    cv_put_u8(b, 1);
    cv_put_u8(b, 1);
    cv_put_u8(b, h->osabi);
    cv_put_u8(b, h->abiversion);
    cv_put_zero(b, 7);
    cv_put_u16(b, h->type);
    cv_put_u16(b, h->machine);
    cv_put_u32(b, h->version);
    put_word(b, h->is32, h->entry);
    put_word(b, h->is32, h->phoff);
    put_word(b, h->is32, h->shoff);
    cv_put_u32(b, h->flags);
    cv_put_u16(b, h->ehsize);
    cv_put_u16(b, h->phentsize);
    cv_put_u16(b, h->phnum);
    cv_put_u16(b, h->shentsize);
    cv_put_u16(b, h->shnum);
    cv_put_u16(b, h->shstrndx);
}

void cv_elf_write_section(cv_builder *b, bool is32, const cv_elf_section *h)
{
    cv_put_u32(b, h->name);
    cv_put_u32(b, h->type);
    put_word(b, is32, h->flags);
    put_word(b, is32, h->addr);
    put_word(b, is32, h->off);
    put_word(b, is32, h->size);
    cv_put_u32(b, h->link);
    cv_put_u32(b, h->info);
    put_word(b, is32, h->align);
    put_word(b, is32, h->entsize);
}

void cv_elf_write_segment(cv_builder *b, bool is32, const cv_elf_segment *h)
{
    cv_put_u32(b, h->type);
    if (!is32)
        cv_put_u32(b, h->flags);
    put_word(b, is32, h->off);
    put_word(b, is32, h->vaddr);
    put_word(b, is32, h->paddr);
    put_word(b, is32, h->filesz);
    put_word(b, is32, h->memsz);
    if (is32)
        cv_put_u32(b, h->flags);
    put_word(b, is32, h->align);
}

void cv_elf_write_symbol(cv_builder *b, bool is32, const cv_elf_symbol *s)
{
    cv_put_u32(b, s->name);
    if (is32) {
        put_word(b, true, s->value);
        put_word(b, true, s->size);
    }
    cv_put_u8(b, s->info);
    cv_put_u8(b, s->other);
    cv_put_u16(b, s->shndx);
    if (!is32) {
        cv_put_u64(b, s->value);
        cv_put_u64(b, s->size);
    }
}

void cv_elf_write_reloc(cv_builder *b, bool is32, bool rela, const cv_elf_reloc *r)
{
    put_word(b, is32, r->off);
    if (!is32) {
        cv_put_u32(b, r->type);
        cv_put_u32(b, r->sym);
        if (rela)
            cv_put_u64(b, (uint64_t)r->addend);
        return;
    }
    /* One byte of type, three of symbol. */
    if (r->type > 0xFF || r->sym > 0xFFFFFF || r->addend < INT32_MIN || r->addend > INT32_MAX)
        b->failed = true;
    cv_put_u32(b, (r->type & 0xFF) | (r->sym & 0xFFFFFF) << 8);
    if (rela)
        cv_put_u32(b, (uint32_t)((uint64_t)r->addend & 0xFFFFFFFF));
}
