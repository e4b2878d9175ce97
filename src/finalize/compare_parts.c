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
        if (r.sym == t.sym) /* symbols with the same number are compared in any case */
            continue;
        name = symbol(q->a, merc, r.sym);
        other = symbol(q->b, merc, t.sym);
        if (!cv_work(x, name.len / 4 + 2, a.off) || !cv_span_eq(name, other))
            return false;
    }
    return true;
}

/* .nv.compat with one bit of its mask set: nothing else in it is another. */
static bool claims_same(const cv_final_same *q, cv_span own, cv_span other)
{
    const cv_compat *a = &q->a->claims, *b = &q->b->claims;
    uint64_t n = sizeof(a->fastpath);
    cv_span front = own, back = cv_span_tail(own, cv_sat_add(a->fastpath_at, n)), front_of_other = other;

    front.len = front_of_other.len = a->fastpath_at;
    return a->fastpath_at == b->fastpath_at && b->fastpath == (a->fastpath | cv_fastpath_bit(q->runs_on)) &&
           cv_span_eq(front, front_of_other) &&
           cv_span_eq(back, cv_span_tail(other, cv_sat_add(a->fastpath_at, n)));
}

bool cv_final_section_same(cv_ctx *x, const cv_final_same *q, uint64_t i, uint64_t k)
{
    const cv_elf_section *a = &cv_cubin_sec(q->a, i)->h, *b = &cv_cubin_sec(q->b, k)->h;
    const cv_final_body *body;
    cv_span own = body_of(q->a, i), other = body_of(q->b, k);

    if (a->type != b->type || a->flags != b->flags || a->align != b->align || a->entsize != b->entsize)
        return false;
    if (q->made_again)
        return true;
    body = new_body(q, k);
    if (body)
        own = cv_builder_span(&body->bytes);
    if (own.len != other.len || (!body && a->size != b->size) || !cv_work(x, own.len / 16 + 1, own.off))
        return false;
    if (cv_elf_type_is_reloc(a->type))
        return relocs_same(x, q, i, k);
    if (q->runs_on != 0 && cv_cubin_sec(q->a, i)->role == CV_ROLE_COMPAT)
        return claims_same(q, own, other);
    return cv_span_eq(own, other);
}

static cuvet_status differ(cv_ctx *x, cv_final *code, const cv_final_same *q, uint64_t a, uint64_t b)
{
    *code = CV_FINAL_BACKEND_BAD_OUTPUT;
    return cv_reject(x, CV_R_FINAL_OUTPUT_SYMBOLS,
                     cv_sat_add(q->b->symtab.off, cv_sat_mul(b, cv_elf_sym_size(false))), b, a);
}

static bool in_section(const cv_elf_symbol *y)
{
    return y->shndx != CV_SHN_UNDEF && (y->shndx < CV_SHN_LORESERVE || y->shndx == CV_SHN_XINDEX);
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
    if (!in_section(&a) || !in_section(&b))
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
    cv_span name = cv_span_tail(c->strtab, y->name); /* its begin is enough */

    if (y->shndx == CV_SHN_UNDEF || cv_elf_sym_bind(y) == CV_STB_LOCAL ||
        cv_span_starts(name, "__nv_reservedSMEM") || cv_span_starts(name, ".nv.reservedSmem"))
        return false;
    return type == CV_STT_FUNC || type == CV_STT_OBJECT || type == CV_STT_CUDA_OBJECT;
}

static cuvet_status gather(cv_ctx *x, const cv_final_same *q, const cv_cubin *c, cv_keys *out)
{
    cv_elf_symbol y;

    for (uint64_t i = 1; i < c->n_syms; i++) {
        cv_span name;

        cv_elf_read_symbol(c->symtab, false, i, &y);
        if (!matters(c, &y))
            continue;
        name = cv_final_symbol_name(c, &y);
        if (!cv_work(x, name.len / 4 + 1, name.off))
            return CUVET_E_LIMIT;
        if (!cv_keys_push(&x->mem, out, (cv_key){ cv_siphash(q->key, name), i }))
            return cv_nomem(x, 0);
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

/* Code that was made again: the same names, and kernels where kernels were. */
static cuvet_status by_name(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    cv_keys a = { 0 }, b = { 0 };
    cuvet_status s;
    uint64_t n;

    if (!cv_work(x, cv_sat_mul(cv_sat_add(q->a->n_syms, q->b->n_syms), 8), 0))
        return CUVET_E_LIMIT;
    s = gather(x, q, q->a, &a);
    if (s == CUVET_OK)
        s = gather(x, q, q->b, &b);
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

/* What relocations of code and data refer to: section and symbol by their names, and where it is said. */
static cuvet_status references(cv_ctx *x, const cv_final_same *q, const cv_cubin *c, cv_keys *out)
{
    cv_elf_reloc r;

    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);
        bool rela = s->h.type == CV_SHT_RELA;
        uint64_t key[2] = { CV_ARRAY_GET(q->key, 0), CV_ARRAY_GET(q->key, 1) };
        cv_span table = body_of(c, i);

        if (cv_final_part(c, i) != CV_PART_RELOC || cv_final_part(c, s->h.info) == CV_PART_DEBUG)
            continue;
        if (!cv_work(x, s->name.len / 4 + 1, table.off))
            return CUVET_E_LIMIT;
        key[0] ^= cv_siphash(q->key, s->name);
        for (uint64_t k = 0; k < table.len / cv_elf_rel_size(false, rela); k++) {
            cv_span name;

            cv_elf_read_reloc(table, false, rela, k, &r);
            name = symbol(c, false, r.sym);
            if (!cv_work(x, name.len / 4 + 2, table.off))
                return CUVET_E_LIMIT;
            if (!cv_keys_push(&x->mem, out, (cv_key){ cv_siphash(key, name), (uint64_t)i << 32 | k }))
                return cv_nomem(x, 0);
        }
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

static cuvet_status lost(cv_ctx *x, const cv_final_same *q, uint64_t index, cv_final *code)
{
    uint64_t i = index >> 32, k = index & UINT32_MAX;
    const cv_sec *s = cv_cubin_sec(q->a, i);
    bool rela = s->h.type == CV_SHT_RELA;
    cv_elf_reloc r;

    cv_elf_read_reloc(body_of(q->a, i), false, rela, k, &r);
    *code = CV_FINAL_CHECK_RELOC;
    return cv_reject(x, CV_R_FINAL_LOST,
                     cv_sat_add(q->a->image.off, cv_sat_add(s->h.off, k * cv_elf_rel_size(false, rela))),
                     r.sym, s->h.info);
}

/* Code that was made again may refer to a symbol in other places, but still has to. */
cuvet_status cv_final_references_kept(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    cv_keys a = { 0 }, b = { 0 };
    cuvet_status s = references(x, q, q->a, &a);

    if (s == CUVET_OK)
        s = references(x, q, q->b, &b);
    for (uint64_t i = 0, k = 0; i < a.n && s == CUVET_OK; i++) {
        while (k < b.n && cv_keys_at(&b, k)->key < cv_keys_at(&a, i)->key)
            k++;
        if (k >= b.n || cv_keys_at(&b, k)->key != cv_keys_at(&a, i)->key)
            s = lost(x, q, cv_keys_at(&a, i)->index, code);
    }
    if (s == CUVET_E_LIMIT)
        *code = CV_FINAL_LIMIT;
    else if (s == CUVET_E_NOMEM)
        *code = CV_FINAL_MEMORY;
    cv_keys_free(&x->mem, &a);
    cv_keys_free(&x->mem, &b);
    return s;
}
