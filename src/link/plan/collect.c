/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage collect: input by input, the functions, sections, symbols, names and relocations of the output, in
 * the order in which the reference linker makes them: functions, other symbols with the sections they lie in,
 * sections that are left, information sections, relocations. */
#include "link/in/stages.h"

static bool add_local(cv_link *link, cv_id osym)
{
    cv_l_osym(link, osym)->local = true;
    return cv_u32s_push(&link->ctx->mem, &link->out->locals, osym) &&
           cv_l_use_str(link, cv_l_osym(link, osym)->name);
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
static cv_id global_symbol(cv_link *link, cv_id id)
{
    const cv_isym *sym = cv_l_isym(link, id);
    cv_id out = cv_l_named(link, sym->name)->osym;
    cv_osym osym;

    if (out != CV_NONE)
        return out;
    osym = symbol_from(sym, id, cv_l_mean(link, sym->name)->win);
    out = cv_l_new_osym(link, &osym);
    if (out == CV_NONE)
        return CV_NONE;
    cv_l_named(link, sym->name)->osym = out;
    if (cv_l_bind(sym) == CV_STB_WEAK && sym->defined) {
        if (!cv_l_is_shared(sym) || link->options->relocatable || link->options->preserve ||
            link->options->debug)
            return add_local(link, out) ? out : CV_NONE;
        cv_l_osym(link, out)->local = true; /* it will have no symbol, and leaves no name */
        return cv_u32s_push(&link->ctx->mem, &link->out->locals, out) ? out : CV_NONE;
    }
    return cv_u32s_push(&link->ctx->mem, &link->out->globals, out) ? out : CV_NONE;
}

static cv_id local_symbol(cv_link *link, cv_id id)
{
    cv_osym osym = symbol_from(cv_l_isym(link, id), id, id);

    return cv_l_new_osym(link, &osym);
}

/* Code and, for a kernel, what is made with it. */
static cuvet_status make_code(cv_link *link, const cv_isym *sym, cv_id fn, cv_id *out)
{
    const cv_isec *sec = cv_l_isec(link, sym->sec);
    cv_new_section code = cv_l_section(link, CV_ROLE_TEXT, CV_G_CODE),
                   shared = cv_l_section(link, CV_ROLE_SHARED_FN, CV_G_NOBITS);
    cv_id name = sym->name, id;
    bool kernel = (sym->other & CV_STO_ENTRY) != 0;

    code.name = sec->name;
    code.align = sec->align;
    code.symbol = code.named = shared.symbol = true;
    /* Of a kernel that is not to be used, the name comes with the section of the input. */
    shared.named = link->options->relocatable || link->options->keep_dead ||
                   cv_link_is_used(link->options, cv_l_text(link, cv_l_fn(link, fn)->name));
    *out = cv_l_new_osec(link, &code);
    if (*out == CV_NONE)
        return cv_l_nomem(link);
    cv_l_osec(link, *out)->fn = fn;
    if (!kernel)
        return CUVET_OK;
    shared.name = cv_l_out_join(link, ".nv.shared.", name);
    if (shared.name == CV_NONE || !cv_l_use_joined(link, ".nv.info.", name) ||
        !cv_u32s_push(&link->ctx->mem, &link->out->info_order, *out))
        return cv_l_nomem(link);
    cv_l_osec(link, *out)->info_listed = true;
    id = cv_l_new_osec(link, &shared);
    if (id == CV_NONE)
        return cv_l_nomem(link);
    cv_l_osec(link, id)->infosec = *out;
    cv_l_osec(link, id)->pre = true;
    cv_l_osec(link, *out)->shared = id;
    return CUVET_OK;
}

static cuvet_status take_definition(cv_link *link, cv_id id, cv_id code)
{
    const cv_isym *sym = cv_l_isym(link, id);
    const cv_isec *sec = cv_l_isec(link, sym->sec);
    cv_osec *osec = cv_l_osec(link, code);

    /* Only global functions have aliases: code belongs to the local one that it names. */
    if (cv_l_bind(sym) == CV_STB_LOCAL && cv_elf_code_symbol(sec->info) != sym->index)
        return cv_link_refuse_section(link, sym->sec, CV_R_LINK_SECTION, sec->type);
    cv_l_became(link, sym->sec)->out = code;
    if (cv_l_canon(link, id) != id) {
        cv_l_became(link, sym->sec)->lost = true;
        return CUVET_OK;
    }
    osec->align = sec->align;
    osec->size = sec->size;
    osec->reg_byte = cv_elf_code_registers(sec->info);
    if (osec->first_part != CV_NONE) {
        cv_lparts_at(&link->out->part, osec->first_part)->isec = sym->sec;
        return CUVET_OK;
    }
    return cv_l_add_part(link, code, sym->sec, 0) ? CUVET_OK : cv_l_nomem(link);
}

/* Code that is there already: that of the owner for an alias, that of an earlier definition for a global
 * name. Never by the name of the section: a local function of another input may have the same. */
static cv_id code_of(const cv_link *link, const cv_isym *sym, cv_id fn)
{
    cv_id out = cv_l_became(link, sym->sec)->out, sec = cv_l_fn_out(link, fn)->sec;

    if (out != CV_NONE)
        return out;
    return sec != CV_NONE && cv_l_osec(link, sec)->fn == fn ? sec : CV_NONE;
}

static cuvet_status collect_function(cv_link *link, cv_id id)
{
    bool local = cv_l_bind(cv_l_isym(link, id)) == CV_STB_LOCAL;
    cv_id fn = cv_l_fn_of(link, id), sym = local ? local_symbol(link, id) : global_symbol(link, id), code;
    cuvet_status st = CUVET_OK;
    const cv_isym *isym = cv_l_isym(link, id);

    if (sym == CV_NONE || (local && !add_local(link, sym)))
        return cv_l_nomem(link);
    *cv_l_became_sym(link, id) = sym;
    cv_l_fn_out(link, fn)->sym = sym;
    cv_l_osym(link, sym)->fn = fn;
    if (isym->sec == CV_NONE)
        return CUVET_OK;
    code = code_of(link, isym, fn);
    if (code == CV_NONE)
        st = make_code(link, isym, fn, &code);
    if (st != CUVET_OK)
        return st;
    /* An alias wins against a weak function whose code is there: nothing would be left in that section. */
    if (cv_l_fn_out(link, fn)->sec != CV_NONE && cv_l_fn_out(link, fn)->sec != code) {
        cv_link_say(link, id, CV_R_LINK_CODE, isym->index, 0);
        return CUVET_E_REFUSED;
    }
    cv_l_fn_out(link, fn)->sec = code;
    cv_l_osym(link, sym)->sec = code;
    return take_definition(link, id, code);
}

/* Shared variables and parts of constant banks have no symbol in a final link, unless it is asked for. */
static bool is_hidden(const cv_isym *sym)
{
    return sym->other == CV_STO_SPACE_SHARED || cv_l_is_hidden_bank(sym);
}

/* A relocatable link keeps the name of what nobody will ever define. */
static cuvet_status collect_nowhere(cv_link *link, cv_id id)
{
    cv_id sym = local_symbol(link, id);

    *cv_l_became_sym(link, id) = sym;
    return sym != CV_NONE && add_local(link, sym) ? CUVET_OK : cv_l_nomem(link);
}

static cuvet_status collect_local(cv_link *link, cv_id id)
{
    const cv_isym *isym = cv_l_isym(link, id);
    uint8_t type = cv_l_type(isym);
    cuvet_status st;
    cv_id sym;

    if (isym->sec == CV_NONE)
        return link->options->relocatable && cv_l_is_nowhere(isym) ? collect_nowhere(link, id) : CUVET_OK;
    st = cv_link_place(link, isym->sec);
    if (st != CUVET_OK || (type != CV_STT_OBJECT && type != CV_STT_CUDA_OBJECT) ||
        cv_l_became(link, isym->sec)->out == CV_NONE)
        return st;
    sym = local_symbol(link, id);
    if (sym == CV_NONE)
        return cv_l_nomem(link);
    *cv_l_became_sym(link, id) = sym;
    cv_l_osym(link, sym)->sec = cv_l_became(link, isym->sec)->out;
    cv_l_osym(link, sym)->hidden = is_hidden(isym);
    if (is_hidden(isym) && !link->options->relocatable && !link->options->preserve &&
        !(link->options->debug && isym->other == CV_STO_SPACE_SHARED)) {
        cv_l_osym(link, sym)->local = true;
        return CUVET_OK;
    }
    return add_local(link, sym) ? CUVET_OK : cv_l_nomem(link);
}

static cv_role role_of(const cv_lobj *obj, cv_id id)
{
    return cv_cubin_sec(&obj->cubin, id)->role;
}

/* Zero memory of an input: without it nothing is missing when none of its variables is wanted. */
static bool is_zero_memory(const cv_link *link, const cv_isec *isec)
{
    return role_of(cv_l_obj(link, isec->obj), isec->index) == CV_ROLE_GLOBAL;
}

/* A weak variable without initial value that an input before this one has: its memory is not wanted. A later
 * input may have a better one; what is there by then stays. */
static bool comes_late(const cv_link *link, cv_id id)
{
    const cv_isym *sym = cv_l_isym(link, id);
    const cv_meaning *entry = cv_l_mean(link, sym->name);

    return sym->sec != CV_NONE && cv_l_bind(sym) == CV_STB_WEAK &&
           is_zero_memory(link, cv_l_isec(link, sym->sec)) &&
           ((entry->weak != CV_NONE && entry->weak < id) || (entry->strong != CV_NONE && entry->strong < id));
}

static cuvet_status collect_global(cv_link *link, cv_id id)
{
    const cv_isym *sym = cv_l_isym(link, id);
    cuvet_status st = CUVET_OK;
    cv_id out;

    if (comes_late(link, id))
        cv_l_became(link, sym->sec)->late = true;
    else if (sym->sec != CV_NONE)
        st = cv_link_place(link, sym->sec);
    if (st != CUVET_OK)
        return st;
    if ((sym->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED && sym->sec == CV_NONE &&
        cv_l_mean(link, sym->name)->win == CV_NONE) {
        cv_id debug = cv_l_debug_shared(link);

        if (debug == CV_NONE)
            return cv_l_nomem(link);
        cv_l_osec(link, debug)->extern_array = true;
        cv_l_osec(link, debug)->align = cv_max(cv_l_osec(link, debug)->align, 16);
    }
    link->out->has_common =
        link->out->has_common ||
        (sym->common && cv_l_isym(link, cv_l_mean(link, sym->name)->win)->common); /* not beaten */
    out = global_symbol(link, id);
    *cv_l_became_sym(link, id) = out;
    return out == CV_NONE ? cv_l_nomem(link) : CUVET_OK;
}

static cuvet_status collect_other(cv_link *link, cv_id id)
{
    const cv_isym *sym = cv_l_isym(link, id);
    uint8_t type = cv_l_type(sym);

    if (sym->index == 0 || type == CV_STT_FUNC || type == CV_STT_SECTION)
        return CUVET_OK;
    return cv_l_bind(sym) == CV_STB_LOCAL ? collect_local(link, id) : collect_global(link, id);
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

static cuvet_status collect_sections(cv_link *link, const cv_lobj *obj)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 1; i < obj->n_sec && st == CUVET_OK; i++) {
        const cv_isec *isec = cv_l_isec(link, obj->first_sec + i);

        if (is_described(role_of(obj, i)) || cv_l_became(link, isec->id)->out != CV_NONE ||
            cv_l_became(link, isec->id)->table)
            continue;
        if (cv_l_became(link, isec->id)->late) /* none of its variables is wanted */
            cv_l_became(link, isec->id)->lost = true;
        else
            st = cv_link_place(link, obj->first_sec + i);
    }
    return st;
}

static cuvet_status collect_infos(cv_link *link, const cv_lobj *obj)
{
    for (cv_id i = 1; i < obj->n_sec; i++) {
        const cv_isec *isec = cv_l_isec(link, obj->first_sec + i);
        cv_id code;

        if (role_of(obj, i) != CV_ROLE_NV_INFO_FN)
            continue;
        if (!cv_l_use_both(link, isec->name))
            return cv_l_nomem(link);
        if (isec->info >= obj->n_sec)
            continue;
        code = cv_l_became(link, obj->first_sec + isec->info)->out;
        if (code == CV_NONE || cv_l_osec(link, code)->info_listed)
            continue;
        cv_l_osec(link, code)->info_listed = true;
        if (!cv_u32s_push(&link->ctx->mem, &link->out->info_order, code))
            return cv_l_nomem(link);
    }
    return CUVET_OK;
}

static cuvet_status collect_object(cv_link *link, const cv_lobj *obj)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < obj->n_sym && st == CUVET_OK; i++)
        if (cv_l_type(cv_l_isym(link, obj->first_sym + i)) == CV_STT_FUNC)
            st = collect_function(link, obj->first_sym + i);
    for (cv_id i = 0; i < obj->n_sym && st == CUVET_OK; i++)
        st = collect_other(link, obj->first_sym + i);
    if (st == CUVET_OK)
        st = collect_sections(link, obj);
    if (st == CUVET_OK)
        st = collect_infos(link, obj);
    for (cv_id i = 1; i < obj->n_sec && st == CUVET_OK; i++)
        if (role_of(obj, i) == CV_ROLE_REL || role_of(obj, i) == CV_ROLE_RELA)
            st = cv_link_relocations(link, obj->first_sec + i);
    return st;
}

static cv_id fixed(cv_link *link, const char *name, cv_role role, cv_group group, bool symbol)
{
    cv_new_section section = cv_l_section(link, role, group);

    section.symbol = symbol;
    section.named = true;
    section.name = cv_l_out_join(link, name, link->names->empty);
    return section.name == CV_NONE ? CV_NONE : cv_l_new_osec(link, &section);
}

static bool begin_lists(cv_link *link)
{
    const cv_fn_out no_fn = { CV_NONE, CV_NONE, CV_NONE };
    const cv_became no_section = { .out = CV_NONE };
    cv_mem *mem = &link->ctx->mem;
    cv_part_out *out = link->out;

    if (!cv_l_fill_none(mem, &out->became_sym, link->inputs->isym.count) ||
        !cv_u8s_fill(mem, &link->uses->by_data, link->functions->fn.count) ||
        !cv_fn_outs_room(mem, &out->fn, link->functions->fn.count) ||
        !cv_becames_room(mem, &out->became, link->inputs->isec.count) || !cv_l_name_room(link))
        return false;
    while (out->fn.count < link->functions->fn.count)
        if (!cv_fn_outs_push(mem, &out->fn, no_fn))
            return false;
    while (out->became.count < link->inputs->isec.count)
        if (!cv_becames_push(mem, &out->became, no_section))
            return false;
    return true;
}

static cuvet_status begin(cv_link *link)
{
    static const char *const NAMES[] = { ".shstrtab",       ".strtab",         ".symtab", ".symtab_shndx",
                                         ".note.nv.tkinfo", ".note.nv.cuinfo", ".nv.info" };
    bool compat = cv_l_has(link, CV_GEN_COMPAT); /* objects of the old kind have none, their program has */

    if (!begin_lists(link))
        return cv_l_nomem(link);
    for (size_t i = 0; i < CV_COUNT(NAMES); i++)
        if (!cv_l_use_joined(link, CV_AT(NAMES, i), link->names->empty))
            return cv_l_nomem(link);
    link->out->tkinfo = fixed(link, ".note.nv.tkinfo", CV_ROLE_TKINFO, CV_G_NOTE, true);
    link->out->cuinfo = fixed(link, ".note.nv.cuinfo", CV_ROLE_CUINFO, CV_G_NOTE, true);
    link->out->info = fixed(link, ".nv.info", CV_ROLE_NV_INFO, CV_G_META, false);
    for (cv_id i = 0; i < link->inputs->obj.count; i++)
        compat = compat || cv_l_obj(link, i)->compat != 0;
    if (compat)
        link->out->compat = fixed(link, ".nv.compat", CV_ROLE_COMPAT, CV_G_META, false);
    return link->out->tkinfo == CV_NONE || link->out->cuinfo == CV_NONE || link->out->info == CV_NONE ||
                   (compat && link->out->compat == CV_NONE)
               ? cv_l_nomem(link)
               : CUVET_OK;
}

static cuvet_status finish(cv_link *link)
{
    bool global = cv_l_find_osec(link, ".nv.global", link->names->empty) != CV_NONE;

    if (link->out->has_common && !link->options->relocatable && !global &&
        fixed(link, ".nv.global", CV_ROLE_GLOBAL, CV_G_NOBITS, true) == CV_NONE)
        return cv_l_nomem(link);
    link->out->callgraph = fixed(link, ".nv.callgraph", CV_ROLE_CALLGRAPH, CV_G_META, true);
    link->out->prototype = fixed(link, ".nv.prototype", CV_ROLE_PROTOTYPE, CV_G_META, true);
    return link->out->callgraph == CV_NONE || link->out->prototype == CV_NONE ? cv_l_nomem(link) : CUVET_OK;
}

/* Bytes of the parameter bank of a code section; 0: it has none. */
static uint64_t parameters(const cv_link *link, const cv_isec *code)
{
    const cv_cubin *cubin = &cv_l_obj(link, code->obj)->cubin;
    uint32_t bank = cv_cubin_sec(cubin, code->index)->const0;

    return bank == 0 ? 0 : cv_cubin_sec(cubin, bank)->header.size;
}

/* A kernel that lost has the parameters of the one that won: both are launched by one name. */
static void check_parameters(cv_link *link)
{
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i), *winner;

        if (cv_l_type(sym) != CV_STT_FUNC || !(sym->other & CV_STO_ENTRY) || sym->sec == CV_NONE)
            continue;
        winner = cv_l_isym(link, cv_l_canon(link, i));
        if (winner != sym && winner->sec != CV_NONE &&
            parameters(link, cv_l_isec(link, sym->sec)) != parameters(link, cv_l_isec(link, winner->sec)))
            cv_link_say(link, i, CV_R_LINK_PARAMETERS, parameters(link, cv_l_isec(link, sym->sec)),
                        parameters(link, cv_l_isec(link, winner->sec)));
    }
}

cuvet_status cv_link_collect(cv_link *link)
{
    cuvet_status st = begin(link);

    check_parameters(link);

    for (cv_id i = 0; i < link->inputs->obj.count && st == CUVET_OK; i++)
        st = collect_object(link, cv_l_obj(link, i));
    return st == CUVET_OK ? finish(link) : st;
}

/* Code and data: what no input has for nothing. Debug data and notes are made anew or dropped on purpose. */
static bool must_stay(const cv_link *link, const cv_isec *isec)
{
    switch ((unsigned)cv_cubin_sec(&cv_l_obj(link, isec->obj)->cubin, isec->index)->role) {
    case CV_ROLE_GLOBAL: return !cv_l_became(link, isec->id)->lost;
    case CV_ROLE_TEXT:
    case CV_ROLE_GLOBAL_INIT:
    case CV_ROLE_CONSTANT:
    case CV_ROLE_CONSTANT_FN:
    case CV_ROLE_SHARED_FN: return !cv_l_became(link, isec->id)->table;
    default: return false;
    }
}

bool cv_link_parts_hold(const cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);
        uint64_t end = 0;

        for (cv_id part = osec->first_part; part != CV_NONE;
             part = cv_lparts_get(&link->out->part, part)->next) {
            const cv_lpart *chunk = cv_lparts_get(&link->out->part, part);

            if (chunk->isec >= link->inputs->isec.count || chunk->base < end)
                return false;
            end = cv_sat_add(chunk->base, cv_l_isec(link, chunk->isec)->size);
        }
        if (end > osec->size)
            return false;
    }
    return true;
}

static bool relocations_hold(const cv_link *link, const cv_osec *osec)
{
    if (osec->group != CV_G_REL)
        return true;
    if (osec->target >= link->out->osec.count)
        return false;
    for (cv_id rel = osec->rels; rel != CV_NONE; rel = cv_l_irel(link, rel)->next) {
        const cv_irel *irel = cv_l_irel(link, rel);

        if (irel->sym >= link->inputs->isym.count || irel->target >= link->inputs->isec.count ||
            cv_l_became(link, irel->target)->out != osec->target)
            return false;
    }
    return true;
}

/* A variable of memory that was left out. */
static bool has_no_memory(const cv_link *link, const cv_isym *sym)
{
    return sym->sec != CV_NONE && cv_l_type(sym) != CV_STT_SECTION && cv_l_became(link, sym->sec)->late &&
           cv_l_became(link, sym->sec)->out == CV_NONE;
}

/* Everything that an input's symbol, section or relocation became exists, and nothing was dropped. */
bool cv_link_collect_holds(const cv_link *link)
{
    for (cv_id i = 0; i < link->inputs->isec.count; i++) {
        const cv_isec *isec = cv_l_isec(link, i);

        if (!cv_l_below(cv_l_became(link, isec->id)->out, link->out->osec.count) ||
            (cv_l_became(link, isec->id)->out == CV_NONE && must_stay(link, isec)))
            return false;
    }
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i);

        if (!cv_l_below(cv_l_out_of(link, sym->id), link->out->osym.count) ||
            !cv_l_below(cv_l_fn_of(link, sym->id), link->functions->fn.count))
            return false;
        if (has_no_memory(link, sym) &&
            (cv_l_bind(sym) == CV_STB_LOCAL || cv_l_mean(link, sym->name)->win == i))
            return false; /* a variable that is wanted */
    }
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(link, i);

        const cv_fn_out *out = cv_l_fn_out(link, i);

        if (out->sym == CV_NONE || (function->def != CV_NONE && out->sec == CV_NONE) ||
            (out->sec != CV_NONE && cv_l_osec(link, out->sec)->fn != function->owner))
            return false;
    }
    for (cv_id i = 0; i < link->out->osec.count; i++)
        if (!relocations_hold(link, cv_l_osec(link, i)))
            return false;
    return cv_link_parts_hold(link);
}
