/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/host.h"

#include "host/parts.h"

/* Section headers that are read at once. */
#define HEADERS_AT_ONCE UINT64_C(2048)
/* A name table is read whole, because names of a linked file lie in it in any order. */
#define NAMES_MAX    (16 * CV_MIB)
#define TEXT_AT_ONCE (64 * CV_KIB)

cuvet_status cv_host_load(cv_host_read_ctx *r, cv_block *b, uint64_t off, uint64_t len)
{
    /* Reading costs: a hostile table must not make the same bytes be read without end. */
    if (!cv_work(r->ctx, len + 8, r->base + off))
        return CUVET_E_LIMIT;
    return cv_block_load(r->ctx, b, r->src, r->base + off, len);
}

cuvet_status cv_host_header(cv_host_read_ctx *r, uint64_t i, cv_elf_section *out)
{
    uint64_t one = cv_elf_shdr_size(r->header.is32), n;
    cuvet_status s;

    if (i < r->first || i - r->first >= r->n_headers) {
        n = cv_min(HEADERS_AT_ONCE, r->n_sections - i);
        r->n_headers = 0;
        s = cv_host_load(r, &r->headers, r->header.shoff + i * one, n * one);
        if (s != CUVET_OK)
            return s;
        r->first = i;
        r->n_headers = n;
    }
    cv_elf_read_section(r->headers.span, r->header.is32, i - r->first, out);
    return CUVET_OK;
}

/* The file header. *usable: there is more to read. */
static cuvet_status read_header(cv_host_read_ctx *r, bool *usable)
{
    cuvet_status s = cv_host_load(r, &r->part, 0, cv_min(r->size, 64));
    cv_span head = r->part.span;
    uint8_t class = cv_u8_at(head, 4), data = cv_u8_at(head, 5), version = cv_u8_at(head, 6);

    if (s != CUVET_OK)
        return s;
    if (head.len < 16) {
        cv_report(r->ctx, CV_R_HOST_TRUNCATED, head.off, head.len, head.len, 64);
    } else if ((class != 1 && class != 2) || (data != 1 && data != 2) || version != 1) {
        cv_report(r->ctx, CV_R_HOST_IDENT, head.off + 4, 3,
                  (uint64_t) class << 16 | (uint64_t)data << 8 | version, 0);
    } else if (data == 2) {
        cv_report(r->ctx, CV_R_HOST_BIG_ENDIAN, head.off + 5, 1, data, 1);
    } else if (!cv_elf_peek(head, &r->header)) {
        cv_report(r->ctx, CV_R_HOST_TRUNCATED, head.off, head.len, head.len, cv_elf_ehdr_size(class == 1));
    } else {
        *usable = true;
        r->host->is32 = r->header.is32;
        r->host->type = r->header.type;
        r->host->machine = r->header.machine;
    }
    return CUVET_OK;
}

/* Number of sections and index of the name table, with the extended numbering of section 0. */
static cuvet_status read_counts(cv_host_read_ctx *r)
{
    uint64_t one = cv_elf_shdr_size(r->header.is32), left = r->size - cv_min(r->header.shoff, r->size),
             bytes = UINT64_MAX;
    cv_elf_section zero;
    cuvet_status s;

    if (r->header.shoff == 0)
        return CUVET_OK;
    if (r->header.shentsize != one) {
        cv_report(r->ctx, CV_R_HOST_SHENTSIZE, r->base + cv_elf_ehdr_at(r->header.is32, CV_EH_SHENTSIZE), 2,
                  r->header.shentsize, one);
        return CUVET_OK;
    }
    r->n_sections = 1;
    if (left >= one) {
        s = cv_host_header(r, 0, &zero);
        if (s != CUVET_OK)
            return s;
        r->n_headers = 0; /* one header only: the next reader wants a run of them */
        r->n_sections = r->header.shnum != 0 ? r->header.shnum : zero.size;
        r->names_index = r->header.shstrndx == CV_SHN_XINDEX ? zero.link : r->header.shstrndx;
    }
    if (!cv_mul(r->n_sections, one, &bytes) || bytes > left) {
        cv_report(r->ctx, CV_R_HOST_SHDR_RANGE, r->base + cv_min(r->header.shoff, r->size), 0, bytes, left);
        return CUVET_OK;
    }
    if (r->n_sections > r->ctx->lim.sections)
        return cv_reject(r->ctx, CV_R_LIMIT_SECTIONS, r->base + r->header.shoff, r->n_sections,
                         r->ctx->lim.sections);
    r->tables = r->n_sections > 1;
    return CUVET_OK;
}

/* Load the names. Without them the sections cannot be told apart: then tables becomes false. */
static cuvet_status read_names(cv_host_read_ctx *r)
{
    cv_elf_section t;
    cuvet_status s;
    uint64_t left;

    if (!r->tables || r->names_index == 0) {
        r->tables = false;
        return CUVET_OK;
    }
    r->tables = false;
    if (r->names_index >= r->n_sections) {
        cv_report(r->ctx, CV_R_HOST_SHSTRNDX, r->base + cv_elf_ehdr_at(r->header.is32, CV_EH_SHSTRNDX), 2,
                  r->names_index, r->n_sections);
        return CUVET_OK;
    }
    s = cv_host_header(r, r->names_index, &t);
    if (s != CUVET_OK)
        return s;
    left = r->size - cv_min(t.off, r->size);
    if (t.type != CV_SHT_STRTAB) {
        /* Files of debug information alone keep headers without bytes. */
        if (t.type != CV_SHT_NOBITS)
            cv_report(r->ctx, CV_R_HOST_SHSTRNDX, r->base + cv_elf_ehdr_at(r->header.is32, CV_EH_SHSTRNDX), 2,
                      r->names_index, r->n_sections);
    } else if (t.size > left) {
        cv_report(r->ctx, CV_R_HOST_NAMES_RANGE, r->base + cv_min(t.off, r->size), 0, t.size, left);
    } else if (t.size > NAMES_MAX) {
        cv_report(r->ctx, CV_R_HOST_NAMES_SIZE, r->base + t.off, t.size, t.size, NAMES_MAX);
    } else {
        s = cv_host_load(r, &r->names, t.off, t.size);
        r->tables = s == CUVET_OK;
    }
    return s;
}

/* Keep a section of interest if its bytes are there. */
static cuvet_status keep(cv_host_read_ctx *r, const cv_elf_section *e, uint64_t i, cv_hostobj_kind kind)
{
    uint64_t left = r->size - cv_min(e->off, r->size), at = r->base + cv_min(e->off, r->size);
    cv_host_section keep = { at, e->size, e->addr, (uint32_t)i, kind };

    /* Files of debug information alone keep the headers of what is loaded without the bytes. */
    if (e->type == CV_SHT_NOBITS && r->header.type != CV_ELF_REL)
        return CUVET_OK;
    if (e->type != CV_SHT_PROGBITS)
        cv_report_at(r->ctx, CUVET_P_SECTION, i, CV_R_HOST_SECTION_TYPE, at, 0, e->type, CV_SHT_PROGBITS);
    if (e->type == CV_SHT_NOBITS)
        return CUVET_OK;
    if (e->size > left) {
        cv_report_at(r->ctx, CUVET_P_SECTION, i, CV_R_HOST_SECTION_RANGE, at, 0, e->size, left);
        return CUVET_OK;
    }
    if (e->flags & CV_SHF_COMPRESSED) {
        cv_report_at(r->ctx, CUVET_P_SECTION, i, CV_R_HOST_SECTION_COMPRESSED, at, e->size, e->size, 0);
        return CUVET_OK;
    }
    return cv_host_sections_push(&r->ctx->mem, &r->host->sections, keep) ? CUVET_OK : cv_nomem(r->ctx, at);
}

/* Thousands of small ones lie beside each other, and no container fits between them. */
static bool grows(cv_host_range *last, const cv_host_range *here)
{
    if (last->use != here->use || here->off < last->off || here->off > last->end + 16)
        return false;
    last->end = cv_max(last->end, here->end);
    return true;
}

/* What a section without a name of interest is for. Data that is not loaded, but marked to be left out by the
 * linker, is other compilers' way to carry device code. */
static cuvet_status note_use(cv_host_read_ctx *r, const cv_elf_section *e)
{
    cv_host_ranges *all = &r->host->ranges;
    bool data =
        e->type == CV_SHT_PROGBITS &&
        ((e->flags & CV_SHF_EXCLUDE) || (e->flags & (CV_SHF_ALLOC | CV_SHF_EXECINSTR)) == CV_SHF_ALLOC);
    cv_host_range here = { r->base + e->off, r->base + e->off + e->size,
                           data ? CV_HOST_DATA : CV_HOST_NO_DATA };

    if (e->type == CV_SHT_NULL || e->type == CV_SHT_NOBITS || e->size == 0 || e->off > r->size ||
        e->size > r->size - e->off)
        return CUVET_OK;
    if (all->n > 0 && grows(cv_host_ranges_at(all, all->n - 1), &here))
        return CUVET_OK;
    return cv_host_ranges_push(&r->ctx->mem, all, here) ? CUVET_OK : cv_nomem(r->ctx, here.off);
}

cv_host_use cv_host_use_at(const cv_host *h, uint64_t off)
{
    cv_host_use use = CV_HOST_OUTSIDE;

    for (uint64_t i = 0; i < h->ranges.n; i++) {
        const cv_host_range *p = cv_host_ranges_at(&h->ranges, i);

        if (off >= p->off && off < p->end && p->use > use)
            use = p->use;
    }
    return use;
}

/* A name of interest is short: look at no more than that. */
static cv_hostobj_kind kind_of(const cv_host_read_ctx *r, const cv_elf_section *e)
{
    cv_span name, z;

    if (e->name >= r->names.span.len)
        return CV_HOSTOBJ_OTHER;
    name = cv_span_tail(r->names.span, e->name);
    name.len = cv_min(name.len, CV_HOSTOBJ_NAME);
    return cv_span_cstr(name, 0, &z) ? cv_hostobj_section(z) : CV_HOSTOBJ_OTHER;
}

static cuvet_status read_sections(cv_host_read_ctx *r)
{
    cuvet_status s = CUVET_OK;

    if (!r->tables || !cv_work(r->ctx, r->n_sections * 4, r->base + r->header.shoff))
        return r->tables ? CUVET_E_LIMIT : CUVET_OK;
    for (uint64_t i = 1; i < r->n_sections && s == CUVET_OK; i++) {
        cv_elf_section e;
        cv_hostobj_kind kind;

        s = cv_host_header(r, i, &e);
        if (s != CUVET_OK)
            break;
        if (e.name >= r->names.span.len && e.name != 0) {
            cv_report_at(r->ctx, CUVET_P_SECTION, i, CV_R_HOST_NAME_OFFSET,
                         r->base + r->header.shoff + i * cv_elf_shdr_size(r->header.is32), 4, e.name,
                         r->names.span.len);
            continue;
        }
        kind = kind_of(r, &e);
        s = kind != CV_HOSTOBJ_OTHER ? keep(r, &e, i, kind) : note_use(r, &e);
    }
    return s;
}

/* A section table may name its sections in any order. */
static cuvet_status sort_sections(cv_host_read_ctx *r)
{
    cv_host_sections *all = &r->host->sections, sorted = { 0 };
    cv_keys order = { 0 };
    bool room = true;

    for (uint64_t i = 0; i < all->n && room; i++)
        room = cv_keys_push(&r->ctx->mem, &order, (cv_key){ cv_host_sections_at(all, i)->off, i });
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.n && room; i++)
        room = cv_host_sections_push(&r->ctx->mem, &sorted,
                                     *cv_host_sections_at(all, cv_keys_at(&order, i)->index));
    cv_keys_free(&r->ctx->mem, &order);
    cv_host_sections_free(&r->ctx->mem, room ? all : &sorted);
    if (room)
        *all = sorted;
    return room ? CUVET_OK : cv_nomem(r->ctx, r->base);
}

/* Module ids and host references are strings; long ones are read in parts. */
static cuvet_status check_text(cv_host_read_ctx *r)
{
    for (uint64_t k = 0; k < r->host->sections.n; k++) {
        const cv_host_section *c = cv_host_sections_at(&r->host->sections, k);
        bool good =
            c->kind == CV_HOSTOBJ_MODULE_ID || c->kind == CV_HOSTOBJ_REFS || c->kind == CV_HOSTOBJ_KERNELS;

        for (uint64_t at = 0; good && at < c->size; at += TEXT_AT_ONCE) {
            uint64_t n = cv_min(TEXT_AT_ONCE, c->size - at);
            /* Many sections may lie over the same bytes. */
            cuvet_status s = cv_work(r->ctx, n * 4, c->off) ? CUVET_OK : CUVET_E_LIMIT;

            if (s == CUVET_OK)
                s = cv_host_load(r, &r->part, c->off - r->base + at, n);

            if (s != CUVET_OK)
                return s;
            cv_path_push(r->ctx, CUVET_P_SECTION, true, c->index);
            good = cv_hostobj_check_text(r->ctx, r->part.span, at + n == c->size);
            cv_path_pop(r->ctx);
        }
    }
    return CUVET_OK;
}

cuvet_status cv_host_read(cv_ctx *x, const cuvet_source *src, uint64_t base, uint64_t size, cv_host *out)
{
    cv_host_read_ctx r = { .ctx = x, .src = src, .base = base, .size = size, .host = out };
    bool usable = false;
    cuvet_status s;

    out->base = base;
    out->size = size;
    cv_path_push(x, CUVET_P_HOST, false, 0);
    s = read_header(&r, &usable);
    if (s == CUVET_OK && usable)
        s = read_counts(&r);
    if (s == CUVET_OK && usable)
        s = read_names(&r);
    if (s == CUVET_OK && usable)
        s = read_sections(&r);
    if (s == CUVET_OK)
        s = sort_sections(&r);
    if (s == CUVET_OK && usable)
        s = check_text(&r);
    if (s == CUVET_OK && usable)
        s = cv_host_read_wrappers(&r);
    cv_path_pop(x);
    cv_block_free(x, &r.headers);
    cv_block_free(x, &r.names);
    cv_block_free(x, &r.part);
    cv_host_loads_free(&x->mem, &r.loads);
    cv_keys_free(&x->mem, &r.slots);
    return s;
}

void cv_host_free(cv_ctx *x, cv_host *h)
{
    cv_host_sections_free(&x->mem, &h->sections);
    cv_host_ranges_free(&x->mem, &h->ranges);
    cv_host_wrappers_free(&x->mem, &h->wrappers);
    cv_u64s_free(&x->mem, &h->named);
    *h = (cv_host){ 0 };
}

static bool has_offset(const cv_u64s *sorted, uint64_t off)
{
    uint64_t lo = 0, hi = sorted->n;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2, at = *cv_u64s_at(sorted, mid);

        if (at == off)
            return true;
        if (at < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

bool cv_host_names(const cv_host *h, uint64_t container_off)
{
    return has_offset(&h->named, container_off);
}

void cv_host_check_wrappers(cv_ctx *x, const cv_host *h, const cv_u64s *containers)
{
    /* What a search took for a wrapper is no promise. */
    if (h->searched)
        return;
    cv_path_push(x, CUVET_P_HOST, false, 0);
    for (uint64_t i = 0; i < h->wrappers.n; i++) {
        const cv_host_wrapper *w = cv_host_wrappers_at(&h->wrappers, i);

        if (w->state == CV_HOST_FOUND && !has_offset(containers, w->target))
            cv_report_at(x, CUVET_P_WRAPPER, i, CV_R_HOST_WRAPPER_CONTAINER, w->off + CV_WRAPPER_DATA, 8,
                         w->target, 0);
    }
    cv_path_pop(x);
}
