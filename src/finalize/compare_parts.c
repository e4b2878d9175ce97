/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Contents: bytes of sections, relocations by what they mean, symbols. */
#include "finalize/compare.h"

#include "bytes/intern.h"

cv_span cv_final_symbol_name(const cv_cubin *cubin, const cv_elf_symbol *sym)
{
    cv_span name = cv_span_tail(cubin->strtab, sym->name);

    name.len = cv_span_find_byte(name, 0);
    return name;
}

cv_span cv_final_body_of(const cv_cubin *cubin, uint64_t index)
{
    cv_span span = cv_span_tail(cubin->image, cv_cubin_sec(cubin, index)->header.off);

    span.len = cv_cubin_sec(cubin, index)->in_file ? cv_cubin_sec(cubin, index)->header.size : 0;
    return span;
}

static const cv_final_body *new_body(const cv_final_same *pair, uint64_t section)
{
    for (uint64_t i = 0; pair->bodies && i < pair->bodies->count; i++)
        if (cv_final_bodies_get(pair->bodies, i)->section == section)
            return cv_final_bodies_get(pair->bodies, i);
    return NULL;
}

cv_span cv_final_reloc_symbol(const cv_cubin *cubin, bool merc, uint32_t index)
{
    cv_elf_symbol sym;

    cv_elf_read_symbol(merc ? cubin->merc_symtab : cubin->symtab, false, index, &sym);
    return cv_elf_sym_type(&sym) == CV_STT_SECTION
               ? cv_cubin_sec(cubin, cv_cubin_shndx(cubin, merc, index, &sym))->name
               : cv_final_symbol_name(cubin, &sym);
}

/* Place, type, addend and the name of the symbol. */
static bool relocs_same(cv_ctx *ctx, const cv_final_same *pair, uint64_t index, uint64_t key)
{
    bool rela = cv_cubin_sec(pair->before, index)->header.type != CV_SHT_REL;
    bool merc = (cv_cubin_sec(pair->before, index)->header.flags & CV_SHF_CUDA_MERC) != 0;
    cv_span first = cv_final_body_of(pair->before, index), second = cv_final_body_of(pair->after, key);
    uint64_t count = first.len / cv_elf_rel_size(false, rela);
    cv_elf_reloc reloc, target;

    for (uint64_t at = 0; at < count; at++) {
        cv_span name, other;

        cv_elf_read_reloc(first, false, rela, at, &reloc);
        cv_elf_read_reloc(second, false, rela, at, &target);
        if (reloc.off != target.off || reloc.type != target.type || reloc.addend != target.addend)
            return false;
        if (reloc.sym == target.sym) /* symbols with the same number are compared in any case */
            continue;
        name = cv_final_reloc_symbol(pair->before, merc, reloc.sym);
        other = cv_final_reloc_symbol(pair->after, merc, target.sym);
        if (!cv_work(ctx, name.len / 4 + 2, first.off) || !cv_span_eq(name, other))
            return false;
    }
    return true;
}

/* .nv.compat with one bit of its mask set: nothing else in it is another. */
static bool claims_same(const cv_final_same *pair, cv_span own, cv_span other)
{
    const cv_compat *first = &pair->before->claims, *second = &pair->after->claims;
    uint64_t count = sizeof(first->fastpath);
    cv_span front = own, back = cv_span_tail(own, cv_sat_add(first->fastpath_at, count)),
            front_of_other = other;

    front.len = front_of_other.len = first->fastpath_at;
    return first->fastpath_at == second->fastpath_at &&
           second->fastpath == (first->fastpath | cv_fastpath_bit(pair->runs_on)) &&
           cv_span_eq(front, front_of_other) &&
           cv_span_eq(back, cv_span_tail(other, cv_sat_add(first->fastpath_at, count)));
}

/* .nv.compat of code that was made again: its mask may say less, for it was about other code. */
static bool claims_again(const cv_final_same *pair, cv_span own, cv_span other)
{
    const cv_compat *first = &pair->before->claims, *second = &pair->after->claims;
    uint64_t at = first->fastpath_at, count = sizeof(first->fastpath);
    cv_span front = own, front_of_other = other;

    if (!cv_compat_has(first, CV_COMPAT_CAN_FASTPATH_FINALIZE))
        return cv_span_eq(own, other);
    front.len = front_of_other.len = at;
    return second->fastpath_at == at && (second->fastpath & ~first->fastpath) == 0 &&
           cv_span_eq(front, front_of_other) &&
           cv_span_eq(cv_span_tail(own, cv_sat_add(at, count)), cv_span_tail(other, cv_sat_add(at, count)));
}

/* A code section that was made again. */
static bool count_code(cv_ctx *ctx, const cv_final_same *pair, cv_span own, cv_span other)
{
    if (!cv_work(ctx, own.len / 16 + 1, own.off))
        return false;
    if (pair->tally) {
        pair->tally->code++;
        pair->tally->other += !cv_span_eq(own, other);
    }
    return true;
}

bool cv_final_section_same(cv_ctx *ctx, const cv_final_same *pair, uint64_t index, uint64_t at)
{
    const cv_elf_section *first = &cv_cubin_sec(pair->before, index)->header,
                         *second = &cv_cubin_sec(pair->after, at)->header;
    const cv_final_body *body;
    cv_span own = cv_final_body_of(pair->before, index), other = cv_final_body_of(pair->after, at);

    if (first->type != second->type || first->flags != second->flags || first->align != second->align ||
        first->entsize != second->entsize)
        return false;
    if (pair->made_again && cv_final_part(pair->before, index) == CV_PART_CODE)
        return count_code(ctx, pair, own, other);
    body = new_body(pair, at);
    if (body)
        own = cv_builder_span(&body->bytes);
    if (own.len != other.len || (!body && first->size != second->size) ||
        !cv_work(ctx, own.len / 16 + 1, own.off))
        return false;
    if (cv_elf_type_is_reloc(first->type))
        return relocs_same(ctx, pair, index, at);
    if (pair->made_again && cv_cubin_sec(pair->before, index)->role == CV_ROLE_COMPAT)
        return claims_again(pair, own, other);
    if (pair->runs_on != 0 && cv_cubin_sec(pair->before, index)->role == CV_ROLE_COMPAT)
        return claims_same(pair, own, other);
    return cv_span_eq(own, other);
}

cuvet_status cv_final_symbols_differ(cv_ctx *ctx, cv_final *code, const cv_final_same *pair, uint64_t before,
                                     uint64_t after)
{
    *code = CV_FINAL_BACKEND_BAD_OUTPUT;
    return cv_reject(ctx, CV_R_FINAL_OUTPUT_SYMBOLS,
                     cv_sat_add(pair->after->symtab.off, cv_sat_mul(after, cv_elf_sym_size(false))), after,
                     before);
}

bool cv_final_in_section(const cv_elf_symbol *sym)
{
    return sym->shndx != CV_SHN_UNDEF && (sym->shndx < CV_SHN_LORESERVE || sym->shndx == CV_SHN_XINDEX);
}

/* One by one: same name, kind, value, and the same section by its name. */
static bool symbol_same(cv_ctx *ctx, const cv_final_same *pair, uint64_t index)
{
    cv_elf_symbol first, second;
    cv_span name;

    cv_elf_read_symbol(pair->before->symtab, false, index, &first);
    cv_elf_read_symbol(pair->after->symtab, false, index, &second);
    if (index != 0 && index == pair->null_symbol)
        return second.name == 0 && second.info == 0 && second.shndx == 0 && second.value == 0 &&
               second.size == 0 && second.other == 1;
    name = cv_final_symbol_name(pair->before, &first);
    if (first.info != second.info || first.other != second.other || first.value != second.value ||
        first.size != second.size || !cv_work(ctx, name.len / 4 + 1, name.off) ||
        !cv_span_eq(name, cv_final_symbol_name(pair->after, &second)))
        return false;
    if (!cv_final_in_section(&first) || !cv_final_in_section(&second))
        return first.shndx == second.shndx;
    return cv_span_eq(cv_cubin_sec(pair->before, cv_cubin_shndx(pair->before, false, index, &first))->name,
                      cv_cubin_sec(pair->after, cv_cubin_shndx(pair->after, false, index, &second))->name);
}

static cuvet_status in_order(cv_ctx *ctx, const cv_final_same *pair, cv_final *code)
{
    if (pair->before->n_syms != pair->after->n_syms)
        return cv_final_symbols_differ(ctx, code, pair, pair->before->n_syms, pair->after->n_syms);
    for (uint64_t i = 0; i < pair->before->n_syms; i++)
        if (!symbol_same(ctx, pair, i))
            return ctx->work_out ? CUVET_E_LIMIT : cv_final_symbols_differ(ctx, code, pair, i, i);
    return CUVET_OK;
}

cuvet_status cv_final_symbols_same(cv_ctx *ctx, const cv_final_same *pair, cv_final *code)
{
    cuvet_status status =
        pair->made_again ? cv_final_symbols_again(ctx, pair, code) : in_order(ctx, pair, code);

    if (status == CUVET_E_LIMIT)
        *code = CV_FINAL_LIMIT;
    else if (status == CUVET_E_NOMEM)
        *code = CV_FINAL_MEMORY;
    return status;
}
