/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrappers of a host ELF and the containers they name. In a relocatable object a relocation of the section
 * says where a pointer leads; elsewhere the loader's view counts: program headers, and the relocations of the
 * dynamic section. */
#include "host/parts.h"

#define WRAPPERS_AT_ONCE UINT64_C(4096)

/* ---- records ---- */

cuvet_status cv_host_add_wrapper(cv_host_read_ctx *reader, const cv_wrapper *wrapper, uint64_t off,
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
            status = cv_host_add_wrapper(
                reader, &wrapper, section->off + at,
                cv_sat_add(reader->header.type == CV_ELF_REL ? 0 : section->addr, at + CV_WRAPPER_DATA),
                section->index);
        cv_path_pop(reader->ctx);
    }
    return status;
}

/* ---- addresses ---- */

/* Its address is loaded from 'off' in the region. */
static void check_place(cv_host_read_ctx *reader, const cv_host_section *section, uint64_t off)
{
    uint64_t last = 0;

    /* The first byte may be another's, or the last. */
    if (reader->base + off == section->off &&
        cv_host_map(reader, cv_sat_add(section->addr, section->size - 1), 1, &last))
        off = cv_wrap_sub(last, section->size - 1);
    if (cv_wrap_add(reader->base, off) != section->off)
        cv_report_at(reader->ctx, CUVET_P_SECTION, section->index, CV_R_HOST_SECTION_MAPPING, section->off,
                     section->size, section->off, cv_wrap_add(reader->base, off));
}

static void check_mapping(cv_host_read_ctx *reader)
{
    for (uint64_t i = 0; i < reader->host->sections.count; i++) {
        const cv_host_section *section = cv_host_sections_at(&reader->host->sections, i);
        bool records = section->kind == CV_HOSTOBJ_WRAPPERS && reader->host->loads.count > 0;
        uint64_t off = 0;

        if (section->size == 0)
            continue;
        if (records && (!cv_host_address(reader, section->off - reader->base, &off) ||
                        !cv_host_map(reader, section->addr, 1, &off)))
            cv_report_at(reader->ctx, CUVET_P_SECTION, section->index, CV_R_HOST_WRAPPER_UNLOADED,
                         section->off, section->size, section->addr, 0);
        else if ((section->addr == 0 && !records) || !cv_host_map(reader, section->addr, 1, &off))
            continue;
        else
            check_place(reader, section, off);
    }
}

/* ---- relocations of what is loaded ---- */

static cuvet_status sort_slots(cv_host_read_ctx *reader, uint64_t first)
{
    if (!cv_work(reader->ctx, reader->host->wrappers.count * 8, reader->base))
        return CUVET_E_LIMIT;
    cv_keys_clear(&reader->slots);
    for (uint64_t i = first; i < reader->host->wrappers.count; i++) {
        cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, i);
        cv_key key = { 0, i };

        /* The loader goes by segments, whatever the section says. */
        if (!cv_host_address(reader, wrapper->off - reader->base + CV_WRAPPER_DATA, &wrapper->slot) &&
            wrapper->section == 0)
            continue; /* at no address: nothing relocates it */
        key.key = wrapper->slot;
        if (!cv_keys_push(&reader->ctx->mem, &reader->slots, key))
            return cv_nomem(reader->ctx, wrapper->off);
    }
    cv_keys_sort(&reader->slots);
    return CUVET_OK;
}

/* One relocation sets the pointer of a wrapper. */
static void relocate_wrapper(cv_host_read_ctx *reader, cv_host_wrapper *wrapper, const cv_host_write *write,
                             uint32_t relative)
{
    uint64_t value = write->has_addend ? write->addend : wrapper->data;
    bool packed = write->table == CV_HOST_RELR;

    if (!packed && write->type != relative) {
        wrapper->state = CV_HOST_SKIPPED;
        if (!reader->quiet)
            cv_report(reader->ctx, CV_R_HOST_RELOC_TYPE, write->off, 0, write->type, relative);
        return;
    }
    if (wrapper->state == CV_HOST_STORED && wrapper->data != 0 && wrapper->data != value && !reader->quiet)
        cv_report(reader->ctx, CV_R_HOST_WRAPPER_ADDEND, wrapper->off + CV_WRAPPER_DATA, 8, wrapper->data,
                  value);
    wrapper->state = CV_HOST_RELOCATED;
    wrapper->data = value;
}

/* Pointers are set once, as a whole, and by relocations of the two tables in which linkers put them. */
static cuvet_status visit_wrappers(cv_host_read_ctx *reader, const cv_host_write *write, void *user)
{
    const uint32_t *relative = user;
    uint64_t end = cv_sat_add(write->place, write->len), count = reader->slots.count,
             first = write->place - cv_min(write->place, CV_WRAPPER_SIZE - CV_WRAPPER_DATA - 1);
    bool plain = write->table == CV_HOST_RELA || write->table == CV_HOST_RELR, said = reader->quiet;

    for (uint64_t k = cv_keys_lower_bound(&reader->slots, first); k < count; k++) {
        uint64_t slot = cv_keys_at(&reader->slots, k)->key;
        cv_host_wrapper *wrapper =
            cv_host_wrappers_at(&reader->host->wrappers, cv_keys_at(&reader->slots, k)->index);
        bool second = write->place == slot + (CV_WRAPPER_SECOND - CV_WRAPPER_DATA) && write->len == 8;

        if (slot >= cv_sat_add(end, CV_WRAPPER_DATA))
            break;
        if (!cv_work(reader->ctx, 1, write->off))
            return CUVET_E_LIMIT;
        if (!said && (!plain || !(write->place == slot || second) || write->len != 8 ||
                      (!second && wrapper->state != CV_HOST_STORED))) {
            cv_report(reader->ctx, CV_R_HOST_RELOC_WRAPPER, write->off, 0, write->len,
                      cv_wrap_add(wrapper->off, cv_wrap_sub(write->place, slot - CV_WRAPPER_DATA)));
            said = true;
        }
        if (write->place == slot)
            relocate_wrapper(reader, wrapper, write, *relative);
    }
    return CUVET_OK;
}

/* ---- all pointers ---- */

static cuvet_status relocate_wrappers(cv_host_read_ctx *reader, uint32_t relative)
{
    uint64_t count = reader->slots.count;
    cv_host_relocs relocs;
    cuvet_status status;

    if (reader->host->dynamic.type == 0 || count == 0)
        return CUVET_OK;
    status = cv_host_read_dynamic(reader, &relocs);
    if (status != CUVET_OK)
        return status;
    return cv_host_each_write(
        reader, &relocs,
        cv_keys_at(&reader->slots, 0)->key - cv_min(cv_keys_at(&reader->slots, 0)->key, CV_WRAPPER_DATA),
        cv_sat_add(cv_keys_at(&reader->slots, count - 1)->key, CV_WRAPPER_SIZE - CV_WRAPPER_DATA),
        visit_wrappers, &relative);
}

cuvet_status cv_host_resolve_loaded(cv_host_read_ctx *reader, uint64_t first, uint32_t relative)
{
    cuvet_status status = sort_slots(reader, first);

    if (status == CUVET_OK)
        status = relocate_wrappers(reader, relative);
    for (uint64_t i = first; i < reader->host->wrappers.count && status == CUVET_OK; i++) {
        cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, i);

        if (!reader->quiet && wrapper->state == CV_HOST_STORED && wrapper->data == 0) {
            cv_report_at(reader->ctx, CUVET_P_WRAPPER, i, CV_R_HOST_WRAPPER_NULL,
                         wrapper->off + CV_WRAPPER_DATA, 8, 0, 0);
            wrapper->state = CV_HOST_SKIPPED;
        }
        if (wrapper->state == CV_HOST_SKIPPED)
            continue;
        wrapper->state =
            cv_host_map(reader, wrapper->data, 1, &wrapper->target) ? CV_HOST_FOUND : CV_HOST_LOST;
        wrapper->target += wrapper->state == CV_HOST_FOUND ? reader->base : 0;
    }
    return status == CUVET_OK && reader->ctx->work_out ? CUVET_E_LIMIT : status;
}

/* ---- all of it ---- */

/* Those before 'first' were judged before. */
static cuvet_status report_lost(cv_host_read_ctx *reader, uint64_t first)
{
    cv_keys order = { 0 };
    cuvet_status status = CUVET_OK;

    cv_u64s_clear(&reader->host->named);
    for (uint64_t i = 0; i < reader->host->wrappers.count && status == CUVET_OK; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, i);

        if (wrapper->state == CV_HOST_FOUND &&
            !cv_keys_push(&reader->ctx->mem, &order, (cv_key){ wrapper->target, i }))
            status = cv_nomem(reader->ctx, wrapper->off);
        else if (wrapper->state != CV_HOST_FOUND && wrapper->state != CV_HOST_SKIPPED && i >= first)
            cv_report_at(reader->ctx, CUVET_P_WRAPPER, i, CV_R_HOST_WRAPPER_TARGET,
                         wrapper->off + CV_WRAPPER_DATA, 8, wrapper->data, 0);
    }
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.count && status == CUVET_OK; i++) {
        const cv_key *key = cv_keys_at(&order, i), *last = cv_keys_at(&order, i - (i > 0));
        const cv_host_wrapper *wrapper = cv_host_wrappers_at(&reader->host->wrappers, key->index);

        if (i > 0 && key->key == last->key) {
            if (key->index >= first)
                cv_report_at(reader->ctx, CUVET_P_WRAPPER, key->index, CV_R_HOST_WRAPPER_TWICE, wrapper->off,
                             CV_WRAPPER_SIZE, key->key, last->index);
        } else if (!cv_u64s_push(&reader->ctx->mem, &reader->host->named, key->key)) {
            status = cv_nomem(reader->ctx, wrapper->off);
        }
    }
    cv_keys_free(&reader->ctx->mem, &order);
    return status;
}

cuvet_status cv_host_resolve(cv_host_read_ctx *reader, uint64_t first)
{
    uint32_t absolute = 0, relative = 0;
    cuvet_status status;

    if (reader->host->wrappers.count == 0)
        return CUVET_OK;
    if (!cv_hostobj_pointers(reader->header.machine, &absolute, &relative)) {
        cv_report(reader->ctx, CV_R_HOST_WRAPPER_HOST, reader->base + 18, 2, reader->header.machine, 64);
        for (uint64_t i = first; i < reader->host->wrappers.count; i++)
            cv_host_wrappers_at(&reader->host->wrappers, i)->state = CV_HOST_SKIPPED;
        return CUVET_OK;
    }
    status = reader->header.type == CV_ELF_REL ? cv_host_resolve_object(reader, absolute)
                                               : cv_host_resolve_loaded(reader, first, relative);
    return status == CUVET_OK ? report_lost(reader, first) : status;
}

cuvet_status cv_host_read_wrappers(cv_host_read_ctx *reader)
{
    bool loaded = reader->header.type == CV_ELF_EXEC || reader->header.type == CV_ELF_DYN;
    cuvet_status status = CUVET_OK;

    if (!loaded && reader->header.type != CV_ELF_REL)
        return CUVET_OK;
    if (loaded && (!reader->tables || (!reader->header.is32 && reader->host->sections.count > 0)))
        status = cv_host_read_loads(reader);
    if (status == CUVET_OK)
        check_mapping(reader);
    for (uint64_t i = 0; i < reader->host->sections.count && status == CUVET_OK; i++) {
        const cv_host_section *section = cv_host_sections_at(&reader->host->sections, i);

        if (section->kind == CV_HOSTOBJ_WRAPPERS && !reader->header.is32)
            status = read_records(reader, section);
        else if (section->kind == CV_HOSTOBJ_WRAPPERS)
            cv_report(reader->ctx, CV_R_HOST_WRAPPER_HOST, section->off, 0, reader->header.machine, 32);
    }
    if (status == CUVET_OK && !reader->tables && reader->host->loads.count > 0)
        status = cv_host_search_wrappers(reader);
    return status == CUVET_OK ? cv_host_resolve(reader, 0) : status;
}
