/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of codes. */
#include <cuvet/elf.h>

#include "format/elf/names.h"
#include "format/tlv/attr.h"

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
