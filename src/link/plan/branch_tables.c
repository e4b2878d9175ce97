/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage branch_tables: branch tables of device functions, and the record of relocations. */
#include "base/arith.h"
#include "link/graph/walk.h"
#include "link/plan/plan.h"

/* Of a table in the bank of a kernel: it is sorted, placed and becomes a part of the output. */
#define USE_WORK 16u

/* A kernel's table bank, as it grows: its own tables, then those of the functions that it reaches. */
typedef struct bank2_tables {
    cv_id sec; /* CV_NONE: not made yet */
    uint64_t end, align;
} bank2_tables;

CV_VEC(bank2s, bank2_tables);

typedef struct bank_tables {
    const cv_view_branch_tables *view;
    bank2s bank;  /* by function; those of kernels count */
    cv_keys uses; /* a table and a kernel that reaches its function: last table first, then last kernel */
    cv_u32s only; /* by function: it reaches one with a table */
    cv_walk_below below;
} bank_tables;

static cv_id own_bank(const cv_view_branch_tables *view, const cv_lfn *kernel)
{
    cv_id name = cv_l_out_join(view, ".nv.constant2.", kernel->name);

    for (cv_id i = cv_l_osec(view, cv_l_fn_out(view, kernel->id)->sec)->own_first; i != CV_NONE;
         i = cv_l_osec(view, i)->own_next)
        if (cv_l_osec(view, i)->name == name)
            return i;
    return CV_NONE;
}

static bool has_table(const cv_view_branch_tables *view, cv_id fn)
{
    return cv_l_fn_out(view, fn)->table != CV_NONE && cv_l_fn_calls(view, fn)->live;
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
    const cv_view_branch_tables *view = tables->view;
    cuvet_status st = cv_calls_below(view->ctx, view->calls, &tables->below, kernel, &tables->only);

    for (uint64_t i = 0; i < tables->below.found.count && st == CUVET_OK; i++) {
        cv_id fn = *cv_u32s_get(&tables->below.found, i);

        if (!has_table(view, fn))
            continue;
        if (!cv_work(view->ctx, USE_WORK, 0))
            return CUVET_E_LIMIT;
        if (!cv_keys_push(&view->ctx->mem, &tables->uses, use_of(cv_l_fn_out(view, fn)->table, kernel)))
            st = cv_l_nomem(view);
    }
    return st;
}

static cuvet_status find_uses(bank_tables *tables)
{
    const cv_view_branch_tables *view = tables->view;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < view->functions->fn.count && st == CUVET_OK; i++) {
        bool kernel = cv_l_is_kernel(view, i);
        cv_id sec = kernel ? own_bank(view, cv_l_fn(view, i)) : CV_NONE;
        bank2_tables bank = { .sec = sec };

        if (sec != CV_NONE) {
            bank.end = cv_l_osec(view, sec)->size;
            bank.align = cv_l_osec(view, sec)->align;
        }
        if (!bank2s_push(&view->ctx->mem, &tables->bank, bank))
            st = cv_l_nomem(view);
        else if (kernel && *cv_u32s_at(&tables->only, i) != 0)
            st = add_uses(tables, i);
    }
    if (st == CUVET_OK && !cv_work(view->ctx, tables->uses.count, 0))
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
        const cv_isec *isec = cv_l_isec(tables->view, table);
        uint64_t align = isec->align, *off = cv_u64s_at(&tables->view->memory->bank_off, table);

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

static cuvet_status make_bank(const cv_view_branch_tables *view, const cv_lfn *kernel, uint64_t align,
                              cv_id *out)
{
    cv_new_section section = cv_l_section(view, CV_ROLE_CONSTANT_FN, CV_G_CONST);
    cv_id code = cv_l_fn_out(view, kernel->id)->sec;

    section.name = cv_l_out_join(view, ".nv.constant2.", kernel->name);
    section.align = align;
    section.symbol = section.named = true;
    *out = section.name == CV_NONE ? CV_NONE : cv_l_new_osec(view, &section);
    if (*out == CV_NONE)
        return cv_l_nomem(view);
    cv_l_osec(view, *out)->infosec = code;
    cv_l_osec(view, *out)->own_next = cv_l_osec(view, code)->own_first;
    cv_l_osec(view, code)->own_first = *out;
    return CUVET_OK;
}

/* Banks that are not there yet are made when the first table comes. */
static cuvet_status fill_banks(bank_tables *tables)
{
    const cv_view_branch_tables *view = tables->view;
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < tables->uses.count && st == CUVET_OK; i++) {
        cv_id table = table_of(tables, i);
        bank2_tables *bank = bank_of(tables, i);
        cv_osec *osec;

        if (bank->sec == CV_NONE)
            st = make_bank(view, cv_l_fn(view, (cv_id)cv_keys_at(&tables->uses, i)->index), bank->align,
                           &bank->sec);
        if (st == CUVET_OK && !cv_l_add_part(view, bank->sec, table, cv_l_bank_off(view, table)))
            st = cv_l_nomem(view);
        if (st != CUVET_OK)
            break;
        osec = cv_l_osec(view, bank->sec);
        osec->align = bank->align;
        osec->size = cv_sat_align(bank->end, cv_max(bank->align, 1));
    }
    return st;
}

static cuvet_status tables_of_kernels(bank_tables *tables)
{
    const cv_view_branch_tables *view = tables->view;
    cuvet_status st = CUVET_OK;
    bool any = false;

    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        bool has = cv_l_fn_out(view, i)->table != CV_NONE;

        *cv_u32s_at(&tables->only, i) = has;
        any = any || has;
    }
    if (!any)
        return CUVET_OK;
    st = cv_calls_above(view->ctx, view->calls, &tables->only);
    if (st == CUVET_OK)
        st = find_uses(tables);
    if (st != CUVET_OK)
        return st;
    place_tables(tables);
    return fill_banks(tables);
}

static cuvet_status add_action(const cv_view_branch_tables *view)
{
    cv_new_section section = cv_l_section(view, CV_ROLE_REL_ACTION, CV_G_META);

    if (view->options->relocatable || !cv_l_has(view, CV_GEN_LINKED_ACTION)) /* loaders know every type */
        return CUVET_OK;
    section.symbol = section.named = true;
    section.name = cv_l_out_join(view, ".nv.rel.action", view->names->empty);
    view->out->action = section.name == CV_NONE ? CV_NONE : cv_l_new_osec(view, &section);
    return view->out->action == CV_NONE ? cv_l_nomem(view) : CUVET_OK;
}

static cuvet_status make_tables(const cv_view_branch_tables *view)
{
    bank_tables tables = { .view = view };
    cuvet_status st;

    if (view->options->relocatable)
        return CUVET_OK;
    if (!cv_u32s_fill(&view->ctx->mem, &tables.only, view->functions->fn.count) ||
        !cv_u64s_fill(&view->ctx->mem, &view->memory->bank_off, view->inputs->isec.count))
        st = cv_l_nomem(view);
    else
        st = tables_of_kernels(&tables);
    bank2s_free(&view->ctx->mem, &tables.bank);
    cv_keys_free(&view->ctx->mem, &tables.uses);
    cv_u32s_free(&view->ctx->mem, &tables.only);
    cv_walk_below_end(&view->ctx->mem, &tables.below);
    return st;
}

cuvet_status cv_stage_branch_tables(const cv_view_branch_tables *view)
{
    cuvet_status st = make_tables(view);

    return st == CUVET_OK ? add_action(view) : st;
}

/* Code has one number for its table: in every bank it lies there, and not what another function has. */
static bool is_at_its_place(const cv_check_branch_tables *view, const cv_lpart *part)
{
    return !cv_l_became(view, part->isec)->table ||
           (part->isec < view->memory->bank_off.count && cv_l_bank_off(view, part->isec) == part->base);
}

/* Branch tables lie in the banks of the kernels, beside each other and beside the kernels' own, each at one
 * place in all of them. */
bool cv_stage_branch_tables_holds(const cv_check_branch_tables *view)
{
    if (!cv_out_parts_hold(view->inputs, view->out))
        return false;
    for (cv_id i = 0; i < view->out->osec.count && !view->options->relocatable; i++)
        for (cv_id part = cv_l_osec(view, i)->first_part; part != CV_NONE;
             part = cv_lparts_get(&view->out->part, part)->next)
            if (!is_at_its_place(view, cv_lparts_get(&view->out->part, part)))
                return false;
    return true;
}
