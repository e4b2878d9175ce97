/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What several stages ask of the output: which of its symbols stay, what an input's symbol became. */
#include "link/plan/plan.h"

static bool is_shared_space(uint8_t other)
{
    return (other & CV_STO_SPACE) == CV_STO_SPACE_SHARED;
}

/* What has no place has the value of all ones; when the reserved part is added, the reference does not see
 * that and keeps the name. */
bool cv_out_keeps_extern(const cv_part_options *options, const cv_part_memory *memory, const cv_isym *sym)
{
    bool counted = cv_link_reserves(options) && memory->coloured;

    return (options->debug ||
            (options->preserve && cv_gen_has(options->gen, CV_GEN_KEEPS_EXTERN) && counted)) &&
           !options->relocatable && cv_l_type(sym) == CV_STT_CUDA_OBJECT && is_shared_space(sym->other);
}

bool cv_link_has_instance(const cv_part_options *options, const cv_lfn *fn)
{
    return fn->kernel && !options->debug;
}

bool cv_out_is_bank_size(const cv_part_names *names, const cv_isym *sym)
{
    return cv_l_is_undefined_local(sym) &&
           cv_span_eq_str(cv_names_text(&names->set, sym->name), ".nv.ptx.const0.size");
}

uint64_t cv_out_undefined_local(const cv_part_names *names, const cv_part_out *out, const cv_isym *sym)
{
    return out->bank3 != CV_NONE && cv_out_is_bank_size(names, sym) ? cv_l_osec_get(out, out->bank3)->size
                                                                    : UINT64_MAX;
}

static bool keeps_shared(const cv_keep_facts *view, uint8_t other)
{
    return view->options->preserve || (view->options->debug && is_shared_space(other));
}

static bool drop_section(const cv_keep_facts *view, const cv_osym *osym)
{
    const cv_osec *osec = cv_l_osec(view, osym->sec);

    bool lone = cv_l_has(view, CV_GEN_RESERVED_SHOWN) && cv_link_reserves(view->options) &&
                !view->options->relocatable && osec->group == CV_G_NOBITS &&
                osec->size == view->options->gen->reserved;

    if (lone && (osym->sec == view->out->debug_shared ||
                 osec->infosec != CV_NONE)) /* nothing but the reserved part */
        return true;
    return osec->dead ||
           ((osec->group == CV_G_NOBITS || osec->group == CV_G_INIT || osec->group == CV_G_CONST ||
             osec->group == CV_G_PARAM || osec->group == CV_G_DEBUG) &&
            (osec->size == 0 || osec->no_contents));
}

static bool drop_undefined(const cv_keep_facts *view, const cv_osym *osym)
{
    const cv_isym *sym = cv_l_isym(view, osym->src);

    if (cv_l_type(sym) == CV_STT_FUNC)
        return osym->fn == CV_NONE || !cv_l_fn_calls(view, osym->fn)->live;
    return cv_link_is_table_name(cv_l_text(view, osym->name)) ||
           (is_shared_space(sym->other) && !cv_out_keeps_extern(view->options, view->memory, sym));
}

bool cv_out_drops(const cv_keep_facts *view, cv_id id)
{
    const cv_osym *osym = cv_l_osym(view, id);
    const cv_isym *winner = osym->win == CV_NONE ? NULL : cv_l_isym(view, osym->win);

    if (osym->is_section)
        return drop_section(view, osym);
    if (osym->sec != CV_NONE && cv_l_osec(view, osym->sec)->dead)
        return true;
    if (view->options->relocatable || osym->instance)
        return false;
    if (osym->fn != CV_NONE && !cv_l_fn_calls(view, osym->fn)->live)
        return true;
    if (!winner)
        return drop_undefined(view, osym);
    if (cv_l_is_shared(winner) && winner->sec != CV_NONE &&
        (cv_l_became(view, winner->sec)->lost || !cv_l_shared(view, winner->id)->placed))
        /* no room: of a kernel that lost, or nobody names it; an array of an earlier link needs none */
        return cv_l_became(view, winner->sec)->lost || winner->size != 0 || !view->options->debug;
    if (osym->hidden)
        return !keeps_shared(view, winner->other);
    return cv_l_is_shared(winner) && !keeps_shared(view, winner->other);
}

cv_id cv_out_symbol(const cv_part_inputs *inputs, const cv_part_functions *functions, const cv_part_out *out,
                    const cv_lobj *obj, uint32_t index)
{
    const cv_isym *sym;
    cv_id fn, sec;

    if (index >= obj->n_sym)
        return CV_NONE;
    sym = cv_l_isym_get(inputs, obj->first_sym + index);
    if (cv_l_type(sym) == CV_STT_SECTION) {
        sec = sym->sec == CV_NONE ? CV_NONE : cv_l_became_get(out, sym->sec)->out;
        return sec == CV_NONE ? CV_NONE : cv_l_osec_get(out, sec)->sym;
    }
    fn = *cv_u32s_get(&functions->of, sym->id);
    if (fn != CV_NONE &&
        cv_l_fn_get(functions, fn)->owner != fn) /* an alias: the function that owns the code */
        return cv_l_fn_out_get(out, cv_l_fn_get(functions, fn)->owner)->sym;
    return *cv_u32s_get(&out->became_sym, sym->id);
}

cv_id cv_out_symbol_of(const cv_part_inputs *inputs, const cv_part_functions *functions,
                       const cv_part_out *out, cv_id isym)
{
    const cv_isym *sym = cv_l_isym_get(inputs, isym);

    return cv_out_symbol(inputs, functions, out, cv_l_obj_get(inputs, sym->obj), sym->index);
}
