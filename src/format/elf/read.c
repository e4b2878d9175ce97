/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/elf/read.h"

bool cv_elf_peek(cv_span image, cv_elf_header *out)
{
    cv_elf_header header = { 0 };
    cv_cur cur = cv_cur_of(image);

    if (image.len < cv_elf_ehdr_size(true) || cv_u32_at(image, 0) != CV_ELF_MAGIC)
        return false;
    if ((cv_u8_at(image, CV_EI_CLASS) != CV_ELF_CLASS32 && cv_u8_at(image, CV_EI_CLASS) != CV_ELF_CLASS64) ||
        cv_u8_at(image, CV_EI_DATA) != CV_ELF_LITTLE || cv_u8_at(image, CV_EI_VERSION) != CV_ELF_VERSION)
        return false;
    header.is32 = cv_elf_is32(image);
    header.osabi = cv_u8_at(image, CV_EI_OSABI);
    header.abiversion = cv_u8_at(image, CV_EI_ABIVERSION);
    for (uint64_t i = CV_EI_SIZE - 1; i >= CV_EI_PAD; i--)
        if (cv_u8_at(image, i) != 0)
            header.pad_nonzero = (uint8_t)i;
    cv_cur_skip(&cur, CV_EI_SIZE);
    header.type = cv_cur_u16(&cur);
    header.machine = cv_cur_u16(&cur);
    header.version = cv_cur_u32(&cur);
    header.entry = header.is32 ? cv_cur_u32(&cur) : cv_cur_u64(&cur);
    header.phoff = header.is32 ? cv_cur_u32(&cur) : cv_cur_u64(&cur);
    header.shoff = header.is32 ? cv_cur_u32(&cur) : cv_cur_u64(&cur);
    header.flags = cv_cur_u32(&cur);
    header.ehsize = cv_cur_u16(&cur);
    header.phentsize = cv_cur_u16(&cur);
    header.phnum = cv_cur_u16(&cur);
    header.shentsize = cv_cur_u16(&cur);
    header.shnum = cv_cur_u16(&cur);
    header.shstrndx = cv_cur_u16(&cur);
    if (cur.failed)
        return false;
    *out = header;
    return true;
}

cuvet_status cv_elf_read_header(cv_ctx *ctx, cv_span image, cv_elf_header *out)
{
    if (image.len >= 4 && cv_u32_at(image, 0) != CV_ELF_MAGIC)
        return cv_reject(ctx, CV_R_ELF_MAGIC, image.off, cv_u32_at(image, 0), CV_ELF_MAGIC);
    if (image.len < CV_EI_SIZE)
        return cv_reject(ctx, CV_R_ELF_SHORT, image.off, image.len, cv_elf_ehdr_size(false));
    if (cv_u8_at(image, CV_EI_CLASS) != CV_ELF_CLASS32 && cv_u8_at(image, CV_EI_CLASS) != CV_ELF_CLASS64)
        return cv_reject(ctx, CV_R_ELF_CLASS, image.off + CV_EI_CLASS, cv_u8_at(image, CV_EI_CLASS),
                         CV_ELF_CLASS64);
    if (cv_u8_at(image, CV_EI_DATA) == CV_ELF_BIG)
        return cv_reject(ctx, CV_R_ELF_BIG_ENDIAN, image.off + CV_EI_DATA, CV_ELF_BIG, CV_ELF_LITTLE);
    if (cv_u8_at(image, CV_EI_DATA) != CV_ELF_LITTLE)
        return cv_reject(ctx, CV_R_ELF_DATA, image.off + CV_EI_DATA, cv_u8_at(image, CV_EI_DATA),
                         CV_ELF_LITTLE);
    if (cv_u8_at(image, CV_EI_VERSION) != CV_ELF_VERSION)
        return cv_reject(ctx, CV_R_ELF_IDENT_VERSION, image.off + CV_EI_VERSION,
                         cv_u8_at(image, CV_EI_VERSION), CV_ELF_VERSION);
    if (!cv_elf_peek(image, out)) /* all that is left: too short */
        return cv_reject(ctx, CV_R_ELF_SHORT, image.off, image.len, cv_elf_ehdr_size(cv_elf_is32(image)));
    return CUVET_OK;
}

void cv_elf_read_section(cv_span table, bool is32, uint64_t index, cv_elf_section *out)
{
    uint64_t at;

    *out = (cv_elf_section){ 0 };
    if (CV_UNLIKELY(!cv_elf_element(table, index, cv_elf_shdr_size(is32), &at)))
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

void cv_elf_read_segment(cv_span table, bool is32, uint64_t index, cv_elf_segment *out)
{
    uint64_t at;

    *out = (cv_elf_segment){ 0 };
    if (CV_UNLIKELY(!cv_elf_element(table, index, cv_elf_phdr_size(is32), &at)))
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

bool cv_elf_extent(cv_ctx *ctx, cv_span image, uint64_t *extent)
{
    cv_elf_header header;
    cv_elf_section sh;
    cv_span table;
    uint64_t end, count, esize, len;

    if (!cv_elf_peek(image, &header))
        return false;
    end = cv_elf_ehdr_size(header.is32);
    esize = cv_elf_shdr_size(header.is32);
    if (header.phnum != 0 &&
        (header.phentsize != cv_elf_phdr_size(header.is32) ||
         !cover(image, header.phoff, header.phnum * cv_elf_phdr_size(header.is32), &end)))
        return false;
    count = header.shnum;
    if (header.shoff != 0 && count == 0) {
        cv_elf_read_section(cv_span_tail(image, header.shoff), header.is32, 0, &sh);
        count = sh.size;
    }
    if (count == 0) {
        *extent = end;
        return true;
    }
    if (header.shentsize != esize || !cv_mul(count, esize, &len) ||
        !cv_span_sub(image, header.shoff, len, &table))
        return false;
    end = cv_max(end, header.shoff + len);
    if (count > ctx->lim.sections || !cv_work(ctx, count, image.off))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        cv_elf_read_section(table, header.is32, i, &sh);
        if (sh.type != CV_SHT_NULL && !cv_elf_type_exempt(sh.type) && !cover(image, sh.off, sh.size, &end))
            return false;
    }
    *extent = end;
    return true;
}
