/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage layout: which sections, symbols and names stay, in which order, with which numbers and offsets. */
#include "base/arith.h"
#include "link/plan/plan.h"

static cv_id new_table(const cv_view_layout *view, const char *name, cv_role role)
{
    cv_new_section section = cv_l_section(view, role, CV_G_FIXED);

    section.name = cv_l_out_join(view, name, view->names->empty);
    return section.name == CV_NONE ? CV_NONE : cv_l_new_osec(view, &section);
}

static cuvet_status make_tables(const cv_view_layout *view)
{
    const cv_new_section none = { .name = view->names->empty, .group = CV_G_FIXED };
    cv_id null = cv_l_new_osec(view, &none);

    view->out->shstrtab = new_table(view, ".shstrtab", CV_ROLE_SHSTRTAB);
    view->out->strtab = new_table(view, ".strtab", CV_ROLE_STRTAB);
    view->out->symtab = new_table(view, ".symtab", CV_ROLE_SYMTAB);
    if (null == CV_NONE || view->out->shstrtab == CV_NONE || view->out->strtab == CV_NONE ||
        view->out->symtab == CV_NONE)
        return cv_l_nomem(view);
    if (!cv_u32s_push(&view->ctx->mem, &view->layout->order, null) ||
        !cv_u32s_push(&view->ctx->mem, &view->layout->order, view->out->shstrtab) ||
        !cv_u32s_push(&view->ctx->mem, &view->layout->order, view->out->strtab) ||
        !cv_u32s_push(&view->ctx->mem, &view->layout->order, view->out->symtab))
        return cv_l_nomem(view);
    return CUVET_OK;
}

/* Functions that are not reached take everything of theirs along. */
static void mark_dead(const cv_view_layout *view)
{
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (cv_l_fn_out(view, function->id)->sec == CV_NONE || cv_l_fn_calls(view, function->id)->live ||
            cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->fn != i)
            continue;
        cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->dead = true;
        for (cv_id own = cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->own_first; own != CV_NONE;
             own = cv_l_osec(view, own)->own_next)
            cv_l_osec(view, own)->dead = true;
        if (cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->shared != CV_NONE)
            cv_l_osec(view, cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->shared)->dead = true;
    }
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(view, i);

        if (osec->group == CV_G_REL &&
            (cv_l_osec(view, osec->target)->dead || cv_l_fixed(view, i)->n_kept == 0))
            osec->dead = true;
    }
}

static bool needs_prototypes(const cv_view_layout *view)
{
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (cv_l_fn_calls(view, function->id)->proto != CV_NONE &&
            !cv_fn_is_taken(cv_l_fn_calls(view, function->id)) && cv_l_fn_calls(view, function->id)->live &&
            cv_l_fn_out(view, function->id)->sym != CV_NONE)
            return true;
    }
    return false;
}

static bool put(const cv_view_layout *view, cv_id sec)
{
    return cv_l_osec(view, sec)->dead || cv_u32s_push(&view->ctx->mem, &view->layout->order, sec);
}

/* ".text.f" gives ".nv.info.f". */
static cv_id info_name(const cv_view_layout *view, cv_id text_name)
{
    cv_span span = cv_l_text(view, text_name), rest;
    cv_id name;

    if (!cv_span_after(span, ".text.", &rest))
        rest = span;
    name = cv_in_name_join(view->ctx, view->names, ".nv.info.", rest);
    return name != CV_NONE && cv_l_name_room(view) ? name : CV_NONE;
}

/* .nv.info.<f> in the order in which the inputs' sections of this name were met. */
static bool put_infos(const cv_view_layout *view)
{
    cv_keys keys = { 0 };
    bool ok = true;

    for (uint64_t i = 0; i < view->out->info_order.count; i++)
        cv_l_osec(view, *cv_u32s_at(&view->out->info_order, i))->index =
            (uint32_t)i; /* until sections have numbers */
    for (uint64_t i = 0; i < view->records->oinfo.count && ok; i++) {
        const cv_oinfo *info = cv_oinfos_at(&view->records->oinfo, i);
        cv_osec *code = cv_l_osec(view, cv_l_fn_out(view, info->fn)->sec);

        code->flags |= cv_elf_barrier_flags(info->barriers);
        ok = cv_keys_push(&view->ctx->mem, &keys,
                          (cv_key){ .key = code->info_listed ? code->index : UINT32_MAX, .index = i });
    }
    cv_keys_sort(&keys);
    for (uint64_t i = 0; i < keys.count && ok; i++) {
        cv_oinfo *info = cv_oinfos_at(&view->records->oinfo, cv_keys_at(&keys, i)->index);
        const cv_isym *def = cv_l_isym(view, cv_l_fn(view, info->fn)->def);
        cv_new_section section = cv_l_section(view, CV_ROLE_NV_INFO_FN, CV_G_META);

        /* ".text.f" gives ".nv.info.f" */
        section.name = info_name(view, cv_l_isec(view, def->sec)->name);
        info->sec = section.name == CV_NONE ? CV_NONE : cv_l_new_osec(view, &section);
        ok = info->sec != CV_NONE && put(view, info->sec);
        if (ok)
            cv_l_osec(view, info->sec)->infosec = cv_l_fn_out(view, info->fn)->sec;
    }
    cv_keys_free(&view->ctx->mem, &keys);
    return ok;
}

static bool put_group(const cv_view_layout *view, cv_group group)
{
    bool ok = true;

    for (cv_id i = 0; i < view->out->osec.count && ok; i++)
        if (cv_l_osec(view, i)->group == group)
            ok = put(view, i);
    return ok;
}

/* Relocations of parameter banks come last where the banks do. */
static bool put_relocations(const cv_view_layout *view)
{
    bool ok = true;

    for (int last = 0; last < 2; last++)
        for (cv_id i = 0; i < view->out->osec.count && ok; i++)
            if (cv_l_osec(view, i)->group == CV_G_REL &&
                cv_l_osec(view, cv_l_osec(view, i)->target)->param == (last == 1))
                ok = put(view, i);
    return ok;
}

static bool put_meta(const cv_view_layout *view)
{
    bool ok = put(view, view->out->info) && (view->out->compat == CV_NONE || put(view, view->out->compat)) &&
              put_infos(view);

    ok = ok && put(view, view->out->callgraph) && put(view, view->out->prototype);
    return ok && (view->out->action == CV_NONE || put(view, view->out->action));
}

static cuvet_status order_sections(const cv_view_layout *view)
{
    bool ok = put_group(view, CV_G_DEBUG) && put_group(view, CV_G_NOTE) && put_meta(view);

    ok = ok && put_relocations(view);
    for (unsigned group = CV_G_CONST; group < CV_N_GROUPS && ok; group++)
        ok = put_group(view, (cv_group)group);
    for (uint64_t i = 0; i < view->layout->order.count && ok; i++)
        cv_l_osec(view, *cv_u32s_at(&view->layout->order, i))->index = (uint32_t)i;
    return ok ? CUVET_OK : cv_l_nomem(view);
}

/* Section symbols of the parameter banks come last where these do; those that the loader writes into, last of
 * the locals. */
static int part_of(const cv_view_layout *view, cv_id id)
{
    const cv_osym *osym = cv_l_osym(view, id);
    const cv_osec *osec = osym->is_section ? cv_l_osec(view, osym->sec) : NULL;

    return osec && osec->group == CV_G_PARAM ? 3 : osec && osec->param ? 1 : 0;
}

/* Section numbers that do not fit a symbol get a table of their own, behind the symbols. */
static cuvet_status make_wide_table(const cv_view_layout *view)
{
    uint64_t at = 4;

    view->out->symtab_shndx = new_table(view, ".symtab_shndx", CV_ROLE_SYMTAB_SHNDX);
    if (view->out->symtab_shndx == CV_NONE ||
        !cv_u32s_push(&view->ctx->mem, &view->layout->order, view->out->symtab_shndx))
        return cv_l_nomem(view);
    for (uint64_t i = view->layout->order.count - 1; i > at; i--)
        *cv_u32s_at(&view->layout->order, i) = *cv_u32s_at(&view->layout->order, i - 1);
    *cv_u32s_at(&view->layout->order, at) = view->out->symtab_shndx;
    for (uint64_t i = at; i < view->layout->order.count; i++)
        cv_l_osec(view, *cv_u32s_at(&view->layout->order, i))->index = (uint32_t)i;
    return CUVET_OK;
}

static cuvet_status order_symbols(const cv_view_layout *view)
{
    bool ok = true, late = false;

    for (int part = 0; part < 4; part++) {
        const cv_u32s *list = part == 2 ? &view->out->globals : &view->out->locals;

        for (uint64_t i = 0; i < list->count && ok; i++) {
            cv_id id = *cv_u32s_get(list, i);

            if (part != 2 && part_of(view, id) != part)
                continue;
            cv_l_osym(view, id)->dead = cv_out_drops(CV_KEEP_FACTS(view), id);
            if (cv_l_osym(view, id)->dead)
                continue;
            ok = cv_u32s_push(&view->ctx->mem, &view->layout->sym_order, id);
            cv_l_osym(view, id)->index = (uint32_t)view->layout->sym_order.count;
            late = late || part == 3;
        }
        if (part == 1 || (part == 3 && late)) /* no local symbol at or behind it, as the gABI wants */
            view->layout->n_locals = view->layout->sym_order.count + 1;
    }
    return ok ? CUVET_OK : cv_l_nomem(view);
}

/* Names of global symbols come last; those of shared variables without a symbol not at all. */
static bool name_globals(const cv_view_layout *view)
{
    bool ok = true;

    for (uint64_t i = 0; i < view->out->globals.count && ok; i++) {
        const cv_osym *osym = cv_l_osym(view, *cv_u32s_at(&view->out->globals, i));

        if (!view->options->relocatable && cv_l_is_shared(cv_l_isym(view, osym->src)) &&
            (osym->dead || (osym->win == CV_NONE && !view->options->debug && !view->options->preserve)))
            continue;
        ok = cv_l_use_str(view, CV_NONE, osym->name);
    }
    return ok;
}

static bool forget(const cv_view_layout *view, const char *prefix, cv_id rest)
{
    cv_id name = cv_l_out_join(view, prefix, rest);

    if (name == CV_NONE)
        return false;
    cv_l_named(view, name)->strings = 0;
    cv_l_named(view, name)->forgotten = true;
    return true;
}

/* The reference forgets it only when the section was never used for anything. */
static bool keeps_shared_name(const cv_view_layout *view, cv_id fn)
{
    cv_id shared = cv_l_osec(view, cv_l_fn_out(view, fn)->sec)->shared;

    return cv_l_fn_calls(view, fn)->unreferred || (shared != CV_NONE && !cv_l_osec(view, shared)->pre);
}

static bool is_dead(const cv_view_layout *view, cv_id fn)
{
    return fn != CV_NONE && !cv_l_fn_calls(view, fn)->live;
}

/* A live function of the same name has its own places, and they stay. */
static void name_live(const cv_view_layout *view, const cv_name_uses *uses, uint32_t which)
{
    for (uint64_t i = 0; i < uses->count; i++) {
        const cv_name_use *place = cv_name_uses_get(uses, i);

        if (place->fn != CV_NONE && !is_dead(view, place->fn) && place->name != CV_NONE &&
            cv_l_named(view, place->name)->forgotten)
            cv_l_named(view, place->name)->strings |= which;
    }
}

/* Names of functions that are gone go from both tables. */
static bool forget_dead(const cv_view_layout *view)
{
    enum { SHARED = 2 };
    static const char *const PREFIXES[] = {
        "", ".nv.info.", ".nv.shared.", ".nv.constant0.", ".rel.nv.constant0.", ".nv.constant2."
    };
    bool ok = true;

    if (view->options->relocatable)
        return true;
    for (cv_id i = 0; i < view->functions->fn.count && ok; i++) {
        cv_id name = cv_l_fn(view, i)->name, sec = cv_l_fn_out(view, i)->sec, code;

        if (cv_l_fn_calls(view, i)->live)
            continue;
        if (sec == CV_NONE) {
            ok = forget(view, "", name);
            continue;
        }
        if (cv_l_osec(view, sec)->fn != i)
            continue;
        code = cv_l_osec(view, sec)->name;
        for (size_t k = 0; k < CV_COUNT(PREFIXES) && ok; k++)
            if (k != SHARED || !keeps_shared_name(view, i))
                ok = forget(view, CV_AT(PREFIXES, k), name);
        ok = ok && forget(view, "", code) && forget(view, ".rel", code) && forget(view, ".rela", code);
    }
    name_live(view, &view->out->sh_names, 1);
    name_live(view, &view->out->str_names, 2);
    return ok;
}

/* Names of local shared variables that nobody names, and that have no place, are forgotten with them. */
static void forget_unnamed(const cv_view_layout *view)
{
    for (uint64_t i = 0; i < view->out->locals.count && !view->options->relocatable; i++) {
        const cv_osym *osym = cv_l_osym(view, *cv_u32s_at(&view->out->locals, i));
        const cv_isym *winner = osym->dead && osym->win != CV_NONE ? cv_l_isym(view, osym->win) : NULL;

        if (winner && cv_l_is_shared(winner) && winner->sec != CV_NONE &&
            !cv_l_became(view, winner->sec)->lost && !cv_l_shared(view, winner->id)->placed) {
            cv_l_named(view, osym->name)->strings &= 1;
            if (osym->str_name)
                cv_name_uses_at(&view->out->str_names, osym->str_name - 1)->name = CV_NONE;
        }
    }
}

/* A name that is forgotten with one function may be that of something else: what stays keeps its name. */
static bool name_what_stays(const cv_view_layout *view)
{
    bool ok = true;

    for (uint64_t i = 1; i < view->layout->order.count && ok; i++) {
        cv_id name = cv_l_osec(view, *cv_u32s_at(&view->layout->order, i))->name;

        ok = (cv_l_named(view, name)->strings & 1) || cv_l_use_sh(view, CV_NONE, name);
    }
    for (uint64_t i = 0; i < view->layout->sym_order.count && ok; i++) {
        cv_id name = cv_l_osym(view, *cv_u32s_at(&view->layout->sym_order, i))->name;

        ok = (cv_l_named(view, name)->strings & 2) || cv_l_use_str(view, CV_NONE, name);
    }
    return ok;
}

/* Each name once. */
static void write_name(const cv_view_layout *view, cv_id name, uint32_t which, cv_builder *out)
{
    cv_name_place *place = cv_name_places_at(&view->layout->name, name);
    uint64_t *off = which == 1 ? &place->sh_off : &place->str_off;

    if (*off != 0)
        return;
    *off = out->len;
    cv_put_span(out, cv_l_text(view, name));
    cv_put_u8(out, 0);
}

/* One table: NUL, names of prototypes, the other ones. */
static bool write_names(const cv_view_layout *view, const cv_u32s *first, const cv_name_uses *uses,
                        uint32_t which, cv_id table)
{
    cv_builder *out = &cv_l_osec(view, table)->bytes;

    cv_put_u8(out, 0);
    for (uint64_t i = 0; first && i < first->count; i++)
        if (*cv_u32s_get(first, i) != CV_NONE)
            write_name(view, *cv_u32s_get(first, i), which, out);
    for (uint64_t i = 0; i < uses->count; i++) {
        const cv_name_use *use = cv_name_uses_get(uses, i);
        const cv_named *entry = use->name == CV_NONE ? NULL : cv_l_named(view, use->name);

        if (entry && (entry->strings & which) && !(entry->forgotten && is_dead(view, use->fn)))
            write_name(view, use->name, which, out);
    }
    cv_l_osec(view, table)->size = out->len;
    return !out->failed;
}

static bool name_places(const cv_view_layout *view)
{
    static const cv_name_place NOWHERE = { 0, 0 };

    while (view->layout->name.count < view->names->set.list.count)
        if (!cv_name_places_push(&view->ctx->mem, &view->layout->name, NOWHERE))
            return false;
    return true;
}

static cuvet_status make_strings(const cv_view_layout *view)
{
    forget_unnamed(view);
    if (!name_globals(view) || !forget_dead(view) || !name_what_stays(view) || !name_places(view) ||
        !write_names(view, &view->calls->protos, &view->out->str_names, 2, view->out->strtab) ||
        !write_names(view, NULL, &view->out->sh_names, 1, view->out->shstrtab))
        return cv_l_nomem(view);
    return CUVET_OK;
}

/* The reference decides before it leaves sections out: with all that were ever made, the empty first one and
 * the records of dead functions. */
static bool is_wide(const cv_view_layout *view)
{
    uint64_t made = 1 + view->out->osec.count - view->records->oinfo.count;

    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        cv_id sec = cv_l_fn_out(view, i)->sec, code;

        if (sec == CV_NONE || cv_l_osec(view, sec)->fn != i || !cv_l_fn(view, i)->has_def)
            continue;
        code = cv_l_isym(view, cv_l_fn(view, i)->def)->sec;
        made += code != CV_NONE && cv_l_isec(view, code)->info_sec != CV_NONE;
    }
    return cv_max(made, view->layout->order.count) >= CV_SHN_LORESERVE;
}

cuvet_status cv_stage_layout(const cv_view_layout *view)
{
    cuvet_status st;

    mark_dead(view);
    cv_l_osec(view, view->out->prototype)->dead = !needs_prototypes(view);
    cv_l_osec(view, view->out->info)->dead = view->records->program_n == 0;
    if (view->out->compat != CV_NONE)
        cv_l_osec(view, view->out->cuinfo)->infosec = view->out->compat;
    else
        cv_l_osec(view, view->out->cuinfo)->flags &= ~(uint64_t)CV_SHF_INFO_LINK;
    cv_l_osec(view, view->out->cuinfo)->linksec = view->out->tkinfo;
    st = make_tables(view);
    if (st == CUVET_OK)
        st = order_sections(view);
    if (st == CUVET_OK && is_wide(view))
        st = make_wide_table(view);
    if (st == CUVET_OK)
        st = order_symbols(view);
    return st == CUVET_OK ? make_strings(view) : st;
}

/* A name is in its table; the one without a letter is at offset 0. */
static bool is_named(const cv_check_layout *view, cv_id name, bool section)
{
    const cv_name_place *entry = cv_name_places_get(&view->layout->name, name);

    return cv_l_text(view, name).len == 0 || (section ? entry->sh_off : entry->str_off) != 0;
}

static bool section_has_place(const cv_check_layout *view, uint64_t index)
{
    const cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, index));

    if (osec->dead || osec->index != index || !is_named(view, osec->name, true))
        return false;
    if (osec->infosec != CV_NONE && cv_l_osec(view, osec->infosec)->dead)
        return false;
    return osec->group != CV_G_REL || !cv_l_osec(view, osec->target)->dead;
}

static bool symbol_has_place(const cv_check_layout *view, uint64_t index)
{
    const cv_osym *osym = cv_l_osym(view, *cv_u32s_get(&view->layout->sym_order, index));
    const cv_osec *osec = osym->sec == CV_NONE ? NULL : cv_l_osec(view, osym->sec);

    if (osym->dead || osym->index != index + 1 || !is_named(view, osym->name, false))
        return false;
    if (!osec || osym->is_section)
        return !osec || !osec->dead;
    /* A shared variable of a relocatable object has its alignment for a value, an array that is declared only
     * a place in the memory of a kernel; functions get their sizes later. */
    if (view->options->relocatable || (osym->win == CV_NONE && osym->size == 0))
        return !osec->dead;
    return !osec->dead && cv_sat_add(osym->value, osym->fn == CV_NONE ? osym->size : 0) <= osec->size;
}

/* Numbers follow the order, what is there is named and names what is there, and no kernel is lost. */
bool cv_stage_layout_holds(const cv_check_layout *view)
{
    for (uint64_t i = 1; i < view->layout->order.count; i++)
        if (!section_has_place(view, i))
            return false;
    for (uint64_t i = 0; i < view->layout->sym_order.count; i++)
        if (!symbol_has_place(view, i))
            return false;
    for (cv_id i = 0; i < view->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(view, i);

        if (cv_l_is_kernel(view, function->id) &&
            (cv_l_osec(view, cv_l_fn_out(view, function->id)->sec)->index == 0 ||
             cv_l_osym(view, cv_l_fn_out(view, function->id)->sym)->index == 0))
            return false;
    }
    return view->layout->n_locals <= view->layout->sym_order.count + 1;
}
