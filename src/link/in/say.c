/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Diagnostics about inputs: where a symbol or a section lies in its file. */
#include "link/in/stages.h"

void cv_link_say(const cv_link *link, cv_id isym, cv_rule rule, uint64_t got, uint64_t want)
{
    cv_link_say_two(link, isym, CV_NONE, rule, got, want);
}

void cv_link_say_two(const cv_link *link, cv_id isym, cv_id other, cv_rule rule, uint64_t got, uint64_t want)
{
    const cv_isym *sym = isym == CV_NONE ? NULL : cv_l_isym(link, isym),
                  *target = other == CV_NONE ? NULL : cv_l_isym(link, other);
    const cv_lobj *obj = sym ? cv_l_obj(link, sym->obj) : NULL;
    uint64_t entry = cv_elf_sym_size(false), at;

    link->ctx->path.n = 0;
    if (!obj) {
        cv_report(link->ctx, rule, 0, 0, got, want);
        return;
    }
    at = cv_cubin_sec(&obj->cubin, obj->cubin.symtab_index)->header.off;
    cv_path_push(link->ctx, CUVET_P_MEMBER, true, sym->obj);
    cv_path_push(link->ctx, CUVET_P_ELF, false, 0);
    if (target) {
        cv_path_push(link->ctx, CUVET_P_SYMBOL, true, sym->index);
        cv_path_push(link->ctx, CUVET_P_MEMBER, true, target->obj);
    }
    cv_report_at(link->ctx, CUVET_P_SYMBOL, target ? target->index : sym->index, rule,
                 at + sym->index * entry, entry, got, want);
    link->ctx->path.n = 0;
}

/* The header of a section of an input. @return its offset */
static uint64_t point_at(const cv_link *link, cv_id isec)
{
    const cv_isec *home = cv_l_isec(link, isec);

    link->ctx->path.n = 0;
    cv_path_push(link->ctx, CUVET_P_MEMBER, true, home->obj);
    cv_path_push(link->ctx, CUVET_P_ELF, false, 0);
    cv_path_push(link->ctx, CUVET_P_SECTION, true, home->index);
    return cv_l_obj(link, home->obj)->cubin.header.shoff + home->index * cv_elf_shdr_size(false);
}

void cv_link_say_section(const cv_link *link, cv_id isec, cv_rule rule, uint64_t got)
{
    cv_report(link->ctx, rule, point_at(link, isec), 0, got, 0);
    link->ctx->path.n = 0;
}

cuvet_status cv_link_refuse_section(const cv_link *link, cv_id isec, cv_rule rule, uint64_t got)
{
    cuvet_status st = cv_reject(link->ctx, rule, point_at(link, isec), got, 0);

    link->ctx->path.n = 0;
    return st;
}

cuvet_status cv_link_broken(const cv_link *link)
{
    return cv_reject(link->ctx, CV_R_LINK_INVARIANT, 0, link->stage, 0);
}
