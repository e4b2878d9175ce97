/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the bytes of an input section go: data of one name is put end to end in the order of the inputs, what
 * belongs to a function goes with the function. */
#include "base/arith.h"
#include "link/plan/collect.h"

static cv_role role_of(const cv_view_collect *view, const cv_isec *isec)
{
    return cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->role;
}

static bool is_shared(cv_role role)
{
    return role == CV_ROLE_SHARED_FN || role == CV_ROLE_NV_DEBUG_SHARED || role == CV_ROLE_SHARED_RESERVED;
}

/* Group by what a section is; CV_N_GROUPS: not linked. */
static cv_group group_of(cv_role role)
{
    switch ((unsigned)role) {
    case CV_ROLE_DEBUG:
    case CV_ROLE_NV_DEBUG: return CV_G_DEBUG;
    case CV_ROLE_CONSTANT:
    case CV_ROLE_CONSTANT_FN: return CV_G_CONST;
    case CV_ROLE_GLOBAL_INIT: return CV_G_INIT;
    case CV_ROLE_GLOBAL:
    case CV_ROLE_SHARED_FN:
    case CV_ROLE_SHARED_RESERVED:
    case CV_ROLE_NV_DEBUG_SHARED: return CV_G_NOBITS;
    default: return CV_N_GROUPS;
    }
}

/* Output section of the function that a per-function section belongs to; CV_NONE: it names no code. */
static cv_id owner_of(const cv_view_collect *view, const cv_isec *isec)
{
    const cv_lobj *obj = cv_l_obj(view, isec->obj);

    return isec->info < obj->n_sec ? cv_l_became(view, obj->first_sec + isec->info)->out : CV_NONE;
}

/* A function has a handful of them; many cost. */
static cv_id find_own(const cv_view_collect *view, cv_id code, cv_id name)
{
    cv_id i = cv_l_osec(view, code)->own_first;

    while (i != CV_NONE && cv_l_osec(view, i)->name != name && cv_work(view->ctx, 1, 0))
        i = cv_l_osec(view, i)->own_next;
    return i;
}

static void own(const cv_view_collect *view, cv_id code, cv_id sec)
{
    cv_osec *osec = cv_l_osec(view, sec);

    osec->infosec = code;
    osec->own_next = cv_l_osec(view, code)->own_first;
    cv_l_osec(view, code)->own_first = sec;
}

/* A kernel's parameter bank, whose relocations of texture headers the link may add. */
static cuvet_status add_bank0(const cv_view_collect *view, cv_id sec)
{
    bool rela = cv_l_has(view, CV_GEN_BANK_RELA);
    cv_new_section section = cv_l_section(view, rela ? CV_ROLE_RELA : CV_ROLE_REL, CV_G_REL);
    cv_id rel, bank = cv_l_named(view, cv_l_osec(view, sec)->name)->osec;

    section.name = cv_l_osec(view, sec)->name;
    if (!rela) /* as the reference writes it */
        section.flags = 0;
    rel = cv_l_new_osec(view, &section);
    if (rel == CV_NONE || !cv_u32s_push(&view->ctx->mem, &view->out->const0, sec))
        return cv_l_nomem(view);
    cv_l_named(view, section.name)->osec = bank; /* the name stays the bank's */
    cv_l_osec(view, rel)->name = cv_l_out_join(view, rela ? ".rela" : ".rel", section.name);
    cv_l_osec(view, rel)->target = sec;
    CV_ARRAY_SET(cv_l_osec(view, sec)->rel, rela, rel);
    cv_l_osec(view, sec)->param = rela;
    return CUVET_OK;
}

static bool is_beaten(const cv_view_collect *view, const cv_isec *isec)
{
    return cv_l_became(view, cv_l_obj(view, isec->obj)->first_sec + isec->info)->lost;
}

static cuvet_status make(const cv_view_collect *view, const cv_isec *isec, cv_role role, cv_group group,
                         cv_id code, cv_id *out)
{
    uint32_t bank = cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->bank;
    bool param = role == CV_ROLE_CONSTANT_FN && bank == CV_BANK_PARAMETERS,
         bank0 = param && !view->options->relocatable,
         as_written = param || (code != CV_NONE && is_beaten(view, isec));
    cv_new_section section = { .name = isec->name,
                               .fn = cv_out_owner(view->out, code),
                               .group = param && cv_l_has(view, CV_GEN_BANKS_LAST) ? CV_G_PARAM : group,
                               .type = view->options->relocatable
                                           ? cv_section_type_rel(role, bank, isec->type)
                                           : cv_section_facts_of(role)->type_exe,
                               .flags = as_written ? isec->written_flags : isec->flags,
                               .align = isec->align,
                               .entsize = isec->entsize,
                               .symbol = true,
                               .named = true,
                               .rel_name = bank0 };

    *out = cv_l_new_osec(view, &section);
    if (*out == CV_NONE)
        return cv_l_nomem(view);
    if (code != CV_NONE)
        own(view, code, *out);
    return bank0 ? add_bank0(view, *out) : CUVET_OK;
}

/* The bytes follow what is there. */
static cuvet_status append(const cv_view_collect *view, const cv_isec *isec, cv_id id, cv_id out,
                           cv_role role)
{
    cv_osec *osec = cv_l_osec(view, out);
    bool nobits = osec->group == CV_G_NOBITS;

    osec->align = cv_max(osec->align, isec->align);
    if (is_shared(role)) {
        osec->pre = false;
        if (!view->options->relocatable) /* shared memory is laid out later */
            return cv_l_use_both(view, cv_out_owner(view->out, out), osec->name) ? CUVET_OK
                                                                                 : cv_l_nomem(view);
    }
    cv_l_became(view, isec->id)->base = cv_sat_align(osec->size, cv_max(isec->align, 1));
    osec->size = cv_sat_add(cv_l_became(view, isec->id)->base, isec->size);
    return nobits || cv_l_add_part(view, out, id, cv_l_became(view, isec->id)->base) ? CUVET_OK
                                                                                     : cv_l_nomem(view);
}

static bool is_table(const cv_view_collect *view, const cv_isec *isec, cv_role role)
{
    return role == CV_ROLE_CONSTANT_FN &&
           cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->bank == CV_BANK_TABLES;
}

/* The branch table of a weak function that was beaten, which no code names. One that was read before the
 * winner goes with its function. One behind it stays, as the reference has it: behind the winner's own in a
 * relocatable link, and where the winner has none. */
static bool stays_beaten(const cv_view_collect *view, cv_id code)
{
    cv_id fn = cv_l_osec(view, code)->fn;

    return cv_l_osec(view, code)->first_part != CV_NONE && fn != CV_NONE && !cv_l_fn(view, fn)->kernel &&
           (view->options->relocatable || cv_l_fn_out(view, fn)->table == CV_NONE);
}

/* Branch tables of device functions are placed once for the whole program, when it is known who reaches them.
 */
static bool keep_table(const cv_view_collect *view, const cv_isec *isec, cv_id id, cv_role role, cv_id code)
{
    cv_id fn;

    if (!is_table(view, isec, role) || view->options->relocatable || code == CV_NONE)
        return false;
    fn = cv_l_osec(view, code)->fn;
    if (fn == CV_NONE || cv_l_fn(view, fn)->kernel)
        return false;
    if (is_beaten(view, isec) && stays_beaten(view, code))
        return false;
    cv_l_became(view, isec->id)->table = true;
    if (!is_beaten(view, isec))
        cv_l_fn_out(view, fn)->table = id;
    return true;
}

cuvet_status cv_collect_section(const cv_view_collect *view, cv_id id)
{
    const cv_isec *isec = cv_l_isec(view, id);
    cv_role role = role_of(view, isec);
    cv_group group = group_of(role);
    bool per_function = (isec->flags & CV_SHF_INFO_LINK) != 0;
    cv_id code = per_function ? owner_of(view, isec) : CV_NONE, out;
    cuvet_status st = CUVET_OK;
    bool beaten;

    if (cv_l_became(view, isec->id)->out != CV_NONE || role == CV_ROLE_TEXT)
        return CUVET_OK;
    if (role == CV_ROLE_SHARED_RESERVED && isec->size == 0) /* a name for what the driver has */
        return CUVET_OK;
    if (group == CV_N_GROUPS || (per_function && code == CV_NONE))
        return cv_link_refuse_section(view, id, CV_R_LINK_SECTION, isec->type);
    if (keep_table(view, isec, id, role, code))
        return CUVET_OK;
    beaten = per_function && is_beaten(view, isec);
    if (beaten && is_table(view, isec, role)) {
        if (!stays_beaten(view, code)) {
            cv_l_became(view, isec->id)->lost = true;
            return CUVET_OK;
        }
        beaten = false;
    }
    out = per_function ? find_own(view, code, isec->name) : cv_l_named(view, isec->name)->osec;
    if (out == CV_NONE && per_function && role == CV_ROLE_SHARED_FN)
        out = cv_l_osec(view, code)->shared;
    if (out == CV_NONE)
        st = make(view, isec, role, group, code, &out);
    if (st != CUVET_OK)
        return st;
    cv_l_became(view, isec->id)->out = out;
    if (beaten) {
        cv_l_became(view, isec->id)->lost = true;
        return CUVET_OK;
    }
    if (per_function)
        cv_l_osec(view, out)->infosec = code;
    return append(view, isec, id, out, role);
}

cv_id cv_collect_debug_shared(const cv_view_collect *view)
{
    cv_id name = cv_l_out_join(view, ".nv_debug.shared", view->names->empty);
    cv_new_section section = cv_l_section(view, CV_ROLE_NV_DEBUG_SHARED, CV_G_NOBITS);

    if (name == CV_NONE)
        return CV_NONE;
    section.name = name;
    section.symbol = section.named = true;
    return cv_l_named(view, name)->osec != CV_NONE ? cv_l_named(view, name)->osec
                                                   : cv_l_new_osec(view, &section);
}
