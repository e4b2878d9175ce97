/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Edits of an ELF file at the start of the buffer. */
#include "mutate_int.h"

#define COUNT(table)         (sizeof(table) / sizeof((table)[0]))
#define PICK(mutator, table) ((table)[mut_below((mutator), COUNT(table))])

static const mut_field EHDR64[] = { { 4, 1 },  { 5, 1 },  { 6, 1 },  { 7, 1 },  { 8, 1 },
                                    { 9, 1 },  { 16, 2 }, { 18, 2 }, { 20, 4 }, { 24, 8 },
                                    { 32, 8 }, { 40, 8 }, { 48, 4 }, { 52, 2 }, { 54, 2 },
                                    { 56, 2 }, { 58, 2 }, { 60, 2 }, { 62, 2 } };
static const mut_field SHDR64[] = { { 0, 4 },  { 4, 4 },  { 8, 8 },  { 16, 8 }, { 24, 8 },
                                    { 32, 8 }, { 40, 4 }, { 44, 4 }, { 48, 8 }, { 56, 8 } };
static const mut_field SYM64[] = { { 0, 4 }, { 4, 1 }, { 5, 1 }, { 6, 2 }, { 8, 8 }, { 16, 8 } };
static const mut_field RELA64[] = { { 0, 8 }, { 8, 4 }, { 12, 4 }, { 16, 8 } };
static const mut_field PHDR64[] = { { 0, 4 },  { 4, 4 },  { 8, 8 },  { 16, 8 },
                                    { 24, 8 }, { 32, 8 }, { 40, 8 }, { 48, 8 } };

typedef struct elf_state {
    bool is32;
    uint64_t shoff, shnum, phoff, phnum, shent, phent;
} elf_state;

static bool look(const mut_state *mutator, elf_state *elf)
{
    if (mut_get(mutator, 0, 4) != 0x464C457F || mutator->size < 64)
        return false;
    elf->is32 = mutator->data[4] == 1;
    elf->phoff = elf->is32 ? mut_get(mutator, 28, 4) : mut_get(mutator, 32, 8);
    elf->shoff = elf->is32 ? mut_get(mutator, 32, 4) : mut_get(mutator, 40, 8);
    elf->phnum = mut_get(mutator, elf->is32 ? 44 : 56, 2);
    elf->shnum = mut_get(mutator, elf->is32 ? 48 : 60, 2);
    elf->shent = elf->is32 ? 40 : 64;
    elf->phent = elf->is32 ? 32 : 56;
    if (elf->shoff > mutator->size)
        elf->shnum = 0;
    else if (elf->shnum == 0 || elf->shnum > (mutator->size - elf->shoff) / elf->shent)
        elf->shnum = (mutator->size - elf->shoff) / elf->shent;
    return true;
}

static uint64_t header(mut_state *mutator, const elf_state *elf)
{
    return elf->shoff + elf->shent * mut_below(mutator, elf->shnum);
}

/* A field of a record whose 64-bit layout is known; in the 32-bit one any word. */
static void edit_record(mut_state *mutator, const elf_state *elf, uint64_t at, const mut_field *field,
                        size_t count, uint64_t size32)
{
    const mut_field *one = &field[mut_below(mutator, count)];

    if (elf->is32)
        mut_edge(mutator, at + 4 * mut_below(mutator, size32 / 4), 4);
    else
        mut_edge(mutator, at + one->off, one->width);
}

/* By the type of a section: one field of one element of its table. */
static void edit_body(mut_state *mutator, const elf_state *elf)
{
    uint64_t hash = header(mutator, elf), type = mut_get(mutator, hash + 4, 4);
    uint64_t off = elf->is32 ? mut_get(mutator, hash + 16, 4) : mut_get(mutator, hash + 24, 8);
    uint64_t size = elf->is32 ? mut_get(mutator, hash + 20, 4) : mut_get(mutator, hash + 32, 8);
    uint64_t each = elf->is32 ? mut_get(mutator, hash + 36, 4) : mut_get(mutator, hash + 56, 8);

    if (off > mutator->size || size > mutator->size - off || size == 0)
        return;
    if ((type == 2 || type == 0x70000085) && each >= 16)
        edit_record(mutator, elf, off + each * mut_below(mutator, size / each), SYM64, COUNT(SYM64), 16);
    else if ((type == 4 || type == 9 || type == 0x70000082) && each >= 8)
        edit_record(mutator, elf, off + each * mut_below(mutator, size / each), RELA64, each >= 24 ? 4 : 3,
                    8);
    else if (mut_below(mutator, 2))
        mut_edge(mutator, off + (mut_below(mutator, size) & ~UINT64_C(3)), mut_below(mutator, 2) ? 4 : 2);
    else if (mut_below(mutator, 2))
        mut_edge(mutator, off + mut_below(mutator, size), 1);
    else
        mut_raw(mutator, off, size);
}

static void swap_headers(mut_state *mutator, const elf_state *elf)
{
    uint64_t left = header(mutator, elf), right = header(mutator, elf);

    for (uint64_t i = 0; i < elf->shent; i += 4) {
        uint64_t value = mut_get(mutator, left + i, 4);

        mut_set(mutator, left + i, 4, mut_get(mutator, right + i, 4));
        mut_set(mutator, right + i, 4, value);
    }
}

/* One section gets another's range, name, or type. */
static void alias(mut_state *mutator, const elf_state *elf)
{
    uint64_t left = header(mutator, elf), right = header(mutator, elf);
    const mut_field *field = &PICK(mutator, SHDR64);

    if (elf->is32) {
        uint64_t i = 4 * mut_below(mutator, 10);

        mut_set(mutator, left + i, 4, mut_get(mutator, right + i, 4));
    } else if (mut_below(mutator, 2)) {
        mut_set(mutator, left + 24, 8, mut_get(mutator, right + 24, 8));
        mut_set(mutator, left + 32, 8, mut_get(mutator, right + 32, 8));
    } else {
        mut_set(mutator, left + field->off, field->width, mut_get(mutator, right + field->off, field->width));
    }
}

static void shift(mut_state *mutator, uint64_t at, unsigned width, uint64_t from, uint64_t by)
{
    uint64_t value = mut_get(mutator, at, width);

    if (value >= from)
        mut_set(mutator, at, width, value + by);
}

/* Bytes put into the middle of a section; everything behind moves, and the section grows, or keeps its old
 * size. */
static void grow(mut_state *mutator, elf_state *elf)
{
    uint64_t hash = header(mutator, elf), i = (hash - elf->shoff) / elf->shent,
             count = 4 + 4 * mut_below(mutator, 8);
    uint64_t off = mut_get(mutator, hash + 24, 8), size = mut_get(mutator, hash + 32, 8),
             at = off + (mut_below(mutator, size + 1) & ~UINT64_C(3));

    if (elf->is32 || off > mutator->size || size > mutator->size - off || at < 64)
        return;
    count = mut_below(mutator, 3) ? (count + 15) & ~UINT64_C(15) : count;
    if (!mut_resize(mutator, at, 0, count))
        return;
    for (uint64_t k = 0; k < count; k++)
        mut_set(mutator, at + k, 1, mut_get(mutator, off + mut_below(mutator, size ? size : 1), 1));
    shift(mutator, 32, 8, at, count);
    shift(mutator, 40, 8, at, count);
    elf->shoff = mut_get(mutator, 40, 8);
    for (uint64_t k = 0; k < elf->shnum; k++)
        shift(mutator, elf->shoff + k * 64 + 24, 8, k == i ? at + 1 : at, count);
    for (uint64_t k = 0; k < elf->phnum && k < 64; k++)
        shift(mutator, mut_get(mutator, 32, 8) + k * 56 + 8, 8, at, count);
    if (mut_below(mutator, 4))
        mut_set(mutator, elf->shoff + i * 64 + 32, 8, size + count);
}

bool mut_elf(mut_state *mutator)
{
    elf_state elf;

    if (!look(mutator, &elf))
        return false;
    switch (mut_below(mutator, elf.shnum ? 16 : 2)) {
    case 0: mut_edge(mutator, EHDR64[mut_below(mutator, COUNT(EHDR64))].off, 2); break;
    case 1: edit_record(mutator, &elf, 0, EHDR64, COUNT(EHDR64), 52); break;
    case 2:
        if (elf.phnum && elf.phoff < mutator->size)
            edit_record(mutator, &elf, elf.phoff + elf.phent * mut_below(mutator, elf.phnum), PHDR64,
                        COUNT(PHDR64), 32);
        break;
    case 3: swap_headers(mutator, &elf); break;
    case 4:
    case 5: alias(mutator, &elf); break;
    case 6: /* extended numbering */
        mut_set(mutator, elf.is32 ? 48 : 60, 2, 0);
        mut_set(mutator, elf.shoff + (elf.is32 ? 20 : 32), elf.is32 ? 4 : 8,
                elf.shnum + mut_below(mutator, 2));
        break;
    case 7: grow(mutator, &elf); break;
    case 8:
    case 9:
    case 10: edit_record(mutator, &elf, header(mutator, &elf), SHDR64, COUNT(SHDR64), 40); break;
    default: edit_body(mutator, &elf); break;
    }
    return true;
}
