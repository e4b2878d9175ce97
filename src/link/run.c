/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link: its parts, and the recipe. */
#include "link/run.h"

/* A stage gets exactly the parts of its row. */
#define READS(part) .part = link->part,
#define FILLS(part) .part = link->part,
#define GROWS(part) .part = link->part,
#define STAGE(name, room, parts, ...)                                                                        \
    static cuvet_status run_##name(const cv_link *link)                                                      \
    {                                                                                                        \
        const cv_view_##name view = { .ctx = link->ctx, parts };                                             \
                                                                                                             \
        return cv_stage_##name(&view);                                                                       \
    }
#define JUDGE STAGE
#include "recipe.def"

#define READS(part) .part = link->part,
#define FILLS(part) .part = link->part,
#define GROWS(part) .part = link->part,
#define STAGE(name, room, parts, ...)                                                                        \
    static bool check_##name(const cv_link *link)                                                            \
    {                                                                                                        \
        const cv_check_##name view = { parts };                                                              \
                                                                                                             \
        return cv_stage_##name##_holds(&view);                                                               \
    }
#define JUDGE(name, room, parts, ...)
#include "recipe.def"

typedef struct stage {
    const char *name;
    cuvet_status (*run)(const cv_link *link);
    bool (*holds)(const cv_link *link); /* NULL: it only refuses */
} stage;

static const stage RECIPE[] = {
#define READS(part)
#define FILLS(part)
#define GROWS(part)
#define JUDGE(name, room, parts, ...) { #name, run_##name, NULL },
#define STAGE(name, room, parts, ...) { #name, run_##name, check_##name },
#include "recipe.def"
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
            link->out->bank3 = link->out->bank_size = CV_NONE;
    CV_ARRAY_SET(link->out->lines, 0, CV_NONE);
    CV_ARRAY_SET(link->out->lines, 1, CV_NONE);
    link->out->shstrtab = link->out->strtab = link->out->symtab = link->out->symtab_shndx = CV_NONE;
}

cuvet_status cv_link_add(cv_link *link, cv_span image, const cv_cubin *parsed, const char *name)
{
    cv_lobj *obj;

    if (!cv_lobjs_room(&link->ctx->mem, &link->inputs->obj, link->inputs->obj.count + 1))
        return cv_l_nomem(link);
    link->inputs->obj.count++;
    obj = cv_l_obj(link, link->inputs->obj.count - 1);
    *obj = (cv_lobj){ .image = image, .name = name, .cubin = *parsed, .extent = parsed->extent };
    cv_keys_free(&link->ctx->mem, &obj->cubin.by_off); /* scratch of the examination */
    return CUVET_OK;
}

const char *cv_link_stage(uint64_t index)
{
    return index < CV_COUNT(RECIPE) ? CV_AT(RECIPE, index).name : NULL;
}

bool cv_link_is_checked(uint64_t index)
{
    return index < CV_COUNT(RECIPE) && CV_AT(RECIPE, index).holds;
}

/* A stage that only a defect of ours lets fail: the link ends, reported. */
static cuvet_status end_broken(const cv_link *link)
{
    return cv_reject(link->ctx, CV_R_LINK_INVARIANT, 0, link->stage, 0);
}

cuvet_status cv_link_check(cv_link *link, uint64_t index)
{
    link->stage = index;
    return index < CV_COUNT(RECIPE) && (!cv_link_is_checked(index) || CV_AT(RECIPE, index).holds(link))
               ? CUVET_OK
               : end_broken(link);
}

/* One input without a capsule, and nothing is made again. What an earlier link of ours made has none, and its
 * debug data is made again nevertheless: it was where that link got it. */
static bool is_plain(const cv_link *link)
{
    for (cv_id i = 0; i < link->inputs->obj.count; i++) {
        const cv_cubin *cubin = &cv_l_obj(link, i)->cubin;

        if (!cubin->flag_capsule && cubin->producer.tool != CV_TOOL_CUVET)
            return true;
    }
    return false;
}

cuvet_status cv_link_run(cv_link *link, uint64_t index)
{
    uint64_t errors = link->ctx->n_errors, wrong = cv_trap_count();
    cuvet_status status;

    link->stage = index;
    if (index == 0 && is_plain(link)) {
        link->plain = cv_gen_plain(cv_gen_of(link->options->target.sm));
        link->options->gen = &link->plain;
    }
    status = index < CV_COUNT(RECIPE) ? CV_AT(RECIPE, index).run(link) : CUVET_E_INTERNAL;
    if (status == CUVET_E_INTERNAL)
        status = end_broken(link);
    if (status == CUVET_OK && link->ctx->work_out)
        status = CUVET_E_LIMIT;
    if (status == CUVET_OK &&
        link->ctx->n_errors != errors) /* said, so that the stage could go on to say more */
        status = CUVET_E_REFUSED;
    if (status == CUVET_OK) {
        if (CV_PLANTED)
            cv_link_plant(link, cv_link_stage(index));
        status = cv_link_check(link, index);
    }
    if (CV_NEVER(wrong != cv_trap_count()))
        status = end_broken(link);
    return status;
}

cuvet_status cv_link_run_to(cv_link *link, uint64_t last)
{
    cuvet_status status = CUVET_OK;

    link->names->empty = cv_l_name(link, cv_span_of(NULL, 0, 0));
    if (link->names->empty == CV_NONE)
        return cv_l_nomem(link);
    for (size_t i = 0; i < CV_COUNT(RECIPE) && i <= last && status == CUVET_OK; i++)
        status = cv_link_run(link, i);
    return status;
}

/* What no stage behind the file asks for, which is most of the memory of a link. */
static void free_plan(const cv_link *link)
{
    cv_mem *mem = &link->ctx->mem;

    cv_irels_free(mem, &link->out->irel);
    cv_rel_runs_free(mem, &link->out->run);
    cv_u32s_free(mem, &link->out->rel_osym);
    cv_fixups_free(mem, &link->fixups->fixup);
    cv_fixeds_free(mem, &link->fixups->fixed);
    cv_fields_free(mem, &link->fixups->field);
    cv_irecs_free(mem, &link->records->rec);
    cv_iwords_free(mem, &link->records->word);
    cv_oinfos_free(mem, &link->records->oinfo);
}

cuvet_status cv_link_complete(cv_link *link, cv_block *out, cv_slices *file)
{
    cuvet_status status;
    uint64_t next = 0;

    while (CV_AT(RECIPE, next).run != run_write)
        next++;
    link->file->block = out;
    link->file->slices = file;
    status = cv_link_run_to(link, next);
    free_plan(link);
    for (next++; next < CV_COUNT(RECIPE) && status == CUVET_OK; next++)
        status = cv_link_run(link, next);
    return status;
}

cuvet_status cv_link_callgraph(const cv_link *link, const cuvet_callgraph_sink *sink)
{
    const cv_view_callgraph view = { link->ctx,       link->names, link->inputs,
                                     link->functions, link->calls, link->usage };

    return cv_calls_tell(&view, sink);
}

cuvet_status cv_link_lacks_functions(const cv_link *link, const cv_u8s *out, bool *lacks)
{
    return cv_in_lacks_functions(link->ctx, link->options, link->inputs, out, lacks);
}

void cv_link_leave_out(cv_link *link, const cv_u8s *out)
{
    cv_in_leave_out(link->ctx, link->inputs, out);
}

void cv_link_end(cv_link *link)
{
    cv_mem *mem = &link->ctx->mem;

    for (uint64_t i = 0; i < link->inputs->obj.count; i++)
        cv_cubin_free(link->ctx, &cv_l_obj(link, i)->cubin);
    for (uint64_t i = 0; i < link->out->osec.count; i++)
        cv_builder_free(&cv_l_osec(link, i)->bytes);
    cv_cubin_free(link->ctx, &link->reread->cubin);
    cv_names_free(mem, &link->names->set);
    cv_lobjs_free(mem, &link->inputs->obj);
    cv_isecs_free(mem, &link->inputs->isec);
    cv_isyms_free(mem, &link->inputs->isym);
    cv_resolution_entries_free(mem, &link->resolution->entries);
    cv_u32s_free(mem, &link->resolution->next);
    cv_u8s_free(mem, &link->resolution->beaten);
    cv_lfns_free(mem, &link->functions->fn);
    cv_u32s_free(mem, &link->functions->of);
    cv_u32s_free(mem, &link->functions->by_name);
    cv_codes_free(mem, &link->functions->code);
    cv_u8s_free(mem, &link->uses->addressed);
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
    cv_lparts_free(mem, &link->out->part);
    cv_name_uses_free(mem, &link->out->sh_names);
    cv_name_uses_free(mem, &link->out->str_names);
    cv_u32s_free(mem, &link->out->locals);
    cv_u32s_free(mem, &link->out->globals);
    cv_u32s_free(mem, &link->out->info_order);
    cv_u32s_free(mem, &link->out->const0);
    cv_fn_memories_free(mem, &link->memory->fn);
    cv_shared_places_free(mem, &link->memory->shared);
    cv_u64s_free(mem, &link->memory->bank_off);
    free_plan(link);
    cv_u32s_free(mem, &link->layout->order);
    cv_u32s_free(mem, &link->layout->sym_order);
    cv_name_places_free(mem, &link->layout->name);
}
