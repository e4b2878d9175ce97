/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/locate.h"

#include "format/elf/read.h"
#include "format/fatbin/read.h"
#include "intake/search.h"

static bool is_elf(cv_span head)
{
    return head.len >= cv_elf_ehdr_at(false, CV_EH_VERSION) && cv_u32_at(head, 0) == CV_ELF_MAGIC;
}

bool cv_locate_is_device(cv_span head)
{
    /* The byte order field is not asked: a wrong value must not make device code invisible. Big-endian device
     * code never existed; the machine is looked for in both orders so that it can be named. */
    uint64_t at = cv_elf_ehdr_at(false, CV_EH_MACHINE);
    bool swapped = cv_u8_at(head, CV_EI_DATA) == CV_ELF_BIG && cv_u8_at(head, at) == 0 &&
                   cv_u8_at(head, at + 1) == CV_EM_CUDA;

    return is_elf(head) && (cv_u16_at(head, at) == CV_EM_CUDA || swapped);
}

bool cv_locate_plausible(cv_span head)
{
    uint8_t cls = cv_u8_at(head, CV_EI_CLASS);

    return (cls == CV_ELF_CLASS32 || cls == CV_ELF_CLASS64) && cv_u8_at(head, CV_EI_DATA) == CV_ELF_LITTLE &&
           cv_u8_at(head, CV_EI_VERSION) == CV_ELF_VERSION;
}

bool cv_locate_is_host(cv_span head)
{
    return is_elf(head) && !cv_locate_is_device(head);
}

/* So many bytes tell a device ELF; a container fewer. */
#define CODE_HEAD UINT64_C(20)

bool cv_locate_is_code(cv_span head)
{
    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        return cv_u32_at(head, 4) == CV_FATBIN_TAIL;
    return cv_locate_is_device(head);
}

cuvet_status cv_locate_across(cv_ctx *ctx, cv_block *tmp, const cuvet_source *src, uint64_t from, uint64_t at,
                              uint64_t end, bool *found, uint64_t *hit)
{
    uint64_t first = at - cv_min(at - from, CODE_HEAD - 1), last = at + cv_min(end - at, CODE_HEAD - 1);
    cuvet_status status = cv_block_load(ctx, tmp, src, first, last - first);

    *found = false;
    for (uint64_t i = first; status == CUVET_OK && i < at && !*found; i++) {
        cv_span whole = cv_span_tail(tmp->span, i - first), part = whole;

        part.len = at - i;
        *found = cv_locate_is_code(whole) && !cv_locate_is_code(part);
        *hit = i;
    }
    return status;
}

typedef struct locate_tables {
    bool is32;
    uint64_t shoff, shnum, phoff, phnum;
} locate_tables;

static locate_tables read_tables(cv_span haystack)
{
    bool is32 = cv_elf_is32(haystack);
    uint64_t shoff = cv_elf_ehdr_at(is32, CV_EH_SHOFF), phoff = cv_elf_ehdr_at(is32, CV_EH_PHOFF);

    return (locate_tables){ is32, is32 ? cv_u32_at(haystack, shoff) : cv_u64_at(haystack, shoff),
                            cv_u16_at(haystack, cv_elf_ehdr_at(is32, CV_EH_SHNUM)),
                            is32 ? cv_u32_at(haystack, phoff) : cv_u64_at(haystack, phoff),
                            cv_u16_at(haystack, cv_elf_ehdr_at(is32, CV_EH_PHNUM)) };
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
    uint64_t left = end - at, size = cv_min(left, cv_elf_ehdr_size(false)), entry, last;
    cuvet_status status = cv_block_load(ctx, tmp, src, at, size);
    locate_tables tables;

    *found = CV_LOCATED_NO;
    if (status != CUVET_OK || size < cv_elf_ehdr_size(true))
        return status;
    tables = read_tables(tmp->span);
    entry = cv_elf_shdr_size(tables.is32);
    last = cv_max(cv_elf_ehdr_size(tables.is32),
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
