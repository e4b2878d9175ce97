/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the output is made of: names, sections, symbols, pieces. */
#include "link/in/stages.h"

enum { IN_SHSTRTAB = 1, IN_STRTAB = 2 };

bool cv_l_name_room(cv_link *link)
{
    static const cv_named NOTHING = { CV_NONE, CV_NONE, 0 };

    while (link->out->by_name.count < link->names->set.list.count)
        if (!cv_nameds_push(&link->ctx->mem, &link->out->by_name, NOTHING))
            return false;
    return true;
}

cv_id cv_l_out_join(cv_link *link, const char *prefix, cv_id rest)
{
    cv_id id = cv_l_name_join(link, prefix, rest);

    return id != CV_NONE && cv_l_name_room(link) ? id : CV_NONE;
}

static bool use(cv_link *link, cv_id name, uint32_t which, cv_u32s *list)
{
    cv_named *entry = cv_l_named(link, name);

    if (entry->strings & which)
        return true;
    entry->strings |= which;
    return cv_u32s_push(&link->ctx->mem, list, name);
}

bool cv_l_use_sh(cv_link *link, cv_id name)
{
    return use(link, name, IN_SHSTRTAB, &link->out->sh_names);
}

bool cv_l_use_str(cv_link *link, cv_id name)
{
    return use(link, name, IN_STRTAB, &link->out->str_names);
}

bool cv_l_use_both(cv_link *link, cv_id name)
{
    return cv_l_use_sh(link, name) && cv_l_use_str(link, name);
}

bool cv_l_use_joined(cv_link *link, const char *prefix, cv_id rest)
{
    cv_id name = cv_l_out_join(link, prefix, rest);

    return name != CV_NONE && cv_l_use_both(link, name);
}

cv_id cv_l_new_osym(cv_link *link, const cv_osym *proto)
{
    cv_osym osym = *proto;

    if (link->out->osym.count >= CV_NONE || !cv_osyms_push(&link->ctx->mem, &link->out->osym, osym))
        return CV_NONE;
    return (cv_id)(link->out->osym.count - 1);
}

static bool section_symbol(cv_link *link, cv_id sec)
{
    const cv_osym osym = { .name = cv_l_osec(link, sec)->name,
                           .sec = sec,
                           .win = CV_NONE,
                           .src = CV_NONE,
                           .fn = CV_NONE,
                           .info = CV_STT_SECTION,
                           .is_section = true };
    cv_id id = cv_l_new_osym(link, &osym);

    cv_l_osec(link, sec)->sym = id;
    return id != CV_NONE && cv_u32s_push(&link->ctx->mem, &link->out->locals, id);
}

cv_new_section cv_l_section(const cv_link *link, cv_role role, cv_group group)
{
    const cv_section_facts *facts = cv_section_facts_of(role);

    return (cv_new_section){ .group = group,
                             .type = link->options->relocatable ? facts->type_rel : facts->type_exe,
                             .flags = facts->flags,
                             .align = facts->align == 0 ? 1 : facts->align, /* until there is data */
                             .entsize = facts->entsize };
}

cv_id cv_l_new_osec(cv_link *link, const cv_new_section *section)
{
    cv_osec osec = { .name = section->name,
                     .group = section->group,
                     .type = section->type,
                     .flags = section->flags,
                     .align = section->align,
                     .entsize = section->entsize,
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
    cv_id id = (cv_id)link->out->osec.count;
    bool ok;

    cv_builder_init(&osec.bytes, &link->ctx->mem);
    ok = link->out->osec.count < CV_NONE && cv_osecs_push(&link->ctx->mem, &link->out->osec, osec);
    if (ok && section->named)
        ok = cv_l_use_sh(link, section->name);
    if (ok && section->rel_name) /* a name between the two tables */
        ok = cv_l_use_joined(link, cv_l_has(link, CV_GEN_BANK_RELA) ? ".rela" : ".rel", section->name);
    if (ok && section->named)
        ok = cv_l_use_str(link, section->name);
    if (ok && section->symbol)
        ok = section_symbol(link, id);
    if (!ok)
        return CV_NONE;
    cv_l_named(link, section->name)->osec = id;
    return id;
}

bool cv_l_add_part(cv_link *link, cv_id osec, cv_id isec, uint64_t base)
{
    cv_lpart part = { .isec = isec, .base = base, .next = CV_NONE };
    cv_id id = (cv_id)link->out->part.count;
    cv_osec *out_sec = cv_l_osec(link, osec);

    if (link->out->part.count >= CV_NONE || !cv_lparts_push(&link->ctx->mem, &link->out->part, part))
        return false;
    if (out_sec->last_part == CV_NONE)
        out_sec->first_part = id;
    else
        cv_lparts_at(&link->out->part, out_sec->last_part)->next = id;
    out_sec->last_part = id;
    return true;
}

bool cv_l_add_rel(cv_link *link, cv_id osec, const cv_irel *rel)
{
    cv_irel irel = *rel;
    cv_osec *out_sec = cv_l_osec(link, osec);

    irel.next = out_sec->rels;
    if (link->out->irel.count >= CV_NONE || !cv_irels_push(&link->ctx->mem, &link->out->irel, irel))
        return false;
    out_sec->rels = (cv_id)(link->out->irel.count - 1);
    return true;
}

/* By the name alone; among sections of one name the last. */
cv_id cv_l_find_osec(cv_link *link, const char *prefix, cv_id rest)
{
    cv_id name = cv_l_out_join(link, prefix, rest);

    return name == CV_NONE ? CV_NONE : cv_l_named(link, name)->osec;
}
