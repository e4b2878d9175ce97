/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Contents: bytes of sections, relocations by what they mean, symbols. */
#include "finalize/compare.h"

#include "bytes/intern.h"

cv_span cv_final_symbol_name(const cv_cubin *c, const cv_elf_symbol *y)
{
    cv_span name = cv_span_tail(c->strtab, y->name);

    name.len = cv_span_find_byte(name, 0);
    return name;
}

cv_span cv_final_body_of(const cv_cubin *c, uint64_t i)
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

cv_span cv_final_reloc_symbol(const cv_cubin *c, bool merc, uint32_t i)
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
    cv_span a = cv_final_body_of(q->a, i), b = cv_final_body_of(q->b, k);
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
        name = cv_final_reloc_symbol(q->a, merc, r.sym);
        other = cv_final_reloc_symbol(q->b, merc, t.sym);
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

/* .nv.compat of code that was made again: its mask may say less, for it was about other code. */
static bool claims_again(const cv_final_same *q, cv_span own, cv_span other)
{
    const cv_compat *a = &q->a->claims, *b = &q->b->claims;
    uint64_t at = a->fastpath_at, n = sizeof(a->fastpath);
    cv_span front = own, front_of_other = other;

    if (!cv_compat_has(a, CV_COMPAT_CAN_FASTPATH_FINALIZE))
        return cv_span_eq(own, other);
    front.len = front_of_other.len = at;
    return b->fastpath_at == at && (b->fastpath & ~a->fastpath) == 0 && cv_span_eq(front, front_of_other) &&
           cv_span_eq(cv_span_tail(own, cv_sat_add(at, n)), cv_span_tail(other, cv_sat_add(at, n)));
}

/* A code section that was made again. */
static bool count(cv_ctx *x, const cv_final_same *q, cv_span own, cv_span other)
{
    if (!cv_work(x, own.len / 16 + 1, own.off))
        return false;
    if (q->tally) {
        q->tally->code++;
        q->tally->other += !cv_span_eq(own, other);
    }
    return true;
}

bool cv_final_section_same(cv_ctx *x, const cv_final_same *q, uint64_t i, uint64_t k)
{
    const cv_elf_section *a = &cv_cubin_sec(q->a, i)->h, *b = &cv_cubin_sec(q->b, k)->h;
    const cv_final_body *body;
    cv_span own = cv_final_body_of(q->a, i), other = cv_final_body_of(q->b, k);

    if (a->type != b->type || a->flags != b->flags || a->align != b->align || a->entsize != b->entsize)
        return false;
    if (q->made_again && cv_final_part(q->a, i) == CV_PART_CODE)
        return count(x, q, own, other);
    body = new_body(q, k);
    if (body)
        own = cv_builder_span(&body->bytes);
    if (own.len != other.len || (!body && a->size != b->size) || !cv_work(x, own.len / 16 + 1, own.off))
        return false;
    if (cv_elf_type_is_reloc(a->type))
        return relocs_same(x, q, i, k);
    if (q->made_again && cv_cubin_sec(q->a, i)->role == CV_ROLE_COMPAT)
        return claims_again(q, own, other);
    if (q->runs_on != 0 && cv_cubin_sec(q->a, i)->role == CV_ROLE_COMPAT)
        return claims_same(q, own, other);
    return cv_span_eq(own, other);
}

cuvet_status cv_final_symbols_differ(cv_ctx *x, cv_final *code, const cv_final_same *q, uint64_t a,
                                     uint64_t b)
{
    *code = CV_FINAL_BACKEND_BAD_OUTPUT;
    return cv_reject(x, CV_R_FINAL_OUTPUT_SYMBOLS,
                     cv_sat_add(q->b->symtab.off, cv_sat_mul(b, cv_elf_sym_size(false))), b, a);
}

bool cv_final_in_section(const cv_elf_symbol *y)
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
    if (!cv_final_in_section(&a) || !cv_final_in_section(&b))
        return a.shndx == b.shndx;
    return cv_span_eq(cv_cubin_sec(q->a, cv_cubin_shndx(q->a, false, i, &a))->name,
                      cv_cubin_sec(q->b, cv_cubin_shndx(q->b, false, i, &b))->name);
}

static cuvet_status in_order(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    if (q->a->n_syms != q->b->n_syms)
        return cv_final_symbols_differ(x, code, q, q->a->n_syms, q->b->n_syms);
    for (uint64_t i = 0; i < q->a->n_syms; i++)
        if (!symbol_same(x, q, i))
            return x->work_out ? CUVET_E_LIMIT : cv_final_symbols_differ(x, code, q, i, i);
    return CUVET_OK;
}

cuvet_status cv_final_symbols_same(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    cuvet_status s = q->made_again ? cv_final_symbols_again(x, q, code) : in_order(x, q, code);

    if (s == CUVET_E_LIMIT)
        *code = CV_FINAL_LIMIT;
    else if (s == CUVET_E_NOMEM)
        *code = CV_FINAL_MEMORY;
    return s;
}
