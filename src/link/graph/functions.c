/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage functions: the functions of the program, in the order in which the inputs name them, which definition
 * each has, and whose code each code section is. */
#include "link/graph/graph.h"

static cv_id new_fn(const cv_view_functions *view, cv_id name)
{
    cv_id id = (cv_id)view->functions->fn.count;
    const cv_lfn function = { .id = id, .name = name, .def = CV_NONE, .owner = id };

    return view->functions->fn.count < CV_NONE &&
                   cv_lfns_push(&view->ctx->mem, &view->functions->fn, function)
               ? id
               : CV_NONE;
}

/* One for each local symbol and one for each global name. */
static cv_id function_of(const cv_view_functions *view, const cv_isym *sym)
{
    bool local = cv_l_bind(sym) == CV_STB_LOCAL;
    cv_id fn = local ? CV_NONE : *cv_u32s_at(&view->functions->by_name, sym->name);

    if (fn == CV_NONE)
        fn = new_fn(view, sym->name);
    if (!local)
        *cv_u32s_at(&view->functions->by_name, sym->name) = fn;
    *cv_u32s_at(&view->functions->of, sym->id) = fn;
    return fn;
}

/* Code is that of the first function that is defined in it; another definition of a global name goes to where
 * the first one went. */
static void take_code(const cv_view_functions *view, const cv_isym *sym, cv_id fn)
{
    cv_code *code = cv_codes_at(&view->functions->code, sym->sec);
    cv_lfn *function = cv_l_fn(view, fn);

    if (code->owner == CV_NONE)
        code->owner = fn;
    if (!function->has_def)
        function->owner = code->owner;
    function->has_def = true;
    if (cv_l_definition(view, sym->id) == sym->id) {
        function->def = sym->id;
        return;
    }
    code->lost = true;
    code->beaten = *cv_u8s_get(&view->resolution->beaten, sym->id);
}

static bool add_function(const cv_view_functions *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    cv_id fn = function_of(view, sym);

    if (fn == CV_NONE)
        return false;
    if (sym->other & CV_STO_ENTRY)
        cv_l_fn(view, fn)->kernel = true;
    if (sym->sec != CV_NONE)
        take_code(view, sym, fn);
    return true;
}

/* An alias that a relocatable link wrote before its function comes behind it. */
static bool take_function(const cv_view_functions *view, cv_id id)
{
    cv_id owner = cv_l_code_symbol(view, id);

    if (*cv_u32s_at(&view->functions->of, id) != CV_NONE) /* it came before its alias */
        return true;
    if (owner > id && *cv_u32s_at(&view->functions->of, owner) == CV_NONE && !add_function(view, owner))
        return false;
    return add_function(view, id);
}

cuvet_status cv_stage_functions(const cv_view_functions *view)
{
    const cv_code none = { .owner = CV_NONE };
    cv_mem *mem = &view->ctx->mem;

    if (!cv_l_fill_none(mem, &view->functions->of, view->inputs->isym.count) ||
        !cv_l_fill_none(mem, &view->functions->by_name, view->names->set.list.count) ||
        !cv_codes_room(mem, &view->functions->code, view->inputs->isec.count))
        return cv_l_nomem(view);
    while (view->functions->code.count < view->inputs->isec.count)
        if (!cv_codes_push(mem, &view->functions->code, none))
            return cv_l_nomem(view);
    for (cv_id i = 0; i < view->inputs->isym.count; i++)
        if (cv_l_type(cv_l_isym(view, i)) == CV_STT_FUNC && !take_function(view, i))
            return cv_l_nomem(view);
    return CUVET_OK;
}

/* A definition is that of its function, a kernel is one in all declarations, and code has an owner. */
static bool symbol_holds(const cv_check_functions *view, const cv_isym *sym, cv_id fn)
{
    const cv_lfn *function;

    if (cv_l_type(sym) != CV_STT_FUNC || fn >= view->functions->fn.count)
        return false;
    function = cv_l_fn(view, fn);
    if (function->name != sym->name || ((sym->other & CV_STO_ENTRY) && !function->kernel))
        return false;
    return sym->sec == CV_NONE ||
           (function->has_def &&
            cv_codes_get(&view->functions->code, sym->sec)->owner < view->functions->fn.count);
}

bool cv_stage_functions_holds(const cv_check_functions *view)
{
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);
        cv_id fn = cv_l_fn_of(view, i);

        if (fn == CV_NONE ? cv_l_type(sym) == CV_STT_FUNC : !symbol_holds(view, sym, fn))
            return false;
    }
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (function->owner >= view->functions->fn.count ||
            (function->def != CV_NONE && cv_l_fn_of(view, function->def) != i))
            return false;
    }
    return true;
}
