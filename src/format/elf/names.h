/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Constants of ELF and of its NVIDIA extensions (spec/elf.def, spec/relocs.def), their names, and where
 * fields lie. */
#ifndef CV_FORMAT_ELF_NAMES_H
#define CV_FORMAT_ELF_NAMES_H

#include "base/base.h"

#define CV_ELF_MAGIC UINT32_C(0x464C457F)
/* gABI: left out of what is linked. Too large for the enumeration. */
#define CV_SHF_EXCLUDE UINT64_C(0x80000000)

enum {
#define SHT(name, value, text, source) CV_SHT_##name = value,
#define SHF(name, value, source)       CV_SHF_##name = value,
#define STT(name, value, text, source) CV_STT_##name = value,
#define STB(name, value, text, source) CV_STB_##name = value,
#define PT(name, value, text, source)  CV_PT_##name = value,
#define PF(name, value, source)        CV_PF_##name = value,
#include "elf.def"
};

enum {
    CV_ELF_REL = 1, /* e_type */
    CV_ELF_EXEC = 2,
    CV_ELF_DYN = 3,
    CV_ELF_MERCURY = 0xFF00, /* published for Mercury; observed in objects of nvcc -ewp, without its flag */
    CV_EM_CUDA = 190,
    CV_OSABI_CUDA = 0x41,
    CV_ABI_CUDA = 8,
    CV_OSABI_LEGACY = 0x33,
    CV_ABI_LEGACY = 7,
    CV_SHN_UNDEF = 0,
    CV_SHN_LORESERVE = 0xFF00,
    CV_SHN_ABS = 0xFFF1,
    CV_SHN_COMMON = 0xFFF2,
    CV_SHN_XINDEX = 0xFFFF,
    CV_OLD_INSTRUCTION = 8, /* bytes of an instruction of machines before sm_70 */
    CV_BANK_MOST = 0x10000, /* bytes of a constant bank */
    CV_BANK_PARAMETERS = 0, /* numbers of banks, with what they hold: parameters of a kernel … */
    CV_BANK_TABLES = 2,     /* … branch tables … */
    CV_BANK_USER = 3,       /* … variables of the program … */
    CV_BANK_ADDRESSES = 4,  /* … and addresses of variables */
    CV_BANK_OF_NOBODY = 28, /* what the reference writes for a texture in a relocatable link */
    CV_STV_INTERNAL = 1,    /* st_other, gABI: nobody outside of the component */
    CV_STV = 0x03,          /* st_other, gABI: visibility */
    CV_STO_MANAGED = 0x04,  /* st_other of a variable; of a function it says something else */
    CV_STO_OBSCURE = 0x08,
    CV_STO_ENTRY = 0x10, /* st_other of a kernel */
    CV_STO_SPACE = 0xE0, /* memory space of a CUDA object */
    CV_STO_SPACE_GLOBAL = 0x20,
    CV_STO_SPACE_SHARED = 0x40,
    CV_STO_SPACE_LOCAL = 0x60,
    CV_STO_SPACE_CONSTANT = 0x80,
    CV_STO_SPACE_RESERVED = 0xA0
};

/* Relocation types: CV_R_CUDA_32, CV_R_MERCURY_ABS64. */
enum {
    CV_R_MERC_BASE = 0x10000,
#define RELOC_CUDA(number, name, bytes, insn, pos, bits, shift, who, uses) CV_##name = number,
#include "relocs.def"
#define RELOC_MERC(number, name) CV_##name = CV_R_MERC_BASE + number,
#include "relocs.def"
    CV_R_CUDA_LAST = CV_R_CUDA_NONE_LAST, /* the largest number of each set */
    CV_R_MERC_LAST = CV_R_MERCURY_NONE_LAST,
#define RELOC_NUMBER(pos, bits) CV_R_NUMBER_POS = pos, CV_R_NUMBER_BITS = bits,
#include "relocs.def"
#define RELOC_REST(pos, bits) CV_R_REST_POS = pos, CV_R_REST_BITS = bits,
#include "relocs.def"
#define RELOC_PLACE(pos, bits) CV_R_PLACE_POS = pos, CV_R_PLACE_BITS = bits
#include "relocs.def"
};

/* st_info: type and binding of a symbol. */
static inline uint8_t cv_elf_info_type(uint8_t st_info)
{
    return st_info & 15;
}
static inline uint8_t cv_elf_info_bind(uint8_t st_info)
{
    return (uint8_t)(st_info >> 4);
}
static inline uint8_t cv_elf_info(uint8_t bind, uint8_t type)
{
    return (uint8_t)((unsigned)bind << 4 | type);
}

/* sh_info of code: its function's symbol, and, for some machines, its registers. sh_flags of code of ABI 7:
 * how many barriers it uses. */
enum { CV_CODE_SYMBOL = 0xFFFFFF, CV_CODE_REGISTERS_BIT = 24, CV_CODE_BARRIERS_BIT = 20 };
static inline uint32_t cv_elf_code_symbol(uint32_t sh_info)
{
    return sh_info & CV_CODE_SYMBOL;
}
static inline uint32_t cv_elf_code_registers(uint32_t sh_info)
{
    return sh_info >> CV_CODE_REGISTERS_BIT;
}
static inline uint32_t cv_elf_code_barriers(uint64_t sh_flags)
{
    return (uint32_t)((sh_flags & CV_SHF_CUDA_BARRIERS) >> CV_CODE_BARRIERS_BIT);
}
static inline uint64_t cv_elf_barrier_flags(uint32_t barriers)
{
    return (uint64_t)barriers << CV_CODE_BARRIERS_BIT & CV_SHF_CUDA_BARRIERS;
}

/* Section header fields, in file order. */
typedef enum cv_shdr_field {
    CV_SH_NAME,
    CV_SH_TYPE,
    CV_SH_FLAGS,
    CV_SH_ADDR,
    CV_SH_OFFSET,
    CV_SH_SIZE,
    CV_SH_LINK,
    CV_SH_INFO,
    CV_SH_ALIGN,
    CV_SH_ENTSIZE
} cv_shdr_field;

typedef enum cv_sym_field {
    CV_ST_NAME,
    CV_ST_INFO,
    CV_ST_OTHER,
    CV_ST_SHNDX,
    CV_ST_VALUE,
    CV_ST_SIZE
} cv_sym_field;
typedef enum cv_phdr_field {
    CV_PH_TYPE,
    CV_PH_FLAGS,
    CV_PH_OFFSET,
    CV_PH_VADDR,
    CV_PH_PADDR,
    CV_PH_FILESZ,
    CV_PH_MEMSZ,
    CV_PH_ALIGN
} cv_phdr_field;
/* The bytes of e_ident behind the magic, and what stands in them. */
enum {
    CV_EI_CLASS = 4,
    CV_EI_DATA,
    CV_EI_VERSION,
    CV_EI_OSABI,
    CV_EI_ABIVERSION,
    CV_EI_PAD,
    CV_EI_SIZE = 16
};
enum { CV_ELF_CLASS32 = 1, CV_ELF_CLASS64 = 2, CV_ELF_LITTLE = 1, CV_ELF_BIG = 2, CV_ELF_VERSION = 1 };

typedef enum cv_ehdr_field {
    CV_EH_TYPE,
    CV_EH_MACHINE,
    CV_EH_VERSION,
    CV_EH_ENTRY,
    CV_EH_PHOFF,
    CV_EH_SHOFF,
    CV_EH_FLAGS,
    CV_EH_EHSIZE,
    CV_EH_PHENTSIZE,
    CV_EH_PHNUM,
    CV_EH_SHENTSIZE,
    CV_EH_SHNUM,
    CV_EH_SHSTRNDX
} cv_ehdr_field;

/* Offset of a field in its record, for diagnostics and for writers. */
uint64_t cv_elf_ehdr_at(bool is32, cv_ehdr_field field);
uint64_t cv_elf_shdr_at(bool is32, cv_shdr_field field);
uint64_t cv_elf_phdr_at(bool is32, cv_phdr_field field);
uint64_t cv_elf_sym_at(bool is32, cv_sym_field field);

/* Names for people; NULL when the number has none. */
const char *cv_elf_section_type_name(uint32_t sh_type);
const char *cv_elf_symbol_type_name(uint8_t st_type);
const char *cv_elf_symbol_bind_name(uint8_t st_bind);
const char *cv_elf_segment_type_name(uint32_t p_type);
const char *cv_elf_type_name(uint32_t e_type);
/* "hidden", and NULL for the default; "shared", and NULL for none. */
const char *cv_elf_visibility_name(uint8_t st_other);
const char *cv_elf_space_name(uint8_t st_other);
/* "UND", "ABS", "COM"; NULL: a section. */
const char *cv_elf_index_name(uint32_t st_shndx);
/* What bit 'bit' of e_flags says when it is set, e.g. "plain code"; NULL: nothing, or it is part of a number.
 * */
const char *cv_elf_flag_name(bool abi8, unsigned bit);
const char *cv_elf_reloc_name(uint32_t type);

/* Who knows what is written there, and what the field is for (spec/relocs.def). */
typedef enum cv_reloc_who {
    CV_RELOC_NONE = 0,
    CV_RELOC_LINKER,
    CV_RELOC_DRIVER,
    CV_RELOC_EITHER,
    CV_RELOC_DESC,
    CV_RELOC_OLD,
    CV_RELOC_OLD_LINKER
} cv_reloc_who;

enum {
#define RELOC_USE(name) CV_USE_BIT_##name,
#include "relocs.def"
};
typedef enum cv_reloc_use {
    CV_USE_NONE = 0,
#define RELOC_USE(name) CV_USE_##name = 1 << CV_USE_BIT_##name,
#include "relocs.def"
} cv_reloc_use;

/* A type of the CUDA set; numbers that are none are like type 0, all zero. A file has more relocations than
 * anything else, and most of these are asked of each. */
typedef struct cv_reloc_facts {
    uint16_t uses;            /* cv_reloc_use */
    uint8_t bytes;            /* from r_offset to the end of the field */
    uint8_t who;              /* cv_reloc_who */
    uint8_t pos, bits, shift; /* the field; 0 bits: not known */
    uint8_t final;            /* the type that stays of it in an executable; 0: this one */
    bool insn;                /* the field lies in a 16-byte instruction that starts at r_offset */
    bool plain; /* … is known, and a loader or a linker may write the address of whatever is named there */
} cv_reloc_facts;
extern const cv_reloc_facts CV_RELOC_FACTS[CV_R_CUDA_LAST + 1];

static inline const cv_reloc_facts *cv_reloc_of(uint32_t type)
{
    return &CV_AT(CV_RELOC_FACTS, type <= CV_R_CUDA_LAST ? type : CV_R_CUDA_NONE);
}
static inline bool cv_reloc_has(const cv_reloc_facts *facts, unsigned uses)
{
    return (facts->uses & uses) != 0;
}

/* Bits of the 16 bytes from r_offset on that are empty, as a rule, while nobody has applied one of the type:
 * its field and what belongs to it. */
typedef struct cv_reloc_bits {
    uint64_t low, high;
} cv_reloc_bits;
extern const cv_reloc_bits CV_RELOC_EMPTY[CV_R_CUDA_LAST + 1];

static inline cv_reloc_bits cv_reloc_empty_of(uint32_t type)
{
    return CV_AT(CV_RELOC_EMPTY, type <= CV_R_CUDA_LAST ? type : CV_R_CUDA_NONE);
}

/* The driver knows it, and of variables, textures and samplers alone. */
static inline bool cv_reloc_is_variable(const cv_reloc_facts *facts)
{
    return facts->who == CV_RELOC_DRIVER && !cv_reloc_has(facts, CV_USE_WHOLE | CV_USE_TABLE);
}

/* Only a linker can apply it. */
static inline bool cv_reloc_is_linked(const cv_reloc_facts *facts)
{
    return facts->who == CV_RELOC_LINKER || facts->who == CV_RELOC_OLD_LINKER;
}

/* Code has relocations of fields of its instructions: of the size that they have, known ones, or what the
 * linker takes away or knows by itself. In an executable a loader has to know the field. */
static inline bool cv_reloc_fits_code(const cv_reloc_facts *facts, uint64_t instruction, bool exe)
{
    bool old = facts->who == CV_RELOC_OLD || facts->who == CV_RELOC_OLD_LINKER;
    bool gone = cv_reloc_has(facts, CV_USE_DROPS),
         known = (facts->bits != 0 && !gone) || cv_reloc_has(facts, CV_USE_TABLE) || (!exe && (gone || old));

    return facts->insn && known && old == (instruction == CV_OLD_INSTRUCTION);
}

/* A type of the Mercury set as a bit; the last number of the set is no type. */
#define CV_RELOC_BIT(merc) (UINT64_C(1) << ((merc)-CV_R_MERC_BASE))
/* What the Mercury side has for each type of native code, as bits; 0: nobody has seen it. */
extern const uint64_t CV_RELOC_TWINS[CV_R_CUDA_LAST + 1];

static inline bool cv_reloc_has_bit(uint64_t bits, uint32_t merc)
{
    return merc >= CV_R_MERC_BASE && merc < CV_R_MERC_LAST && (bits & CV_RELOC_BIT(merc)) != 0;
}
/* Does Mercury code have the one where native code has the other? */
static inline bool cv_reloc_is_twin(uint32_t native, uint32_t merc)
{
    uint64_t bits = CV_AT(CV_RELOC_TWINS, native <= CV_R_CUDA_LAST ? native : CV_R_CUDA_NONE);

    return bits == 0 || cv_reloc_has_bit(bits, merc);
}
/* Does it name the place of an instruction of the function itself? */
static inline bool cv_reloc_is_inner(uint32_t merc)
{
#define RELOC_INNER(name) | CV_RELOC_BIT(CV_##name)
    return cv_reloc_has_bit(0
#include "relocs.def"
                            ,
                            merc);
}

/* Types whose sh_offset and sh_size describe no file bytes. */
bool cv_elf_type_exempt(uint32_t sh_type);
/* Types whose sections hold relocations, those that are applied already too. All but SHT_REL have addends. */
bool cv_elf_type_is_reloc(uint32_t sh_type);

#endif
