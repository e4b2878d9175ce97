/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrappers of a host ELF and the containers they name. In a relocatable object a relocation of the section
 * says where a pointer leads; elsewhere the loader's view counts: program headers, and the relocations of the
 * dynamic section. */
#include "host/parts.h"

#define WRAPPERS_AT_ONCE UINT64_C(4096)
#define RELOCS_AT_ONCE   UINT64_C(8192)
/* Entries of the dynamic section that are looked at; real ones have a few dozen. */
#define DYNAMIC_MAX UINT64_C(1024)
#define ET_REL      1u
#define ET_EXEC     2u
#define ET_DYN      3u

enum { PT_DYNAMIC = 2, DT_NULL = 0, DT_RELA = 7, DT_RELASZ = 8, DT_RELAENT = 9 };

/* The two relocations that set a pointer: in objects, and in what is loaded. ELF psABI of each machine. */
static const struct {
    uint16_t machine;
    uint32_t absolute, relative;
} MACHINES[] = {
    { 62, 1, 8 },       /* x86-64 */
    { 183, 257, 1027 }, /* AArch64 */
    { 21, 38, 22 },     /* PowerPC 64 */
    { 243, 2, 3 },      /* RISC-V */
};

static bool machine_of(uint16_t machine, uint32_t *absolute, uint32_t *relative)
{
    for (size_t i = 0; i < CV_COUNT(MACHINES); i++)
        if (CV_AT(MACHINES, i).machine == machine) {
            *absolute = CV_AT(MACHINES, i).absolute;
            *relative = CV_AT(MACHINES, i).relative;
            return true;
        }
    return false;
}

/* ---- records ---- */

static cuvet_status add_wrapper(cv_host_read_ctx *r, const cv_wrapper *w, uint64_t off, uint64_t slot,
                                uint32_t section)
{
    cv_host_wrapper one = { off, slot, w->data, 0, w->version, section, CV_HOST_STORED };

    /* Each wrapper names a container of its own: the limit is the same. */
    if (r->host->wrappers.n >= r->ctx->lim.containers)
        return cv_reject(r->ctx, CV_R_LIMIT_CONTAINERS, off, r->host->wrappers.n + 1, r->ctx->lim.containers);
    return cv_host_wrappers_push(&r->ctx->mem, &r->host->wrappers, one) ? CUVET_OK : cv_nomem(r->ctx, off);
}

static cuvet_status read_records(cv_host_read_ctx *r, const cv_host_section *c)
{
    uint64_t count = c->size / CV_WRAPPER_SIZE;
    cuvet_status s = CUVET_OK;

    if (c->size % CV_WRAPPER_SIZE != 0)
        cv_report_at(r->ctx, CUVET_P_SECTION, c->index, CV_R_HOST_WRAPPER_SIZE, c->off, c->size, c->size,
                     CV_WRAPPER_SIZE);
    for (uint64_t i = 0; i < count && s == CUVET_OK; i++) {
        uint64_t in = i % WRAPPERS_AT_ONCE, at = i * CV_WRAPPER_SIZE;
        cv_wrapper w;

        if (in == 0) {
            s = cv_host_load(r, &r->part, c->off - r->base + at,
                             cv_min(count - i, WRAPPERS_AT_ONCE) * CV_WRAPPER_SIZE);
            if (s != CUVET_OK)
                return s;
        }
        cv_path_push(r->ctx, CUVET_P_WRAPPER, true, i);
        if (cv_wrapper_read(r->ctx, r->part.span, in, &w) == CUVET_OK)
            s = add_wrapper(r, &w, c->off + at,
                            cv_sat_add(r->header.type == ET_REL ? 0 : c->addr, at + CV_WRAPPER_DATA),
                            c->index);
        cv_path_pop(r->ctx);
    }
    return s;
}

/* No usable section table: look for the first eight bytes of a record, aligned like every genuine one. A hit
 * may be data. */
static cuvet_status search(cv_host_read_ctx *r)
{
    cv_window win = { 0 };
    uint64_t end = r->base + r->size, at = r->base;
    cuvet_status s = CUVET_OK;

    r->host->searched = true;
    if (!cv_work(r->ctx, r->size / 8, r->base))
        return CUVET_E_LIMIT;
    while (s == CUVET_OK && end - at >= CV_WRAPPER_SIZE) {
        cv_span part;
        uint64_t i = 0;

        s = cv_window_at(r->ctx, &win, r->src, at, CV_WRAPPER_SIZE, end, &part);
        for (; s == CUVET_OK && part.len - i >= CV_WRAPPER_SIZE; i += 8) {
            cv_wrapper w = { CV_WRAPPER_MAGIC, cv_u32_at(part, i + 4), cv_u64_at(part, i + 8),
                             cv_u64_at(part, i + 16) };

            if (CV_UNLIKELY(cv_wrapper_at(part, i)))
                s = add_wrapper(r, &w, at + i, 0, 0);
            if (s != CUVET_OK)
                break;
        }
        at += i;
    }
    cv_window_free(r->ctx, &win);
    return s;
}

/* ---- addresses ---- */

static cuvet_status read_loads(cv_host_read_ctx *r)
{
    uint64_t one = cv_elf_phdr_size(r->header.is32), n = r->header.phnum,
             left = r->size - cv_min(r->header.phoff, r->size);
    cuvet_status s;

    if (n == 0 || r->header.phoff == 0)
        return CUVET_OK;
    if (r->header.phentsize != one) {
        cv_report(r->ctx, CV_R_HOST_PHENTSIZE, r->base + cv_elf_ehdr_at(r->header.is32, CV_EH_PHENTSIZE), 2,
                  r->header.phentsize, one);
        return CUVET_OK;
    }
    if (n * one > left) {
        cv_report(r->ctx, CV_R_HOST_PHDR_RANGE, r->base + cv_min(r->header.phoff, r->size), 0, n * one, left);
        return CUVET_OK;
    }
    s = cv_host_load(r, &r->part, r->header.phoff, n * one);
    for (uint64_t i = 0; i < n && s == CUVET_OK; i++) {
        cv_elf_segment g;

        cv_elf_read_segment(r->part.span, r->header.is32, i, &g);
        if (g.type == PT_DYNAMIC)
            r->dynamic = g;
        if (g.type == CV_PT_LOAD && cv_host_has(r, g.off, g.filesz) && g.filesz > 0 &&
            !cv_host_loads_push(&r->ctx->mem, &r->loads, g))
            s = cv_nomem(r->ctx, r->base + r->header.phoff);
    }
    return s;
}

/* Offset in the region of len bytes at an address, from the last segment that holds them, as a loader maps.
 */
static bool map(cv_host_read_ctx *r, uint64_t addr, uint64_t len, uint64_t *off)
{
    if (!cv_work(r->ctx, r->loads.n, r->base + r->header.phoff))
        return false;
    for (uint64_t i = r->loads.n; i > 0; i--) {
        const cv_elf_segment *g = cv_host_loads_at(&r->loads, i - 1);

        if (addr >= g->vaddr && addr - g->vaddr < g->filesz && len <= g->filesz - (addr - g->vaddr)) {
            *off = g->off + (addr - g->vaddr);
            return true;
        }
    }
    return false;
}

/* The other way: address of a place in the region. */
static bool address_of(cv_host_read_ctx *r, uint64_t off, uint64_t *addr)
{
    if (!cv_work(r->ctx, r->loads.n, r->base + off))
        return false;
    for (uint64_t i = r->loads.n; i > 0; i--) {
        const cv_elf_segment *g = cv_host_loads_at(&r->loads, i - 1);

        if (off >= g->off && off - g->off < g->filesz)
            return cv_add(g->vaddr, off - g->off, addr);
    }
    return false;
}

static void check_mapping(cv_host_read_ctx *r)
{
    for (uint64_t i = 0; i < r->host->sections.n; i++) {
        const cv_host_section *c = cv_host_sections_at(&r->host->sections, i);
        uint64_t off = 0;

        if (c->addr != 0 && c->size != 0 && map(r, c->addr, 1, &off) && r->base + off != c->off)
            cv_report_at(r->ctx, CUVET_P_SECTION, c->index, CV_R_HOST_SECTION_MAPPING, c->off, c->size,
                         c->off, r->base + off);
    }
}

/* ---- relocations of what is loaded ---- */

static cuvet_status sort_slots(cv_host_read_ctx *r)
{
    if (!cv_work(r->ctx, r->host->wrappers.n * 8, r->base))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < r->host->wrappers.n; i++) {
        cv_host_wrapper *w = cv_host_wrappers_at(&r->host->wrappers, i);
        cv_key k = { 0, i };

        if (r->host->searched && !address_of(r, w->off - r->base + CV_WRAPPER_DATA, &w->slot))
            continue; /* not loaded: nothing relocates it */
        k.key = w->slot;
        if (!cv_keys_push(&r->ctx->mem, &r->slots, k))
            return cv_nomem(r->ctx, w->off);
    }
    cv_keys_sort(&r->slots);
    return CUVET_OK;
}

/* One relocation sets the pointer of a wrapper. */
static void relocate(cv_host_read_ctx *r, cv_host_wrapper *w, const cv_elf_reloc *e, uint64_t off,
                     uint32_t relative)
{
    uint64_t value = (uint64_t)e->addend;

    if (e->type != relative) {
        w->state = CV_HOST_SKIPPED;
        if (!r->host->searched)
            cv_report(r->ctx, CV_R_HOST_RELOC_TYPE, off, 0, e->type, relative);
        return;
    }
    if (w->state == CV_HOST_STORED && w->data != 0 && w->data != value && !r->host->searched)
        cv_report(r->ctx, CV_R_HOST_WRAPPER_ADDEND, w->off + CV_WRAPPER_DATA, 8, w->data, value);
    w->state = CV_HOST_RELOCATED;
    w->data = value;
}

static bool apply(cv_host_read_ctx *r, uint64_t n, uint32_t relative)
{
    uint64_t low = cv_keys_at(&r->slots, 0)->key, high = cv_keys_at(&r->slots, r->slots.n - 1)->key;

    for (uint64_t i = 0; i < n; i++) {
        /* Most relocations have nothing to do with wrappers: only the place is looked at. */
        uint64_t at = i * 24, place = cv_u64_at(r->part.span, at);
        cv_elf_reloc e;

        if (CV_LIKELY(place < low || place > high))
            continue;
        if (!cv_work(r->ctx, 16, r->part.span.off + at))
            return false;
        cv_elf_read_reloc(r->part.span, false, true, i, &e);
        for (uint64_t k = cv_keys_lower_bound(&r->slots, place);
             k < r->slots.n && cv_keys_at(&r->slots, k)->key == place; k++) {
            if (!cv_work(r->ctx, 1, r->part.span.off + at))
                return false;
            relocate(r, cv_host_wrappers_at(&r->host->wrappers, cv_keys_at(&r->slots, k)->index), &e,
                     r->part.span.off + at, relative);
        }
    }
    return true;
}

static cuvet_status read_dynamic_relocs(cv_host_read_ctx *r, uint64_t addr, uint64_t bytes, uint32_t relative)
{
    uint64_t off = 0, count = bytes / 24;
    cuvet_status s = CUVET_OK;

    if (!map(r, addr, bytes, &off)) {
        cv_report(r->ctx, CV_R_HOST_DYNAMIC, r->base + cv_min(r->dynamic.off, r->size), 0, bytes, addr);
        return CUVET_OK;
    }
    if (count > r->ctx->lim.symbols)
        return cv_reject(r->ctx, CV_R_LIMIT_RELOCS, r->base + off, count, r->ctx->lim.symbols);
    if (!cv_work(r->ctx, count, r->base + off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < count && s == CUVET_OK; i += RELOCS_AT_ONCE) {
        uint64_t n = cv_min(count - i, RELOCS_AT_ONCE);

        s = cv_host_load(r, &r->part, off + i * 24, n * 24);
        if (s == CUVET_OK && !apply(r, n, relative))
            s = CUVET_E_LIMIT;
    }
    return s;
}

/* Where the dynamic section says that relocations are: the loader knows no other place. */
static cuvet_status read_dynamic(cv_host_read_ctx *r, uint32_t relative)
{
    uint64_t addr = 0, bytes = 0, entry = 24, n = cv_min(r->dynamic.filesz / 16, DYNAMIC_MAX);
    cuvet_status s;

    if (r->dynamic.filesz == 0 || r->slots.n == 0)
        return CUVET_OK;
    if (!cv_host_has(r, r->dynamic.off, r->dynamic.filesz)) {
        cv_report(r->ctx, CV_R_HOST_DYNAMIC, r->base + cv_min(r->dynamic.off, r->size), 0, r->dynamic.filesz,
                  r->dynamic.off);
        return CUVET_OK;
    }
    s = cv_host_load(r, &r->part, r->dynamic.off, n * 16);
    for (uint64_t i = 0; i < n && s == CUVET_OK && cv_u64_at(r->part.span, i * 16) != DT_NULL; i++) {
        uint64_t tag = cv_u64_at(r->part.span, i * 16), value = cv_u64_at(r->part.span, i * 16 + 8);

        addr = tag == DT_RELA ? value : addr;
        bytes = tag == DT_RELASZ ? value : bytes;
        entry = tag == DT_RELAENT ? value : entry;
    }
    if (s != CUVET_OK || bytes == 0)
        return s;
    if (entry != 24) {
        cv_report(r->ctx, CV_R_HOST_RELOC_ENTRY, r->base + r->dynamic.off, 0, entry, 24);
        return CUVET_OK;
    }
    return read_dynamic_relocs(r, addr, bytes, relative);
}

static cuvet_status resolve_loaded(cv_host_read_ctx *r, uint32_t relative)
{
    cuvet_status s = sort_slots(r);

    if (s == CUVET_OK)
        s = read_dynamic(r, relative);
    for (uint64_t i = 0; i < r->host->wrappers.n && s == CUVET_OK; i++) {
        cv_host_wrapper *w = cv_host_wrappers_at(&r->host->wrappers, i);

        if (w->state == CV_HOST_SKIPPED)
            continue;
        w->state = map(r, w->data, 1, &w->target) ? CV_HOST_FOUND : CV_HOST_LOST;
        w->target += w->state == CV_HOST_FOUND ? r->base : 0;
    }
    return s == CUVET_OK && r->ctx->work_out ? CUVET_E_LIMIT : s;
}

/* ---- all of it ---- */

static cuvet_status report_lost(cv_host_read_ctx *r)
{
    cv_keys order = { 0 };
    cuvet_status s = CUVET_OK;

    for (uint64_t i = 0; i < r->host->wrappers.n && s == CUVET_OK; i++) {
        const cv_host_wrapper *w = cv_host_wrappers_at(&r->host->wrappers, i);

        if (w->state == CV_HOST_FOUND && !cv_keys_push(&r->ctx->mem, &order, (cv_key){ w->target, i }))
            s = cv_nomem(r->ctx, w->off);
        else if (w->state != CV_HOST_FOUND && w->state != CV_HOST_SKIPPED && !r->host->searched)
            cv_report_at(r->ctx, CUVET_P_WRAPPER, i, CV_R_HOST_WRAPPER_TARGET, w->off + CV_WRAPPER_DATA, 8,
                         w->data, 0);
    }
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.n && s == CUVET_OK; i++) {
        const cv_key *k = cv_keys_at(&order, i), *last = cv_keys_at(&order, i - (i > 0));
        const cv_host_wrapper *w = cv_host_wrappers_at(&r->host->wrappers, k->index);

        if (i > 0 && k->key == last->key) {
            if (!r->host->searched)
                cv_report_at(r->ctx, CUVET_P_WRAPPER, k->index, CV_R_HOST_WRAPPER_TWICE, w->off,
                             CV_WRAPPER_SIZE, k->key, last->index);
        } else if (!cv_u64s_push(&r->ctx->mem, &r->host->named, k->key)) {
            s = cv_nomem(r->ctx, w->off);
        }
    }
    cv_keys_free(&r->ctx->mem, &order);
    return s;
}

static cuvet_status resolve(cv_host_read_ctx *r)
{
    uint32_t absolute = 0, relative = 0;
    cuvet_status s;

    if (r->host->wrappers.n == 0)
        return CUVET_OK;
    if (!machine_of(r->header.machine, &absolute, &relative)) {
        cv_report(r->ctx, CV_R_HOST_WRAPPER_HOST, r->base + 18, 2, r->header.machine, 64);
        for (uint64_t i = 0; i < r->host->wrappers.n; i++)
            cv_host_wrappers_at(&r->host->wrappers, i)->state = CV_HOST_SKIPPED;
        return CUVET_OK;
    }
    s = r->header.type == ET_REL ? cv_host_resolve_object(r, absolute) : resolve_loaded(r, relative);
    return s == CUVET_OK ? report_lost(r) : s;
}

cuvet_status cv_host_read_wrappers(cv_host_read_ctx *r)
{
    bool loaded = r->header.type == ET_EXEC || r->header.type == ET_DYN;
    cuvet_status s = CUVET_OK;

    if (!loaded && r->header.type != ET_REL)
        return CUVET_OK;
    if (loaded && !r->header.is32 && (r->host->sections.n > 0 || !r->tables))
        s = read_loads(r);
    if (s == CUVET_OK)
        check_mapping(r);
    for (uint64_t i = 0; i < r->host->sections.n && s == CUVET_OK; i++) {
        const cv_host_section *c = cv_host_sections_at(&r->host->sections, i);

        if (c->kind == CV_HOSTOBJ_WRAPPERS && !r->header.is32)
            s = read_records(r, c);
        else if (c->kind == CV_HOSTOBJ_WRAPPERS)
            cv_report(r->ctx, CV_R_HOST_WRAPPER_HOST, c->off, 0, r->header.machine, 32);
    }
    if (s == CUVET_OK && !r->tables && r->loads.n > 0)
        s = search(r);
    return s == CUVET_OK ? resolve(r) : s;
}
