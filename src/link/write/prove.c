/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage prove: hands the inputs, the result and hints about what lies where to the proof (link/prove), which
 * knows nothing of the stages before. */
#include "link/prove/prove.h"
#include "link/write/write.h"

/* Is a kernel of this name asked for? A host list that could not be read to its end asks for nothing. */
static bool asks_for_kernel(const void *user, cv_span name)
{
    const cv_view_prove *view = user;
    const cv_hosts *hosts = view->options->hosts;
    bool refers = true;

    if (view->options->keep_dead || view->options->relocatable)
        return true;
    if (hosts && view->options->n_kernels_used == 0 && cv_hosts_tell_kernels(hosts) &&
        cv_hosts_refer(view->ctx, hosts, name, &refers) != CUVET_OK)
        return false;
    return refers && cv_link_is_used(view->options, name);
}

/* Of a section or symbol of the plan: its number in the result, 0: it is not there. */
static bool find_numbers(const cv_view_prove *view, cv_u32s *osec, cv_u32s *osym)
{
    if (!cv_u32s_fill(&view->ctx->mem, osec, view->out->osec.count) ||
        !cv_u32s_fill(&view->ctx->mem, osym, view->out->osym.count))
        return false;
    for (uint64_t i = 1; i < view->layout->order.count; i++)
        *cv_u32s_at(osec, *cv_u32s_get(&view->layout->order, i)) = (uint32_t)i;
    for (uint64_t i = 0; i < view->layout->sym_order.count; i++)
        *cv_u32s_at(osym, *cv_u32s_get(&view->layout->sym_order, i)) = (uint32_t)i + 1;
    return true;
}

static bool is_in_shared(const cv_isym *sym)
{
    return cv_l_is_shared(sym) || cv_l_is_reserved(sym);
}

/* 1 + the place of a shared variable; 0: it has none of its own. */
static uint64_t shared_hint(const cv_view_prove *view, cv_id index)
{
    const cv_shared_place *place;

    if (!is_in_shared(cv_l_isym(view, index)))
        return 0;
    place = cv_shared_places_get(&view->memory->shared, cv_l_definition(view, index));
    return place->placed ? cv_sat_add(place->off, 1) : 0;
}

static bool find_places(const cv_view_prove *view, const cv_u32s *osec, const cv_u32s *osym,
                        cv_prove_facts *facts)
{
    cv_mem *mem = &view->ctx->mem;
    bool ok = cv_prove_inputs_room(mem, &facts->in, view->inputs->obj.count) &&
              cv_prove_places_room(mem, &facts->place, view->inputs->isec.count) &&
              cv_u32s_room(mem, &facts->sym, view->inputs->isym.count) &&
              cv_u32s_room(mem, &facts->definition, view->inputs->isym.count);

    for (uint64_t i = 0; i < view->inputs->obj.count && ok; i++) {
        const cv_lobj *obj = cv_l_obj(view, i);

        ok = cv_prove_inputs_push(mem, &facts->in,
                                  (cv_prove_input){ &obj->cubin, obj->first_sec, obj->first_sym });
    }
    for (uint64_t i = 0; i < view->inputs->isec.count && ok; i++) {
        const cv_became *became = cv_l_became(view, i);
        cv_prove_place place = { 0, became->base };

        if (became->out != CV_NONE && !became->lost)
            place.sec = *cv_u32s_get(osec, became->out);
        ok = cv_prove_places_push(mem, &facts->place, place);
        if (ok && i < view->memory->bank_off.count && became->table) {
            ok = facts->table.items || cv_u64s_fill(mem, &facts->table, view->inputs->isec.count);
            if (ok)
                *cv_u64s_at(&facts->table, i) = cv_sat_add(cv_l_bank_off(view, (cv_id)i), 1);
        }
    }
    for (uint64_t i = 0; i < view->inputs->isym.count && view->memory->shared.count != 0 && ok; i++)
        ok = cv_u64s_push(mem, &facts->shared, shared_hint(view, (cv_id)i));
    for (uint64_t i = 0; i < view->inputs->isym.count && ok; i++) {
        cv_id out = cv_l_out_of(view, i);

        ok = cv_u32s_push(mem, &facts->sym, out == CV_NONE ? 0 : *cv_u32s_get(osym, out)) &&
             cv_u32s_push(mem, &facts->definition,
                          is_in_shared(cv_l_isym(view, i)) ? cv_l_definition(view, (cv_id)i) : CV_NONE);
    }
    return ok;
}

cuvet_status cv_stage_prove(const cv_view_prove *view)
{
    cv_prove_facts facts = { .result = &view->reread->cubin,
                             .file = view->file->slices,
                             .key0 = CV_ARRAY_GET(view->options->key, 0),
                             .key1 = CV_ARRAY_GET(view->options->key, 1),
                             .reserved = cv_link_reserves(view->options) ? view->options->gen->reserved : 0,
                             .machine = view->options->target.sm,
                             .relocatable = view->options->relocatable,
                             .exact = view->options->relocatable && view->options->compat,
                             .debug = view->options->debug,
                             .preserve = view->options->preserve,
                             .whole = view->options->keep_dead || view->options->relocatable,
                             .rebuilt = cv_l_has(view, CV_GEN_REMAKES_DEBUG),
                             .asks = asks_for_kernel,
                             .user = view,
                             .executor = view->options->executor };
    cv_mem *mem = &view->ctx->mem;
    cv_u32s osec = { 0 }, osym = { 0 };
    cuvet_status status;

    if (find_numbers(view, &osec, &osym) && find_places(view, &osec, &osym, &facts))
        status = cv_prove_link(view->ctx, &facts);
    else
        status = cv_l_nomem(view);
    cv_u32s_free(mem, &osec);
    cv_u32s_free(mem, &osym);
    cv_prove_facts_free(mem, &facts);
    return status;
}
