/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the records of a device ELF say, for callers: the readers are in src/format, here are arguments, sizes
 * of structures, and which reader a section or a record needs. */
#include <cuvet/decode.h>

#include "bytes/sized.h"
#include "format/dwarf/cfi.h"
#include "format/elf/eflags.h"
#include "format/elf/names.h"
#include "format/meta/read.h"
#include "format/note/read.h"
#include "format/record/fields.h"
#include "format/tlv/read.h"

static cv_span span_of(cuvet_bytes bytes)
{
    return cv_span_of(bytes.p, bytes.n, 0);
}

static bool is_missing(cuvet_bytes bytes)
{
    return !bytes.p && bytes.n > 0;
}

/* An index went wrong since there were so many wrong ones: nothing of what was read counts. */
static cuvet_status unless_trapped(uint64_t wrong, cuvet_status status)
{
    return CV_NEVER(wrong != cv_trap_count()) ? CUVET_E_INTERNAL : status;
}

/* What is no whole record: the examination has said what is wrong with it, and here is nobody to report to.
 * */
static cuvet_status no_record(void)
{
    return CUVET_E_MALFORMED;
}

/* ---- sections ---- */

static bool has_frames(cv_span name)
{
    return cv_span_starts(name, ".debug_frame") || cv_span_starts(name, ".nv.merc.debug_frame");
}

cuvet_section_content cuvet_section_get_content(const cuvet_elf_section *section)
{
    if (!section)
        return CUVET_CONTENT_DATA;
    switch (section->type) {
    case CV_SHT_CUDA_INFO:
    case CV_SHT_MERC_INFO: return CUVET_CONTENT_ATTRIBUTES;
    case CV_SHT_CUDA_COMPAT: return CUVET_CONTENT_COMPAT;
    case CV_SHT_NOTE: return CUVET_CONTENT_NOTES;
    case CV_SHT_CUDA_CALLGRAPH: return CUVET_CONTENT_CALLGRAPH;
    case CV_SHT_CUDA_PROTOTYPE: return CUVET_CONTENT_PROTOTYPES;
    case CV_SHT_CUDA_RELOCINFO: return CUVET_CONTENT_REL_ACTIONS;
    case CV_SHT_CUDA_UFT_ENTRY:
    case CV_SHT_CUDA_UDT_ENTRY: return CUVET_CONTENT_UNIFIED;
    case CV_SHT_CUDA_CAPMERC: return CUVET_CONTENT_CAPSULE;
    case CV_SHT_SYMTAB:
    case CV_SHT_MERC_SYMTAB: return CUVET_CONTENT_SYMBOLS;
    case CV_SHT_STRTAB: return CUVET_CONTENT_STRINGS;
    case CV_SHT_RELA:
    case CV_SHT_REL:
    case CV_SHT_MERC_RELA: return CUVET_CONTENT_RELOCATIONS;
    case CV_SHT_SYMTAB_SHNDX: return CUVET_CONTENT_INDICES;
    case CV_SHT_NOBITS: return CUVET_CONTENT_NOBITS;
    case CV_SHT_PROGBITS:
        return has_frames(span_of(section->name)) ? CUVET_CONTENT_FRAMES : CUVET_CONTENT_DATA;
    default: return CUVET_CONTENT_DATA;
    }
}

uint32_t cuvet_section_get_registers(const cuvet_elf_section *section)
{
    return section ? cv_elf_code_registers(section->info) : 0;
}

/* ---- records and notes ---- */

cuvet_status cuvet_tlv_next(cuvet_bytes section, uint64_t *pos, cuvet_tlv *out)
{
    const uint64_t wrong = cv_trap_count();
    cuvet_tlv tlv = { .size = sizeof(tlv) };
    cv_tlv_state state;
    cv_tlv record;

    if (!pos || !out || is_missing(section))
        return CUVET_E_NULL;
    if (*pos > section.n || !cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    state = cv_tlv_at(span_of(section), *pos, &record);
    if (state != CV_TLV_OK && state != CV_TLV_ODD)
        return unless_trapped(wrong, state == CV_TLV_END ? CUVET_END : no_record());
    tlv.off = record.off;
    tlv.format = record.format;
    tlv.code = record.code;
    tlv.value = record.stored;
    tlv.payload =
        (cuvet_bytes){ section.p + record.payload, record.format == CV_TLV_SVAL ? record.stored : 0 };
    cv_sized_fill(out, &tlv, sizeof(tlv));
    *pos = record.next;
    return unless_trapped(wrong, CUVET_OK);
}

cuvet_status cuvet_note_next(cuvet_bytes section, uint64_t *pos, cuvet_note *out)
{
    const uint64_t wrong = cv_trap_count();
    cuvet_note note = { .size = sizeof(note) };
    cv_note_state state;
    cv_note record;

    if (!pos || !out || is_missing(section))
        return CUVET_E_NULL;
    if (*pos > section.n || !cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    state = cv_note_at(span_of(section), *pos, &record);
    if (state != CV_NOTE_OK)
        return unless_trapped(wrong, state == CV_NOTE_END ? CUVET_END : no_record());
    note.off = record.off;
    note.type = record.type;
    note.name = (cuvet_bytes){ section.p + record.name, record.namesz };
    note.desc = (cuvet_bytes){ section.p + record.desc, record.descsz };
    cv_sized_fill(out, &note, sizeof(note));
    *pos = record.next;
    return unless_trapped(wrong, CUVET_OK);
}

/* ---- records with fields ---- */

_Static_assert(CUVET_TLV_PAYLOAD == CV_TLV_SVAL, "the public name of it");

static void give_record(cv_layout layout, cuvet_bytes bytes, uint64_t off, uint64_t number, cuvet_record *out)
{
    uint64_t head = cv_layout_size(layout);
    bool fits = cv_layout_fits(layout, bytes.n);
    cuvet_record record = { .off = off,
                            .number = number,
                            .layout = layout,
                            .flags = fits ? CUVET_RECORD_DECODABLE : 0,
                            .bytes = bytes };

    if (!fits)
        record.layout = CV_LAYOUT_OPAQUE;
    else if (head < bytes.n)
        record.tail = (cuvet_bytes){ bytes.p + head, bytes.n - (size_t)head };
    cv_sized_fill(out, &record, sizeof(record));
}

/* A value in the head of a record: its bytes are the number itself. */
static void give_value(cv_layout layout, const cuvet_tlv *tlv, cuvet_record *out)
{
    cuvet_record record = {
        .off = tlv->off, .number = tlv->value, .layout = layout, .flags = CUVET_RECORD_DECODABLE
    };

    cv_sized_fill(out, &record, sizeof(record));
}

static cuvet_status give_tlv(const cuvet_tlv *tlv, cv_layout payload, cv_layout value, cuvet_record *out)
{
    if (!cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    switch (tlv->format) {
    case CV_TLV_SVAL: give_record(payload, tlv->payload, tlv->off, 0, out); break;
    case CV_TLV_BVAL:
    case CV_TLV_HVAL: give_value(value, tlv, out); break;
    default: give_record(CV_LAYOUT_OPAQUE, (cuvet_bytes){ NULL, 0 }, tlv->off, 0, out);
    }
    return CUVET_OK;
}

cuvet_status cuvet_attr_record(const cuvet_tlv *tlv, cuvet_record *out)
{
    if (!tlv || !out || is_missing(tlv->payload))
        return CUVET_E_NULL;
    return give_tlv(tlv, cv_layout_of_attr(tlv->code),
                    cv_layout_of_attr_value(tlv->code, tlv->format == CV_TLV_HVAL), out);
}

cuvet_status cuvet_compat_record(const cuvet_tlv *tlv, cuvet_record *out)
{
    if (!tlv || !out || is_missing(tlv->payload))
        return CUVET_E_NULL;
    return give_tlv(tlv, cv_layout_of_compat(tlv->code),
                    cv_layout_of_compat_value(tlv->code, tlv->format == CV_TLV_HVAL), out);
}

cuvet_status cuvet_note_record(const cuvet_note *note, cuvet_bytes section, cuvet_record *out)
{
    cv_layout layout = CV_LAYOUT_OPAQUE;

    if (!note || !out || is_missing(note->desc) || is_missing(section))
        return CUVET_E_NULL;
    if (!cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    if (note->type == CV_NOTE_TKINFO)
        layout = CV_LAYOUT_NOTE_TKINFO;
    else if (note->type == CV_NOTE_CUINFO && cv_span_eq_str(span_of(section), ".note.nv.cuinfo"))
        layout = CV_LAYOUT_NOTE_CUINFO;
    give_record(layout, note->desc, note->off, 0, out);
    return CUVET_OK;
}

/* Relocation actions begin with the number of types that the writer knew; the first record is of the type
 * behind these. */
static uint64_t actions_from(cv_span table, uint64_t *pos, uint64_t size)
{
    if (*pos == 0)
        *pos = size;
    return cv_sat_add(cv_u32_at(table, 0), (*pos - size) / size);
}

/* OPAQUE: no table. */
static cv_layout table_layout(cuvet_section_content content)
{
    if (content == CUVET_CONTENT_PROTOTYPES)
        return CV_LAYOUT_PROTOTYPE;
    if (content == CUVET_CONTENT_REL_ACTIONS)
        return CV_LAYOUT_REL_ACTION;
    if (content == CUVET_CONTENT_UNIFIED)
        return CV_LAYOUT_UNIFIED;
    return content == CUVET_CONTENT_CAPSULE ? CV_LAYOUT_CAPSULE : CV_LAYOUT_OPAQUE;
}

cuvet_status cuvet_table_next(cuvet_section_content content, cuvet_bytes section, uint64_t *pos,
                              cuvet_record *out)
{
    const uint64_t wrong = cv_trap_count();
    const cv_layout layout = table_layout(content);
    uint64_t size = cv_layout_size(layout), number;
    cv_span table = span_of(section), bytes;

    if (!pos || !out || is_missing(section))
        return CUVET_E_NULL;
    if (layout == CV_LAYOUT_OPAQUE || *pos > table.len || !cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    number = *pos / size;
    if (content == CUVET_CONTENT_REL_ACTIONS && table.len >= size)
        number = actions_from(table, pos, size);
    if (*pos == table.len)
        return CUVET_END;
    if (content == CUVET_CONTENT_CAPSULE)
        size = table.len < size ? size : table.len; /* all of the section is one */
    if (!cv_span_sub(table, *pos, size, &bytes))
        return no_record();
    give_record(layout, (cuvet_bytes){ section.p + *pos, (size_t)size }, *pos, number, out);
    *pos += size;
    return unless_trapped(wrong, CUVET_OK);
}

/* A record that this library made: the layout is one, and the bytes fit it. */
static bool is_whole(const cuvet_record *record, bool value)
{
    return record->layout < CV_N_LAYOUTS &&
           (value ||
            (!is_missing(record->bytes) && cv_layout_fits((cv_layout)record->layout, record->bytes.n)));
}

cuvet_status cuvet_field_next(const cuvet_record *record, cuvet_field_pos *pos, cuvet_field *out)
{
    const uint64_t wrong = cv_trap_count();
    uint8_t head[sizeof(uint16_t)];
    bool value, more;
    cuvet_field field;
    cv_span bytes;

    if (!record || !pos || !out)
        return CUVET_E_NULL;
    if (!cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    if (!(record->flags & CUVET_RECORD_DECODABLE))
        return CUVET_END;
    value = record->layout == CV_LAYOUT_BYTE || record->layout == CV_LAYOUT_HALF ||
            record->layout == CV_LAYOUT_ISA;
    if (!is_whole(record, value))
        return CUVET_E_USAGE;
    head[0] = (uint8_t)record->number;
    head[1] = (uint8_t)(record->number >> 8);
    bytes = value ? cv_span_of(head, sizeof(head), 0) : span_of(record->bytes);
    more = cv_field_next((cv_layout)record->layout, bytes, pos, &field);
    if (CV_NEVER(wrong != cv_trap_count()))
        return CUVET_E_INTERNAL;
    if (!more)
        return CUVET_END;
    cv_sized_fill(out, &field, sizeof(field));
    return CUVET_OK;
}

const char *cuvet_tlv_format_name(uint32_t format)
{
    switch (format) {
    case CV_TLV_NVAL: return "NVAL";
    case CV_TLV_BVAL: return "BVAL";
    case CV_TLV_HVAL: return "HVAL";
    case CV_TLV_SVAL: return "SVAL";
    default: return "?";
    }
}

cuvet_bytes cuvet_record_text(const cuvet_record *record, uint64_t off)
{
    cv_span text = { 0 };

    if (record && !is_missing(record->tail) && cv_span_from(span_of(record->tail), off, &text))
        return (cuvet_bytes){ record->tail.p + off, (size_t)cv_span_find_byte(text, 0) };
    return (cuvet_bytes){ NULL, 0 };
}

/* ---- call graph and call frames ---- */

cuvet_status cuvet_call_next(cuvet_bytes section, uint64_t *pos, cuvet_call_kind *kind, cuvet_call *out)
{
    const uint64_t wrong = cv_trap_count();
    cv_call_part part;
    cv_call call;
    bool marker;
    cuvet_status status;

    if (!pos || !kind || !out || is_missing(section))
        return CUVET_E_NULL;
    if (!cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    part = (cv_call_part)*kind;
    status = unless_trapped(wrong, cv_callgraph_each(span_of(section), pos, &part, &marker, &call));
    if (status != CUVET_OK)
        return status;
    *kind = (cuvet_call_kind)part;
    cv_sized_fill(out,
                  &(cuvet_call){ .off = call.off,
                                 .kind = (cuvet_call_kind)call.part,
                                 .flags = marker ? CUVET_CALL_MARKER : 0,
                                 .from = call.from,
                                 .to = call.to },
                  sizeof(cuvet_call));
    return CUVET_OK;
}

cuvet_status cuvet_cfi_next(cuvet_bytes section, const cuvet_elf_header *header, uint64_t *pos,
                            cuvet_cfi_entry *out)
{
    const uint64_t wrong = cv_trap_count();
    cuvet_cfi_entry entry;
    uint64_t program = 0;
    cuvet_status status;

    if (!header || !pos || !out || is_missing(section))
        return CUVET_E_NULL;
    if (*pos > section.n || !cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    status = unless_trapped(
        wrong, cv_cfi_next(span_of(section),
                           (header->marks & CUVET_ELF_32BIT) != 0 ? sizeof(uint32_t) : sizeof(uint64_t), pos,
                           &program, &entry));
    if (status == CUVET_OK && entry.program.n > 0)
        entry.program.p = section.p + program;
    if (status == CUVET_OK)
        cv_sized_fill(out, &entry, sizeof(entry));
    return status;
}

cuvet_status cuvet_cfi_op_next(const cuvet_cfi_entry *entry, uint64_t *pos, cuvet_cfi_op *out)
{
    const uint64_t wrong = cv_trap_count();
    cuvet_cfi_op op = { 0 };
    cuvet_status status;

    if (!entry || !pos || !out || is_missing(entry->program))
        return CUVET_E_NULL;
    if (*pos > entry->program.n || (entry->address_bytes != 4 && entry->address_bytes != 8) ||
        !cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    status = unless_trapped(wrong, cv_cfi_op_next(span_of(entry->program), entry->address_bytes, pos, &op));
    cv_sized_fill(out, &op, sizeof(op));
    return status;
}

uint64_t cuvet_cfi_register_number(uint64_t value)
{
    return cv_cfi_register(value);
}

/* ---- symbols and flags ---- */

static uint32_t marks_of(uint8_t type, uint8_t other)
{
    bool function = type == CV_STT_FUNC;
    uint32_t marks = function ? CUVET_SYMBOL_FUNCTION : 0;

    if (type == CV_STT_SECTION)
        marks |= CUVET_SYMBOL_SECTION;
    if (other & CV_STO_MANAGED)
        marks |= function ? CUVET_SYMBOL_UNIFIED : CUVET_SYMBOL_MANAGED;
    if (other & CV_STO_OBSCURE)
        marks |= CUVET_SYMBOL_OBSCURE;
    if (other & CV_STO_ENTRY)
        marks |= function ? CUVET_SYMBOL_KERNEL : CUVET_SYMBOL_UNIFIED;
    return marks;
}

cuvet_status cuvet_symbol_get_info(const cuvet_elf_symbol *symbol, cuvet_symbol_info *out)
{
    cuvet_symbol_info info = { 0 };

    if (!symbol || !out)
        return CUVET_E_NULL;
    info.type = cv_elf_info_type(symbol->info);
    info.bind = cv_elf_info_bind(symbol->info);
    info.flags = marks_of((uint8_t)info.type, symbol->other);
    info.visibility = cv_elf_visibility_name(symbol->other);
    info.space = cv_elf_space_name(symbol->other);
    info.home = cv_elf_index_name(symbol->shndx);
    return cv_sized_give(out, &info, sizeof(info)) ? CUVET_OK : CUVET_E_USAGE;
}

/* Fields of e_flags in the order in which people read them: a number, the bits, a number. */
enum { FLAGS_FIRST = 0, FLAGS_BITS = 1, FLAGS_LAST = FLAGS_BITS + 32, FLAGS_END };

static bool flags_field(bool abi8, uint32_t flags, uint64_t at, cuvet_field *out)
{
    uint32_t note = cv_elf_flags_note(flags);

    *out = (cuvet_field){ .name = NULL, .kind = CUVET_FIELD_NUMBER };
    if (at == FLAGS_FIRST && !abi8) {
        out->name = "virtual sm";
        out->value = cv_elf_flags_virtual_sm(flags);
    } else if (at == FLAGS_LAST && abi8) {
        out->name = note == CV_EF_NOTE_MOST ? "note section by name" : "note section";
        out->kind = note == CV_EF_NOTE_MOST ? CUVET_FIELD_FLAG : CUVET_FIELD_NUMBER;
        out->value = note == CV_EF_NOTE_MOST ? 1 : note;
    } else if (at >= FLAGS_BITS && at < FLAGS_LAST && (flags >> (at - FLAGS_BITS) & 1) != 0) {
        out->name = cv_elf_flag_name(abi8, (unsigned)(at - FLAGS_BITS));
        out->kind = CUVET_FIELD_FLAG;
        out->value = 1;
    }
    return out->name != NULL;
}

cuvet_status cuvet_eflags_next(const cuvet_elf_header *header, cuvet_field_pos *pos, cuvet_field *out)
{
    cuvet_field field;

    if (!header || !pos || !out)
        return CUVET_E_NULL;
    if (!cv_sized_is_possible(out))
        return CUVET_E_USAGE;
    while (pos->field < FLAGS_END)
        if (flags_field(header->osabi != CV_OSABI_LEGACY, header->flags, pos->field++, &field)) {
            cv_sized_fill(out, &field, sizeof(field));
            return CUVET_OK;
        }
    return CUVET_END;
}

const char *cuvet_elf_type_name(uint32_t type)
{
    return cv_elf_type_name(type);
}
