/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage symbol_values: section, value, size and binding of each symbol of the output. */
#include "base/arith.h"
#include "link/plan/plan.h"

static bool is_shared_space(uint8_t other)
{
    return (other & CV_STO_SPACE) == CV_STO_SPACE_SHARED;
}

/* Nobody defines it. */
static void undefined(const cv_view_symbol_values *view, cv_osym *osym)
{
    const cv_isym *sym = cv_l_isym(view, osym->src);
    uint8_t type = cv_l_type(sym);

    osym->sec = CV_NONE;
    osym->size = sym->size;
    osym->value = 0;
    if (view->options->relocatable && view->options->compat && cv_l_is_array(view, sym)) {
        osym->sec = view->out->debug_shared;
        osym->size = 0;
        osym->value = cv_l_shared(view, cv_l_entry(view, osym->name)->first)->off;
    } else if (cv_out_keeps_extern(view->options, view->memory, sym)) {
        osym->sec = view->out->debug_shared;
        osym->size = 0;
        osym->info = CV_STB_GLOBAL << 4 | CV_STT_OBJECT;
        osym->other = view->options->debug ? 0 : 1;
        osym->value =
            view->options->debug ? cv_l_shared(view, cv_l_entry(view, osym->name)->first)->off : UINT64_MAX;
        osym->value = cv_wrap_add(osym->value, cv_l_counts_reserved(view) ? view->options->gen->reserved : 0);
    } else if (cv_l_bind(sym) == CV_STB_WEAK && type == CV_STT_OBJECT) {
        osym->info = CV_STB_GLOBAL << 4 |
                     (cv_l_has(view, CV_GEN_WEAK_CUDA_OBJECT) ? CV_STT_CUDA_OBJECT : CV_STT_OBJECT);
    } else if (!view->options->relocatable && cv_l_is_global(sym) && cv_l_bind(sym) == CV_STB_GLOBAL) {
        osym->info = CV_STB_GLOBAL << 4 | CV_STT_OBJECT; /* allowed to stay open */
        osym->other = sym->other & CV_STO_MANAGED;
    } else if (view->options->relocatable && view->options->compat && type == CV_STT_CUDA_OBJECT &&
               !cv_l_is_texture(sym)) {
        osym->value = UINT64_MAX;
    }
    /* a place in the memory that the driver reserves */
    if (cv_l_has(view, CV_GEN_RESERVED_SYMBOLS) &&
        cv_span_starts(cv_l_text(view, osym->name), ".nv.reservedSmem."))
        osym->value = sym->value;
}

static void shared_value(const cv_view_symbol_values *view, cv_osym *osym, const cv_isym *winner)
{
    osym->value = cv_l_shared(view, winner->id)->placed ? cv_l_shared(view, winner->id)->off : 0;
    if (cv_l_shared(view, winner->id)->sec != CV_NONE)
        osym->sec = cv_l_shared(view, winner->id)->sec;
    if (cv_l_shared(view, winner->id)->placed &&
        cv_link_reserves(view->options)) /* the symbol counts what comes first, code does not */
        osym->value = cv_sat_add(osym->value, view->options->gen->reserved);
}

static void defined(const cv_view_symbol_values *view, cv_osym *osym)
{
    const cv_isym *winner = cv_l_isym(view, osym->win);
    bool object = cv_l_type(winner) == CV_STT_CUDA_OBJECT;

    osym->size = winner->size;
    osym->other = winner->other;
    if (winner->common) {
        cv_link_largest_common(view, cv_l_entry(view, osym->name), &osym->size, &osym->value);
        osym->common_kept = true;
        return;
    }
    if (cv_l_is_undefined_local(winner)) {
        osym->value = cv_link_undefined_local(view, winner);
        osym->info = CV_STB_LOCAL << 4 | CV_STT_CUDA_OBJECT;
        return;
    }
    if (winner->sec == CV_NONE || cv_l_became(view, winner->sec)->table) {
        osym->sec = CV_NONE;
        return;
    }
    osym->sec = cv_l_became(view, winner->sec)->out;
    osym->value = winner->value;
    if (cv_l_is_reserved(winner)) /* of a relocatable link it stays an alignment */
        osym->value = view->options->relocatable ? winner->value : cv_l_shared(view, winner->id)->off;
    else if (cv_l_type(winner) != CV_STT_FUNC && !is_shared_space(winner->other))
        osym->value = cv_sat_add(osym->value, cv_l_became(view, winner->sec)->base);
    osym->info = winner->info;
    if (view->options->relocatable || !object)
        return;
    osym->info = (uint8_t)(cv_l_bind(winner) << 4 | CV_STT_OBJECT);
    osym->other = winner->other & CV_STO_MANAGED;
    if (is_shared_space(winner->other))
        shared_value(view, osym, winner);
    if (view->options->preserve &&
        ((is_shared_space(winner->other) && !view->options->debug) || cv_l_is_hidden_bank(winner)))
        osym->other = CV_STV_INTERNAL;
}

cuvet_status cv_stage_symbol_values(const cv_view_symbol_values *view)
{
    view->out->debug_shared = cv_l_find_osec(view, ".nv_debug.shared");
    view->out->bank3 = cv_l_find_osec(view, ".nv.constant3");
    for (cv_id i = 0; i < view->out->osym.count; i++) {
        cv_osym *osym = cv_l_osym(view, i);

        if (osym->is_section || osym->common || osym->instance)
            continue;
        if (osym->win == CV_NONE)
            undefined(view, osym);
        else
            defined(view, osym);
    }
    return CUVET_OK;
}

static bool is_variable(const cv_check_symbol_values *view, const cv_osym *osym)
{
    const cv_isym *winner = osym->win == CV_NONE ? NULL : cv_l_isym(view, osym->win);

    return winner && osym->sec != CV_NONE && cv_l_type(winner) != CV_STT_FUNC && !cv_l_is_shared(winner) &&
           !(cv_l_is_reserved(winner) && view->options->relocatable);
}

/* A symbol is in a section that exists, its own when it is a section symbol, and ends there. */
bool cv_stage_symbol_values_holds(const cv_check_symbol_values *view)
{
    for (cv_id i = 0; i < view->out->osym.count; i++) {
        const cv_osym *osym = cv_l_osym(view, i);

        if (!cv_l_below(osym->sec, view->out->osec.count) ||
            (osym->is_section && cv_l_osec(view, osym->sec)->sym != i))
            return false;
        if (is_variable(view, osym) && cv_sat_add(osym->value, osym->size) > cv_l_osec(view, osym->sec)->size)
            return false;
    }
    return true;
}
