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

typedef struct locate_tables {
    bool is32;
    uint64_t shoff, shnum, phoff, phnum;
} locate_tables;

static locate_tables read_tables(cv_span haystack)
{
    bool is32 = cv_u8_at(haystack, 4) == 1;
    uint64_t counts = is32 ? 44 : 56; /* e_phnum; e_shnum is four bytes on */

    return (locate_tables){ is32, is32 ? cv_u32_at(haystack, 32) : cv_u64_at(haystack, 40),
                            cv_u16_at(haystack, counts + 4),
                            is32 ? cv_u32_at(haystack, 28) : cv_u64_at(haystack, 32),
                            cv_u16_at(haystack, counts) };
}

static uint64_t sections_end(cv_span table, const locate_tables *tables, uint64_t end)
{
    cv_elf_section section;

    for (uint64_t i = 1; i < tables->shnum; i++) {
        cv_elf_read_section(table, tables->is32, i, &section);
        if (section.type != 0 && !cv_elf_type_exempt(section.type))
            end = cv_max(end, cv_sat_add(section.off, section.size));
    }
    return end;
}

cuvet_status cv_locate_extent(cv_ctx *ctx, cv_block *tmp, const cuvet_source *src, uint64_t at, uint64_t end,
                              cv_located *found, uint64_t *extent)
{
    uint64_t left = end - at, size = cv_min(left, 64), entry, last;
    cuvet_status status = cv_block_load(ctx, tmp, src, at, size);
    locate_tables tables;

    *found = CV_LOCATED_NO;
    if (status != CUVET_OK || size < 52)
        return status;
    tables = read_tables(tmp->span);
    entry = cv_elf_shdr_size(tables.is32);
    last = cv_max(tables.is32 ? 52 : 64,
                  tables.phnum ? cv_sat_add(tables.phoff, tables.phnum * cv_elf_phdr_size(tables.is32)) : 0);
    if (tables.shoff != 0) {
        if (tables.shoff > left || entry > left - tables.shoff)
            return CUVET_OK;
        if (tables.shnum == 0) { /* extended numbering: the count is the size of section 0 */
            cv_elf_section first;

            status = cv_block_load(ctx, tmp, src, at + tables.shoff, entry);
            if (status != CUVET_OK)
                return status;
            cv_elf_read_section(tmp->span, tables.is32, 0, &first);
            tables.shnum = first.size;
        }
        /* A unit of work per byte: many headers may name one large table. */
        if (tables.shnum > ctx->lim.sections) {
            *found = CV_LOCATED_LIMIT;
            *extent = tables.shnum;
            return CUVET_OK;
        }
        if (tables.shnum > (left - tables.shoff) / entry || !cv_work(ctx, tables.shnum * entry, at))
            return CUVET_OK;
        status = cv_block_load(ctx, tmp, src, at + tables.shoff, tables.shnum * entry);
        if (status != CUVET_OK)
            return status;
        last = sections_end(tmp->span, &tables, cv_max(last, tables.shoff + tables.shnum * entry));
    }
    *found = last <= left ? CV_LOCATED_YES : CV_LOCATED_NO;
    *extent = last;
    return CUVET_OK;
}
