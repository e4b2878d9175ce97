/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/locate.h"

#include "format/elf/read.h"
#include "intake/search.h"

static bool is_elf(cv_span head)
{
    return head.len >= 20 && cv_u32_at(head, 0) == CV_ELF_MAGIC;
}

bool cv_locate_is_device(cv_span head)
{
    /* The byte order field is not asked: a wrong value must not make device code invisible. Big-endian device
     * code never existed; the machine is looked for in both orders so that it can be named. */
    return is_elf(head) &&
           (cv_u16_at(head, 18) == CV_EM_CUDA || (cv_u8_at(head, 5) == 2 && cv_u16_at(head, 18) == 0xBE00));
}

bool cv_locate_plausible(cv_span head)
{
    uint8_t cls = cv_u8_at(head, 4);

    return (cls == 1 || cls == 2) && cv_u8_at(head, 5) == 1 && cv_u8_at(head, 6) == 1;
}

bool cv_locate_is_host(cv_span head)
{
    return is_elf(head) && !cv_locate_is_device(head);
}

typedef struct tables {
    bool is32;
    uint64_t shoff, shnum, phoff, phnum;
} tables;

static tables read_tables(cv_span h)
{
    bool is32 = cv_u8_at(h, 4) == 1;
    uint64_t counts = is32 ? 44 : 56; /* e_phnum; e_shnum is four bytes on */

    return (tables){ is32, is32 ? cv_u32_at(h, 32) : cv_u64_at(h, 40), cv_u16_at(h, counts + 4),
                     is32 ? cv_u32_at(h, 28) : cv_u64_at(h, 32), cv_u16_at(h, counts) };
}

static uint64_t sections_end(cv_span table, const tables *t, uint64_t end)
{
    cv_elf_section s;

    for (uint64_t i = 1; i < t->shnum; i++) {
        cv_elf_read_section(table, t->is32, i, &s);
        if (s.type != 0 && !cv_elf_type_exempt(s.type))
            end = cv_max(end, cv_sat_add(s.off, s.size));
    }
    return end;
}

cuvet_status cv_locate_extent(cv_ctx *x, cv_block *tmp, const cuvet_source *src, uint64_t at, uint64_t end,
                              cv_located *found, uint64_t *extent)
{
    uint64_t left = end - at, size = cv_min(left, 64), entry, last;
    cuvet_status s = cv_block_load(x, tmp, src, at, size);
    tables t;

    *found = CV_LOCATED_NO;
    if (s != CUVET_OK || size < 52)
        return s;
    t = read_tables(tmp->span);
    entry = cv_elf_shdr_size(t.is32);
    last = cv_max(t.is32 ? 52 : 64, t.phnum ? cv_sat_add(t.phoff, t.phnum * cv_elf_phdr_size(t.is32)) : 0);
    if (t.shoff != 0) {
        if (t.shoff > left || entry > left - t.shoff)
            return CUVET_OK;
        if (t.shnum == 0) { /* extended numbering: the count is the size of section 0 */
            cv_elf_section first;

            s = cv_block_load(x, tmp, src, at + t.shoff, entry);
            if (s != CUVET_OK)
                return s;
            cv_elf_read_section(tmp->span, t.is32, 0, &first);
            t.shnum = first.size;
        }
        /* A unit of work per byte: many headers may name one large table. */
        if (t.shnum > x->lim.sections) {
            *found = CV_LOCATED_LIMIT;
            *extent = t.shnum;
            return CUVET_OK;
        }
        if (t.shnum > (left - t.shoff) / entry || !cv_work(x, t.shnum * entry, at))
            return CUVET_OK;
        s = cv_block_load(x, tmp, src, at + t.shoff, t.shnum * entry);
        if (s != CUVET_OK)
            return s;
        last = sections_end(tmp->span, &t, cv_max(last, t.shoff + t.shnum * entry));
    }
    *found = last <= left ? CV_LOCATED_YES : CV_LOCATED_NO;
    *extent = last;
    return CUVET_OK;
}
