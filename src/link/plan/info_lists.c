/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Of stage info_records: the lists of called symbols that the records of a function keep, and what a kernel
 * hears of from below. */
#include "link/plan/info_records.h"

cv_span cv_d_info_body(const cv_view_info_records *view, const cv_lfn *function)
{
    return cv_l_body(view, cv_l_isec(view, cv_l_isec(view, cv_l_isym(view, function->def)->sec)->info_sec));
}

static bool in_list(const info_describer *describer, cv_id osym)
{
    return *cv_u32s_get(&describer->mark, osym) == describer->stamp;
}

static bool list_once(info_describer *describer, cv_id osym)
{
    if (in_list(describer, osym))
        return true;
    *cv_u32s_at(&describer->mark, osym) = describer->stamp;
    return cv_u32s_push(&describer->view->ctx->mem, &describer->list, osym);
}

void cv_d_new_list(info_describer *describer)
{
    cv_u32s_clear(&describer->list);
    describer->stamp++;
}

/* A called symbol stays in the list when nobody defines it, or when it is a kernel to be launched. */
static bool stays(const cv_view_info_records *view, cv_id osym)
{
    const cv_osym *symbol = cv_l_osym(view, osym);

    return symbol->win == CV_NONE || (symbol->fn != CV_NONE && cv_l_fn(view, symbol->fn)->kernel);
}

typedef struct extern_walk {
    cv_span span;
    uint64_t pos, at, end; /* entries that are left of the record at hand */
} extern_walk;

static bool begin_externs(const cv_view_info_records *view, const cv_lfn *function, extern_walk *walk)
{
    *walk = (extern_walk){ .span = cv_d_info_body(view, function) };
    walk->span.len = cv_l_fn_usage(view, function->id)->has_info ? walk->span.len : 0;
    return cv_work(view->ctx, 1 + walk->span.len / 16, 0);
}

/* The next symbol that a function's EXTERNS records name. */
static bool next_extern(const cv_lobj *obj, extern_walk *walk, cv_id *isym)
{
    cv_tlv tlv;

    for (;;) {
        while (walk->at + 4 <= walk->end) {
            uint32_t index = cv_u32_at(walk->span, walk->at);

            walk->at += 4;
            *isym = obj->first_sym + index;
            if (index < obj->n_sym)
                return true;
        }
        if (cv_tlv_at(walk->span, walk->pos, &tlv) != CV_TLV_OK)
            return false;
        walk->pos = tlv.next;
        if (tlv.code == CV_ATTR_EXTERNS && tlv.format == CV_TLV_SVAL) {
            walk->at = tlv.payload;
            walk->end = tlv.payload + tlv.value;
        }
    }
}

bool cv_d_list_kept(info_describer *describer, const cv_lfn *function)
{
    const cv_view_info_records *view = describer->view;
    const cv_lobj *obj = cv_l_obj(view, cv_l_isym(view, function->def)->obj);
    extern_walk walk;
    cv_id isym;
    bool ok = begin_externs(view, function, &walk);

    while (ok && next_extern(obj, &walk, &isym)) {
        cv_id osym = cv_l_out_of(view, isym);

        ok = osym == CV_NONE || !stays(view, osym) || list_once(describer, osym);
    }
    return ok;
}

bool cv_d_look_at_lists(info_describer *describer, const cv_lfn *function, uint8_t *tells)
{
    const cv_view_info_records *view = describer->view;
    cv_id obj = cv_l_isym(view, function->def)->obj, isym;
    extern_walk walk;
    bool ok = begin_externs(view, function, &walk);

    while (ok && next_extern(cv_l_obj(view, obj), &walk, &isym)) {
        cv_id osym = cv_l_out_of(view, isym);

        *tells |= CV_D_NAMES;
        if (osym != CV_NONE && stays(view, osym))
            *tells |= CV_D_KEEPS;
    }
    return ok;
}

static bool has_externs(const cv_view_info_records *view, const cv_lfn *function)
{
    cv_span span = cv_d_info_body(view, function);
    uint64_t pos = 0;
    cv_tlv tlv;

    for (; cv_l_fn_usage(view, function->id)->has_info && cv_tlv_at(span, pos, &tlv) == CV_TLV_OK;
         pos = tlv.next)
        if (tlv.code == CV_ATTR_EXTERNS)
            return true;
    return false;
}

cv_id cv_d_place(const cv_view_info_records *view, const cv_lfn *function)
{
    return cv_l_isec(view, cv_l_isym(view, function->def)->sec)->info_sec;
}

/* All that stays is taken to be below the only kernel. */
static bool take_all(info_describer *describer)
{
    cv_u32s_clear(&describer->below.found);
    for (cv_id i = 0; i < describer->view->functions->fn.count; i++)
        if (cv_l_fn_calls(describer->view, i)->live &&
            !cv_u32s_push(&describer->view->ctx->mem, &describer->below.found, i))
            return false;
    return true;
}

static bool find_below(info_describer *describer, cv_id kernel, kernel_facts *facts)
{
    const cv_view_info_records *view = describer->view;
    bool ok = true;

    if (describer->n_kernels == 1)
        ok = take_all(describer);
    else if (*cv_u32s_at(&describer->only, kernel) == 0)
        return true;
    else
        ok = cv_calls_below(view->ctx, view->calls, &describer->below, kernel, &describer->only) == CUVET_OK;
    for (uint64_t i = 0; i < describer->below.found.count && ok; i++) {
        cv_id below = *cv_u32s_get(&describer->below.found, i);
        const cv_lfn *callee = cv_l_fn(view, below);

        if (below != kernel && !callee->kernel && callee->def != CV_NONE &&
            cv_l_fn_usage(view, callee->id)->has_info)
            ok = cv_keys_push(&view->ctx->mem, &facts->below,
                              (cv_key){ .key = cv_d_place(view, callee), .index = below });
    }
    cv_keys_sort(&facts->below);
    return ok;
}

/* With a single kernel the reference collects the list anew, from all functions that stay, reached or not, in
 * the order of their records; what comes later is put in front. */
static bool list_all(info_describer *describer)
{
    const cv_view_info_records *view = describer->view;
    cv_keys order = { 0 };
    bool ok = true;

    for (cv_id i = 0; i < view->functions->fn.count && ok; i++) {
        const cv_lfn *callee = cv_l_fn(view, i);

        if (callee->def != CV_NONE && cv_l_fn_calls(view, callee->id)->live &&
            cv_l_fn_usage(view, callee->id)->has_info)
            ok = cv_keys_push(&view->ctx->mem, &order,
                              (cv_key){ .key = cv_d_place(view, callee), .index = i });
    }
    cv_keys_sort(&order);
    cv_d_new_list(describer);
    for (uint64_t i = 0; i < order.count && ok; i++)
        ok = cv_d_list_kept(describer, cv_l_fn(view, (cv_id)cv_keys_at(&order, i)->index));
    cv_keys_free(&view->ctx->mem, &order);
    for (uint64_t head = 0, tail = describer->list.count; tail > head + 1; head++, tail--) {
        uint32_t swapped = *cv_u32s_at(&describer->list, head);

        *cv_u32s_at(&describer->list, head) = *cv_u32s_at(&describer->list, tail - 1);
        *cv_u32s_at(&describer->list, tail - 1) = swapped;
    }
    return ok;
}

bool cv_d_find_facts(info_describer *describer, cv_id kernel, kernel_facts *facts)
{
    const cv_view_info_records *view = describer->view;
    const cv_lfn *fn = cv_l_fn(view, kernel);
    uint64_t own;
    bool ok;

    cv_d_new_list(describer);
    ok = cv_d_list_kept(describer, fn) && find_below(describer, kernel, facts);
    own = describer->list.count;
    if (ok && describer->n_kernels == 1)
        ok = list_all(describer);
    for (uint64_t i = 0; i < facts->below.count && ok && describer->n_kernels != 1; i++) {
        uint64_t below = cv_keys_at(&facts->below, i)->index;

        ok = !(*cv_u8s_at(&describer->tells, below) & CV_D_KEEPS) ||
             cv_d_list_kept(describer, cv_l_fn(view, below));
    }
    facts->own_externs = has_externs(view, fn);
    facts->grown = describer->list.count != own;
    facts->in_place = facts->own_externs && !(describer->n_kernels == 1 && facts->grown);
    if (ok && describer->n_kernels == 1 && !facts->grown) { /* its own, in its own order */
        cv_d_new_list(describer);
        ok = cv_d_list_kept(describer, fn);
    }
    return ok;
}
