/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Second pass: the bytes. */
#include "finalize/rewrite_int.h"

#include "format/elf/write.h"

static uint32_t new_number(const cv_rewrite *rewrite, uint64_t index)
{
    return index < rewrite->number.count ? *cv_u32s_get(&rewrite->number, index) : (uint32_t)index;
}

static bool renumber_sections(const cv_rewrite *rewrite)
{
    return rewrite->n_sections != rewrite->cubin->sec.count;
}

static uint32_t names_section(const cv_cubin *cubin)
{
    return cubin->header.shstrndx == CV_SHN_XINDEX ? cv_cubin_sec(cubin, 0)->header.link
                                                   : cubin->header.shstrndx;
}

static void put_header(const cv_rewrite *rewrite, cv_builder *out)
{
    const cv_cubin *cubin = rewrite->cubin;
    uint32_t note = cv_cubin_first(cubin, CV_ROLE_CUINFO), names = new_number(rewrite, names_section(cubin));
    cv_elf_header header = cubin->header;

    if (note == 0)
        note = cv_cubin_first(cubin, CV_ROLE_CUVER);
    header.flags = cv_final_flags(cubin, rewrite->kind, rewrite->sm, new_number(rewrite, note));
    header.shoff = rewrite->shoff;
    header.phoff = rewrite->phoff;
    header.phnum = (uint16_t)rewrite->phnum;
    header.shnum = rewrite->n_sections < CV_SHN_LORESERVE ? (uint16_t)rewrite->n_sections : 0;
    header.shstrndx = names < CV_SHN_LORESERVE ? (uint16_t)names : CV_SHN_XINDEX;
    cv_elf_write_header(out, &header);
}

/* Symbols up to the last local one; the empty entry counts as one. */
static uint32_t locals_end(const cv_rewrite *rewrite, bool new)
{
    const cv_cubin *cubin = rewrite->cubin;
    cv_elf_symbol sym;
    uint64_t end = 0;

    for (uint64_t i = 0; i < cubin->n_syms; i++) {
        cv_elf_read_symbol(cubin->symtab, false, i, &sym);
        if (cv_elf_sym_bind(&sym) == CV_STB_LOCAL || (new &&i == rewrite->null_symbol))
            end = i + 1;
    }
    return (uint32_t)end;
}

static void put_section(const cv_rewrite *rewrite, cv_builder *out, uint64_t index)
{
    const cv_cubin *cubin = rewrite->cubin;
    const cv_sec *sec = cv_cubin_sec(cubin, index);
    cv_elf_section header = sec->header;

    header.name = *cv_u32s_get(&rewrite->name, index);
    header.off = *cv_u64s_get(&rewrite->place, index);
    header.size = *cv_u64s_get(&rewrite->size, index);
    header.link = new_number(rewrite, header.link);
    /* The flag says that sh_info is a section; of every role where it is, the examination asks for it. */
    if (renumber_sections(rewrite) && (sec->header.flags & CV_SHF_INFO_LINK))
        header.info = new_number(rewrite, header.info);
    if (rewrite->null_symbol != 0 && index == cubin->symtab_index &&
        header.info == locals_end(rewrite, false))
        header.info = locals_end(rewrite, true);
    if (index == 0) { /* counts that do not fit the file header */
        uint32_t names = new_number(rewrite, names_section(cubin));

        header = (cv_elf_section){ 0 };
        header.size = rewrite->n_sections < CV_SHN_LORESERVE ? 0 : rewrite->n_sections;
        header.link = names < CV_SHN_LORESERVE ? 0 : names;
    }
    cv_elf_write_section(out, false, &header);
}

static bool put_tables(cv_ctx *ctx, const cv_rewrite *rewrite, cv_final_sink *to, bool *nomem)
{
    cv_builder out;
    bool ok;

    cv_builder_init(&out, &ctx->mem);
    cv_builder_reserve(&out, rewrite->n_sections * cv_elf_shdr_size(false));
    for (uint64_t i = 0; i < rewrite->cubin->sec.count; i++)
        if (i == 0 || new_number(rewrite, i) != 0)
            put_section(rewrite, &out, i);
    *nomem = out.failed;
    ok = !out.failed && cv_final_sink_put(to, cv_builder_span(&out)) &&
         (rewrite->phnum == 0 || cv_final_sink_put(to, cv_builder_span(&rewrite->segments)));
    cv_builder_free(&out);
    return ok;
}

/* Symbols keep their order and their names; sections that they lie in have new numbers. */
static void put_symbols(const cv_rewrite *rewrite, cv_builder *out)
{
    const cv_cubin *cubin = rewrite->cubin;
    cv_elf_symbol sym;

    cv_builder_reserve(out, cubin->symtab.len);
    for (uint64_t i = 0; i < cubin->n_syms; i++) {
        cv_elf_read_symbol(cubin->symtab, false, i, &sym);
        if (sym.shndx < CV_SHN_LORESERVE)
            sym.shndx = (uint16_t)new_number(rewrite, sym.shndx);
        if (i != 0 && i == rewrite->null_symbol)
            sym = (cv_elf_symbol){ .other = 1 };
        cv_elf_write_symbol(out, false, &sym);
    }
}

static void put_indices(const cv_rewrite *rewrite, cv_builder *out)
{
    cv_span table = rewrite->cubin->symtab_shndx;

    for (uint64_t at = 0; at < table.len; at += 4)
        cv_put_u32(out, new_number(rewrite, cv_u32_at(table, at)));
}

static bool put_body(cv_ctx *ctx, const cv_rewrite *rewrite, cv_final_sink *to, uint64_t index, bool *nomem)
{
    const cv_cubin *cubin = rewrite->cubin;
    const cv_final_body *body = cv_rewrite_body(rewrite, index);
    cv_span own = cv_span_tail(cubin->image, cv_cubin_sec(cubin, index)->header.off);
    cv_builder out;
    bool ok;

    if (body)
        return cv_final_sink_put(to, cv_builder_span(&body->bytes));
    if (index == names_section(cubin) && rewrite->names.len)
        return cv_final_sink_put(to, cv_builder_span(&rewrite->names));
    cv_builder_init(&out, &ctx->mem);
    if (index == cubin->symtab_index && (renumber_sections(rewrite) || rewrite->null_symbol))
        put_symbols(rewrite, &out);
    else if (index == cv_cubin_first(cubin, CV_ROLE_SYMTAB_SHNDX) && renumber_sections(rewrite))
        put_indices(rewrite, &out);
    own.len = cv_cubin_sec(cubin, index)->header.size;
    *nomem = out.failed;
    ok = !out.failed && cv_final_sink_put(to, out.len ? cv_builder_span(&out) : own);
    cv_builder_free(&out);
    return ok;
}

static bool put_sections(cv_ctx *ctx, const cv_rewrite *rewrite, cv_final_sink *to, bool *nomem)
{
    bool ok = true;

    for (uint64_t k = 0; k < rewrite->order.count && ok; k++) {
        uint64_t i = cv_keys_get(&rewrite->order, k)->index, at = *cv_u64s_get(&rewrite->place, i);

        if (!cv_final_in_file(rewrite->cubin, i) || at < to->at) /* a twin of what is there */
            continue;
        ok = cv_final_sink_zero(to, at - to->at) && put_body(ctx, rewrite, to, i, nomem);
    }
    return ok && to->at <= rewrite->shoff && cv_final_sink_zero(to, rewrite->shoff - to->at);
}

cuvet_status cv_rewrite_write(cv_ctx *ctx, const cv_rewrite *rewrite, cv_final_sink *to)
{
    bool nomem = false, ok;
    cv_builder out;
    cuvet_status status;

    if (!cv_work(ctx, cv_sat_add(cv_sat_mul(rewrite->cubin->n_syms, 4), rewrite->cubin->sec.count),
                 rewrite->cubin->image.off))
        return CUVET_E_LIMIT;
    status = cv_final_sink_begin(to, rewrite->total);
    if (status != CUVET_OK)
        return status;
    cv_builder_init(&out, &ctx->mem);
    put_header(rewrite, &out);
    nomem = out.failed;
    ok = !nomem && cv_final_sink_put(to, cv_builder_span(&out)) && put_sections(ctx, rewrite, to, &nomem) &&
         put_tables(ctx, rewrite, to, &nomem) && cv_final_sink_end(to);
    cv_builder_free(&out);
    if (nomem)
        return cv_nomem(ctx, rewrite->cubin->image.off);
    return CV_NEVER(!ok) ? cv_reject(ctx, CV_R_FINAL_PASSES, 0, to->at, to->size) : CUVET_OK;
}
