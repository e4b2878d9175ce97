/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* e_flags of device code, as files of each ABI have them: abi8 says which. */
#ifndef CV_FORMAT_ELF_EFLAGS_H
#define CV_FORMAT_ELF_EFLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/names.h"

enum {
    /* CV_OSABI_CUDA: what the file is, then the machine, then the section of its note */
    CV_EF_MERCURY = 1, /* exactly one of these three; the other bits of CV_EF_KIND are no kind */
    CV_EF_CAPSULE = 2,
    CV_EF_SASS = 4,
    CV_EF_KINDS = CV_EF_MERCURY | CV_EF_CAPSULE | CV_EF_SASS,
    CV_EF_KIND = 0xFF,
    CV_EF_SM_BIT = 8,
    CV_EF_SM_MOST = 0xFF, /* of the machines that there are; the field is wider */
    CV_EF_SM_FIELD = 0xFFFF,
    CV_EF_NOTE_BIT = 24,
    CV_EF_NOTE_MOST = 0xFF, /* this one and those behind it: the note is found by its name */
    /* CV_OSABI_LEGACY: the machine, bits, the machine that the code was written for, bits */
    CV_EF_LEGACY_SM = 0xFF,
    CV_EF_LEGACY_UNIFIED_TEXTURES = 0x100,
    CV_EF_LEGACY_INDEPENDENT_TEXTURES = 0x200,
    CV_EF_LEGACY_TEXTURES =
        CV_EF_LEGACY_UNIFIED_TEXTURES | CV_EF_LEGACY_INDEPENDENT_TEXTURES, /* or no word of it */
    CV_EF_LEGACY_64BIT = 0x400,
    CV_EF_LEGACY_ACCELERATED = 0x800,
    CV_EF_LEGACY_CAPSULE = 0x4000,
    CV_EF_LEGACY_VIRTUAL_BIT = 16,
    CV_EF_LEGACY_VIRTUAL = 0xFF,
    CV_EF_LEGACY_UNKNOWN = 0x7F00A000, /* set in no file that was seen */
    CV_EF_LEGACY_MERCURY_BIT = 31
};

/* The machine that e_flags names. */
static inline uint32_t cv_elf_flags_sm(uint32_t flags, bool abi8)
{
    return abi8 ? flags >> CV_EF_SM_BIT & CV_EF_SM_FIELD : flags & CV_EF_LEGACY_SM;
}
static inline bool cv_elf_flags_mercury(uint32_t flags, bool abi8)
{
    return abi8 ? (flags & CV_EF_MERCURY) != 0 : flags >> CV_EF_LEGACY_MERCURY_BIT != 0;
}
static inline bool cv_elf_flags_capsule(uint32_t flags, bool abi8)
{
    return (flags & (abi8 ? CV_EF_CAPSULE : CV_EF_LEGACY_CAPSULE)) != 0;
}
/* Mercury by its flag or, with segments, by its type: nvcc -ewp gives that to relocatable files. */
static inline bool cv_elf_is_mercury(uint32_t type, uint64_t phnum, bool flag)
{
    return flag || (type == CV_ELF_MERCURY && phnum != 0);
}
/* The rest is of one ABI alone. */
static inline uint32_t cv_elf_flags_note(uint32_t flags)
{
    return flags >> CV_EF_NOTE_BIT;
}
static inline uint32_t cv_elf_flags_virtual_sm(uint32_t flags)
{
    return flags >> CV_EF_LEGACY_VIRTUAL_BIT & CV_EF_LEGACY_VIRTUAL;
}
static inline uint32_t cv_elf_flags(uint32_t note, uint32_t sm, uint32_t kind)
{
    uint32_t named = note < CV_EF_NOTE_MOST ? note : CV_EF_NOTE_MOST;

    return named << CV_EF_NOTE_BIT | (sm & CV_EF_SM_FIELD) << CV_EF_SM_BIT | kind;
}
static inline uint32_t cv_elf_flags_retarget_legacy(uint32_t flags, uint32_t sm)
{
    return (flags & ~(uint32_t)CV_EF_LEGACY_SM) | (sm & CV_EF_LEGACY_SM);
}

#endif
