/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the bytes of an input section go: data of one name is put end to end in the order of the inputs, what
 * belongs to a function goes with the function. */
#include "base/arith.h"
#include "link/in/stages.h"

static cv_role role_of(const cv_link *l, const cv_isec *s)
{
    return cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->role;
}

static bool is_shared(cv_role r)
{
    return r == CV_ROLE_SHARED_FN || r == CV_ROLE_NV_DEBUG_SHARED || r == CV_ROLE_SHARED_RESERVED;
}

/* Group by what a section is; CV_N_GROUPS: not linked. */
static cv_group group_of(cv_role r)
{
    switch ((unsigned)r) {
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
static cv_id owner_of(const cv_link *l, const cv_isec *s)
{
    const cv_lobj *o = cv_l_obj(l, s->obj);

    return s->info < o->n_sec ? cv_l_isec(l, o->first_sec + s->info)->out : CV_NONE;
}

/* A function has a handful of them; many cost. */
static cv_id find_own(const cv_link *l, cv_id code, cv_id name)
{
    cv_id i = cv_l_osec(l, code)->own_first;

    while (i != CV_NONE && cv_l_osec(l, i)->name != name && cv_work(l->x, 1, 0))
        i = cv_l_osec(l, i)->own_next;
    return i;
}

static void own(cv_link *l, cv_id code, cv_id sec)
{
    cv_osec *q = cv_l_osec(l, sec);

    q->infosec = code;
    q->own_next = cv_l_osec(l, code)->own_first;
    cv_l_osec(l, code)->own_first = sec;
}

/* A kernel's parameter bank, whose relocations of texture headers the link may add. */
static cuvet_status add_bank0(cv_link *l, cv_id sec)
{
    bool rela = cv_l_has(l, CV_GEN_BANK_RELA);
    cv_new_section n = cv_l_section(l, rela ? CV_ROLE_RELA : CV_ROLE_REL, CV_G_REL);
    cv_id rel, bank = cv_l_mean(l, cv_l_osec(l, sec)->name)->osec;

    n.name = cv_l_osec(l, sec)->name;
    if (!rela) /* as the reference writes it */
        n.flags = 0;
    rel = cv_l_new_osec(l, &n);
    if (rel == CV_NONE || !cv_u32s_push(&l->x->mem, &l->const0, sec))
        return cv_l_nomem(l);
    cv_l_mean(l, n.name)->osec = bank; /* the name stays the bank's */
    cv_l_osec(l, rel)->name = cv_l_name_join(l, rela ? ".rela" : ".rel", n.name);
    cv_l_osec(l, rel)->target = sec;
    CV_ARRAY_SET(cv_l_osec(l, sec)->rel, rela, rel);
    cv_l_osec(l, sec)->param = rela;
    return CUVET_OK;
}

static cuvet_status make(cv_link *l, const cv_isec *s, cv_role role, cv_group group, cv_id code, cv_id *out)
{
    bool param =
             role == CV_ROLE_CONSTANT_FN && cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->bank == 0,
         bank0 = param && !l->o.relocatable;
    cv_new_section n = { .name = s->name,
                         .group = param && cv_l_has(l, CV_GEN_BANKS_LAST) ? CV_G_PARAM : group,
                         .type = l->o.relocatable ? s->type : cv_section_facts_of(role)->type_exe,
                         .flags = s->flags,
                         .align = s->align,
                         .entsize = s->entsize,
                         .symbol = true,
                         .named = true,
                         .rel_name = bank0 };

    *out = cv_l_new_osec(l, &n);
    if (*out == CV_NONE)
        return cv_l_nomem(l);
    if (code != CV_NONE)
        own(l, code, *out);
    return bank0 ? add_bank0(l, *out) : CUVET_OK;
}

/* The bytes follow what is there. */
static cuvet_status append(cv_link *l, cv_isec *s, cv_id id, cv_id out, cv_role role)
{
    cv_osec *q = cv_l_osec(l, out);
    bool nobits = q->group == CV_G_NOBITS;

    q->align = cv_max(q->align, s->align);
    if (is_shared(role)) {
        q->pre = false;
        if (!l->o.relocatable) /* shared memory is laid out later */
            return cv_l_use_both(l, q->name) ? CUVET_OK : cv_l_nomem(l);
    }
    s->base = cv_sat_align(q->size, cv_max(s->align, 1));
    q->size = cv_sat_add(s->base, s->size);
    return nobits || cv_l_add_part(l, out, id, s->base) ? CUVET_OK : cv_l_nomem(l);
}

/* Branch tables of device functions are placed once for the whole program, when it is known who reaches them.
 */
static bool keep_table(cv_link *l, cv_isec *s, cv_id id, cv_role role, cv_id code)
{
    const cv_lobj *o = cv_l_obj(l, s->obj);
    cv_id fn;

    if (role != CV_ROLE_CONSTANT_FN || l->o.relocatable || code == CV_NONE ||
        cv_cubin_sec(&o->cubin, s->index)->bank != 2)
        return false;
    fn = cv_l_osec(l, code)->fn;
    if (fn == CV_NONE || cv_l_fn(l, fn)->kernel)
        return false;
    s->table = true;
    if (!cv_l_isec(l, o->first_sec + s->info)->lost)
        cv_l_fn(l, fn)->table = id;
    return true;
}

cuvet_status cv_link_place(cv_link *l, cv_id id)
{
    cv_isec *s = cv_l_isec(l, id);
    cv_role role = role_of(l, s);
    cv_group group = group_of(role);
    bool per_function = (s->flags & CV_SHF_INFO_LINK) != 0;
    cv_id code = per_function ? owner_of(l, s) : CV_NONE, out;
    cuvet_status st = CUVET_OK;

    if (s->out != CV_NONE || role == CV_ROLE_TEXT)
        return CUVET_OK;
    if (role == CV_ROLE_SHARED_RESERVED && s->size == 0) /* a name for what the driver has */
        return CUVET_OK;
    if (group == CV_N_GROUPS || (per_function && code == CV_NONE))
        return cv_link_refuse_section(l, id, CV_R_LINK_SECTION, s->type);
    if (keep_table(l, s, id, role, code))
        return CUVET_OK;
    out = per_function ? find_own(l, code, s->name) : cv_l_mean(l, s->name)->osec;
    if (out == CV_NONE && per_function && role == CV_ROLE_SHARED_FN)
        out = cv_l_osec(l, code)->shared;
    if (out == CV_NONE)
        st = make(l, s, role, group, code, &out);
    if (st != CUVET_OK)
        return st;
    s->out = out;
    if (per_function && cv_l_isec(l, cv_l_obj(l, s->obj)->first_sec + s->info)->lost) {
        s->lost = true;
        return CUVET_OK;
    }
    if (per_function)
        cv_l_osec(l, out)->infosec = code;
    return append(l, s, id, out, role);
}

cv_id cv_l_debug_shared(cv_link *l)
{
    cv_id name = cv_l_name(l, cv_span_of(".nv_debug.shared", 16, 0));
    cv_new_section n = cv_l_section(l, CV_ROLE_NV_DEBUG_SHARED, CV_G_NOBITS);

    if (name == CV_NONE)
        return CV_NONE;
    n.name = name;
    n.symbol = n.named = true;
    return cv_l_mean(l, name)->osec != CV_NONE ? cv_l_mean(l, name)->osec : cv_l_new_osec(l, &n);
}
