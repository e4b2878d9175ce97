/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage undefined: names that nobody defines, but that live code or data refers to. */
#include "link/plan/plan.h"

static bool any_undefined(const cv_view_undefined *view)
{
    for (cv_id i = 0; i < view->resolution->entries.count && !view->resolution->unnamed; i++) {
        cv_id first = cv_l_entry(view, i)->first;

        if (first != CV_NONE && !cv_link_may_stay_undefined(view, cv_l_isym(view, first)))
            return true;
    }
    return view->resolution->unnamed;
}

/* Once for each name. */
static void say(const cv_view_undefined *view, cv_u8s *reported, const cv_isym *sym)
{
    cv_id first = cv_l_entry(view, sym->name)->first;

    if (*cv_u8s_at(reported, sym->name))
        return;
    *cv_u8s_at(reported, sym->name) = true;
    first = first == CV_NONE ? sym->id : first;
    cv_link_say(view, first, CV_R_LINK_UNDEFINED, 0, cv_l_isym(view, first)->obj);
}

/* dead: relocations of code that goes. */
static void check_relocations(const cv_view_undefined *view, cv_u8s *reported, const cv_osec *osec, bool dead)
{
    for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur);) {
        const cv_isym *sym = cv_l_isym(view, cur.rel->sym);
        cv_id fn = cv_l_fn_of(view, sym->id);

        if (dead && (fn == CV_NONE || !cv_l_fn_calls(view, fn)->live)) /* a kernel to launch is asked for */
            continue;
        if (cv_l_bind(sym) != CV_STB_LOCAL && !cv_link_may_stay_undefined(view, sym))
            say(view, reported, sym);
    }
}

/* An executable has memory for every variable, whatever refers to it: the reference refuses one that only
 * dead code names as well. Names of the system are of no space. */
static bool is_missing_variable(const cv_isym *sym)
{
    return cv_l_type(sym) == CV_STT_CUDA_OBJECT && (sym->other & CV_STO_SPACE) != 0 && !cv_l_is_reserved(sym);
}

/* A function that live code calls by the call graph alone; the reference asks that as well. */
static bool is_called(const cv_view_undefined *view, const cv_isym *sym)
{
    cv_id fn = cv_l_fn_of(view, sym->id);

    return fn != CV_NONE && cv_l_fn_calls(view, fn)->live;
}

/* What has to be defined without a relocation that names it. */
static void check_names(const cv_view_undefined *view, cv_u8s *reported)
{
    for (cv_id i = 0; i < view->resolution->entries.count; i++) {
        cv_id first = cv_l_entry(view, i)->first;
        const cv_isym *sym = first == CV_NONE ? NULL : cv_l_isym(view, first);

        if (sym && (is_missing_variable(sym) || is_called(view, sym)) &&
            !cv_link_may_stay_undefined(view, sym))
            say(view, reported, sym);
    }
}

cuvet_status cv_stage_undefined(const cv_view_undefined *view)
{
    uint64_t before = view->ctx->n_errors;
    cv_u8s reported = { 0 }; /* by name */

    if (view->options->relocatable || !any_undefined(view))
        return CUVET_OK;
    if (!cv_u8s_fill(&view->ctx->mem, &reported, view->resolution->entries.count))
        return cv_l_nomem(view);
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(view, i),
                      *target = osec->group == CV_G_REL ? cv_l_osec(view, osec->target) : NULL;

        if (target && !osec->is_resolved)
            check_relocations(view, &reported, osec,
                              target->group == CV_G_CODE && !cv_l_fn_calls(view, target->fn)->live);
    }
    check_names(view, &reported);
    cv_u8s_free(&view->ctx->mem, &reported);
    return view->ctx->n_errors == before ? CUVET_OK : CUVET_E_REFUSED;
}
