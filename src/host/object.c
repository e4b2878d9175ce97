/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrappers of a relocatable object: the relocations of their section lead through symbols to other sections.
 */
#include "host/parts.h"

#define RELOCS_AT_ONCE UINT64_C(4096)

/* What the last symbol said: nearly always all relocations name the same section symbol. */
typedef struct wrapper_resolver {
    cv_host_read_ctx *reader;
    cv_elf_section symtab;
    uint64_t symtab_index, n_syms;
    cv_block one;
    bool known;
    uint32_t sym;
    bool undefined;
    uint64_t room; /* bytes of the section from the symbol on; 0: leads nowhere */
    uint64_t at;   /* of the symbol's place, in the region */
} wrapper_resolver;

/* Section index of a symbol whose own field is too small, from the table beside the symbol table. 0: not
 * found. */
static cuvet_status extended_index(wrapper_resolver *resolver, uint32_t sym, uint32_t *out)
{
    cv_host_read_ctx *reader = resolver->reader;
    cuvet_status status =
        cv_work(reader->ctx, reader->n_sections * 4, reader->base) ? CUVET_OK : CUVET_E_LIMIT;

    *out = 0;
    for (uint64_t i = 1; i < reader->n_sections && status == CUVET_OK; i++) {
        cv_elf_section header;

        status = cv_host_header(reader, i, &header);
        if (status != CUVET_OK || header.type != CV_SHT_SYMTAB_SHNDX || header.link != resolver->symtab_index)
            continue;
        if (sym >= header.size / 4 || !cv_host_has(reader, header.off, header.size))
            break;
        status = cv_host_load(reader, &resolver->one, header.off + (uint64_t)sym * 4, 4);
        if (status == CUVET_OK)
            *out = cv_u32_at(resolver->one.span, 0);
        break;
    }
    return status;
}

/* Read a symbol and see where in the file it is. */
static cuvet_status find_symbol(wrapper_resolver *resolver, uint32_t sym)
{
    cv_host_read_ctx *reader = resolver->reader;
    uint32_t index;
    cv_elf_symbol symbol;
    cv_elf_section header;
    cuvet_status status = cv_host_load(reader, &resolver->one, resolver->symtab.off + (uint64_t)sym * 24, 24);

    if (status != CUVET_OK)
        return status;
    cv_elf_read_symbol(resolver->one.span, false, 0, &symbol);
    index = symbol.shndx;
    if (symbol.shndx == CV_SHN_XINDEX)
        status = extended_index(resolver, sym, &index);
    else if (symbol.shndx >= CV_SHN_LORESERVE)
        index = UINT32_MAX;
    resolver->known = true;
    resolver->sym = sym;
    resolver->undefined = index == CV_SHN_UNDEF;
    resolver->room = 0;
    if (status != CUVET_OK || resolver->undefined || index >= reader->n_sections)
        return status;
    status = cv_host_header(reader, index, &header);
    if (status == CUVET_OK && header.type != CV_SHT_NOBITS && cv_host_has(reader, header.off, header.size) &&
        symbol.value < header.size) {
        resolver->room = header.size - symbol.value;
        resolver->at = header.off + symbol.value;
    }
    return status;
}

static cuvet_status set_pointer(wrapper_resolver *resolver, cv_host_wrapper *wrapper,
                                const cv_elf_reloc *reloc, uint64_t off, uint32_t absolute)
{
    cv_host_read_ctx *reader = resolver->reader;
    uint64_t addend = (uint64_t)reloc->addend;
    cuvet_status status = CUVET_OK;

    wrapper->state = CV_HOST_SKIPPED;
    if (reloc->type != absolute) {
        cv_report(reader->ctx, CV_R_HOST_RELOC_TYPE, off, 0, reloc->type, absolute);
        return CUVET_OK;
    }
    if (reloc->sym >= resolver->n_syms) {
        cv_report(reader->ctx, CV_R_HOST_RELOC_SYMBOL, off, 0, reloc->sym, resolver->n_syms);
        return CUVET_OK;
    }
    if (!resolver->known || resolver->sym != reloc->sym)
        status = find_symbol(resolver, reloc->sym);
    if (status != CUVET_OK)
        return status;
    if (resolver->undefined) {
        cv_report(reader->ctx, CV_R_HOST_RELOC_UNDEFINED, off, 0, reloc->sym, 0);
        return CUVET_OK;
    }
    /* A negative addend is a huge number here: no tool points before a symbol. */
    wrapper->state = addend < resolver->room ? CV_HOST_FOUND : CV_HOST_LOST;
    wrapper->data = addend;
    wrapper->target = wrapper->state == CV_HOST_FOUND ? reader->base + resolver->at + addend : 0;
    return CUVET_OK;
}

/* The first of these wrappers that ends behind 'place', or end; wrappers are in the order of sections and
 * places. */
static uint64_t wrapper_behind(const cv_host_wrappers *all, uint64_t first, uint64_t end, uint64_t place)
{
    while (first < end) {
        uint64_t mid = first + (end - first) / 2;

        if (cv_sat_add(cv_host_wrappers_get(all, mid)->slot, CV_WRAPPER_SIZE - CV_WRAPPER_DATA) <= place)
            first = mid + 1;
        else
            end = mid;
    }
    return first;
}

/* What one relocation does to the wrappers [first, end). */
static cuvet_status apply(wrapper_resolver *resolver, const cv_elf_reloc *reloc, bool has_addend,
                          uint64_t first, uint64_t end, uint64_t off, uint32_t absolute)
{
    cv_host_read_ctx *reader = resolver->reader;
    cv_host_wrappers *all = &reader->host->wrappers;
    uint64_t index = wrapper_behind(all, first, end, reloc->off),
             bytes = cv_hostobj_linked_bytes(reader->header.machine, reloc->type);
    cv_host_wrapper *wrapper;
    cv_elf_reloc set = *reloc;

    if (index == end || bytes == 0)
        return CUVET_OK;
    wrapper = cv_host_wrappers_at(all, index);
    if (cv_sat_add(reloc->off, bytes) <= wrapper->slot - CV_WRAPPER_DATA)
        return CUVET_OK;
    if (reloc->off != wrapper->slot) {
        /* the second pointer of a device-linked object */
        if (reloc->off != wrapper->slot + (CV_WRAPPER_SECOND - CV_WRAPPER_DATA) || reloc->type != absolute)
            cv_report(reader->ctx, CV_R_HOST_RELOC_WRAPPER, off, 0, bytes, reloc->off);
        return CUVET_OK;
    }
    if (wrapper->state != CV_HOST_STORED)
        cv_report(reader->ctx, CV_R_HOST_RELOC_WRAPPER, off, 0, bytes, reloc->off);
    if (!has_addend)
        set.addend =
            (int64_t)wrapper->data; /* as stored; a value above the sign bit leads nowhere either way */
    return set_pointer(resolver, wrapper, &set, off, absolute);
}

/* All relocations of one table for the wrappers [first, end). */
static cuvet_status read_table(wrapper_resolver *resolver, const cv_elf_section *header, uint64_t first,
                               uint64_t end, uint32_t absolute)
{
    cv_host_read_ctx *reader = resolver->reader;
    bool rela = header->type == CV_SHT_RELA;
    uint64_t one = cv_elf_rel_size(false, rela), count = header->size / one;
    cuvet_status status = CUVET_OK;

    if (count > reader->ctx->lim.symbols)
        return cv_reject(reader->ctx, CV_R_LIMIT_RELOCS, reader->base + header->off, count,
                         reader->ctx->lim.symbols);
    if (!cv_work(reader->ctx, cv_sat_mul(count, 16), reader->base + header->off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < count && status == CUVET_OK; i++) {
        uint64_t in = i % RELOCS_AT_ONCE;
        cv_elf_reloc reloc;

        if (in == 0)
            status = cv_host_load(reader, &reader->part, header->off + i * one,
                                  cv_min(count - i, RELOCS_AT_ONCE) * one);
        if (status != CUVET_OK)
            return status;
        cv_elf_read_reloc(reader->part.span, false, rela, in, &reloc);
        status = apply(resolver, &reloc, rela, first, end, reader->base + header->off + i * one, absolute);
    }
    return status;
}

/* The symbol table of a relocation table. */
static cuvet_status use_symbols(wrapper_resolver *resolver, uint32_t index)
{
    cv_host_read_ctx *reader = resolver->reader;
    cuvet_status status = CUVET_OK;

    resolver->symtab = (cv_elf_section){ 0 };
    resolver->symtab_index = index;
    resolver->known = false;
    if (index < reader->n_sections)
        status = cv_host_header(reader, index, &resolver->symtab);
    resolver->n_syms = resolver->symtab.type == CV_SHT_SYMTAB &&
                               cv_host_has(reader, resolver->symtab.off, resolver->symtab.size)
                           ? resolver->symtab.size / 24
                           : 0;
    return status;
}

/* Section 'index' is a relocation table: for which wrappers? */
static cuvet_status try_table(wrapper_resolver *resolver, uint64_t index, const cv_elf_section *header,
                              uint32_t absolute)
{
    cv_host_read_ctx *reader = resolver->reader;
    uint64_t count = reader->host->wrappers.count, first = 0, end,
             one = cv_elf_rel_size(false, header->type == CV_SHT_RELA);
    cuvet_status status;

    if (!cv_work(reader->ctx, count, reader->base))
        return CUVET_E_LIMIT;
    while (first < count && cv_host_wrappers_at(&reader->host->wrappers, first)->section != header->info)
        first++;
    for (end = first;
         end < count && cv_host_wrappers_at(&reader->host->wrappers, end)->section == header->info; end++)
        ;
    if (first == end)
        return CUVET_OK;
    if (!cv_host_has(reader, header->off, header->size)) {
        cv_report_at(reader->ctx, CUVET_P_SECTION, index, CV_R_HOST_RELOC_ENTRY,
                     reader->base + cv_min(header->off, reader->size), 0, one, 0);
        return CUVET_OK;
    }
    if (header->entsize != one && header->entsize != 0) {
        cv_report_at(reader->ctx, CUVET_P_SECTION, index, CV_R_HOST_RELOC_ENTRY,
                     reader->base + cv_min(header->off, reader->size), 0, header->entsize, one);
        return CUVET_OK;
    }
    status = use_symbols(resolver, header->link);
    return status == CUVET_OK ? read_table(resolver, header, first, end, absolute) : status;
}

cuvet_status cv_host_resolve_object(cv_host_read_ctx *reader, uint32_t absolute)
{
    wrapper_resolver resolver = { .reader = reader };
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 1; i < reader->n_sections && status == CUVET_OK; i++) {
        cv_elf_section header;

        status = cv_host_header(reader, i, &header);
        if (status == CUVET_OK && (header.type == CV_SHT_RELA || header.type == CV_SHT_REL))
            status = try_table(&resolver, i, &header, absolute);
    }
    cv_block_free(reader->ctx, &resolver.one);
    return status;
}
