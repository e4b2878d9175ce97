/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes of the sections that the link writes itself: symbols, records, call graph, prototypes, relocations,
 * notes, compat. Numbers of sections and symbols are final here. */
#include "base/arith.h"
#include "cubin/admit.h"
#include "format/note/read.h"
#include "format/note/write.h"
#include "format/tlv/attr.h"
#include "format/tlv/read.h"
#include "format/tlv/write.h"
#include "link/write/write.h"

enum { LINK_SYMTAB = 3 };

static cv_builder *bytes_of(const cv_view_synthetics *view, cv_id sec)
{
    return &cv_l_osec(view, sec)->bytes;
}

static cuvet_status end(const cv_view_synthetics *view, cv_id sec)
{
    cv_osec *osec = cv_l_osec(view, sec);

    osec->size = osec->bytes.len;
    return osec->bytes.failed ? cv_l_nomem(view) : CUVET_OK;
}

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
    cv_builder *builder = bytes_of(view, view->out->symtab);

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
        put_numbers(view, bytes_of(view, view->out->symtab_shndx));
        cv_l_osec(view, view->out->symtab_shndx)->link = LINK_SYMTAB;
    }
    for (uint64_t i = 0; i < view->layout->sym_order.count; i++)
        put_symbol(view, builder, cv_l_osym(view, *cv_u32s_get(&view->layout->sym_order, i)));
    cv_l_osec(view, view->out->symtab)->link = 2;
    cv_l_osec(view, view->out->symtab)->info = (uint32_t)view->layout->n_locals;
    if (view->out->symtab_shndx != CV_NONE && end(view, view->out->symtab_shndx) != CUVET_OK)
        return CUVET_E_NOMEM;
    return end(view, view->out->symtab);
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
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < view->records->oinfo.count && st == CUVET_OK; i++) {
        const cv_oinfo *info = cv_oinfos_get(&view->records->oinfo, i);

        for (uint64_t k = 0; k < info->count; k++)
            put_record(view, bytes_of(view, info->sec), cv_irecs_get(&view->records->rec, info->first + k));
        cv_l_osec(view, info->sec)->link = LINK_SYMTAB;
        st = end(view, info->sec);
    }
    for (uint64_t k = 0; k < view->records->program_n; k++)
        put_record(view, bytes_of(view, view->out->info),
                   cv_irecs_get(&view->records->rec, view->records->program_first + k));
    cv_l_osec(view, view->out->info)->link = LINK_SYMTAB;
    return st == CUVET_OK ? end(view, view->out->info) : st;
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
    cv_builder *builder = bytes_of(view, view->out->callgraph), *chunk = bytes_of(view, view->out->prototype);
    cuvet_status st;

    for (unsigned part = 1; part <= 4; part++)
        put_edges(view, builder, part);
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (!is_listed(view, function) || cv_l_fn_calls(view, function->id)->proto == CV_NONE ||
            cv_l_fn_calls(view, function->id)->taken != CV_NONE)
            continue;
        cv_put_u32(chunk, cv_l_osym(view, cv_l_fn_out(view, function->id)->sym)->index);
        cv_put_u32(chunk, string_off(view, cv_l_fn_calls(view, function->id)->proto));
    }
    cv_l_osec(view, view->out->callgraph)->link = LINK_SYMTAB;
    cv_l_osec(view, view->out->prototype)->link = LINK_SYMTAB;
    st = end(view, view->out->callgraph);
    return st == CUVET_OK ? end(view, view->out->prototype) : st;
}

static cuvet_status fill_relocations(const cv_view_synthetics *view, cv_id id)
{
    cv_osec *osec = cv_l_osec(view, id);
    bool rela = osec->type == CV_SHT_RELA;

    if (osec->dead)
        return CUVET_OK;
    cv_builder_reserve(&osec->bytes, cv_sat_mul(cv_l_fixed(view, id)->n_kept, osec->entsize));
    for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(view, rel)->next) {
        const cv_irel *irel = cv_l_irel(view, rel);
        const cv_fixup *fixup = cv_l_fixup(view, rel);

        if (!fixup->keep)
            continue;
        if (CV_NEVER(fixup->osym == CV_NONE)) /* dangling.c */
            return cv_link_broken(view);
        cv_put_u64(&osec->bytes, irel->off);
        cv_put_u64(&osec->bytes, (uint64_t)cv_l_osym(view, fixup->osym)->index << 32 | fixup->type);
        if (rela)
            cv_put_u64(&osec->bytes, (uint64_t)fixup->addend);
    }
    osec->link = LINK_SYMTAB;
    osec->info = cv_l_osec(view, osec->target)->index;
    return end(view, id);
}

static void put_resolved(const cv_view_synthetics *view, cv_builder *builder, cv_id rel, const cv_osec *osec)
{
    const cv_irel *irel = cv_l_irel(view, rel);
    const cv_isym *sym = cv_l_isym(view, irel->sym);
    cv_id osym = cv_link_symbol_of(view, irel->sym);
    uint64_t addend = osec->type == CV_SHT_RELA ? (uint64_t)irel->addend : 0;

    if (!cv_l_fixup(view, rel)->resolved)
        return;
    if (cv_l_type(sym) == CV_STT_SECTION && sym->sec != CV_NONE)
        addend = cv_wrap_add(addend, cv_l_became(view, sym->sec)->base);
    cv_put_u64(builder, irel->off);
    cv_put_u64(builder, (uint64_t)(osym == CV_NONE ? 0 : cv_l_osym(view, osym)->index) << 32 | irel->type);
    cv_put_u64(builder, addend);
}

/* What was applied, in the order of reading backwards over both kinds of relocation sections. */
static cuvet_status fill_resolved(const cv_view_synthetics *view, cv_id id)
{
    cv_osec *osec = cv_l_osec(view, id), *target = cv_l_osec(view, osec->target);
    const cv_osec *rel =
        CV_ARRAY_GET(target->rel, 0) == CV_NONE ? NULL : cv_l_osec(view, CV_ARRAY_GET(target->rel, 0));
    const cv_osec *rela =
        CV_ARRAY_GET(target->rel, 1) == CV_NONE ? NULL : cv_l_osec(view, CV_ARRAY_GET(target->rel, 1));
    cv_id plain = rel ? rel->rels : CV_NONE, with_addend = rela ? rela->rels : CV_NONE;

    if (osec->dead)
        return CUVET_OK;
    while (plain != CV_NONE || with_addend != CV_NONE) {
        bool first = with_addend == CV_NONE || (plain != CV_NONE && plain > with_addend);

        put_resolved(view, &osec->bytes, first ? plain : with_addend, first ? rel : rela);
        if (first)
            plain = cv_l_irel(view, plain)->next;
        else
            with_addend = cv_l_irel(view, with_addend)->next;
    }
    osec->link = LINK_SYMTAB;
    osec->info = target->index;
    return end(view, id);
}

/* Our note, then those of all inputs. */
static cuvet_status fill_tools(const cv_view_synthetics *view)
{
    static const char NAME[] = "cuvet", VERSION[] = CV_VERSION; /* our name, never the vendor's */
    const cv_tkinfo ours = { .version = 2,
                             .tool = cv_span_of(NAME, sizeof(NAME) - 1, 0),
                             .tool_version = cv_span_of(VERSION, sizeof(VERSION) - 1, 0) };
    cv_builder *builder = bytes_of(view, view->out->tkinfo);

    if (CV_NEVER(!cv_tkinfo_put(builder, &ours)))
        return cv_link_broken(view);
    for (cv_id i = 0; i < view->inputs->obj.count && !view->options->relocatable; i++)
        cv_put_span(builder, cv_cubin_body(&cv_l_obj(view, i)->cubin, cv_l_obj(view, i)->tkinfo));
    return end(view, view->out->tkinfo);
}

/* The oldest virtual architecture among the inputs. */
static cuvet_status fill_cuinfo(const cv_view_synthetics *view)
{
    uint32_t sm = UINT32_MAX;

    for (cv_id i = 0; i < view->inputs->obj.count; i++) {
        uint32_t lowest = cv_l_obj(view, i)->cubin.virtual_sm;

        if (lowest < sm)
            sm = lowest;
    }
    cv_cuinfo_put(bytes_of(view, view->out->cuinfo),
                  (uint16_t)(view->inputs->obj.count ? sm : view->options->target.sm), CV_ADMIT_TOOLKIT);
    return end(view, view->out->cuinfo);
}

/* What the inputs say of one tag (spec/compat.def says what becomes of it). */
typedef struct synthetic_tag {
    cv_tlv first;
    const cv_compat_row *row;
    uint32_t max, bits;
    uint64_t mask;  /* of a payload: bits that all inputs have */
    uint64_t count; /* inputs with code that have it */
    cv_id other;    /* the first object that says something else */
    bool zero, differs;
} synthetic_tag;

CV_VEC(tags, synthetic_tag);

/* A payload of the size that the table says. */
static bool has_mask(const cv_tlv *tlv)
{
    const cv_compat_row *row = cv_compat_get(tlv->code);

    return tlv->format == CV_TLV_SVAL && row && row->size == sizeof(uint64_t) && tlv->value == row->size;
}

/* code: the object has code, of which a payload speaks. */
static bool merge(const cv_view_synthetics *view, tags *all, cv_span span, const cv_tlv *tlv, cv_id obj)
{
    bool code = cv_cubin_first(&cv_l_obj(view, obj)->cubin, CV_ROLE_TEXT) != 0;
    uint64_t mask = !code ? UINT64_MAX : has_mask(tlv) ? cv_u64_at(span, tlv->payload) : 0;
    synthetic_tag fresh = { .first = *tlv,
                            .row = cv_compat_get(tlv->code),
                            .max = tlv->value,
                            .bits = tlv->value,
                            .mask = mask,
                            .count = code,
                            .other = CV_NONE,
                            .zero = tlv->value == 0 };

    if (!fresh.row || fresh.row->merge == CV_MERGE_DROP)
        return true;
    for (uint64_t i = 0; i < all->count; i++) {
        synthetic_tag *tag = tags_at(all, i);

        if (tag->first.code != tlv->code)
            continue;
        tag->zero = tag->zero || tlv->value == 0;
        tag->differs = tag->differs || tlv->value != tag->first.value;
        tag->other = tag->other == CV_NONE && tlv->value != tag->first.value ? obj : tag->other;
        tag->max = tag->max > tlv->value ? tag->max : tlv->value;
        tag->bits |= tlv->value;
        tag->mask &= mask;
        tag->count += code;
        return true;
    }
    return tags_push(&view->ctx->mem, all, fresh);
}

/* The records of an object, and what it stands for by having none of a tag. */
static bool merge_object(const cv_view_synthetics *view, tags *all, cv_id obj)
{
    cv_span span = cv_cubin_body(&cv_l_obj(view, obj)->cubin, cv_l_obj(view, obj)->compat);
    uint64_t pos = 0;
    uint32_t has = 0;
    cv_tlv tlv;

    for (; cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        if (!merge(view, all, span, &tlv, obj))
            return false;
        has |= tlv.code < CV_N_COMPAT ? UINT32_C(1) << tlv.code : 0;
    }
    for (uint32_t code = 0; code < CV_N_COMPAT; code++) {
        const cv_compat_row *row = cv_compat_get(code);
        cv_tlv absent = { .code = (uint8_t)code, .format = row->format, .value = (uint16_t)row->absent };

        if ((has >> code & 1) == 0 && row->absent != CV_COMPAT_NEVER && !merge(view, all, span, &absent, obj))
            return false;
    }
    return true;
}

/* Different claims of which nobody knows what they mean together. */
static cuvet_status judge_tag(const cv_view_synthetics *view, const synthetic_tag *tag)
{
    const cv_lobj *obj = tag->other == CV_NONE ? NULL : cv_l_obj(view, tag->other);

    if (!obj || tag->row->merge != CV_MERGE_ONE || tag->zero)
        return CUVET_OK;
    return cv_link_refuse_section(view, obj->first_sec + (cv_id)obj->compat, CV_R_LINK_COMPAT,
                                  tag->first.code);
}

/* Do all inputs with code say so? One that says nothing, or that is for the one machine and loses the mark of
 * it here, runs nowhere else. */
static bool all_claim(const cv_view_synthetics *view, const synthetic_tag *tag)
{
    uint64_t count = 0;

    for (cv_id i = 0; i < view->inputs->obj.count; i++) {
        const cv_cubin *cubin = &cv_l_obj(view, i)->cubin;

        if (cv_cubin_first(cubin, CV_ROLE_TEXT) == 0)
            continue;
        count++;
        if (cubin->compat_accel_known && cubin->compat_accel && view->options->target.suffix != 'a')
            return false;
    }
    return count == tag->count;
}

/* Other machines that the code runs on as it is: those of all inputs, none behind a step to another machine.
 * */
static uint64_t common_mask(const cv_view_synthetics *view, const synthetic_tag *tag)
{
    bool kept = cv_arch_has(cv_arch_of(view->options->target.sm), CV_ARCH_KEEPS_MASK) && tag->count != 0;

    return kept && all_claim(view, tag) ? tag->mask : 0;
}

static uint32_t merged_value(const synthetic_tag *tag)
{
    switch (tag->row->merge) {
    case CV_MERGE_ZERO:
    case CV_MERGE_ONE: return tag->zero ? 0 : tag->max;
    case CV_MERGE_DIFFERENT: return tag->differs ? 1 : tag->max;
    case CV_MERGE_BITS: return tag->bits;
    default: return tag->max;
    }
}

static void put_tag(cv_builder *builder, const synthetic_tag *tag)
{
    if (tag->row->merge == CV_MERGE_WIDE)
        cv_tlv_put_hval(builder, tag->first.code, (uint16_t)tag->max);
    else if (tag->row->merge != CV_MERGE_AND && tag->row->merge != CV_MERGE_TARGET)
        cv_tlv_put_head(builder, tag->first.format, tag->first.code, (uint16_t)merged_value(tag));
}

static void put_mask(const cv_view_synthetics *view, cv_builder *builder, const synthetic_tag *tag)
{
    if (tag->row->merge != CV_MERGE_AND || !cv_l_has(view, CV_GEN_COMPAT_MASK) || !has_mask(&tag->first))
        return;
    cv_tlv_put_head(builder, CV_TLV_SVAL, tag->first.code, tag->first.value);
    cv_put_u64(builder, common_mask(view, tag));
}

static cuvet_status fill_compat(const cv_view_synthetics *view)
{
    cuvet_status st = CUVET_OK;
    tags all = { 0 };
    bool ok = true;

    if (view->out->compat == CV_NONE)
        return CUVET_OK;
    for (cv_id i = 0; i < view->inputs->obj.count && ok; i++)
        ok = cv_l_obj(view, i)->compat == 0 || merge_object(view, &all, i);
    cv_tlv_put_bval(bytes_of(view, view->out->compat), CV_COMPAT_CUDA_ACCELERATOR_TARGET,
                    view->options->target.suffix == 'a');
    for (uint64_t i = 0; i < all.count && st == CUVET_OK; i++) {
        st = judge_tag(view, tags_at(&all, i));
        put_tag(bytes_of(view, view->out->compat), tags_at(&all, i));
    }
    for (uint64_t i = 0; i < all.count; i++)
        put_mask(view, bytes_of(view, view->out->compat), tags_at(&all, i));
    tags_free(&view->ctx->mem, &all);
    if (st != CUVET_OK)
        return st;
    return ok ? end(view, view->out->compat) : cv_l_nomem(view);
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
    cv_put_u32(bytes_of(view, view->out->action), CV_R_CUDA_CONST_FIELD22_37);
    cv_put_u32(bytes_of(view, view->out->action), 0);
    for (size_t i = 0; i < CV_COUNT(action); i++)
        cv_put_u8(bytes_of(view, view->out->action), CV_AT(action, i));
    return end(view, view->out->action);
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
        fill_symbols, fill_infos, fill_graph, fill_tools, fill_cuinfo, fill_compat, fill_action
    };
    cuvet_status st = CUVET_OK;

    for (size_t i = 0; i < CV_COUNT(FILLS) && st == CUVET_OK; i++)
        st = CV_AT(FILLS, i)(view);
    for (cv_id i = 0; i < view->out->osec.count && st == CUVET_OK; i++)
        if (cv_l_osec(view, i)->group == CV_G_REL)
            st = cv_l_osec(view, i)->is_resolved ? fill_resolved(view, i) : fill_relocations(view, i);
    fill_headers(view);
    if (st != CUVET_OK)
        return st;
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
