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
#include "link/in/stages.h"

enum { LINK_SYMTAB = 3 };

static cv_builder *bytes_of(cv_link *link, cv_id sec)
{
    return &cv_l_osec(link, sec)->bytes;
}

static cuvet_status end(cv_link *link, cv_id sec)
{
    cv_osec *osec = cv_l_osec(link, sec);

    osec->size = osec->bytes.len;
    return osec->bytes.failed ? cv_l_nomem(link) : CUVET_OK;
}

static uint32_t string_off(const cv_link *link, cv_id name)
{
    return (uint32_t)cv_name_places_get(&link->layout->name, name)->str_off;
}

static uint32_t index_of(const cv_link *link, const cv_osym *osym)
{
    return osym->sec == CV_NONE ? 0 : cv_l_osec(link, osym->sec)->index;
}

/* Kind and visibility bits as the loader reads them. */
static void put_symbol(const cv_link *link, cv_builder *builder, const cv_osym *osym)
{
    uint8_t info = osym->info, other = osym->other;
    uint32_t index = index_of(link, osym);
    uint16_t shndx = index < CV_SHN_LORESERVE ? (uint16_t)index : CV_SHN_XINDEX;

    if (osym->common_kept && !osym->common)
        shndx = CV_SHN_COMMON;
    if (!link->options->relocatable && osym->common) {
        info = cv_elf_info(cv_elf_info_bind(info), CV_STT_OBJECT);
        other = 0;
    } else if (!link->options->relocatable && !osym->hidden && shndx != 0 &&
               cv_elf_info_type(info) == CV_STT_CUDA_OBJECT) {
        info = cv_elf_info(cv_elf_info_bind(info), CV_STT_OBJECT);
        other &= CV_STO_MANAGED;
    }
    cv_put_u32(builder, string_off(link, osym->name));
    cv_put_u8(builder, info);
    cv_put_u8(builder, other);
    cv_put_u16(builder, shndx);
    cv_put_u64(builder, osym->value);
    cv_put_u64(builder, osym->size);
}

/* Numbers of sections that do not fit a symbol. */
static void put_numbers(const cv_link *link, cv_builder *numbers)
{
    cv_put_u32(numbers, 0);
    for (uint64_t i = 0; i < link->layout->sym_order.count; i++) {
        uint32_t index = index_of(link, cv_l_osym(link, *cv_u32s_get(&link->layout->sym_order, i)));

        cv_put_u32(numbers, index < CV_SHN_LORESERVE ? 0 : index);
    }
}

static cuvet_status fill_symbols(cv_link *link)
{
    cv_builder *builder = bytes_of(link, link->out->symtab);

    for (cv_id i = 0; i < link->functions->fn.count; i++) { /* functions are as long as their code */
        const cv_lfn *function = cv_l_fn(link, i);

        if (cv_l_fn_out(link, function->id)->sec != CV_NONE &&
            cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->fn == i)
            cv_l_osym(link, cv_l_fn_out(link, function->id)->sym)->size =
                cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->size;
    }
    cv_builder_reserve(builder, (link->layout->sym_order.count + 1) * cv_elf_sym_size(false));
    cv_put_zero(builder, cv_elf_sym_size(false));
    if (link->out->symtab_shndx != CV_NONE) {
        put_numbers(link, bytes_of(link, link->out->symtab_shndx));
        cv_l_osec(link, link->out->symtab_shndx)->link = LINK_SYMTAB;
    }
    for (uint64_t i = 0; i < link->layout->sym_order.count; i++)
        put_symbol(link, builder, cv_l_osym(link, *cv_u32s_at(&link->layout->sym_order, i)));
    cv_l_osec(link, link->out->symtab)->link = 2;
    cv_l_osec(link, link->out->symtab)->info = (uint32_t)link->layout->n_locals;
    if (link->out->symtab_shndx != CV_NONE && end(link, link->out->symtab_shndx) != CUVET_OK)
        return CUVET_E_NOMEM;
    return end(link, link->out->symtab);
}

static void put_record(const cv_link *link, cv_builder *builder, const cv_irec *record)
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
        const cv_iword *word = cv_iwords_get(&link->records->word, (uint64_t)record->first + i);

        cv_put_u32(builder, word->symbol ? cv_l_osym(link, word->value)->index : word->value);
    }
}

static cuvet_status fill_infos(cv_link *link)
{
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < link->records->oinfo.count && st == CUVET_OK; i++) {
        const cv_oinfo *info = cv_oinfos_at(&link->records->oinfo, i);

        for (uint64_t k = 0; k < info->count; k++)
            put_record(link, bytes_of(link, info->sec), cv_irecs_at(&link->records->rec, info->first + k));
        cv_l_osec(link, info->sec)->link = LINK_SYMTAB;
        st = end(link, info->sec);
    }
    for (uint64_t k = 0; k < link->records->program_n; k++)
        put_record(link, bytes_of(link, link->out->info),
                   cv_irecs_at(&link->records->rec, link->records->program_first + k));
    cv_l_osec(link, link->out->info)->link = LINK_SYMTAB;
    return st == CUVET_OK ? end(link, link->out->info) : st;
}

/* A function that has a place in the symbol table. */
static bool is_listed(const cv_link *link, const cv_lfn *function)
{
    return cv_l_fn_calls(link, function->id)->live && cv_l_fn_out(link, function->id)->sym != CV_NONE &&
           !cv_l_osym(link, cv_l_fn_out(link, function->id)->sym)->dead &&
           cv_l_osym(link, cv_l_fn_out(link, function->id)->sym)->index != 0;
}

static void put_edges(const cv_link *link, cv_builder *builder, unsigned part)
{
    cv_put_u32(builder, 0);
    cv_put_u32(builder, (uint32_t) - (int32_t)part);
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *fn = cv_l_fn(link, i);
        cv_id edge = part == 1   ? cv_l_fn_calls(link, fn->id)->calls
                     : part == 2 ? cv_l_fn_calls(link, fn->id)->taken
                     : part == 3 ? cv_l_fn_calls(link, fn->id)->ind
                                 : cv_l_fn_calls(link, fn->id)->adr;

        if (!is_listed(link, fn))
            continue;
        for (; edge != CV_NONE; edge = cv_edges_get(&link->calls->edge, edge)->next) {
            cv_id to = cv_edges_get(&link->calls->edge, edge)->to;
            bool function = part == 1 || part == 4;

            if (function && !cv_l_fn_calls(link, to)->live)
                continue;
            cv_put_u32(builder, cv_l_osym(link, cv_l_fn_out(link, fn->id)->sym)->index);
            cv_put_u32(builder,
                       function ? cv_l_osym(link, cv_l_fn_out(link, to)->sym)->index : string_off(link, to));
        }
    }
}

static cuvet_status fill_graph(cv_link *link)
{
    cv_builder *builder = bytes_of(link, link->out->callgraph), *chunk = bytes_of(link, link->out->prototype);
    cuvet_status st;

    for (unsigned part = 1; part <= 4; part++)
        put_edges(link, builder, part);
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(link, i);

        if (!is_listed(link, function) || cv_l_fn_calls(link, function->id)->proto == CV_NONE ||
            cv_l_fn_calls(link, function->id)->taken != CV_NONE)
            continue;
        cv_put_u32(chunk, cv_l_osym(link, cv_l_fn_out(link, function->id)->sym)->index);
        cv_put_u32(chunk, string_off(link, cv_l_fn_calls(link, function->id)->proto));
    }
    cv_l_osec(link, link->out->callgraph)->link = LINK_SYMTAB;
    cv_l_osec(link, link->out->prototype)->link = LINK_SYMTAB;
    st = end(link, link->out->callgraph);
    return st == CUVET_OK ? end(link, link->out->prototype) : st;
}

static cuvet_status fill_relocations(cv_link *link, cv_id id)
{
    cv_osec *osec = cv_l_osec(link, id);
    bool rela = osec->type == CV_SHT_RELA;

    if (osec->dead)
        return CUVET_OK;
    cv_builder_reserve(&osec->bytes, cv_sat_mul(cv_l_fixed(link, id)->n_kept, osec->entsize));
    for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(link, rel)->next) {
        const cv_irel *irel = cv_l_irel(link, rel);
        const cv_fixup *fixup = cv_l_fixup(link, rel);

        if (!fixup->keep)
            continue;
        if (CV_NEVER(fixup->osym == CV_NONE)) /* refer.c */
            return cv_link_broken(link);
        cv_put_u64(&osec->bytes, irel->off);
        cv_put_u64(&osec->bytes, (uint64_t)cv_l_osym(link, fixup->osym)->index << 32 | fixup->type);
        if (rela)
            cv_put_u64(&osec->bytes, (uint64_t)fixup->addend);
    }
    osec->link = LINK_SYMTAB;
    osec->info = cv_l_osec(link, osec->target)->index;
    return end(link, id);
}

static void put_resolved(const cv_link *link, cv_builder *builder, cv_id rel, const cv_osec *osec)
{
    const cv_irel *irel = cv_l_irel(link, rel);
    const cv_isym *sym = cv_l_isym(link, irel->sym);
    cv_id osym = cv_link_symbol_of(link, irel->sym);
    uint64_t addend = osec->type == CV_SHT_RELA ? (uint64_t)irel->addend : 0;

    if (!cv_l_fixup(link, rel)->resolved)
        return;
    if (cv_l_type(sym) == CV_STT_SECTION && sym->sec != CV_NONE)
        addend = cv_wrap_add(addend, cv_l_became(link, sym->sec)->base);
    cv_put_u64(builder, irel->off);
    cv_put_u64(builder, (uint64_t)(osym == CV_NONE ? 0 : cv_l_osym(link, osym)->index) << 32 | irel->type);
    cv_put_u64(builder, addend);
}

/* What was applied, in the order of reading backwards over both kinds of relocation sections. */
static cuvet_status fill_resolved(cv_link *link, cv_id id)
{
    cv_osec *osec = cv_l_osec(link, id), *target = cv_l_osec(link, osec->target);
    const cv_osec *rel =
        CV_ARRAY_GET(target->rel, 0) == CV_NONE ? NULL : cv_l_osec(link, CV_ARRAY_GET(target->rel, 0));
    const cv_osec *rela =
        CV_ARRAY_GET(target->rel, 1) == CV_NONE ? NULL : cv_l_osec(link, CV_ARRAY_GET(target->rel, 1));
    cv_id plain = rel ? rel->rels : CV_NONE, with_addend = rela ? rela->rels : CV_NONE;

    if (osec->dead)
        return CUVET_OK;
    while (plain != CV_NONE || with_addend != CV_NONE) {
        bool first = with_addend == CV_NONE || (plain != CV_NONE && plain > with_addend);

        put_resolved(link, &osec->bytes, first ? plain : with_addend, first ? rel : rela);
        if (first)
            plain = cv_l_irel(link, plain)->next;
        else
            with_addend = cv_l_irel(link, with_addend)->next;
    }
    osec->link = LINK_SYMTAB;
    osec->info = target->index;
    return end(link, id);
}

/* Our note, then those of all inputs. */
static cuvet_status fill_tools(cv_link *link)
{
    static const char NAME[] = "cuvet", VERSION[] = CV_VERSION; /* our name, never the vendor's */
    const cv_tkinfo ours = { .version = 2,
                             .tool = cv_span_of(NAME, sizeof(NAME) - 1, 0),
                             .tool_version = cv_span_of(VERSION, sizeof(VERSION) - 1, 0) };
    cv_builder *builder = bytes_of(link, link->out->tkinfo);

    if (CV_NEVER(!cv_tkinfo_put(builder, &ours)))
        return cv_link_broken(link);
    for (cv_id i = 0; i < link->inputs->obj.count && !link->options->relocatable; i++)
        cv_put_span(builder, cv_cubin_body(&cv_l_obj(link, i)->cubin, cv_l_obj(link, i)->tkinfo));
    return end(link, link->out->tkinfo);
}

/* The oldest virtual architecture among the inputs. */
static cuvet_status fill_cuinfo(cv_link *link)
{
    uint32_t sm = UINT32_MAX;

    for (cv_id i = 0; i < link->inputs->obj.count; i++) {
        uint32_t lowest = cv_l_obj(link, i)->cubin.virtual_sm;

        if (lowest < sm)
            sm = lowest;
    }
    cv_put_u32(bytes_of(link, link->out->cuinfo), 12);
    cv_put_u32(bytes_of(link, link->out->cuinfo), 8);
    cv_put_u32(bytes_of(link, link->out->cuinfo), 1000);
    cv_put_str(bytes_of(link, link->out->cuinfo), "NVIDIA Corp");
    cv_put_u8(bytes_of(link, link->out->cuinfo), 0);
    cv_put_u16(bytes_of(link, link->out->cuinfo), 2);
    cv_put_u16(bytes_of(link, link->out->cuinfo),
               (uint16_t)(link->inputs->obj.count ? sm : link->options->target.sm));
    cv_put_u32(bytes_of(link, link->out->cuinfo), CV_ADMIT_TOOLKIT);
    return end(link, link->out->cuinfo);
}

/* What the inputs say of one tag (spec/compat.def says what becomes of it). */
typedef struct synthetic_tag {
    cv_tlv first;
    cv_compat_merge rule;
    cv_span from; /* section that 'first' lies in */
    uint32_t max;
    uint64_t mask;  /* of a payload: bits that all inputs have */
    uint64_t count; /* inputs with code that have it */
    cv_id other;    /* the first object that says something else */
    bool zero, differs;
} synthetic_tag;

CV_VEC(tags, synthetic_tag);

static bool same_record(const synthetic_tag *tag, cv_span span, const cv_tlv *tlv)
{
    return tag->first.format == tlv->format && tag->first.value == tlv->value &&
           cv_span_eq(cv_tlv_payload(tag->from, &tag->first), cv_tlv_payload(span, tlv));
}

/* A payload of the size that the table says. */
static bool has_mask(const cv_tlv *tlv)
{
    const cv_compat_row *row = cv_compat_get(tlv->code);

    return tlv->format == CV_TLV_SVAL && row && row->size == sizeof(uint64_t) && tlv->value == row->size;
}

/* code: the object has code, of which a payload speaks. */
static bool merge(const cv_link *link, tags *all, cv_span span, const cv_tlv *tlv, cv_id obj)
{
    bool code = cv_cubin_first(&cv_l_obj(link, obj)->cubin, CV_ROLE_TEXT) != 0;
    uint64_t mask = !code ? UINT64_MAX : has_mask(tlv) ? cv_u64_at(span, tlv->payload) : 0;
    synthetic_tag fresh = {
        .first = *tlv, .from = span, .max = tlv->value, .mask = mask, .count = code, .other = CV_NONE
    };
    const cv_compat_row *row = cv_compat_get(tlv->code);

    fresh.rule = row ? (cv_compat_merge)row->merge : CV_MERGE_SAME;

    fresh.zero = tlv->value == 0;
    for (uint64_t i = 0; i < all->count; i++) {
        synthetic_tag *tag = tags_at(all, i);

        if (tag->first.code != tlv->code)
            continue;
        tag->zero = tag->zero || tlv->value == 0;
        tag->differs = tag->differs || tlv->value != tag->first.value;
        tag->other = tag->other == CV_NONE && !same_record(tag, span, tlv) ? obj : tag->other;
        tag->max = tag->max > tlv->value ? tag->max : tlv->value;
        tag->mask &= mask;
        tag->count += code;
        return true;
    }
    return tags_push(&link->ctx->mem, all, fresh);
}

/* Different claims of which nobody knows what they mean together. */
static cuvet_status judge_tag(const cv_link *link, const synthetic_tag *tag)
{
    const cv_lobj *obj = tag->other == CV_NONE ? NULL : cv_l_obj(link, tag->other);
    bool refused = tag->rule == CV_MERGE_SAME || (tag->rule == CV_MERGE_ONE && tag->differs && !tag->zero);

    if (!obj || !refused)
        return CUVET_OK;
    return cv_link_refuse_section(link, obj->first_sec + (cv_id)obj->compat, CV_R_LINK_COMPAT,
                                  tag->first.code);
}

/* Other machines that the code runs on as it is: those of all inputs, none behind a step to another machine.
 */
static uint64_t common_mask(const cv_link *link, const synthetic_tag *tag)
{
    return cv_arch_has(cv_arch_of(link->options->target.sm), CV_ARCH_KEEPS_MASK) && tag->count ? tag->mask
                                                                                               : 0;
}

static uint32_t merged_value(const cv_link *link, const synthetic_tag *tag)
{
    switch (tag->rule) {
    case CV_MERGE_TARGET: return link->options->target.suffix == 'a';
    case CV_MERGE_ZERO:
    case CV_MERGE_ONE: return tag->zero ? 0 : tag->max;
    case CV_MERGE_DIFFERENT: return tag->differs ? 1 : tag->max;
    case CV_MERGE_SAME:
    case CV_MERGE_MOST:
    case CV_MERGE_AND:
    default: return tag->max;
    }
}

static void put_tag(const cv_link *link, cv_builder *builder, const synthetic_tag *tag)
{
    bool mask = tag->rule == CV_MERGE_AND;

    if (mask && !cv_l_has(link, CV_GEN_COMPAT_MASK))
        return;
    cv_tlv_put_head(builder, tag->first.format, tag->first.code,
                    tag->first.format == CV_TLV_SVAL ? tag->first.value : (uint16_t)merged_value(link, tag));
    if (mask && has_mask(&tag->first))
        cv_put_u64(builder, common_mask(link, tag));
    else if (tag->first.format == CV_TLV_SVAL)
        cv_put_span(builder, cv_tlv_payload(tag->from, &tag->first));
}

static cuvet_status fill_compat(cv_link *link)
{
    cuvet_status st = CUVET_OK;
    tags all = { 0 };
    bool ok = true;

    if (link->out->compat == CV_NONE)
        return CUVET_OK;
    for (cv_id i = 0; i < link->inputs->obj.count && ok; i++) {
        cv_span span = cv_cubin_body(&cv_l_obj(link, i)->cubin, cv_l_obj(link, i)->compat);
        uint64_t pos = 0;
        cv_tlv tlv;

        if (cv_l_obj(link, i)->compat == 0)
            continue;
        for (; ok && cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next)
            ok = merge(link, &all, span, &tlv, i);
    }
    for (uint64_t i = 0; i < all.count && st == CUVET_OK; i++) {
        const synthetic_tag *tag = tags_at(&all, i);

        st = judge_tag(link, tag);
        put_tag(link, bytes_of(link, link->out->compat), tag);
    }
    if (all.count == 0 && ok) {
        cv_tlv_put_bval(bytes_of(link, link->out->compat), CV_COMPAT_CUDA_ACCELERATOR_TARGET,
                        link->options->target.suffix == 'a');
    }
    tags_free(&link->ctx->mem, &all);
    if (st != CUVET_OK)
        return st;
    return ok ? end(link, link->out->compat) : cv_l_nomem(link);
}

/* The relocation type that older loaders do not know: its number, and where its value and the number of a
 * bank go (kind, shift, then first bit, bits and place of each). */
static cuvet_status fill_action(cv_link *link)
{
    const cv_reloc_facts *facts = cv_reloc_of(CV_R_CUDA_CONST_FIELD22_37);
    const uint8_t action[] = {
        0, facts->shift, 0, facts->bits, facts->pos, 0, CV_R_NUMBER_BITS, CV_R_NUMBER_POS
    };

    if (link->out->action == CV_NONE)
        return CUVET_OK;
    cv_put_u32(bytes_of(link, link->out->action), CV_R_CUDA_CONST_FIELD22_37);
    cv_put_u32(bytes_of(link, link->out->action), 0);
    for (size_t i = 0; i < CV_COUNT(action); i++)
        cv_put_u8(bytes_of(link, link->out->action), CV_AT(action, i));
    return end(link, link->out->action);
}

/* sh_link and sh_info of the sections that name others. */
static void fill_headers(cv_link *link)
{
    for (uint64_t i = 0; i < link->layout->order.count; i++) {
        cv_osec *osec = cv_l_osec(link, *cv_u32s_at(&link->layout->order, i));

        if (osec->group == CV_G_CODE && osec->fn != CV_NONE) {
            osec->link = LINK_SYMTAB;
            osec->info = cv_l_osym(link, cv_l_fn_out(link, osec->fn)->sym)->index;
            if (cv_l_has(link, CV_GEN_REGS_IN_INFO))
                osec->info |= osec->reg_byte << 24;
        }
        if (osec->infosec != CV_NONE)
            osec->info = cv_l_osec(link, osec->infosec)->index;
        if (osec->linksec != CV_NONE)
            osec->link = cv_l_osec(link, osec->linksec)->index;
    }
}

cuvet_status cv_link_fill(cv_link *link)
{
    static cuvet_status (*const PARTS[])(cv_link *) = { fill_symbols, fill_infos,  fill_graph, fill_tools,
                                                        fill_cuinfo,  fill_compat, fill_action };
    cuvet_status st = CUVET_OK;

    for (size_t i = 0; i < CV_COUNT(PARTS) && st == CUVET_OK; i++)
        st = CV_AT(PARTS, i)(link);
    for (cv_id i = 0; i < link->out->osec.count && st == CUVET_OK; i++)
        if (cv_l_osec(link, i)->group == CV_G_REL)
            st = cv_l_osec(link, i)->is_resolved ? fill_resolved(link, i) : fill_relocations(link, i);
    fill_headers(link);
    if (st == CUVET_OK)
        st = cv_link_offsets(link);
    return st;
}

enum { FILE_HEADER = 64 };

static bool section_holds(const cv_link *link, cv_id id, uint64_t *end)
{
    const cv_osec *osec = cv_l_osec(link, id);

    if (osec->off < *end || (osec->align > 1 && osec->off % osec->align != 0))
        return false;
    if (osec->bytes.len && osec->bytes.len != osec->size)
        return false;
    if (osec->group == CV_G_REL &&
        (osec->first_part != CV_NONE || osec->size != cv_l_fixed(link, id)->n_kept * osec->entsize))
        return false;
    *end = osec->group == CV_G_NOBITS ? osec->off : cv_sat_add(osec->off, osec->size);
    return true;
}

/* Offsets ascend, nothing overlaps, and the bytes of each section are as many as it says. */
bool cv_link_fill_holds(const cv_link *link)
{
    uint64_t end = FILE_HEADER;

    for (uint64_t i = 1; i < link->layout->order.count; i++)
        if (!section_holds(link, *cv_u32s_get(&link->layout->order, i), &end))
            return false;
    return link->synthetics->shoff >= end &&
           cv_l_osec(link, link->out->symtab)->bytes.len / cv_elf_sym_size(false) ==
               link->layout->sym_order.count + 1;
}
