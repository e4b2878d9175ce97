/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/elf/names.h"

#include "format/elf/eflags.h"

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

static const char *const RELOC_NAMES[] = {
#define RELOC_CUDA(number, name, bytes, insn, pos, bits, shift, who, uses) #name,
#include "relocs.def"
};
static const char *const MERC_RELOCS[] = {
#define RELOC_MERC(number, name) #name,
#include "relocs.def"
};

enum {
    NONE = CV_USE_NONE,
#define RELOC_USE(name) name = CV_USE_##name,
#include "relocs.def"
};
const cv_reloc_facts CV_RELOC_FACTS[CV_R_CUDA_LAST + 1] = {
#define RELOC_CUDA(number, name, size, in, low, width, left_out, whose, used)                                \
    [number].uses = (used), [number].bytes = (size), [number].who = CV_RELOC_##whose, [number].pos = (low),  \
    [number].bits = (width), [number].shift = (left_out), [number].insn = (in),                              \
    [number].plain = (in) && (width) != 0 &&                                                                 \
                     (CV_RELOC_##whose == CV_RELOC_DRIVER || CV_RELOC_##whose == CV_RELOC_EITHER) &&         \
                     ((used) & (CALL | TABLE | DROPS)) == 0,
#define RELOC_FINAL(name, becomes) [CV_##name].final = CV_##becomes,
#include "relocs.def"
};

/* 'bits' bits from 'pos' on, in the first and in the second word of eight bytes. */
#define ONES(bits)          ((bits) >= 64 ? UINT64_MAX : (UINT64_C(1) << ((bits)&63)) - 1)
#define LOW_BITS(pos, bits) ((pos) < 64 ? ONES(bits) << ((pos)&63) : 0)
#define HIGH_BITS(pos, bits)                                                                                 \
    ((pos) >= 64 ? ONES(bits) << ((pos)&63) : (pos) + (bits) > 64 ? ONES((pos) + (bits)-64) : 0)
#define WHERE(cond, bits) ((cond) != 0 ? (bits) : 0)
#define EMPTY(half, low, width, used)                                                                        \
    (WHERE((used)&WHOLE, half##_BITS(low, width)) |                                                          \
     WHERE((used)&REST, half##_BITS(CV_R_REST_POS, CV_R_REST_BITS)) |                                        \
     WHERE(((used)&REST) && ((used)&TABLE), half##_BITS(CV_R_PLACE_POS, CV_R_PLACE_BITS)))
const cv_reloc_bits CV_RELOC_EMPTY[CV_R_CUDA_LAST + 1] = {
#define RELOC_CUDA(number, name, size, in, low, width, left_out, whose, used)                                \
    [number] = { EMPTY(LOW, low, width, used), EMPTY(HIGH, low, width, used) },
#include "relocs.def"
};

const uint64_t CV_RELOC_TWINS[CV_R_CUDA_LAST + 1] = {
#define RELOC_TWIN(native, merc, other) [CV_##native] = CV_RELOC_BIT(CV_##merc) | CV_RELOC_BIT(CV_##other),
#include "relocs.def"
};

/* Offset of a field in class 64 and in class 32. */
typedef struct field_place {
    uint8_t wide, narrow;
} field_place;

static const field_place EHDR[] = {
    { 16, 16 }, { 18, 18 }, { 20, 20 }, { 24, 24 }, { 32, 28 }, { 40, 32 }, { 48, 36 },
    { 52, 40 }, { 54, 42 }, { 56, 44 }, { 58, 46 }, { 60, 48 }, { 62, 50 },
};
static const field_place SHDR[] = {
    { 0, 0 },   { 4, 4 },   { 8, 8 },   { 16, 12 }, { 24, 16 },
    { 32, 20 }, { 40, 24 }, { 44, 28 }, { 48, 32 }, { 56, 36 },
};
static const field_place PHDR[] = {
    { 0, 0 }, { 4, 24 }, { 8, 4 }, { 16, 8 }, { 24, 12 }, { 32, 16 }, { 40, 20 }, { 48, 28 },
};
static const field_place SYM[] = { { 0, 0 }, { 4, 12 }, { 5, 13 }, { 6, 14 }, { 8, 4 }, { 16, 8 } };

static uint64_t pick(field_place place, bool is32)
{
    return is32 ? place.narrow : place.wide;
}

uint64_t cv_elf_ehdr_at(bool is32, cv_ehdr_field field)
{
    return pick(CV_AT(EHDR, field), is32);
}

uint64_t cv_elf_shdr_at(bool is32, cv_shdr_field field)
{
    return pick(CV_AT(SHDR, field), is32);
}

uint64_t cv_elf_phdr_at(bool is32, cv_phdr_field field)
{
    return pick(CV_AT(PHDR, field), is32);
}

uint64_t cv_elf_sym_at(bool is32, cv_sym_field field)
{
    return pick(CV_AT(SYM, field), is32);
}

/* A few dozen rows, only for output: linear. */
#define LOOKUP(table, value_)                                                                                \
    for (size_t i = 0; i < CV_COUNT(table); i++)                                                             \
        if (CV_AT(table, i).value == (value_))                                                               \
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

const char *cv_elf_type_name(uint32_t e_type)
{
    switch (e_type) {
    case CV_ELF_REL: return "REL";
    case CV_ELF_EXEC: return "EXEC";
    case CV_ELF_MERCURY: return "MERCURY";
    default: return NULL;
    }
}

const char *cv_elf_visibility_name(uint8_t st_other)
{
    static const char *const NAMES[CV_STV + 1] = { NULL, "internal", "hidden", "protected" };

    return CV_AT(NAMES, st_other & CV_STV);
}

const char *cv_elf_space_name(uint8_t st_other)
{
    static const char *const NAMES[] = { NULL,       "global",          "shared",  "local",
                                         "constant", "reserved-shared", "space-6", "space-7" };

    return CV_AT(NAMES, (st_other & CV_STO_SPACE) / CV_STO_SPACE_GLOBAL);
}

const char *cv_elf_index_name(uint32_t st_shndx)
{
    switch (st_shndx) {
    case CV_SHN_UNDEF: return "UND";
    case CV_SHN_ABS: return "ABS";
    case CV_SHN_COMMON: return "COM";
    default: return NULL;
    }
}

const char *cv_elf_flag_name(bool abi8, unsigned bit)
{
    static const struct {
        bool abi8;
        uint32_t mask;
        const char *text;
    } FLAGS[] = {
        { true, CV_EF_MERCURY, "Mercury image" },
        { true, CV_EF_CAPSULE, "code with Mercury capsules" },
        { true, CV_EF_SASS, "plain code" },
        { false, CV_EF_LEGACY_UNIFIED_TEXTURES, "unified textures" },
        { false, CV_EF_LEGACY_INDEPENDENT_TEXTURES, "independent textures" },
        { false, CV_EF_LEGACY_64BIT, "64-bit addresses" },
        { false, CV_EF_LEGACY_ACCELERATED, "accelerated" },
    };

    for (size_t i = 0; i < CV_COUNT(FLAGS); i++)
        if (CV_AT(FLAGS, i).abi8 == abi8 && CV_AT(FLAGS, i).mask == UINT32_C(1) << bit)
            return CV_AT(FLAGS, i).text;
    return NULL;
}

const char *cv_elf_reloc_name(uint32_t type)
{
    if (type < CV_COUNT(RELOC_NAMES))
        return CV_AT(RELOC_NAMES, type);
    if (type >= CV_R_MERC_BASE && type - CV_R_MERC_BASE < CV_COUNT(MERC_RELOCS))
        return CV_AT(MERC_RELOCS, type - CV_R_MERC_BASE);
    return NULL;
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
