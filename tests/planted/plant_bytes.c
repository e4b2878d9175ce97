/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Defects of what was written: one bit of it, see plant.c. */
#include "plant.h"

#define EACH(index, list) for (uint64_t index = 0; index < (list)->count; index++)

/* A byte of what was written, in the last section of a group. */
static bool byte_of(cv_link *link, uint64_t group, uint64_t at)
{
    for (uint64_t i = link->out->osec.count; i > 0; i--) {
        const cv_osec *osec = cv_l_osec(link, i - 1);
        uint8_t *byte = osec->group == (cv_group)group && !osec->dead && !osec->borrowed && osec->size > at
                            ? cv_block_at(link->file->block, osec->off + at, 1)
                            : NULL;

        if (byte) {
            *byte ^= 1;
            return true;
        }
    }
    return false;
}

bool plant_first_byte(cv_link *link, uint64_t group)
{
    return byte_of(link, group, 0);
}

/* r_info has the type in its low half, the symbol in its high one. */
bool plant_row_type(cv_link *link, uint64_t group)
{
    return byte_of(link, group, 8);
}

bool plant_row_symbol(cv_link *link, uint64_t group)
{
    return byte_of(link, group, 12);
}

bool plant_row_place(cv_link *link, uint64_t group)
{
    return byte_of(link, group, 1);
}

/* A byte of the section of this name; the number is that of a row of NAMES. */
static const char *const NAMES[] = { ".debug_frame",    ".debug_line",         ".debug_info",
                                     ".debug_abbrev",   ".debug_str",          ".nv.callgraph",
                                     ".nv.prototype",   ".nv.compat",          ".nv.rel.action",
                                     ".strtab",         ".shstrtab",           ".symtab",
                                     ".note.nv.cuinfo", ".nv_debug_line_sass", ".nv_debug_ptx_txt",
                                     ".nv.info" };

enum { NAMES_OF_SYMBOLS = 9, NAMES_OF_SECTIONS = 10 };

bool plant_named_byte(cv_link *link, uint64_t number)
{
    EACH(i, &link->out->osec)
    {
        const cv_osec *osec = cv_l_osec(link, i);
        uint8_t *byte;

        if (osec->dead || osec->size < 30 ||
            !cv_span_eq_str(cv_l_text(link, osec->name), CV_AT(NAMES, number)))
            continue;
        byte = cv_block_at(
            link->file->block,
            osec->off + (number == NAMES_OF_SECTIONS || number == NAMES_OF_SYMBOLS ? osec->size - 3 : 28), 1);
        if (byte) {
            *byte ^= 1;
            return true;
        }
    }
    return false;
}

/* e_type, e_machine, e_version, e_entry, e_flags, e_shstrndx by their place in the file. */
bool plant_header_byte(cv_link *link, uint64_t at)
{
    uint8_t *byte = cv_block_at(link->file->block, at, 1);

    if (byte)
        *byte ^= 1;
    return byte != NULL;
}
