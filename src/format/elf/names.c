/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/elf/names.h"

typedef struct name_row {
    uint32_t value;
    const char *text;
} name_row;

static const name_row SECTION_TYPES[] = {
#define SHT(name, value, text, source) { value, text },
#include "elf.def"
};
static const name_row SYMBOL_TYPES[] = {
#define STT(name, value, text, source) { value, text },
#include "elf.def"
};
static const name_row SYMBOL_BINDS[] = {
#define STB(name, value, text, source) { value, text },
#include "elf.def"
};
static const name_row SEGMENT_TYPES[] = {
#define PT(name, value, text, source) { value, text },
#include "elf.def"
};

typedef struct reloc_row {
    const char *name;
    uint8_t bytes;
    bool insn;
    cv_reloc_who who;
} reloc_row;

static const reloc_row RELOCS[] = {
#define RELOC_CUDA(number, name, bytes, insn, who) { name, bytes, insn, CV_RELOC_##who },
#include "relocs.def"
};
static const char *const MERC_RELOCS[] = {
#define RELOC_MERC(number, name) name,
#include "relocs.def"
};

/* Offset of a field in class 64 and in class 32. */
typedef struct place {
    uint8_t wide, narrow;
} place;

static const place EHDR[] = {
    { 16, 16 }, { 18, 18 }, { 20, 20 }, { 24, 24 }, { 32, 28 }, { 40, 32 }, { 48, 36 },
    { 52, 40 }, { 54, 42 }, { 56, 44 }, { 58, 46 }, { 60, 48 }, { 62, 50 },
};
static const place SHDR[] = {
    { 0, 0 },   { 4, 4 },   { 8, 8 },   { 16, 12 }, { 24, 16 },
    { 32, 20 }, { 40, 24 }, { 44, 28 }, { 48, 32 }, { 56, 36 },
};
static const place PHDR[] = {
    { 0, 0 }, { 4, 24 }, { 8, 4 }, { 16, 8 }, { 24, 12 }, { 32, 16 }, { 40, 20 }, { 48, 28 },
};
static const place SYM[] = { { 0, 0 }, { 4, 12 }, { 5, 13 }, { 6, 14 }, { 8, 4 }, { 16, 8 } };

static uint64_t pick(place p, bool is32)
{
    return is32 ? p.narrow : p.wide;
}

uint64_t cv_elf_ehdr_at(bool is32, cv_ehdr_field f)
{
    return pick(CV_AT(EHDR, f), is32);
}

uint64_t cv_elf_shdr_at(bool is32, cv_shdr_field f)
{
    return pick(CV_AT(SHDR, f), is32);
}

uint64_t cv_elf_phdr_at(bool is32, cv_phdr_field f)
{
    return pick(CV_AT(PHDR, f), is32);
}

uint64_t cv_elf_sym_at(bool is32, cv_sym_field f)
{
    return pick(CV_AT(SYM, f), is32);
}

/* A few dozen rows, only for output: linear. */
#define LOOKUP(table, v)                                                                                     \
    for (size_t i = 0; i < CV_COUNT(table); i++)                                                             \
        if (CV_AT(table, i).value == (v))                                                                    \
            return CV_AT(table, i).text;                                                                     \
    return NULL

const char *cv_elf_section_type_name(uint32_t sh_type)
{
    LOOKUP(SECTION_TYPES, sh_type);
}

const char *cv_elf_symbol_type_name(uint8_t st_type)
{
    LOOKUP(SYMBOL_TYPES, st_type);
}

const char *cv_elf_symbol_bind_name(uint8_t st_bind)
{
    LOOKUP(SYMBOL_BINDS, st_bind);
}

const char *cv_elf_segment_type_name(uint32_t p_type)
{
    LOOKUP(SEGMENT_TYPES, p_type);
}

const char *cv_elf_reloc_name(uint32_t type)
{
    if (type < CV_COUNT(RELOCS))
        return CV_AT(RELOCS, type).name;
    if (type >= CV_R_MERC_BASE && type - CV_R_MERC_BASE < CV_COUNT(MERC_RELOCS))
        return CV_AT(MERC_RELOCS, type - CV_R_MERC_BASE);
    return NULL;
}

uint32_t cv_elf_reloc_bytes(uint32_t type)
{
    return type < CV_COUNT(RELOCS) ? CV_AT(RELOCS, type).bytes : 0;
}

bool cv_elf_reloc_insn(uint32_t type)
{
    return type < CV_COUNT(RELOCS) && CV_AT(RELOCS, type).insn;
}

cv_reloc_who cv_elf_reloc_who(uint32_t type)
{
    return type < CV_COUNT(RELOCS) ? CV_AT(RELOCS, type).who : CV_RELOC_NONE;
}

/* Bits first to last of word w of a set. */
#define FROM(first, w)        (UINT64_MAX << ((first) > 64 * (w) ? ((first)-64 * (w)) % 64 : 0))
#define UPTO(last, w)         (UINT64_MAX >> ((last) < 64 * (w) + 63 ? (64 * (w) + 63 - (last)) % 64 : 0))
#define APART(first, last, w) ((last) < 64 * (w) || (first) > 64 * (w) + 63)
#define IN(first, last, w)    (APART(first, last, w) ? 0 : FROM(first, w) & UPTO(last, w))

/* Every relocation of an executable is asked for: sets of bits, not lists of ranges, which
 * the table has because it is read by people.
 */
bool cv_elf_reloc_is(uint32_t type, cv_reloc_use use)
{
    enum {
        OFFSET = 0 /* the only one */
#define RELOC_USE(first, last, use) +(CV_RELOC_##use == CV_RELOC_OFFSET ? (first) : 0)
#include "relocs.def"
    };
    static const uint64_t LINKED[2] = {
#define RELOC_USE(first, last, use) | (CV_RELOC_##use == CV_RELOC_LINKED ? IN(first, last, 0) : 0)
        0
#include "relocs.def"
        ,
#define RELOC_USE(first, last, use) | (CV_RELOC_##use == CV_RELOC_LINKED ? IN(first, last, 1) : 0)
        0
#include "relocs.def"
    };
    static const uint64_t CALL[2] = {
#define RELOC_USE(first, last, use) | (CV_RELOC_##use == CV_RELOC_CALL ? IN(first, last, 0) : 0)
        0
#include "relocs.def"
        ,
#define RELOC_USE(first, last, use) | (CV_RELOC_##use == CV_RELOC_CALL ? IN(first, last, 1) : 0)
        0
#include "relocs.def"
    };
    uint64_t word;

    if (type > CV_R_CUDA_LAST)
        return false;
    if (use == CV_RELOC_OFFSET)
        return type == OFFSET;
    if (use == CV_RELOC_LINKED && CV_AT(RELOCS, type).who == CV_RELOC_LINKER)
        return true;
    word = use == CV_RELOC_LINKED ? CV_AT(LINKED, type / 64) : CV_AT(CALL, type / 64);
    return (word >> type % 64 & 1) != 0;
}

bool cv_elf_reloc_field(uint32_t type, unsigned *bit, unsigned *bits)
{
    static const struct {
        uint8_t bit, bits;
    } FIELDS[CV_R_CUDA_LAST + 1] = {
#define RELOC_FIELD(number, bit, bits) [number] = { bit, bits },
#include "relocs.def"
    };

    if (type > CV_R_CUDA_LAST || CV_AT(FIELDS, type).bits == 0)
        return false;
    *bit = CV_AT(FIELDS, type).bit;
    *bits = CV_AT(FIELDS, type).bits;
    return true;
}

bool cv_elf_reloc_bits(uint32_t type, unsigned *bit, unsigned *bits)
{
    static const struct {
        uint8_t bit, bits;
    } FORMS[CV_R_CUDA_LAST + 1] = {
#define RELOC_FORM(number, pos, bits, low, uses) [number] = { pos, bits },
#include "relocs.def"
    };

    if (type > CV_R_CUDA_LAST || CV_AT(FORMS, type).bits == 0)
        return cv_elf_reloc_field(type, bit, bits);
    *bit = CV_AT(FORMS, type).bit;
    *bits = CV_AT(FORMS, type).bits;
    return true;
}

bool cv_elf_reloc_debug(uint32_t type)
{
    enum { R_CUDA_32 = 1, R_CUDA_G64 = 4, R_CUDA_UNUSED_CLEAR32 = 72, R_CUDA_UNUSED_CLEAR64 = 73 };

    return (type >= R_CUDA_32 && type <= R_CUDA_G64) || type == R_CUDA_UNUSED_CLEAR32 ||
           type == R_CUDA_UNUSED_CLEAR64;
}

bool cv_elf_type_exempt(uint32_t sh_type)
{
    switch (sh_type) {
    case CV_SHT_NOBITS: /* and the four kinds of memory that the driver provides */
    case CV_SHT_CUDA_GLOBAL:
    case CV_SHT_CUDA_LOCAL:
    case CV_SHT_CUDA_SHARED:
    case CV_SHT_CUDA_SHARED_RESERVED: return true;
    default: return false;
    }
}

bool cv_elf_type_is_reloc(uint32_t sh_type)
{
    switch (sh_type) {
    case CV_SHT_REL:
    case CV_SHT_RELA:
    case CV_SHT_MERC_RELA:
    case CV_SHT_CUDA_RESOLVED_RELA:
    case CV_SHT_MERC_RESOLVED_RELA: return true;
    default: return false;
    }
}
