/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/elf/read.h"

bool cv_elf_peek(cv_span image, cv_elf_header *out)
{
    cv_elf_header h = { 0 };
    cv_cur c = cv_cur_of(image);

    if (image.len < 52 || cv_u32_at(image, 0) != CV_ELF_MAGIC)
        return false;
    if ((cv_u8_at(image, 4) != 1 && cv_u8_at(image, 4) != 2) || cv_u8_at(image, 5) != 1 ||
        cv_u8_at(image, 6) != 1)
        return false;
    h.is32 = cv_u8_at(image, 4) == 1;
    h.osabi = cv_u8_at(image, 7);
    h.abiversion = cv_u8_at(image, 8);
    for (uint64_t i = 15; i >= 9; i--)
        if (cv_u8_at(image, i) != 0)
            h.pad_nonzero = (uint8_t)i;
    cv_cur_skip(&c, 16);
    h.type = cv_cur_u16(&c);
    h.machine = cv_cur_u16(&c);
    h.version = cv_cur_u32(&c);
    h.entry = h.is32 ? cv_cur_u32(&c) : cv_cur_u64(&c);
    h.phoff = h.is32 ? cv_cur_u32(&c) : cv_cur_u64(&c);
    h.shoff = h.is32 ? cv_cur_u32(&c) : cv_cur_u64(&c);
    h.flags = cv_cur_u32(&c);
    h.ehsize = cv_cur_u16(&c);
    h.phentsize = cv_cur_u16(&c);
    h.phnum = cv_cur_u16(&c);
    h.shentsize = cv_cur_u16(&c);
    h.shnum = cv_cur_u16(&c);
    h.shstrndx = cv_cur_u16(&c);
    if (c.failed)
        return false;
    *out = h;
    return true;
}

cuvet_status cv_elf_read_header(cv_ctx *x, cv_span image, cv_elf_header *out)
{
    if (image.len >= 4 && cv_u32_at(image, 0) != CV_ELF_MAGIC)
        return cv_reject(x, CV_R_ELF_MAGIC, image.off, cv_u32_at(image, 0), CV_ELF_MAGIC);
    if (image.len < 16)
        return cv_reject(x, CV_R_ELF_SHORT, image.off, image.len, 64);
    if (cv_u8_at(image, 4) != 1 && cv_u8_at(image, 4) != 2)
        return cv_reject(x, CV_R_ELF_CLASS, image.off + 4, cv_u8_at(image, 4), 2);
    if (cv_u8_at(image, 5) == 2)
        return cv_reject(x, CV_R_ELF_BIG_ENDIAN, image.off + 5, 2, 1);
    if (cv_u8_at(image, 5) != 1)
        return cv_reject(x, CV_R_ELF_DATA, image.off + 5, cv_u8_at(image, 5), 1);
    if (cv_u8_at(image, 6) != 1)
        return cv_reject(x, CV_R_ELF_IDENT_VERSION, image.off + 6, cv_u8_at(image, 6), 1);
    if (!cv_elf_peek(image, out)) /* all that is left: too short */
        return cv_reject(x, CV_R_ELF_SHORT, image.off, image.len, cv_elf_ehdr_size(cv_u8_at(image, 4) == 1));
    return CUVET_OK;
}

void cv_elf_read_section(cv_span table, bool is32, uint64_t i, cv_elf_section *out)
{
    uint64_t at;

    *out = (cv_elf_section){ 0 };
    if (CV_UNLIKELY(!cv_elf_element(table, i, cv_elf_shdr_size(is32), &at)))
        return;
    out->name = cv_u32_at(table, at);
    out->type = cv_u32_at(table, at + 4);
    if (CV_UNLIKELY(is32)) {
        out->flags = cv_u32_at(table, at + 8);
        out->addr = cv_u32_at(table, at + 12);
        out->off = cv_u32_at(table, at + 16);
        out->size = cv_u32_at(table, at + 20);
        out->link = cv_u32_at(table, at + 24);
        out->info = cv_u32_at(table, at + 28);
        out->align = cv_u32_at(table, at + 32);
        out->entsize = cv_u32_at(table, at + 36);
        return;
    }
    out->flags = cv_u64_at(table, at + 8);
    out->addr = cv_u64_at(table, at + 16);
    out->off = cv_u64_at(table, at + 24);
    out->size = cv_u64_at(table, at + 32);
    out->link = cv_u32_at(table, at + 40);
    out->info = cv_u32_at(table, at + 44);
    out->align = cv_u64_at(table, at + 48);
    out->entsize = cv_u64_at(table, at + 56);
}

void cv_elf_read_segment(cv_span table, bool is32, uint64_t i, cv_elf_segment *out)
{
    uint64_t at;

    *out = (cv_elf_segment){ 0 };
    if (CV_UNLIKELY(!cv_elf_element(table, i, cv_elf_phdr_size(is32), &at)))
        return;
    out->type = cv_u32_at(table, at);
    if (is32) {
        out->off = cv_u32_at(table, at + 4);
        out->vaddr = cv_u32_at(table, at + 8);
        out->paddr = cv_u32_at(table, at + 12);
        out->filesz = cv_u32_at(table, at + 16);
        out->memsz = cv_u32_at(table, at + 20);
        out->flags = cv_u32_at(table, at + 24);
        out->align = cv_u32_at(table, at + 28);
        return;
    }
    out->flags = cv_u32_at(table, at + 4);
    out->off = cv_u64_at(table, at + 8);
    out->vaddr = cv_u64_at(table, at + 16);
    out->paddr = cv_u64_at(table, at + 24);
    out->filesz = cv_u64_at(table, at + 32);
    out->memsz = cv_u64_at(table, at + 40);
    out->align = cv_u64_at(table, at + 48);
}

/* Largest end of a range so far; false when it passes the span. */
static bool cover(cv_span image, uint64_t off, uint64_t len, uint64_t *end)
{
    if (!cv_span_has(image, off, len))
        return false;
    *end = cv_max(*end, off + len);
    return true;
}

bool cv_elf_extent(cv_ctx *x, cv_span image, uint64_t *extent)
{
    cv_elf_header h;
    cv_elf_section sh;
    cv_span table;
    uint64_t end, n, esize, len;

    if (!cv_elf_peek(image, &h))
        return false;
    end = cv_elf_ehdr_size(h.is32);
    esize = cv_elf_shdr_size(h.is32);
    if (h.phnum != 0 && (h.phentsize != cv_elf_phdr_size(h.is32) ||
                         !cover(image, h.phoff, h.phnum * cv_elf_phdr_size(h.is32), &end)))
        return false;
    n = h.shnum;
    if (h.shoff != 0 && n == 0) {
        cv_elf_read_section(cv_span_tail(image, h.shoff), h.is32, 0, &sh);
        n = sh.size;
    }
    if (n == 0) {
        *extent = end;
        return true;
    }
    if (h.shentsize != esize || !cv_mul(n, esize, &len) || !cv_span_sub(image, h.shoff, len, &table))
        return false;
    end = cv_max(end, h.shoff + len);
    if (n > x->lim.sections || !cv_work(x, n, image.off))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        cv_elf_read_section(table, h.is32, i, &sh);
        if (sh.type != CV_SHT_NULL && !cv_elf_type_exempt(sh.type) && !cover(image, sh.off, sh.size, &end))
            return false;
    }
    *extent = end;
    return true;
}
