/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Edits of an ELF file at the start of the buffer. */
#include "mutate_int.h"

#define COUNT(a)   (sizeof(a) / sizeof((a)[0]))
#define PICK(m, a) ((a)[mut_below((m), COUNT(a))])

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

typedef struct elf {
    bool is32;
    uint64_t shoff, shnum, phoff, phnum, shent, phent;
} elf;

static bool look(const mut *m, elf *e)
{
    if (mut_get(m, 0, 4) != 0x464C457F || m->size < 64)
        return false;
    e->is32 = m->data[4] == 1;
    e->phoff = e->is32 ? mut_get(m, 28, 4) : mut_get(m, 32, 8);
    e->shoff = e->is32 ? mut_get(m, 32, 4) : mut_get(m, 40, 8);
    e->phnum = mut_get(m, e->is32 ? 44 : 56, 2);
    e->shnum = mut_get(m, e->is32 ? 48 : 60, 2);
    e->shent = e->is32 ? 40 : 64;
    e->phent = e->is32 ? 32 : 56;
    if (e->shoff > m->size)
        e->shnum = 0;
    else if (e->shnum == 0 || e->shnum > (m->size - e->shoff) / e->shent)
        e->shnum = (m->size - e->shoff) / e->shent;
    return true;
}

static uint64_t header(mut *m, const elf *e)
{
    return e->shoff + e->shent * mut_below(m, e->shnum);
}

/* A field of a record whose 64-bit layout is known; in the 32-bit one any word. */
static void edit_record(mut *m, const elf *e, uint64_t at, const mut_field *f, size_t n, uint64_t size32)
{
    const mut_field *one = &f[mut_below(m, n)];

    if (e->is32)
        mut_edge(m, at + 4 * mut_below(m, size32 / 4), 4);
    else
        mut_edge(m, at + one->off, one->width);
}

/* By the type of a section: one field of one element of its table. */
static void edit_body(mut *m, const elf *e)
{
    uint64_t h = header(m, e), type = mut_get(m, h + 4, 4);
    uint64_t off = e->is32 ? mut_get(m, h + 16, 4) : mut_get(m, h + 24, 8);
    uint64_t size = e->is32 ? mut_get(m, h + 20, 4) : mut_get(m, h + 32, 8);
    uint64_t each = e->is32 ? mut_get(m, h + 36, 4) : mut_get(m, h + 56, 8);

    if (off > m->size || size > m->size - off || size == 0)
        return;
    if ((type == 2 || type == 0x70000085) && each >= 16)
        edit_record(m, e, off + each * mut_below(m, size / each), SYM64, COUNT(SYM64), 16);
    else if ((type == 4 || type == 9 || type == 0x70000082) && each >= 8)
        edit_record(m, e, off + each * mut_below(m, size / each), RELA64, each >= 24 ? 4 : 3, 8);
    else if (mut_below(m, 2))
        mut_edge(m, off + (mut_below(m, size) & ~UINT64_C(3)), mut_below(m, 2) ? 4 : 2);
    else if (mut_below(m, 2))
        mut_edge(m, off + mut_below(m, size), 1);
    else
        mut_raw(m, off, size);
}

static void swap_headers(mut *m, const elf *e)
{
    uint64_t a = header(m, e), b = header(m, e);

    for (uint64_t i = 0; i < e->shent; i += 4) {
        uint64_t v = mut_get(m, a + i, 4);

        mut_set(m, a + i, 4, mut_get(m, b + i, 4));
        mut_set(m, b + i, 4, v);
    }
}

/* One section gets another's range, name, or type. */
static void alias(mut *m, const elf *e)
{
    uint64_t a = header(m, e), b = header(m, e);
    const mut_field *f = &PICK(m, SHDR64);

    if (e->is32) {
        uint64_t i = 4 * mut_below(m, 10);

        mut_set(m, a + i, 4, mut_get(m, b + i, 4));
    } else if (mut_below(m, 2)) {
        mut_set(m, a + 24, 8, mut_get(m, b + 24, 8));
        mut_set(m, a + 32, 8, mut_get(m, b + 32, 8));
    } else {
        mut_set(m, a + f->off, f->width, mut_get(m, b + f->off, f->width));
    }
}

static void shift(mut *m, uint64_t at, unsigned width, uint64_t from, uint64_t by)
{
    uint64_t v = mut_get(m, at, width);

    if (v >= from)
        mut_set(m, at, width, v + by);
}

/* Bytes put into the middle of a section; everything behind moves, and the section grows, or keeps its old
 * size. */
static void grow(mut *m, elf *e)
{
    uint64_t h = header(m, e), i = (h - e->shoff) / e->shent, n = 4 + 4 * mut_below(m, 8);
    uint64_t off = mut_get(m, h + 24, 8), size = mut_get(m, h + 32, 8),
             at = off + (mut_below(m, size + 1) & ~UINT64_C(3));

    if (e->is32 || off > m->size || size > m->size - off || at < 64)
        return;
    n = mut_below(m, 3) ? (n + 15) & ~UINT64_C(15) : n;
    if (!mut_resize(m, at, 0, n))
        return;
    for (uint64_t k = 0; k < n; k++)
        mut_set(m, at + k, 1, mut_get(m, off + mut_below(m, size ? size : 1), 1));
    shift(m, 32, 8, at, n);
    shift(m, 40, 8, at, n);
    e->shoff = mut_get(m, 40, 8);
    for (uint64_t k = 0; k < e->shnum; k++)
        shift(m, e->shoff + k * 64 + 24, 8, k == i ? at + 1 : at, n);
    for (uint64_t k = 0; k < e->phnum && k < 64; k++)
        shift(m, mut_get(m, 32, 8) + k * 56 + 8, 8, at, n);
    if (mut_below(m, 4))
        mut_set(m, e->shoff + i * 64 + 32, 8, size + n);
}

bool mut_elf(mut *m)
{
    elf e;

    if (!look(m, &e))
        return false;
    switch (mut_below(m, e.shnum ? 16 : 2)) {
    case 0: mut_edge(m, EHDR64[mut_below(m, COUNT(EHDR64))].off, 2); break;
    case 1: edit_record(m, &e, 0, EHDR64, COUNT(EHDR64), 52); break;
    case 2:
        if (e.phnum && e.phoff < m->size)
            edit_record(m, &e, e.phoff + e.phent * mut_below(m, e.phnum), PHDR64, COUNT(PHDR64), 32);
        break;
    case 3: swap_headers(m, &e); break;
    case 4:
    case 5: alias(m, &e); break;
    case 6: /* extended numbering */
        mut_set(m, e.is32 ? 48 : 60, 2, 0);
        mut_set(m, e.shoff + (e.is32 ? 20 : 32), e.is32 ? 4 : 8, e.shnum + mut_below(m, 2));
        break;
    case 7: grow(m, &e); break;
    case 8:
    case 9:
    case 10: edit_record(m, &e, header(m, &e), SHDR64, COUNT(SHDR64), 40); break;
    default: edit_body(m, &e); break;
    }
    return true;
}
