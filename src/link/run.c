/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link: the recipe. */
#include "link/run.h"

#include "link/in/stages.h"

static cuvet_status add_action(cv_link *l)
{
    cv_new_section n = cv_l_section(l, CV_ROLE_REL_ACTION, CV_G_META);

    if (l->o.relocatable || !cv_l_has(l, CV_GEN_LINKED_ACTION)) /* loaders know every type */
        return CUVET_OK;
    n.symbol = n.named = true;
    n.name = cv_l_name_join(l, ".nv.rel.action", l->empty);
    l->action = n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
    return l->action == CV_NONE ? cv_l_nomem(l) : CUVET_OK;
}

static bool any_undefined(const cv_link *l)
{
    for (cv_id i = 0; i < l->mean.n && !l->unnamed; i++) {
        cv_id first = cv_l_mean(l, i)->first;

        if (first != CV_NONE && !cv_link_may_stay_undefined(l, cv_l_isym(l, first)))
            return true;
    }
    return l->unnamed;
}

/* Names that nobody defines, but that live code or data refers to. */
static cuvet_status check_undefined(cv_link *l)
{
    uint64_t before = l->x->n_errors;

    if (l->o.relocatable || !any_undefined(l))
        return CUVET_OK;
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i), *t = q->group == CV_G_REL ? cv_l_osec(l, q->target) : NULL;
        bool dead = t && t->group == CV_G_CODE && !cv_l_fn(l, t->fn)->live;

        if (!t || q->is_resolved)
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            const cv_isym *s = cv_l_isym(l, cv_l_irel(l, r)->sym);

            if (dead && (s->fn == CV_NONE || !cv_l_fn(l, s->fn)->live)) /* a kernel to launch is asked for */
                continue;
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

static cuvet_status read_inputs(cv_link *l)
{
    cuvet_status st = cv_link_read(l);

    return st == CUVET_OK ? cv_link_admit(l) : st;
}

static cuvet_status reach(cv_link *l)
{
    cuvet_status st = cv_link_reach(l);

    return st == CUVET_OK ? check_undefined(l) : st;
}

static cuvet_status tables(cv_link *l)
{
    cuvet_status st = cv_link_tables(l);

    return st == CUVET_OK ? add_action(l) : st;
}

static cuvet_status values(cv_link *l)
{
    cv_link_values(l);
    return CUVET_OK;
}

static cuvet_status commons(cv_link *l)
{
    cv_link_commons(l);
    return CUVET_OK;
}

static cuvet_status slots(cv_link *l)
{
    cuvet_status st = cv_link_slots(l);

    if (st == CUVET_OK)
        cv_link_check_banks(l);
    return st;
}

static cuvet_status arrange(cv_link *l)
{
    cuvet_status st = cv_link_arrange(l);

    return st == CUVET_OK ? cv_link_refer(l) : st;
}

static cuvet_status write_file(cv_link *l)
{
    return cv_link_emit(l, l->out, l->file);
}

/* A stage, and what must hold after it. */
typedef struct stage {
    const char *name;
    cuvet_status (*run)(cv_link *l);
    bool (*holds)(const cv_link *l);
} stage;

static const stage RECIPE[] = {
    { "read", read_inputs, cv_link_read_holds },
    { "resolve", cv_link_resolve, cv_link_resolve_holds },
    { "collect", cv_link_collect, cv_link_collect_holds },
    { "reach", reach, cv_link_reach_holds },
    { "tables", tables, cv_link_tables_holds },
    { "frames", cv_link_frames, cv_link_frames_holds },
    { "lines", cv_link_lines, cv_link_lines_holds },
    { "shared", cv_link_shared, cv_link_shared_holds },
    { "values", values, cv_link_values_holds },
    { "commons", commons, cv_link_commons_holds },
    { "slots", slots, cv_link_slots_holds },
    { "propagate", cv_link_propagate, cv_link_propagate_holds },
    { "decide", cv_link_decide, cv_link_decide_holds },
    { "describe", cv_link_describe, cv_link_describe_holds },
    { "arrange", arrange, cv_link_arrange_holds },
    { "fill", cv_link_fill, cv_link_fill_holds },
    { "write", write_file, cv_link_write_holds },
    { "re-read", cv_link_reread, cv_link_reread_holds },
};

void cv_link_begin(cv_link *l, cv_ctx *x, const cv_link_options *o)
{
    *l = (cv_link){ 0 };
    l->x = x;
    x->strict = true;
    l->o = *o;
    l->o.gen = cv_gen_of(o->target.sm);
    cv_names_init(&l->names, CV_ARRAY_GET(o->key, 0), CV_ARRAY_GET(o->key, 1));
    l->tkinfo = l->cuinfo = l->info = l->compat = l->callgraph = l->prototype = l->action = l->debug_shared =
        l->frames = l->bank3 = CV_NONE;
    CV_ARRAY_SET(l->lines, 0, CV_NONE);
    CV_ARRAY_SET(l->lines, 1, CV_NONE);
    l->shstrtab = l->strtab = l->symtab = l->symtab_shndx = CV_NONE;
}

cuvet_status cv_link_add(cv_link *l, cv_span image, const cv_cubin *picture, const char *name)
{
    cv_lobj *o;

    if (!cv_lobjs_room(&l->x->mem, &l->obj, l->obj.n + 1))
        return cv_l_nomem(l);
    l->obj.n++;
    o = cv_l_obj(l, l->obj.n - 1);
    *o = (cv_lobj){ .image = image, .name = name, .cubin = *picture, .extent = picture->extent };
    cv_keys_free(&l->x->mem, &o->cubin.by_off); /* scratch of the examination */
    return CUVET_OK;
}

const char *cv_link_stage(uint64_t i)
{
    return i < CV_COUNT(RECIPE) ? CV_AT(RECIPE, i).name : NULL;
}

cuvet_status cv_link_check(cv_link *l, uint64_t i)
{
    l->stage = i;
    return i < CV_COUNT(RECIPE) && CV_AT(RECIPE, i).holds(l) ? CUVET_OK : cv_link_broken(l);
}

cuvet_status cv_link_run_to(cv_link *l, uint64_t last)
{
    cuvet_status s = CUVET_OK;

    l->empty = cv_l_name(l, cv_span_of(NULL, 0, 0));
    if (l->empty == CV_NONE)
        return cv_l_nomem(l);
    for (size_t i = 0; i < CV_COUNT(RECIPE) && i <= last && s == CUVET_OK; i++) {
        uint64_t errors = l->x->n_errors, wrong = cv_trap_count();

        l->stage = i;
        s = CV_AT(RECIPE, i).run(l);
        if (s == CUVET_OK && l->x->work_out)
            s = CUVET_E_LIMIT;
        if (s == CUVET_OK && l->x->n_errors != errors) /* said, so that the stage could go on to say more */
            s = CUVET_E_REFUSED;
        if (s == CUVET_OK)
            s = cv_link_check(l, i);
        if (CV_NEVER(wrong != cv_trap_count()))
            s = cv_link_broken(l);
    }
    return s;
}

cuvet_status cv_link_complete(cv_link *l, cv_block *out, cv_slices *file)
{
    l->out = out;
    l->file = file;
    return cv_link_run_to(l, UINT64_MAX);
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
    cv_fields_free(m, &l->field);
    cv_lparts_free(m, &l->part);
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
