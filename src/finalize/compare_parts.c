/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Contents: bytes of sections, relocations by what they mean, symbols. */
#include "finalize/compare.h"

#include "link/names.h"

cv_span cv_final_symbol_name(const cv_cubin *c, const cv_elf_symbol *y)
{
    cv_span name = cv_span_tail(c->strtab, y->name);

    name.len = cv_span_find_byte(name, 0);
    return name;
}

static cv_span body_of(const cv_cubin *c, uint64_t i)
{
    cv_span s = cv_span_tail(c->image, cv_cubin_sec(c, i)->h.off);

    s.len = cv_cubin_sec(c, i)->in_file ? cv_cubin_sec(c, i)->h.size : 0;
    return s;
}

static const cv_final_body *new_body(const cv_final_same *q, uint64_t k)
{
    for (uint64_t i = 0; q->bodies && i < q->bodies->n; i++)
        if (cv_final_bodies_at(q->bodies, i)->section == k)
            return cv_final_bodies_at(q->bodies, i);
    return NULL;
}

static cv_span symbol(const cv_cubin *c, bool merc, uint32_t i)
{
    cv_elf_symbol y;

    cv_elf_read_symbol(merc ? c->merc_symtab : c->symtab, false, i, &y);
    return cv_elf_sym_type(&y) == CV_STT_SECTION ? cv_cubin_sec(c, cv_cubin_shndx(c, merc, i, &y))->name
                                                 : cv_final_symbol_name(c, &y);
}

/* Place, type, addend and the name of the symbol. */
static bool relocs_same(cv_ctx *x, const cv_final_same *q, uint64_t i, uint64_t k)
{
    bool rela = cv_cubin_sec(q->a, i)->h.type != CV_SHT_REL;
    bool merc = (cv_cubin_sec(q->a, i)->h.flags & CV_SHF_CUDA_MERC) != 0;
    cv_span a = body_of(q->a, i), b = body_of(q->b, k);
    uint64_t n = a.len / cv_elf_rel_size(false, rela);
    cv_elf_reloc r, t;

    for (uint64_t at = 0; at < n; at++) {
        cv_span name, other;

        cv_elf_read_reloc(a, false, rela, at, &r);
        cv_elf_read_reloc(b, false, rela, at, &t);
        if (r.off != t.off || r.type != t.type || r.addend != t.addend)
            return false;
        if (r.sym == t.sym && !q->made_again)
            continue;
        name = symbol(q->a, merc, r.sym);
        other = symbol(q->b, merc, t.sym);
        if (!cv_work(x, name.len / 4 + 2, a.off) || !cv_span_eq(name, other))
            return false;
    }
    return true;
}

bool cv_final_section_same(cv_ctx *x, const cv_final_same *q, uint64_t i, uint64_t k)
{
    const cv_elf_section *a = &cv_cubin_sec(q->a, i)->h, *b = &cv_cubin_sec(q->b, k)->h;
    const cv_final_body *body = new_body(q, k);
    cv_span own = body_of(q->a, i), other = body_of(q->b, k);

    if (a->type != b->type || a->flags != b->flags || a->align != b->align || a->entsize != b->entsize)
        return false;
    if (q->made_again)
        return true;
    if (body)
        own = cv_builder_span(&body->bytes);
    if (own.len != other.len || (!body && a->size != b->size) || !cv_work(x, own.len / 16 + 1, own.off))
        return false;
    if (cv_final_part(q->a, i) == CV_PART_RELOC || a->type == CV_SHT_MERC_RELA)
        return relocs_same(x, q, i, k);
    return cv_span_eq(own, other);
}

static cuvet_status differ(cv_ctx *x, cv_final *code, const cv_final_same *q, uint64_t a, uint64_t b)
{
    *code = CV_FINAL_BACKEND_BAD_OUTPUT;
    return cv_reject(x, CV_R_FINAL_OUTPUT_SYMBOLS,
                     cv_sat_add(q->b->symtab.off, cv_sat_mul(b, cv_elf_sym_size(false))), b, a);
}

/* One by one: same name, kind, value, and the same section by its name. */
static bool symbol_same(cv_ctx *x, const cv_final_same *q, uint64_t i)
{
    cv_elf_symbol a, b;
    cv_span name;

    cv_elf_read_symbol(q->a->symtab, false, i, &a);
    cv_elf_read_symbol(q->b->symtab, false, i, &b);
    if (i != 0 && i == q->null_symbol)
        return b.name == 0 && b.info == 0 && b.shndx == 0 && b.value == 0 && b.size == 0 && b.other == 1;
    name = cv_final_symbol_name(q->a, &a);
    if (a.info != b.info || a.other != b.other || a.value != b.value || a.size != b.size ||
        !cv_work(x, name.len / 4 + 1, name.off) || !cv_span_eq(name, cv_final_symbol_name(q->b, &b)))
        return false;
    if (a.shndx >= CV_SHN_LORESERVE && a.shndx != CV_SHN_XINDEX)
        return a.shndx == b.shndx;
    return cv_span_eq(cv_cubin_sec(q->a, cv_cubin_shndx(q->a, false, i, &a))->name,
                      cv_cubin_sec(q->b, cv_cubin_shndx(q->b, false, i, &b))->name);
}

static cuvet_status in_order(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    if (q->a->n_syms != q->b->n_syms)
        return differ(x, code, q, q->a->n_syms, q->b->n_syms);
    for (uint64_t i = 0; i < q->a->n_syms; i++)
        if (!symbol_same(x, q, i))
            return x->work_out ? CUVET_E_LIMIT : differ(x, code, q, i, i);
    return CUVET_OK;
}

/* A function or a variable that is defined, and seen from outside. */
static bool matters(const cv_cubin *c, const cv_elf_symbol *y)
{
    uint8_t type = cv_elf_sym_type(y);
    cv_span name = cv_final_symbol_name(c, y);

    if (y->shndx == CV_SHN_UNDEF || cv_elf_sym_bind(y) == CV_STB_LOCAL ||
        cv_span_starts(name, "__nv_reservedSMEM") || cv_span_starts(name, ".nv.reservedSmem"))
        return false;
    return type == CV_STT_FUNC || type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT;
}

static bool gather(cv_ctx *x, const cv_final_same *q, const cv_cubin *c, cv_keys *out)
{
    cv_elf_symbol y;

    for (uint64_t i = 1; i < c->n_syms; i++) {
        cv_elf_read_symbol(c->symtab, false, i, &y);
        if (matters(c, &y) &&
            !cv_keys_push(&x->mem, out, (cv_key){ cv_siphash(q->key, cv_final_symbol_name(c, &y)), i }))
            return false;
    }
    cv_keys_sort(out);
    return true;
}

/* Code that was made again: the same names, and kernels where kernels were. */
static cuvet_status by_name(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    cv_keys a = { 0 }, b = { 0 };
    cuvet_status s = CUVET_OK;
    uint64_t n;

    if (!cv_work(x, cv_sat_mul(cv_sat_add(q->a->n_syms, q->b->n_syms), 8), 0))
        return CUVET_E_LIMIT;
    if (!gather(x, q, q->a, &a) || !gather(x, q, q->b, &b))
        s = cv_nomem(x, 0);
    n = cv_max(a.n, b.n);
    for (uint64_t k = 0; k < n && s == CUVET_OK; k++) {
        uint64_t i = cv_keys_at(&a, k)->index, m = cv_keys_at(&b, k)->index;
        cv_elf_symbol y, z;

        cv_elf_read_symbol(q->a->symtab, false, i, &y);
        cv_elf_read_symbol(q->b->symtab, false, m, &z);
        if (k >= a.n || k >= b.n || y.info != z.info ||
            (y.other & CV_STO_ENTRY) != (z.other & CV_STO_ENTRY) ||
            !cv_span_eq(cv_final_symbol_name(q->a, &y), cv_final_symbol_name(q->b, &z)))
            s = differ(x, code, q, i, m);
    }
    cv_keys_free(&x->mem, &a);
    cv_keys_free(&x->mem, &b);
    return s;
}

cuvet_status cv_final_symbols_same(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    cuvet_status s = q->made_again ? by_name(x, q, code) : in_order(x, q, code);

    if (s == CUVET_E_LIMIT)
        *code = CV_FINAL_LIMIT;
    else if (s == CUVET_E_NOMEM)
        *code = CV_FINAL_MEMORY;
    return s;
}
