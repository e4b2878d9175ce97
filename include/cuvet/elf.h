/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Inspect one device ELF: header, sections, symbols, relocations, metadata records. For dumps and for tools.
 *  Everything is decoded from the image on request and checked against it; nothing here needs the image to be
 *  valid as a whole: what lies outside of it reads as empty, and the findings of the examination say why. */
#ifndef CUVET_ELF_H
#define CUVET_ELF_H

#include <cuvet/context.h>

typedef struct cuvet_elf {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_elf;

/** Bytes from the input, not NUL-terminated, borrowed from the image. */
typedef struct cuvet_bytes {
    const uint8_t *p;
    size_t n;
} cuvet_bytes;

/** Marks of a device ELF. */
#define CUVET_ELF_32BIT    1u /**< of class 32 */
#define CUVET_ELF_EXAMINED 2u /**< the examination reached its end; else it stopped at a fatal finding */

typedef struct cuvet_elf_header {
    size_t size;    /**< sizeof(cuvet_elf_header) of the caller */
    uint32_t marks; /**< CUVET_ELF_... */
    uint8_t osabi, abiversion;
    uint16_t type, machine;
    uint32_t version, flags;
    uint64_t entry, phoff, shoff;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx; /**< as stored */
    uint64_t n_sections; /**< headers that lie in the image (extended numbering applied) */
    uint64_t n_segments; /**< program headers that lie in the image */
    uint64_t extent;     /**< bytes of the ELF; the length of the image when they cannot be told */
    uint32_t sm;         /**< SM number from e_flags */
    uint32_t virtual_sm; /**< compute capability it was compiled for; 0 unknown */
    uint32_t toolkit;    /**< version times ten, e.g. 130; 0 unknown */
    char suffix;         /**< 'a', 'f' or 0 as its tool wrote it, see .note.nv.tkinfo */
} cuvet_elf_header;

typedef struct cuvet_elf_section {
    size_t size; /**< sizeof(cuvet_elf_section) of the caller */
    cuvet_bytes name;
    uint32_t type;
    uint64_t flags, addr, off, length;
    uint32_t link, info;
    uint64_t align, entsize;
    const char *role; /**< what the name and type say, e.g. ".text."; "" unknown */
    cuvet_bytes body; /**< empty for types without file bytes */
} cuvet_elf_section;

typedef struct cuvet_elf_symbol {
    size_t size; /**< sizeof(cuvet_elf_symbol) of the caller */
    cuvet_bytes name;
    uint8_t info, other;
    uint32_t shndx; /**< extended numbering applied */
    uint64_t value, length;
} cuvet_elf_symbol;

typedef struct cuvet_elf_segment {
    size_t size; /**< sizeof(cuvet_elf_segment) of the caller */
    uint32_t type, flags;
    uint64_t off, vaddr, paddr, filesz, memsz, align;
} cuvet_elf_segment;

/** Flags of a relocation. */
#define CUVET_RELOC_ADDEND 1u /**< its record holds the addend */

typedef struct cuvet_elf_reloc {
    size_t size; /**< sizeof(cuvet_elf_reloc) of the caller */
    uint64_t off;
    uint32_t sym, type;
    uint32_t flags; /**< CUVET_RELOC_ADDEND */
    int64_t addend;
} cuvet_elf_reloc;

/** Flags of cuvet_elf_get_symtab(). */
#define CUVET_SYMTAB_MERCURY 1u

/** One record of .nv.info*, .nv.compat: format 1..4, code, payload. */
typedef struct cuvet_tlv {
    size_t size;  /**< sizeof(cuvet_tlv) of the caller */
    uint64_t off; /**< in the section */
    uint8_t format, code;
    uint16_t value;      /**< formats 2 and 3 */
    cuvet_bytes payload; /**< format 4 */
} cuvet_tlv;

typedef struct cuvet_note {
    size_t size; /**< sizeof(cuvet_note) of the caller */
    uint64_t off;
    uint32_t type;
    cuvet_bytes name, desc;
} cuvet_note;

#ifdef __cplusplus
extern "C" {
#endif

/** Open an image; borrowed, must outlive the handle. Diagnostics of a full examination go to the context.
 *  @return CUVET_OK (findings may have been reported) · CUVET_E_MALFORMED or CUVET_E_UNSUPPORTED: not even
 *  the header and the section table can be read · CUVET_E_LIMIT · CUVET_E_NOMEM · CUVET_E_USAGE */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_create(cuvet_ctx *ctx, const void *image, size_t size,
                                                   cuvet_elf *out);
/** Close and poison the handle; *elf becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_destroy(cuvet_ctx *ctx, cuvet_elf *elf);

/** The header, and what the examination concluded from the file. */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_header(cuvet_ctx *ctx, cuvet_elf elf, cuvet_elf_header *out);
/** Section 'index'. All of the following: CUVET_END past the last element, CUVET_E_USAGE when 'table' is not
 * of the kind. */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_section(cuvet_ctx *ctx, cuvet_elf elf, uint64_t index,
                                                        cuvet_elf_section *out);
/** Program header 'index'. */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_segment(cuvet_ctx *ctx, cuvet_elf elf, uint64_t index,
                                                        cuvet_elf_segment *out);
/** Symbol 'index' of the symbol table in section 'table' (.symtab or .nv.merc.symtab). */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_symbol(cuvet_ctx *ctx, cuvet_elf elf, uint64_t table,
                                                       uint64_t index, cuvet_elf_symbol *out);
/** Relocation 'index' of section 'table' (SHT_REL, SHT_RELA or Mercury's form). */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_reloc(cuvet_ctx *ctx, cuvet_elf elf, uint64_t table,
                                                      uint64_t index, cuvet_elf_reloc *out);
/** Section index of .symtab, or with CUVET_SYMTAB_MERCURY of .nv.merc.symtab; 0: none. */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_symtab(cuvet_ctx *ctx, cuvet_elf elf, unsigned flags,
                                                       uint64_t *table);
/** At most 64 KiB of a NUL-terminated string at off of the string table that 'table' is, or links to (maybe
 * through its symbols).
 *  @return CUVET_OK · CUVET_E_NO_MATCH: no such string · CUVET_E_USAGE: no such section */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_string(cuvet_ctx *ctx, cuvet_elf elf, uint64_t table,
                                                       uint64_t off, cuvet_bytes *out);
/** Kernel 'index' in symbol order: its name. Ascending 'index' costs one pass over the symbols in total. */
CUVET_API CUVET_MUST cuvet_status cuvet_elf_get_kernel(cuvet_ctx *ctx, cuvet_elf elf, uint64_t index,
                                                       cuvet_bytes *name);

/** Next record at *pos (start with 0), which is advanced. Pure.
 *  @return CUVET_OK · CUVET_END · CUVET_E_MALFORMED */
CUVET_API CUVET_MUST cuvet_status cuvet_tlv_next(cuvet_bytes section, uint64_t *pos, cuvet_tlv *out);
/** The same for the notes of a section. */
CUVET_API CUVET_MUST cuvet_status cuvet_note_next(cuvet_bytes section, uint64_t *pos, cuvet_note *out);

/** Name of an attribute of .nv.info; NULL when unknown. Static storage, as all names. */
CUVET_API const char *cuvet_eiattr_name(uint32_t code);
/** Name of a record of .nv.compat; NULL when unknown. */
CUVET_API const char *cuvet_compat_name(uint32_t tag);
/** Name of a relocation type; NULL when unknown. */
CUVET_API const char *cuvet_reloc_name(uint32_t type);
/** Name of a section type; NULL when unknown. */
CUVET_API const char *cuvet_section_type_name(uint32_t type);
/** Name of a type of program headers; NULL when unknown. */
CUVET_API const char *cuvet_segment_type_name(uint32_t type);
/** Name of a symbol type; NULL when unknown. */
CUVET_API const char *cuvet_symbol_type_name(uint32_t type);
/** Name of a symbol binding; NULL when unknown. */
CUVET_API const char *cuvet_symbol_bind_name(uint32_t bind);

#ifdef __cplusplus
}
#endif
#endif
