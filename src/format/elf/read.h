/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF readers, class 32 and 64, little-endian: pure functions over a span, no allocation. Used for device
 * ELFs and for host ELFs alike. They decode and check what can be checked on one structure; rules between
 * structures live in src/cubin. */
#ifndef CV_FORMAT_ELF_READ_H
#define CV_FORMAT_ELF_READ_H

#include "base/ctx.h"
#include "bytes/span.h"
#include "format/elf/eflags.h"
#include "format/elf/names.h"

typedef struct cv_elf_header {
    bool is32;
    uint8_t osabi, abiversion;
    uint16_t type, machine;
    uint32_t version, flags;
    uint64_t entry, phoff, shoff;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx; /* as stored */
    uint8_t pad_nonzero; /* first place in e_ident[9..15] that is not zero, 0 = none */
} cv_elf_header;

typedef struct cv_elf_section {
    uint32_t name, type;
    uint64_t flags, addr, off, size;
    uint32_t link, info;
    uint64_t align, entsize;
} cv_elf_section;

typedef struct cv_elf_symbol {
    uint32_t name;
    uint8_t info, other;
    uint16_t shndx;
    uint64_t value, size;
} cv_elf_symbol;

typedef struct cv_elf_segment {
    uint32_t type, flags;
    uint64_t off, vaddr, paddr, filesz, memsz, align;
} cv_elf_segment;

typedef struct cv_elf_reloc {
    uint64_t off;
    uint32_t sym, type;
    int64_t addend; /* 0 for REL */
} cv_elf_reloc;

static inline bool cv_elf_is32(cv_span image)
{
    return cv_u8_at(image, CV_EI_CLASS) == CV_ELF_CLASS32;
}
static inline uint64_t cv_elf_ehdr_size(bool is32)
{
    return is32 ? 52 : 64;
}
static inline uint64_t cv_elf_shdr_size(bool is32)
{
    return is32 ? 40 : 64;
}
static inline uint64_t cv_elf_phdr_size(bool is32)
{
    return is32 ? 32 : 56;
}
static inline uint64_t cv_elf_sym_size(bool is32)
{
    return is32 ? 16 : 24;
}
static inline uint64_t cv_elf_rel_size(bool is32, bool rela)
{
    return is32 ? (rela ? 12 : 8) : (rela ? 24 : 16);
}
static inline uint8_t cv_elf_sym_type(const cv_elf_symbol *symbol)
{
    return cv_elf_info_type(symbol->info);
}
static inline uint8_t cv_elf_sym_bind(const cv_elf_symbol *symbol)
{
    return cv_elf_info_bind(symbol->info);
}

/* Decode the file header. Malformed: too short, bad magic/class/version. Unsupported: big-endian. Machine,
 * ABI, type and sizes are decoded, not judged. */
CV_MUST bool cv_elf_peek(cv_span image,
                         cv_elf_header *out); /* the same, silent: false when it would reject */
CV_MUST cuvet_status cv_elf_read_header(cv_ctx *ctx, cv_span image, cv_elf_header *out);

/* Offset of element 'index' when all of it lies in the table; elements outside decode as zero. */
static inline bool cv_elf_element(cv_span table, uint64_t index, uint64_t size, uint64_t *at)
{
    return cv_mul(index, size, at) && cv_span_has(table, *at, size);
}

/* Decode element i of a table; a place outside the span decodes as all zero (callers check the table range
 * first). Those that are read by the hundred thousand are here, for the compiler to put where they are used.
 */
void cv_elf_read_section(cv_span table, bool is32, uint64_t index, cv_elf_section *out);
void cv_elf_read_segment(cv_span table, bool is32, uint64_t index, cv_elf_segment *out);
static inline void cv_elf_read_symbol(cv_span table, bool is32, uint64_t index, cv_elf_symbol *out)
{
    uint64_t at = cv_sat_mul(index, cv_elf_sym_size(is32));
    cv_row row;

    if (CV_UNLIKELY(is32)) {
        *out = (cv_elf_symbol){ 0 };
        if (!cv_span_has(table, at, cv_elf_sym_size(is32)))
            return;
        *out = (cv_elf_symbol){ .name = cv_u32_at(table, at),
                                .info = cv_u8_at(table, at + 12),
                                .other = cv_u8_at(table, at + 13),
                                .shndx = cv_u16_at(table, at + 14),
                                .value = cv_u32_at(table, at + 4),
                                .size = cv_u32_at(table, at + 8) };
        return;
    }
    row = cv_row_at(table, at, 3);
    *out = (cv_elf_symbol){ .name = (uint32_t)row.first,
                            .info = (uint8_t)(row.first >> 32),
                            .other = (uint8_t)(row.first >> 40),
                            .shndx = (uint16_t)(row.first >> 48),
                            .value = row.second,
                            .size = row.third };
}

CV_INLINE void cv_elf_read_reloc(cv_span table, bool is32, bool rela, uint64_t index, cv_elf_reloc *out)
{
    uint64_t at = cv_sat_mul(index, cv_elf_rel_size(is32, rela));
    cv_row row;

    if (CV_UNLIKELY(is32)) {
        *out = (cv_elf_reloc){ 0 };
        if (!cv_span_has(table, at, cv_elf_rel_size(is32, rela)))
            return;
        *out = (cv_elf_reloc){ .off = cv_u32_at(table, at),
                               .type = cv_u8_at(table, at + 4),
                               .sym = cv_u32_at(table, at + 4) >> 8,
                               .addend = rela ? (int32_t)cv_u32_at(table, at + 8) : 0 };
        return;
    }
    row = cv_row_at(table, at, rela ? 3 : 2);
    *out = (cv_elf_reloc){ .off = row.first,
                           .type = (uint32_t)row.second,
                           .sym = (uint32_t)(row.second >> 32),
                           .addend = (int64_t)row.third };
}

/* The addend of an entry of class 64 that has one. */
static inline int64_t cv_elf_reloc_addend(cv_span table, uint64_t index)
{
    return (int64_t)cv_u64_at(table, cv_sat_add(cv_sat_mul(index, cv_elf_rel_size(false, true)), 16));
}

/* Extent of an ELF image inside a larger span (raw member, embedded file): header, tables and non-exempt
 * sections. Silent: false when the header or the tables do not fit, then the caller's full parse says why.
 * Spends work. */
CV_MUST bool cv_elf_extent(cv_ctx *ctx, cv_span image, uint64_t *extent);

#endif
