/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link: the recipe. */
#include "link/run.h"

#include "link/stages.h"

static cuvet_status add_action(cv_link *l)
{
    cv_new_section n = {
        .group = CV_G_META, .type = 0x7000000B, .align = 8, .entsize = 8, .symbol = true, .named = true
    };

    if (l->o.relocatable)
        return CUVET_OK;
    n.name = cv_l_name_join(l, ".nv.rel.action", l->empty);
    l->action = n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
    return l->action == CV_NONE ? cv_l_nomem(l) : CUVET_OK;
}

/* Names that nobody defines, but that live code or data refers to. */
static cuvet_status check_undefined(cv_link *l)
{
    uint64_t before = l->x->n_errors;

    if (l->o.relocatable)
        return CUVET_OK;
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i), *t = q->group == CV_G_REL ? cv_l_osec(l, q->target) : NULL;

        if (!t || q->is_resolved || t->group == CV_G_DEBUG ||
            (t->group == CV_G_CODE && !cv_l_fn(l, t->fn)->live))
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            const cv_isym *s = cv_l_isym(l, cv_l_irel(l, r)->sym);

            if (cv_l_bind(s) != CV_STB_LOCAL && !cv_link_may_stay_undefined(l, s) &&
                !cv_l_mean(l, s->name)->reported) {
                cv_l_mean(l, s->name)->reported = true;
                cv_link_say(l, cv_l_mean(l, s->name)->first, CV_R_LINK_UNDEFINED, 0,
                            cv_l_isym(l, cv_l_mean(l, s->name)->first)->obj);
            }
        }
    }
    return l->x->n_errors == before ? CUVET_OK : CUVET_E_REFUSED;
}

static cuvet_status values(cv_link *l)
{
    cv_link_values(l);
    cv_link_commons(l);
    return cv_link_slots(l);
}

static cuvet_status check_sizes(cv_link *l)
{
    uint64_t before = l->x->n_errors;

    cv_link_check_banks(l);
    return l->x->n_errors == before ? CUVET_OK : CUVET_E_REFUSED;
}

/* A stage, and what must hold after it. */
typedef struct stage {
    const char *name;
    cuvet_status (*run)(cv_link *l);
    bool (*holds)(const cv_link *l);
} stage;

static bool always(const cv_link *l)
{
    (void)l;
    return true;
}

static const stage RECIPE[] = {
    { "read", cv_link_read, always },
    { "resolve", cv_link_resolve, cv_link_resolve_holds },
    { "collect", cv_link_collect, cv_link_collect_holds },
    { "reach", cv_link_reach, cv_link_reach_holds },
    { "tables", cv_link_tables, always },
    { "action", add_action, always },
    { "shared", cv_link_shared, cv_link_shared_holds },
    { "values", values, always },
    { "undefined", check_undefined, always },
    { "propagate", cv_link_propagate, always },
    { "sizes", check_sizes, always },
    { "decide", cv_link_decide, cv_link_decide_holds },
    { "describe", cv_link_describe, always },
    { "arrange", cv_link_arrange, cv_link_arrange_holds },
};

void cv_link_begin(cv_link *l, cv_ctx *x, const cv_link_options *o)
{
    *l = (cv_link){ 0 };
    l->x = x;
    l->o = *o;
    cv_names_init(&l->names, CV_ARRAY_GET(o->key, 0), CV_ARRAY_GET(o->key, 1));
    l->tkinfo = l->cuinfo = l->info = l->compat = l->callgraph = l->prototype = l->action = l->debug_shared =
        CV_NONE;
    l->shstrtab = l->strtab = l->symtab = l->symtab_shndx = CV_NONE;
}

cuvet_status cv_link_add(cv_link *l, cv_span image, const char *name)
{
    cuvet_status s;
    cv_lobj *o;

    if (!cv_lobjs_reserve(&l->x->mem, &l->obj, l->obj.n + 1))
        return cv_l_nomem(l);
    l->obj.n++;
    o = cv_l_obj(l, l->obj.n - 1);
    *o = l->obj.spare;
    o->image = image;
    o->name = name;
    cv_cubin_init(&o->cubin);
    s = cv_cubin_examine(l->x, &o->cubin, image, NULL, &o->extent);
    return s;
}

const char *cv_link_stage(uint64_t i)
{
    return i < CV_COUNT(RECIPE) ? CV_AT(RECIPE, i).name : NULL;
}

cuvet_status cv_link_run_to(cv_link *l, uint64_t last)
{
    cuvet_status s = CUVET_OK;

    l->empty = cv_l_name(l, cv_span_of(NULL, 0, 0));
    if (l->empty == CV_NONE)
        return cv_l_nomem(l);
    for (size_t i = 0; i < CV_COUNT(RECIPE) && i <= last && s == CUVET_OK; i++) {
        const stage *g = &CV_AT(RECIPE, i);
        uint64_t errors = l->x->n_errors;

        s = g->run(l);
        if (s == CUVET_OK && l->x->n_errors != errors) /* said, so that the stage could go on to say more */
            s = CUVET_E_REFUSED;
        if (s == CUVET_OK && !g->holds(l))
            s = cv_reject(l->x, CV_R_LINK_INVARIANT, 0, i, 0);
    }
    return s;
}

cuvet_status cv_link_complete(cv_link *l, cv_block *out)
{
    cuvet_status s = cv_link_run_to(l, UINT64_MAX);

    return s == CUVET_OK ? cv_link_emit(l, out) : s;
}

void cv_link_end(cv_link *l)
{
    cv_mem *m = &l->x->mem;

    for (uint64_t i = 0; i < l->obj.n; i++)
        cv_cubin_free(l->x, &cv_l_obj(l, i)->cubin);
    for (uint64_t i = 0; i < l->osec.n; i++)
        cv_builder_free(&cv_l_osec(l, i)->bytes);
    cv_names_free(m, &l->names);
    cv_meanings_free(m, &l->mean);
    cv_lobjs_free(m, &l->obj);
    cv_isecs_free(m, &l->isec);
    cv_isyms_free(m, &l->isym);
    cv_irels_free(m, &l->irel);
    cv_parts_free(m, &l->part);
    cv_osecs_free(m, &l->osec);
    cv_osyms_free(m, &l->osym);
    cv_lfns_free(m, &l->fn);
    cv_edges_free(m, &l->edge);
    cv_irecs_free(m, &l->rec);
    cv_iwords_free(m, &l->word);
    cv_oinfos_free(m, &l->oinfo);
    cv_u32s_free(m, &l->sh_names);
    cv_u32s_free(m, &l->str_names);
    cv_u32s_free(m, &l->protos);
    cv_u32s_free(m, &l->locals);
    cv_u32s_free(m, &l->globals);
    cv_u32s_free(m, &l->info_order);
    cv_u32s_free(m, &l->const0);
    cv_u32s_free(m, &l->order);
    cv_u32s_free(m, &l->sym_order);
}
