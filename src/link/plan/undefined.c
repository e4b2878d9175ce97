/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage undefined: names that nobody defines, but that live code or data refers to. */
#include "link/in/stages.h"

static bool any_undefined(const cv_link *link)
{
    for (cv_id i = 0; i < link->resolution->mean.count && !link->resolution->unnamed; i++) {
        cv_id first = cv_l_mean(link, i)->first;

        if (first != CV_NONE && !cv_link_may_stay_undefined(link, cv_l_isym(link, first)))
            return true;
    }
    return link->resolution->unnamed;
}

/* Once for each name. */
static void say(const cv_link *link, cv_u8s *reported, const cv_isym *sym)
{
    cv_id first = cv_l_mean(link, sym->name)->first;

    if (*cv_u8s_at(reported, sym->name))
        return;
    *cv_u8s_at(reported, sym->name) = true;
    first = first == CV_NONE ? sym->id : first;
    cv_link_say(link, first, CV_R_LINK_UNDEFINED, 0, cv_l_isym(link, first)->obj);
}

/* dead: relocations of code that goes. */
static void check_relocations(const cv_link *link, cv_u8s *reported, const cv_osec *osec, bool dead)
{
    for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(link, rel)->next) {
        const cv_isym *sym = cv_l_isym(link, cv_l_irel(link, rel)->sym);
        cv_id fn = cv_l_fn_of(link, sym->id);

        if (dead && (fn == CV_NONE || !cv_l_fn_calls(link, fn)->live)) /* a kernel to launch is asked for */
            continue;
        if (cv_l_bind(sym) != CV_STB_LOCAL && !cv_link_may_stay_undefined(link, sym))
            say(link, reported, sym);
    }
}

cuvet_status cv_link_undefined(cv_link *link)
{
    uint64_t before = link->ctx->n_errors;
    cv_u8s reported = { 0 }; /* by name */

    if (link->options->relocatable || !any_undefined(link))
        return CUVET_OK;
    if (!cv_u8s_fill(&link->ctx->mem, &reported, link->resolution->mean.count))
        return cv_l_nomem(link);
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i),
                      *target = osec->group == CV_G_REL ? cv_l_osec(link, osec->target) : NULL;

        if (target && !osec->is_resolved)
            check_relocations(link, &reported, osec,
                              target->group == CV_G_CODE && !cv_l_fn_calls(link, target->fn)->live);
    }
    cv_u8s_free(&link->ctx->mem, &reported);
    return link->ctx->n_errors == before ? CUVET_OK : CUVET_E_REFUSED;
}
