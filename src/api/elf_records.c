/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What needs no open device ELF: records of the sections that hold them, names of codes. */
#include <cuvet/elf.h>

#include "bytes/sized.h"
#include "bytes/span.h"
#include "format/elf/names.h"
#include "format/tlv/attr.h"

/* The records are read without a context to report to: the examination at open has said what is wrong
 * with them. */
static cuvet_status broken(void)
{
    cuvet_status st = CUVET_E_MALFORMED;

    return st;
}

cuvet_status cuvet_tlv_next(cuvet_bytes section, uint64_t *pos, cuvet_tlv *out)
{
    cv_span span = cv_span_of(section.p, section.n, 0);
    cuvet_tlv tlv = { .size = sizeof(tlv) };
    uint64_t count;

    if (!pos || !out || (!section.p && section.n > 0))
        return CUVET_E_NULL;
    if (*pos > span.len)
        return CUVET_E_USAGE;
    if (*pos == span.len)
        return CUVET_END;
    tlv.off = *pos;
    tlv.format = cv_u8_at(span, tlv.off);
    tlv.code = cv_u8_at(span, tlv.off + 1);
    tlv.value = cv_u16_at(span, tlv.off + 2);
    count = tlv.format == 4 ? tlv.value : 0;
    if (tlv.format < 1 || tlv.format > 4 || !cv_span_has(span, tlv.off, 4 + count))
        return broken();
    tlv.payload = (cuvet_bytes){ section.p + tlv.off + 4, (size_t)count };
    /* Records begin aligned; the padding of a payload that is not a multiple of four may be missing at the
     * end. */
    *pos = cv_min(cv_sat_align(tlv.off + 4 + count, 4), span.len);
    return cv_sized_give(out, &tlv, sizeof(tlv)) ? CUVET_OK : CUVET_E_USAGE;
}

cuvet_status cuvet_note_next(cuvet_bytes section, uint64_t *pos, cuvet_note *out)
{
    cv_span span = cv_span_of(section.p, section.n, 0);
    cuvet_note note = { .size = sizeof(note) };
    uint64_t name, desc, at;

    if (!pos || !out || (!section.p && section.n > 0))
        return CUVET_E_NULL;
    if (*pos > span.len)
        return CUVET_E_USAGE;
    if (*pos == span.len)
        return CUVET_END;
    note.off = *pos;
    note.type = cv_u32_at(span, note.off + 8);
    name = cv_u32_at(span, note.off);
    desc = cv_u32_at(span, note.off + 4);
    at = note.off + 12 + cv_sat_align(name, 4);
    if (!cv_span_has(span, note.off, 12) || !cv_span_has(span, at, desc))
        return broken();
    note.name = (cuvet_bytes){ section.p + note.off + 12, (size_t)name };
    note.desc = (cuvet_bytes){ section.p + at, (size_t)desc };
    *pos = cv_min(at + cv_sat_align(desc, 4), span.len);
    return cv_sized_give(out, &note, sizeof(note)) ? CUVET_OK : CUVET_E_USAGE;
}

const char *cuvet_eiattr_name(uint32_t code)
{
    return cv_eiattr_name(code);
}

const char *cuvet_compat_name(uint32_t tag)
{
    return cv_compat_name(tag);
}

const char *cuvet_reloc_name(uint32_t type)
{
    return cv_elf_reloc_name(type);
}

const char *cuvet_section_type_name(uint32_t type)
{
    return cv_elf_section_type_name(type);
}

const char *cuvet_segment_type_name(uint32_t type)
{
    return cv_elf_segment_type_name(type);
}

const char *cuvet_symbol_type_name(uint32_t type)
{
    return type < 16 ? cv_elf_symbol_type_name((uint8_t)type) : NULL;
}

const char *cuvet_symbol_bind_name(uint32_t bind)
{
    return bind < 16 ? cv_elf_symbol_bind_name((uint8_t)bind) : NULL;
}
