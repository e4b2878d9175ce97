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

static cv_builder *bytes_of(cv_link *l, cv_id sec)
{
    return &cv_l_osec(l, sec)->bytes;
}

static cuvet_status end(cv_link *l, cv_id sec)
{
    cv_osec *q = cv_l_osec(l, sec);

    q->size = q->bytes.len;
    return q->bytes.failed ? cv_l_nomem(l) : CUVET_OK;
}

static uint32_t string_off(const cv_link *l, cv_id name)
{
    return (uint32_t)cv_l_mean(l, name)->str_off;
}

/* Kind and visibility bits as the loader reads them. */
static void put_symbol(const cv_link *l, cv_builder *b, cv_builder *numbers, const cv_osym *y)
{
    uint8_t info = y->info, other = y->other;
    uint32_t index = y->sec == CV_NONE ? 0 : cv_l_osec(l, y->sec)->index;
    uint16_t shndx = index < CV_SHN_LORESERVE ? (uint16_t)index : CV_SHN_XINDEX;

    if (numbers)
        cv_put_u32(numbers, shndx == CV_SHN_XINDEX ? index : 0);
    if (y->common_kept && !y->common)
        shndx = CV_SHN_COMMON;
    if (!l->o.relocatable && y->common) {
        info = cv_elf_info(cv_elf_info_bind(info), CV_STT_OBJECT);
        other = 0;
    } else if (!l->o.relocatable && !y->hidden && shndx != 0 &&
               cv_elf_info_type(info) == CV_STT_CUDA_OBJECT) {
        info = cv_elf_info(cv_elf_info_bind(info), CV_STT_OBJECT);
        other &= CV_STO_MANAGED;
    }
    cv_put_u32(b, string_off(l, y->name));
    cv_put_u8(b, info);
    cv_put_u8(b, other);
    cv_put_u16(b, shndx);
    cv_put_u64(b, y->value);
    cv_put_u64(b, y->size);
}

static cuvet_status fill_symbols(cv_link *l)
{
    cv_builder *b = bytes_of(l, l->symtab),
               *numbers = l->symtab_shndx == CV_NONE ? NULL : bytes_of(l, l->symtab_shndx);

    for (cv_id i = 0; i < l->fn.n; i++) { /* functions are as long as their code */
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->sec != CV_NONE && cv_l_osec(l, f->sec)->fn == i)
            cv_l_osym(l, f->sym)->size = cv_l_osec(l, f->sec)->size;
    }
    cv_builder_reserve(b, (l->sym_order.n + 1) * cv_elf_sym_size(false));
    cv_put_zero(b, cv_elf_sym_size(false));
    if (numbers) {
        cv_put_u32(numbers, 0);
        cv_l_osec(l, l->symtab_shndx)->link = LINK_SYMTAB;
    }
    for (uint64_t i = 0; i < l->sym_order.n; i++)
        put_symbol(l, b, numbers, cv_l_osym(l, *cv_u32s_at(&l->sym_order, i)));
    cv_l_osec(l, l->symtab)->link = 2;
    cv_l_osec(l, l->symtab)->info = (uint32_t)l->n_locals;
    if (l->symtab_shndx != CV_NONE && end(l, l->symtab_shndx) != CUVET_OK)
        return CUVET_E_NOMEM;
    return end(l, l->symtab);
}

static void put_record(const cv_link *l, cv_builder *b, const cv_irec *r)
{
    uint16_t size = r->format != CV_TLV_SVAL ? r->value
                    : r->raw                 ? (uint16_t)r->bytes.len
                                             : (uint16_t)(4 * r->n);

    cv_tlv_put_head(b, r->format, r->code, size);
    if (r->format != CV_TLV_SVAL)
        return;
    if (r->raw) {
        cv_put_span(b, r->bytes);
        return;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        const cv_iword *w = cv_iwords_get(&l->word, (uint64_t)r->first + i);

        cv_put_u32(b, w->symbol ? cv_l_osym(l, w->value)->index : w->value);
    }
}

static cuvet_status fill_infos(cv_link *l)
{
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < l->oinfo.n && st == CUVET_OK; i++) {
        const cv_oinfo *e = cv_oinfos_at(&l->oinfo, i);

        for (uint64_t k = 0; k < e->n; k++)
            put_record(l, bytes_of(l, e->sec), cv_irecs_at(&l->rec, e->first + k));
        cv_l_osec(l, e->sec)->link = LINK_SYMTAB;
        st = end(l, e->sec);
    }
    for (uint64_t k = 0; k < l->program_n; k++)
        put_record(l, bytes_of(l, l->info), cv_irecs_at(&l->rec, l->program_first + k));
    cv_l_osec(l, l->info)->link = LINK_SYMTAB;
    return st == CUVET_OK ? end(l, l->info) : st;
}

/* A function that has a place in the symbol table. */
static bool is_listed(const cv_link *l, const cv_lfn *f)
{
    return f->live && f->sym != CV_NONE && !cv_l_osym(l, f->sym)->dead && cv_l_osym(l, f->sym)->index != 0;
}

static void put_edges(const cv_link *l, cv_builder *b, unsigned part)
{
    cv_put_u32(b, 0);
    cv_put_u32(b, (uint32_t) - (int32_t)part);
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);
        cv_id e = part == 1 ? f->calls : part == 2 ? f->taken : part == 3 ? f->ind : f->adr;

        if (!is_listed(l, f))
            continue;
        for (; e != CV_NONE; e = cv_edges_get(&l->edge, e)->next) {
            cv_id to = cv_edges_get(&l->edge, e)->to;
            bool function = part == 1 || part == 4;

            if (function && !cv_l_fn(l, to)->live)
                continue;
            cv_put_u32(b, cv_l_osym(l, f->sym)->index);
            cv_put_u32(b, function ? cv_l_osym(l, cv_l_fn(l, to)->sym)->index : string_off(l, to));
        }
    }
}

static cuvet_status fill_graph(cv_link *l)
{
    cv_builder *b = bytes_of(l, l->callgraph), *p = bytes_of(l, l->prototype);
    cuvet_status st;

    for (unsigned part = 1; part <= 4; part++)
        put_edges(l, b, part);
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (!is_listed(l, f) || f->proto == CV_NONE || f->taken != CV_NONE)
            continue;
        cv_put_u32(p, cv_l_osym(l, f->sym)->index);
        cv_put_u32(p, string_off(l, f->proto));
    }
    cv_l_osec(l, l->callgraph)->link = LINK_SYMTAB;
    cv_l_osec(l, l->prototype)->link = LINK_SYMTAB;
    st = end(l, l->callgraph);
    return st == CUVET_OK ? end(l, l->prototype) : st;
}

static cuvet_status fill_relocations(cv_link *l, cv_id id)
{
    cv_osec *q = cv_l_osec(l, id);
    bool rela = q->type == CV_SHT_RELA;

    if (q->dead)
        return CUVET_OK;
    cv_builder_reserve(&q->bytes, cv_sat_mul(q->n_kept, q->entsize));
    for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
        const cv_irel *e = cv_l_irel(l, r);

        if (!e->keep)
            continue;
        if (CV_NEVER(e->osym == CV_NONE)) /* refer.c */
            return cv_link_broken(l);
        cv_put_u64(&q->bytes, e->off);
        cv_put_u64(&q->bytes, (uint64_t)cv_l_osym(l, e->osym)->index << 32 | e->type);
        if (rela)
            cv_put_u64(&q->bytes, (uint64_t)e->addend);
    }
    q->link = LINK_SYMTAB;
    q->info = cv_l_osec(l, q->target)->index;
    return end(l, id);
}

static void put_resolved(const cv_link *l, cv_builder *b, cv_id rel, const cv_osec *q)
{
    const cv_irel *e = cv_l_irel(l, rel);
    const cv_isym *s = cv_l_isym(l, e->sym);
    cv_id y = cv_link_symbol_of(l, e->sym);
    uint64_t addend = q->type == CV_SHT_RELA ? (uint64_t)e->addend : 0;

    if (!e->resolved)
        return;
    if (cv_l_type(s) == CV_STT_SECTION && s->sec != CV_NONE)
        addend = cv_wrap_add(addend, cv_l_isec(l, s->sec)->base);
    cv_put_u64(b, e->off);
    cv_put_u64(b, (uint64_t)(y == CV_NONE ? 0 : cv_l_osym(l, y)->index) << 32 | e->type);
    cv_put_u64(b, addend);
}

/* What was applied, in the order of reading backwards over both kinds of relocation sections. */
static cuvet_status fill_resolved(cv_link *l, cv_id id)
{
    cv_osec *q = cv_l_osec(l, id), *t = cv_l_osec(l, q->target);
    const cv_osec *rel = CV_ARRAY_GET(t->rel, 0) == CV_NONE ? NULL : cv_l_osec(l, CV_ARRAY_GET(t->rel, 0));
    const cv_osec *rela = CV_ARRAY_GET(t->rel, 1) == CV_NONE ? NULL : cv_l_osec(l, CV_ARRAY_GET(t->rel, 1));
    cv_id a = rel ? rel->rels : CV_NONE, b = rela ? rela->rels : CV_NONE;

    if (q->dead)
        return CUVET_OK;
    while (a != CV_NONE || b != CV_NONE) {
        bool first = b == CV_NONE || (a != CV_NONE && a > b);

        put_resolved(l, &q->bytes, first ? a : b, first ? rel : rela);
        if (first)
            a = cv_l_irel(l, a)->next;
        else
            b = cv_l_irel(l, b)->next;
    }
    q->link = LINK_SYMTAB;
    q->info = t->index;
    return end(l, id);
}

/* Our note, then those of all inputs. */
static cuvet_status fill_tools(cv_link *l)
{
    static const char NAME[] = "cuvet", VERSION[] = CV_VERSION; /* our name, never the vendor's */
    const cv_tkinfo ours = { .version = 2,
                             .tool = cv_span_of(NAME, sizeof(NAME) - 1, 0),
                             .tool_version = cv_span_of(VERSION, sizeof(VERSION) - 1, 0) };
    cv_builder *b = bytes_of(l, l->tkinfo);

    if (CV_NEVER(!cv_tkinfo_put(b, &ours)))
        return cv_link_broken(l);
    for (cv_id i = 0; i < l->obj.n && !l->o.relocatable; i++)
        cv_put_span(b, cv_cubin_body(&cv_l_obj(l, i)->cubin, cv_l_obj(l, i)->tkinfo));
    return end(l, l->tkinfo);
}

/* The oldest virtual architecture among the inputs. */
static cuvet_status fill_cuinfo(cv_link *l)
{
    uint32_t sm = UINT32_MAX;

    for (cv_id i = 0; i < l->obj.n; i++) {
        uint32_t v = cv_l_obj(l, i)->cubin.virtual_sm;

        if (v < sm)
            sm = v;
    }
    cv_put_u32(bytes_of(l, l->cuinfo), 12);
    cv_put_u32(bytes_of(l, l->cuinfo), 8);
    cv_put_u32(bytes_of(l, l->cuinfo), 1000);
    cv_put_str(bytes_of(l, l->cuinfo), "NVIDIA Corp");
    cv_put_u8(bytes_of(l, l->cuinfo), 0);
    cv_put_u16(bytes_of(l, l->cuinfo), 2);
    cv_put_u16(bytes_of(l, l->cuinfo), (uint16_t)(l->obj.n ? sm : l->o.target.sm));
    cv_put_u32(bytes_of(l, l->cuinfo), CV_ADMIT_TOOLKIT);
    return end(l, l->cuinfo);
}

/* What the inputs say of one tag (spec/compat.def says what becomes of it). */
typedef struct tag {
    cv_tlv first;
    cv_compat_merge rule;
    cv_span from; /* section that 'first' lies in */
    uint32_t max;
    uint64_t mask; /* of a payload: bits that all inputs have */
    uint64_t n;    /* inputs with code that have it */
    cv_id other;   /* the first object that says something else */
    bool zero, differs;
} tag;

CV_VEC(tags, tag);

static bool same_record(const tag *e, cv_span s, const cv_tlv *t)
{
    return e->first.format == t->format && e->first.value == t->value &&
           cv_span_eq(cv_tlv_payload(e->from, &e->first), cv_tlv_payload(s, t));
}

/* A payload of the size that the table says. */
static bool has_mask(const cv_tlv *t)
{
    const cv_compat_row *row = cv_compat_get(t->code);

    return t->format == CV_TLV_SVAL && row && row->size == sizeof(uint64_t) && t->value == row->size;
}

/* code: the object has code, of which a payload speaks. */
static bool merge(const cv_link *l, tags *all, cv_span s, const cv_tlv *t, cv_id obj)
{
    bool code = cv_cubin_first(&cv_l_obj(l, obj)->cubin, CV_ROLE_TEXT) != 0;
    uint64_t mask = !code ? UINT64_MAX : has_mask(t) ? cv_u64_at(s, t->payload) : 0;
    tag fresh = { .first = *t, .from = s, .max = t->value, .mask = mask, .n = code, .other = CV_NONE };
    const cv_compat_row *row = cv_compat_get(t->code);

    fresh.rule = row ? (cv_compat_merge)row->merge : CV_MERGE_SAME;

    fresh.zero = t->value == 0;
    for (uint64_t i = 0; i < all->n; i++) {
        tag *e = tags_at(all, i);

        if (e->first.code != t->code)
            continue;
        e->zero = e->zero || t->value == 0;
        e->differs = e->differs || t->value != e->first.value;
        e->other = e->other == CV_NONE && !same_record(e, s, t) ? obj : e->other;
        e->max = e->max > t->value ? e->max : t->value;
        e->mask &= mask;
        e->n += code;
        return true;
    }
    return tags_push(&l->x->mem, all, fresh);
}

/* Different claims of which nobody knows what they mean together. */
static cuvet_status judge_tag(const cv_link *l, const tag *e)
{
    const cv_lobj *o = e->other == CV_NONE ? NULL : cv_l_obj(l, e->other);
    bool refused = e->rule == CV_MERGE_SAME || (e->rule == CV_MERGE_ONE && e->differs && !e->zero);

    if (!o || !refused)
        return CUVET_OK;
    return cv_link_refuse_section(l, o->first_sec + (cv_id)o->compat, CV_R_LINK_COMPAT, e->first.code);
}

/* Other machines that the code runs on as it is: those of all inputs, none behind a step to another machine.
 */
static uint64_t common_mask(const cv_link *l, const tag *e)
{
    return cv_arch_has(cv_arch_of(l->o.target.sm), CV_ARCH_KEEPS_MASK) && e->n ? e->mask : 0;
}

static uint32_t merged_value(const cv_link *l, const tag *e)
{
    switch (e->rule) {
    case CV_MERGE_TARGET: return l->o.target.suffix == 'a';
    case CV_MERGE_ZERO:
    case CV_MERGE_ONE: return e->zero ? 0 : e->max;
    case CV_MERGE_DIFFERENT: return e->differs ? 1 : e->max;
    case CV_MERGE_SAME:
    case CV_MERGE_MOST:
    case CV_MERGE_AND:
    default: return e->max;
    }
}

static void put_tag(const cv_link *l, cv_builder *b, const tag *e)
{
    bool mask = e->rule == CV_MERGE_AND;

    if (mask && !cv_l_has(l, CV_GEN_COMPAT_MASK))
        return;
    cv_tlv_put_head(b, e->first.format, e->first.code,
                    e->first.format == CV_TLV_SVAL ? e->first.value : (uint16_t)merged_value(l, e));
    if (mask && has_mask(&e->first))
        cv_put_u64(b, common_mask(l, e));
    else if (e->first.format == CV_TLV_SVAL)
        cv_put_span(b, cv_tlv_payload(e->from, &e->first));
}

static cuvet_status fill_compat(cv_link *l)
{
    cuvet_status st = CUVET_OK;
    tags all = { 0 };
    bool ok = true;

    if (l->compat == CV_NONE)
        return CUVET_OK;
    for (cv_id i = 0; i < l->obj.n && ok; i++) {
        cv_span s = cv_cubin_body(&cv_l_obj(l, i)->cubin, cv_l_obj(l, i)->compat);
        uint64_t pos = 0;
        cv_tlv t;

        if (cv_l_obj(l, i)->compat == 0)
            continue;
        for (; ok && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next)
            ok = merge(l, &all, s, &t, i);
    }
    for (uint64_t i = 0; i < all.n && st == CUVET_OK; i++) {
        const tag *e = tags_at(&all, i);

        st = judge_tag(l, e);
        put_tag(l, bytes_of(l, l->compat), e);
    }
    if (all.n == 0 && ok) {
        cv_tlv_put_bval(bytes_of(l, l->compat), CV_COMPAT_CUDA_ACCELERATOR_TARGET, l->o.target.suffix == 'a');
    }
    tags_free(&l->x->mem, &all);
    if (st != CUVET_OK)
        return st;
    return ok ? end(l, l->compat) : cv_l_nomem(l);
}

/* The relocation type that older loaders do not know: its number, and where its value and the number of a
 * bank go (kind, shift, then first bit, bits and place of each). */
static cuvet_status fill_action(cv_link *l)
{
    const cv_reloc_facts *facts = cv_reloc_of(CV_R_CUDA_CONST_FIELD22_37);
    const uint8_t action[] = {
        0, facts->shift, 0, facts->bits, facts->pos, 0, CV_R_NUMBER_BITS, CV_R_NUMBER_POS
    };

    if (l->action == CV_NONE)
        return CUVET_OK;
    cv_put_u32(bytes_of(l, l->action), CV_R_CUDA_CONST_FIELD22_37);
    cv_put_u32(bytes_of(l, l->action), 0);
    for (size_t i = 0; i < CV_COUNT(action); i++)
        cv_put_u8(bytes_of(l, l->action), CV_AT(action, i));
    return end(l, l->action);
}

/* sh_link and sh_info of the sections that name others. */
static void fill_headers(cv_link *l)
{
    for (uint64_t i = 0; i < l->order.n; i++) {
        cv_osec *q = cv_l_osec(l, *cv_u32s_at(&l->order, i));

        if (q->group == CV_G_CODE && q->fn != CV_NONE) {
            q->link = LINK_SYMTAB;
            q->info = cv_l_osym(l, cv_l_fn(l, q->fn)->sym)->index;
            if (cv_l_has(l, CV_GEN_REGS_IN_INFO))
                q->info |= q->reg_byte << 24;
        }
        if (q->infosec != CV_NONE)
            q->info = cv_l_osec(l, q->infosec)->index;
        if (q->linksec != CV_NONE)
            q->link = cv_l_osec(l, q->linksec)->index;
    }
}

cuvet_status cv_link_fill(cv_link *l)
{
    static cuvet_status (*const PARTS[])(cv_link *) = { fill_symbols, fill_infos,  fill_graph, fill_tools,
                                                        fill_cuinfo,  fill_compat, fill_action };
    cuvet_status st = CUVET_OK;

    for (size_t i = 0; i < CV_COUNT(PARTS) && st == CUVET_OK; i++)
        st = CV_AT(PARTS, i)(l);
    for (cv_id i = 0; i < l->osec.n && st == CUVET_OK; i++)
        if (cv_l_osec(l, i)->group == CV_G_REL)
            st = cv_l_osec(l, i)->is_resolved ? fill_resolved(l, i) : fill_relocations(l, i);
    fill_headers(l);
    if (st == CUVET_OK)
        st = cv_link_offsets(l);
    return st;
}

enum { FILE_HEADER = 64 };

static bool section_holds(const cv_osec *q, uint64_t *end)
{
    if (q->off < *end || (q->align > 1 && q->off % q->align != 0))
        return false;
    if (q->bytes.len && q->bytes.len != q->size)
        return false;
    if (q->group == CV_G_REL && (q->first_part != CV_NONE || q->size != q->n_kept * q->entsize))
        return false;
    *end = q->group == CV_G_NOBITS ? q->off : cv_sat_add(q->off, q->size);
    return true;
}

/* Offsets ascend, nothing overlaps, and the bytes of each section are as many as it says. */
bool cv_link_fill_holds(const cv_link *l)
{
    uint64_t end = FILE_HEADER;

    for (uint64_t i = 1; i < l->order.n; i++)
        if (!section_holds(cv_l_osec(l, *cv_u32s_get(&l->order, i)), &end))
            return false;
    return l->shoff >= end &&
           cv_l_osec(l, l->symtab)->bytes.len / cv_elf_sym_size(false) == l->sym_order.n + 1;
}
