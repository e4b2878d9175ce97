/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes of the sections that the link writes itself: symbols, records, call graph, prototypes, relocations,
 * notes, compat. Numbers of sections and symbols are final here. */
#include "link/write/synthetics.h"
#include "base/arith.h"
#include "format/tlv/attr.h"
#include "format/tlv/read.h"
#include "format/tlv/write.h"

enum { LINK_SYMTAB = 3 };

static uint32_t string_off(const cv_view_synthetics *view, cv_id name)
{
    return (uint32_t)cv_name_places_get(&view->layout->name, name)->str_off;
}

static uint32_t index_of(const cv_view_synthetics *view, const cv_osym *osym)
{
    return osym->sec == CV_NONE ? 0 : cv_l_osec(view, osym->sec)->index;
}

/* Kind and visibility bits as the loader reads them. */
static void put_symbol(const cv_view_synthetics *view, cv_builder *builder, const cv_osym *osym)
{
    uint8_t info = osym->info, other = osym->other;
    uint32_t index = index_of(view, osym);
    uint16_t shndx = index < CV_SHN_LORESERVE ? (uint16_t)index : CV_SHN_XINDEX;

    if (osym->common_kept && !osym->common)
        shndx = CV_SHN_COMMON;
    if (!view->options->relocatable &&
        (osym->common || (!osym->hidden && shndx != 0 && cv_elf_info_type(info) == CV_STT_CUDA_OBJECT))) {
        info = cv_elf_info(cv_elf_info_bind(info), CV_STT_OBJECT);
        other &= CV_STO_MANAGED;
    }
    cv_put_u32(builder, string_off(view, osym->name));
    cv_put_u8(builder, info);
    cv_put_u8(builder, other);
    cv_put_u16(builder, shndx);
    cv_put_u64(builder, osym->value);
    cv_put_u64(builder, osym->size);
}

/* Numbers of sections that do not fit a symbol. */
static void put_numbers(const cv_view_synthetics *view, cv_builder *numbers)
{
    cv_put_u32(numbers, 0);
    for (uint64_t i = 0; i < view->layout->sym_order.count; i++) {
        uint32_t index = index_of(view, cv_l_osym(view, *cv_u32s_get(&view->layout->sym_order, i)));

        cv_put_u32(numbers, index < CV_SHN_LORESERVE ? 0 : index);
    }
}

static cuvet_status fill_symbols(const cv_view_synthetics *view)
{
    cv_builder *builder = cv_synthetic_bytes(view, view->out->symtab);

    for (cv_id i = 0; i < view->functions->fn.count; i++) { /* functions are as long as their code */
        const cv_lfn *function = cv_l_fn(view, i);

        if (cv_l_fn_out(view, function->id)->sec != CV_NONE &&
            cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->fn == i)
            cv_l_osym(view, cv_l_fn_out(view, function->id)->sym)->size =
                cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->size;
    }
    cv_builder_reserve(builder, (view->layout->sym_order.count + 1) * cv_elf_sym_size(false));
    cv_put_zero(builder, cv_elf_sym_size(false));
    if (view->out->symtab_shndx != CV_NONE) {
        put_numbers(view, cv_synthetic_bytes(view, view->out->symtab_shndx));
        cv_l_osec(view, view->out->symtab_shndx)->link = LINK_SYMTAB;
    }
    for (uint64_t i = 0; i < view->layout->sym_order.count; i++)
        put_symbol(view, builder, cv_l_osym(view, *cv_u32s_get(&view->layout->sym_order, i)));
    cv_l_osec(view, view->out->symtab)->link = 2;
    cv_l_osec(view, view->out->symtab)->info = (uint32_t)view->layout->n_locals;
    if (view->out->symtab_shndx != CV_NONE && cv_synthetic_end(view, view->out->symtab_shndx) != CUVET_OK)
        return CUVET_E_NOMEM;
    return cv_synthetic_end(view, view->out->symtab);
}

static void put_record(const cv_view_synthetics *view, cv_builder *builder, const cv_irec *record)
{
    uint16_t size = record->format != CV_TLV_SVAL ? record->value
                    : record->raw                 ? (uint16_t)record->bytes.len
                                                  : (uint16_t)(4 * record->count);

    cv_tlv_put_head(builder, record->format, record->code, size);
    if (record->format != CV_TLV_SVAL)
        return;
    if (record->raw) {
        cv_put_span(builder, record->bytes);
        return;
    }
    for (uint32_t i = 0; i < record->count; i++) {
        const cv_iword *word = cv_iwords_get(&view->records->word, (uint64_t)record->first + i);

        cv_put_u32(builder, word->symbol ? cv_l_osym(view, word->value)->index : word->value);
    }
}

static cuvet_status fill_infos(const cv_view_synthetics *view)
{
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 0; i < view->records->oinfo.count && status == CUVET_OK; i++) {
        const cv_oinfo *info = cv_oinfos_get(&view->records->oinfo, i);

        for (uint64_t k = 0; k < info->count; k++)
            put_record(view, cv_synthetic_bytes(view, info->sec),
                       cv_irecs_get(&view->records->rec, info->first + k));
        cv_l_osec(view, info->sec)->link = LINK_SYMTAB;
        status = cv_synthetic_end(view, info->sec);
    }
    for (uint64_t k = 0; k < view->records->program_n; k++)
        put_record(view, cv_synthetic_bytes(view, view->out->info),
                   cv_irecs_get(&view->records->rec, view->records->program_first + k));
    cv_l_osec(view, view->out->info)->link = LINK_SYMTAB;
    return status == CUVET_OK ? cv_synthetic_end(view, view->out->info) : status;
}

/* A function that has a place in the symbol table. */
static bool is_listed(const cv_view_synthetics *view, const cv_lfn *function)
{
    return cv_l_fn_calls(view, function->id)->live && cv_l_fn_out(view, function->id)->sym != CV_NONE &&
           !cv_l_osym(view, cv_l_fn_out(view, function->id)->sym)->dead &&
           cv_l_osym(view, cv_l_fn_out(view, function->id)->sym)->index != 0;
}

static void put_edges(const cv_view_synthetics *view, cv_builder *builder, unsigned part)
{
    cv_put_u32(builder, 0);
    cv_put_u32(builder, (uint32_t) - (int32_t)part);
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *fn = cv_l_fn(view, i);
        cv_id edge = part == 1   ? cv_l_fn_calls(view, fn->id)->calls
                     : part == 2 ? cv_l_fn_calls(view, fn->id)->taken
                     : part == 3 ? cv_l_fn_calls(view, fn->id)->ind
                                 : cv_l_fn_calls(view, fn->id)->adr;

        if (!is_listed(view, fn))
            continue;
        if (part == 2 && edge == CV_NONE && cv_l_fn_calls(view, fn->id)->launched) {
            cv_put_u32(builder, cv_l_osym(view, cv_l_fn_out(view, fn->id)->sym)->index);
            cv_put_u32(builder, 0);
        }
        for (; edge != CV_NONE; edge = cv_edges_get(&view->calls->edge, edge)->next) {
            cv_id to = cv_edges_get(&view->calls->edge, edge)->to;
            bool function = part == 1 || part == 4;

            if (function && !cv_l_fn_calls(view, to)->live)
                continue;
            cv_put_u32(builder, cv_l_osym(view, cv_l_fn_out(view, fn->id)->sym)->index);
            cv_put_u32(builder,
                       function ? cv_l_osym(view, cv_l_fn_out(view, to)->sym)->index : string_off(view, to));
        }
    }
}

static cuvet_status fill_graph(const cv_view_synthetics *view)
{
    cv_builder *builder = cv_synthetic_bytes(view, view->out->callgraph),
               *chunk = cv_synthetic_bytes(view, view->out->prototype);
    cuvet_status status;

    for (unsigned part = 1; part <= 4; part++)
        put_edges(view, builder, part);
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (!is_listed(view, function) || cv_l_fn_calls(view, function->id)->proto == CV_NONE ||
            cv_fn_is_taken(cv_l_fn_calls(view, function->id)))
            continue;
        cv_put_u32(chunk, cv_l_osym(view, cv_l_fn_out(view, function->id)->sym)->index);
        cv_put_u32(chunk, string_off(view, cv_l_fn_calls(view, function->id)->proto));
    }
    cv_l_osec(view, view->out->callgraph)->link = LINK_SYMTAB;
    cv_l_osec(view, view->out->prototype)->link = LINK_SYMTAB;
    status = cv_synthetic_end(view, view->out->callgraph);
    return status == CUVET_OK ? cv_synthetic_end(view, view->out->prototype) : status;
}

/* Its entries are written to their place in the file (write.c): there are more of them than of anything
 * else. */
static cuvet_status head_relocations(const cv_view_synthetics *view, cv_id id)
{
    cv_osec *osec = cv_l_osec(view, id);

    if (osec->dead)
        return CUVET_OK;
    osec->link = LINK_SYMTAB;
    osec->info = cv_l_osec(view, osec->target)->index;
    return CUVET_OK;
}

static void put_resolved(const cv_view_synthetics *view, cv_builder *builder, const cv_rel_cur *cur,
                         bool has_addend)
{
    const cv_irel *irel = cur->rel;
    const cv_isym *sym = cv_l_isym(view, irel->sym);
    cv_id osym = cv_link_symbol_of(view, irel->sym);
    uint64_t addend = has_addend ? (uint64_t)irel->addend : 0;

    if (!cv_l_fixup(view, cur->id)->resolved)
        return;
    if (cv_l_type(sym) == CV_STT_SECTION && sym->sec != CV_NONE)
        addend = cv_wrap_add(addend, cv_l_became(view, sym->sec)->base);
    cv_put_u64(builder, irel->off);
    cv_put_u64(builder, (uint64_t)(osym == CV_NONE ? 0 : cv_l_osym(view, osym)->index) << 32 | irel->type);
    cv_put_u64(builder, addend);
}

static cv_rel_cur relocations_of(const cv_view_synthetics *view, const cv_osec *target, unsigned rela)
{
    static const cv_osec NONE = { .rels = CV_NONE };
    cv_id id = CV_ARRAY_GET(target->rel, rela);

    return cv_out_rels(id == CV_NONE ? &NONE : cv_l_osec(view, id));
}

/* What was applied, in the order of reading backwards over both kinds of relocation sections. */
static cuvet_status fill_resolved(const cv_view_synthetics *view, cv_id id)
{
    cv_osec *osec = cv_l_osec(view, id), *target = cv_l_osec(view, osec->target);
    cv_rel_cur plain = relocations_of(view, target, 0), with_addend = relocations_of(view, target, 1);
    bool any_plain = cv_rel_next(view->out, &plain), any_with = cv_rel_next(view->out, &with_addend);

    if (osec->dead)
        return CUVET_OK;
    while (any_plain || any_with) {
        bool first = !any_with || (any_plain && plain.id > with_addend.id);

        put_resolved(view, &osec->bytes, first ? &plain : &with_addend, !first);
        if (first)
            any_plain = cv_rel_next(view->out, &plain);
        else
            any_with = cv_rel_next(view->out, &with_addend);
    }
    osec->link = LINK_SYMTAB;
    osec->info = target->index;
    return cv_synthetic_end(view, id);
}

/* The relocation type that older loaders do not know: its number, and where its value and the number of a
 * bank go (kind, shift, then first bit, bits and place of each). */
static cuvet_status fill_action(const cv_view_synthetics *view)
{
    const cv_reloc_facts *facts = cv_reloc_of(CV_R_CUDA_CONST_FIELD22_37);
    const uint8_t action[] = {
        0, facts->shift, 0, facts->bits, facts->pos, 0, CV_R_NUMBER_BITS, CV_R_NUMBER_POS
    };

    if (view->out->action == CV_NONE)
        return CUVET_OK;
    cv_put_u32(cv_synthetic_bytes(view, view->out->action), CV_R_CUDA_CONST_FIELD22_37);
    cv_put_u32(cv_synthetic_bytes(view, view->out->action), 0);
    for (size_t i = 0; i < CV_COUNT(action); i++)
        cv_put_u8(cv_synthetic_bytes(view, view->out->action), CV_AT(action, i));
    return cv_synthetic_end(view, view->out->action);
}

/* sh_link and sh_info of the sections that name others. */
static void fill_headers(const cv_view_synthetics *view)
{
    for (uint64_t i = 0; i < view->layout->order.count; i++) {
        cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));

        if (osec->group == CV_G_CODE && osec->fn != CV_NONE) {
            osec->link = LINK_SYMTAB;
            osec->info = cv_l_osym(view, cv_l_fn_out(view, osec->fn)->sym)->index;
            if (cv_l_has(view, CV_GEN_REGS_IN_INFO))
                osec->info |= osec->reg_byte << 24;
        }
        if (osec->infosec != CV_NONE)
            osec->info = cv_l_osec(view, osec->infosec)->index;
        if (osec->linksec != CV_NONE)
            osec->link = cv_l_osec(view, osec->linksec)->index;
    }
}

/* Sizes of what is written from records and symbols. */
static void set_sizes(const cv_view_synthetics *view)
{
    cv_l_osec(view, view->out->symtab)->size = cv_elf_sym_size(false) * (view->layout->sym_order.count + 1);
    if (view->out->symtab_shndx != CV_NONE)
        cv_l_osec(view, view->out->symtab_shndx)->size = 4 * (view->layout->sym_order.count + 1);
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(view, i);

        if (osec->group == CV_G_REL)
            osec->size = cv_l_fixed(view, i)->n_kept * osec->entsize;
    }
}

static cuvet_status set_offsets(const cv_view_synthetics *view)
{
    uint64_t pos = cv_elf_ehdr_size(false), padding = 0, most = 0;

    for (uint64_t i = 0; i < view->inputs->obj.count; i++)
        most = cv_sat_add(most, cv_l_obj(view, (cv_id)i)->image.len);
    most = cv_padding_most(most);

    for (uint64_t i = 1; i < view->layout->order.count; i++) {
        cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));

        osec->off = cv_sat_align(pos, cv_max(osec->align, 1));
        padding = cv_sat_add(padding, osec->off - pos);
        pos = osec->off;
        if (osec->group != CV_G_NOBITS)
            pos = cv_sat_add(pos, osec->size);
    }
    view->synthetics->shoff = cv_sat_align(pos, 8);
    view->synthetics->phoff =
        cv_sat_add(view->synthetics->shoff, view->layout->order.count * cv_elf_shdr_size(false));
    return padding <= most ? CUVET_OK : cv_reject(view->ctx, CV_R_LIMIT_PADDING, 0, padding, most);
}

cuvet_status cv_stage_synthetics(const cv_view_synthetics *view)
{
    static cuvet_status (*const FILLS[])(const cv_view_synthetics *) = {
        fill_symbols, fill_infos, fill_graph, cv_fill_tools, cv_fill_cuinfo, cv_fill_compat, fill_action
    };
    cuvet_status status = CUVET_OK;

    for (size_t i = 0; i < CV_COUNT(FILLS) && status == CUVET_OK; i++)
        status = CV_AT(FILLS, i)(view);
    for (cv_id i = 0; i < view->out->osec.count && status == CUVET_OK; i++)
        if (cv_l_osec(view, i)->group == CV_G_REL)
            status = cv_l_osec(view, i)->is_resolved ? fill_resolved(view, i) : head_relocations(view, i);
    fill_headers(view);
    if (status != CUVET_OK)
        return status;
    set_sizes(view);
    return set_offsets(view);
}

enum { FILE_HEADER = 64 };

static bool section_holds(const cv_check_synthetics *view, cv_id id, uint64_t *end)
{
    const cv_osec *osec = cv_l_osec(view, id);

    if (osec->off < *end || (osec->align > 1 && osec->off % osec->align != 0))
        return false;
    if (osec->bytes.len && osec->bytes.len != osec->size)
        return false;
    if (osec->group == CV_G_REL &&
        (osec->first_part != CV_NONE || osec->size != cv_l_fixed(view, id)->n_kept * osec->entsize))
        return false;
    *end = osec->group == CV_G_NOBITS ? osec->off : cv_sat_add(osec->off, osec->size);
    return true;
}

/* Offsets ascend, nothing overlaps, and the bytes of each section are as many as it says. */
bool cv_stage_synthetics_holds(const cv_check_synthetics *view)
{
    uint64_t end = FILE_HEADER;

    for (uint64_t i = 1; i < view->layout->order.count; i++)
        if (!section_holds(view, *cv_u32s_get(&view->layout->order, i), &end))
            return false;
    return view->synthetics->shoff >= end &&
           cv_l_osec(view, view->out->symtab)->bytes.len / cv_elf_sym_size(false) ==
               view->layout->sym_order.count + 1;
}
