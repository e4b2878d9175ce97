/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrappers of a host ELF and the containers they name. In a relocatable object a relocation of the section
 * says where a pointer leads; elsewhere the loader's view counts: program headers, and the relocations of the
 * dynamic section. */
#include "host/parts.h"

#define WRAPPERS_AT_ONCE UINT64_C(4096)
#define RELOCS_AT_ONCE   UINT64_C(8192)
/* Entries of the dynamic section that are looked at; real ones have a few dozen. */
#define DYNAMIC_MAX UINT64_C(1024)

/* ---- records ---- */

static cuvet_status add_wrapper(cv_host_read_ctx *reader, const cv_wrapper *wrapper, uint64_t off,
                                uint64_t slot, uint32_t section)
{
    cv_host_wrapper one = { off, slot, wrapper->data, 0, wrapper->version, section, CV_HOST_STORED };

    /* Each wrapper names a container of its own: the limit is the same. */
    if (reader->host->wrappers.count >= reader->ctx->lim.containers)
        return cv_reject(reader->ctx, CV_R_LIMIT_CONTAINERS, off, reader->host->wrappers.count + 1,
                         reader->ctx->lim.containers);
    return cv_host_wrappers_push(&reader->ctx->mem, &reader->host->wrappers, one)
               ? CUVET_OK
               : cv_nomem(reader->ctx, off);
}

static cuvet_status read_records(cv_host_read_ctx *reader, const cv_host_section *section)
{
    uint64_t count = section->size / CV_WRAPPER_SIZE;
    cuvet_status status = CUVET_OK;

    if (section->size % CV_WRAPPER_SIZE != 0)
        cv_report_at(reader->ctx, CUVET_P_SECTION, section->index, CV_R_HOST_WRAPPER_SIZE, section->off,
                     section->size, section->size, CV_WRAPPER_SIZE);
    for (uint64_t i = 0; i < count && status == CUVET_OK; i++) {
        uint64_t in = i % WRAPPERS_AT_ONCE, at = i * CV_WRAPPER_SIZE;
        cv_wrapper wrapper;

        if (in == 0) {
            status = cv_host_load(reader, &reader->part, section->off - reader->base + at,
                                  cv_min(count - i, WRAPPERS_AT_ONCE) * CV_WRAPPER_SIZE);
            if (status != CUVET_OK)
                return status;
        }
        cv_path_push(reader->ctx, CUVET_P_WRAPPER, true, i);
        if (cv_wrapper_read(reader->ctx, reader->part.span, in, &wrapper) == CUVET_OK)
            status = add_wrapper(
                reader, &wrapper, section->off + at,
                cv_sat_add(reader->header.type == CV_ELF_REL ? 0 : section->addr, at + CV_WRAPPER_DATA),
                section->index);
        cv_path_pop(reader->ctx);
    }
    return status;
}

/* No usable section table: look for the first eight bytes of a record, aligned like every genuine one. A hit
 * may be data. */
static cuvet_status search_records(cv_host_read_ctx *reader)
{
    cv_window win = { 0 };
    uint64_t end = reader->base + reader->size, at = reader->base;
    cuvet_status status = CUVET_OK;

    reader->host->searched = true;
    if (!cv_work(reader->ctx, reader->size / 8, reader->base))
        return CUVET_E_LIMIT;
    while (status == CUVET_OK && end - at >= CV_WRAPPER_SIZE) {
        cv_span part;
        uint64_t i = 0;

        status = cv_window_at(reader->ctx, &win, reader->src, at, CV_WRAPPER_SIZE, end, &part);
        for (; status == CUVET_OK && part.len - i >= CV_WRAPPER_SIZE; i += 8) {
            cv_wrapper wrapper = { CV_WRAPPER_MAGIC, cv_u32_at(part, i + 4), cv_u64_at(part, i + 8),
                                   cv_u64_at(part, i + 16) };

            if (CV_UNLIKELY(cv_wrapper_at(part, i)))
                status = add_wrapper(reader, &wrapper, at + i, 0, 0);
            if (status != CUVET_OK)
                break;
        }
        at += i;
    }
    cv_window_free(reader->ctx, &win);
    return status;
}

/* ---- addresses ---- */

static cuvet_status read_loads(cv_host_read_ctx *reader)
{
    uint64_t one = cv_elf_phdr_size(reader->header.is32), count = reader->header.phnum,
             left = reader->size - cv_min(reader->header.phoff, reader->size);
    cuvet_status status;

    if (count == 0 || reader->header.phoff == 0)
        return CUVET_OK;
    if (reader->header.phentsize != one) {
        cv_report(reader->ctx, CV_R_HOST_PHENTSIZE,
                  reader->base + cv_elf_ehdr_at(reader->header.is32, CV_EH_PHENTSIZE), 2,
                  reader->header.phentsize, one);
        return CUVET_OK;
    }
    if (count * one > left) {
        cv_report(reader->ctx, CV_R_HOST_PHDR_RANGE,
                  reader->base + cv_min(reader->header.phoff, reader->size), 0, count * one, left);
        return CUVET_OK;
    }
    status = cv_host_load(reader, &reader->part, reader->header.phoff, count * one);
    for (uint64_t i = 0; i < count && status == CUVET_OK; i++) {
        cv_elf_segment segment;

        cv_elf_read_segment(reader->part.span, reader->header.is32, i, &segment);
        if (segment.type == CV_HOST_PT_DYNAMIC)
            reader->dynamic = segment;
        if (segment.type == CV_PT_LOAD && cv_host_has(reader, segment.off, segment.filesz) &&
            segment.filesz > 0 && !cv_host_loads_push(&reader->ctx->mem, &reader->loads, segment))
            status = cv_nomem(reader->ctx, reader->base + reader->header.phoff);
    }
    return status;
}

/* Offset in the region of len bytes at an address, from the last segment that holds them, as a loader maps.
 */
static bool map_address(cv_host_read_ctx *reader, uint64_t addr, uint64_t len, uint64_t *off)
{
    if (!cv_work(reader->ctx, reader->loads.count, reader->base + reader->header.phoff))
        return false;
    for (uint64_t i = reader->loads.count; i > 0; i--) {
        const cv_elf_segment *segment = cv_host_loads_at(&reader->loads, i - 1);

        if (addr >= segment->vaddr && addr - segment->vaddr < segment->filesz &&
            len <= segment->filesz - (addr - segment->vaddr)) {
            *off = segment->off + (addr - segment->vaddr);
            return true;
        }
    }
    return false;
}

/* The other way: address of a place in the region. */
static bool address_of(cv_host_read_ctx *reader, uint64_t off, uint64_t *addr)
{
    if (!cv_work(reader->ctx, reader->loads.count, reader->base + off))
        return false;
    for (uint64_t i = reader->loads.count; i > 0; i--) {
        const cv_elf_segment *segment = cv_host_loads_at(&reader->loads, i - 1);

        if (off >= segment->off && off - segment->off < segment->filesz)
            return cv_add(segment->vaddr, off - segment->off, addr);
    }
    return false;
}

static void check_mapping(cv_host_read_ctx *reader)
{
    for (uint64_t i = 0; i < reader->host->sections.count; i++) {
        const cv_host_section *section = cv_host_sections_at(&reader->host->sections, i);
        uint64_t off = 0;

        if (section->addr != 0 && section->size != 0 && map_address(reader, section->addr, 1, &off) &&
            reader->base + off != section->off)
            cv_report_at(reader->ctx, CUVET_P_SECTION, section->index, CV_R_HOST_SECTION_MAPPING,
                         section->off, section->size, section->off, reader->base + off);
    }
}

/* ---- relocations of what is loaded ---- */

static cuvet_status sort_slots(cv_host_read_ctx *reader)
{
    if (!cv_work(reader->ctx, reader->host->wrappers.count * 8, reader->base))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < reader->host->wrappers.count; i++) {
        cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, i);
        cv_key key = { 0, i };

        if (reader->host->searched &&
            !address_of(reader, wrapper->off - reader->base + CV_WRAPPER_DATA, &wrapper->slot))
            continue; /* not loaded: nothing relocates it */
        key.key = wrapper->slot;
        if (!cv_keys_push(&reader->ctx->mem, &reader->slots, key))
            return cv_nomem(reader->ctx, wrapper->off);
    }
    cv_keys_sort(&reader->slots);
    return CUVET_OK;
}

/* One relocation sets the pointer of a wrapper. */
static void relocate_wrapper(cv_host_read_ctx *reader, cv_host_wrapper *wrapper, const cv_elf_reloc *reloc,
                             uint64_t off, uint32_t relative)
{
    uint64_t value = (uint64_t)reloc->addend;

    if (reloc->type != relative) {
        wrapper->state = CV_HOST_SKIPPED;
        if (!reader->host->searched)
            cv_report(reader->ctx, CV_R_HOST_RELOC_TYPE, off, 0, reloc->type, relative);
        return;
    }
    if (wrapper->state == CV_HOST_STORED && wrapper->data != 0 && wrapper->data != value &&
        !reader->host->searched)
        cv_report(reader->ctx, CV_R_HOST_WRAPPER_ADDEND, wrapper->off + CV_WRAPPER_DATA, 8, wrapper->data,
                  value);
    wrapper->state = CV_HOST_RELOCATED;
    wrapper->data = value;
}

static bool apply_relocs(cv_host_read_ctx *reader, uint64_t count, uint32_t relative)
{
    uint64_t low = cv_keys_at(&reader->slots, 0)->key,
             high = cv_keys_at(&reader->slots, reader->slots.count - 1)->key;

    for (uint64_t i = 0; i < count; i++) {
        /* Most relocations have nothing to do with wrappers: only the place is looked at. */
        uint64_t at = i * 24, place = cv_u64_at(reader->part.span, at);
        cv_elf_reloc reloc;

        if (CV_LIKELY(place < low || place > high))
            continue;
        if (!cv_work(reader->ctx, 16, reader->part.span.off + at))
            return false;
        cv_elf_read_reloc(reader->part.span, false, true, i, &reloc);
        for (uint64_t k = cv_keys_lower_bound(&reader->slots, place);
             k < reader->slots.count && cv_keys_at(&reader->slots, k)->key == place; k++) {
            if (!cv_work(reader->ctx, 1, reader->part.span.off + at))
                return false;
            relocate_wrapper(
                reader, cv_host_wrappers_at(&reader->host->wrappers, cv_keys_at(&reader->slots, k)->index),
                &reloc, reader->part.span.off + at, relative);
        }
    }
    return true;
}

static cuvet_status read_dynamic_relocs(cv_host_read_ctx *reader, uint64_t addr, uint64_t bytes,
                                        uint32_t relative)
{
    uint64_t off = 0, count = bytes / 24;
    cuvet_status status = CUVET_OK;

    if (!map_address(reader, addr, bytes, &off)) {
        cv_report(reader->ctx, CV_R_HOST_DYNAMIC, reader->base + cv_min(reader->dynamic.off, reader->size), 0,
                  bytes, addr);
        return CUVET_OK;
    }
    if (count > reader->ctx->lim.symbols)
        return cv_reject(reader->ctx, CV_R_LIMIT_RELOCS, reader->base + off, count, reader->ctx->lim.symbols);
    if (!cv_work(reader->ctx, count, reader->base + off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < count && status == CUVET_OK; i += RELOCS_AT_ONCE) {
        uint64_t number = cv_min(count - i, RELOCS_AT_ONCE);

        status = cv_host_load(reader, &reader->part, off + i * 24, number * 24);
        if (status == CUVET_OK && !apply_relocs(reader, number, relative))
            status = CUVET_E_LIMIT;
    }
    return status;
}

/* Where the dynamic section says that relocations are: the loader knows no other place. */
static cuvet_status read_dynamic(cv_host_read_ctx *reader, uint32_t relative)
{
    uint64_t addr = 0, bytes = 0, entry = cv_elf_rel_size(false, true),
             count = cv_min(reader->dynamic.filesz / CV_DYN_SIZE, DYNAMIC_MAX);
    cuvet_status status;

    if (reader->dynamic.filesz == 0 || reader->slots.count == 0)
        return CUVET_OK;
    if (!cv_host_has(reader, reader->dynamic.off, reader->dynamic.filesz)) {
        cv_report(reader->ctx, CV_R_HOST_DYNAMIC, reader->base + cv_min(reader->dynamic.off, reader->size), 0,
                  reader->dynamic.filesz, reader->dynamic.off);
        return CUVET_OK;
    }
    status = cv_host_load(reader, &reader->part, reader->dynamic.off, count * CV_DYN_SIZE);
    for (uint64_t i = 0;
         i < count && status == CUVET_OK && cv_u64_at(reader->part.span, i * CV_DYN_SIZE) != CV_DT_NULL;
         i++) {
        uint64_t tag = cv_u64_at(reader->part.span, i * CV_DYN_SIZE),
                 value = cv_u64_at(reader->part.span, i * CV_DYN_SIZE + CV_DYN_SIZE / 2);

        addr = tag == CV_DT_RELA ? value : addr;
        bytes = tag == CV_DT_RELASZ ? value : bytes;
        entry = tag == CV_DT_RELAENT ? value : entry;
    }
    if (status != CUVET_OK || bytes == 0)
        return status;
    if (entry != cv_elf_rel_size(false, true)) {
        cv_report(reader->ctx, CV_R_HOST_RELOC_ENTRY, reader->base + reader->dynamic.off, 0, entry,
                  cv_elf_rel_size(false, true));
        return CUVET_OK;
    }
    return read_dynamic_relocs(reader, addr, bytes, relative);
}

static cuvet_status resolve_loaded(cv_host_read_ctx *reader, uint32_t relative)
{
    cuvet_status status = sort_slots(reader);

    if (status == CUVET_OK)
        status = read_dynamic(reader, relative);
    for (uint64_t i = 0; i < reader->host->wrappers.count && status == CUVET_OK; i++) {
        cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, i);

        if (wrapper->state == CV_HOST_SKIPPED)
            continue;
        wrapper->state =
            map_address(reader, wrapper->data, 1, &wrapper->target) ? CV_HOST_FOUND : CV_HOST_LOST;
        wrapper->target += wrapper->state == CV_HOST_FOUND ? reader->base : 0;
    }
    return status == CUVET_OK && reader->ctx->work_out ? CUVET_E_LIMIT : status;
}

/* ---- all of it ---- */

static cuvet_status report_lost(cv_host_read_ctx *reader)
{
    cv_keys order = { 0 };
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 0; i < reader->host->wrappers.count && status == CUVET_OK; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, i);

        if (wrapper->state == CV_HOST_FOUND &&
            !cv_keys_push(&reader->ctx->mem, &order, (cv_key){ wrapper->target, i }))
            status = cv_nomem(reader->ctx, wrapper->off);
        else if (wrapper->state != CV_HOST_FOUND && wrapper->state != CV_HOST_SKIPPED &&
                 !reader->host->searched)
            cv_report_at(reader->ctx, CUVET_P_WRAPPER, i, CV_R_HOST_WRAPPER_TARGET,
                         wrapper->off + CV_WRAPPER_DATA, 8, wrapper->data, 0);
    }
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.count && status == CUVET_OK; i++) {
        const cv_key *key = cv_keys_at(&order, i), *last = cv_keys_at(&order, i - (i > 0));
        const cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, key->index);

        if (i > 0 && key->key == last->key) {
            if (!reader->host->searched)
                cv_report_at(reader->ctx, CUVET_P_WRAPPER, key->index, CV_R_HOST_WRAPPER_TWICE, wrapper->off,
                             CV_WRAPPER_SIZE, key->key, last->index);
        } else if (!cv_u64s_push(&reader->ctx->mem, &reader->host->named, key->key)) {
            status = cv_nomem(reader->ctx, wrapper->off);
        }
    }
    cv_keys_free(&reader->ctx->mem, &order);
    return status;
}

static cuvet_status resolve_wrappers(cv_host_read_ctx *reader)
{
    uint32_t absolute = 0, relative = 0;
    cuvet_status status;

    if (reader->host->wrappers.count == 0)
        return CUVET_OK;
    if (!cv_hostobj_pointers(reader->header.machine, &absolute, &relative)) {
        cv_report(reader->ctx, CV_R_HOST_WRAPPER_HOST, reader->base + 18, 2, reader->header.machine, 64);
        for (uint64_t i = 0; i < reader->host->wrappers.count; i++)
            cv_host_wrappers_at(&reader->host->wrappers, i)->state = CV_HOST_SKIPPED;
        return CUVET_OK;
    }
    status = reader->header.type == CV_ELF_REL ? cv_host_resolve_object(reader, absolute)
                                               : resolve_loaded(reader, relative);
    return status == CUVET_OK ? report_lost(reader) : status;
}

cuvet_status cv_host_read_wrappers(cv_host_read_ctx *reader)
{
    bool loaded = reader->header.type == CV_ELF_EXEC || reader->header.type == CV_ELF_DYN;
    cuvet_status status = CUVET_OK;

    if (!loaded && reader->header.type != CV_ELF_REL)
        return CUVET_OK;
    if (loaded && !reader->header.is32 && (reader->host->sections.count > 0 || !reader->tables))
        status = read_loads(reader);
    if (status == CUVET_OK)
        check_mapping(reader);
    for (uint64_t i = 0; i < reader->host->sections.count && status == CUVET_OK; i++) {
        const cv_host_section *section = cv_host_sections_at(&reader->host->sections, i);

        if (section->kind == CV_HOSTOBJ_WRAPPERS && !reader->header.is32)
            status = read_records(reader, section);
        else if (section->kind == CV_HOSTOBJ_WRAPPERS)
            cv_report(reader->ctx, CV_R_HOST_WRAPPER_HOST, section->off, 0, reader->header.machine, 32);
    }
    if (status == CUVET_OK && !reader->tables && reader->loads.count > 0)
        status = search_records(reader);
    return status == CUVET_OK ? resolve_wrappers(reader) : status;
}
