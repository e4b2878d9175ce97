/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage functions: the functions of the program, in the order in which the inputs name them, which definition
 * each has, and whose code each code section is. */
#include "link/in/stages.h"

static cv_id new_fn(cv_link *link, cv_id name)
{
    cv_id id = (cv_id)link->functions->fn.count;
    const cv_lfn function = { .id = id, .name = name, .def = CV_NONE, .owner = id };

    return link->functions->fn.count < CV_NONE &&
                   cv_lfns_push(&link->ctx->mem, &link->functions->fn, function)
               ? id
               : CV_NONE;
}

/* One for each local symbol and one for each global name. */
static cv_id function_of(cv_link *link, const cv_isym *sym)
{
    bool local = cv_l_bind(sym) == CV_STB_LOCAL;
    cv_id fn = local ? CV_NONE : *cv_u32s_at(&link->functions->by_name, sym->name);

    if (fn == CV_NONE)
        fn = new_fn(link, sym->name);
    if (!local)
        *cv_u32s_at(&link->functions->by_name, sym->name) = fn;
    *cv_u32s_at(&link->functions->of, sym->id) = fn;
    return fn;
}

/* Code is that of the first function that is defined in it; another definition of a global name goes to where
 * the first one went. */
static void take_code(cv_link *link, const cv_isym *sym, cv_id fn)
{
    cv_code *code = cv_codes_at(&link->functions->code, sym->sec);
    cv_lfn *function = cv_l_fn(link, fn);

    if (code->owner == CV_NONE)
        code->owner = fn;
    if (!function->has_def)
        function->owner = code->owner;
    function->has_def = true;
    if (cv_l_canon(link, sym->id) == sym->id) {
        function->def = sym->id;
        return;
    }
    code->lost = true;
    code->beaten = *cv_u8s_at(&link->resolution->beaten, sym->id);
}

cuvet_status cv_link_functions(cv_link *link)
{
    const cv_code none = { .owner = CV_NONE };
    cv_mem *mem = &link->ctx->mem;

    if (!cv_l_fill_none(mem, &link->functions->of, link->inputs->isym.count) ||
        !cv_l_fill_none(mem, &link->functions->by_name, link->names->set.list.count) ||
        !cv_codes_room(mem, &link->functions->code, link->inputs->isec.count))
        return cv_l_nomem(link);
    while (link->functions->code.count < link->inputs->isec.count)
        if (!cv_codes_push(mem, &link->functions->code, none))
            return cv_l_nomem(link);
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i);
        cv_id fn;

        if (cv_l_type(sym) != CV_STT_FUNC)
            continue;
        fn = function_of(link, sym);
        if (fn == CV_NONE)
            return cv_l_nomem(link);
        if (sym->other & CV_STO_ENTRY)
            cv_l_fn(link, fn)->kernel = true;
        if (sym->sec != CV_NONE)
            take_code(link, sym, fn);
    }
    return CUVET_OK;
}

/* A definition is that of its function, a kernel is one in all declarations, and code has an owner. */
static bool symbol_holds(const cv_link *link, const cv_isym *sym, cv_id fn)
{
    const cv_lfn *function;

    if (cv_l_type(sym) != CV_STT_FUNC || fn >= link->functions->fn.count)
        return false;
    function = cv_l_fn(link, fn);
    if (function->name != sym->name || ((sym->other & CV_STO_ENTRY) && !function->kernel))
        return false;
    return sym->sec == CV_NONE ||
           (function->has_def &&
            cv_codes_get(&link->functions->code, sym->sec)->owner < link->functions->fn.count);
}

bool cv_link_functions_holds(const cv_link *link)
{
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i);
        cv_id fn = cv_l_fn_of(link, i);

        if (fn == CV_NONE ? cv_l_type(sym) == CV_STT_FUNC : !symbol_holds(link, sym, fn))
            return false;
    }
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(link, i);

        if (function->owner >= link->functions->fn.count ||
            (function->def != CV_NONE && cv_l_fn_of(link, function->def) != i))
            return false;
    }
    return true;
}
