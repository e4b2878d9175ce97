/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared memory of a final link. Each kernel gets a section with its own variables and those that device
 * functions below it use. A variable that only one kernel reaches moves to that kernel; the others are
 * coloured, so that those which no kernel needs together lie over each other. */
#include "link/plan/shared_memory.h"
#include "base/arith.h"
#include "bytes/order.h"
#include "link/plan/shared_plan.h"
#include "target/arch.h"

static bool by_size(void *user, uint32_t left, uint32_t right)
{
    const shared_plan *shared = user;

    return cv_l_isym(shared->view, vars_get(&shared->var, left)->sym)->size >
           cv_l_isym(shared->view, vars_get(&shared->var, right)->sym)->size;
}

static bool is_used(const shared_kernel *kernel, uint32_t colour)
{
    return colour / 32 < kernel->used.count &&
           (*cv_u32s_get(&kernel->used, colour / 32) >> colour % 32 & 1) != 0;
}

static bool set_used(shared_plan *shared, shared_kernel *kernel, uint32_t colour)
{
    while (kernel->used.count <= colour / 32)
        if (!cv_work(shared->view->ctx, 1, 0) || !cv_u32s_push(cv_shared_mem(shared), &kernel->used, 0))
            return false;
    *cv_u32s_at(&kernel->used, colour / 32) |= UINT32_C(1) << colour % 32;
    while (is_used(kernel, kernel->low))
        kernel->low++;
    return true;
}

/* First colour that none of the variable's kernels uses. */
static cuvet_status paint(shared_plan *shared, cv_id id)
{
    shared_var *var = vars_at(&shared->var, id);
    const cv_isym *sym = cv_l_isym(shared->view, var->sym);
    shared_colour fresh = { .first = CV_NONE, .last = CV_NONE }, *colour;
    uint32_t count = 0;
    bool moved = true;

    while (moved) {
        moved = false;
        for (cv_id i = var->kernels; i != CV_NONE; i = items_at(&shared->item, i)->next) {
            const shared_kernel *kernel = kernels_at(&shared->kernel, items_at(&shared->item, i)->value);

            if (!cv_work(shared->view->ctx, 1, 0))
                return CUVET_E_LIMIT;
            if (count < kernel->low) { /* those before it were asked for less */
                moved = moved || i != var->kernels;
                count = kernel->low;
            }
            for (; is_used(kernel, count); moved = true)
                if (cv_work(shared->view->ctx, 1, 0))
                    count++;
                else
                    return CUVET_E_LIMIT;
        }
    }
    if (count >= shared->colour.count && !colours_push(cv_shared_mem(shared), &shared->colour, fresh))
        return cv_l_nomem(shared->view);
    for (cv_id i = var->kernels; i != CV_NONE; i = items_at(&shared->item, i)->next)
        if (!set_used(shared, kernels_at(&shared->kernel, items_at(&shared->item, i)->value), count))
            return cv_l_nomem(shared->view);
    colour = colours_at(&shared->colour, count);
    colour->align = cv_max(colour->align, sym->value);
    if (colour->last == CV_NONE)
        colour->first = id;
    else
        vars_at(&shared->var, colour->last)->next = id;
    colour->last = id;
    return CUVET_OK;
}

static cuvet_status colour_all(shared_plan *shared)
{
    cv_u32s order = { 0 };
    cuvet_status st = CUVET_OK;
    bool ok = true;

    for (uint32_t i = 0; i < shared->var.count && ok; i++)
        ok = cv_u32s_push(cv_shared_mem(shared), &order, i);
    ok = ok && cv_list_sort(cv_shared_mem(shared), &order, by_size, shared, true);
    for (uint64_t i = 0; i < order.count && ok && st == CUVET_OK; i++) {
        cv_id id = *cv_u32s_at(&order, i);
        const shared_var *var = vars_at(&shared->var, id);

        if (var->n_kernels == 1)
            ok = cv_u32s_push(cv_shared_mem(shared), &kernels_at(&shared->kernel, var->last)->own, var->sym);
        else if (cv_l_isym(shared->view, var->sym)->sec != CV_NONE &&
                 *cv_u32s_at(&shared->user, var->sym) != CV_NONE) /* named; the others are sorted only */
            st = paint(shared, id);
    }
    cv_u32s_free(cv_shared_mem(shared), &order);
    return ok ? st : cv_l_nomem(shared->view);
}

static void place_colour(shared_plan *shared, const shared_colour *colour)
{
    uint64_t start = cv_sat_align(shared->end, cv_max(colour->align, 1)), end = start;

    for (cv_id id = colour->first; id != CV_NONE; id = vars_at(&shared->var, id)->next) {
        const shared_var *var = vars_at(&shared->var, id);
        const cv_isym *sym = cv_l_isym(shared->view, var->sym);

        cv_l_shared(shared->view, sym->id)->off = cv_sat_align(start, cv_max(sym->value, 1));
        cv_l_shared(shared->view, sym->id)->placed = true;
        end = cv_max(end, cv_sat_add(cv_l_shared(shared->view, sym->id)->off, sym->size));
        for (cv_id i = var->kernels; i != CV_NONE; i = items_at(&shared->item, i)->next) {
            shared_kernel *kernel = kernels_at(&shared->kernel, items_at(&shared->item, i)->value);

            kernel->end = cv_max(kernel->end, cv_sat_add(cv_l_shared(shared->view, sym->id)->off, sym->size));
            kernel->align = cv_max(kernel->align, sym->value);
        }
    }
    shared->end = end;
}

static bool by_align(void *user, uint32_t left, uint32_t right)
{
    const shared_plan *shared = user;
    const cv_isym *first = cv_l_isym(shared->view, left), *sym = cv_l_isym(shared->view, right);

    return first->value > sym->value || (first->value == sym->value && first->size < sym->size);
}

static bool place_own(shared_plan *shared, shared_kernel *kernel)
{
    if (!cv_list_sort(cv_shared_mem(shared), &kernel->own, by_align, shared, false))
        return false;
    for (uint64_t i = 0; i < kernel->own.count; i++) {
        const cv_isym *sym = cv_l_isym(shared->view, *cv_u32s_at(&kernel->own, i));

        cv_l_shared(shared->view, sym->id)->off = cv_sat_align(kernel->end, cv_max(sym->value, 1));
        cv_l_shared(shared->view, sym->id)->placed = true;
        kernel->end = cv_sat_add(cv_l_shared(shared->view, sym->id)->off, sym->size);
        kernel->align = cv_max(kernel->align, sym->value);
    }
    return true;
}

/* One offset for all arrays of a unit: behind the data of each of its kernels. */
static void place_arrays(shared_plan *shared)
{
    for (cv_id i = 0; i < shared->kernel.count; i++) {
        shared_kernel *kernel = kernels_at(&shared->kernel, i);
        shared_unit *unit;

        if (kernel->unit == CV_NONE)
            continue;
        unit = units_at(&shared->unit, cv_shared_find_unit(shared, kernel->unit));
        unit->off = cv_max(unit->off, kernel->end ? cv_sat_align(kernel->end, unit->align) : 0);
        unit->reached = true;
    }
    for (cv_id i = 0; i < shared->kernel.count; i++) {
        shared_kernel *kernel = kernels_at(&shared->kernel, i);
        const shared_unit *unit;

        if (kernel->unit == CV_NONE)
            continue;
        unit = units_at(&shared->unit, cv_shared_find_unit(shared, kernel->unit));
        kernel->end = unit->off;
        kernel->align = cv_max(kernel->align, unit->align);
    }
    for (cv_id i = 0; i < shared->view->functions->fn.count; i++) {
        const shared_unit *unit;

        if (*cv_u32s_at(&shared->arrays, i) == 0)
            continue;
        unit = units_at(&shared->unit, cv_shared_find_unit(shared, *cv_u32s_at(&shared->arrays, i) - 1));
        cv_l_fn_memory(shared->view, i)->extern_off =
            unit->reached ? unit->off : UINT64_MAX; /* nobody gets there */
    }
}

/* For a debugger an array is where the kernels that name it find it. */
static void show_arrays(shared_plan *shared)
{
    for (cv_id i = 0; i < shared->named.count; i++) {
        uint32_t named = *cv_u32s_get(&shared->named, i);
        const shared_unit *unit;

        if (named == 0)
            continue;
        unit = units_at(&shared->unit, cv_shared_find_unit(shared, named - 1));
        cv_l_shared(shared->view, i)->off = unit->reached ? unit->off : 0;
    }
}

static void finish_kernel(shared_plan *shared, shared_kernel *kernel)
{
    const cv_view_shared_memory *view = shared->view;
    const cv_lfn *function = cv_l_fn(view, kernel->fn);
    cv_osec *osec = cv_l_osec(view, cv_l_osec(view, cv_l_fn_out(shared->view, function->id)->sec)->shared);
    uint64_t most =
        view->options->all_shared ? cv_arch_of(view->options->target.sm)->shared : CV_SHARED_STATIC_MOST;
    bool needed;

    kernel->align = cv_max(kernel->align, shared->colour.count ? shared->largest : 0);
    /* A program with an extern array has room for it in every kernel that is aligned for one. */
    needed =
        kernel->end > 0 ||
        (shared->has_array && (kernel->align == CV_SHARED_LARGE_ALIGN ||
                               (kernel->align > CV_SHARED_LARGE_ALIGN && cv_link_reserves(view->options))));
    if (kernel->end > most)
        cv_link_say(view, function->def, CV_R_LINK_SHARED, kernel->end, most);
    if (needed && cv_link_reserves(view->options))
        kernel->end = cv_sat_add(kernel->end, view->options->gen->reserved);
    for (uint64_t i = 0; i < kernel->own.count; i++)
        cv_l_shared(view, *cv_u32s_at(&kernel->own, i))->sec =
            cv_l_osec(view, cv_l_fn_out(shared->view, function->id)->sec)->shared;
    osec->dead = !needed;
    osec->size = kernel->end;
    osec->align = kernel->align ? kernel->align : osec->align;
    osec->infosec = cv_l_fn_out(shared->view, function->id)->sec;
}

static cuvet_status lay_out(shared_plan *shared)
{
    const cv_view_shared_memory *view = shared->view;
    cuvet_status st = cv_shared_find_uses(shared);
    cv_id debug = cv_l_find_osec(view, ".nv_debug.shared");

    shared->has_array = shared->has_array || (debug != CV_NONE && cv_l_osec(view, debug)->extern_array);
    if (st == CUVET_OK)
        st = colour_all(shared);
    if (st != CUVET_OK)
        return st;
    for (uint64_t i = 0; i < shared->colour.count; i++)
        place_colour(shared, colours_at(&shared->colour, i));
    for (uint64_t i = 0; i < shared->kernel.count; i++)
        if (!place_own(shared, kernels_at(&shared->kernel, i)))
            return cv_l_nomem(view);
    place_arrays(shared);
    view->memory->coloured = shared->end != 0;
    if (view->options->debug)
        show_arrays(shared);
    for (uint64_t i = 0; i < shared->kernel.count; i++)
        finish_kernel(shared, kernels_at(&shared->kernel, i));
    if (debug == CV_NONE)
        return CUVET_OK;
    if (shared->has_array && shared->colour.count == 0) /* nothing but arrays lies in it */
        cv_l_osec(view, debug)->align = CV_SHARED_LARGE_ALIGN;
    cv_l_osec(view, debug)->size = 0; /* unless the symbols in it are to be seen */
    if ((view->options->preserve || view->options->debug) && shared->end)
        cv_l_osec(view, debug)->size =
            cv_sat_add(shared->end, cv_link_reserves(view->options) ? view->options->gen->reserved : 0);
    cv_l_osec(view, debug)->dead =
        cv_l_osec(view, debug)->size == 0 &&
        !(shared->has_array && cv_l_osec(view, debug)->align == CV_SHARED_LARGE_ALIGN);
    if ((cv_l_has(view, CV_GEN_RESERVED_SHOWN) || view->options->preserve || view->options->debug) &&
        cv_link_reserves(view->options) && cv_l_osec(view, debug)->size == 0)
        cv_l_osec(view, debug)->size = view->options->gen->reserved;
    return CUVET_OK;
}

static bool any_shared(const cv_view_shared_memory *view)
{
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);

        if (cv_l_is_shared(sym) || cv_l_is_reserved(sym))
            return true;
    }
    return false;
}

static bool begin(shared_plan *shared)
{
    const cv_view_shared_memory *view = shared->view;
    static const cv_shared_place NOWHERE = { 0, CV_NONE, false };
    static const cv_fn_memory NOTHING = { 0, false };
    cv_part_memory *memory = view->memory;
    uint64_t symbols = any_shared(view) ? view->inputs->isym.count : 0;

    if (!cv_shared_places_room(cv_shared_mem(shared), &memory->shared, symbols) ||
        !cv_fn_memories_room(cv_shared_mem(shared), &memory->fn, view->functions->fn.count))
        return false;
    while (memory->shared.count < symbols)
        if (!cv_shared_places_push(cv_shared_mem(shared), &memory->shared, NOWHERE))
            return false;
    while (memory->fn.count < view->functions->fn.count)
        if (!cv_fn_memories_push(cv_shared_mem(shared), &memory->fn, NOTHING))
            return false;
    return cv_u32s_fill(cv_shared_mem(shared), &shared->uses, cv_max(view->functions->fn.count, 1)) &&
           cv_u32s_fill(cv_shared_mem(shared), &shared->arrays, cv_max(view->functions->fn.count, 1));
}

cuvet_status cv_stage_shared_memory(const cv_view_shared_memory *view)
{
    shared_plan shared = { .view = view };
    cuvet_status st;

    for (cv_id i = 0; i < view->out->osec.count; i++)
        if (cv_l_osec(view, i)->pre)
            cv_l_osec(view, i)->dead = true;
    if (!begin(&shared))
        st = cv_l_nomem(view);
    else
        st = view->options->relocatable ? cv_shared_partial(view) : lay_out(&shared);
    if (st == CUVET_OK && !view->options->relocatable)
        cv_shared_place_reserved(view);
    for (uint64_t i = 0; i < shared.kernel.count; i++) {
        cv_u32s_free(cv_shared_mem(&shared), &kernels_at(&shared.kernel, i)->own);
        cv_u32s_free(cv_shared_mem(&shared), &kernels_at(&shared.kernel, i)->used);
    }
    kernels_free(cv_shared_mem(&shared), &shared.kernel);
    vars_free(cv_shared_mem(&shared), &shared.var);
    items_free(cv_shared_mem(&shared), &shared.item);
    colours_free(cv_shared_mem(&shared), &shared.colour);
    units_free(cv_shared_mem(&shared), &shared.unit);
    cv_u32s_free(cv_shared_mem(&shared), &shared.uses);
    cv_u32s_free(cv_shared_mem(&shared), &shared.user);
    cv_u32s_free(cv_shared_mem(&shared), &shared.named);
    cv_u32s_free(cv_shared_mem(&shared), &shared.var_of);
    cv_u32s_free(cv_shared_mem(&shared), &shared.order);
    cv_u32s_free(cv_shared_mem(&shared), &shared.arrays);
    return st;
}

/* Variables of a kernel lie in its section, aligned. */
bool cv_stage_shared_memory_holds(const cv_check_shared_memory *view)
{
    for (cv_id i = 0; i < view->memory->shared.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);

        if (!cv_l_shared(view, sym->id)->placed)
            continue;
        if (sym->value && cv_l_shared(view, sym->id)->off % sym->value != 0)
            return false;
        if (cv_l_shared(view, sym->id)->sec != CV_NONE &&
            cv_sat_add(cv_l_shared(view, sym->id)->off, sym->size) >
                cv_l_osec(view, cv_l_shared(view, sym->id)->sec)->size)
            return false;
    }
    return cv_shared_reserved_hold(view);
}
