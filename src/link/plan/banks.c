/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Banks and what the link adds to them: common variables, branch tables of device functions, slots of
 * textures and surfaces. */
#include "base/arith.h"
#include "bytes/order.h"
#include "link/graph/walk.h"
#include "link/in/stages.h"

enum {
    TEXTURES_MOST = 256, /* as in the reference, of a kernel */
    SAMPLERS_MOST = 32,
    SURFACES_MOST = 32
};

/* Common variables follow everything else in .nv.global, each with the largest size and alignment that one of
 * its declarations asks for. */
static void place_common(cv_link *link, cv_id sym, cv_osec *osec)
{
    cv_osym *osym = cv_l_osym(link, sym);
    uint64_t align;

    cv_link_largest_common(link, cv_l_mean(link, osym->name), &osym->size, &align);
    osym->value = cv_sat_align(osec->size, cv_max(align, 1));
    osym->common = true;
    osec->size = cv_sat_add(osym->value, osym->size);
    osec->align = cv_max(osec->align, align);
}

void cv_link_commons(cv_link *link)
{
    cv_id osec = cv_l_find_osec(link, ".nv.global", link->names->empty);

    if (link->options->relocatable || osec == CV_NONE)
        return;
    for (uint64_t i = 0; i < link->out->globals.count; i++) {
        cv_id id = *cv_u32s_at(&link->out->globals, i), win = cv_l_osym(link, id)->win;

        if (win == CV_NONE || cv_l_type(cv_l_isym(link, win)) != CV_STT_CUDA_OBJECT ||
            !cv_l_isym(link, win)->common)
            continue;
        place_common(link, id, cv_l_osec(link, osec));
        cv_l_osym(link, id)->sec = osec;
    }
}

/* A kernel's table bank, as it grows: its own tables, then those of the functions that it reaches. */
typedef struct bank2_tables {
    cv_id sec; /* CV_NONE: not made yet */
    uint64_t end, align;
} bank2_tables;

CV_VEC(bank2s, bank2_tables);

typedef struct bank_tables {
    cv_link *link;
    bank2s bank;  /* by function; those of kernels count */
    cv_keys uses; /* a table and a kernel that reaches its function: last table first, then last kernel */
    cv_u32s only; /* by function: it reaches one with a table */
    cv_walk_below below;
} bank_tables;

static cv_id own_bank(cv_link *link, const cv_lfn *kernel)
{
    cv_id name = cv_l_out_join(link, ".nv.constant2.", kernel->name);

    for (cv_id i = cv_l_osec(link, cv_l_fn_out(link, kernel->id)->sec)->own_first; i != CV_NONE;
         i = cv_l_osec(link, i)->own_next)
        if (cv_l_osec(link, i)->name == name)
            return i;
    return CV_NONE;
}

static bool has_table(const cv_link *link, cv_id fn)
{
    return cv_l_fn_out(link, fn)->table != CV_NONE && cv_l_fn_calls(link, fn)->live;
}

/* A use has its table before its kernel in the key, both counted from the end. */
static cv_key use_of(cv_id table, cv_id kernel)
{
    return (cv_key){ (uint64_t)(CV_NONE - table) << 32 | (CV_NONE - kernel), kernel };
}

static cv_id table_of(const bank_tables *tables, uint64_t use)
{
    return CV_NONE - (cv_id)(cv_keys_get(&tables->uses, use)->key >> 32);
}

static bank2_tables *bank_of(bank_tables *tables, uint64_t use)
{
    return bank2s_at(&tables->bank, cv_keys_get(&tables->uses, use)->index);
}

static cuvet_status add_uses(bank_tables *tables, cv_id kernel)
{
    cv_link *link = tables->link;
    cuvet_status st = cv_calls_below(link->ctx, link->calls, &tables->below, kernel, &tables->only);

    for (uint64_t i = 0; i < tables->below.found.count && st == CUVET_OK; i++) {
        cv_id fn = *cv_u32s_get(&tables->below.found, i);

        if (has_table(link, fn) &&
            !cv_keys_push(&link->ctx->mem, &tables->uses, use_of(cv_l_fn_out(link, fn)->table, kernel)))
            st = cv_l_nomem(link);
    }
    return st;
}

static cuvet_status find_uses(bank_tables *tables)
{
    cv_link *link = tables->link;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < link->functions->fn.count && st == CUVET_OK; i++) {
        bool kernel = cv_l_is_kernel(link, i);
        cv_id sec = kernel ? own_bank(link, cv_l_fn(link, i)) : CV_NONE;
        bank2_tables bank = { .sec = sec };

        if (sec != CV_NONE) {
            bank.end = cv_l_osec(link, sec)->size;
            bank.align = cv_l_osec(link, sec)->align;
        }
        if (!bank2s_push(&link->ctx->mem, &tables->bank, bank))
            st = cv_l_nomem(link);
        else if (kernel && *cv_u32s_at(&tables->only, i) != 0)
            st = add_uses(tables, i);
    }
    if (st == CUVET_OK && !cv_work(link->ctx, tables->uses.count, 0))
        return CUVET_E_LIMIT;
    cv_keys_sort(&tables->uses);
    return st;
}

/* A table has one place for all kernels that reach it: behind what any of their banks has so far, and
 * aligned for all of them. A kernel that reaches none of the same functions is not asked. */
static void place_tables(bank_tables *tables)
{
    uint64_t count = tables->uses.count, next;

    for (uint64_t first = 0; first < count; first = next) {
        cv_id table = table_of(tables, first);
        const cv_isec *isec = cv_l_isec(tables->link, table);
        uint64_t align = isec->align, *off = cv_u64s_at(&tables->link->memory->bank_off, table);

        for (next = first; next < count && table_of(tables, next) == table; next++) {
            *off = cv_max(*off, bank_of(tables, next)->end);
            align = cv_max(align, bank_of(tables, next)->align);
        }
        *off = cv_sat_align(*off, cv_max(align, 1));
        for (uint64_t i = first; i < next; i++) {
            bank_of(tables, i)->end = cv_sat_add(*off, isec->size);
            bank_of(tables, i)->align = align;
        }
    }
}

static cuvet_status make_bank(cv_link *link, const cv_lfn *kernel, uint64_t align, cv_id *out)
{
    cv_new_section section = cv_l_section(link, CV_ROLE_CONSTANT_FN, CV_G_CONST);
    cv_id code = cv_l_fn_out(link, kernel->id)->sec;

    section.name = cv_l_out_join(link, ".nv.constant2.", kernel->name);
    section.align = align;
    section.symbol = section.named = true;
    *out = section.name == CV_NONE ? CV_NONE : cv_l_new_osec(link, &section);
    if (*out == CV_NONE)
        return cv_l_nomem(link);
    cv_l_osec(link, *out)->infosec = code;
    cv_l_osec(link, *out)->own_next = cv_l_osec(link, code)->own_first;
    cv_l_osec(link, code)->own_first = *out;
    return CUVET_OK;
}

/* Banks that are not there yet are made when the first table comes. */
static cuvet_status fill_banks(bank_tables *tables)
{
    cv_link *link = tables->link;
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < tables->uses.count && st == CUVET_OK; i++) {
        cv_id table = table_of(tables, i);
        bank2_tables *bank = bank_of(tables, i);
        cv_osec *osec;

        if (bank->sec == CV_NONE)
            st = make_bank(link, cv_l_fn(link, (cv_id)cv_keys_at(&tables->uses, i)->index), bank->align,
                           &bank->sec);
        if (st == CUVET_OK && !cv_l_add_part(link, bank->sec, table, cv_l_bank_off(link, table)))
            st = cv_l_nomem(link);
        if (st != CUVET_OK)
            break;
        osec = cv_l_osec(link, bank->sec);
        osec->align = bank->align;
        osec->size = cv_sat_align(bank->end, cv_max(bank->align, 1));
    }
    return st;
}

static cuvet_status tables_of_kernels(bank_tables *tables)
{
    cv_link *link = tables->link;
    cuvet_status st = CUVET_OK;
    bool any = false;

    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        bool has = cv_l_fn_out(link, i)->table != CV_NONE;

        *cv_u32s_at(&tables->only, i) = has;
        any = any || has;
    }
    if (!any)
        return CUVET_OK;
    st = cv_calls_above(link->ctx, link->calls, &tables->only);
    if (st == CUVET_OK)
        st = find_uses(tables);
    if (st != CUVET_OK)
        return st;
    place_tables(tables);
    return fill_banks(tables);
}

cuvet_status cv_link_tables(cv_link *link)
{
    bank_tables tables = { .link = link };
    cuvet_status st;

    if (link->options->relocatable)
        return CUVET_OK;
    if (!cv_u32s_fill(&link->ctx->mem, &tables.only, link->functions->fn.count) ||
        !cv_u64s_fill(&link->ctx->mem, &link->memory->bank_off, link->inputs->isec.count))
        st = cv_l_nomem(link);
    else
        st = tables_of_kernels(&tables);
    bank2s_free(&link->ctx->mem, &tables.bank);
    cv_keys_free(&link->ctx->mem, &tables.uses);
    cv_u32s_free(&link->ctx->mem, &tables.only);
    cv_walk_below_end(&link->ctx->mem, &tables.below);
    return st;
}

/* Symbols of textures in reverse order, of samplers, of surfaces, sorted as if all were equal. */
static bool never(void *user, uint32_t left, uint32_t right)
{
    (void)user;
    (void)left;
    (void)right;
    return false;
}

static bool list_slots(const cv_link *link, cv_u32s *out)
{
    bool ok = true;

    for (unsigned type = CV_STT_CUDA_TEXTURE; type <= CV_STT_CUDA_SURFACE; type++)
        for (uint64_t i = link->out->globals.count; i > 0 && ok; i--) {
            cv_id id = *cv_u32s_get(&link->out->globals, i - 1);
            const cv_isym *sym = cv_l_isym(link, cv_l_osym(link, id)->src);

            if (cv_l_type(sym) == type && cv_l_osym(link, id)->win == CV_NONE)
                ok = cv_u32s_push(&link->ctx->mem, out, id);
        }
    return ok && cv_list_sort(&link->ctx->mem, out, never, NULL, false);
}

/* Functions whose code refers to a texture or a surface. */
static void mark_texture_users(const cv_link *link, cv_u32s *users)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);

        if (osec->group != CV_G_REL || cv_l_osec(link, osec->target)->group != CV_G_CODE)
            continue;
        for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(link, rel)->next)
            if (cv_l_is_texture(cv_l_isym(link, cv_l_irel(link, rel)->sym))) {
                *cv_u32s_at(users, cv_l_osec(link, osec->target)->fn) = 1;
                break;
            }
    }
}

/* What the loader writes into a slot: the number of a header, of a texture or a surface, or of a sampler. */
static uint32_t header_type(const cv_link *link, uint8_t symbol)
{
    switch (symbol) {
    case CV_STT_CUDA_SURFACE: return CV_R_CUDA_SURF_HEADER_INDEX;
    case CV_STT_CUDA_SAMPLER:
        return cv_l_has(link, CV_GEN_SAMPLER_0) ? CV_R_CUDA_SAMP_HEADER_INDEX_0 : CV_R_CUDA_SAMP_HEADER_INDEX;
    default: return CV_R_CUDA_TEX_HEADER_INDEX;
    }
}

static cuvet_status add_slots(cv_link *link, cv_id bank, uint64_t base, const cv_u32s *slots)
{
    bool rela = cv_l_has(link, CV_GEN_BANK_RELA);
    cv_id rel = CV_ARRAY_GET(cv_l_osec(link, bank)->rel, rela);

    if (!cv_work(link->ctx, slots->count, 0))
        return CUVET_E_LIMIT;
    cv_l_osec(link, bank)->size = cv_sat_add(base, 4 * slots->count);
    cv_l_osec(link, bank)->group = CV_G_CONST; /* the loader writes into it */
    for (uint64_t i = 0; i < slots->count; i++) {
        cv_id osym = *cv_u32s_get(slots, i);
        const cv_irel irel = { .off = base + 4 * i,
                               .type =
                                   header_type(link, cv_l_type(cv_l_isym(link, cv_l_osym(link, osym)->src))),
                               .sym = cv_l_osym(link, osym)->src,
                               .osym = osym,
                               .target = CV_NONE };

        if (!cv_l_add_rel(link, rel, &irel))
            return cv_l_nomem(link);
    }
    return CUVET_OK;
}

/* What a kernel can have, whatever it uses of it: the loader has no room for more. */
static cuvet_status check_slots(cv_link *link, const cv_u32s *slots, cv_id kernel)
{
    static const uint64_t MOST[] = { TEXTURES_MOST, SAMPLERS_MOST, SURFACES_MOST };

    for (unsigned type = CV_STT_CUDA_TEXTURE; type <= CV_STT_CUDA_SURFACE; type++) {
        uint64_t count = 0, most = CV_ARRAY_GET(MOST, type - CV_STT_CUDA_TEXTURE);

        for (uint64_t i = 0; i < slots->count; i++)
            count += cv_l_type(cv_l_isym(link, cv_l_osym(link, *cv_u32s_get(slots, i))->src)) == type;
        if (count <= most)
            continue;
        cv_link_say(link, cv_l_fn(link, kernel)->def, CV_R_LINK_SLOTS, count, most);
        return CUVET_E_REFUSED;
    }
    return CUVET_OK;
}

static void set_slot(cv_osym *osym, uint64_t slot)
{
    osym->slot = slot;
    osym->has_slot = true;
}

/* users: functions that use one, or reach one that does. */
static cuvet_status slots_of_kernels(cv_link *link, const cv_u32s *slots, const cv_u32s *users)
{
    cv_u32s banks = { 0 };
    cuvet_status st = CUVET_OK;
    uint64_t base = 0;
    bool ok = true;

    for (uint64_t i = 0; i < link->out->const0.count && ok; i++) {
        cv_id bank = *cv_u32s_at(&link->out->const0, i);
        cv_id fn = cv_l_osec(link, cv_l_osec(link, bank)->infosec)->fn;

        if (!cv_l_fn_calls(link, fn)->live)
            continue;
        base = cv_max(base, cv_sat_align(cv_l_osec(link, bank)->size, link->options->gen->slots));
        cv_l_fn_memory(link, fn)->slots = *cv_u32s_get(users, fn) != 0;
        if (cv_l_fn_memory(link, fn)->slots)
            ok = cv_u32s_push(&link->ctx->mem, &banks, bank);
    }
    for (uint64_t i = 0; i < slots->count && banks.count; i++)
        set_slot(cv_l_osym(link, *cv_u32s_get(slots, i)), base + 4 * i);
    if (banks.count)
        st = check_slots(link, slots, cv_l_osec(link, cv_l_osec(link, *cv_u32s_at(&banks, 0))->infosec)->fn);
    for (uint64_t i = 0; i < banks.count && ok && st == CUVET_OK; i++)
        st = add_slots(link, *cv_u32s_at(&banks, i), base, slots);
    cv_u32s_free(&link->ctx->mem, &banks);
    return ok ? st : cv_l_nomem(link);
}

cuvet_status cv_link_slots(cv_link *link)
{
    cv_u32s slots = { 0 }, users = { 0 };
    cuvet_status st = CUVET_OK;

    if (link->options->relocatable)
        return CUVET_OK;
    if (!list_slots(link, &slots))
        st = cv_l_nomem(link);
    if (st == CUVET_OK && slots.count) {
        if (!cv_u32s_fill(&link->ctx->mem, &users, link->functions->fn.count)) {
            st = cv_l_nomem(link);
        } else {
            mark_texture_users(link, &users);
            st = cv_calls_above(link->ctx, link->calls, &users);
        }
        if (st == CUVET_OK)
            st = slots_of_kernels(link, &slots, &users);
    }
    cv_u32s_free(&link->ctx->mem, &slots);
    cv_u32s_free(&link->ctx->mem, &users);
    return st;
}

/* Bank 3 has the constants of the whole program, the others those of one kernel, which is named. */
void cv_link_check_banks(cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count && !link->options->relocatable; i++) {
        const cv_osec *osec = cv_l_osec(link, i);
        cv_id fn = osec->infosec == CV_NONE ? CV_NONE : cv_l_osec(link, osec->infosec)->fn;
        const cv_isec *isec;

        if (osec->group != CV_G_CONST || osec->size <= CV_BANK_MOST)
            continue;
        isec = osec->first_part == CV_NONE
                   ? NULL
                   : cv_l_isec(link, cv_lparts_at(&link->out->part, osec->first_part)->isec);
        cv_link_say(link, fn == CV_NONE ? CV_NONE : cv_l_fn(link, fn)->def, CV_R_LINK_BANK, osec->size,
                    isec ? cv_cubin_sec(&cv_l_obj(link, isec->obj)->cubin, isec->index)->bank : 0);
    }
}

/* Branch tables lie in the banks of the kernels, beside each other and beside the kernels' own. */
bool cv_link_tables_holds(const cv_link *link)
{
    return cv_link_parts_hold(link);
}

/* Common variables have a place in zero memory. */
bool cv_link_commons_holds(const cv_link *link)
{
    for (cv_id i = 0; i < link->out->osym.count; i++) {
        const cv_osym *osym = cv_l_osym(link, i);

        if (!osym->common)
            continue;
        if (osym->sec >= link->out->osec.count || cv_l_osec(link, osym->sec)->group != CV_G_NOBITS ||
            cv_sat_add(osym->value, osym->size) > cv_l_osec(link, osym->sec)->size)
            return false;
    }
    return true;
}

/* The loader writes into a slot what its symbol is: header of a texture or a surface, or a sampler. */
static bool fits_kind(const cv_link *link, const cv_irel *rel)
{
    switch (cv_l_type(cv_l_isym(link, cv_l_osym(link, rel->osym)->src))) {
    case CV_STT_CUDA_TEXTURE: return rel->type == CV_R_CUDA_TEX_HEADER_INDEX;
    case CV_STT_CUDA_SAMPLER:
        return rel->type == (cv_l_has(link, CV_GEN_SAMPLER_0) ? CV_R_CUDA_SAMP_HEADER_INDEX_0
                                                              : CV_R_CUDA_SAMP_HEADER_INDEX);
    case CV_STT_CUDA_SURFACE: return rel->type == CV_R_CUDA_SURF_HEADER_INDEX;
    default: return false;
    }
}

/* Slots are words of a bank, each of one symbol, and what the loader writes there is in the bank. */
bool cv_link_slots_holds(const cv_link *link)
{
    for (cv_id i = 0; i < link->out->osym.count; i++)
        if (cv_l_osym(link, i)->has_slot && cv_l_osym(link, i)->slot % 4 != 0)
            return false;
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);
        uint64_t last = UINT64_MAX;

        for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(link, rel)->next) {
            const cv_irel *irel = cv_l_irel(link, rel);

            if (irel->target != CV_NONE)
                continue;
            if (irel->osym >= link->out->osym.count || !cv_l_osym(link, irel->osym)->has_slot ||
                cv_sat_add(irel->off, 4) > cv_l_osec(link, osec->target)->size)
                return false;
            if (irel->off != cv_l_osym(link, irel->osym)->slot || irel->off >= last || !fits_kind(link, irel))
                return false;
            last = irel->off; /* they descend: none is there twice */
        }
    }
    return true;
}
