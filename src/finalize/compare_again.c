/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Code that was made again: its bytes and places are others, what it works on is not. Data, the symbols in
 * it, and what code and data refer to have to be those of the input. */
#include "finalize/compare.h"

#include "bytes/intern.h"

enum { PIC_BANK = 4, INSN = 16 };

/* What is no code and does not come with it: data, and the claims of the file. Of the constant banks that
 * belong to one function only that of the parameters: the others, and the bank of addresses, hold what a code
 * generator wants to have there. */
bool cv_final_stays_again(const cv_cubin *c, uint64_t i)
{
    const cv_sec *s = cv_cubin_sec(c, i);

    switch ((unsigned)s->role) {
    case CV_ROLE_COMPAT:
    case CV_ROLE_GLOBAL:
    case CV_ROLE_GLOBAL_INIT: return true;
    case CV_ROLE_CONSTANT: return s->bank != PIC_BANK;
    case CV_ROLE_CONSTANT_FN: return s->bank == 0;
    default: return false;
    }
}

static bool is_variable(const cv_elf_symbol *y)
{
    return cv_elf_sym_type(y) == CV_STT_OBJECT || cv_elf_sym_type(y) == CV_STT_CUDA_OBJECT;
}

/* A function or a variable that is defined and seen from outside, or a variable of data that relocations may
 * name. */
static bool matters(const cv_cubin *c, uint64_t i, const cv_elf_symbol *y)
{
    cv_span name = cv_span_tail(c->strtab, y->name); /* its begin is enough */

    if (y->shndx == CV_SHN_UNDEF || cv_span_starts(name, "__nv_reservedSMEM") ||
        cv_span_starts(name, ".nv.reservedSmem"))
        return false;
    if (cv_elf_sym_bind(y) == CV_STB_LOCAL)
        return is_variable(y) && cv_final_in_section(y) &&
               cv_final_stays_again(c, cv_cubin_shndx(c, false, i, y));
    return cv_elf_sym_type(y) == CV_STT_FUNC || is_variable(y);
}

/* Of a name and of two numbers with it. */
static uint64_t hash(const cv_final_same *q, uint64_t low, uint64_t high, cv_span name)
{
    const uint64_t key[2] = { CV_ARRAY_GET(q->key, 0) ^ low, CV_ARRAY_GET(q->key, 1) ^ high };

    return cv_siphash(key, name);
}

static cuvet_status gather(cv_ctx *x, const cv_final_same *q, const cv_cubin *c, cv_keys *out)
{
    cv_elf_symbol y;

    for (uint64_t i = 1; i < c->n_syms; i++) {
        bool local;
        cv_span name;

        cv_elf_read_symbol(c->symtab, false, i, &y);
        if (!matters(c, i, &y))
            continue;
        local = cv_elf_sym_bind(&y) == CV_STB_LOCAL; /* several may have one name */
        name = cv_final_symbol_name(c, &y);
        if (!cv_work(x, name.len / 4 + 1, name.off))
            return CUVET_E_LIMIT;
        if (!cv_keys_push(&x->mem, out,
                          (cv_key){ hash(q, local ? y.value : 0, local ? y.size : 0, name), i }))
            return cv_nomem(x, 0);
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

/* Name, kind, visibility, and the same section by its name; of variables place and size as well. */
static bool symbol_same(cv_ctx *x, const cv_final_same *q, uint64_t i, uint64_t m)
{
    cv_elf_symbol a, b;
    cv_span name, section;

    cv_elf_read_symbol(q->a->symtab, false, i, &a);
    cv_elf_read_symbol(q->b->symtab, false, m, &b);
    name = cv_final_symbol_name(q->a, &a);
    if (a.info != b.info || a.other != b.other || !cv_work(x, name.len / 4 + 1, name.off) ||
        !cv_span_eq(name, cv_final_symbol_name(q->b, &b)) ||
        (is_variable(&a) && (a.value != b.value || a.size != b.size)))
        return false;
    if (!cv_final_in_section(&a) || !cv_final_in_section(&b))
        return a.shndx == b.shndx;
    section = cv_cubin_sec(q->a, cv_cubin_shndx(q->a, false, i, &a))->name;
    return cv_work(x, section.len / 4 + 1, section.off) &&
           cv_span_eq(section, cv_cubin_sec(q->b, cv_cubin_shndx(q->b, false, m, &b))->name);
}

cuvet_status cv_final_symbols_again(cv_ctx *x, const cv_final_same *q, cv_final *code)
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

        if (k >= a.n || k >= b.n || !symbol_same(x, q, i, m))
            s = x->work_out ? CUVET_E_LIMIT : cv_final_symbols_differ(x, code, q, i, m);
    }
    cv_keys_free(&x->mem, &a);
    cv_keys_free(&x->mem, &b);
    return s;
}

/* What a relocation says, but for the name of the symbol: the section, the type, the addend. The place too
 * where it is data; of code the places are others, also those in the function itself that it refers to. */
static void say(const cv_cubin *c, uint64_t section, const cv_elf_reloc *r, uint64_t *low, uint64_t *high)
{
    uint32_t target = cv_cubin_sec(c, section)->h.info;
    bool own = false;
    cv_elf_symbol y;

    cv_elf_read_symbol(c->symtab, false, r->sym, &y);
    if (cv_final_part(c, target) == CV_PART_CODE)
        own = cv_final_in_section(&y) && cv_cubin_shndx(c, false, r->sym, &y) == target &&
              (uint64_t)r->addend < cv_cubin_sec(c, target)->h.size && r->addend % INSN == 0;
    else
        *low ^= r->off;
    *low ^= (uint64_t)r->type << 48;
    if (!own)
        *high ^= (uint64_t)r->addend;
}

static cuvet_status references(cv_ctx *x, const cv_final_same *q, const cv_cubin *c, cv_keys *out)
{
    cv_elf_reloc r;

    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);
        bool rela = s->h.type == CV_SHT_RELA;
        uint64_t base;
        cv_span table = cv_final_body_of(c, i);

        if (cv_final_part(c, i) != CV_PART_RELOC || cv_final_part(c, s->h.info) == CV_PART_DEBUG)
            continue;
        if (!cv_work(x, s->name.len / 4 + 1, table.off))
            return CUVET_E_LIMIT;
        base = cv_siphash(q->key, s->name);
        for (uint64_t k = 0; k < table.len / cv_elf_rel_size(false, rela); k++) {
            uint64_t low = base, high = 0;
            cv_span name;

            cv_elf_read_reloc(table, false, rela, k, &r);
            name = cv_final_reloc_symbol(c, false, r.sym);
            if (!cv_work(x, name.len / 4 + 2, table.off))
                return CUVET_E_LIMIT;
            say(c, i, &r, &low, &high);
            if (!cv_keys_push(&x->mem, out, (cv_key){ hash(q, low, high, name), (uint64_t)i << 32 | k }))
                return cv_nomem(x, 0);
        }
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

/* One of a that b has not; none: a.n. How often it is there does not matter. */
static uint64_t missing(const cv_keys *a, const cv_keys *b)
{
    uint64_t i = 0;

    for (uint64_t k = 0; i < a->n; i++) {
        while (k < b->n && cv_keys_at(b, k)->key < cv_keys_at(a, i)->key)
            k++;
        if (k >= b->n || cv_keys_at(b, k)->key != cv_keys_at(a, i)->key)
            break;
    }
    return i;
}

/* The relocation with this index is in one file only. */
static cuvet_status lone(cv_ctx *x, const cv_cubin *c, cv_rule rule, uint64_t index, cv_final *code)
{
    uint64_t i = index >> 32, k = index & UINT32_MAX;
    const cv_sec *s = cv_cubin_sec(c, i);
    bool rela = s->h.type == CV_SHT_RELA;
    cv_elf_reloc r;

    cv_elf_read_reloc(cv_final_body_of(c, i), false, rela, k, &r);
    *code = CV_FINAL_CHECK_RELOC;
    return cv_reject(x, rule,
                     cv_sat_add(c->image.off, cv_sat_add(s->h.off, k * cv_elf_rel_size(false, rela))), r.sym,
                     s->h.info);
}

cuvet_status cv_final_references_kept(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    cv_keys a = { 0 }, b = { 0 };
    cuvet_status s = references(x, q, q->a, &a);
    uint64_t i;

    if (s == CUVET_OK)
        s = references(x, q, q->b, &b);
    i = missing(&a, &b);
    if (s == CUVET_OK && i < a.n)
        s = lone(x, q->a, CV_R_FINAL_LOST, cv_keys_at(&a, i)->index, code);
    i = missing(&b, &a);
    if (s == CUVET_OK && i < b.n)
        s = lone(x, q->b, CV_R_FINAL_ADDED, cv_keys_at(&b, i)->index, code);
    if (s == CUVET_E_LIMIT)
        *code = CV_FINAL_LIMIT;
    else if (s == CUVET_E_NOMEM)
        *code = CV_FINAL_MEMORY;
    cv_keys_free(&x->mem, &a);
    cv_keys_free(&x->mem, &b);
    return s;
}
