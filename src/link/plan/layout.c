/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage layout: which sections, symbols and names stay, in which order, with which numbers and offsets. */
#include "base/arith.h"
#include "link/in/stages.h"

static cv_id new_table(cv_link *l, const char *name, cv_role role)
{
    cv_new_section n = cv_l_section(l, role, CV_G_FIXED);

    n.name = cv_l_name_join(l, name, l->empty);
    return n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
}

static cuvet_status make_tables(cv_link *l)
{
    const cv_new_section none = { .name = l->empty, .group = CV_G_FIXED };
    cv_id null = cv_l_new_osec(l, &none);

    l->shstrtab = new_table(l, ".shstrtab", CV_ROLE_SHSTRTAB);
    l->strtab = new_table(l, ".strtab", CV_ROLE_STRTAB);
    l->symtab = new_table(l, ".symtab", CV_ROLE_SYMTAB);
    if (null == CV_NONE || l->shstrtab == CV_NONE || l->strtab == CV_NONE || l->symtab == CV_NONE)
        return cv_l_nomem(l);
    if (!cv_u32s_push(&l->x->mem, &l->order, null) || !cv_u32s_push(&l->x->mem, &l->order, l->shstrtab) ||
        !cv_u32s_push(&l->x->mem, &l->order, l->strtab) || !cv_u32s_push(&l->x->mem, &l->order, l->symtab))
        return cv_l_nomem(l);
    return CUVET_OK;
}

/* Functions that are not reached take everything of theirs along. */
static void bury(cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->sec == CV_NONE || f->live || cv_l_osec(l, f->sec)->fn != i)
            continue;
        cv_l_osec(l, f->sec)->dead = true;
        for (cv_id p = cv_l_osec(l, f->sec)->own_first; p != CV_NONE; p = cv_l_osec(l, p)->own_next)
            cv_l_osec(l, p)->dead = true;
        if (cv_l_osec(l, f->sec)->shared != CV_NONE)
            cv_l_osec(l, cv_l_osec(l, f->sec)->shared)->dead = true;
    }
    for (cv_id i = 0; i < l->osec.n; i++) {
        cv_osec *q = cv_l_osec(l, i);

        if (q->group == CV_G_REL && (cv_l_osec(l, q->target)->dead || q->n_kept == 0))
            q->dead = true;
    }
}

static bool needs_prototypes(const cv_link *l)
{
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->proto != CV_NONE && f->taken == CV_NONE && f->live && f->sym != CV_NONE)
            return true;
    }
    return false;
}

static bool put(cv_link *l, cv_id sec)
{
    return cv_l_osec(l, sec)->dead || cv_u32s_push(&l->x->mem, &l->order, sec);
}

/* .nv.info.<f> in the order in which the inputs' sections of this name were met. */
static bool put_infos(cv_link *l)
{
    cv_keys keys = { 0 };
    bool ok = true;

    for (uint64_t i = 0; i < l->info_order.n; i++)
        cv_l_osec(l, *cv_u32s_at(&l->info_order, i))->index = (uint32_t)i; /* until sections have numbers */
    for (uint64_t i = 0; i < l->oinfo.n && ok; i++) {
        const cv_osec *code = cv_l_osec(l, cv_l_fn(l, cv_oinfos_at(&l->oinfo, i)->fn)->sec);

        ok = cv_keys_push(&l->x->mem, &keys,
                          (cv_key){ .key = code->info_listed ? code->index : UINT32_MAX, .index = i });
    }
    cv_keys_sort(&keys);
    for (uint64_t i = 0; i < keys.n && ok; i++) {
        cv_oinfo *e = cv_oinfos_at(&l->oinfo, cv_keys_at(&keys, i)->index);
        const cv_isym *def = cv_l_isym(l, cv_l_fn(l, e->fn)->def);
        cv_new_section n = cv_l_section(l, CV_ROLE_NV_INFO_FN, CV_G_META);

        /* ".text.f" gives ".nv.info.f" */
        n.name = cv_link_info_name(l, cv_l_isec(l, def->sec)->name);
        e->sec = n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
        ok = e->sec != CV_NONE && put(l, e->sec);
        if (ok)
            cv_l_osec(l, e->sec)->infosec = cv_l_fn(l, e->fn)->sec;
    }
    cv_keys_free(&l->x->mem, &keys);
    return ok;
}

/* ".text.f" gives ".nv.info.f". */
cv_id cv_link_info_name(cv_link *l, cv_id text_name)
{
    cv_span s = cv_l_text(l, text_name), rest;

    if (!cv_span_after(s, ".text.", &rest))
        rest = s;
    return cv_l_name_join_span(l, ".nv.info.", rest);
}

static bool put_group(cv_link *l, cv_group g)
{
    bool ok = true;

    for (cv_id i = 0; i < l->osec.n && ok; i++)
        if (cv_l_osec(l, i)->group == g)
            ok = put(l, i);
    return ok;
}

/* Relocations of parameter banks come last where the banks do. */
static bool put_relocations(cv_link *l)
{
    bool ok = true;

    for (int last = 0; last < 2; last++)
        for (cv_id i = 0; i < l->osec.n && ok; i++)
            if (cv_l_osec(l, i)->group == CV_G_REL &&
                cv_l_osec(l, cv_l_osec(l, i)->target)->param == (last == 1))
                ok = put(l, i);
    return ok;
}

static bool put_meta(cv_link *l)
{
    bool ok = put(l, l->info) && (l->compat == CV_NONE || put(l, l->compat)) && put_infos(l);

    ok = ok && put(l, l->callgraph) && put(l, l->prototype);
    return ok && (l->action == CV_NONE || put(l, l->action));
}

static cuvet_status order_sections(cv_link *l)
{
    bool ok = put_group(l, CV_G_DEBUG) && put_group(l, CV_G_NOTE) && put_meta(l);

    ok = ok && put_relocations(l);
    for (unsigned g = CV_G_CONST; g < CV_N_GROUPS && ok; g++)
        ok = put_group(l, (cv_group)g);
    for (uint64_t i = 0; i < l->order.n && ok; i++)
        cv_l_osec(l, *cv_u32s_at(&l->order, i))->index = (uint32_t)i;
    return ok ? CUVET_OK : cv_l_nomem(l);
}

/* Section symbols of the parameter banks come last where these do; those that the loader writes into, last of
 * the locals. */
static int part_of(const cv_link *l, cv_id id)
{
    const cv_osym *y = cv_l_osym(l, id);
    const cv_osec *q = y->is_section ? cv_l_osec(l, y->sec) : NULL;

    return q && q->group == CV_G_PARAM ? 3 : q && q->param ? 1 : 0;
}

/* Section numbers that do not fit a symbol get a table of their own, behind the symbols. */
static cuvet_status make_wide_table(cv_link *l)
{
    uint64_t at = 4;

    l->symtab_shndx = new_table(l, ".symtab_shndx", CV_ROLE_SYMTAB_SHNDX);
    if (l->symtab_shndx == CV_NONE || !cv_u32s_push(&l->x->mem, &l->order, l->symtab_shndx))
        return cv_l_nomem(l);
    for (uint64_t i = l->order.n - 1; i > at; i--)
        *cv_u32s_at(&l->order, i) = *cv_u32s_at(&l->order, i - 1);
    *cv_u32s_at(&l->order, at) = l->symtab_shndx;
    for (uint64_t i = at; i < l->order.n; i++)
        cv_l_osec(l, *cv_u32s_at(&l->order, i))->index = (uint32_t)i;
    return CUVET_OK;
}

static cuvet_status order_symbols(cv_link *l)
{
    bool ok = true, late = false;

    for (int part = 0; part < 4; part++) {
        const cv_u32s *list = part == 2 ? &l->globals : &l->locals;

        for (uint64_t i = 0; i < list->n && ok; i++) {
            cv_id id = *cv_u32s_get(list, i);

            if (part != 2 && part_of(l, id) != part)
                continue;
            cv_l_osym(l, id)->dead = cv_link_drops(l, id);
            if (cv_l_osym(l, id)->dead)
                continue;
            ok = cv_u32s_push(&l->x->mem, &l->sym_order, id);
            cv_l_osym(l, id)->index = (uint32_t)l->sym_order.n;
            late = late || part == 3;
        }
        if (part == 1 || (part == 3 && late)) /* no local symbol at or behind it, as the gABI wants */
            l->n_locals = l->sym_order.n + 1;
    }
    return ok ? CUVET_OK : cv_l_nomem(l);
}

/* Names of global symbols come last; those of shared variables without a symbol not at all. */
static bool name_globals(cv_link *l)
{
    bool ok = true;

    for (uint64_t i = 0; i < l->globals.n && ok; i++) {
        const cv_osym *y = cv_l_osym(l, *cv_u32s_at(&l->globals, i));

        if (!l->o.relocatable && cv_l_is_shared(cv_l_isym(l, y->src)) &&
            (y->dead || (y->win == CV_NONE && !l->o.debug && !l->o.preserve)))
            continue;
        ok = cv_l_use_str(l, y->name);
    }
    return ok;
}

static bool forget(cv_link *l, const char *prefix, cv_id rest)
{
    cv_id name = cv_l_name_join(l, prefix, rest);

    if (name == CV_NONE)
        return false;
    cv_l_mean(l, name)->strings = 0;
    return true;
}

/* The reference forgets it only when the section was never used for anything. */
static bool keeps_shared_name(const cv_link *l, cv_id fn)
{
    cv_id shared = cv_l_osec(l, cv_l_fn(l, fn)->sec)->shared;

    return cv_l_fn(l, fn)->unreferred || (shared != CV_NONE && !cv_l_osec(l, shared)->pre);
}

/* Names of functions that are gone go from both tables. */
static bool forget_dead(cv_link *l)
{
    enum { SHARED = 2 };
    static const char *const PREFIXES[] = {
        "", ".nv.info.", ".nv.shared.", ".nv.constant0.", ".rel.nv.constant0.", ".nv.constant2."
    };
    bool ok = true;

    for (cv_id i = 0; i < l->fn.n && ok && !l->o.relocatable; i++) {
        cv_id name = cv_l_fn(l, i)->name, sec = cv_l_fn(l, i)->sec, code;

        if (cv_l_fn(l, i)->live)
            continue;
        if (sec == CV_NONE) {
            ok = forget(l, "", name);
            continue;
        }
        if (cv_l_osec(l, sec)->fn != i)
            continue;
        code = cv_l_osec(l, sec)->name;
        for (size_t k = 0; k < CV_COUNT(PREFIXES) && ok; k++)
            if (k != SHARED || !keeps_shared_name(l, i))
                ok = forget(l, CV_AT(PREFIXES, k), name);
        ok = ok && forget(l, "", code) && forget(l, ".rel", code) && forget(l, ".rela", code);
    }
    return ok;
}

/* A name that is forgotten with one function may be that of another: what stays keeps its name. */
static bool name_what_stays(cv_link *l)
{
    bool ok = true;

    for (uint64_t i = 1; i < l->order.n && ok; i++)
        ok = cv_l_use_sh(l, cv_l_osec(l, *cv_u32s_at(&l->order, i))->name);
    for (uint64_t i = 0; i < l->sym_order.n && ok; i++)
        ok = cv_l_use_str(l, cv_l_osym(l, *cv_u32s_at(&l->sym_order, i))->name);
    return ok;
}

/* One table: NUL, then each name once. */
static bool write_names(cv_link *l, const cv_u32s *first, const cv_u32s *names, uint32_t which, cv_id table)
{
    cv_builder *out = &cv_l_osec(l, table)->bytes;

    cv_put_u8(out, 0);
    for (int part = 0; part < 2; part++) {
        const cv_u32s *list = part ? names : first;

        for (uint64_t i = 0; list && i < list->n; i++) {
            cv_meaning *e = cv_l_mean(l, *cv_u32s_get(list, i));
            uint64_t *off = which == 1 ? &e->sh_off : &e->str_off;

            if (*off != 0 || (part && !(e->strings & which)))
                continue;
            *off = out->len;
            cv_put_span(out, cv_l_text(l, *cv_u32s_get(list, i)));
            cv_put_u8(out, 0);
        }
    }
    cv_l_osec(l, table)->size = out->len;
    return !out->failed;
}

static cuvet_status make_strings(cv_link *l)
{
    if (!name_globals(l) || !forget_dead(l) || !name_what_stays(l) ||
        !write_names(l, &l->protos, &l->str_names, 2, l->strtab) ||
        !write_names(l, NULL, &l->sh_names, 1, l->shstrtab))
        return cv_l_nomem(l);
    return CUVET_OK;
}

/* Sizes of what is written from records and symbols. */
static void set_sizes(cv_link *l)
{
    cv_l_osec(l, l->symtab)->size = cv_elf_sym_size(false) * (l->sym_order.n + 1);
    if (l->symtab_shndx != CV_NONE)
        cv_l_osec(l, l->symtab_shndx)->size = 4 * (l->sym_order.n + 1);
    for (cv_id i = 0; i < l->osec.n; i++) {
        cv_osec *q = cv_l_osec(l, i);

        if (q->group == CV_G_REL)
            q->size = q->n_kept * q->entsize;
    }
}

static cuvet_status set_offsets(cv_link *l)
{
    uint64_t pos = cv_elf_ehdr_size(false), padding = 0, most = 0;

    for (uint64_t i = 0; i < l->obj.n; i++)
        most = cv_sat_add(most, cv_l_obj(l, (cv_id)i)->image.len);
    most = cv_padding_most(most);

    for (uint64_t i = 1; i < l->order.n; i++) {
        cv_osec *q = cv_l_osec(l, *cv_u32s_at(&l->order, i));

        q->off = cv_sat_align(pos, cv_max(q->align, 1));
        padding = cv_sat_add(padding, q->off - pos);
        pos = q->off;
        if (q->group != CV_G_NOBITS)
            pos = cv_sat_add(pos, q->size);
    }
    l->shoff = cv_sat_align(pos, 8);
    l->phoff = cv_sat_add(l->shoff, l->order.n * cv_elf_shdr_size(false));
    return padding <= most ? CUVET_OK : cv_reject(l->x, CV_R_LIMIT_PADDING, 0, padding, most);
}

cuvet_status cv_link_arrange(cv_link *l)
{
    cuvet_status st;

    bury(l);
    cv_l_osec(l, l->prototype)->dead = !needs_prototypes(l);
    cv_l_osec(l, l->info)->dead = l->program_n == 0;
    if (l->compat != CV_NONE)
        cv_l_osec(l, l->cuinfo)->infosec = l->compat;
    else
        cv_l_osec(l, l->cuinfo)->flags &= ~(uint64_t)CV_SHF_INFO_LINK;
    cv_l_osec(l, l->cuinfo)->linksec = l->tkinfo;
    st = make_tables(l);
    if (st == CUVET_OK)
        st = order_sections(l);
    if (st == CUVET_OK && l->order.n >= CV_SHN_LORESERVE)
        st = make_wide_table(l);
    if (st == CUVET_OK)
        st = order_symbols(l);
    return st == CUVET_OK ? make_strings(l) : st;
}

cuvet_status cv_link_offsets(cv_link *l)
{
    set_sizes(l);
    return set_offsets(l);
}

/* A name is in its table; the one without a letter is at offset 0. */
static bool is_named(const cv_link *l, cv_id name, bool section)
{
    const cv_meaning *m = cv_l_mean(l, name);

    return cv_l_text(l, name).len == 0 || (section ? m->sh_off : m->str_off) != 0;
}

static bool section_has_place(const cv_link *l, uint64_t i)
{
    const cv_osec *q = cv_l_osec(l, *cv_u32s_get(&l->order, i));

    if (q->dead || q->index != i || !is_named(l, q->name, true))
        return false;
    if (q->infosec != CV_NONE && cv_l_osec(l, q->infosec)->dead)
        return false;
    return q->group != CV_G_REL || !cv_l_osec(l, q->target)->dead;
}

static bool symbol_has_place(const cv_link *l, uint64_t i)
{
    const cv_osym *y = cv_l_osym(l, *cv_u32s_get(&l->sym_order, i));
    const cv_osec *q = y->sec == CV_NONE ? NULL : cv_l_osec(l, y->sec);

    if (y->dead || y->index != i + 1 || !is_named(l, y->name, false))
        return false;
    if (!q || y->is_section)
        return !q || !q->dead;
    /* A shared variable of a relocatable object has its alignment for a value, an array that is declared only
     * a place in the memory of a kernel; functions get their sizes later. */
    if (l->o.relocatable || (y->win == CV_NONE && y->size == 0))
        return !q->dead;
    return !q->dead && cv_sat_add(y->value, y->fn == CV_NONE ? y->size : 0) <= q->size;
}

/* Numbers follow the order, what is there is named and names what is there, and no kernel is lost. */
bool cv_link_arrange_holds(const cv_link *l)
{
    for (uint64_t i = 1; i < l->order.n; i++)
        if (!section_has_place(l, i))
            return false;
    for (uint64_t i = 0; i < l->sym_order.n; i++)
        if (!symbol_has_place(l, i))
            return false;
    for (cv_id i = 0; i < l->fn.n; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (cv_link_is_kernel(f) && (cv_l_osec(l, f->sec)->index == 0 || cv_l_osym(l, f->sym)->index == 0))
            return false;
    }
    return l->n_locals <= l->sym_order.n + 1;
}
