/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocations of the inputs: read into lists of the section that they patch, the last one first, as the
 * reference linker keeps them. */
#include "link/in/stages.h"

typedef struct table {
    const cv_lobj *o;
    const cv_isec *sec, *target;
    cv_id target_id;
    cv_span body;
    uint64_t n;
    bool rela;
} table;

static cv_elf_reloc entry(const table *t, uint64_t i)
{
    cv_elf_reloc r;

    cv_elf_read_reloc(t->body, false, t->rela, i, &r);
    return r;
}

/* An addend of 0 behind the first entry makes the reference look for the other kind of section. */
static bool looks_for_rel(const table *t)
{
    for (uint64_t i = 1; t->rela && i < t->n; i++)
        if (entry(t, i).addend == 0)
            return true;
    return false;
}

static cuvet_status make(cv_link *l, const table *t, cv_id name, cv_id *out)
{
    cv_new_section n = cv_l_section(l, t->rela ? CV_ROLE_RELA : CV_ROLE_REL, CV_G_REL);
    cv_id patched = t->target->out, id;

    n.name = name;
    *out = cv_l_new_osec(l, &n);
    if (*out == CV_NONE)
        return cv_l_nomem(l);
    cv_l_osec(l, *out)->target = patched;
    CV_ARRAY_SET(cv_l_osec(l, patched)->rel, t->rela, *out);
    if (!l->o.preserve || cv_l_osec(l, patched)->resolved != CV_NONE)
        return CUVET_OK;
    n = cv_l_section(l, CV_ROLE_RESOLVED_RELA, CV_G_REL);
    n.name = cv_l_name_join(l, ".nv.resolvedrela", cv_l_osec(l, patched)->name);
    n.named = true;
    id = n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
    if (id == CV_NONE)
        return cv_l_nomem(l);
    cv_l_osec(l, id)->target = patched;
    cv_l_osec(l, id)->is_resolved = true;
    cv_l_osec(l, patched)->resolved = id;
    return CUVET_OK;
}

/* A frame or a row of lines of a function that lost against an earlier input: its address is of nobody. Other
 * debug data stays, and names the function that won. */
static bool is_orphan(const cv_link *l, const table *t, const cv_isym *s)
{
    static const char *const NAMES[] = { ".debug_frame", ".debug_line", ".nv_debug_line_sass" };
    cv_span name = cv_l_text(l, cv_l_osec(l, t->target->out)->name);
    bool listed = false;
    cv_id win;

    if (cv_l_type(s) != CV_STT_FUNC || s->sec == CV_NONE || !cv_l_isec(l, s->sec)->lost)
        return false;
    for (size_t i = 0; i < CV_COUNT(NAMES) && !listed; i++)
        listed = cv_span_eq_str(name, CV_AT(NAMES, i));
    if (!listed)
        return false;
    win = cv_l_mean(l, s->name)->win;
    return win != CV_NONE && cv_l_isym(l, win)->obj < s->obj;
}

static cuvet_status add(cv_link *l, const table *t, cv_id out, uint64_t i)
{
    cv_elf_reloc r = entry(t, i);
    cv_irel e = { .off = cv_sat_add(r.off, t->target->base),
                  .addend = r.addend,
                  .type = r.type,
                  .sym = t->o->first_sym + r.sym,
                  .osym = CV_NONE,
                  .target = t->target_id };

    if (CV_NEVER(r.sym >= t->o->n_sym)) /* examined */
        return cv_link_broken(l);
    if (is_orphan(l, t, cv_l_isym(l, e.sym)))
        return CUVET_OK;
    return cv_l_add_rel(l, out, &e) ? CUVET_OK : cv_l_nomem(l);
}

cuvet_status cv_link_relocations(cv_link *l, cv_id isec)
{
    table t = { .sec = cv_l_isec(l, isec) };
    cuvet_status st = CUVET_OK;
    cv_id name, out;

    t.o = cv_l_obj(l, t.sec->obj);
    if (t.sec->info >= t.o->n_sec)
        return CUVET_OK;
    t.target_id = t.o->first_sec + t.sec->info;
    t.target = cv_l_isec(l, t.target_id);
    t.rela = t.sec->type == CV_SHT_RELA;
    t.body = cv_l_body(l, t.sec);
    t.n = t.body.len / cv_elf_rel_size(false, t.rela);
    /* One without entries leaves no name, nor does code for which there was other code before. */
    if (t.target->out == CV_NONE || t.n == 0 || t.target->beaten)
        return CUVET_OK;
    if (!cv_work(l->x, t.n, 0))
        return CUVET_E_LIMIT;
    name = cv_l_name_join(l, t.rela ? ".rela" : ".rel", cv_l_osec(l, t.target->out)->name);
    if (name == CV_NONE || !cv_l_use_both(l, name))
        return cv_l_nomem(l);
    out = CV_ARRAY_GET(cv_l_osec(l, t.target->out)->rel, t.rela);
    if (out == CV_NONE && !t.target->lost)
        st = make(l, &t, name, &out);
    if (st != CUVET_OK)
        return st;
    if (looks_for_rel(&t) && !cv_l_use_joined(l, ".rel", cv_l_osec(l, t.target->out)->name))
        return cv_l_nomem(l);
    if (t.target->lost)
        return CUVET_OK;
    for (uint64_t i = 0; i < t.n && st == CUVET_OK; i++)
        st = add(l, &t, out, i);
    return st;
}

/* May a loader apply this? Not what is a matter of the linker alone, not what names memory that the link lays
 * out, and not what it does not know. */
static bool may_stay(const cv_link *l, const cv_irel *e)
{
    const cv_isym *s = cv_l_isym(l, e->sym);
    const cv_reloc_facts *facts = cv_reloc_of(e->type);
    cv_reloc_who who = (cv_reloc_who)facts->who;

    if (l->o.relocatable || e->target == CV_NONE)
        return true;
    if (cv_reloc_is_linked(facts) || who == CV_RELOC_OLD || who == CV_RELOC_NONE || cv_l_is_shared(s) ||
        cv_l_is_reserved(s) || facts->final != 0)
        return false;
    return who == CV_RELOC_DRIVER || !cv_l_is_constant(s);
}

/* What stays of the relocations lies inside of what it patches; what was dropped because a function is gone
 * patched nothing that stays. */
bool cv_link_decide_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t kept = 0;

        if (q->group != CV_G_REL || q->is_resolved)
            continue;
        for (cv_id r = q->rels; r != CV_NONE;) {
            const cv_irel *e = cv_l_irel(l, r);

            kept += e->keep;
            if (e->keep ? e->off >= cv_l_osec(l, q->target)->size || !may_stay(l, e)
                        : e->n_fields == 0 && cv_link_is_lost(l, q, e))
                return false;
            r = e->next;
        }
        if (kept != q->n_kept)
            return false;
    }
    return true;
}
