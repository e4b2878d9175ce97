/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Who uses which shared variable: the code of each function by its relocations, each kernel by the functions
 * that it reaches. Functions and kernels that name extern arrays together form a unit. */
#include "base/arith.h"
#include "bytes/order.h"
#include "link/graph/walk.h"
#include "link/plan/shared_plan.h"

/* Of a variable of a kernel: it is met again for its colour and its place, far from the one before. */
#define USE_WORK 32u

static cv_id push_item(shared_plan *shared, cv_id value, cv_id next)
{
    shared_item item = { value, next };

    return shared->item.count < CV_NONE && items_push(cv_shared_mem(shared), &shared->item, item)
               ? (cv_id)(shared->item.count - 1)
               : CV_NONE;
}

static cv_role role_of(const cv_view_shared_memory *view, const cv_isym *sym)
{
    return cv_cubin_sec(&cv_l_obj(view, sym->obj)->cubin, cv_l_isec(view, sym->sec)->index)->role;
}

static bool is_common(const cv_view_shared_memory *view, const cv_isym *sym)
{
    return role_of(view, sym) == CV_ROLE_NV_DEBUG_SHARED;
}

cv_id cv_shared_find_unit(shared_plan *shared, cv_id unit)
{
    while (units_at(&shared->unit, unit)->parent != unit) {
        shared_unit *entry = units_at(&shared->unit, unit);

        entry->parent = units_at(&shared->unit, entry->parent)->parent;
        unit = entry->parent;
    }
    return unit;
}

static cv_id join_units(shared_plan *shared, cv_id left, cv_id right)
{
    shared_unit *first, *second;

    left = cv_shared_find_unit(shared, left);
    right = cv_shared_find_unit(shared, right);
    first = units_at(&shared->unit, left);
    second = units_at(&shared->unit, right);
    second->parent = left;
    first->align = cv_max(first->align, second->align);
    return left;
}

/* The unit of a function or an array, which is made when there is none. NULL: no memory */
static shared_unit *unit_of(shared_plan *shared, uint32_t *at)
{
    shared_unit unit = { .parent = (cv_id)shared->unit.count, .align = CV_SHARED_LARGE_ALIGN };

    if (*at == 0) {
        if (!units_push(cv_shared_mem(shared), &shared->unit, unit))
            return NULL;
        *at = (uint32_t)shared->unit.count;
    }
    return units_at(&shared->unit, *at - 1);
}

/* What a function refers to often is listed once: its relocations lie together. */
static bool list_use(shared_plan *shared, cv_id sym, cv_id fn)
{
    uint32_t *head = cv_u32s_at(&shared->uses, fn);
    cv_id id;

    if (*cv_u32s_at(&shared->user, sym) == fn)
        return true;
    *cv_u32s_at(&shared->user, sym) = fn;
    id = push_item(shared, sym, *head == 0 ? CV_NONE : *head - 1);
    if (id == CV_NONE)
        return false;
    *cv_u32s_at(&shared->uses, fn) = id + 1;
    return true;
}

/* A relocation of code against a shared variable, or an array that nobody defines. A debugger asks for an
 * array by name: then each has a unit of its own, otherwise each function that names some. */
static bool use(shared_plan *shared, cv_id sym, cv_id fn)
{
    cv_id definition = cv_l_definition(shared->view, sym);
    const cv_isym *isym = cv_l_isym(shared->view, definition);
    bool debug = shared->view->options->debug;
    shared_unit *unit;

    if (isym->sec != CV_NONE)
        return list_use(shared, definition, fn);
    definition = cv_l_entry(shared->view, isym->name)->first;
    unit = unit_of(shared, debug ? cv_u32s_at(&shared->named, definition) : cv_u32s_at(&shared->arrays, fn));
    if (!unit)
        return false;
    unit->align = cv_max(unit->align, cv_l_isym(shared->view, sym)->value);
    return !debug || list_use(shared, definition, fn);
}

static cuvet_status find_uses(shared_plan *shared)
{
    const cv_view_shared_memory *view = shared->view;

    if (view->memory->shared.count == 0)
        return CUVET_OK;
    if (!cv_l_fill_none(cv_shared_mem(shared), &shared->user, view->inputs->isym.count) ||
        !cv_u32s_fill(cv_shared_mem(shared), &shared->named, view->inputs->isym.count) ||
        !cv_l_fill_none(cv_shared_mem(shared), &shared->var_of, view->inputs->isym.count))
        return cv_l_nomem(view);
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(view, i);

        if (osec->group != CV_G_REL || osec->is_resolved || cv_l_osec(view, osec->target)->group != CV_G_CODE)
            continue;
        for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur);)
            if (cv_l_is_shared(cv_l_isym(view, cur.rel->sym)) &&
                !use(shared, cur.rel->sym, cv_l_osec(view, osec->target)->fn))
                return cv_l_nomem(view);
    }
    return CUVET_OK;
}

static cuvet_status list_kernels(shared_plan *shared)
{
    const cv_view_shared_memory *view = shared->view;

    if (!cv_l_fill_none(cv_shared_mem(shared), &shared->order, view->functions->fn.count))
        return cv_l_nomem(view);
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);
        shared_kernel kernel = { .fn = i, .unit = CV_NONE };

        if (!function->kernel || cv_l_fn_out(shared->view, function->id)->sec == CV_NONE ||
            !cv_l_fn_calls(shared->view, function->id)->live)
            continue;
        *cv_u32s_at(&shared->order, i) = (uint32_t)shared->kernel.count;
        if (!kernels_push(cv_shared_mem(shared), &shared->kernel, kernel))
            return cv_l_nomem(view);
    }
    return CUVET_OK;
}

/* A variable lies in the section of its kernel, or in the one that functions share. */
static bool list_variable(shared_plan *shared, cv_id id)
{
    const cv_view_shared_memory *view = shared->view;
    const cv_isym *sym = cv_l_isym(view, id);
    const cv_isec *sec = cv_l_isec(view, sym->sec), *code;
    cv_id definition = cv_l_definition(view, id);
    shared_var var = { .sym = definition, .kernels = CV_NONE, .last = CV_NONE, .next = CV_NONE };
    uint32_t order;

    if (is_common(view, sym)) {
        shared->largest = cv_max(shared->largest, sym->value);
        if (sym->size == 0) /* an array, as a relocatable link of the reference leaves it */
            shared->has_array = true;
        if (definition == id)
            *cv_u32s_at(&shared->var_of, id) = (cv_id)shared->var.count;
        else if (!cv_shared_has_room(view, id) || !is_common(view, cv_l_isym(view, definition)))
            return true;
        return vars_push(cv_shared_mem(shared), &shared->var, var);
    }
    if (role_of(view, sym) != CV_ROLE_SHARED_FN) { /* among those of no kernel */
        if (role_of(view, sym) != CV_ROLE_SHARED_RESERVED)
            cv_link_say(view, id, CV_R_LINK_SPACE, sym->other, 0);
        return true;
    }
    code = cv_l_isec(view, cv_l_obj(view, sym->obj)->first_sec + sec->info);
    if (cv_l_became(shared->view, code->id)->out == CV_NONE || cv_l_became(shared->view, code->id)->lost)
        return true;
    order = *cv_u32s_at(&shared->order, cv_l_osec(view, cv_l_became(shared->view, code->id)->out)->fn);
    return order == CV_NONE ||
           cv_u32s_push(cv_shared_mem(shared), &kernels_at(&shared->kernel, order)->own, id);
}

/* An array has no place among the variables, but the reference sorts it with them: that decides which of two
 * variables of one size comes first. */
static bool list_array(shared_plan *shared, cv_id id)
{
    shared_var var = { .sym = id, .kernels = CV_NONE, .last = CV_NONE, .next = CV_NONE };

    return cv_l_entry(shared->view, cv_l_isym(shared->view, id)->name)->first != id ||
           cv_l_isym(shared->view, cv_l_definition(shared->view, id))->sec != CV_NONE ||
           vars_push(cv_shared_mem(shared), &shared->var, var);
}

static cuvet_status list_variables(shared_plan *shared)
{
    for (cv_id i = 0; i < shared->view->memory->shared.count; i++) {
        const cv_isym *sym = cv_l_isym(shared->view, i);

        if (!cv_l_is_shared(sym))
            continue;
        if (sym->value != 0 &&
            !cv_is_pow2(sym->value)) /* of a shared variable or array it is the alignment */
            cv_link_say(shared->view, i, CV_R_LINK_ALIGN, sym->value, 0);
        if (sym->sec == CV_NONE ? !list_array(shared, i) : !list_variable(shared, i))
            return cv_l_nomem(shared->view);
    }
    return CUVET_OK;
}

static void meet_arrays(shared_plan *shared, shared_kernel *kernel, uint32_t unit)
{
    if (unit != 0)
        kernel->unit = kernel->unit == CV_NONE ? cv_shared_find_unit(shared, unit - 1)
                                               : join_units(shared, kernel->unit, unit - 1);
}

static cuvet_status meet_variable(shared_plan *shared, cv_id kernel, cv_id sym)
{
    cv_id id = *cv_u32s_at(&shared->var_of, sym);
    shared_var *var = id == CV_NONE ? NULL : vars_at(&shared->var, id);

    if (!var || var->last == kernel)
        return CUVET_OK;
    var->last = kernel;
    var->n_kernels++;
    var->kernels = push_item(shared, kernel, var->kernels);
    return var->kernels == CV_NONE ? cv_l_nomem(shared->view) : CUVET_OK;
}

/* Kernel 'kernel' reaches a function: its variables and arrays are k's. */
static cuvet_status meet(shared_plan *shared, cv_id kernel, cv_id fn)
{
    uint32_t head = *cv_u32s_at(&shared->uses, fn);
    shared_kernel *entry = kernels_at(&shared->kernel, kernel);
    cuvet_status st = CUVET_OK;

    meet_arrays(shared, entry, *cv_u32s_at(&shared->arrays, fn));
    for (cv_id i = head == 0 ? CV_NONE : head - 1; i != CV_NONE && st == CUVET_OK;) {
        const shared_item item = *items_at(&shared->item, i);

        if (!cv_work(shared->view->ctx, USE_WORK, 0))
            return CUVET_E_LIMIT;
        meet_arrays(shared, entry, *cv_u32s_at(&shared->named, item.value));
        st = meet_variable(shared, kernel, item.value);
        i = item.next;
    }
    return st;
}

static cuvet_status find_reach(shared_plan *shared)
{
    cv_walk_below below = { 0 };
    cv_u32s only = { 0 };
    cuvet_status st = CUVET_OK;

    if (shared->item.count == 0 && shared->unit.count == 0)
        return CUVET_OK;
    if (!cv_u32s_fill(cv_shared_mem(shared), &only, shared->view->functions->fn.count))
        st = cv_l_nomem(shared->view);
    for (cv_id i = 0; i < only.count; i++)
        *cv_u32s_at(&only, i) = *cv_u32s_at(&shared->arrays, i) != 0 || *cv_u32s_at(&shared->uses, i) != 0;
    if (st == CUVET_OK)
        st = cv_calls_above(shared->view->ctx, shared->view->calls, &only);
    for (cv_id k = 0; k < shared->kernel.count && st == CUVET_OK; k++) {
        if (*cv_u32s_at(&only, kernels_at(&shared->kernel, k)->fn) == 0)
            continue;
        st = cv_calls_below(shared->view->ctx, shared->view->calls, &below,
                            kernels_at(&shared->kernel, k)->fn, &only);
        for (uint64_t i = 0; i < below.found.count && st == CUVET_OK; i++)
            st = meet(shared, k, *cv_u32s_get(&below.found, i));
    }
    cv_walk_below_end(cv_shared_mem(shared), &below);
    cv_u32s_free(cv_shared_mem(shared), &only);
    return st;
}

/* A variable with room for two definitions is placed twice, for the same kernels, as in the reference: the
 * code finds it at the second place. */
static void double_rooms(shared_plan *shared)
{
    for (cv_id i = 0; i < shared->var.count; i++) {
        shared_var *var = vars_at(&shared->var, i);
        cv_id id = *cv_u32s_at(&shared->var_of, var->sym);
        const shared_var *same = id == CV_NONE || id == i ? NULL : vars_at(&shared->var, id);

        if (!same)
            continue; /* the only one, or an array */
        var->kernels = same->kernels;
        var->last = same->last;
        var->n_kernels = same->n_kernels;
    }
}

cuvet_status cv_shared_find_uses(shared_plan *shared)
{
    cuvet_status st = list_kernels(shared);

    if (st == CUVET_OK)
        st = find_uses(shared);
    if (st == CUVET_OK)
        st = list_variables(shared);
    if (st == CUVET_OK)
        st = find_reach(shared);
    if (st == CUVET_OK)
        double_rooms(shared);
    return st;
}
