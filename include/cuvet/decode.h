/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Read what the records of a device ELF say: attributes, notes, call graph, tables, call frame information,
 * marks of symbols and flags. All functions are pure, borrow the caller's bytes, and accept any bytes: what
 * cannot be decoded ends a walk. Structures that are filled begin with their size, which the caller sets.
 * Each function that walks returns CUVET_E_INTERNAL where the library notices a defect of its own. */
#ifndef CUVET_DECODE_H
#define CUVET_DECODE_H

#include <cuvet/elf.h>

/** How the number of a field is meant. */
typedef enum cuvet_field_kind {
    CUVET_FIELD_NUMBER = 0,   /**< a count, an ordinal */
    CUVET_FIELD_BITS = 1,     /**< an offset, a size in bytes, a mask: people read it in hexadecimal */
    CUVET_FIELD_WORD = 2,     /**< one of a list of equal words */
    CUVET_FIELD_RAW = 3,      /**< the word that fields before it are parts of */
    CUVET_FIELD_FLAG = 4,     /**< 0 or 1 */
    CUVET_FIELD_PLACE = 5,    /**< what the fields behind it are about, most often an offset in code */
    CUVET_FIELD_TOTAL = 6,    /**< so many fields of kind WORD should follow */
    CUVET_FIELD_EXTENT = 7,   /**< of one dimension */
    CUVET_FIELD_COUNT = 8,    /**< a count; UINT32_MAX: the compiler could not tell */
    CUVET_FIELD_SYMBOL = 9,   /**< index in the symbol table that the section speaks of */
    CUVET_FIELD_SECTION = 10, /**< index of a section */
    CUVET_FIELD_STRING =
        11, /**< offset of a text: of a note see cuvet_record_text(), else in the string table */
    CUVET_FIELD_VERSION = 12,      /**< major << 32 | minor */
    CUVET_FIELD_VIRTUAL_ARCH = 13, /**< number of a compute capability, e.g. 90 */
    CUVET_FIELD_ID = 14,           /**< half of an identifier */
    CUVET_FIELD_PADDING = 15       /**< bytes without a meaning */
} cuvet_field_kind;

/** Flags of a field. */
#define CUVET_FIELD_OPTIONAL 1u /**< 0 says that there is none */

typedef struct cuvet_field {
    size_t size;
    const char *name; /**< "" when it goes without saying; static storage */
    cuvet_field_kind kind;
    uint32_t flags; /**< CUVET_FIELD_OPTIONAL */
    uint64_t
        group;    /**< number of the part of the record: a branch with its targets, one of a list of pairs */
    uint64_t off; /**< of its first byte in the record */
    uint64_t value;
} cuvet_field;

/** Where a walk over the fields of a record is; begins with zeros. */
typedef struct cuvet_field_pos {
    uint64_t at, field, left, group; /**< not for callers */
} cuvet_field_pos;

/** Flags of a record. */
#define CUVET_RECORD_DECODABLE 1u /**< its bytes have the form of the layout; else they have no fields */

/** One record and how to read it. */
typedef struct cuvet_record {
    size_t size;
    uint64_t off;      /**< in the section */
    uint64_t number;   /**< of a table: which record it is; of relocation actions: the relocation type */
    uint32_t layout;   /**< how its bytes are read; the library's own number */
    uint32_t flags;    /**< CUVET_RECORD_DECODABLE */
    cuvet_bytes bytes; /**< what the fields are read from */
    cuvet_bytes tail;  /**< what follows them in the record: texts of a note, the stream of a capsule */
} cuvet_record;

/** cuvet_tlv.format of a record with a payload; those of the others have a value or nothing. */
#define CUVET_TLV_PAYLOAD 4u

/** What a section holds, for whoever looks for a decoder. */
typedef enum cuvet_section_content {
    CUVET_CONTENT_DATA = 0,   /**< bytes without a decoder here; code */
    CUVET_CONTENT_ATTRIBUTES, /**< cuvet_tlv_next(), cuvet_attr_record() */
    CUVET_CONTENT_COMPAT,     /**< cuvet_tlv_next(), cuvet_compat_record() */
    CUVET_CONTENT_NOTES,      /**< cuvet_note_next(), cuvet_note_record() */
    CUVET_CONTENT_CALLGRAPH,  /**< cuvet_call_next() */
    CUVET_CONTENT_PROTOTYPES, /**< cuvet_table_next(), as the next three */
    CUVET_CONTENT_REL_ACTIONS,
    CUVET_CONTENT_UNIFIED,
    CUVET_CONTENT_CAPSULE,
    CUVET_CONTENT_FRAMES,      /**< cuvet_cfi_next() */
    CUVET_CONTENT_SYMBOLS,     /**< cuvet_elf_get_symbol() */
    CUVET_CONTENT_RELOCATIONS, /**< cuvet_elf_get_reloc() */
    CUVET_CONTENT_STRINGS,
    CUVET_CONTENT_INDICES, /**< large section indices of symbols */
    CUVET_CONTENT_NOBITS   /**< nothing: it has no bytes in the file */
} cuvet_section_content;

/** One record of a call graph. The parts of a call graph are opened by markers. */
typedef enum cuvet_call_kind {
    CUVET_CALL_NONE = 0,   /**< before the first marker */
    CUVET_CALL_DIRECT = 1, /**< from calls to: two symbols */
    CUVET_CALL_ADDRESS =
        2, /**< the address of from is taken; to: offset of its prototype in the string table, or 0 */
    CUVET_CALL_INDIRECT = 3, /**< from calls something of the prototype at to */
    CUVET_CALL_POSSIBLE = 4  /**< from, which calls indirectly, may call to: two symbols */
} cuvet_call_kind;

/** Flags of such a record. */
#define CUVET_CALL_MARKER 1u /**< it opens the part of its kind */

typedef struct cuvet_call {
    size_t size;
    uint64_t off;
    cuvet_call_kind kind;
    uint32_t flags; /**< CUVET_CALL_MARKER */
    uint32_t from, to;
} cuvet_call;

/** One entry of .debug_frame. */
#define CUVET_CFI_COMMON 1u /**< a common entry; else one of a function */
#define CUVET_CFI_CUT    2u /**< it ends inside of its fields; the rest of them is 0 */

typedef struct cuvet_cfi_entry {
    size_t size;
    uint32_t flags;        /**< CUVET_CFI_COMMON, CUVET_CFI_CUT */
    uint64_t off, length;  /**< of the entry; bytes behind its length and identifier */
    uint64_t parent;       /**< offset of its common entry */
    uint64_t start_off;    /**< where 'start' is in the section: relocations name the function there */
    uint64_t start, range; /**< of a function */
    uint32_t version;      /**< of a common entry, as the rest */
    uint32_t augmentation; /**< its first byte: other ones than 0 would need a decoder of their own */
    uint64_t code_alignment, return_register;
    int64_t data_alignment;
    uint32_t address_bytes; /**< 4 or 8 */
    cuvet_bytes program;    /**< operations, see cuvet_cfi_op_next() */
} cuvet_cfi_entry;

typedef enum cuvet_cfi_operand {
    CUVET_CFI_NONE = 0,
    CUVET_CFI_REGISTER, /**< its high byte is its class: see cuvet_cfi_register_number() */
    CUVET_CFI_COLUMN,   /**< a register named by six bits */
    CUVET_CFI_UNSIGNED,
    CUVET_CFI_SIGNED, /**< an int64_t */
    CUVET_CFI_ADDRESS,
    CUVET_CFI_DISTANCE,
    CUVET_CFI_BLOCK /**< value: its length */
} cuvet_cfi_operand;

typedef struct cuvet_cfi_op {
    size_t size;
    uint64_t off;     /**< in the program */
    const char *name; /**< static storage */
    uint32_t code;    /**< without operands; 0: nothing, padding */
    cuvet_cfi_operand first, second;
    uint64_t first_value, second_value;
} cuvet_cfi_op;

/** Marks of a symbol. */
#define CUVET_SYMBOL_FUNCTION 0x01u
#define CUVET_SYMBOL_KERNEL   0x02u
#define CUVET_SYMBOL_UNIFIED  0x04u /**< its address is that of an entry in a unified table */
#define CUVET_SYMBOL_MANAGED  0x08u
#define CUVET_SYMBOL_OBSCURE  0x10u
#define CUVET_SYMBOL_SECTION  0x20u /**< it stands for a section, whose name it has */

typedef struct cuvet_symbol_info {
    size_t size;
    uint32_t type, bind;    /**< see cuvet_symbol_type_name(), cuvet_symbol_bind_name() */
    uint32_t flags;         /**< CUVET_SYMBOL_… */
    const char *visibility; /**< "hidden"; NULL: the default */
    const char *space;      /**< memory space, e.g. "shared"; NULL: none */
    const char *home;       /**< "UND", "ABS" or "COM"; NULL: section 'shndx' */
} cuvet_symbol_info;

#ifdef __cplusplus
extern "C" {
#endif

/** What a section holds, by its type and role. */
CUVET_API cuvet_section_content cuvet_section_get_content(const cuvet_elf_section *section);
/** Registers that the header of a section of code names: older tools wrote them there. */
CUVET_API uint32_t cuvet_section_get_registers(const cuvet_elf_section *section);

/** The record of an attribute (.nv.info*).
 * @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE: a size that no version had */
CUVET_API CUVET_MUST cuvet_status cuvet_attr_record(const cuvet_tlv *tlv, cuvet_record *out);
/** The record of a tag of .nv.compat.
 * @return as cuvet_attr_record() */
CUVET_API CUVET_MUST cuvet_status cuvet_compat_record(const cuvet_tlv *tlv, cuvet_record *out);
/** The record of a note; section: the name of the section it is in.
 * @return as cuvet_attr_record() */
CUVET_API CUVET_MUST cuvet_status cuvet_note_record(const cuvet_note *note, cuvet_bytes section,
                                                    cuvet_record *out);
/** Next record of a section of prototypes, relocation actions or unified entries, or the one of a capsule, at
 * *pos (begin with 0), which goes on.
 * @return CUVET_OK · CUVET_END · CUVET_E_MALFORMED: what is at *pos is no whole record · CUVET_E_USAGE: no
 * such content */
CUVET_API CUVET_MUST cuvet_status cuvet_table_next(cuvet_section_content content, cuvet_bytes section,
                                                   uint64_t *pos, cuvet_record *out);
/** Next field of a record, at *pos (begin with zeros), which goes on.
 *  @return CUVET_OK · CUVET_END · CUVET_E_NULL · CUVET_E_USAGE: the record was not made by this library */
CUVET_API CUVET_MUST cuvet_status cuvet_field_next(const cuvet_record *record, cuvet_field_pos *pos,
                                                   cuvet_field *out);
/** "NVAL", "BVAL", "HVAL", "SVAL"; "?" when there is no such format. */
CUVET_API const char *cuvet_tlv_format_name(uint32_t format);
/** Text at an offset of what follows the fields of a note, up to its NUL or the end. Empty: there is none. */
CUVET_API cuvet_bytes cuvet_record_text(const cuvet_record *record, uint64_t off);

/** Next record of a call graph, markers included, at *pos (begin with 0), which goes on. *kind is what the
 * last marker said (begin with CUVET_CALL_NONE).
 * @return CUVET_OK · CUVET_END · CUVET_E_MALFORMED: no whole record */
CUVET_API CUVET_MUST cuvet_status cuvet_call_next(cuvet_bytes section, uint64_t *pos, cuvet_call_kind *kind,
                                                  cuvet_call *out);

/** Next entry of .debug_frame at *pos (begin with 0), which goes on. header: of its file, for
 *  the width of addresses.
 *  @return CUVET_OK · CUVET_END · CUVET_E_MALFORMED: no whole entry */
CUVET_API CUVET_MUST cuvet_status cuvet_cfi_next(cuvet_bytes section, const cuvet_elf_header *header,
                                                 uint64_t *pos, cuvet_cfi_entry *out);
/** Next operation of an entry's program at *pos (begin with 0), which goes on.
 * @return CUVET_OK · CUVET_END · CUVET_E_MALFORMED: it ends inside of an operation · CUVET_E_UNSUPPORTED: an
 * unknown code, in out->code, so that its length is not known either */
CUVET_API CUVET_MUST cuvet_status cuvet_cfi_op_next(const cuvet_cfi_entry *entry, uint64_t *pos,
                                                    cuvet_cfi_op *out);
/** Number of a general register, e.g. 2 of R2; UINT64_MAX: the register is of another class. */
CUVET_API uint64_t cuvet_cfi_register_number(uint64_t value);

/** What type, binding, marks and section of a symbol say. */
CUVET_API CUVET_MUST cuvet_status cuvet_symbol_get_info(const cuvet_elf_symbol *symbol,
                                                        cuvet_symbol_info *out);
/** Next thing that e_flags say but for the machine, at *pos (begin with zeros): kinds NUMBER and FLAG.
 *  @return CUVET_OK · CUVET_END */
CUVET_API CUVET_MUST cuvet_status cuvet_eflags_next(const cuvet_elf_header *header, cuvet_field_pos *pos,
                                                    cuvet_field *out);
/** "REL", "EXEC", "MERCURY"; NULL when unknown. */
CUVET_API const char *cuvet_elf_type_name(uint32_t type);
/** "number", "bits", "word" …; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_field_kind_name(cuvet_field_kind kind);
/** "data", "attributes", "compat" …; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_section_content_name(cuvet_section_content content);
/** "none", "direct", "address", "indirect", "possible"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_call_kind_name(cuvet_call_kind kind);
/** "none", "register", "column" …; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_cfi_operand_name(cuvet_cfi_operand operand);

#ifdef __cplusplus
}
#endif
#endif
