/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage scan_relocs: what an offset in a bank or a section becomes is written into the code, what needs an
 * address stays for the loader. Each relocation is decided once (decide_reloc.c), before the layout, which
 * needs to know what stays. */
#include "link/plan/scan_relocs.h"
#include "base/arith.h"
#include "link/plan/reloc_table.h"

/* What was found out: its fields, or its final form. */
static bool keep_fix(const cv_view_scan_relocs *view, const cv_rel_cur *cur, cv_fixup *fixup, cv_id osym,
                     const cv_fix *fix)
{
    cv_fields *fields = &view->fixups->field;
    const cv_irel *rel = cur->rel;

    *fixup = (cv_fixup){ .addend = rel->addend,
                         .type = rel->type,
                         .osym = osym,
                         .field = (cv_id)fields->count,
                         .keep = fix->keep,
                         .resolved = fix->resolved };
    if (fix->keep) {
        fixup->type = fix->type;
        fixup->addend = (int64_t)cv_wrap_add((uint64_t)rel->addend, fix->addend);
    }
    if (cur->target == CV_NONE) /* the link made it: nothing is written */
        return true;
    for (unsigned i = 0; i < fix->count; i++)
        if (fields->count >= CV_NONE || !cv_fields_push(&view->ctx->mem, fields, CV_ARRAY_GET(fix->field, i)))
            return false;
    fixup->n_fields = (uint8_t)fix->count;
    return true;
}

/* A value that does not fit: nobody would get what was meant. */
static bool overflows(const cv_view_scan_relocs *view, const cv_rel_cur *cur, const cv_fix *fix)
{
    const cv_isec *target;
    uint64_t base;

    if (fix->count == 0 || fix->given_up || cur->target == CV_NONE)
        return false;
    target = cv_l_isec(view, cur->target);
    base = cv_l_became(view, cur->target)->base;
    return cur->rel->off < base || !cv_link_fits(fix, cv_l_body(view, target), cur->rel->off - base);
}

/* A slot that is given up; a slot and an addend that lead behind the slots: so the code has it, and so the
 * reference links it. */
static void tell_slot(const cv_view_scan_relocs *view, const cv_rel_cur *cur, const cv_fix *fix)
{
    const cv_irel *rel = cur->rel;

    if (fix->given_up)
        cv_link_say(view, rel->sym, CV_R_LINK_GIVEN_UP, rel->type, 0);
    if (!view->options->relocatable && fix->count != 0 && cur->target != CV_NONE &&
        cv_l_is_texture(cv_l_isym(view, rel->sym)) && rel->addend != 0 &&
        cv_l_out_of(view, rel->sym) != CV_NONE && cv_l_osym(view, cv_l_out_of(view, rel->sym))->has_slot)
        cv_link_say(view, rel->sym, CV_R_LINK_SLOT, (uint64_t)rel->addend, 0);
}

/* The function whose code or bank a section is; CV_NONE: data of all. */
static cv_id function_of(const cv_check_scan_relocs *view, const cv_osec *target)
{
    if (target->group == CV_G_CODE)
        return target->fn;
    return target->infosec == CV_NONE ? CV_NONE : cv_l_osec(view, target->infosec)->fn;
}

static bool is_loaded(const cv_osec *target)
{
    return target->group == CV_G_CODE || target->group == CV_G_INIT || target->group == CV_G_CONST ||
           target->group == CV_G_PARAM;
}

/* The function that it names is gone, and nothing is left of it. */
static bool is_dropped(const cv_check_scan_relocs *view, const cv_rel_cur *cur, const cv_fixup *fixup)
{
    cv_id out;

    if (fixup->keep || fixup->n_fields != 0) /* nearly all */
        return false;
    out = cv_rel_osym(view->out, cur);
    if (out == CV_NONE)
        out = cv_l_out_of(view, cur->rel->sym);
    return out != CV_NONE && cv_link_is_dead(view, cv_l_osym(view, out)) &&
           !cv_reloc_has(cv_reloc_of(cur->rel->type), CV_USE_CLEARS);
}

static bool is_lost(const cv_check_scan_relocs *view, const cv_osec *osec, const cv_rel_cur *cur,
                    const cv_fixup *fixup)
{
    const cv_osec *target;
    cv_id fn;

    if (!is_dropped(view, cur, fixup))
        return false;
    target = cv_l_osec(view, osec->target);
    if (!is_loaded(target))
        return false;
    fn = function_of(view, target);
    return fn == CV_NONE || cv_l_fn_calls(view, fn)->reachable;
}

typedef struct scan_run {
    const cv_view_scan_relocs *view;
    const cv_check_scan_relocs *seen;
    cv_symbol_fixes known; /* what was found out of symbols last */
    cv_u8s cut;            /* by function: it stays, unreachable, and what it calls does not: said */
} scan_run;

/* An undefined function that nothing is known to call, or one that is gone: code that runs would call nobody.
 * What stays because its address is taken, while no kernel reaches it, calls nobody in what the reference
 * makes as well; that is said once for each function. */
static cuvet_status lost(scan_run *run, const cv_osec *osec, const cv_rel_cur *cur, const cv_fixup *fixup)
{
    const cv_osec *target = cv_l_osec(run->view, osec->target);
    cv_id fn = CV_NONE, sym = cur->rel->sym;

    if (!is_dropped(run->seen, cur, fixup))
        return CUVET_OK;
    if (is_loaded(target))
        fn = function_of(run->seen, target);
    if (is_lost(run->seen, osec, cur, fixup)) {
        cv_link_say(run->view, sym, CV_R_LINK_REFERENCE, cv_l_isym(run->view, sym)->index, 0);
        return CUVET_E_REFUSED;
    }
    if (fn != CV_NONE && cv_l_fn_calls(run->view, fn)->live && !*cv_u8s_at(&run->cut, fn)) {
        *cv_u8s_at(&run->cut, fn) = true;
        cv_link_say(run->view, sym, CV_R_LINK_UNREACHED, cv_l_isym(run->view, sym)->index, 0);
    }
    return CUVET_OK;
}

/* A relocation section of the output. */
typedef struct scan_section {
    const cv_osec *target; /* what is patched */
    bool lasting;          /* its entries have addends, and what they patch stays */
} scan_section;

static scan_section section_of(const scan_run *run, const cv_osec *osec)
{
    const cv_osec *target = cv_l_osec(run->view, osec->target);
    bool goes = target->group == CV_G_CODE && !cv_l_fn_calls(run->view, target->fn)->live;

    return (scan_section){ target, osec->type == CV_SHT_RELA && !goes };
}

static cuvet_status refuse(const cv_view_scan_relocs *view, const cv_irel *rel, cv_rule rule, uint32_t type,
                           uint64_t value)
{
    cv_link_say(view, rel->sym, rule, type, value);
    return CUVET_E_REFUSED;
}

static cuvet_status decide(scan_run *run, const cv_osec *osec, const cv_rel_cur *cur, cv_fixup *fixup)
{
    const cv_irel *rel = cur->rel;
    cv_id override = cv_rel_osym(run->view->out, cur), osym = override;
    cv_symbol_fix *known;
    cv_fix fix;

    if (!cv_link_fix(run->seen, cur, osec, &run->known, &fix))
        return refuse(run->view, rel, CV_R_LINK_RELOC, rel->type, 0);
    if (overflows(run->view, cur, &fix))
        return refuse(run->view, rel, CV_R_LINK_FIELD, rel->type, CV_ARRAY_AT(fix.field, 0)->value);
    if (fix.keep && osym == CV_NONE)
        osym = cv_link_symbol_of(run->view, rel->sym);
    if (override == CV_NONE && cur->target != CV_NONE) {
        known =
            cv_link_known(&run->known, rel, cv_l_osec(run->view, osec->target), osec->type == CV_SHT_RELA);
        if (known)
            known->out = osym;
    }
    if (fix.keep && osym == CV_NONE) /* against nothing */
        return refuse(run->view, rel, CV_R_LINK_RELOC, fix.type, 0);
    tell_slot(run->view, cur, &fix);
    if (!keep_fix(run->view, cur, fixup, osym, &fix))
        return cv_l_nomem(run->view);
    return fix.dead ? lost(run, osec, cur, fixup) : CUVET_OK;
}

/* One that stays, of a symbol that others before it named, which stayed as well: it does what they did. */
static bool keep_known(scan_run *run, const scan_section *section, const cv_rel_cur *cur, cv_fixup *fixup)
{
    const cv_irel *rel = cur->rel;
    const cv_reloc_facts *facts = cv_reloc_of(rel->type);
    const cv_symbol_fix *known;

    if (!section->lasting || cur->target == CV_NONE || cv_reloc_has(facts, CV_USE_CLEARS) ||
        cv_rel_osym(run->view->out, cur) != CV_NONE)
        return false;
    known = cv_link_known(&run->known, rel, section->target, true);
    if (!known || known->out == CV_NONE || known->dead ||
        cv_reloc_action_of(rel->type, (cv_reloc_class)known->class) != CV_RELOC_KEEP)
        return false;
    *fixup =
        (cv_fixup){ .addend = (int64_t)cv_wrap_add((uint64_t)rel->addend, known->moved),
                    .type = run->view->options->relocatable || facts->final == 0 ? rel->type : facts->final,
                    .osym = known->out,
                    .field = (cv_id)run->view->fixups->field.count,
                    .keep = true };
    return true;
}

static cuvet_status decide_section(scan_run *run, cv_id id)
{
    const cv_osec *osec = cv_l_osec(run->view, id);
    const scan_section section = section_of(run, osec);
    cv_id resolved = run->view->options->preserve ? cv_l_osec(run->view, osec->target)->resolved : CV_NONE;
    cv_fixed *fixed = cv_l_fixed(run->view, id);
    cuvet_status st = CUVET_OK;

    for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(run->view->out, &cur);) {
        cv_fixup *fixup = cv_l_fixup(run->view, cur.id);

        st = keep_known(run, &section, &cur, fixup) ? CUVET_OK : decide(run, osec, &cur, fixup);
        if (st != CUVET_OK) /* nothing was decided */
            break;
        fixed->n_kept += fixup->keep;
        fixed->n_applied += fixup->n_fields != 0;
        if (resolved != CV_NONE && fixup->resolved)
            cv_l_fixed(run->view, resolved)->n_kept++;
    }
    return st;
}

static bool begin(scan_run *run)
{
    const cv_view_scan_relocs *view = run->view;
    static const cv_fixup NOTHING = { .osym = CV_NONE };
    static const cv_fixed NONE = { 0, 0 };
    cv_part_fixups *fixups = view->fixups;
    cv_mem *mem = &view->ctx->mem;

    if (!cv_fixups_room(mem, &fixups->fixup, view->out->irel.count) ||
        !cv_fixeds_room(mem, &fixups->fixed, view->out->osec.count))
        return false;
    fixups->fixup.count = view->out->irel.count; /* each is written, but of what is gone */
    for (cv_id i = 0; i < view->out->irel.count && view->out->any_gone; i++)
        *cv_l_fixup(view, i) = NOTHING;
    while (fixups->fixed.count < view->out->osec.count)
        if (!cv_fixeds_push(mem, &fixups->fixed, NONE))
            return false;
    if (!cv_symbol_fixes_reserve(mem, &run->known, CV_KNOWN_SYMBOLS))
        return false;
    run->known.count = CV_KNOWN_SYMBOLS;
    return cv_u8s_fill(mem, &run->cut, view->functions->fn.count);
}

cuvet_status cv_stage_scan_relocs(const cv_view_scan_relocs *view)
{
    const cv_check_scan_relocs seen = cv_check_of_scan_relocs(view);
    scan_run run = { .view = view, .seen = &seen };
    cuvet_status st = begin(&run) ? CUVET_OK : cv_l_nomem(view);

    for (cv_id i = 0; i < view->out->osec.count && st == CUVET_OK; i++)
        if (cv_l_osec(view, i)->group == CV_G_REL && !cv_l_osec(view, i)->is_resolved)
            st = decide_section(&run, i);
    cv_symbol_fixes_free(&view->ctx->mem, &run.known);
    cv_u8s_free(&view->ctx->mem, &run.cut);
    return st;
}

/* May a loader apply this? Not what is a matter of the linker alone, not what names memory that the link lays
 * out, and not what it does not know. */
static bool may_stay(const cv_check_scan_relocs *view, const cv_rel_cur *cur, const cv_fixup *fixup)
{
    const cv_reloc_facts *facts = cv_reloc_of(fixup->type);
    cv_reloc_who who = (cv_reloc_who)facts->who;
    const cv_isym *sym;

    if (view->options->relocatable || cur->target == CV_NONE)
        return true;
    sym = cv_l_isym(view, cur->rel->sym);
    if (cv_reloc_is_linked(facts) || who == CV_RELOC_OLD || who == CV_RELOC_NONE || cv_l_is_shared(sym) ||
        cv_l_is_reserved(sym) || facts->final != 0)
        return false;
    return who == CV_RELOC_DRIVER || !cv_l_is_constant(sym);
}

/* What stays of the relocations lies inside of what it patches; what was dropped because a function is gone
 * patched nothing that stays. */
static bool section_holds(const cv_check_scan_relocs *view, cv_id id)
{
    const cv_osec *osec = cv_l_osec(view, id);
    uint64_t kept = 0, size = cv_l_osec(view, osec->target)->size;

    for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur);) {
        const cv_fixup *fixup = cv_l_fixup(view, cur.id);

        kept += fixup->keep;
        if (fixup->keep ? cur.rel->off >= size || !may_stay(view, &cur, fixup)
                        : fixup->n_fields == 0 && is_lost(view, osec, &cur, fixup))
            return false;
    }
    return kept == cv_l_fixed(view, id)->n_kept;
}

bool cv_stage_scan_relocs_holds(const cv_check_scan_relocs *view)
{
    for (cv_id i = 0; i < view->out->osec.count; i++)
        if (cv_l_osec(view, i)->group == CV_G_REL && !cv_l_osec(view, i)->is_resolved &&
            !section_holds(view, i))
            return false;
    return true;
}
