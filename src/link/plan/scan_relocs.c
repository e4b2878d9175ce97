/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage scan_relocs: what an offset in a bank or a section becomes is written into the code, what needs an
 * address stays for the loader. Each relocation is decided once (decide_reloc.c), before the layout, which
 * needs to know what stays. */
#include "link/plan/scan_relocs.h"
#include "base/arith.h"
#include "bytes/lanes.h"
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

static bool is_decided(const cv_part_out *out, cv_id id)
{
    const cv_osec *osec = cv_osecs_get(&out->osec, id);

    return osec->group == CV_G_REL && !osec->is_resolved;
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

static cuvet_status decide_sections(scan_run *run, cv_id first, cv_id end)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = first; i < end && st == CUVET_OK; i++)
        if (is_decided(run->view->out, i))
            st = decide_section(run, i);
    return st;
}

/* What a thread remembers while it decides. */
static bool begin_run(scan_run *run)
{
    cv_mem *mem = &run->view->ctx->mem;

    if (!cv_symbol_fixes_reserve(mem, &run->known, CV_KNOWN_SYMBOLS))
        return false;
    run->known.count = CV_KNOWN_SYMBOLS;
    return cv_u8s_fill(mem, &run->cut, run->view->functions->fn.count);
}

static void end_run(scan_run *run)
{
    cv_symbol_fixes_free(&run->view->ctx->mem, &run->known);
    cv_u8s_free(&run->view->ctx->mem, &run->cut);
}

static bool begin(const cv_view_scan_relocs *view)
{
    static const cv_fixup NOTHING = { .osym = CV_NONE };
    static const cv_fixed NONE = { 0, 0, 0 };
    cv_part_fixups *fixups = view->fixups;
    cv_mem *mem = &view->ctx->mem;

    cv_fields_clear(&fixups->field);
    cv_fixeds_clear(&fixups->fixed);
    if (!cv_fixups_room(mem, &fixups->fixup, view->out->irel.count) ||
        !cv_fixeds_room(mem, &fixups->fixed, view->out->osec.count))
        return false;
    fixups->fixup.count = view->out->irel.count; /* each is written, but of what is gone */
    for (cv_id i = 0; i < view->out->irel.count && view->out->any_gone; i++)
        *cv_l_fixup(view, i) = NOTHING;
    while (fixups->fixed.count < view->out->osec.count)
        if (!cv_fixeds_push(mem, &fixups->fixed, NONE))
            return false;
    return true;
}

static cuvet_status decide_alone(const cv_view_scan_relocs *view, const cv_check_scan_relocs *seen)
{
    scan_run run = { .view = view, .seen = seen };
    cuvet_status st = begin(view) && begin_run(&run) ? CUVET_OK : cv_l_nomem(view);

    if (st == CUVET_OK)
        st = decide_sections(&run, 0, (cv_id)view->out->osec.count);
    end_run(&run);
    return st;
}

/* Sections of the output, by their relocations. */
static void share_out(const cv_part_out *out, uint32_t count, cv_shares *shares)
{
    cv_shares_begin(shares, count, 0, out->irel.count);
    for (cv_id i = 0; i < out->osec.count; i++)
        if (is_decided(out, i))
            cv_shares_add(shares, i, cv_out_count_rels(out, cv_osecs_get(&out->osec, i)));
    cv_shares_end(shares, (cv_id)out->osec.count);
}

/* What a lane decides: fixups of its own sections, in the list of all, and fields in a list of its own. */
typedef struct scan_lane {
    cv_view_scan_relocs view;
    cv_check_scan_relocs seen;
    cv_part_fixups fixups;
} scan_lane;

CV_VEC(scan_lanes, scan_lane);

typedef struct scan_job {
    const cv_view_scan_relocs *view;
    cv_lanes lanes;
    scan_lanes lane;
    cv_shares shares;
} scan_job;

static bool decide_lane(void *user, uint32_t index)
{
    scan_job *job = user;
    scan_lane *lane = scan_lanes_at(&job->lane, index);
    scan_run run = { .view = &lane->view, .seen = &lane->seen };
    bool ok;

    lane->fixups = *job->view->fixups;
    lane->fixups.field = (cv_fields){ 0 };
    lane->view = *job->view;
    lane->view.ctx = &cv_lanes_at(&job->lanes, index)->ctx;
    lane->view.fixups = &lane->fixups;
    lane->seen = cv_check_of_scan_relocs(&lane->view);
    ok = begin_run(&run) && decide_sections(&run, cv_share_first(&job->shares, index),
                                            cv_share_end(&job->shares, index)) == CUVET_OK;
    end_run(&run);
    return ok;
}

/* The fields of all lanes, one behind the other. */
static bool join_fields(scan_job *job)
{
    cv_part_fixups *fixups = job->view->fixups;
    bool ok = true;

    for (uint32_t i = 0; i < job->lanes.count && ok; i++) {
        const scan_lane *lane = scan_lanes_at(&job->lane, i);
        cv_id first = (cv_id)fixups->field.count;

        ok = lane->fixups.field.count < CV_NONE - fixups->field.count;
        for (uint64_t k = 0; k < lane->fixups.field.count && ok; k++)
            ok = cv_fields_push(&job->view->ctx->mem, &fixups->field, *cv_fields_get(&lane->fixups.field, k));
        for (cv_id id = cv_share_first(&job->shares, i); id < cv_share_end(&job->shares, i); id++)
            cv_l_fixed(job->view, id)->first_field = first;
    }
    return ok;
}

/* False: it is to be done alone. */
static bool decide_in_lanes(scan_job *job, uint32_t count)
{
    const cv_view_scan_relocs *view = job->view;
    static const scan_lane NONE;
    bool ok = begin(view);

    for (uint32_t i = 0; i < count && ok; i++)
        ok = scan_lanes_push(&view->ctx->mem, &job->lane, NONE);
    if (ok && cv_lanes_open(&job->lanes, view->ctx, view->options->executor, count)) {
        share_out(view->out, count, &job->shares);
        ok = cv_lanes_run(&job->lanes, decide_lane, job) && join_fields(job);
        for (uint32_t i = 0; i < count; i++)
            cv_fields_free(cv_lanes_memory(&job->lanes, i), &scan_lanes_at(&job->lane, i)->fixups.field);
        cv_lanes_close(&job->lanes);
    } else {
        ok = false;
    }
    scan_lanes_free(&view->ctx->mem, &job->lane);
    view->ctx->mem.limited = false; /* whoever does it alone asks again */
    return ok;
}

cuvet_status cv_stage_scan_relocs(const cv_view_scan_relocs *view)
{
    const cv_check_scan_relocs seen = cv_check_of_scan_relocs(view);
    uint32_t count = cv_lanes_for(view->options->executor, view->out->irel.count);
    scan_job job = { .view = view };

    /* Records of what was applied lie in the sections of others. */
    if (count != 0 && !view->options->preserve && decide_in_lanes(&job, count))
        return CUVET_OK;
    return decide_alone(view, &seen);
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

static bool sections_hold(const cv_check_scan_relocs *view, cv_id first, cv_id end)
{
    bool holds = true;

    for (cv_id i = first; i < end && holds; i++)
        holds = !is_decided(view->out, i) || section_holds(view, i);
    return holds;
}

typedef struct check_job {
    const cv_check_scan_relocs *view;
    cv_shares shares;
} check_job;

static bool check_lane(void *user, uint32_t index)
{
    const check_job *job = user;

    return sections_hold(job->view, cv_share_first(&job->shares, index), cv_share_end(&job->shares, index));
}

bool cv_stage_scan_relocs_holds(const cv_check_scan_relocs *view)
{
    const cuvet_executor *executor = view->options->executor;
    uint32_t count = cv_lanes_for(executor, view->out->irel.count);
    check_job job = { .view = view };

    if (count == 0)
        return sections_hold(view, 0, (cv_id)view->out->osec.count);
    share_out(view->out, count, &job.shares);
    return cv_lanes_run_plain(executor, count, check_lane, &job);
}
