/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Branch tables of device functions: code has one number for its table, so that it lies at one place in the
 * bank of every kernel that reaches the function: there are the bytes of the input, aligned, beside the
 * kernel's own tables and those of other functions, and nothing else. */
#include "base/arith.h"
#include "link/prove/parts.h"

bool cv_prove_table_place(const cv_prove *prove, uint64_t sec, uint64_t *place)
{
    uint64_t index = cv_sat_add(prove->first_sec, sec), said;

    if (index >= prove->facts->table.count)
        return false;
    said = *cv_u64s_get(&prove->facts->table, index);
    *place = said - (said != 0);
    return said != 0;
}

/* Tables of functions that are in the result. */
static cuvet_status enter_tables(cv_prove *prove)
{
    cv_prove_branches *all = &prove->branches;

    for (uint32_t i = 1; i < prove->in->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(prove->in, i), *code;
        cv_prove_branch branch = { .obj = prove->obj, .sec = i };
        uint32_t *first, fn;

        if (sec->role != CV_ROLE_CONSTANT_FN || sec->header.info >= prove->in->sec.count ||
            cv_prove_place_of(prove, i)->sec != 0 || !cv_prove_table_place(prove, i, &branch.place))
            continue;
        code = cv_cubin_sec(prove->in, sec->header.info);
        fn = cv_prove_symbol_at(prove, cv_elf_code_symbol(code->header.info))->out;
        if (code->role != CV_ROLE_TEXT || fn == 0 || fn >= prove->facts->result->n_syms ||
            cv_prove_place_of(prove, sec->header.info)->sec == 0)
            continue;
        if (!all->first.items && !cv_u32s_fill(&prove->ctx->mem, &all->first, prove->facts->result->n_syms))
            return cv_nomem(prove->ctx, 0);
        first = cv_u32s_at(&all->first, fn);
        branch.next = *first;
        if (!cv_prove_branch_list_push(&prove->ctx->mem, &all->list, branch))
            return cv_nomem(prove->ctx, 0);
        *first = (uint32_t)all->list.count;
    }
    return CUVET_OK;
}

cuvet_status cv_prove_list_tables(cv_prove *prove)
{
    cv_prove_branches *all = &prove->branches;
    const cv_cubin *result = prove->facts->result;
    cuvet_status status = CUVET_OK;

    for (uint32_t obj = 0; obj < prove->facts->in.count && prove->facts->table.count && status == CUVET_OK;
         obj++) {
        cv_prove_open(prove, obj);
        status = enter_tables(prove);
    }
    if (status != CUVET_OK || all->list.count == 0)
        return status;
    if (!cv_u32s_fill(&prove->ctx->mem, &all->bank, result->sec.count))
        return cv_nomem(prove->ctx, 0);
    for (uint32_t i = 1; i < result->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(result, i);

        if (sec->role == CV_ROLE_CONSTANT_FN && sec->bank != CV_BANK_PARAMETERS &&
            sec->header.info < all->bank.count)
            *cv_u32s_at(&all->bank, sec->header.info) = i;
    }
    return CUVET_OK;
}

bool cv_prove_meet_tables(cv_prove *prove, uint32_t fn)
{
    cv_prove_branches *all = &prove->branches;
    bool ok = true;

    for (uint32_t next = fn < all->first.count ? *cv_u32s_get(&all->first, fn) : 0; ok && next != 0;) {
        const cv_prove_branch *branch = cv_prove_branch_list_get(&all->list, next - 1);

        ok = cv_keys_push(&prove->ctx->mem, &all->met, (cv_key){ branch->place, next - 1 });
        next = branch->next;
    }
    return ok;
}

static cuvet_status misplaced(cv_prove *prove, const cv_prove_branch *branch, uint64_t end)
{
    cv_prove_open(prove, branch->obj);
    return cv_prove_fail_section(prove, CV_R_LINK_PROVE_TABLE, branch->sec, 0, branch->place, end);
}

static cuvet_status check_table(cv_prove *prove, const cv_prove_branch *branch, const cv_sec *bank,
                                uint64_t *end)
{
    const cv_cubin *in = cv_prove_inputs_get(&prove->facts->in, branch->obj)->cubin;
    const cv_sec *sec = cv_cubin_sec(in, branch->sec);
    uint64_t stop = cv_sat_add(branch->place, sec->header.size), agree;

    if (bank->bank != sec->bank || branch->place < *end || stop > bank->header.size ||
        branch->place % cv_max(sec->header.align, 1) != 0 || bank->header.align < sec->header.align ||
        (!prove->indirect && !cv_prove_is_zero(prove, bank, *end, branch->place)) ||
        !cv_slices_same(prove->file, cv_sat_add(bank->header.off, branch->place),
                        cv_cubin_body(in, branch->sec), &agree))
        return misplaced(prove, branch, *end);
    *end = stop;
    return CUVET_OK;
}

/* All tables that were met are there, whatever else is. */
static cuvet_status check_met(cv_prove *prove, const cv_sec *bank, uint32_t at, uint64_t *end)
{
    cv_prove_branches *all = &prove->branches;
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 0; i < all->met.count && status == CUVET_OK; i++) {
        const cv_prove_branch *branch =
            cv_prove_branch_list_get(&all->list, cv_keys_get(&all->met, i)->index);

        status = at == 0 ? misplaced(prove, branch, 0) : check_table(prove, branch, bank, end);
    }
    return status;
}

cuvet_status cv_prove_check_tables(cv_prove *prove, uint32_t code)
{
    cv_prove_branches *all = &prove->branches;
    uint32_t at = code < all->bank.count ? *cv_u32s_get(&all->bank, code) : 0;
    const cv_sec *bank = cv_cubin_sec(prove->facts->result, at);
    uint64_t end = at == 0 ? 0 : *cv_u64s_get(&prove->end, at);
    cuvet_status status = CUVET_OK;

    if (all->met.count == 0 && at == 0)
        return CUVET_OK;
    cv_keys_sort(&all->met);
    status = check_met(prove, bank, at, &end);
    if (prove->indirect) {
        cv_keys_clear(&all->met);
        return status;
    }
    if (status == CUVET_OK && all->met.count != 0 && !cv_prove_is_zero(prove, bank, end, bank->header.size))
        status = misplaced(prove, cv_prove_branch_list_get(&all->list, 0), end);
    if (all->met.count != 0)
        end = cv_sat_align(end, cv_max(bank->header.align, 1));
    if (status == CUVET_OK && end != bank->header.size)
        status = cv_prove_fail(prove, CV_R_LINK_PROVE_END, CUVET_P_SECTION, at, bank->header.off,
                               bank->header.size, end);
    cv_keys_clear(&all->met);
    return status;
}

void cv_prove_free_tables(cv_mem *mem, cv_prove_branches *branches)
{
    cv_prove_branch_list_free(mem, &branches->list);
    cv_u32s_free(mem, &branches->first);
    cv_u32s_free(mem, &branches->bank);
    cv_keys_free(mem, &branches->met);
}
