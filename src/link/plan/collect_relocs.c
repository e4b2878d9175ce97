/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations of the inputs: read into lists of the section that they patch, the last one first, as the
 * reference linker keeps them. */
#include "link/plan/collect.h"

typedef struct scan_table {
    const cv_lobj *obj;
    const cv_isec *sec, *target;
    cv_id target_id;
    cv_span body;
    uint64_t count;
    uint64_t base; /* of what is patched, in the output */
    bool rela;
    bool data;     /* it patches data of the program */
    bool forgets;  /* … or code of an input whose call graph may lack who takes an address */
    cv_id owner;   /* of code: its function, or none */
    cv_keys twice; /* variables there of which an input before this one has one, by their place */
} scan_table;

static cv_elf_reloc entry(const scan_table *table, uint64_t index)
{
    cv_elf_reloc reloc;

    cv_elf_read_reloc(table->body, false, table->rela, index, &reloc);
    return reloc;
}

/* An addend of 0 behind the first entry makes the reference look for the other kind of section. */
static bool looks_for_rel(const scan_table *table)
{
    for (uint64_t i = 1; table->rela && i < table->count; i++)
        if (cv_elf_reloc_addend(table->body, i) == 0)
            return true;
    return false;
}

static cuvet_status make(const cv_view_collect *view, const scan_table *table, cv_id name, cv_id *out)
{
    cv_new_section section = cv_l_section(view, table->rela ? CV_ROLE_RELA : CV_ROLE_REL, CV_G_REL);
    cv_id patched = cv_l_became(view, table->target->id)->out, id;

    section.name = name;
    *out = cv_l_new_osec(view, &section);
    if (*out == CV_NONE)
        return cv_l_nomem(view);
    cv_l_osec(view, *out)->target = patched;
    CV_ARRAY_SET(cv_l_osec(view, patched)->rel, table->rela, *out);
    if (!view->options->preserve || cv_l_osec(view, patched)->resolved != CV_NONE)
        return CUVET_OK;
    section = cv_l_section(view, CV_ROLE_RESOLVED_RELA, CV_G_REL);
    section.name = cv_l_out_join(view, ".nv.resolvedrela", cv_l_osec(view, patched)->name);
    section.named = true;
    id = section.name == CV_NONE ? CV_NONE : cv_l_new_osec(view, &section);
    if (id == CV_NONE)
        return cv_l_nomem(view);
    cv_l_osec(view, id)->target = patched;
    cv_l_osec(view, id)->is_resolved = true;
    cv_l_osec(view, patched)->resolved = id;
    return CUVET_OK;
}

/* A frame or a row of lines of a function that lost against an earlier input: its address is of nobody. Other
 * debug data stays, and names the function that won. So does that of a function that lost against a later
 * input; but when the reference takes back relocations with addends of its code, it takes those of frames and
 * lines that it has read so far along. */
static bool is_orphan(const cv_view_collect *view, const scan_table *table, const cv_isym *sym)
{
    static const char *const NAMES[] = { ".debug_frame", ".debug_line", ".nv_debug_line_sass" };
    bool listed = false;
    cv_span name;
    cv_id owner;

    if (cv_l_type(sym) != CV_STT_FUNC || sym->sec == CV_NONE || !cv_l_became(view, sym->sec)->lost)
        return false;
    name = cv_l_text(view, cv_l_osec(view, cv_l_became(view, table->target->id)->out)->name);
    for (size_t i = 0; i < CV_COUNT(NAMES) && !listed; i++)
        listed = cv_span_eq_str(name, CV_AT(NAMES, i));
    if (!listed)
        return false;
    owner = cv_codes_get(&view->functions->code, sym->sec)->owner;
    return *cv_u8s_get(&view->resolution->beaten, sym->id) ||
           (table->rela && owner != CV_NONE && cv_l_fn_out(view, owner)->sheds);
}

/* A weak variable that is weak in an earlier input too. What is strong there takes nothing away here. */
bool cv_collect_is_twice(const cv_view_collect *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    const cv_resolution_entry *entry = cv_l_entry(view, sym->name);

    return cv_l_bind(sym) == CV_STB_WEAK && entry->weak != CV_NONE && entry->weak < id &&
           (entry->strong == CV_NONE || entry->strong > id) && entry->win != id;
}

/* Where such variables lie in the section that is patched: their bytes stay, what patches them goes. */
static cuvet_status find_twice(const cv_view_collect *view, scan_table *table)
{
    if (!cv_l_became(view, table->target_id)->twice)
        return CUVET_OK;
    if (!cv_work(view->ctx, table->obj->n_sym, 0))
        return CUVET_E_LIMIT;
    for (cv_id i = 0; i < table->obj->n_sym; i++) {
        cv_id id = table->obj->first_sym + i;
        const cv_isym *sym = cv_l_isym(view, id);

        if (sym->sec == table->target_id && cv_l_type(sym) != CV_STT_FUNC && cv_l_bind(sym) != CV_STB_LOCAL &&
            cv_collect_is_twice(view, id) &&
            !cv_keys_push(&view->ctx->mem, &table->twice, (cv_key){ sym->value, id }))
            return cv_l_nomem(view);
    }
    cv_keys_sort(&table->twice);
    return CUVET_OK;
}

static bool is_in_twice(const cv_view_collect *view, const scan_table *table, uint64_t off)
{
    uint64_t after;
    const cv_key *last;

    if (table->twice.count == 0) /* nearly always */
        return false;
    after = off == UINT64_MAX ? table->twice.count : cv_keys_lower_bound(&table->twice, off + 1);
    if (after == 0)
        return false;
    last = cv_keys_get(&table->twice, after - 1);
    return off - last->key < cv_l_isym(view, (cv_id)last->index)->size;
}

/* The function whose address it takes and of which the call graph may not know, or none. A function has
 * places behind its begin to return to; code has a kernel's descriptor to launch it. */
static cv_id addressed(const cv_view_collect *view, const scan_table *table, const cv_irel *rel)
{
    const cv_reloc_facts *facts = cv_reloc_of(rel->type);
    bool code = table->owner != CV_NONE, place;
    cv_id fn;

    if (code ? cv_reloc_has(facts, CV_USE_CALL) || facts->bytes == 0 : !table->data)
        return CV_NONE;
    fn = cv_l_fn_of(view, rel->sym);
    if (fn == CV_NONE)
        return CV_NONE;
    if (cv_l_fn(view, fn)->kernel)
        return code && facts->who == CV_RELOC_DESC ? fn : CV_NONE;
    place = fn == table->owner && (!table->rela || rel->addend != 0);
    return (table->data || table->forgets) && !place ? fn : CV_NONE;
}

static cuvet_status add(const cv_view_collect *view, const scan_table *table, uint64_t index)
{
    cv_elf_reloc reloc = entry(table, index);
    cv_irel rel = cv_rel_of(&reloc, table->base, table->obj->first_sym + reloc.sym);
    cv_id fn;

    if (CV_NEVER(reloc.sym >= table->obj->n_sym)) /* examined */
        return cv_link_broken(view);
    if (is_orphan(view, table, cv_l_isym(view, rel.sym)) || is_in_twice(view, table, reloc.off))
        return CUVET_OK;
    fn = table->data || table->forgets || table->obj->cubin.legacy ? addressed(view, table, &rel) : CV_NONE;
    if (fn != CV_NONE)
        *cv_u8s_at(&view->uses->addressed, fn) = true;
    return cv_l_add_rel(view, &rel) ? CUVET_OK : cv_l_nomem(view);
}

static bool is_data(cv_group group)
{
    return group == CV_G_INIT || group == CV_G_CONST || group == CV_G_PARAM;
}

bool cv_collect_room(const cv_view_collect *view)
{
    uint64_t count = 0, tables = 0, here;
    const cv_code *code;

    for (cv_id i = 0; i < view->inputs->isec.count; i++) {
        const cv_isec *isec = cv_l_isec(view, i);
        bool rela = isec->type == CV_SHT_RELA;
        cv_id patched = isec->info < cv_l_obj(view, isec->obj)->n_sec
                            ? cv_l_obj(view, isec->obj)->first_sec + isec->info
                            : CV_NONE;

        if ((!rela && isec->type != CV_SHT_REL) || patched == CV_NONE)
            continue;
        code = cv_codes_get(&view->functions->code, patched);
        if (code->beaten)
            continue;
        here = cv_l_body(view, isec).len / cv_elf_rel_size(false, rela);
        if (rela && here != 0 && code->lost && code->owner != CV_NONE)
            cv_l_fn_out(view, code->owner)->sheds = true;
        count += here;
        tables++;
    }
    return cv_irels_room(&view->ctx->mem, &view->out->irel, count) &&
           cv_rel_runs_room(&view->ctx->mem, &view->out->run, tables);
}

cuvet_status cv_collect_relocations(const cv_view_collect *view, cv_id isec)
{
    scan_table table = { .sec = cv_l_isec(view, isec) };
    cuvet_status st = CUVET_OK;
    cv_id name, out, owner;

    table.obj = cv_l_obj(view, table.sec->obj);
    if (table.sec->info >= table.obj->n_sec)
        return CUVET_OK;
    table.target_id = table.obj->first_sec + table.sec->info;
    table.target = cv_l_isec(view, table.target_id);
    table.rela = table.sec->type == CV_SHT_RELA;
    table.body = cv_l_body(view, table.sec);
    table.count = table.body.len / cv_elf_rel_size(false, table.rela);
    /* One without entries leaves no name, nor does code for which there was other code before. */
    if (cv_l_became(view, table.target->id)->out == CV_NONE || table.count == 0 ||
        cv_codes_get(&view->functions->code, table.target_id)->beaten)
        return CUVET_OK;
    if (!cv_work(view->ctx, table.count, 0))
        return CUVET_E_LIMIT;
    owner = cv_out_owner(view->out, cv_l_became(view, table.target->id)->out);
    name = cv_l_out_join(view, table.rela ? ".rela" : ".rel",
                         cv_l_osec(view, cv_l_became(view, table.target->id)->out)->name);
    if (name == CV_NONE || !cv_l_use_both(view, owner, name))
        return cv_l_nomem(view);
    out = CV_ARRAY_GET(cv_l_osec(view, cv_l_became(view, table.target->id)->out)->rel, table.rela);
    /* Of code that a later input replaces the table stays where it is, for what the winner brings. */
    if (out == CV_NONE)
        st = make(view, &table, name, &out);
    if (st != CUVET_OK)
        return st;
    if (looks_for_rel(&table) &&
        !cv_l_use_joined(view, owner, ".rel",
                         cv_l_osec(view, cv_l_became(view, table.target->id)->out)->name))
        return cv_l_nomem(view);
    if (cv_l_became(view, table.target->id)->lost)
        return CUVET_OK;
    table.base = cv_l_became(view, table.target_id)->base;
    table.data = is_data(cv_l_osec(view, cv_l_became(view, table.target_id)->out)->group);
    table.owner = cv_codes_get(&view->functions->code, table.target_id)->owner;
    table.forgets = table.owner != CV_NONE && cv_cubin_may_forget(&table.obj->cubin, true);
    st = find_twice(view, &table);
    if (st == CUVET_OK && !cv_l_add_run(view, out, table.target_id))
        st = cv_l_nomem(view);
    for (uint64_t i = 0; i < table.count && st == CUVET_OK; i++)
        st = add(view, &table, i);
    cv_keys_free(&view->ctx->mem, &table.twice);
    return st;
}
