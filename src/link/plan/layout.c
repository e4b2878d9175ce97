/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage layout: which sections, symbols and names stay, in which order, with which numbers and offsets. */
#include "base/arith.h"
#include "link/in/stages.h"

static cv_id new_table(cv_link *link, const char *name, cv_role role)
{
    cv_new_section section = cv_l_section(link, role, CV_G_FIXED);

    section.name = cv_l_out_join(link, name, link->names->empty);
    return section.name == CV_NONE ? CV_NONE : cv_l_new_osec(link, &section);
}

static cuvet_status make_tables(cv_link *link)
{
    const cv_new_section none = { .name = link->names->empty, .group = CV_G_FIXED };
    cv_id null = cv_l_new_osec(link, &none);

    link->out->shstrtab = new_table(link, ".shstrtab", CV_ROLE_SHSTRTAB);
    link->out->strtab = new_table(link, ".strtab", CV_ROLE_STRTAB);
    link->out->symtab = new_table(link, ".symtab", CV_ROLE_SYMTAB);
    if (null == CV_NONE || link->out->shstrtab == CV_NONE || link->out->strtab == CV_NONE ||
        link->out->symtab == CV_NONE)
        return cv_l_nomem(link);
    if (!cv_u32s_push(&link->ctx->mem, &link->layout->order, null) ||
        !cv_u32s_push(&link->ctx->mem, &link->layout->order, link->out->shstrtab) ||
        !cv_u32s_push(&link->ctx->mem, &link->layout->order, link->out->strtab) ||
        !cv_u32s_push(&link->ctx->mem, &link->layout->order, link->out->symtab))
        return cv_l_nomem(link);
    return CUVET_OK;
}

/* Functions that are not reached take everything of theirs along. */
static void bury(cv_link *link)
{
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(link, i);

        if (cv_l_fn_out(link, function->id)->sec == CV_NONE || cv_l_fn_calls(link, function->id)->live ||
            cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->fn != i)
            continue;
        cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->dead = true;
        for (cv_id own = cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->own_first; own != CV_NONE;
             own = cv_l_osec(link, own)->own_next)
            cv_l_osec(link, own)->dead = true;
        if (cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->shared != CV_NONE)
            cv_l_osec(link, cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->shared)->dead = true;
    }
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(link, i);

        if (osec->group == CV_G_REL &&
            (cv_l_osec(link, osec->target)->dead || cv_l_fixed(link, i)->n_kept == 0))
            osec->dead = true;
    }
}

static bool needs_prototypes(const cv_link *link)
{
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(link, i);

        if (cv_l_fn_calls(link, function->id)->proto != CV_NONE &&
            cv_l_fn_calls(link, function->id)->taken == CV_NONE && cv_l_fn_calls(link, function->id)->live &&
            cv_l_fn_out(link, function->id)->sym != CV_NONE)
            return true;
    }
    return false;
}

static bool put(cv_link *link, cv_id sec)
{
    return cv_l_osec(link, sec)->dead || cv_u32s_push(&link->ctx->mem, &link->layout->order, sec);
}

/* .nv.info.<f> in the order in which the inputs' sections of this name were met. */
static bool put_infos(cv_link *link)
{
    cv_keys keys = { 0 };
    bool ok = true;

    for (uint64_t i = 0; i < link->out->info_order.count; i++)
        cv_l_osec(link, *cv_u32s_at(&link->out->info_order, i))->index =
            (uint32_t)i; /* until sections have numbers */
    for (uint64_t i = 0; i < link->records->oinfo.count && ok; i++) {
        const cv_osec *code =
            cv_l_osec(link, cv_l_fn_out(link, cv_oinfos_at(&link->records->oinfo, i)->fn)->sec);

        ok = cv_keys_push(&link->ctx->mem, &keys,
                          (cv_key){ .key = code->info_listed ? code->index : UINT32_MAX, .index = i });
    }
    cv_keys_sort(&keys);
    for (uint64_t i = 0; i < keys.count && ok; i++) {
        cv_oinfo *info = cv_oinfos_at(&link->records->oinfo, cv_keys_at(&keys, i)->index);
        const cv_isym *def = cv_l_isym(link, cv_l_fn(link, info->fn)->def);
        cv_new_section section = cv_l_section(link, CV_ROLE_NV_INFO_FN, CV_G_META);

        /* ".text.f" gives ".nv.info.f" */
        section.name = cv_link_info_name(link, cv_l_isec(link, def->sec)->name);
        info->sec = section.name == CV_NONE ? CV_NONE : cv_l_new_osec(link, &section);
        ok = info->sec != CV_NONE && put(link, info->sec);
        if (ok)
            cv_l_osec(link, info->sec)->infosec = cv_l_fn_out(link, info->fn)->sec;
    }
    cv_keys_free(&link->ctx->mem, &keys);
    return ok;
}

/* ".text.f" gives ".nv.info.f". */
cv_id cv_link_info_name(cv_link *link, cv_id text_name)
{
    cv_span span = cv_l_text(link, text_name), rest;

    if (!cv_span_after(span, ".text.", &rest))
        rest = span;
    return cv_l_name_join_span(link, ".nv.info.", rest);
}

static bool put_group(cv_link *link, cv_group group)
{
    bool ok = true;

    for (cv_id i = 0; i < link->out->osec.count && ok; i++)
        if (cv_l_osec(link, i)->group == group)
            ok = put(link, i);
    return ok;
}

/* Relocations of parameter banks come last where the banks do. */
static bool put_relocations(cv_link *link)
{
    bool ok = true;

    for (int last = 0; last < 2; last++)
        for (cv_id i = 0; i < link->out->osec.count && ok; i++)
            if (cv_l_osec(link, i)->group == CV_G_REL &&
                cv_l_osec(link, cv_l_osec(link, i)->target)->param == (last == 1))
                ok = put(link, i);
    return ok;
}

static bool put_meta(cv_link *link)
{
    bool ok = put(link, link->out->info) && (link->out->compat == CV_NONE || put(link, link->out->compat)) &&
              put_infos(link);

    ok = ok && put(link, link->out->callgraph) && put(link, link->out->prototype);
    return ok && (link->out->action == CV_NONE || put(link, link->out->action));
}

static cuvet_status order_sections(cv_link *link)
{
    bool ok = put_group(link, CV_G_DEBUG) && put_group(link, CV_G_NOTE) && put_meta(link);

    ok = ok && put_relocations(link);
    for (unsigned group = CV_G_CONST; group < CV_N_GROUPS && ok; group++)
        ok = put_group(link, (cv_group)group);
    for (uint64_t i = 0; i < link->layout->order.count && ok; i++)
        cv_l_osec(link, *cv_u32s_at(&link->layout->order, i))->index = (uint32_t)i;
    return ok ? CUVET_OK : cv_l_nomem(link);
}

/* Section symbols of the parameter banks come last where these do; those that the loader writes into, last of
 * the locals. */
static int part_of(const cv_link *link, cv_id id)
{
    const cv_osym *osym = cv_l_osym(link, id);
    const cv_osec *osec = osym->is_section ? cv_l_osec(link, osym->sec) : NULL;

    return osec && osec->group == CV_G_PARAM ? 3 : osec && osec->param ? 1 : 0;
}

/* Section numbers that do not fit a symbol get a table of their own, behind the symbols. */
static cuvet_status make_wide_table(cv_link *link)
{
    uint64_t at = 4;

    link->out->symtab_shndx = new_table(link, ".symtab_shndx", CV_ROLE_SYMTAB_SHNDX);
    if (link->out->symtab_shndx == CV_NONE ||
        !cv_u32s_push(&link->ctx->mem, &link->layout->order, link->out->symtab_shndx))
        return cv_l_nomem(link);
    for (uint64_t i = link->layout->order.count - 1; i > at; i--)
        *cv_u32s_at(&link->layout->order, i) = *cv_u32s_at(&link->layout->order, i - 1);
    *cv_u32s_at(&link->layout->order, at) = link->out->symtab_shndx;
    for (uint64_t i = at; i < link->layout->order.count; i++)
        cv_l_osec(link, *cv_u32s_at(&link->layout->order, i))->index = (uint32_t)i;
    return CUVET_OK;
}

static cuvet_status order_symbols(cv_link *link)
{
    bool ok = true, late = false;

    for (int part = 0; part < 4; part++) {
        const cv_u32s *list = part == 2 ? &link->out->globals : &link->out->locals;

        for (uint64_t i = 0; i < list->count && ok; i++) {
            cv_id id = *cv_u32s_get(list, i);

            if (part != 2 && part_of(link, id) != part)
                continue;
            cv_l_osym(link, id)->dead = cv_link_drops(link, id);
            if (cv_l_osym(link, id)->dead)
                continue;
            ok = cv_u32s_push(&link->ctx->mem, &link->layout->sym_order, id);
            cv_l_osym(link, id)->index = (uint32_t)link->layout->sym_order.count;
            late = late || part == 3;
        }
        if (part == 1 || (part == 3 && late)) /* no local symbol at or behind it, as the gABI wants */
            link->layout->n_locals = link->layout->sym_order.count + 1;
    }
    return ok ? CUVET_OK : cv_l_nomem(link);
}

/* Names of global symbols come last; those of shared variables without a symbol not at all. */
static bool name_globals(cv_link *link)
{
    bool ok = true;

    for (uint64_t i = 0; i < link->out->globals.count && ok; i++) {
        const cv_osym *osym = cv_l_osym(link, *cv_u32s_at(&link->out->globals, i));

        if (!link->options->relocatable && cv_l_is_shared(cv_l_isym(link, osym->src)) &&
            (osym->dead || (osym->win == CV_NONE && !link->options->debug && !link->options->preserve)))
            continue;
        ok = cv_l_use_str(link, osym->name);
    }
    return ok;
}

static bool forget(cv_link *link, const char *prefix, cv_id rest)
{
    cv_id name = cv_l_out_join(link, prefix, rest);

    if (name == CV_NONE)
        return false;
    cv_l_named(link, name)->strings = 0;
    return true;
}

/* The reference forgets it only when the section was never used for anything. */
static bool keeps_shared_name(const cv_link *link, cv_id fn)
{
    cv_id shared = cv_l_osec(link, cv_l_fn_out(link, fn)->sec)->shared;

    return cv_l_fn_calls(link, fn)->unreferred || (shared != CV_NONE && !cv_l_osec(link, shared)->pre);
}

/* Names of functions that are gone go from both tables. */
static bool forget_dead(cv_link *link)
{
    enum { SHARED = 2 };
    static const char *const PREFIXES[] = {
        "", ".nv.info.", ".nv.shared.", ".nv.constant0.", ".rel.nv.constant0.", ".nv.constant2."
    };
    bool ok = true;

    for (cv_id i = 0; i < link->functions->fn.count && ok && !link->options->relocatable; i++) {
        cv_id name = cv_l_fn(link, i)->name, sec = cv_l_fn_out(link, i)->sec, code;

        if (cv_l_fn_calls(link, i)->live)
            continue;
        if (sec == CV_NONE) {
            ok = forget(link, "", name);
            continue;
        }
        if (cv_l_osec(link, sec)->fn != i)
            continue;
        code = cv_l_osec(link, sec)->name;
        for (size_t k = 0; k < CV_COUNT(PREFIXES) && ok; k++)
            if (k != SHARED || !keeps_shared_name(link, i))
                ok = forget(link, CV_AT(PREFIXES, k), name);
        ok = ok && forget(link, "", code) && forget(link, ".rel", code) && forget(link, ".rela", code);
    }
    return ok;
}

/* A name that is forgotten with one function may be that of another: what stays keeps its name. */
static bool name_what_stays(cv_link *link)
{
    bool ok = true;

    for (uint64_t i = 1; i < link->layout->order.count && ok; i++)
        ok = cv_l_use_sh(link, cv_l_osec(link, *cv_u32s_at(&link->layout->order, i))->name);
    for (uint64_t i = 0; i < link->layout->sym_order.count && ok; i++)
        ok = cv_l_use_str(link, cv_l_osym(link, *cv_u32s_at(&link->layout->sym_order, i))->name);
    return ok;
}

/* One table: NUL, then each name once. */
static bool write_names(cv_link *link, const cv_u32s *first, const cv_u32s *names, uint32_t which,
                        cv_id table)
{
    cv_builder *out = &cv_l_osec(link, table)->bytes;

    cv_put_u8(out, 0);
    for (int part = 0; part < 2; part++) {
        const cv_u32s *list = part ? names : first;

        for (uint64_t i = 0; list && i < list->count; i++) {
            cv_name_place *place = cv_name_places_at(&link->layout->name, *cv_u32s_get(list, i));
            uint64_t *off = which == 1 ? &place->sh_off : &place->str_off;

            if (*off != 0 || (part && !(cv_l_named(link, *cv_u32s_get(list, i))->strings & which)))
                continue;
            *off = out->len;
            cv_put_span(out, cv_l_text(link, *cv_u32s_get(list, i)));
            cv_put_u8(out, 0);
        }
    }
    cv_l_osec(link, table)->size = out->len;
    return !out->failed;
}

static bool name_places(cv_link *link)
{
    static const cv_name_place NOWHERE = { 0, 0 };

    while (link->layout->name.count < link->names->set.list.count)
        if (!cv_name_places_push(&link->ctx->mem, &link->layout->name, NOWHERE))
            return false;
    return true;
}

static cuvet_status make_strings(cv_link *link)
{
    if (!name_globals(link) || !forget_dead(link) || !name_what_stays(link) || !name_places(link) ||
        !write_names(link, &link->calls->protos, &link->out->str_names, 2, link->out->strtab) ||
        !write_names(link, NULL, &link->out->sh_names, 1, link->out->shstrtab))
        return cv_l_nomem(link);
    return CUVET_OK;
}

/* Sizes of what is written from records and symbols. */
static void set_sizes(cv_link *link)
{
    cv_l_osec(link, link->out->symtab)->size = cv_elf_sym_size(false) * (link->layout->sym_order.count + 1);
    if (link->out->symtab_shndx != CV_NONE)
        cv_l_osec(link, link->out->symtab_shndx)->size = 4 * (link->layout->sym_order.count + 1);
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(link, i);

        if (osec->group == CV_G_REL)
            osec->size = cv_l_fixed(link, i)->n_kept * osec->entsize;
    }
}

static cuvet_status set_offsets(cv_link *link)
{
    uint64_t pos = cv_elf_ehdr_size(false), padding = 0, most = 0;

    for (uint64_t i = 0; i < link->inputs->obj.count; i++)
        most = cv_sat_add(most, cv_l_obj(link, (cv_id)i)->image.len);
    most = cv_padding_most(most);

    for (uint64_t i = 1; i < link->layout->order.count; i++) {
        cv_osec *osec = cv_l_osec(link, *cv_u32s_at(&link->layout->order, i));

        osec->off = cv_sat_align(pos, cv_max(osec->align, 1));
        padding = cv_sat_add(padding, osec->off - pos);
        pos = osec->off;
        if (osec->group != CV_G_NOBITS)
            pos = cv_sat_add(pos, osec->size);
    }
    link->synthetics->shoff = cv_sat_align(pos, 8);
    link->synthetics->phoff =
        cv_sat_add(link->synthetics->shoff, link->layout->order.count * cv_elf_shdr_size(false));
    return padding <= most ? CUVET_OK : cv_reject(link->ctx, CV_R_LIMIT_PADDING, 0, padding, most);
}

cuvet_status cv_link_arrange(cv_link *link)
{
    cuvet_status st;

    bury(link);
    cv_l_osec(link, link->out->prototype)->dead = !needs_prototypes(link);
    cv_l_osec(link, link->out->info)->dead = link->records->program_n == 0;
    if (link->out->compat != CV_NONE)
        cv_l_osec(link, link->out->cuinfo)->infosec = link->out->compat;
    else
        cv_l_osec(link, link->out->cuinfo)->flags &= ~(uint64_t)CV_SHF_INFO_LINK;
    cv_l_osec(link, link->out->cuinfo)->linksec = link->out->tkinfo;
    st = make_tables(link);
    if (st == CUVET_OK)
        st = order_sections(link);
    if (st == CUVET_OK && link->layout->order.count >= CV_SHN_LORESERVE)
        st = make_wide_table(link);
    if (st == CUVET_OK)
        st = order_symbols(link);
    return st == CUVET_OK ? make_strings(link) : st;
}

cuvet_status cv_link_offsets(cv_link *link)
{
    set_sizes(link);
    return set_offsets(link);
}

/* A name is in its table; the one without a letter is at offset 0. */
static bool is_named(const cv_link *link, cv_id name, bool section)
{
    const cv_name_place *entry = cv_name_places_get(&link->layout->name, name);

    return cv_l_text(link, name).len == 0 || (section ? entry->sh_off : entry->str_off) != 0;
}

static bool section_has_place(const cv_link *link, uint64_t index)
{
    const cv_osec *osec = cv_l_osec(link, *cv_u32s_get(&link->layout->order, index));

    if (osec->dead || osec->index != index || !is_named(link, osec->name, true))
        return false;
    if (osec->infosec != CV_NONE && cv_l_osec(link, osec->infosec)->dead)
        return false;
    return osec->group != CV_G_REL || !cv_l_osec(link, osec->target)->dead;
}

static bool symbol_has_place(const cv_link *link, uint64_t index)
{
    const cv_osym *osym = cv_l_osym(link, *cv_u32s_get(&link->layout->sym_order, index));
    const cv_osec *osec = osym->sec == CV_NONE ? NULL : cv_l_osec(link, osym->sec);

    if (osym->dead || osym->index != index + 1 || !is_named(link, osym->name, false))
        return false;
    if (!osec || osym->is_section)
        return !osec || !osec->dead;
    /* A shared variable of a relocatable object has its alignment for a value, an array that is declared only
     * a place in the memory of a kernel; functions get their sizes later. */
    if (link->options->relocatable || (osym->win == CV_NONE && osym->size == 0))
        return !osec->dead;
    return !osec->dead && cv_sat_add(osym->value, osym->fn == CV_NONE ? osym->size : 0) <= osec->size;
}

/* Numbers follow the order, what is there is named and names what is there, and no kernel is lost. */
bool cv_link_arrange_holds(const cv_link *link)
{
    for (uint64_t i = 1; i < link->layout->order.count; i++)
        if (!section_has_place(link, i))
            return false;
    for (uint64_t i = 0; i < link->layout->sym_order.count; i++)
        if (!symbol_has_place(link, i))
            return false;
    for (cv_id i = 0; i < link->functions->fn.count; i++) {
        const cv_lfn *function = cv_l_fn(link, i);

        if (cv_l_is_kernel(link, function->id) &&
            (cv_l_osec(link, cv_l_fn_out(link, function->id)->sec)->index == 0 ||
             cv_l_osym(link, cv_l_fn_out(link, function->id)->sym)->index == 0))
            return false;
    }
    return link->layout->n_locals <= link->layout->sym_order.count + 1;
}
