/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage texture_slots: slots of textures and surfaces, and sizes of banks. */
#include "base/arith.h"
#include "bytes/order.h"
#include "link/graph/walk.h"
#include "link/plan/plan.h"

enum {
    TEXTURES_MOST = 256, /* as in the reference, of a kernel */
    SAMPLERS_MOST = 32,
    SURFACES_MOST = 32
};

/* Symbols of textures in reverse order, of samplers, of surfaces, sorted as if all were equal. */
static bool never(void *user, uint32_t left, uint32_t right)
{
    (void)user;
    (void)left;
    (void)right;
    return false;
}

static bool list_slots(const cv_view_texture_slots *view, cv_u32s *out)
{
    bool ok = true;

    for (unsigned type = CV_STT_CUDA_TEXTURE; type <= CV_STT_CUDA_SURFACE; type++)
        for (uint64_t i = view->out->globals.count; i > 0 && ok; i--) {
            cv_id id = *cv_u32s_get(&view->out->globals, i - 1);
            const cv_isym *sym = cv_l_isym(view, cv_l_osym(view, id)->src);

            if (cv_l_type(sym) == type && cv_l_osym(view, id)->win == CV_NONE)
                ok = cv_u32s_push(&view->ctx->mem, out, id);
        }
    return ok && cv_list_sort(&view->ctx->mem, out, never, NULL, false);
}

/* Functions that use some, or reach one that does. One with surfaces alone counts for both. */
typedef struct slot_users {
    cv_u32s textures, samplers;
} slot_users;

/* Functions whose code refers to a texture, a sampler or a surface; both lists may have them already. */
static void mark_users(const cv_view_texture_slots *view, slot_users *users)
{
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(view, i);
        bool texture = false, sampler = false, surface = false;
        cv_id fn;

        if (osec->group != CV_G_REL || cv_l_osec(view, osec->target)->group != CV_G_CODE)
            continue;
        fn = cv_l_osec(view, osec->target)->fn;
        for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur);) {
            unsigned type = cv_l_type(cv_l_isym(view, cur.rel->sym));

            texture = texture || type == CV_STT_CUDA_TEXTURE;
            sampler = sampler || type == CV_STT_CUDA_SAMPLER;
            surface = surface || type == CV_STT_CUDA_SURFACE;
        }
        if (texture || (surface && !sampler))
            *cv_u32s_at(&users->textures, fn) = 1;
        if (sampler || (surface && !texture))
            *cv_u32s_at(&users->samplers, fn) = 1;
    }
}

/* What the loader writes into a slot: the number of a header, of a texture or a surface, or of a sampler. */
static uint32_t header_type(const cv_view_texture_slots *view, uint8_t symbol)
{
    switch (symbol) {
    case CV_STT_CUDA_SURFACE: return CV_R_CUDA_SURF_HEADER_INDEX;
    case CV_STT_CUDA_SAMPLER:
        return cv_l_has(view, CV_GEN_SAMPLER_0) ? CV_R_CUDA_SAMP_HEADER_INDEX_0 : CV_R_CUDA_SAMP_HEADER_INDEX;
    default: return CV_R_CUDA_TEX_HEADER_INDEX;
    }
}

/* Slots of a kind that a kernel does not use stay as they are; those of surfaces are always written. */
static bool is_written(const slot_users *users, cv_id kernel, unsigned type)
{
    switch (type) {
    case CV_STT_CUDA_TEXTURE: return *cv_u32s_get(&users->textures, kernel) != 0;
    case CV_STT_CUDA_SAMPLER: return *cv_u32s_get(&users->samplers, kernel) != 0;
    default: return true;
    }
}

static cuvet_status add_slots(const cv_view_texture_slots *view, cv_id bank, uint64_t base,
                              const cv_u32s *slots, const slot_users *users)
{
    cv_id kernel = cv_l_osec(view, cv_l_osec(view, bank)->infosec)->fn;
    bool rela = cv_l_has(view, CV_GEN_BANK_RELA);
    cv_id rel = CV_ARRAY_GET(cv_l_osec(view, bank)->rel, rela);

    if (!cv_work(view->ctx, slots->count, 0))
        return CUVET_E_LIMIT;
    cv_l_osec(view, bank)->size = cv_sat_add(base, 4 * slots->count);
    cv_l_osec(view, bank)->group = CV_G_CONST; /* the loader writes into it */
    if (!cv_l_add_run(view, rel, CV_NONE))
        return cv_l_nomem(view);
    for (uint64_t i = 0; i < slots->count; i++) {
        cv_id osym = *cv_u32s_get(slots, i);
        unsigned kind = cv_l_type(cv_l_isym(view, cv_l_osym(view, osym)->src));
        const cv_elf_reloc reloc = { .off = 4 * i, .type = header_type(view, (uint8_t)kind) };
        const cv_irel irel = cv_rel_of(&reloc, base, cv_l_osym(view, osym)->src);

        if (!is_written(users, kernel, kind))
            continue;
        if (!cv_out_add_rel_of(view->ctx, view->out, &irel, osym))
            return cv_l_nomem(view);
    }
    return CUVET_OK;
}

/* What a kernel can have, whatever it uses of it: the loader has no room for more. */
static cuvet_status check_slots(const cv_view_texture_slots *view, const cv_u32s *slots, cv_id kernel)
{
    static const uint64_t MOST[] = { TEXTURES_MOST, SAMPLERS_MOST, SURFACES_MOST };

    for (unsigned type = CV_STT_CUDA_TEXTURE; type <= CV_STT_CUDA_SURFACE; type++) {
        uint64_t count = 0, most = CV_ARRAY_GET(MOST, type - CV_STT_CUDA_TEXTURE);

        for (uint64_t i = 0; i < slots->count; i++)
            count += cv_l_type(cv_l_isym(view, cv_l_osym(view, *cv_u32s_get(slots, i))->src)) == type;
        if (count <= most)
            continue;
        cv_link_say(view, cv_l_fn(view, kernel)->def, CV_R_LINK_SLOTS, count, most);
        return CUVET_E_REFUSED;
    }
    return CUVET_OK;
}

static void set_slot(cv_osym *osym, uint64_t slot)
{
    osym->slot = slot;
    osym->has_slot = true;
}

static cuvet_status slots_of_kernels(const cv_view_texture_slots *view, const cv_u32s *slots,
                                     const slot_users *users)
{
    cv_u32s banks = { 0 };
    cuvet_status st = CUVET_OK;
    uint64_t base = 0;
    bool ok = true;

    for (uint64_t i = 0; i < view->out->const0.count && ok; i++) {
        cv_id bank = *cv_u32s_at(&view->out->const0, i);
        cv_id fn = cv_l_osec(view, cv_l_osec(view, bank)->infosec)->fn;

        if (!cv_l_fn_calls(view, fn)->live)
            continue;
        base = cv_max(base, cv_sat_align(cv_l_osec(view, bank)->size, view->options->gen->slots));
        cv_l_fn_memory(view, fn)->slots =
            (*cv_u32s_get(&users->textures, fn) | *cv_u32s_get(&users->samplers, fn)) != 0;
        if (cv_l_fn_memory(view, fn)->slots)
            ok = cv_u32s_push(&view->ctx->mem, &banks, bank);
    }
    for (uint64_t i = 0; i < slots->count && banks.count; i++)
        set_slot(cv_l_osym(view, *cv_u32s_get(slots, i)), base + 4 * i);
    if (banks.count)
        st = check_slots(view, slots, cv_l_osec(view, cv_l_osec(view, *cv_u32s_at(&banks, 0))->infosec)->fn);
    for (uint64_t i = 0; i < banks.count && ok && st == CUVET_OK; i++)
        st = add_slots(view, *cv_u32s_at(&banks, i), base, slots, users);
    cv_u32s_free(&view->ctx->mem, &banks);
    return ok ? st : cv_l_nomem(view);
}

static cuvet_status make_slots(const cv_view_texture_slots *view)
{
    slot_users users = { { 0 }, { 0 } };
    cv_u32s slots = { 0 };
    cuvet_status st = CUVET_OK;

    if (view->options->relocatable)
        return CUVET_OK;
    if (!list_slots(view, &slots))
        st = cv_l_nomem(view);
    if (st == CUVET_OK && slots.count) {
        if (!cv_u32s_fill(&view->ctx->mem, &users.textures, view->functions->fn.count) ||
            !cv_u32s_fill(&view->ctx->mem, &users.samplers, view->functions->fn.count)) {
            st = cv_l_nomem(view);
        } else {
            mark_users(view, &users);
            st = cv_calls_above(view->ctx, view->calls, &users.textures);
        }
        if (st == CUVET_OK)
            st = cv_calls_above(view->ctx, view->calls, &users.samplers);
        if (st == CUVET_OK)
            st = slots_of_kernels(view, &slots, &users);
    }
    cv_u32s_free(&view->ctx->mem, &slots);
    cv_u32s_free(&view->ctx->mem, &users.textures);
    cv_u32s_free(&view->ctx->mem, &users.samplers);
    return st;
}

/* Bank 3 has the constants of the whole program, the others those of one kernel, which is named. */
static void check_banks(const cv_view_texture_slots *view)
{
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(view, i);
        cv_id fn = osec->infosec == CV_NONE ? CV_NONE : cv_l_osec(view, osec->infosec)->fn;
        const cv_isec *isec;

        if (osec->group != CV_G_CONST || osec->size <= CV_BANK_MOST)
            continue;
        isec = osec->first_part == CV_NONE
                   ? NULL
                   : cv_l_isec(view, cv_lparts_at(&view->out->part, osec->first_part)->isec);
        cv_link_say(view, fn == CV_NONE ? CV_NONE : cv_l_fn(view, fn)->def, CV_R_LINK_BANK, osec->size,
                    isec ? cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->bank : 0);
    }
}

cuvet_status cv_stage_texture_slots(const cv_view_texture_slots *view)
{
    cuvet_status st = make_slots(view);

    if (st == CUVET_OK)
        check_banks(view);
    return st;
}

/* The loader writes into a slot what its symbol is: header of a texture or a surface, or a sampler. */
static bool fits_kind(const cv_check_texture_slots *view, const cv_irel *rel, const cv_osym *osym)
{
    switch (cv_l_type(cv_l_isym(view, osym->src))) {
    case CV_STT_CUDA_TEXTURE: return rel->type == CV_R_CUDA_TEX_HEADER_INDEX;
    case CV_STT_CUDA_SAMPLER:
        return rel->type == (cv_l_has(view, CV_GEN_SAMPLER_0) ? CV_R_CUDA_SAMP_HEADER_INDEX_0
                                                              : CV_R_CUDA_SAMP_HEADER_INDEX);
    case CV_STT_CUDA_SURFACE: return rel->type == CV_R_CUDA_SURF_HEADER_INDEX;
    default: return false;
    }
}

/* Of the relocations that the link added to a bank. */
static bool added_hold(const cv_check_texture_slots *view, const cv_osec *osec)
{
    uint64_t last = UINT64_MAX;

    if (osec->rels == CV_NONE || cv_rel_runs_get(&view->out->run, osec->rels)->target != CV_NONE)
        return true; /* they would be the last ones */
    for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur) && cur.target == CV_NONE;) {
        cv_id id = cv_rel_osym(view->out, &cur);
        const cv_osym *osym;

        if (id >= view->out->osym.count || cv_sat_add(cur.rel->off, 4) > cv_l_osec(view, osec->target)->size)
            return false;
        osym = cv_l_osym(view, id);
        if (!osym->has_slot || cur.rel->off != osym->slot || cur.rel->off >= last ||
            !fits_kind(view, cur.rel, osym))
            return false;
        last = cur.rel->off; /* they descend: none is there twice */
    }
    return true;
}

/* Slots are words of a bank, each of one symbol, and what the loader writes there is in the bank. */
bool cv_stage_texture_slots_holds(const cv_check_texture_slots *view)
{
    for (cv_id i = 0; i < view->out->osym.count; i++)
        if (cv_l_osym(view, i)->has_slot && cv_l_osym(view, i)->slot % 4 != 0)
            return false;
    for (cv_id i = 0; i < view->out->osec.count; i++)
        if (!added_hold(view, cv_l_osec(view, i)))
            return false;
    return true;
}
