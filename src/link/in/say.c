/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Diagnostics about inputs: where a symbol or a section lies in its file. */
#include "link/in/stages.h"

void cv_link_say(const cv_link *l, cv_id isym, cv_rule rule, uint64_t got, uint64_t want)
{
    cv_link_say_two(l, isym, CV_NONE, rule, got, want);
}

void cv_link_say_two(const cv_link *l, cv_id isym, cv_id other, cv_rule rule, uint64_t got, uint64_t want)
{
    const cv_isym *s = isym == CV_NONE ? NULL : cv_l_isym(l, isym),
                  *t = other == CV_NONE ? NULL : cv_l_isym(l, other);
    const cv_lobj *o = s ? cv_l_obj(l, s->obj) : NULL;
    uint64_t entry = cv_elf_sym_size(false), at;

    l->x->path.n = 0;
    if (!o) {
        cv_report(l->x, rule, 0, 0, got, want);
        return;
    }
    at = cv_cubin_sec(&o->cubin, o->cubin.symtab_index)->h.off;
    cv_path_push(l->x, CUVET_P_MEMBER, true, s->obj);
    cv_path_push(l->x, CUVET_P_ELF, false, 0);
    if (t) {
        cv_path_push(l->x, CUVET_P_SYMBOL, true, s->index);
        cv_path_push(l->x, CUVET_P_MEMBER, true, t->obj);
    }
    cv_report_at(l->x, CUVET_P_SYMBOL, t ? t->index : s->index, rule, at + s->index * entry, entry, got,
                 want);
    l->x->path.n = 0;
}

/* The header of a section of an input. @return its offset */
static uint64_t point_at(const cv_link *l, cv_id isec)
{
    const cv_isec *s = cv_l_isec(l, isec);

    l->x->path.n = 0;
    cv_path_push(l->x, CUVET_P_MEMBER, true, s->obj);
    cv_path_push(l->x, CUVET_P_ELF, false, 0);
    cv_path_push(l->x, CUVET_P_SECTION, true, s->index);
    return cv_l_obj(l, s->obj)->cubin.h.shoff + s->index * cv_elf_shdr_size(false);
}

void cv_link_say_section(const cv_link *l, cv_id isec, cv_rule rule, uint64_t got)
{
    cv_report(l->x, rule, point_at(l, isec), 0, got, 0);
    l->x->path.n = 0;
}

cuvet_status cv_link_refuse_section(const cv_link *l, cv_id isec, cv_rule rule, uint64_t got)
{
    cuvet_status st = cv_reject(l->x, rule, point_at(l, isec), got, 0);

    l->x->path.n = 0;
    return st;
}

cuvet_status cv_link_broken(const cv_link *l)
{
    return cv_reject(l->x, CV_R_LINK_INVARIANT, 0, l->stage, 0);
}
