/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/host.h"

#include "format/offload/read.h"
#include "host/parts.h"

/* Section headers that are read at once. */
#define HEADERS_AT_ONCE UINT64_C(2048)
/* A name table is read whole, because names of a linked file lie in it in any order. */
#define NAMES_MAX    (16 * CV_MIB)
#define TEXT_AT_ONCE (64 * CV_KIB)

cuvet_status cv_host_load(cv_host_read_ctx *reader, cv_block *block, uint64_t off, uint64_t len)
{
    /* Reading costs: a hostile table must not make the same bytes be read without end. */
    if (!cv_work(reader->ctx, len + 8, reader->base + off))
        return CUVET_E_LIMIT;
    return cv_block_load(reader->ctx, block, reader->src, reader->base + off, len);
}

cuvet_status cv_host_header(cv_host_read_ctx *reader, uint64_t index, cv_elf_section *out)
{
    uint64_t one = cv_elf_shdr_size(reader->header.is32), count;
    cuvet_status status;

    if (index < reader->first || index - reader->first >= reader->n_headers) {
        count = cv_min(HEADERS_AT_ONCE, reader->n_sections - index);
        reader->n_headers = 0;
        status = cv_host_load(reader, &reader->headers, reader->header.shoff + index * one, count * one);
        if (status != CUVET_OK)
            return status;
        reader->first = index;
        reader->n_headers = count;
    }
    cv_elf_read_section(reader->headers.span, reader->header.is32, index - reader->first, out);
    return CUVET_OK;
}

/* The file header. *usable: there is more to read. */
static cuvet_status read_header(cv_host_read_ctx *reader, bool *usable)
{
    cuvet_status status =
        cv_host_load(reader, &reader->part, 0, cv_min(reader->size, cv_elf_ehdr_size(false)));
    cv_span head = reader->part.span;
    uint8_t class = cv_u8_at(head, CV_EI_CLASS), data = cv_u8_at(head, CV_EI_DATA),
            version = cv_u8_at(head, CV_EI_VERSION);

    if (status != CUVET_OK)
        return status;
    if (head.len < CV_EI_SIZE) {
        cv_report(reader->ctx, CV_R_HOST_TRUNCATED, head.off, head.len, head.len, cv_elf_ehdr_size(false));
    } else if ((class != CV_ELF_CLASS32 && class != CV_ELF_CLASS64) ||
               (data != CV_ELF_LITTLE && data != CV_ELF_BIG) || version != CV_ELF_VERSION) {
        cv_report(reader->ctx, CV_R_HOST_IDENT, head.off + CV_EI_CLASS, 3,
                  (uint64_t) class << 16 | (uint64_t)data << 8 | version, 0);
    } else if (data == CV_ELF_BIG) {
        cv_report(reader->ctx, CV_R_HOST_BIG_ENDIAN, head.off + CV_EI_DATA, 1, data, CV_ELF_LITTLE);
    } else if (!cv_elf_peek(head, &reader->header)) {
        cv_report(reader->ctx, CV_R_HOST_TRUNCATED, head.off, head.len, head.len,
                  cv_elf_ehdr_size(class == CV_ELF_CLASS32));
    } else {
        *usable = true;
        reader->host->is32 = reader->header.is32;
        reader->host->type = reader->header.type;
        reader->host->machine = reader->header.machine;
        reader->host->header = reader->header;
    }
    return CUVET_OK;
}

/* Number of sections and index of the name table, with the extended numbering of section 0. */
static cuvet_status read_counts(cv_host_read_ctx *reader)
{
    uint64_t one = cv_elf_shdr_size(reader->header.is32),
             left = reader->size - cv_min(reader->header.shoff, reader->size), bytes = UINT64_MAX;
    cv_elf_section zero;
    cuvet_status status;

    if (reader->header.shoff == 0)
        return CUVET_OK;
    if (reader->header.shentsize != one) {
        cv_report(reader->ctx, CV_R_HOST_SHENTSIZE,
                  reader->base + cv_elf_ehdr_at(reader->header.is32, CV_EH_SHENTSIZE), 2,
                  reader->header.shentsize, one);
        return CUVET_OK;
    }
    reader->n_sections = 1;
    if (left >= one) {
        status = cv_host_header(reader, 0, &zero);
        if (status != CUVET_OK)
            return status;
        reader->n_headers = 0; /* one header only: the next reader wants a run of them */
        reader->n_sections = reader->header.shnum != 0 ? reader->header.shnum : zero.size;
        reader->names_index = reader->header.shstrndx == CV_SHN_XINDEX ? zero.link : reader->header.shstrndx;
    }
    if (!cv_mul(reader->n_sections, one, &bytes) || bytes > left) {
        cv_report(reader->ctx, CV_R_HOST_SHDR_RANGE,
                  reader->base + cv_min(reader->header.shoff, reader->size), 0, bytes, left);
        return CUVET_OK;
    }
    if (reader->n_sections > reader->ctx->lim.sections)
        return cv_reject(reader->ctx, CV_R_LIMIT_SECTIONS, reader->base + reader->header.shoff,
                         reader->n_sections, reader->ctx->lim.sections);
    reader->listed = true;
    reader->tables = reader->n_sections > 1;
    reader->host->n_sections = reader->n_sections;
    return CUVET_OK;
}

/* Load the names. Without them sections cannot be told apart but by their type: then tables becomes false. */
static cuvet_status read_names(cv_host_read_ctx *reader)
{
    cv_elf_section header;
    cuvet_status status;
    uint64_t left;

    if (!reader->tables || reader->names_index == 0) {
        reader->tables = false;
        return CUVET_OK;
    }
    reader->tables = false;
    if (reader->names_index >= reader->n_sections) {
        cv_report(reader->ctx, CV_R_HOST_SHSTRNDX,
                  reader->base + cv_elf_ehdr_at(reader->header.is32, CV_EH_SHSTRNDX), 2, reader->names_index,
                  reader->n_sections);
        return CUVET_OK;
    }
    status = cv_host_header(reader, reader->names_index, &header);
    if (status != CUVET_OK)
        return status;
    left = reader->size - cv_min(header.off, reader->size);
    if (header.type != CV_SHT_STRTAB) {
        /* Files of debug information alone keep headers without bytes. */
        if (header.type != CV_SHT_NOBITS)
            cv_report(reader->ctx, CV_R_HOST_SHSTRNDX,
                      reader->base + cv_elf_ehdr_at(reader->header.is32, CV_EH_SHSTRNDX), 2,
                      reader->names_index, reader->n_sections);
    } else if (header.size > left) {
        cv_report(reader->ctx, CV_R_HOST_NAMES_RANGE, reader->base + cv_min(header.off, reader->size), 0,
                  header.size, left);
    } else if (header.size > NAMES_MAX) {
        cv_report(reader->ctx, CV_R_HOST_NAMES_SIZE, reader->base + header.off, header.size, header.size,
                  NAMES_MAX);
    } else {
        status = cv_host_load(reader, &reader->names, header.off, header.size);
        reader->tables = status == CUVET_OK;
    }
    return status;
}

/* Keep a section of interest if its bytes are there. */
static cuvet_status keep_section(cv_host_read_ctx *reader, const cv_elf_section *header, uint64_t index,
                                 cv_hostobj_kind kind)
{
    uint64_t left = reader->size - cv_min(header->off, reader->size),
             at = reader->base + cv_min(header->off, reader->size);
    cv_host_section keep_section = { at, header->size, header->addr, (uint32_t)index, kind };

    /* Files of debug information alone keep the headers of what is loaded without the bytes. */
    if (header->type == CV_SHT_NOBITS && reader->header.type != CV_ELF_REL)
        return CUVET_OK;
    if (header->type != CV_SHT_PROGBITS && kind != CV_HOSTOBJ_OFFLOAD)
        cv_report_at(reader->ctx, CUVET_P_SECTION, index, CV_R_HOST_SECTION_TYPE, at, 0, header->type,
                     CV_SHT_PROGBITS);
    if (header->type == CV_SHT_NOBITS)
        return CUVET_OK;
    if (header->size > left) {
        cv_report_at(reader->ctx, CUVET_P_SECTION, index, CV_R_HOST_SECTION_RANGE, at, 0, header->size, left);
        return CUVET_OK;
    }
    if (header->flags & CV_SHF_COMPRESSED) {
        cv_report_at(reader->ctx, CUVET_P_SECTION, index, CV_R_HOST_SECTION_COMPRESSED, at, header->size,
                     header->size, 0);
        return CUVET_OK;
    }
    return cv_host_sections_push(&reader->ctx->mem, &reader->host->sections, keep_section)
               ? CUVET_OK
               : cv_nomem(reader->ctx, at);
}

/* Thousands of small ones lie beside each other, and no container fits between them. */
static bool extends_range(cv_host_range *last, const cv_host_range *here)
{
    if (last->use != here->use || here->off < last->off || here->off > last->end + 16)
        return false;
    last->end = cv_max(last->end, here->end);
    return true;
}

/* What a section without a name of interest is for. Data that is not loaded, but marked to be left out by the
 * linker, is other compilers' way to carry device code. */
static cuvet_status note_use(cv_host_read_ctx *reader, const cv_elf_section *header)
{
    cv_host_ranges *all = &reader->host->ranges;
    bool data = header->type == CV_SHT_PROGBITS &&
                ((header->flags & CV_SHF_EXCLUDE) ||
                 (header->flags & (CV_SHF_ALLOC | CV_SHF_EXECINSTR)) == CV_SHF_ALLOC);
    cv_host_range here = { .use = data ? CV_HOST_DATA : CV_HOST_NO_DATA };

    if (header->type == CV_SHT_NULL || header->type == CV_SHT_NOBITS || header->size == 0 ||
        header->off > reader->size || header->size > reader->size - header->off)
        return CUVET_OK;
    here.off = reader->base + header->off;
    here.end = here.off + header->size;
    if (all->count > 0 && extends_range(cv_host_ranges_at(all, all->count - 1), &here))
        return CUVET_OK;
    return cv_host_ranges_push(&reader->ctx->mem, all, here) ? CUVET_OK : cv_nomem(reader->ctx, here.off);
}

cv_host_use cv_host_use_at(const cv_host *host, uint64_t off)
{
    cv_host_use use = CV_HOST_OUTSIDE;

    for (uint64_t i = 0; i < host->ranges.count; i++) {
        const cv_host_range *range = cv_host_ranges_get(&host->ranges, i);

        if (off >= range->off && off < range->end && range->use > use)
            use = range->use;
    }
    return use;
}

/* A name of interest is short: look at no more than that. Sections of offload binaries are told by their
 * type, so that they need no name, and may be the first of the table. */
static cv_hostobj_kind section_kind(const cv_host_read_ctx *reader, const cv_elf_section *header,
                                    uint64_t index)
{
    cv_hostobj_kind kind = CV_HOSTOBJ_OTHER;
    cv_span name, rest;

    if (index != 0 && header->name < reader->names.span.len) {
        name = cv_span_tail(reader->names.span, header->name);
        name.len = cv_min(name.len, CV_HOSTOBJ_NAME);
        kind = cv_span_cstr(name, 0, &rest) ? cv_hostobj_section(rest) : CV_HOSTOBJ_OTHER;
    }
    return kind == CV_HOSTOBJ_OTHER && header->type == CV_OFFLOAD_SECTION ? CV_HOSTOBJ_OFFLOAD : kind;
}

static cuvet_status read_section(cv_host_read_ctx *reader, uint64_t index)
{
    cv_elf_section header;
    cuvet_status status = cv_host_header(reader, index, &header);
    cv_hostobj_kind kind;
    bool named;

    if (status != CUVET_OK)
        return status;
    kind = section_kind(reader, &header, index);
    named = header.name < reader->names.span.len || header.name == 0;
    if (reader->tables && index != 0 && !named)
        cv_report_at(reader->ctx, CUVET_P_SECTION, index, CV_R_HOST_NAME_OFFSET,
                     reader->base + reader->header.shoff + index * cv_elf_shdr_size(reader->header.is32), 4,
                     header.name, reader->names.span.len);
    if (kind != CV_HOSTOBJ_OTHER)
        return keep_section(reader, &header, index, kind);
    return reader->tables && index != 0 && named ? note_use(reader, &header) : CUVET_OK;
}

static cuvet_status read_sections(cv_host_read_ctx *reader)
{
    cuvet_status status = CUVET_OK;

    if (!reader->listed)
        return CUVET_OK;
    if (!cv_work(reader->ctx, reader->n_sections * 4, reader->base + reader->header.shoff))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < reader->n_sections && status == CUVET_OK; i++)
        status = read_section(reader, i);
    return status;
}

/* A section table may name its sections in any order. */
static cuvet_status sort_sections(cv_host_read_ctx *reader)
{
    cv_host_sections *all = &reader->host->sections, sorted = { 0 };
    cv_keys order = { 0 };
    bool room = true;

    for (uint64_t i = 0; i < all->count && room; i++)
        room = cv_keys_push(&reader->ctx->mem, &order, (cv_key){ cv_host_sections_at(all, i)->off, i });
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.count && room; i++)
        room = cv_host_sections_push(&reader->ctx->mem, &sorted,
                                     *cv_host_sections_at(all, cv_keys_at(&order, i)->index));
    cv_keys_free(&reader->ctx->mem, &order);
    cv_host_sections_free(&reader->ctx->mem, room ? all : &sorted);
    if (room)
        *all = sorted;
    return room ? CUVET_OK : cv_nomem(reader->ctx, reader->base);
}

/* Module ids and host references are strings; long ones are read in parts. */
static cuvet_status check_text(cv_host_read_ctx *reader)
{
    for (uint64_t k = 0; k < reader->host->sections.count; k++) {
        const cv_host_section *section = cv_host_sections_at(&reader->host->sections, k);
        bool good = section->kind == CV_HOSTOBJ_MODULE_ID || section->kind == CV_HOSTOBJ_REFS ||
                    section->kind == CV_HOSTOBJ_KERNELS;

        for (uint64_t at = 0; good && at < section->size; at += TEXT_AT_ONCE) {
            uint64_t count = cv_min(TEXT_AT_ONCE, section->size - at);
            /* Many sections may lie over the same bytes. */
            cuvet_status status = cv_work(reader->ctx, count * 4, section->off) ? CUVET_OK : CUVET_E_LIMIT;

            if (status == CUVET_OK)
                status = cv_host_load(reader, &reader->part, section->off - reader->base + at, count);

            if (status != CUVET_OK)
                return status;
            cv_path_push(reader->ctx, CUVET_P_SECTION, true, section->index);
            good = cv_hostobj_check_text(reader->ctx, reader->part.span, at + count == section->size);
            cv_path_pop(reader->ctx);
        }
    }
    return CUVET_OK;
}

void cv_host_free_blocks(cv_host_read_ctx *reader)
{
    cv_block_free(reader->ctx, &reader->headers);
    cv_block_free(reader->ctx, &reader->names);
    cv_block_free(reader->ctx, &reader->part);
    cv_block_free(reader->ctx, &reader->one);
    cv_keys_free(&reader->ctx->mem, &reader->slots);
}

cuvet_status cv_host_read(cv_ctx *ctx, const cuvet_source *src, uint64_t base, uint64_t size, cv_host *out)
{
    cv_host_read_ctx reader = { .ctx = ctx, .src = src, .base = base, .size = size, .host = out };
    uint64_t before = cv_ctx_work(ctx);
    bool usable = false;
    cuvet_status status;

    out->base = base;
    out->size = size;
    cv_path_push(ctx, CUVET_P_HOST, false, 0);
    status = read_header(&reader, &usable);
    if (status == CUVET_OK && usable)
        status = read_counts(&reader);
    if (status == CUVET_OK && usable)
        status = read_names(&reader);
    if (status == CUVET_OK && usable)
        status = read_sections(&reader);
    if (status == CUVET_OK)
        status = sort_sections(&reader);
    if (status == CUVET_OK && usable)
        status = check_text(&reader);
    if (status == CUVET_OK && usable)
        status = cv_host_read_wrappers(&reader);
    cv_path_pop(ctx);
    cv_host_free_blocks(&reader);
    out->work = before - cv_min(before, cv_ctx_work(ctx));
    return status;
}

static bool has_offset(const cv_u64s *sorted, uint64_t off)
{
    uint64_t lo = 0, hi = sorted->count;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2, at = *cv_u64s_get(sorted, mid);

        if (at == off)
            return true;
        if (at < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

bool cv_host_names(const cv_host *host, uint64_t container_off)
{
    return has_offset(&host->named, container_off);
}

void cv_host_check_wrappers(cv_ctx *ctx, const cv_host *host, const cv_u64s *containers)
{
    cv_path_push(ctx, CUVET_P_HOST, false, 0);
    for (uint64_t i = 0; i < host->wrappers.count; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_get(&host->wrappers, i);

        if (wrapper->state == CV_HOST_FOUND && !has_offset(containers, wrapper->target))
            cv_report_at(ctx, CUVET_P_WRAPPER, i, CV_R_HOST_WRAPPER_CONTAINER, wrapper->off + CV_WRAPPER_DATA,
                         8, wrapper->target, 0);
    }
    cv_path_pop(ctx);
}
