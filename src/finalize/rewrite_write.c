/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Second pass: the bytes. */
#include "finalize/rewrite_int.h"

#include "format/elf/write.h"

static uint32_t number(const cv_rewrite *r, uint64_t i)
{
    return i < r->number.n ? *cv_u32s_at(&r->number, i) : (uint32_t)i;
}

static bool renumbered(const cv_rewrite *r)
{
    return r->n != r->c->sec.n;
}

static uint32_t names_section(const cv_cubin *c)
{
    return c->h.shstrndx == CV_SHN_XINDEX ? cv_cubin_sec(c, 0)->h.link : c->h.shstrndx;
}

static void put_header(const cv_rewrite *r, cv_builder *b)
{
    const cv_cubin *c = r->c;
    uint32_t note = cv_cubin_first(c, CV_ROLE_CUINFO), names = number(r, names_section(c));
    cv_elf_header h = c->h;

    if (note == 0)
        note = cv_cubin_first(c, CV_ROLE_CUVER);
    h.flags = cv_final_flags(c, r->kind, r->sm, number(r, note));
    h.shoff = r->shoff;
    h.phoff = r->phoff;
    h.phnum = (uint16_t)r->phnum;
    h.shnum = r->n < CV_SHN_LORESERVE ? (uint16_t)r->n : 0;
    h.shstrndx = names < CV_SHN_LORESERVE ? (uint16_t)names : CV_SHN_XINDEX;
    cv_elf_write_header(b, &h);
}

/* Symbols up to the last local one; the empty entry counts as one. */
static uint32_t locals_end(const cv_rewrite *r, bool new)
{
    const cv_cubin *c = r->c;
    cv_elf_symbol y;
    uint64_t end = 0;

    for (uint64_t i = 0; i < c->n_syms; i++) {
        cv_elf_read_symbol(c->symtab, false, i, &y);
        if (cv_elf_sym_bind(&y) == CV_STB_LOCAL || (new &&i == r->null_symbol))
            end = i + 1;
    }
    return (uint32_t)end;
}

static void put_section(const cv_rewrite *r, cv_builder *b, uint64_t i)
{
    const cv_cubin *c = r->c;
    const cv_sec *s = cv_cubin_sec(c, i);
    cv_elf_section h = s->h;

    h.name = *cv_u32s_at(&r->name, i);
    h.off = *cv_u64s_at(&r->place, i);
    h.size = *cv_u64s_at(&r->size, i);
    h.link = number(r, h.link);
    /* The flag says that sh_info is a section; of every role where it is, the examination asks for it. */
    if (renumbered(r) && (s->h.flags & CV_SHF_INFO_LINK))
        h.info = number(r, h.info);
    if (r->null_symbol != 0 && i == c->symtab_index && h.info == locals_end(r, false))
        h.info = locals_end(r, true);
    if (i == 0) { /* counts that do not fit the file header */
        uint32_t names = number(r, names_section(c));

        h = (cv_elf_section){ 0 };
        h.size = r->n < CV_SHN_LORESERVE ? 0 : r->n;
        h.link = names < CV_SHN_LORESERVE ? 0 : names;
    }
    cv_elf_write_section(b, false, &h);
}

static bool put_tables(cv_ctx *x, const cv_rewrite *r, cv_final_sink *to, bool *nomem)
{
    cv_builder b;
    bool ok;

    cv_builder_init(&b, &x->mem);
    cv_builder_reserve(&b, r->n * cv_elf_shdr_size(false));
    for (uint64_t i = 0; i < r->c->sec.n; i++)
        if (i == 0 || number(r, i) != 0)
            put_section(r, &b, i);
    *nomem = b.failed;
    ok = !b.failed && cv_final_sink_put(to, cv_builder_span(&b)) &&
         (r->phnum == 0 || cv_final_sink_put(to, cv_builder_span(&r->segments)));
    cv_builder_free(&b);
    return ok;
}

/* Symbols keep their order and their names; sections that they lie in have new numbers. */
static void put_symbols(const cv_rewrite *r, cv_builder *b)
{
    const cv_cubin *c = r->c;
    cv_elf_symbol y;

    cv_builder_reserve(b, c->symtab.len);
    for (uint64_t i = 0; i < c->n_syms; i++) {
        cv_elf_read_symbol(c->symtab, false, i, &y);
        if (y.shndx < CV_SHN_LORESERVE)
            y.shndx = (uint16_t)number(r, y.shndx);
        if (i != 0 && i == r->null_symbol)
            y = (cv_elf_symbol){ .other = 1 };
        cv_elf_write_symbol(b, false, &y);
    }
}

static void put_indices(const cv_rewrite *r, cv_builder *b)
{
    cv_span table = r->c->symtab_shndx;

    for (uint64_t at = 0; at < table.len; at += 4)
        cv_put_u32(b, number(r, cv_u32_at(table, at)));
}

static bool put_body(cv_ctx *x, const cv_rewrite *r, cv_final_sink *to, uint64_t i, bool *nomem)
{
    const cv_cubin *c = r->c;
    const cv_final_body *body = cv_rewrite_body(r, i);
    cv_span own = cv_span_tail(c->image, cv_cubin_sec(c, i)->h.off);
    cv_builder b;
    bool ok;

    if (body)
        return cv_final_sink_put(to, cv_builder_span(&body->bytes));
    if (i == names_section(c) && r->names.len)
        return cv_final_sink_put(to, cv_builder_span(&r->names));
    cv_builder_init(&b, &x->mem);
    if (i == c->symtab_index && (renumbered(r) || r->null_symbol))
        put_symbols(r, &b);
    else if (i == cv_cubin_first(c, CV_ROLE_SYMTAB_SHNDX) && renumbered(r))
        put_indices(r, &b);
    own.len = cv_cubin_sec(c, i)->h.size;
    *nomem = b.failed;
    ok = !b.failed && cv_final_sink_put(to, b.len ? cv_builder_span(&b) : own);
    cv_builder_free(&b);
    return ok;
}

static bool put_sections(cv_ctx *x, const cv_rewrite *r, cv_final_sink *to, bool *nomem)
{
    bool ok = true;

    for (uint64_t k = 0; k < r->order.n && ok; k++) {
        uint64_t i = cv_keys_at(&r->order, k)->index, at = *cv_u64s_at(&r->place, i);

        if (!cv_final_in_file(r->c, i) || at < to->at) /* a twin of what is there */
            continue;
        ok = cv_final_sink_zero(to, at - to->at) && put_body(x, r, to, i, nomem);
    }
    return ok && to->at <= r->shoff && cv_final_sink_zero(to, r->shoff - to->at);
}

cuvet_status cv_rewrite_write(cv_ctx *x, const cv_rewrite *r, cv_final_sink *to)
{
    bool nomem = false, ok;
    cv_builder b;
    cuvet_status s;

    if (!cv_work(x, cv_sat_add(cv_sat_mul(r->c->n_syms, 4), r->c->sec.n), r->c->image.off))
        return CUVET_E_LIMIT;
    s = cv_final_sink_begin(to, r->total);
    if (s != CUVET_OK)
        return s;
    cv_builder_init(&b, &x->mem);
    put_header(r, &b);
    nomem = b.failed;
    ok = !nomem && cv_final_sink_put(to, cv_builder_span(&b)) && put_sections(x, r, to, &nomem) &&
         put_tables(x, r, to, &nomem) && cv_final_sink_end(to);
    cv_builder_free(&b);
    if (nomem)
        return cv_nomem(x, r->c->image.off);
    return CV_NEVER(!ok) ? cv_reject(x, CV_R_FINAL_PASSES, 0, to->at, to->size) : CUVET_OK;
}
