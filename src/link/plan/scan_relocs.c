/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage relocate: what an offset in a bank or a section becomes is written into the code, what needs an
 * address stays for the loader. One function says what happens to a relocation; it is asked once, before the
 * layout, which needs to know what stays. */
#include "link/plan/scan_relocs.h"
#include "base/arith.h"
#include "link/plan/plan.h"
#include "link/plan/reloc_table.h"

static void field(cv_fix *fix, unsigned pos, unsigned bits, uint64_t value, bool add)
{
    cv_field field = { (uint8_t)pos, (uint8_t)bits, add, false, false, value };

    CV_ARRAY_SET(fix->field, fix->count, field);
    fix->count++;
}

static uint64_t ones(unsigned bits)
{
    return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

bool cv_link_field(cv_fix *fix, uint32_t type, cv_reloc_use use, uint64_t value, uint64_t bank, bool add)
{
    const cv_reloc_facts *facts = cv_reloc_of(type);
    cv_field *last;

    if (!cv_reloc_has(facts, use))
        return false;
    field(fix, facts->pos, facts->bits, value >> facts->shift, add);
    last = CV_ARRAY_AT(fix->field, fix->count - 1);
    last->part = cv_reloc_has(facts, CV_USE_PART);
    if (last->part)
        last->value &= ones(facts->bits);
    else
        last->cut = (value & ones(facts->shift)) != 0;
    if (use == CV_USE_BANK && cv_reloc_has(facts, CV_USE_NUMBER)) /* the instruction has a place for it */
        field(fix, CV_R_NUMBER_POS, CV_R_NUMBER_BITS, bank, false);
    return true;
}

static const cv_sec *section_of(const cv_check_scan_relocs *view, const cv_isym *sym)
{
    return cv_cubin_sec(&cv_l_obj(view, sym->obj)->cubin, cv_l_isec(view, sym->sec)->index);
}

static bool in_bank(const cv_sec *sec)
{
    return sec->role == CV_ROLE_CONSTANT || sec->role == CV_ROLE_CONSTANT_FN;
}

typedef struct relocate_job {
    const cv_check_scan_relocs *view;
    const cv_irel *rel;
    const cv_reloc_facts *facts; /* of its type */
    const cv_isym *sym;
    const cv_osym *osym; /* NULL: none */
    const cv_osec *target;
    bool rela;
    uint64_t addend; /* 0 for REL */
    bool dead;       /* its symbol is a function that nothing reaches */
    cv_fix *fix;
    /* Of its symbol: what is written for it, and of a section where it begins now. */
    cv_reloc_use use;
    uint64_t value, bank, moved;
} relocate_job;

/* Offset in a constant bank, where the symbol is in one. */
static bool constant(const relocate_job *job, uint64_t *value, uint64_t *bank)
{
    const cv_isym *sym = job->sym, *winner;

    if (sym->sec != CV_NONE && cv_l_became(job->view, sym->sec)->table) {
        *bank = 2;
        *value = cv_l_bank_off(job->view, sym->sec) + sym->value;
        return true;
    }
    if (cv_l_type(sym) == CV_STT_SECTION && sym->sec != CV_NONE && in_bank(section_of(job->view, sym))) {
        *bank = section_of(job->view, sym)->bank;
        *value = cv_l_became(job->view, sym->sec)->base;
        return true;
    }
    if (!cv_l_is_constant(sym) || !job->osym || job->osym->sec == CV_NONE)
        return false;
    winner = cv_l_isym(job->view, cv_l_canon(job->view, (cv_id)(job->rel->sym)));
    if (winner->sec == CV_NONE)
        return false;
    *bank = section_of(job->view, winner)->bank;
    *value = cv_l_bind(sym) == CV_STB_LOCAL ? cv_l_became(job->view, sym->sec)->base + sym->value
                                            : job->osym->value;
    return true;
}

static uint64_t shared_offset(const relocate_job *job, const cv_isym *sym)
{
    uint64_t off = job->target->fn == CV_NONE ? 0 : cv_l_fn_memory(job->view, job->target->fn)->extern_off;

    if (job->view->options->relocatable)
        return sym->value;
    if (cv_l_shared(job->view, sym->id)->placed)
        return cv_l_shared(job->view, sym->id)->off;
    if (sym->sec != CV_NONE)
        return 0;
    if (off == UINT64_MAX && job->view->options->debug) /* where no kernel gets to */
        off = cv_l_shared(job->view, cv_l_mean(job->view, sym->name)->first)->off;
    return off;
}

static bool dead_function(const cv_check_scan_relocs *view, const cv_osym *osym)
{
    return osym && osym->fn != CV_NONE && !cv_l_fn_calls(view, osym->fn)->live;
}

/* A weak variable may lose against one of a later link: its place is not known, which the reference minds as
 * well. */
static bool may_lose(const relocate_job *job)
{
    return job->view->options->relocatable && cv_l_bind(job->sym) != CV_STB_LOCAL &&
           cv_l_bind(cv_l_isym(job->view, cv_l_canon(job->view, job->rel->sym))) == CV_STB_WEAK;
}

/* A section that the link puts together itself, without a place in memory. */
static bool in_debug_section(const relocate_job *job)
{
    cv_id out = job->sym->sec == CV_NONE ? CV_NONE : cv_l_became(job->view, job->sym->sec)->out;

    return out != CV_NONE && cv_l_osec(job->view, out)->group == CV_G_DEBUG;
}

static bool in_shared_section(const relocate_job *job)
{
    cv_role role = job->sym->sec != CV_NONE ? section_of(job->view, job->sym)->role : CV_ROLE_NONE;

    return role == CV_ROLE_SHARED_FN || role == CV_ROLE_NV_DEBUG_SHARED;
}

/* What debug data says of a shared variable without a place: all ones; of an array where its first one is.
 * Its symbol counts what is reserved, the addend that the compiler wrote has that already. */
static uint64_t shown_offset(const relocate_job *job, const cv_isym *sym)
{
    if (cv_l_shared(job->view, sym->id)->placed)
        return cv_l_shared(job->view, sym->id)->off;
    return sym->sec == CV_NONE && job->view->options->debug && job->osym
               ? cv_l_shared(job->view, cv_l_mean(job->view, job->osym->name)->first)->off
               : UINT64_MAX;
}

/* A texture, a shared variable without a place or without a symbol, or what is counted in a table that is not
 * there. */
static bool names_nothing(const relocate_job *job)
{
    const cv_isym *canon = cv_l_isym(job->view, cv_l_canon(job->view, job->rel->sym));

    if (cv_reloc_has(job->facts, CV_USE_TABLE) || cv_l_is_texture(job->sym))
        return true;
    if (!cv_l_is_shared(job->sym) || (canon->sec != CV_NONE && job->view->options->relocatable))
        return false;
    if (canon->sec != CV_NONE)
        return !cv_l_shared(job->view, canon->id)->placed;
    /* an array has its place with the kernels that get there; elsewhere it is its symbol, where that stays */
    return job->target->fn == CV_NONE ||
           cv_l_fn_memory(job->view, job->target->fn)->extern_off != UINT64_MAX ||
           cv_l_out_of(job->view, job->sym->id) == CV_NONE ||
           cv_out_drops(CV_KEEP_FACTS(job->view), cv_l_out_of(job->view, job->sym->id));
}

static cv_reloc_class left_alone(const relocate_job *job)
{
    bool function = cv_l_type(job->sym) == CV_STT_FUNC;

    if (job->view->options->relocatable)
        return function ? CV_CLASS_LATER_FUNCTION : CV_CLASS_LATER;
    return function ? CV_CLASS_FUNCTION : CV_CLASS_ADDRESS;
}

static cv_reloc_class offset_in(relocate_job *job, cv_reloc_class class, uint64_t value)
{
    job->use = CV_USE_OFFSET;
    job->value = value;
    return class;
}

/* A shared variable or array. */
static cv_reloc_class shared_variable(relocate_job *job)
{
    const cv_isym *canon = cv_l_isym(job->view, cv_l_canon(job->view, job->rel->sym));
    bool debug = job->target->group == CV_G_DEBUG;
    uint64_t value = shared_offset(job, canon);

    if (job->view->options->relocatable) {
        if (!job->view->options->compat || (canon->sec == CV_NONE && !debug) || may_lose(job))
            return left_alone(job);
        value = canon->sec == CV_NONE ? 0 : value;
    } else if (debug) {
        value = shown_offset(job, canon);
    }
    return offset_in(job, CV_CLASS_SHARED, value);
}

/* A variable in the shared memory of the system. */
static cv_reloc_class reserved_variable(relocate_job *job)
{
    const cv_isym *canon = cv_l_isym(job->view, cv_l_canon(job->view, job->rel->sym));

    if (job->view->options->relocatable)
        return left_alone(job);
    return offset_in(job, cv_l_shared(job->view, canon->id)->placed ? CV_CLASS_SHARED : CV_CLASS_NO_PLACE,
                     cv_l_shared(job->view, canon->id)->off);
}

static cv_reloc_class constant_or_address(relocate_job *job)
{
    if (may_lose(job) || !constant(job, &job->value, &job->bank))
        return left_alone(job);
    job->use = CV_USE_BANK;
    return CV_CLASS_CONSTANT;
}

/* A variable that has no place as an address: in no section at all, in shared memory, in a bank. */
static cv_reloc_class variable(relocate_job *job)
{
    bool later = job->view->options->relocatable && !job->view->options->compat;

    if (cv_l_is_nowhere(job->sym)) {
        if (later && cv_link_is_bank_size(job->view, job->sym)) /* the bank may grow */
            return left_alone(job);
        return offset_in(job, CV_CLASS_UNDEFINED_LOCAL, cv_link_nowhere(job->view, job->sym));
    }
    if (cv_l_is_reserved(job->sym))
        return reserved_variable(job);
    if (cv_l_is_shared(job->sym))
        return shared_variable(job);
    return later && cv_l_is_constant(job->sym) ? left_alone(job) : constant_or_address(job);
}

/* The begin of an input's section, in that of the output. */
static cv_reloc_class section(relocate_job *job)
{
    uint64_t base = job->sym->sec == CV_NONE ? 0 : cv_l_became(job->view, job->sym->sec)->base;

    if (in_debug_section(job))
        return offset_in(job, CV_CLASS_DEBUG_SECTION, base);
    if (!job->view->options->relocatable &&
        in_shared_section(job)) /* its variables do not stay beside each other */
        return CV_CLASS_NO_PLACE;
    if (!job->view->options->relocatable || job->view->options->compat || job->sym->sec == CV_NONE ||
        !in_bank(section_of(job->view, job->sym)))
        return constant_or_address(job);
    job->moved = base; /* a later link counts from there */
    job->bank = section_of(job->view, job->sym)->bank;
    return base != 0 && !job->rela ? CV_CLASS_LATER_BANK : CV_CLASS_LATER;
}

/* What the symbol of a relocation is to the link. */
static cv_reloc_class classify(relocate_job *job)
{
    if (job->dead)
        return CV_CLASS_DEAD;
    if (cv_reloc_has(job->facts, CV_USE_TABLE) &&
        cv_span_eq_str(cv_l_text(job->view, job->sym->name), "__UFT_OFFSET"))
        return CV_CLASS_NO_TABLE; /* which the link does not make */
    switch (cv_l_type(job->sym)) {
    case CV_STT_SECTION: return section(job);
    case CV_STT_OBJECT:
    case CV_STT_CUDA_OBJECT: return variable(job);
    case CV_STT_CUDA_TEXTURE:
    case CV_STT_CUDA_SAMPLER:
    case CV_STT_CUDA_SURFACE:
        if (job->view->options->relocatable || !job->osym || !job->osym->has_slot)
            return constant_or_address(job);
        job->use = CV_USE_SLOT;
        job->value = job->osym->slot;
        return CV_CLASS_SLOT;
    default: return constant_or_address(job);
    }
}

/* What the table says is done. @return false: refused. */
static bool decide_one(relocate_job *job)
{
    uint32_t type = job->rel->type;
    cv_fix *fix = job->fix;

    switch (cv_reloc_action_of(type, classify(job))) {
    case CV_RELOC_KEEP:
        fix->keep = true;
        fix->addend = job->rela ? job->moved : 0;
        return true;
    case CV_RELOC_ADD:
        fix->keep = true;
        return cv_link_field(fix, type, CV_USE_OFFSET, job->moved, 0, true) ||
               cv_link_field(fix, type, CV_USE_BANK, job->moved, job->bank, true);
    case CV_RELOC_APPLY:
        return cv_link_field(fix, type, job->use, cv_wrap_add(job->value, job->addend), job->bank,
                             !job->rela && job->use != CV_USE_SLOT);
    case CV_RELOC_CLEAR: field(fix, 0, 64, 0, false); return true;
    case CV_RELOC_DROP: return true;
    case CV_RELOC_REFUSE:
    default: return false;
    }
}

/* Types that name memory of either kind become plain addresses. */
static uint32_t final_type(const relocate_job *job)
{
    return job->view->options->relocatable || job->facts->final == 0 ? job->rel->type : job->facts->final;
}

bool cv_link_fix(const cv_check_scan_relocs *view, const cv_irel *irel, const cv_osec *osec, cv_fix *fix)
{
    cv_id out;
    relocate_job job = { .view = view,
                         .rel = irel,
                         .facts = cv_reloc_of(irel->type),
                         .sym = cv_l_isym(view, irel->sym),
                         .target = cv_l_osec(view, osec->target),
                         .fix = fix };
    bool known = true;

    *fix = (cv_fix){ .type = irel->type };
    out = irel->osym != CV_NONE ? irel->osym : cv_l_out_of(view, job.sym->id);
    job.osym = out == CV_NONE ? NULL : cv_l_osym(view, out);
    job.dead = dead_function(view, job.osym);
    job.rela = osec->type == CV_SHT_RELA;
    job.addend = job.rela ? (uint64_t)irel->addend : 0;
    if (irel->target == CV_NONE)
        fix->keep = !job.dead; /* the link made it */
    else if (job.target->group == CV_G_CODE && !cv_l_fn_calls(view, job.target->fn)->live)
        return true; /* the code goes */
    else
        known = decide_one(&job);
    fix->dead = job.dead;
    fix->type = final_type(&job);
    fix->resolved = !fix->keep && !fix->dead && !cv_l_is_nowhere(job.sym) && !names_nothing(&job) &&
                    (cv_l_has(view, CV_GEN_RESOLVED_ALL) || cv_l_is_shared(job.sym)) &&
                    !cv_reloc_has(job.facts, CV_USE_DROPS | CV_USE_CLEARS);
    return known;
}

/* What was found out: its fields, or its final form. */
static bool keep_fix(const cv_view_scan_relocs *view, const cv_irel *rel, cv_fixup *fixup, cv_id osym,
                     const cv_fix *fix)
{
    cv_fields *fields = &view->fixups->field;

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
    if (rel->target == CV_NONE) /* the link made it: nothing is written */
        return true;
    for (unsigned i = 0; i < fix->count; i++)
        if (fields->count >= CV_NONE || !cv_fields_push(&view->ctx->mem, fields, CV_ARRAY_GET(fix->field, i)))
            return false;
    fixup->n_fields = (uint8_t)fix->count;
    return true;
}

/* Do the values fit, as numbers with or without a sign? Where the field holds the addend, that counts. */
bool cv_link_fits(const cv_fix *fix, cv_span body, uint64_t off)
{
    for (unsigned i = 0; i < fix->count; i++) {
        const cv_field *field = &CV_ARRAY_GET(fix->field, i);
        uint64_t value = field->value, old = 0,
                 end = cv_sat_add(off, ((uint64_t)field->pos + field->bits + 7) / 8);

        if (end > body.len || field->cut || field->bits == 0)
            return false;
        for (unsigned k = 0; field->add && k < field->bits; k++)
            old |= (uint64_t)(cv_u8_at(body, off + (field->pos + k) / 8) >> (field->pos + k) % 8 & 1) << k;
        if (field->part && old != 0) /* the sum of a part is none of the sum */
            return false;
        value = cv_wrap_add(value, old);
        if (field->bits < 64 && value >> field->bits != 0 &&
            value < UINT64_MAX - (UINT64_C(1) << (field->bits - 1)) + 1)
            return false;
    }
    return true;
}

/* A value that does not fit: nobody would get what was meant. */
static bool overflows(const cv_view_scan_relocs *view, const cv_irel *rel, const cv_fix *fix)
{
    const cv_isec *target;
    uint64_t base;

    if (fix->count == 0 || rel->target == CV_NONE)
        return false;
    target = cv_l_isec(view, rel->target);
    base = cv_l_became(view, rel->target)->base;
    return rel->off < base || !cv_link_fits(fix, cv_l_body(view, target), rel->off - base);
}

/* A slot and an addend that lead behind the slots: so the code has it, and so the reference links it. */
static void tell_slot(const cv_view_scan_relocs *view, const cv_irel *rel, const cv_fix *fix)
{
    if (!view->options->relocatable && fix->count == 1 && rel->target != CV_NONE &&
        cv_l_is_texture(cv_l_isym(view, rel->sym)) && rel->addend != 0 &&
        cv_l_osym(view, cv_l_out_of(view, rel->sym))->has_slot)
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
static bool is_dropped(const cv_check_scan_relocs *view, const cv_irel *rel, const cv_fixup *fixup)
{
    cv_id out;

    if (fixup->keep || fixup->n_fields != 0) /* nearly all */
        return false;
    out = rel->osym != CV_NONE || rel->sym == CV_NONE ? rel->osym : cv_l_out_of(view, rel->sym);
    return out != CV_NONE && dead_function(view, cv_l_osym(view, out)) &&
           !cv_reloc_has(cv_reloc_of(rel->type), CV_USE_CLEARS);
}

static bool is_lost(const cv_check_scan_relocs *view, const cv_osec *osec, const cv_irel *rel,
                    const cv_fixup *fixup)
{
    const cv_osec *target;
    cv_id fn;

    if (!is_dropped(view, rel, fixup))
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
    cv_u8s cut; /* by function: it stays, unreachable, and what it calls does not: said */
} scan_run;

/* An undefined function that nothing is known to call, or one that is gone: code that runs would call nobody.
 * What stays because its address is taken, while no kernel reaches it, calls nobody in what the reference
 * makes as well; that is said once for each function. */
static cuvet_status lost(scan_run *run, const cv_osec *osec, const cv_irel *rel, const cv_fixup *fixup)
{
    const cv_osec *target = cv_l_osec(run->view, osec->target);
    cv_id fn = CV_NONE, sym = rel->sym;

    if (!is_dropped(run->seen, rel, fixup))
        return CUVET_OK;
    if (is_loaded(target))
        fn = function_of(run->seen, target);
    if (is_lost(run->seen, osec, rel, fixup)) {
        cv_link_say(run->view, sym, CV_R_LINK_REFERENCE, cv_l_isym(run->view, sym)->index, 0);
        return CUVET_E_REFUSED;
    }
    if (fn != CV_NONE && cv_l_fn_calls(run->view, fn)->live && !*cv_u8s_at(&run->cut, fn)) {
        *cv_u8s_at(&run->cut, fn) = true;
        cv_link_say(run->view, sym, CV_R_LINK_UNREACHED, cv_l_isym(run->view, sym)->index, 0);
    }
    return CUVET_OK;
}

static cuvet_status refuse(const cv_view_scan_relocs *view, const cv_irel *rel, cv_rule rule, uint32_t type,
                           uint64_t value)
{
    cv_link_say(view, rel->sym, rule, type, value);
    return CUVET_E_REFUSED;
}

static cuvet_status decide(scan_run *run, const cv_osec *osec, const cv_irel *rel, cv_fixup *fixup)
{
    cv_id osym = rel->osym;
    cv_fix fix;

    if (!cv_link_fix(run->seen, rel, osec, &fix))
        return refuse(run->view, rel, CV_R_LINK_RELOC, rel->type, 0);
    if (overflows(run->view, rel, &fix))
        return refuse(run->view, rel, CV_R_LINK_FIELD, rel->type, CV_ARRAY_AT(fix.field, 0)->value);
    if (fix.keep && osym == CV_NONE)
        osym = cv_link_symbol_of(run->view, rel->sym);
    if (fix.keep && osym == CV_NONE) /* against nothing */
        return refuse(run->view, rel, CV_R_LINK_RELOC, fix.type, 0);
    tell_slot(run->view, rel, &fix);
    if (!keep_fix(run->view, rel, fixup, osym, &fix))
        return cv_l_nomem(run->view);
    return fix.dead ? lost(run, osec, rel, fixup) : CUVET_OK;
}

static cuvet_status decide_section(scan_run *run, cv_id id)
{
    const cv_osec *osec = cv_l_osec(run->view, id);
    cv_id resolved = run->view->options->preserve ? cv_l_osec(run->view, osec->target)->resolved : CV_NONE;
    cv_fixed *fixed = cv_l_fixed(run->view, id);
    cuvet_status st = CUVET_OK;

    for (cv_id at = osec->rels; at != CV_NONE;) {
        const cv_irel *rel = cv_l_irel(run->view, at);
        cv_fixup *fixup = cv_l_fixup(run->view, at);

        st = decide(run, osec, rel, fixup);
        if (st != CUVET_OK) /* nothing was decided */
            break;
        fixed->n_kept += fixup->keep;
        fixed->n_applied += fixup->n_fields != 0;
        if (resolved != CV_NONE && fixup->resolved)
            cv_l_fixed(run->view, resolved)->n_kept++;
        at = rel->next;
    }
    return st;
}

static bool begin(const cv_view_scan_relocs *view)
{
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
    return true;
}

cuvet_status cv_stage_scan_relocs(const cv_view_scan_relocs *view)
{
    const cv_check_scan_relocs seen = cv_check_of_scan_relocs(view);
    scan_run run = { .view = view, .seen = &seen };
    cuvet_status st = begin(view) && cv_u8s_fill(&view->ctx->mem, &run.cut, view->functions->fn.count)
                          ? CUVET_OK
                          : cv_l_nomem(view);

    for (cv_id i = 0; i < view->out->osec.count && st == CUVET_OK; i++)
        if (cv_l_osec(view, i)->group == CV_G_REL && !cv_l_osec(view, i)->is_resolved)
            st = decide_section(&run, i);
    cv_u8s_free(&view->ctx->mem, &run.cut);
    return st;
}

/* May a loader apply this? Not what is a matter of the linker alone, not what names memory that the link lays
 * out, and not what it does not know. */
static bool may_stay(const cv_check_scan_relocs *view, const cv_irel *rel, const cv_fixup *fixup)
{
    const cv_reloc_facts *facts = cv_reloc_of(fixup->type);
    cv_reloc_who who = (cv_reloc_who)facts->who;
    const cv_isym *sym;

    if (view->options->relocatable || rel->target == CV_NONE)
        return true;
    sym = cv_l_isym(view, rel->sym);
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

    for (cv_id rel = osec->rels; rel != CV_NONE;) {
        const cv_irel *irel = cv_l_irel(view, rel);
        const cv_fixup *fixup = cv_l_fixup(view, rel);

        kept += fixup->keep;
        if (fixup->keep ? irel->off >= size || !may_stay(view, irel, fixup)
                        : fixup->n_fields == 0 && is_lost(view, osec, irel, fixup))
            return false;
        rel = irel->next;
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
