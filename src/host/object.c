/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrappers of a relocatable object: the relocations of their section lead through symbols to other sections.
 */
#include "host/parts.h"

#define RELOCS_AT_ONCE UINT64_C(4096)

/* What the last symbol said: nearly always all relocations name the same section symbol. */
typedef struct resolver {
    cv_host_read_ctx *reader;
    cv_elf_section symtab;
    uint64_t symtab_index, n_syms;
    cv_block one;
    bool known;
    uint32_t sym;
    bool undefined;
    uint64_t room; /* bytes of the section from the symbol on; 0: leads nowhere */
    uint64_t at;   /* of the symbol's place, in the region */
} resolver;

/* Section index of a symbol whose own field is too small, from the table beside the symbol table. 0: not
 * found. */
static cuvet_status extended_index(resolver *v, uint32_t sym, uint32_t *out)
{
    cv_host_read_ctx *r = v->reader;
    cuvet_status s = cv_work(r->ctx, r->n_sections * 4, r->base) ? CUVET_OK : CUVET_E_LIMIT;

    *out = 0;
    for (uint64_t i = 1; i < r->n_sections && s == CUVET_OK; i++) {
        cv_elf_section t;

        s = cv_host_header(r, i, &t);
        if (s != CUVET_OK || t.type != CV_SHT_SYMTAB_SHNDX || t.link != v->symtab_index)
            continue;
        if (sym >= t.size / 4 || !cv_host_has(r, t.off, t.size))
            break;
        s = cv_host_load(r, &v->one, t.off + (uint64_t)sym * 4, 4);
        if (s == CUVET_OK)
            *out = cv_u32_at(v->one.span, 0);
        break;
    }
    return s;
}

/* Read a symbol and see where in the file it is. */
static cuvet_status look_up(resolver *v, uint32_t sym)
{
    cv_host_read_ctx *r = v->reader;
    uint32_t index;
    cv_elf_symbol y;
    cv_elf_section t;
    cuvet_status s = cv_host_load(r, &v->one, v->symtab.off + (uint64_t)sym * 24, 24);

    if (s != CUVET_OK)
        return s;
    cv_elf_read_symbol(v->one.span, false, 0, &y);
    index = y.shndx;
    if (y.shndx == CV_SHN_XINDEX)
        s = extended_index(v, sym, &index);
    else if (y.shndx >= CV_SHN_LORESERVE)
        index = UINT32_MAX;
    v->known = true;
    v->sym = sym;
    v->undefined = index == CV_SHN_UNDEF;
    v->room = 0;
    if (s != CUVET_OK || v->undefined || index >= r->n_sections)
        return s;
    s = cv_host_header(r, index, &t);
    if (s == CUVET_OK && t.type != CV_SHT_NOBITS && cv_host_has(r, t.off, t.size) && y.value < t.size) {
        v->room = t.size - y.value;
        v->at = t.off + y.value;
    }
    return s;
}

static cuvet_status set_pointer(resolver *v, cv_host_wrapper *w, const cv_elf_reloc *e, uint64_t off,
                                uint32_t absolute)
{
    cv_host_read_ctx *r = v->reader;
    uint64_t addend = (uint64_t)e->addend;
    cuvet_status s = CUVET_OK;

    w->state = CV_HOST_SKIPPED;
    if (e->type != absolute) {
        cv_report(r->ctx, CV_R_HOST_RELOC_TYPE, off, 0, e->type, absolute);
        return CUVET_OK;
    }
    if (e->sym >= v->n_syms) {
        cv_report(r->ctx, CV_R_HOST_RELOC_SYMBOL, off, 0, e->sym, v->n_syms);
        return CUVET_OK;
    }
    if (!v->known || v->sym != e->sym)
        s = look_up(v, e->sym);
    if (s != CUVET_OK)
        return s;
    if (v->undefined) {
        cv_report(r->ctx, CV_R_HOST_RELOC_UNDEFINED, off, 0, e->sym, 0);
        return CUVET_OK;
    }
    /* A negative addend is a huge number here: no tool points before a symbol. */
    w->state = addend < v->room ? CV_HOST_FOUND : CV_HOST_LOST;
    w->data = addend;
    w->target = w->state == CV_HOST_FOUND ? r->base + v->at + addend : 0;
    return CUVET_OK;
}

/* The wrapper of this section whose pointer is at 'place'; wrappers are in the order of sections and places.
 */
static cv_host_wrapper *wrapper_at(const cv_host_wrappers *all, uint64_t first, uint64_t end, uint64_t place)
{
    while (first < end) {
        uint64_t mid = first + (end - first) / 2;
        cv_host_wrapper *w = cv_host_wrappers_at(all, mid);

        if (w->slot == place)
            return w;
        if (w->slot < place)
            first = mid + 1;
        else
            end = mid;
    }
    return NULL;
}

/* All relocations of one table for the wrappers [first, end). */
static cuvet_status read_table(resolver *v, const cv_elf_section *t, uint64_t first, uint64_t end,
                               uint32_t absolute)
{
    cv_host_read_ctx *r = v->reader;
    bool rela = t->type == CV_SHT_RELA;
    uint64_t one = cv_elf_rel_size(false, rela), count = t->size / one;
    cuvet_status s = CUVET_OK;

    if (count > r->ctx->lim.symbols)
        return cv_reject(r->ctx, CV_R_LIMIT_RELOCS, r->base + t->off, count, r->ctx->lim.symbols);
    if (!cv_work(r->ctx, cv_sat_mul(count, 16), r->base + t->off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < count && s == CUVET_OK; i++) {
        uint64_t in = i % RELOCS_AT_ONCE;
        cv_host_wrapper *w;
        cv_elf_reloc e;

        if (in == 0)
            s = cv_host_load(r, &r->part, t->off + i * one, cv_min(count - i, RELOCS_AT_ONCE) * one);
        if (s != CUVET_OK)
            return s;
        cv_elf_read_reloc(r->part.span, false, rela, in, &e);
        w = wrapper_at(&r->host->wrappers, first, end, e.off);
        if (!w)
            continue; /* the second pointer of a device-linked object */
        if (!rela)
            e.addend = (int64_t)w->data; /* as stored; a value above the sign bit leads nowhere either way */
        s = set_pointer(v, w, &e, r->base + t->off + i * one, absolute);
    }
    return s;
}

/* The symbol table of a relocation table. */
static cuvet_status use_symbols(resolver *v, uint32_t index)
{
    cv_host_read_ctx *r = v->reader;
    cuvet_status s = CUVET_OK;

    v->symtab = (cv_elf_section){ 0 };
    v->symtab_index = index;
    v->known = false;
    if (index < r->n_sections)
        s = cv_host_header(r, index, &v->symtab);
    v->n_syms = v->symtab.type == CV_SHT_SYMTAB && cv_host_has(r, v->symtab.off, v->symtab.size)
                    ? v->symtab.size / 24
                    : 0;
    return s;
}

/* Section i is a relocation table: for which wrappers? */
static cuvet_status try_table(resolver *v, uint64_t i, const cv_elf_section *t, uint32_t absolute)
{
    cv_host_read_ctx *r = v->reader;
    uint64_t n = r->host->wrappers.n, first = 0, end, one = cv_elf_rel_size(false, t->type == CV_SHT_RELA);
    cuvet_status s;

    if (!cv_work(r->ctx, n, r->base))
        return CUVET_E_LIMIT;
    while (first < n && cv_host_wrappers_at(&r->host->wrappers, first)->section != t->info)
        first++;
    for (end = first; end < n && cv_host_wrappers_at(&r->host->wrappers, end)->section == t->info; end++)
        ;
    if (first == end)
        return CUVET_OK;
    if (!cv_host_has(r, t->off, t->size) || (t->entsize != one && t->entsize != 0)) {
        cv_report_at(r->ctx, CUVET_P_SECTION, i, CV_R_HOST_RELOC_ENTRY, r->base + cv_min(t->off, r->size), 0,
                     t->entsize, one);
        return CUVET_OK;
    }
    s = use_symbols(v, t->link);
    return s == CUVET_OK ? read_table(v, t, first, end, absolute) : s;
}

cuvet_status cv_host_resolve_object(cv_host_read_ctx *r, uint32_t absolute)
{
    resolver v = { .reader = r };
    cuvet_status s = CUVET_OK;

    for (uint64_t i = 1; i < r->n_sections && s == CUVET_OK; i++) {
        cv_elf_section t;

        s = cv_host_header(r, i, &t);
        if (s == CUVET_OK && (t.type == CV_SHT_RELA || t.type == CV_SHT_REL))
            s = try_table(&v, i, &t, absolute);
    }
    cv_block_free(r->ctx, &v.one);
    return s;
}
