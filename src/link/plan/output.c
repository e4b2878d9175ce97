/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the output is made of: names, sections, symbols, pieces. */
#include "link/in/stages.h"

enum { IN_SHSTRTAB = 1, IN_STRTAB = 2 };

static bool use(cv_link *l, cv_id name, uint32_t which, cv_u32s *list)
{
    cv_meaning *m = cv_l_mean(l, name);

    if (m->strings & which)
        return true;
    m->strings |= which;
    return cv_u32s_push(&l->x->mem, list, name);
}

bool cv_l_use_sh(cv_link *l, cv_id name)
{
    return use(l, name, IN_SHSTRTAB, &l->sh_names);
}

bool cv_l_use_str(cv_link *l, cv_id name)
{
    return use(l, name, IN_STRTAB, &l->str_names);
}

bool cv_l_use_both(cv_link *l, cv_id name)
{
    return cv_l_use_sh(l, name) && cv_l_use_str(l, name);
}

bool cv_l_use_joined(cv_link *l, const char *prefix, cv_id rest)
{
    cv_id name = cv_l_name_join(l, prefix, rest);

    return name != CV_NONE && cv_l_use_both(l, name);
}

cv_id cv_l_new_osym(cv_link *l, const cv_osym *proto)
{
    cv_osym s = *proto;

    if (l->osym.n >= CV_NONE || !cv_osyms_push(&l->x->mem, &l->osym, s))
        return CV_NONE;
    return (cv_id)(l->osym.n - 1);
}

static bool section_symbol(cv_link *l, cv_id sec)
{
    const cv_osym s = { .name = cv_l_osec(l, sec)->name,
                        .sec = sec,
                        .win = CV_NONE,
                        .src = CV_NONE,
                        .fn = CV_NONE,
                        .info = CV_STT_SECTION,
                        .is_section = true };
    cv_id id = cv_l_new_osym(l, &s);

    cv_l_osec(l, sec)->sym = id;
    return id != CV_NONE && cv_u32s_push(&l->x->mem, &l->locals, id);
}

cv_new_section cv_l_section(const cv_link *l, cv_role role, cv_group group)
{
    const cv_section_facts *facts = cv_section_facts_of(role);

    return (cv_new_section){ .group = group,
                             .type = l->o.relocatable ? facts->type_rel : facts->type_exe,
                             .flags = facts->flags,
                             .align = facts->align == 0 ? 1 : facts->align, /* until there is data */
                             .entsize = facts->entsize };
}

cv_id cv_l_new_osec(cv_link *l, const cv_new_section *n)
{
    cv_osec s = { .name = n->name,
                  .group = n->group,
                  .type = n->type,
                  .flags = n->flags,
                  .align = n->align,
                  .entsize = n->entsize,
                  .sym = CV_NONE,
                  .infosec = CV_NONE,
                  .linksec = CV_NONE,
                  .fn = CV_NONE,
                  .target = CV_NONE,
                  .rel = { CV_NONE, CV_NONE },
                  .resolved = CV_NONE,
                  .shared = CV_NONE,
                  .first_part = CV_NONE,
                  .last_part = CV_NONE,
                  .own_first = CV_NONE,
                  .own_next = CV_NONE,
                  .rels = CV_NONE };
    cv_id id = (cv_id)l->osec.n;
    bool ok;

    cv_builder_init(&s.bytes, &l->x->mem);
    ok = l->osec.n < CV_NONE && cv_osecs_push(&l->x->mem, &l->osec, s);
    if (ok && n->named)
        ok = cv_l_use_sh(l, n->name);
    if (ok && n->rel_name) /* a name between the two tables */
        ok = cv_l_use_joined(l, cv_l_has(l, CV_GEN_BANK_RELA) ? ".rela" : ".rel", n->name);
    if (ok && n->named)
        ok = cv_l_use_str(l, n->name);
    if (ok && n->symbol)
        ok = section_symbol(l, id);
    if (!ok)
        return CV_NONE;
    cv_l_mean(l, n->name)->osec = id;
    return id;
}

bool cv_l_add_part(cv_link *l, cv_id osec, cv_id isec, uint64_t base)
{
    cv_lpart p = { .isec = isec, .base = base, .next = CV_NONE };
    cv_id id = (cv_id)l->part.n;
    cv_osec *o = cv_l_osec(l, osec);

    if (l->part.n >= CV_NONE || !cv_lparts_push(&l->x->mem, &l->part, p))
        return false;
    if (o->last_part == CV_NONE)
        o->first_part = id;
    else
        cv_lparts_at(&l->part, o->last_part)->next = id;
    o->last_part = id;
    return true;
}

bool cv_l_add_rel(cv_link *l, cv_id osec, const cv_irel *rel)
{
    cv_irel r = *rel;
    cv_osec *o = cv_l_osec(l, osec);

    r.next = o->rels;
    if (l->irel.n >= CV_NONE || !cv_irels_push(&l->x->mem, &l->irel, r))
        return false;
    o->rels = (cv_id)(l->irel.n - 1);
    return true;
}

/* By the name alone; among sections of one name the last. */
cv_id cv_l_find_osec(cv_link *l, const char *prefix, cv_id rest)
{
    cv_id name = cv_l_name_join(l, prefix, rest);

    return name == CV_NONE ? CV_NONE : cv_l_mean(l, name)->osec;
}
