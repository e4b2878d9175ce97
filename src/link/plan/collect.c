/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage collect: input by input, the functions, sections, symbols, names and relocations of the output, in
 * the order in which the reference linker makes them: functions, other symbols with the sections they lie in,
 * sections that are left, information sections, relocations. */
#include "link/plan/collect.h"

/* A shared variable has an element of its own among the names: when it is forgotten, another variable of its
 * name has its name where it stands itself. */
static bool add_local(const cv_view_collect *view, cv_id id, cv_id fn)
{
    cv_osym *osym = cv_l_osym(view, id);
    cv_name_uses *names = &view->out->str_names;
    const cv_name_use place = { .name = osym->name, .fn = fn };
    uint64_t before = names->count;

    osym->local = true;
    if (!cv_u32s_push(&view->ctx->mem, &view->out->locals, id) || !cv_l_use_str(view, fn, osym->name))
        return false;
    if (osym->is_section || osym->src == CV_NONE || !cv_l_is_shared(cv_l_isym(view, osym->src)))
        return true;
    if (names->count == before && !cv_name_uses_push(&view->ctx->mem, names, place))
        return false;
    osym->str_name = (uint32_t)names->count;
    return true;
}

static cv_osym symbol_from(const cv_isym *sym, cv_id id, cv_id win)
{
    return (cv_osym){ .name = sym->name,
                      .sec = CV_NONE,
                      .win = win,
                      .src = id,
                      .fn = CV_NONE,
                      .info = sym->info,
                      .other = sym->other };
}

/* Output symbol of a global name. Weak definitions are kept among the locals. */
static cv_id global_symbol(const cv_view_collect *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    cv_id out = cv_l_named(view, sym->name)->osym;
    cv_osym osym;

    if (out != CV_NONE)
        return out;
    osym = symbol_from(sym, id, cv_l_entry(view, sym->name)->win);
    out = cv_l_new_osym(view, &osym);
    if (out == CV_NONE)
        return CV_NONE;
    cv_l_named(view, sym->name)->osym = out;
    /* Weak functions stand among the local symbols, also those of the driver, which nobody defines. */
    if (cv_l_bind(sym) == CV_STB_WEAK && (sym->defined || cv_l_type(sym) == CV_STT_FUNC)) {
        if (!cv_l_is_shared(sym) || view->options->relocatable || view->options->preserve ||
            view->options->debug)
            return add_local(view, out, cv_l_fn_of(view, id)) ? out : CV_NONE;
        cv_l_osym(view, out)->local = true; /* it will have no symbol, and leaves no name */
        return cv_u32s_push(&view->ctx->mem, &view->out->locals, out) ? out : CV_NONE;
    }
    return cv_u32s_push(&view->ctx->mem, &view->out->globals, out) ? out : CV_NONE;
}

static cv_id local_symbol(const cv_view_collect *view, cv_id id)
{
    cv_osym osym = symbol_from(cv_l_isym(view, id), id, id);

    return cv_l_new_osym(view, &osym);
}

/* Code and, for a kernel, what is made with it. */
static cuvet_status make_code(const cv_view_collect *view, const cv_isym *sym, cv_id fn, cv_id *out)
{
    const cv_isec *sec = cv_l_isec(view, sym->sec);
    cv_new_section code = cv_l_section(view, CV_ROLE_TEXT, CV_G_CODE),
                   shared = cv_l_section(view, CV_ROLE_SHARED_FN, CV_G_NOBITS);
    cv_id name = sym->name, id;
    bool kernel = (sym->other & CV_STO_ENTRY) != 0;

    code.name = sec->name;
    code.fn = shared.fn = fn;
    code.align = sec->align;
    code.symbol = code.named = shared.symbol = true;
    /* Of a kernel that is not to be used, the name comes with the section of the input. */
    shared.named = view->options->relocatable || view->options->keep_dead ||
                   cv_link_is_used(view->options, cv_l_text(view, cv_l_fn(view, fn)->name));
    *out = cv_l_new_osec(view, &code);
    if (*out == CV_NONE)
        return cv_l_nomem(view);
    cv_l_osec(view, *out)->fn = fn;
    if (!kernel)
        return CUVET_OK;
    shared.name = cv_l_out_join(view, ".nv.shared.", name);
    if (shared.name == CV_NONE || !cv_l_use_joined(view, fn, ".nv.info.", name) ||
        !cv_u32s_push(&view->ctx->mem, &view->out->info_order, *out))
        return cv_l_nomem(view);
    cv_l_osec(view, *out)->info_listed = true;
    id = cv_l_new_osec(view, &shared);
    if (id == CV_NONE)
        return cv_l_nomem(view);
    cv_l_osec(view, id)->infosec = *out;
    cv_l_osec(view, id)->pre = true;
    cv_l_osec(view, *out)->shared = id;
    return CUVET_OK;
}

static cuvet_status take_definition(const cv_view_collect *view, cv_id id, cv_id code)
{
    const cv_isym *sym = cv_l_isym(view, id);
    const cv_isec *sec = cv_l_isec(view, sym->sec);
    cv_osec *osec = cv_l_osec(view, code);

    /* Only global functions have aliases: code belongs to the local one that it names. */
    if (cv_l_bind(sym) == CV_STB_LOCAL && cv_elf_code_symbol(sec->info) != sym->index)
        return cv_link_refuse_section(view, sym->sec, CV_R_LINK_SECTION, sec->type);
    cv_l_became(view, sym->sec)->out = code;
    if (cv_l_definition(view, id) != id) {
        cv_l_became(view, sym->sec)->lost = true;
        return CUVET_OK;
    }
    osec->align = sec->align;
    osec->size = sec->size;
    if (cv_link_keeps_barriers(view->options))
        osec->flags = (osec->flags & ~(uint64_t)CV_SHF_CUDA_BARRIERS) | (sec->flags & CV_SHF_CUDA_BARRIERS);
    osec->reg_byte = cv_elf_code_registers(sec->info);
    if (osec->first_part != CV_NONE) {
        cv_lparts_at(&view->out->part, osec->first_part)->isec = sym->sec;
        return CUVET_OK;
    }
    return cv_l_add_part(view, code, sym->sec, 0) ? CUVET_OK : cv_l_nomem(view);
}

/* Code that is there already: that of the owner for an alias, that of an earlier definition for a global
 * name. Never by the name of the section: a local function of another input may have the same. */
static cv_id code_of(const cv_view_collect *view, const cv_isym *sym, cv_id fn)
{
    cv_id out = cv_l_became(view, sym->sec)->out, sec = cv_l_fn_out(view, fn)->sec;

    if (out != CV_NONE)
        return out;
    return sec != CV_NONE && cv_l_osec(view, sec)->fn == fn ? sec : CV_NONE;
}

static cuvet_status add_function(const cv_view_collect *view, cv_id id)
{
    bool local = cv_l_bind(cv_l_isym(view, id)) == CV_STB_LOCAL;
    cv_id fn = cv_l_fn_of(view, id), sym = local ? local_symbol(view, id) : global_symbol(view, id), code;
    cuvet_status st = CUVET_OK;
    const cv_isym *isym = cv_l_isym(view, id);

    if (sym == CV_NONE || (local && !add_local(view, sym, fn)))
        return cv_l_nomem(view);
    *cv_l_became_sym(view, id) = sym;
    cv_l_fn_out(view, fn)->sym = sym;
    cv_l_osym(view, sym)->fn = fn;
    if (isym->sec == CV_NONE)
        return CUVET_OK;
    code = code_of(view, isym, fn);
    if (code == CV_NONE)
        st = make_code(view, isym, fn, &code);
    if (st != CUVET_OK)
        return st;
    /* An alias wins against a weak function whose code is there: nothing would be left in that section. */
    if (cv_l_fn_out(view, fn)->sec != CV_NONE && cv_l_fn_out(view, fn)->sec != code) {
        cv_link_say(view, id, CV_R_LINK_CODE, isym->index, 0);
        return CUVET_E_REFUSED;
    }
    cv_l_fn_out(view, fn)->sec = code;
    cv_l_osym(view, sym)->sec = code;
    return take_definition(view, id, code);
}

/* An alias that a relocatable link wrote before its function comes behind it. */
static cuvet_status collect_function(const cv_view_collect *view, cv_id id)
{
    cv_id owner = cv_l_code_symbol(view, id);
    cuvet_status st = CUVET_OK;

    if (*cv_l_became_sym(view, id) != CV_NONE) /* it came before its alias */
        return CUVET_OK;
    if (owner > id && *cv_l_became_sym(view, owner) == CV_NONE)
        st = add_function(view, owner);
    return st == CUVET_OK ? add_function(view, id) : st;
}

/* Shared variables and parts of constant banks have no symbol in a final view, unless it is asked for. */
static bool is_hidden(const cv_isym *sym)
{
    return sym->other == CV_STO_SPACE_SHARED || cv_l_is_hidden_bank(sym);
}

/* A relocatable link keeps the name of what nobody will ever define. The size of the bank is one symbol,
 * however many inputs ask for it. */
static cuvet_status collect_undefined_local(const cv_view_collect *view, cv_id id)
{
    bool bank_size = cv_link_is_bank_size(view, cv_l_isym(view, id));
    cv_id sym = bank_size ? view->out->bank_size : CV_NONE;

    if (sym != CV_NONE) {
        *cv_l_became_sym(view, id) = sym;
        return CUVET_OK;
    }
    sym = local_symbol(view, id);
    *cv_l_became_sym(view, id) = sym;
    if (bank_size)
        view->out->bank_size = sym;
    return sym != CV_NONE && add_local(view, sym, CV_NONE) ? CUVET_OK : cv_l_nomem(view);
}

/* A part of the table of a weak function that was beaten. Parameters of a kernel that was are those of the
 * winner, with a name for each. */
static bool is_of_beaten(const cv_view_collect *view, const cv_isym *isym)
{
    const cv_isec *isec = cv_l_isec(view, isym->sec);

    return cv_l_is_hidden_bank(isym) && (isec->flags & CV_SHF_INFO_LINK) != 0 &&
           cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->bank == CV_BANK_TABLES &&
           cv_l_became(view, cv_l_obj(view, isec->obj)->first_sec + isec->info)->lost;
}

static cuvet_status collect_local(const cv_view_collect *view, cv_id id)
{
    const cv_isym *isym = cv_l_isym(view, id);
    uint8_t type = cv_l_type(isym);
    cuvet_status st;
    cv_id sym;

    if (isym->sec == CV_NONE)
        return view->options->relocatable && cv_l_is_undefined_local(isym) ? collect_undefined_local(view, id)
                                                                           : CUVET_OK;
    if (is_of_beaten(view, isym)) /* its section comes, if at all, when the symbols are through */
        return CUVET_OK;
    st = cv_collect_section(view, isym->sec);
    if (st != CUVET_OK || (type != CV_STT_OBJECT && type != CV_STT_CUDA_OBJECT) ||
        cv_l_became(view, isym->sec)->out == CV_NONE)
        return st;
    sym = local_symbol(view, id);
    if (sym == CV_NONE)
        return cv_l_nomem(view);
    *cv_l_became_sym(view, id) = sym;
    cv_l_osym(view, sym)->sec = cv_l_became(view, isym->sec)->out;
    cv_l_osym(view, sym)->hidden = is_hidden(isym);
    if (is_hidden(isym) && !view->options->relocatable && !view->options->preserve &&
        !(view->options->debug && isym->other == CV_STO_SPACE_SHARED)) {
        cv_l_osym(view, sym)->local = true;
        return CUVET_OK;
    }
    return add_local(view, sym, CV_NONE) ? CUVET_OK : cv_l_nomem(view);
}

static cv_role role_of(const cv_lobj *obj, cv_id id)
{
    return cv_cubin_sec(&obj->cubin, id)->role;
}

/* Zero memory of an input: without it nothing is missing when none of its variables is wanted. */
static bool is_zero_memory(const cv_view_collect *view, const cv_isec *isec)
{
    return role_of(cv_l_obj(view, isec->obj), isec->index) == CV_ROLE_GLOBAL;
}

/* A weak variable without initial value that an input before this one has: its memory is not wanted. A later
 * input may have a better one; what is there by then stays. */
static bool comes_late(const cv_view_collect *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    const cv_resolution_entry *entry = cv_l_entry(view, sym->name);

    return sym->sec != CV_NONE && cv_l_bind(sym) == CV_STB_WEAK &&
           is_zero_memory(view, cv_l_isec(view, sym->sec)) &&
           ((entry->weak != CV_NONE && entry->weak < id) || (entry->strong != CV_NONE && entry->strong < id));
}

static cuvet_status collect_global(const cv_view_collect *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    cuvet_status st = CUVET_OK;
    cv_id out;

    if (sym->sec != CV_NONE && cv_collect_is_twice(view, id) &&
        role_of(cv_l_obj(view, sym->obj), cv_l_isec(view, sym->sec)->index) == CV_ROLE_GLOBAL_INIT)
        cv_l_became(view, sym->sec)->twice = true;
    if (comes_late(view, id))
        cv_l_became(view, sym->sec)->late = true;
    else if (sym->sec != CV_NONE)
        st = cv_collect_section(view, sym->sec);
    if (st != CUVET_OK)
        return st;
    if (cv_l_is_array(view, sym) && cv_l_entry(view, sym->name)->win == CV_NONE) {
        cv_id debug = cv_collect_debug_shared(view);

        if (debug == CV_NONE)
            return cv_l_nomem(view);
        cv_l_osec(view, debug)->extern_array = true;
        cv_l_osec(view, debug)->align = cv_max(cv_l_osec(view, debug)->align, 16);
    }
    view->out->has_common =
        view->out->has_common ||
        (sym->common && cv_l_isym(view, cv_l_entry(view, sym->name)->win)->common); /* not beaten */
    out = global_symbol(view, id);
    *cv_l_became_sym(view, id) = out;
    return out == CV_NONE ? cv_l_nomem(view) : CUVET_OK;
}

static cuvet_status collect_other(const cv_view_collect *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    uint8_t type = cv_l_type(sym);

    if (sym->index == 0 || type == CV_STT_FUNC || type == CV_STT_SECTION)
        return CUVET_OK;
    return cv_l_bind(sym) == CV_STB_LOCAL ? collect_local(view, id) : collect_global(view, id);
}

/* Sections that describe, or that other stages make again. */
static bool is_described(cv_role role)
{
    switch ((unsigned)role) {
    case CV_ROLE_NULL_SECTION:
    case CV_ROLE_SHSTRTAB:
    case CV_ROLE_STRTAB:
    case CV_ROLE_SYMTAB:
    case CV_ROLE_SYMTAB_SHNDX:
    case CV_ROLE_TKINFO:
    case CV_ROLE_CUINFO:
    case CV_ROLE_CUVER:
    case CV_ROLE_NV_INFO:
    case CV_ROLE_NV_INFO_FN:
    case CV_ROLE_COMPAT:
    case CV_ROLE_CALLGRAPH:
    case CV_ROLE_PROTOTYPE:
    case CV_ROLE_REL_ACTION:
    case CV_ROLE_REL:
    case CV_ROLE_RELA:
    case CV_ROLE_RESOLVED_RELA: return true;
    default: return role >= CV_ROLE_CAPMERC_TEXT && role < CV_N_ROLES;
    }
}

static cuvet_status collect_sections(const cv_view_collect *view, const cv_lobj *obj)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 1; i < obj->n_sec && st == CUVET_OK; i++) {
        const cv_isec *isec = cv_l_isec(view, obj->first_sec + i);

        if (is_described(role_of(obj, i)) || cv_l_became(view, isec->id)->out != CV_NONE ||
            cv_l_became(view, isec->id)->table)
            continue;
        if (cv_l_became(view, isec->id)->late) /* none of its variables is wanted */
            cv_l_became(view, isec->id)->lost = true;
        else
            st = cv_collect_section(view, obj->first_sec + i);
    }
    return st;
}

static cuvet_status collect_infos(const cv_view_collect *view, const cv_lobj *obj)
{
    for (cv_id i = 1; i < obj->n_sec; i++) {
        const cv_isec *isec = cv_l_isec(view, obj->first_sec + i);
        cv_id code;

        if (role_of(obj, i) != CV_ROLE_NV_INFO_FN)
            continue;
        code = isec->info < obj->n_sec ? cv_l_became(view, obj->first_sec + isec->info)->out : CV_NONE;
        if (!cv_l_use_both(view, cv_out_owner(view->out, code), isec->name))
            return cv_l_nomem(view);
        if (code == CV_NONE || cv_l_osec(view, code)->info_listed)
            continue;
        cv_l_osec(view, code)->info_listed = true;
        if (!cv_u32s_push(&view->ctx->mem, &view->out->info_order, code))
            return cv_l_nomem(view);
    }
    return CUVET_OK;
}

static cuvet_status collect_object(const cv_view_collect *view, const cv_lobj *obj)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < obj->n_sym && st == CUVET_OK; i++)
        if (cv_l_type(cv_l_isym(view, obj->first_sym + i)) == CV_STT_FUNC)
            st = collect_function(view, obj->first_sym + i);
    for (cv_id i = 0; i < obj->n_sym && st == CUVET_OK; i++)
        st = collect_other(view, obj->first_sym + i);
    if (st == CUVET_OK)
        st = collect_sections(view, obj);
    if (st == CUVET_OK)
        st = collect_infos(view, obj);
    for (cv_id i = 1; i < obj->n_sec && st == CUVET_OK; i++)
        if (role_of(obj, i) == CV_ROLE_REL || role_of(obj, i) == CV_ROLE_RELA)
            st = cv_collect_relocations(view, obj->first_sec + i);
    return st;
}

static cv_id fixed(const cv_view_collect *view, const char *name, cv_role role, cv_group group, bool symbol)
{
    cv_new_section section = cv_l_section(view, role, group);

    section.symbol = symbol;
    section.named = true;
    section.name = cv_l_out_join(view, name, view->names->empty);
    return section.name == CV_NONE ? CV_NONE : cv_l_new_osec(view, &section);
}

static bool begin_lists(const cv_view_collect *view)
{
    const cv_fn_out no_fn = { CV_NONE, CV_NONE, CV_NONE, false };
    const cv_became no_section = { .out = CV_NONE };
    cv_mem *mem = &view->ctx->mem;
    cv_part_out *out = view->out;

    if (!cv_l_fill_none(mem, &out->became_sym, view->inputs->isym.count) ||
        !cv_u8s_fill(mem, &view->uses->addressed, view->functions->fn.count) ||
        !cv_fn_outs_room(mem, &out->fn, view->functions->fn.count) ||
        !cv_becames_room(mem, &out->became, view->inputs->isec.count) || !cv_l_name_room(view) ||
        !cv_name_uses_room(mem, &out->sh_names, out->by_name.cap) ||
        !cv_name_uses_room(mem, &out->str_names, out->by_name.cap) ||
        !cv_osecs_room(mem, &out->osec, view->inputs->isec.count) ||
        !cv_osyms_room(mem, &out->osym, view->inputs->isym.count))
        return false;
    while (out->fn.count < view->functions->fn.count)
        if (!cv_fn_outs_push(mem, &out->fn, no_fn))
            return false;
    while (out->became.count < view->inputs->isec.count)
        if (!cv_becames_push(mem, &out->became, no_section))
            return false;
    return cv_collect_room(view);
}

static cuvet_status begin(const cv_view_collect *view)
{
    static const char *const NAMES[] = { ".shstrtab",       ".strtab",         ".symtab", ".symtab_shndx",
                                         ".note.nv.tkinfo", ".note.nv.cuinfo", ".nv.info" };
    bool compat = cv_l_has(view, CV_GEN_COMPAT); /* objects of the old kind have none, their program has */

    if (!begin_lists(view))
        return cv_l_nomem(view);
    for (size_t i = 0; i < CV_COUNT(NAMES); i++)
        if (!cv_l_use_joined(view, CV_NONE, CV_AT(NAMES, i), view->names->empty))
            return cv_l_nomem(view);
    view->out->tkinfo = fixed(view, ".note.nv.tkinfo", CV_ROLE_TKINFO, CV_G_NOTE, true);
    view->out->cuinfo = fixed(view, ".note.nv.cuinfo", CV_ROLE_CUINFO, CV_G_NOTE, true);
    view->out->info = fixed(view, ".nv.info", CV_ROLE_NV_INFO, CV_G_META, false);
    for (cv_id i = 0; i < view->inputs->obj.count; i++)
        compat = compat || cv_l_obj(view, i)->compat != 0;
    if (compat)
        view->out->compat = fixed(view, ".nv.compat", CV_ROLE_COMPAT, CV_G_META, false);
    return view->out->tkinfo == CV_NONE || view->out->cuinfo == CV_NONE || view->out->info == CV_NONE ||
                   (compat && view->out->compat == CV_NONE)
               ? cv_l_nomem(view)
               : CUVET_OK;
}

static cuvet_status finish(const cv_view_collect *view)
{
    bool global = cv_l_find_osec(view, ".nv.global") != CV_NONE;

    if (view->out->has_common && cv_l_places_commons(view) && !global &&
        fixed(view, ".nv.global", CV_ROLE_GLOBAL, CV_G_NOBITS, true) == CV_NONE)
        return cv_l_nomem(view);
    view->out->callgraph = fixed(view, ".nv.callgraph", CV_ROLE_CALLGRAPH, CV_G_META, true);
    view->out->prototype = fixed(view, ".nv.prototype", CV_ROLE_PROTOTYPE, CV_G_META, true);
    return view->out->callgraph == CV_NONE || view->out->prototype == CV_NONE ? cv_l_nomem(view) : CUVET_OK;
}

/* Bytes of the parameter bank of a code section; 0: it has none. */
static uint64_t parameters(const cv_view_collect *view, const cv_isec *code)
{
    const cv_cubin *cubin = &cv_l_obj(view, code->obj)->cubin;
    uint32_t bank = cv_cubin_sec(cubin, code->index)->const0;

    return bank == 0 ? 0 : cv_cubin_sec(cubin, bank)->header.size;
}

/* A kernel that lost has the parameters of the one that won: both are launched by one name. */
static void check_parameters(const cv_view_collect *view)
{
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i), *winner;

        if (cv_l_type(sym) != CV_STT_FUNC || !(sym->other & CV_STO_ENTRY) || sym->sec == CV_NONE)
            continue;
        winner = cv_l_isym(view, cv_l_definition(view, i));
        if (winner != sym && winner->sec != CV_NONE &&
            parameters(view, cv_l_isec(view, sym->sec)) != parameters(view, cv_l_isec(view, winner->sec)))
            cv_link_say(view, i, CV_R_LINK_PARAMETERS, parameters(view, cv_l_isec(view, sym->sec)),
                        parameters(view, cv_l_isec(view, winner->sec)));
    }
}

cuvet_status cv_stage_collect(const cv_view_collect *view)
{
    cuvet_status st = begin(view);

    check_parameters(view);

    for (cv_id i = 0; i < view->inputs->obj.count && st == CUVET_OK; i++)
        st = collect_object(view, cv_l_obj(view, i));
    return st == CUVET_OK ? finish(view) : st;
}

/* Code and data: what no input has for nothing. Debug data and notes are made anew or dropped on purpose. */
static bool must_stay(const cv_check_collect *view, const cv_isec *isec)
{
    switch ((unsigned)cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->role) {
    case CV_ROLE_GLOBAL: return !cv_l_became(view, isec->id)->lost;
    case CV_ROLE_TEXT:
    case CV_ROLE_GLOBAL_INIT:
    case CV_ROLE_CONSTANT:
    case CV_ROLE_SHARED_FN: return !cv_l_became(view, isec->id)->table;
    case CV_ROLE_CONSTANT_FN: /* a beaten function takes its table along */
        return !cv_l_became(view, isec->id)->table && !cv_l_became(view, isec->id)->lost;
    default: return false;
    }
}

/* Is it a symbol of this object? */
static bool is_symbol_of(const cv_lobj *obj, cv_id sym)
{
    return sym >= obj->first_sym && sym - obj->first_sym < obj->n_sym;
}

static bool relocations_hold(const cv_check_collect *view, const cv_osec *osec)
{
    if (osec->group != CV_G_REL)
        return true;
    if (osec->target >= view->out->osec.count)
        return false;
    for (cv_id id = osec->rels; id != CV_NONE; id = cv_rel_runs_get(&view->out->run, id)->before) {
        const cv_rel_run *run = cv_rel_runs_get(&view->out->run, id);
        const cv_isec *isec;

        if (run->target >= view->inputs->isec.count || cv_l_became(view, run->target)->out != osec->target ||
            cv_sat_add(run->first, run->count) > view->out->irel.count ||
            (run->before != CV_NONE && run->before >= id))
            return false;
        isec = cv_l_isec(view, run->target);
        for (cv_id i = run->first; i < run->first + run->count; i++)
            if (!is_symbol_of(cv_l_obj(view, isec->obj), cv_l_irel(view, i)->sym))
                return false;
    }
    return true;
}

/* A variable of memory that was left out. */
static bool has_no_memory(const cv_check_collect *view, const cv_isym *sym)
{
    return sym->sec != CV_NONE && cv_l_type(sym) != CV_STT_SECTION && cv_l_became(view, sym->sec)->late &&
           cv_l_became(view, sym->sec)->out == CV_NONE;
}

/* Everything that an input's symbol, section or relocation became exists, and nothing was dropped. */
bool cv_stage_collect_holds(const cv_check_collect *view)
{
    for (cv_id i = 0; i < view->inputs->isec.count; i++) {
        const cv_isec *isec = cv_l_isec(view, i);

        if (!cv_l_below(cv_l_became(view, isec->id)->out, view->out->osec.count) ||
            (cv_l_became(view, isec->id)->out == CV_NONE && must_stay(view, isec)))
            return false;
    }
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);

        if (!cv_l_below(cv_l_out_of(view, sym->id), view->out->osym.count) ||
            !cv_l_below(cv_l_fn_of(view, sym->id), view->functions->fn.count))
            return false;
        if (has_no_memory(view, sym) &&
            (cv_l_bind(sym) == CV_STB_LOCAL || cv_l_entry(view, sym->name)->win == i))
            return false; /* a variable that is wanted */
    }
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        const cv_fn_out *out = cv_l_fn_out(view, i);

        if (out->sym == CV_NONE || (function->def != CV_NONE && out->sec == CV_NONE) ||
            (out->sec != CV_NONE && cv_l_osec(view, out->sec)->fn != function->owner))
            return false;
    }
    for (cv_id i = 0; i < view->out->osec.count; i++)
        if (!relocations_hold(view, cv_l_osec(view, i)))
            return false;
    return cv_out_parts_hold(view->inputs, view->out);
}
