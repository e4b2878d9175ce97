/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the output is made of: names, sections, symbols, pieces. */
#include "link/plan/plan.h"

enum { IN_SHSTRTAB = 1, IN_STRTAB = 2 };

bool cv_out_name_room(cv_ctx *ctx, const cv_part_names *names, cv_part_out *out)
{
    static const cv_named NOTHING = { CV_NONE, CV_NONE, CV_NONE, CV_NONE, 0, false };

    if (!cv_nameds_room(&ctx->mem, &out->by_name, names->set.list.cap)) /* as many as names have room for */
        return false;
    while (out->by_name.count < names->set.list.count)
        if (!cv_nameds_push(&ctx->mem, &out->by_name, NOTHING))
            return false;
    return true;
}

cv_id cv_out_join(cv_ctx *ctx, cv_part_names *names, cv_part_out *out, const char *prefix, cv_id rest)
{
    cv_id id = cv_in_name_join(ctx, names, prefix, cv_names_text(&names->set, rest));

    return id != CV_NONE && cv_out_name_room(ctx, names, out) ? id : CV_NONE;
}

static bool use(cv_ctx *ctx, cv_part_out *out, cv_name_use place, unsigned which)
{
    cv_named *entry = cv_l_named_at(out, place.name);
    cv_id *user = which == IN_STRTAB ? &entry->str_user : &entry->sh_user;

    if ((entry->strings & which) && *user == place.fn)
        return true;
    entry->strings |= which;
    *user = place.fn;
    return cv_name_uses_push(&ctx->mem, which == IN_STRTAB ? &out->str_names : &out->sh_names, place);
}

bool cv_out_use(cv_ctx *ctx, cv_part_out *out, cv_id fn, cv_id name, unsigned which)
{
    const cv_name_use place = { .name = name, .fn = fn };

    return (!(which & IN_SHSTRTAB) || use(ctx, out, place, IN_SHSTRTAB)) &&
           (!(which & IN_STRTAB) || use(ctx, out, place, IN_STRTAB));
}

bool cv_out_use_joined(cv_ctx *ctx, cv_part_names *names, cv_part_out *out, cv_id fn, const char *prefix,
                       cv_id rest)
{
    cv_id name = cv_out_join(ctx, names, out, prefix, rest);

    return name != CV_NONE && cv_out_use(ctx, out, fn, name, IN_SHSTRTAB | IN_STRTAB);
}

cv_id cv_out_owner(const cv_part_out *out, cv_id osec)
{
    const cv_osec *section;

    if (osec == CV_NONE)
        return CV_NONE;
    section = cv_osecs_get(&out->osec, osec);
    return section->fn != CV_NONE || section->infosec == CV_NONE
               ? section->fn
               : cv_osecs_get(&out->osec, section->infosec)->fn;
}

cv_id cv_out_new_osym(cv_ctx *ctx, cv_part_out *out, const cv_osym *proto)
{
    cv_osym osym = *proto;

    if (out->osym.count >= CV_NONE || !cv_osyms_push(&ctx->mem, &out->osym, osym))
        return CV_NONE;
    return (cv_id)(out->osym.count - 1);
}

static bool section_symbol(cv_ctx *ctx, cv_part_out *out, cv_id sec)
{
    const cv_osym osym = { .name = cv_l_osec_at(out, sec)->name,
                           .sec = sec,
                           .win = CV_NONE,
                           .src = CV_NONE,
                           .fn = CV_NONE,
                           .info = CV_STT_SECTION,
                           .is_section = true };
    cv_id id = cv_out_new_osym(ctx, out, &osym);

    cv_l_osec_at(out, sec)->sym = id;
    return id != CV_NONE && cv_u32s_push(&ctx->mem, &out->locals, id);
}

cv_new_section cv_out_section(const cv_link_options *options, cv_role role, cv_group group)
{
    const cv_section_facts *facts = cv_section_facts_of(role);

    return (cv_new_section){ .fn = CV_NONE,
                             .group = group,
                             .type = options->relocatable ? facts->type_rel : facts->type_exe,
                             .flags = facts->flags,
                             .align = facts->align == 0 ? 1 : facts->align, /* until there is data */
                             .entsize = facts->entsize };
}

cv_id cv_out_new_osec(cv_ctx *ctx, const cv_link_options *options, cv_part_names *names, cv_part_out *out,
                      const cv_new_section *section)
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
    cv_id id = (cv_id)out->osec.count;
    bool ok;

    cv_builder_init(&osec.bytes, &ctx->mem);
    ok = out->osec.count < CV_NONE && cv_osecs_push(&ctx->mem, &out->osec, osec);
    if (ok && section->named)
        ok = cv_out_use(ctx, out, section->fn, section->name, IN_SHSTRTAB);
    if (ok && section->rel_name) /* a name between the two tables */
        ok = cv_out_use_joined(ctx, names, out, section->fn,
                               cv_gen_has(options->gen, CV_GEN_BANK_RELA) ? ".rela" : ".rel", section->name);
    if (ok && section->named)
        ok = cv_out_use(ctx, out, section->fn, section->name, IN_STRTAB);
    if (ok && section->symbol)
        ok = section_symbol(ctx, out, id);
    if (!ok)
        return CV_NONE;
    cv_l_named_at(out, section->name)->osec = id;
    return id;
}

bool cv_out_add_part(cv_ctx *ctx, cv_part_out *out, cv_id osec, cv_id isec, uint64_t base)
{
    cv_lpart part = { .isec = isec, .base = base, .next = CV_NONE };
    cv_id id = (cv_id)out->part.count;
    cv_osec *out_sec = cv_l_osec_at(out, osec);

    if (out->part.count >= CV_NONE || !cv_lparts_push(&ctx->mem, &out->part, part))
        return false;
    if (out_sec->last_part == CV_NONE)
        out_sec->first_part = id;
    else
        cv_lparts_at(&out->part, out_sec->last_part)->next = id;
    out_sec->last_part = id;
    return true;
}

/* By the name alone; among sections of one name the last. */
cv_id cv_out_find_osec(const cv_part_names *names, const cv_part_out *out, const char *name)
{
    cv_id id = cv_names_find(&names->set, cv_span_of_str(name));

    return id < out->by_name.count ? cv_nameds_get(&out->by_name, id)->osec : CV_NONE;
}

bool cv_out_parts_hold(const cv_part_inputs *inputs, const cv_part_out *out)
{
    for (cv_id i = 0; i < out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec_get(out, i);
        uint64_t end = 0;

        for (cv_id part = osec->first_part; part != CV_NONE; part = cv_lparts_get(&out->part, part)->next) {
            const cv_lpart *chunk = cv_lparts_get(&out->part, part);

            if (chunk->isec >= inputs->isec.count || chunk->base < end)
                return false;
            end = cv_sat_add(chunk->base, cv_l_isec_get(inputs, chunk->isec)->size);
        }
        if (end > osec->size)
            return false;
    }
    return true;
}
