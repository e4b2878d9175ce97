/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link: the recipe. */
#include "link/run.h"

#include "link/in/stages.h"

static cuvet_status add_action(cv_link *link)
{
    cv_new_section section = cv_l_section(link, CV_ROLE_REL_ACTION, CV_G_META);

    if (link->options->relocatable || !cv_l_has(link, CV_GEN_LINKED_ACTION)) /* loaders know every type */
        return CUVET_OK;
    section.symbol = section.named = true;
    section.name = cv_l_out_join(link, ".nv.rel.action", link->names->empty);
    link->out->action = section.name == CV_NONE ? CV_NONE : cv_l_new_osec(link, &section);
    return link->out->action == CV_NONE ? cv_l_nomem(link) : CUVET_OK;
}

static cuvet_status read_inputs(cv_link *link)
{
    cuvet_status st = cv_link_read(link);

    return st == CUVET_OK ? cv_link_admit(link) : st;
}

static cuvet_status reach(cv_link *link)
{
    cuvet_status st = cv_link_reach(link);

    return st == CUVET_OK ? cv_link_undefined(link) : st;
}

static cuvet_status tables(cv_link *link)
{
    cuvet_status st = cv_link_tables(link);

    return st == CUVET_OK ? add_action(link) : st;
}

static cuvet_status values(cv_link *link)
{
    cv_link_values(link);
    return CUVET_OK;
}

static cuvet_status commons(cv_link *link)
{
    cv_link_commons(link);
    return CUVET_OK;
}

static cuvet_status slots(cv_link *link)
{
    cuvet_status st = cv_link_slots(link);

    if (st == CUVET_OK)
        cv_link_check_banks(link);
    return st;
}

static cuvet_status arrange(cv_link *link)
{
    cuvet_status st = cv_link_arrange(link);

    return st == CUVET_OK ? cv_link_refer(link) : st;
}

static cuvet_status write_file(cv_link *link)
{
    return cv_link_emit(link, link->file->block, link->file->slices);
}

/* A stage, and what must hold after it. */
typedef struct stage {
    const char *name;
    cuvet_status (*run)(cv_link *link);
    bool (*holds)(const cv_link *link);
} stage;

static const stage RECIPE[] = {
    { "read", read_inputs, cv_link_read_holds },
    { "resolve", cv_link_resolve, cv_link_resolve_holds },
    { "functions", cv_link_functions, cv_link_functions_holds },
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

void cv_link_begin(cv_link *link, cv_ctx *ctx, const cv_link_options *options)
{
    *link = (cv_link){ 0 };
#define PART(name) link->name = &link->own.name;
    CV_LINK_PARTS(PART)
#undef PART
    link->ctx = ctx;
    ctx->strict = true;
    *link->options = *options;
    link->options->gen = cv_gen_of(options->target.sm);
    cv_names_init(&link->names->set, CV_ARRAY_GET(options->key, 0), CV_ARRAY_GET(options->key, 1));
    link->out->tkinfo = link->out->cuinfo = link->out->info = link->out->compat = link->out->callgraph =
        link->out->prototype = link->out->action = link->out->debug_shared = link->out->frames =
            link->out->bank3 = CV_NONE;
    CV_ARRAY_SET(link->out->lines, 0, CV_NONE);
    CV_ARRAY_SET(link->out->lines, 1, CV_NONE);
    link->out->shstrtab = link->out->strtab = link->out->symtab = link->out->symtab_shndx = CV_NONE;
}

cuvet_status cv_link_add(cv_link *link, cv_span image, const cv_cubin *picture, const char *name)
{
    cv_lobj *obj;

    if (!cv_lobjs_room(&link->ctx->mem, &link->inputs->obj, link->inputs->obj.count + 1))
        return cv_l_nomem(link);
    link->inputs->obj.count++;
    obj = cv_l_obj(link, link->inputs->obj.count - 1);
    *obj = (cv_lobj){ .image = image, .name = name, .cubin = *picture, .extent = picture->extent };
    cv_keys_free(&link->ctx->mem, &obj->cubin.by_off); /* scratch of the examination */
    return CUVET_OK;
}

const char *cv_link_stage(uint64_t index)
{
    return index < CV_COUNT(RECIPE) ? CV_AT(RECIPE, index).name : NULL;
}

cuvet_status cv_link_check(cv_link *link, uint64_t index)
{
    link->stage = index;
    return index < CV_COUNT(RECIPE) && CV_AT(RECIPE, index).holds(link) ? CUVET_OK : cv_link_broken(link);
}

cuvet_status cv_link_run_to(cv_link *link, uint64_t last)
{
    cuvet_status status = CUVET_OK;

    link->names->empty = cv_l_name(link, cv_span_of(NULL, 0, 0));
    if (link->names->empty == CV_NONE)
        return cv_l_nomem(link);
    for (size_t i = 0; i < CV_COUNT(RECIPE) && i <= last && status == CUVET_OK; i++) {
        uint64_t errors = link->ctx->n_errors, wrong = cv_trap_count();

        link->stage = i;
        status = CV_AT(RECIPE, i).run(link);
        if (status == CUVET_OK && link->ctx->work_out)
            status = CUVET_E_LIMIT;
        if (status == CUVET_OK &&
            link->ctx->n_errors != errors) /* said, so that the stage could go on to say more */
            status = CUVET_E_REFUSED;
        if (status == CUVET_OK)
            status = cv_link_check(link, i);
        if (CV_NEVER(wrong != cv_trap_count()))
            status = cv_link_broken(link);
    }
    return status;
}

cuvet_status cv_link_complete(cv_link *link, cv_block *out, cv_slices *file)
{
    link->file->block = out;
    link->file->slices = file;
    return cv_link_run_to(link, UINT64_MAX);
}

void cv_link_end(cv_link *link)
{
    cv_mem *mem = &link->ctx->mem;

    for (uint64_t i = 0; i < link->inputs->obj.count; i++)
        cv_cubin_free(link->ctx, &cv_l_obj(link, i)->cubin);
    for (uint64_t i = 0; i < link->out->osec.count; i++)
        cv_builder_free(&cv_l_osec(link, i)->bytes);
    cv_names_free(mem, &link->names->set);
    cv_lobjs_free(mem, &link->inputs->obj);
    cv_isecs_free(mem, &link->inputs->isec);
    cv_isyms_free(mem, &link->inputs->isym);
    cv_meanings_free(mem, &link->resolution->mean);
    cv_u32s_free(mem, &link->resolution->next);
    cv_u8s_free(mem, &link->resolution->beaten);
    cv_lfns_free(mem, &link->functions->fn);
    cv_u32s_free(mem, &link->functions->of);
    cv_u32s_free(mem, &link->functions->by_name);
    cv_codes_free(mem, &link->functions->code);
    cv_u8s_free(mem, &link->uses->by_data);
    cv_fn_calls_list_free(mem, &link->calls->fn);
    cv_edges_free(mem, &link->calls->edge);
    cv_u32s_free(mem, &link->calls->protos);
    cv_u32s_free(mem, &link->calls->node);
    cv_u32s_free(mem, &link->calls->takers);
    cv_fn_usages_free(mem, &link->usage->fn);
    cv_fn_outs_free(mem, &link->out->fn);
    cv_nameds_free(mem, &link->out->by_name);
    cv_becames_free(mem, &link->out->became);
    cv_u32s_free(mem, &link->out->became_sym);
    cv_osecs_free(mem, &link->out->osec);
    cv_osyms_free(mem, &link->out->osym);
    cv_irels_free(mem, &link->out->irel);
    cv_lparts_free(mem, &link->out->part);
    cv_u32s_free(mem, &link->out->sh_names);
    cv_u32s_free(mem, &link->out->str_names);
    cv_u32s_free(mem, &link->out->locals);
    cv_u32s_free(mem, &link->out->globals);
    cv_u32s_free(mem, &link->out->info_order);
    cv_u32s_free(mem, &link->out->const0);
    cv_fn_memories_free(mem, &link->memory->fn);
    cv_shared_places_free(mem, &link->memory->shared);
    cv_u64s_free(mem, &link->memory->bank_off);
    cv_fixups_free(mem, &link->fixups->fixup);
    cv_fixeds_free(mem, &link->fixups->fixed);
    cv_fields_free(mem, &link->fixups->field);
    cv_irecs_free(mem, &link->records->rec);
    cv_iwords_free(mem, &link->records->word);
    cv_oinfos_free(mem, &link->records->oinfo);
    cv_u32s_free(mem, &link->layout->order);
    cv_u32s_free(mem, &link->layout->sym_order);
    cv_name_places_free(mem, &link->layout->name);
}
