/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The proof of a link: its steps. */
#include "link/prove/parts.h"

void cv_prove_facts_free(cv_mem *mem, cv_prove_facts *facts)
{
    cv_prove_inputs_free(mem, &facts->in);
    cv_prove_places_free(mem, &facts->place);
    cv_u32s_free(mem, &facts->sym);
    cv_u32s_free(mem, &facts->definition);
    cv_u64s_free(mem, &facts->shared);
    cv_u64s_free(mem, &facts->table);
}

cuvet_status cv_prove_fail(const cv_prove *prove, cv_rule rule, cuvet_step_kind kind, uint64_t index,
                           uint64_t off, uint64_t got, uint64_t want)
{
    prove->ctx->path.n = 0;
    cv_path_push(prove->ctx, CUVET_P_MEMBER, true, prove->obj);
    cv_path_push(prove->ctx, CUVET_P_ELF, false, 0);
    cv_report_at(prove->ctx, kind, index, rule, off, 0, got, want);
    prove->ctx->path.n = 0;
    return CUVET_E_INTERNAL;
}

void cv_prove_open(cv_prove *prove, uint32_t obj)
{
    const cv_prove_input *input = cv_prove_inputs_get(&prove->facts->in, obj);

    prove->obj = obj;
    prove->in = input->cubin;
    prove->first_sec = input->first_sec;
    prove->first_sym = input->first_sym;
}

cv_span cv_prove_name(const cv_cubin *cubin, const cv_elf_symbol *symbol)
{
    cv_span name = cv_span_of(NULL, 0, 0);

    if (!cv_span_cstr(cubin->strtab, symbol->name, &name))
        name.len = 0;
    return name;
}

bool cv_prove_holds_content(const cv_sec *sec)
{
    return sec->role == CV_ROLE_TEXT || sec->role == CV_ROLE_GLOBAL_INIT || sec->role == CV_ROLE_GLOBAL ||
           sec->role == CV_ROLE_CONSTANT || sec->role == CV_ROLE_CONSTANT_FN || sec->role == CV_ROLE_DEBUG ||
           sec->role == CV_ROLE_NV_DEBUG;
}

bool cv_prove_is_relined(const cv_prove *prove, const cv_sec *sec)
{
    return prove->facts->rebuilt &&
           (cv_span_eq_str(sec->name, ".debug_line") || cv_span_eq_str(sec->name, ".nv_debug_line_sass"));
}

bool cv_prove_is_rebuilt(const cv_prove *prove, const cv_sec *sec)
{
    return prove->facts->rebuilt &&
           (cv_span_eq_str(sec->name, ".debug_frame") || cv_prove_is_relined(prove, sec));
}

/* Plain code of the machine that the link is for, whatever there is of it, and a program unless a later link
 * makes one. */
static cuvet_status check_header(const cv_prove *prove)
{
    const cv_cubin *result = prove->facts->result;
    uint32_t want = cv_elf_flags(cv_cubin_first(result, CV_ROLE_CUINFO), prove->facts->machine, CV_EF_SASS);
    uint16_t type = prove->facts->relocatable ? CV_ELF_REL : CV_ELF_EXEC;

    if (result->header.flags == want && result->header.type == type)
        return CUVET_OK;
    return cv_prove_fail(prove, CV_R_LINK_PROVE_HEADER, CUVET_P_SECTION, 0,
                         cv_elf_ehdr_at(false, CV_EH_FLAGS), result->header.flags, want);
}

static cuvet_status run(cv_prove *prove)
{
    cuvet_status status = CUVET_OK;

    for (uint64_t i = 0; i < prove->facts->in.count; i++)
        prove->progress |= cv_cubin_promises_progress(cv_prove_inputs_get(&prove->facts->in, i)->cubin);
    if (!cv_slices_index_of(&prove->ctx->mem, prove->facts->file, prove->file))
        return cv_nomem(prove->ctx, 0);
    status = check_header(prove);
    if (status == CUVET_OK)
        status = cv_prove_symbols(prove);
    if (status == CUVET_OK)
        status = cv_prove_sections(prove);
    if (status == CUVET_OK)
        status = cv_prove_functions(prove);
    if (status == CUVET_OK)
        status = cv_prove_records(prove);
    return status;
}

static cuvet_status run_once(cv_ctx *ctx, const cv_prove_facts *facts, const cuvet_executor *executor)
{
    cv_slices_index file = { .last = 0 };
    cv_prove prove = { .ctx = ctx, .facts = facts, .executor = executor, .file = &file };
    cuvet_status status = run(&prove);

    cv_u64s_free(&ctx->mem, &file.starts);
    cv_provens_free(&ctx->mem, &prove.proven);
    cv_prove_symbol_list_free(&ctx->mem, &prove.symbol);
    cv_prove_free_kept(&ctx->mem, &prove.kept);
    cv_prove_free_tables(&ctx->mem, &prove.branches);
    cv_u32s_free(&ctx->mem, &prove.used);
    cv_u64s_free(&ctx->mem, &prove.slot);
    cv_u8s_free(&ctx->mem, &prove.slots_used);
    cv_u8s_free(&ctx->mem, &prove.slots_written);
    cv_prove_uses_free(&ctx->mem, &prove.use);
    cv_u64s_free(&ctx->mem, &prove.end);
    cv_u64s_free(&ctx->mem, &prove.first);
    cv_keys_free(&ctx->mem, &prove.table);
    cv_keys_free(&ctx->mem, &prove.field);
    cv_keys_free(&ctx->mem, &prove.unit);
    return status;
}

/* With threads, first on trial: what does not simply hold is found, and said, by one thread. */
typedef struct prove_trial {
    const cv_prove_facts *facts;
    cv_lanes lanes;
} prove_trial;

static bool try_lanes(void *user, uint32_t index)
{
    const prove_trial *trial = user;

    return run_once(&cv_lanes_at(&trial->lanes, index)->ctx, trial->facts, trial->facts->executor) ==
           CUVET_OK;
}

static bool holds_in_lanes(cv_ctx *ctx, const cv_prove_facts *facts)
{
    prove_trial trial = { .facts = facts };
    bool holds;

    if (!cv_lanes_open(&trial.lanes, ctx, facts->executor, 1))
        return false;
    holds = cv_lanes_run(&trial.lanes, try_lanes, &trial);
    cv_lanes_close(&trial.lanes);
    return holds;
}

cuvet_status cv_prove_link(cv_ctx *ctx, const cv_prove_facts *facts)
{
    return facts->executor && holds_in_lanes(ctx, facts) ? CUVET_OK : run_once(ctx, facts, NULL);
}
