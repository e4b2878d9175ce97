/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What must hold after each stage of a link: a good link is run up to the stage, its checker agrees; then one
 * thing is broken, and it says so. Each row is one clause of one checker. */
#include "format/tlv/attr.h"
#include "pick.h"
#include "whole_link.h"

/* ---- elements to break
 * ------------------------------------------------------------------------------------- */

static cv_isec *code_section(void)
{
    for (uint64_t i = 0; i < link.inputs->isec.count; i++)
        if (cv_span_starts(cv_l_text(&link, cv_l_isec(&link, i)->name), ".text."))
            return cv_l_isec(&link, i);
    ck_abort_msg("no code");
}

static cv_resolution_entry *defined_name(void)
{
    for (uint64_t i = 0; i < link.resolution->entries.count; i++)
        if (cv_l_entry(&link, (cv_id)i)->win != CV_NONE)
            return cv_l_entry(&link, (cv_id)i);
    ck_abort_msg("nothing is defined");
}

/* A name that one input defines and another one only declares. */
static cv_resolution_entry *shared_name(cv_id *declaration)
{
    for (uint64_t i = 0; i < link.resolution->entries.count; i++) {
        cv_resolution_entry *entry = cv_l_entry(&link, (cv_id)i);

        for (cv_id sym = entry->first; sym != CV_NONE && entry->win != CV_NONE;
             sym = cv_l_next_of(&link, sym))
            if (!cv_l_isym(&link, sym)->defined) {
                *declaration = sym;
                return entry;
            }
    }
    ck_abort_msg("no declaration");
}

static cv_lfn *kernel(void)
{
    for (cv_id i = 0; i < link.functions->fn.count; i++)
        if (cv_l_is_kernel(&link, i) && cv_l_fn_calls(&link, i)->calls != CV_NONE)
            return cv_l_fn(&link, i);
    ck_abort_msg("no kernel that calls");
}

static cv_lfn *callee(void)
{
    return cv_l_fn(&link, cv_edges_at(&link.calls->edge, cv_l_fn_calls(&link, kernel()->id)->calls)->to);
}

static cv_osec *osec_with_relocations(void)
{
    for (uint64_t i = 0; i < link.out->osec.count; i++)
        if (cv_l_osec(&link, i)->rels != CV_NONE)
            return cv_l_osec(&link, i);
    ck_abort_msg("no relocations");
}

static cv_osym *osym_that(bool (*fits)(const cv_osym *osym))
{
    for (uint64_t i = 0; i < link.out->osym.count; i++)
        if (fits(cv_l_osym(&link, i)))
            return cv_l_osym(&link, i);
    ck_abort_msg("no such symbol");
}

static bool is_section(const cv_osym *osym)
{
    return osym->is_section;
}

static bool is_common(const cv_osym *osym)
{
    return osym->common;
}

static bool has_slot(const cv_osym *osym)
{
    return osym->has_slot;
}

static bool is_variable(const cv_osym *osym)
{
    return osym->win != CV_NONE && osym->sec != CV_NONE &&
           cv_l_type(cv_l_isym(&link, osym->win)) == CV_STT_CUDA_OBJECT &&
           !cv_l_is_shared(cv_l_isym(&link, osym->win));
}

static cv_osec *ordered(uint64_t index)
{
    return cv_l_osec(&link, *cv_u32s_at(&link.layout->order, index));
}

/* ---- what breaks
 * ------------------------------------------------------------------------------------------- */

#define BREAK(name, what)                                                                                    \
    static void name(void)                                                                                   \
    {                                                                                                        \
        what;                                                                                                \
    }

BREAK(read_order, cv_l_obj(&link, 1)->first_sym++)
BREAK(read_count, cv_l_obj(&link, 0)->n_sec = (cv_id)link.inputs->isec.count + 1)
BREAK(read_owner, cv_l_isec(&link, 1)->obj = 1)
BREAK(read_section_name, code_section()->name = (cv_id)link.names->set.list.count)
BREAK(read_symbol_name, cv_l_isym(&link, 1)->name = CV_NONE)
BREAK(read_place, cv_l_isym(&link, 1)->sec = cv_l_obj(&link, 1)->first_sec)
BREAK(read_prototype, cv_l_isym(&link, 1)->proto = (cv_id)link.names->set.list.count)

BREAK(resolve_nothing, defined_name()->win = CV_NONE)
static void resolve_declaration(void)
{
    cv_id declaration = 0;
    cv_resolution_entry *entry = shared_name(&declaration);

    entry->win = declaration;
}
static void resolve_weak(void)
{
    cv_resolution_entry *entry = defined_name();

    ck_assert_uint_eq(cv_l_bind(cv_l_isym(&link, entry->win)), CV_STB_GLOBAL);
    for (cv_id i = 0; i < link.inputs->isym.count; i++) /* any symbol that is not strong */
        if (cv_l_isym(&link, i)->defined && cv_l_bind(cv_l_isym(&link, i)) != CV_STB_GLOBAL)
            entry->win = i;
}

/* A definition of the first function. */
static cv_id definition(void)
{
    ck_assert_uint_ne(cv_l_fn(&link, 0)->def, CV_NONE);
    return cv_l_fn(&link, 0)->def;
}

BREAK(functions_none, *cv_u32s_at(&link.functions->of, definition()) = CV_NONE)
BREAK(functions_variable, *cv_u32s_at(&link.functions->of, 0) = 0)
BREAK(functions_other, *cv_u32s_at(&link.functions->of, definition()) = 1)
BREAK(functions_kernel, cv_l_isym(&link, definition())->other |= CV_STO_ENTRY;
      cv_l_fn(&link, 0)->kernel = false)
BREAK(functions_code, cv_codes_at(&link.functions->code, code_section()->id)->owner = CV_NONE)
BREAK(functions_lost, cv_l_fn(&link, 0)->has_def = false)
BREAK(functions_owner, cv_l_fn(&link, 0)->owner = CV_NONE)
BREAK(functions_definition, cv_l_fn(&link, 1)->def = definition())

BREAK(collect_dropped, cv_l_became(&link, code_section()->id)->out = CV_NONE)
BREAK(collect_owner, cv_l_fn(&link, 0)->owner = 1)
BREAK(collect_section, cv_l_became(&link, code_section()->id)->out = (cv_id)link.out->osec.count)
BREAK(collect_symbol, *cv_l_became_sym(&link, 1) = (cv_id)link.out->osym.count)
BREAK(collect_function, *cv_u32s_at(&link.functions->of, 1) = (cv_id)link.functions->fn.count)
BREAK(collect_nameless, cv_l_fn_out(&link, 0)->sym = CV_NONE)
static void collect_codeless(void)
{
    for (uint64_t i = 0; i < link.functions->fn.count; i++)
        if (cv_l_fn(&link, i)->def != CV_NONE)
            cv_l_fn_out(&link, i)->sec = CV_NONE;
}
BREAK(collect_piece, cv_lparts_at(&link.out->part, 0)->base = 16)
BREAK(collect_piece_of, cv_lparts_at(&link.out->part, 0)->isec = (cv_id)link.inputs->isec.count)
BREAK(collect_relocation, cv_rel_runs_at(&link.out->run, 0)->target = 1)
BREAK(collect_run_count, cv_rel_runs_at(&link.out->run, link.out->run.count - 1)->count++)
BREAK(collect_run_before, cv_rel_runs_at(&link.out->run, 0)->before = 0)
BREAK(collect_relocation_symbol, cv_l_irel(&link, 0)->sym = (cv_id)link.inputs->isym.count)
BREAK(collect_patched, osec_with_relocations()->target = CV_NONE)

BREAK(reach_kernel, cv_l_fn_calls(&link, kernel()->id)->live = false)
BREAK(reach_callee, cv_l_fn_calls(&link, callee()->id)->live = false)

BREAK(tables_overlap, cv_lparts_at(&link.out->part, pieced(&link)->last_part)->base = 0)
BREAK(tables_bank, pieced(&link)->size--)
/* A branch table that code looks for where it is not. */
static void tables_place(void)
{
    for (uint64_t i = 0; i < link.out->part.count; i++) {
        cv_id isec = cv_lparts_at(&link.out->part, i)->isec;

        if (cv_l_became(&link, isec)->table) {
            *cv_u64s_at(&link.memory->bank_off, isec) += 8;
            return;
        }
    }
    ck_abort_msg("no branch table");
}

/* A word of a section that was made anew becomes another. */
static void change(cv_id sec, uint64_t at, uint32_t by)
{
    cv_builder *builder;
    uint32_t old;

    ck_assert_uint_lt(sec, link.out->osec.count);
    builder = &cv_l_osec(&link, sec)->bytes;
    ck_assert_uint_le(at + 4, builder->len);
    old = cv_u32_at(cv_builder_span(builder), at);
    cv_patch_u32(builder, at, old ^ by);
    ck_assert(!builder->failed);
}

/* The first entry of call frame information that is a description, or a common part: 4 bytes that say that
 * it is wide, 8 of length, 8 that identify, the rest. */
static uint64_t frame_that(bool describes)
{
    cv_span span = cv_builder_span(&cv_l_osec(&link, link.out->frames)->bytes);

    for (uint64_t at = 0; at < span.len; at += 12 + cv_u64_at(span, at + 4))
        if ((cv_u64_at(span, at + 12) != UINT64_MAX) == describes)
            return at;
    ck_abort_msg("no such entry");
}

BREAK(frames_length, change(link.out->frames, frame_that(true) + 4, 1))
BREAK(frames_narrow, change(link.out->frames, frame_that(false), UINT32_MAX))
BREAK(frames_first, change(link.out->frames, 12, UINT32_MAX))
BREAK(frames_common, change(link.out->frames, frame_that(true) + 12, 1))
BREAK(frames_size, cv_l_osec(&link, link.out->frames)->size++)

static cv_irel *line_relocation(bool last)
{
    cv_rel_cur cur = cv_out_rels(cv_l_osec(&link, cv_l_osec(&link, link.out->lines[0])->rel[1]));
    cv_id id;

    ck_assert(cv_rel_next(link.out, &cur));
    for (id = cur.id; last && cv_rel_next(link.out, &cur);)
        id = cur.id;
    return cv_l_irel(&link, id);
}

BREAK(lines_unit, change(link.out->lines[0], 0, 1))
BREAK(lines_size, cv_l_osec(&link, link.out->lines[0])->size--)
BREAK(lines_second, change(link.out->lines[1], 0, 1)) /* .nv_debug_line_sass */
BREAK(lines_order, line_relocation(false)->off = line_relocation(true)->off + 1)
BREAK(lines_inside, line_relocation(true)->off = cv_l_osec(&link, link.out->lines[0])->size)

BREAK(shared_aligned, cv_l_shared(&link, placed(&link)->id)->off += 1)
BREAK(shared_inside, cv_l_shared(&link, placed(&link)->id)->off = UINT64_C(1) << 40)

BREAK(shared_reserved_first, cv_l_shared(&link, reserved(&link)->id)->off = 0x20)
BREAK(shared_reserved_end, cv_l_shared(&link, reserved(&link)->id)->off = 0x3F0)
BREAK(shared_reserved_lost, cv_l_shared(&link, reserved(&link)->id)->placed = false)

BREAK(values_section, osym_that(is_variable)->sec = (cv_id)link.out->osec.count)
BREAK(values_own, osym_that(is_section)->sec += 1)
BREAK(values_inside, osym_that(is_variable)->value = UINT64_MAX)

BREAK(commons_inside, osym_that(is_common)->value += UINT64_C(1) << 32)
BREAK(commons_nowhere, osym_that(is_common)->sec = CV_NONE)
BREAK(commons_left, osym_that(is_common)->common = false)
BREAK(commons_in_code, osym_that(is_common)->sec = cv_l_fn_out(&link, kernel()->id)->sec)

BREAK(slots_word, osym_that(has_slot)->slot += 2)
BREAK(slots_inside, added_relocation(&link)->off += 0x10000)
BREAK(slots_symbol, *cv_u32s_at(&link.out->rel_osym, 0) = CV_NONE)

BREAK(slots_moved, added_relocation(&link)->off += 4)
BREAK(slots_kind, added_relocation(&link)->type = 8)

BREAK(propagate_registers, cv_l_fn_usage(&link, kernel()->id)->all_regs = 0)
BREAK(propagate_callee,
      cv_l_fn_usage(&link, callee()->id)->regs = cv_l_fn_usage(&link, kernel()->id)->all_regs + 1)
BREAK(propagate_barriers,
      cv_trait_set(&cv_l_fn_usage(&link, callee()->id)->own, CV_H_NUM_BARRIERS, UINT32_MAX);
      cv_l_fn_usage(&link, callee()->id)->own.has = CV_H_BIT(CV_H_NUM_BARRIERS))
BREAK(propagate_flag, cv_l_fn_usage(&link, callee()->id)->all.has |= CV_H_BIT(CV_H_TCGEN05_1CTA_USED))
BREAK(propagate_sum, cv_trait_set(&cv_l_fn_usage(&link, callee()->id)->own, CV_H_NUM_MBARRIERS, 2))
BREAK(propagate_own_sum, cv_trait_set(&cv_l_fn_usage(&link, kernel()->id)->own, CV_H_NUM_MBARRIERS, 2))
BREAK(propagate_first, cv_l_fn_usage(&link, 0)->own.has |= CV_H_BIT(CV_H_CTAIDZ_USED))
/* Each of the two is covered, both together are not. */
static void propagate_both_sums(void)
{
    cv_fn_usage *usage[] = { cv_l_fn_usage(&link, kernel()->id), cv_l_fn_usage(&link, callee()->id) };

    for (unsigned i = 0; i < 2; i++) {
        cv_trait_set(&usage[i]->own, CV_H_NUM_MBARRIERS, 1);
        cv_trait_set(&usage[i]->all, CV_H_NUM_MBARRIERS, 1);
    }
}
BREAK(propagate_stack, cv_l_fn_usage(&link, kernel()->id)->stack = cv_l_fn_usage(&link, kernel()->id)->frame)
BREAK(propagate_recursion, cv_l_fn_usage(&link, kernel()->id)->recursive = true)

BREAK(decide_count, cv_l_fixup(&link, kept_relocation(&link))->keep = false)
BREAK(decide_inside, cv_l_irel(&link, kept_relocation(&link))->off = UINT64_MAX)

/* What only a linker can apply, what is for older machines, what has another number in a program. */
BREAK(decide_linkers, cv_l_fixup(&link, kept_relocation(&link))->type = 100)
BREAK(decide_old, cv_l_fixup(&link, kept_relocation(&link))->type = 15)
BREAK(decide_unified, cv_l_fixup(&link, kept_relocation(&link))->type = 104)
BREAK(decide_shared, kept_names(&link, CV_STO_SPACE_SHARED))
BREAK(decide_constant, kept_names(&link, 0x80))

BREAK(describe_order, cv_oinfos_at(&link.records->oinfo, 1)->first++)
BREAK(describe_lost, link.records->oinfo.count--)
BREAK(describe_program, link.records->program_n--)
BREAK(describe_word, record_with_symbol(&link)->first = (cv_id)link.records->word.count)
BREAK(describe_symbol, cv_iwords_at(&link.records->word, record_with_symbol(&link)->first)->value =
                           (uint32_t)link.out->osym.count)
BREAK(describe_lost_flag, cv_l_fn_usage(&link, kernel()->id)->all.has |= CV_H_BIT(CV_H_CTAIDZ_USED))
BREAK(describe_barriers, record_of(&link, CV_ATTR_NUM_BARRIERS)->value++)
BREAK(describe_barriers_lost, record_of(&link, CV_ATTR_NUM_BARRIERS)->code = CV_ATTR_WMMA_USED)
BREAK(describe_fragment, record_of(&link, CV_ATTR_CUDA_API_VERSION)->code = CV_ATTR_AT_ENTRY_FRAGEMENTS;
      kernel()->kernel = false)
BREAK(describe_old_number,
      cv_iwords_at(&link.records->word, record_with_symbol(&link)->first)->symbol = false)
BREAK(describe_raw, raw_record(&link)->code = 9) /* SAMPLER_INIT, whose symbol would be the input's */
BREAK(describe_twice, cv_oinfos_at(&link.records->oinfo, 0)->fn = CV_NONE)

BREAK(arrange_number, ordered(3)->index = 2)
BREAK(arrange_dead, ordered(5)->dead = true)
BREAK(arrange_name, cv_name_places_at(&link.layout->name, ordered(6)->name)->sh_off = 0)
BREAK(arrange_symbol, cv_l_osym(&link, *cv_u32s_at(&link.layout->sym_order, 0))->index = 7)
BREAK(arrange_symbol_name, cv_name_places_at(&link.layout->name, kernel()->name)->str_off = 0)
BREAK(arrange_kernel,
      (link.layout->sym_order.count--, cv_l_osym(&link, cv_l_fn_out(&link, kernel()->id)->sym)->index = 0))
BREAK(arrange_locals, link.layout->n_locals = link.layout->sym_order.count + 2)

BREAK(fill_overlap, ordered(5)->off = ordered(4)->off)
BREAK(fill_align, ordered(link.layout->order.count - 1)->off++)
BREAK(fill_bytes, cv_l_osec(&link, link.out->strtab)->size++)
BREAK(fill_kept, cv_l_fixed(&link, patched(&link))->n_kept++)
BREAK(fill_tables, link.synthetics->shoff = 64)
BREAK(fill_symbols, link.layout->sym_order.count--)

BREAK(write_size, link.file->size++)
BREAK(write_place, link.synthetics->shoff -= 8)
BREAK(write_segments, (link.file->phnum = 0, link.synthetics->shoff += 3 * 56))

BREAK(reread_sections, link.reread->seen.sections--)
BREAK(reread_symbols, link.reread->seen.symbols--)
BREAK(reread_extent, link.reread->seen.extent--)
BREAK(reread_kernels, link.reread->seen.kernels--)

static const struct {
    const char *stage;
    void (*damage)(void);
    const char *name, *target;
} ROWS[] = {
    { "read", read_order, "extern_basic", "sm_80" },
    { "read", read_count, "extern_basic", "sm_80" },
    { "read", read_owner, "extern_basic", "sm_80" },
    { "read", read_section_name, "extern_basic", "sm_80" },
    { "read", read_symbol_name, "extern_basic", "sm_80" },
    { "read", read_place, "extern_basic", "sm_80" },
    { "read", read_prototype, "extern_basic", "sm_80" },
    { "resolve", resolve_nothing, "extern_basic", "sm_80" },
    { "resolve", resolve_declaration, "extern_basic", "sm_80" },
    { "resolve", resolve_weak, "extern_basic", "sm_80" },
    { "functions", functions_none, "extern_basic", "sm_80" },
    { "functions", functions_variable, "extern_basic", "sm_80" },
    { "functions", functions_other, "extern_basic", "sm_80" },
    { "functions", functions_kernel, "extern_basic", "sm_80" },
    { "functions", functions_code, "extern_basic", "sm_80" },
    { "functions", functions_lost, "extern_basic", "sm_80" },
    { "functions", functions_owner, "extern_basic", "sm_80" },
    { "functions", functions_definition, "extern_basic", "sm_80" },
    { "collect", collect_dropped, "extern_basic", "sm_80" },
    { "collect", collect_owner, "extern_basic", "sm_80" },
    { "collect", collect_section, "extern_basic", "sm_80" },
    { "collect", collect_symbol, "extern_basic", "sm_80" },
    { "collect", collect_function, "extern_basic", "sm_80" },
    { "collect", collect_nameless, "extern_basic", "sm_80" },
    { "collect", collect_codeless, "extern_basic", "sm_80" },
    { "collect", collect_piece, "extern_basic", "sm_80" },
    { "collect", collect_piece_of, "extern_basic", "sm_80" },
    { "collect", collect_run_count, "extern_basic", "sm_80" },
    { "collect", collect_run_before, "extern_basic", "sm_80" },
    { "collect", collect_relocation, "extern_basic", "sm_80" },
    { "collect", collect_relocation_symbol, "extern_basic", "sm_80" },
    { "collect", collect_patched, "extern_basic", "sm_80" },
    { "mark_live", reach_kernel, "stack_chain", "sm_80" },
    { "mark_live", reach_callee, "stack_chain", "sm_80" },
    { "branch_tables", tables_overlap, "jump_table", "sm_80" },
    { "branch_tables", tables_bank, "jump_table", "sm_80" },
    { "branch_tables", tables_place, "jump_table", "sm_80" },
    { "debug_frames", frames_length, "weak_big_first", "sm_100" },
    { "debug_frames", frames_narrow, "weak_big_first", "sm_100" },
    { "debug_frames", frames_first, "weak_big_first", "sm_100" },
    { "debug_frames", frames_common, "weak_big_first", "sm_100" },
    { "debug_frames", frames_size, "weak_big_first", "sm_100" },
    { "debug_lines", lines_unit, "lines", "sm_100" },
    { "debug_lines", lines_size, "lines", "sm_100" },
    { "debug_lines", lines_second, "lines", "sm_100" },
    { "debug_lines", lines_order, "lines", "sm_100" },
    { "debug_lines", lines_inside, "lines", "sm_100" },
    { "shared_memory", shared_aligned, "shared_static", "sm_80" },
    { "shared_memory", shared_inside, "shared_static", "sm_80" },
    { "symbol_values", values_section, "global_layout", "sm_80" },
    { "symbol_values", values_own, "global_layout", "sm_80" },
    { "symbol_values", values_inside, "global_layout", "sm_80" },
    { "commons", commons_inside, "weak_common_ptx", "sm_80" },
    { "commons", commons_nowhere, "weak_common_ptx", "sm_80" },
    { "commons", commons_left, "weak_common_ptx", "sm_80" },
    { "commons", commons_in_code, "weak_common_ptx", "sm_80" },
    { "texture_slots", slots_word, "tex_ref_ptx", "sm_90" },
    { "texture_slots", slots_inside, "tex_ref_ptx", "sm_90" },
    { "texture_slots", slots_symbol, "tex_ref_ptx", "sm_90" },
    { "shared_memory", shared_reserved_first, "callee_tcgen05", "sm_100a" },
    { "shared_memory", shared_reserved_end, "callee_tcgen05", "sm_100a" },
    { "shared_memory", shared_reserved_lost, "callee_tcgen05", "sm_100a" },
    { "texture_slots", slots_moved, "tex_ref_ptx", "sm_90" },
    { "texture_slots", slots_kind, "tex_ref_ptx", "sm_90" },
    { "usage", propagate_registers, "stack_chain", "sm_80" },
    { "usage", propagate_callee, "stack_chain", "sm_80" },
    { "usage", propagate_barriers, "stack_chain", "sm_80" },
    { "usage", propagate_flag, "stack_chain", "sm_80" },
    { "usage", propagate_sum, "stack_chain", "sm_80" },
    { "usage", propagate_own_sum, "stack_chain", "sm_80" },
    { "usage", propagate_first, "stack_chain", "sm_80" },
    { "usage", propagate_both_sums, "stack_chain", "sm_80" },
    { "usage", propagate_stack, "stack_chain", "sm_80" },
    { "usage", propagate_recursion, "stack_chain", "sm_80" },
    { "scan_relocs", decide_count, "extern_basic", "sm_80" },
    { "scan_relocs", decide_inside, "extern_basic", "sm_80" },
    { "scan_relocs", decide_linkers, "extern_basic", "sm_80" },
    { "scan_relocs", decide_old, "extern_basic", "sm_80" },
    { "scan_relocs", decide_unified, "extern_basic", "sm_80" },
    { "scan_relocs", decide_shared, "extern_basic", "sm_80" },
    { "scan_relocs", decide_constant, "extern_basic", "sm_80" },
    { "info_records", describe_order, "extern_basic", "sm_80" },
    { "info_records", describe_lost, "extern_basic", "sm_80" },
    { "info_records", describe_program, "extern_basic", "sm_80" },
    { "info_records", describe_word, "extern_basic", "sm_80" },
    { "info_records", describe_symbol, "extern_basic", "sm_80" },
    { "info_records", describe_lost_flag, "extern_basic", "sm_80" },
    { "info_records", describe_barriers, "barriers", "sm_80" },
    { "info_records", describe_barriers_lost, "barriers", "sm_80" },
    { "info_records", describe_fragment, "extern_basic", "sm_80" },
    { "info_records", describe_old_number, "extern_basic", "sm_80" },
    { "info_records", describe_raw, "extern_basic", "sm_80" },
    { "info_records", describe_twice, "extern_basic", "sm_80" },
    { "layout", arrange_number, "stack_chain", "sm_80" },
    { "layout", arrange_dead, "stack_chain", "sm_80" },
    { "layout", arrange_name, "stack_chain", "sm_80" },
    { "layout", arrange_symbol, "stack_chain", "sm_80" },
    { "layout", arrange_symbol_name, "stack_chain", "sm_80" },
    { "layout", arrange_kernel, "stack_chain", "sm_80" },
    { "layout", arrange_locals, "stack_chain", "sm_80" },
    { "synthetics", fill_overlap, "extern_basic", "sm_80" },
    { "synthetics", fill_align, "extern_basic", "sm_80" },
    { "synthetics", fill_bytes, "extern_basic", "sm_80" },
    { "synthetics", fill_kept, "extern_basic", "sm_80" },
    { "synthetics", fill_tables, "extern_basic", "sm_80" },
    { "synthetics", fill_symbols, "extern_basic", "sm_80" },
    { "write", write_size, "extern_basic", "sm_80" },
    { "write", write_place, "extern_basic", "sm_80" },
    { "write", write_segments, "extern_basic", "sm_80" },
    { "reread", reread_sections, "extern_basic", "sm_80" },
    { "reread", reread_symbols, "extern_basic", "sm_80" },
    { "reread", reread_extent, "extern_basic", "sm_80" },
    { "reread", reread_kernels, "extern_basic", "sm_80" },
};

START_TEST(broken)
{
    uint64_t stage = number_of(ROWS[_i].stage);

    begin(ROWS[_i].name, ROWS[_i].target, false);
    ck_assert_int_eq(cv_link_run_to(&link, stage), CUVET_OK);
    ck_assert_int_eq(cv_link_check(&link, stage), CUVET_OK);
    ck_assert_uint_eq(said.count, 0);
    ROWS[_i].damage();
    ck_assert_msg(cv_link_check(&link, stage) == CUVET_E_INTERNAL, "row %d: %s", _i, ROWS[_i].stage);
    ck_assert_str_eq(cuvet_rule_get(said.last.rule)->id, "CV-LINK-016");
    ck_assert_uint_eq(said.last.got, stage);
    end();
}
END_TEST

/* Every stage has a row, so that none is checked by nothing. */
START_TEST(every_stage)
{
    for (uint64_t i = 0; cv_link_stage(i); i++) {
        bool found = false;

        if (!cv_link_is_checked(i)) /* it only refuses */
            continue;
        for (unsigned k = 0; k < N(ROWS); k++)
            found = found || strcmp(ROWS[k].stage, cv_link_stage(i)) == 0;
        ck_assert_msg(found, "%s", cv_link_stage(i));
    }
}
END_TEST

/* A file with a broken header, section table, symbol, record or segment is not given out. */
static uint64_t field_at(unsigned index)
{
    const cv_osec *symtab = cv_l_osec(&link, link.out->symtab), *info = cv_l_osec(&link, link.out->info);
    const uint64_t places[] = { 18,                              /* e_machine */
                                link.synthetics->shoff + 64 + 4, /* type of a section */
                                link.synthetics->shoff + 2 * 64 + 24,
                                symtab->off + 24 + 6,
                                info->off + 4, /* the symbol of a record */
                                link.synthetics->phoff + 32 /* bytes of a segment */ };

    return index < N(places) ? places[index] : 0;
}

START_TEST(damaged_file)
{
    uint64_t at;

    begin("stack_chain", "sm_80", false);
    ck_assert_int_eq(cv_link_run_to(&link, UINT64_MAX), CUVET_OK);
    at = field_at((unsigned)_i);
    ck_assert_uint_lt(at, out.span.len);
    ((uint8_t *)out.mem)[at] ^= 0xFF;
    ck_assert_int_eq(cv_link_run(&link, number_of("reread")), CUVET_E_INTERNAL);
    ck_assert_str_eq(cuvet_rule_get(said.last.rule)->id, "CV-LINK-016");
    end();
}
END_TEST

/* Relocatable links pass the same checkers. */
START_TEST(relocatable)
{
    begin("shared_static", "sm_80", true);
    ck_assert_int_eq(cv_link_complete(&link, &out, &file), CUVET_OK);
    ck_assert_uint_eq(link.reread->seen.extent, out.span.len);
    end();
}
END_TEST

Suite *suite_link_checks(void)
{
    Suite *suite = suite_create("link checks");
    TCase *tcase = tcase_create("checks");

    tcase_add_loop_test(tcase, broken, 0, (int)N(ROWS));
    tcase_add_test(tcase, every_stage);
    tcase_add_loop_test(tcase, damaged_file, 0, 6);
    tcase_add_test(tcase, relocatable);
    suite_add_tcase(suite, tcase);
    return suite;
}
