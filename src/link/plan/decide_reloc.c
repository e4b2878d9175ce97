/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What becomes of one relocation: what its symbol is to the link, what the table of relocations says is done
 * with such a one, and the fields that this writes. */
#include "base/arith.h"
#include "link/plan/reloc_table.h"
#include "link/plan/scan_relocs.h"

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
    if (use == CV_USE_SLOT && cv_reloc_has(facts, CV_USE_NUMBER)) /* slots lie in bank 0 */
        field(fix, CV_R_NUMBER_POS, CV_R_NUMBER_BITS, 0, false);
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
    cv_fix *fix;
    cv_symbol_fix known; /* of its symbol */
} relocate_job;

static bool is_exact_partial(const relocate_job *job)
{
    return job->view->options->relocatable && job->view->options->compat;
}

/* The reference makes the code of inputs with capsules again: textures stay as they were named, and what no
 * input defines in the bank of constants. */
static bool is_remade(const relocate_job *job)
{
    return cv_l_has(job->view, CV_GEN_REMAKES_CODE);
}

/* In the exact form of a relocatable link what has no place yet is at one that nobody has: a texture at 0,
 * and a variable that no input defines at all ones, in a bank of no kernel. Nobody can link it again. */
static cv_reloc_class give_up(relocate_job *job, cv_reloc_class class, cv_reloc_use use, uint64_t value)
{
    job->known.given_up = true;
    job->known.use = use;
    job->known.value = value;
    job->known.bank = is_remade(job) ? CV_BANK_USER : CV_BANK_OF_NOBODY;
    return class;
}

/* Offset in a constant bank, where the symbol is in one. */
static bool constant(const relocate_job *job, uint64_t *value, uint64_t *bank)
{
    const cv_isym *sym = job->sym, *winner;

    if (sym->sec != CV_NONE && cv_l_became(job->view, sym->sec)->table) {
        *bank = CV_BANK_TABLES;
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
    winner = cv_l_isym(job->view, cv_l_definition(job->view, (cv_id)(job->rel->sym)));
    if (winner->sec == CV_NONE)
        return false;
    *bank = section_of(job->view, winner)->bank;
    *value = cv_l_bind(sym) == CV_STB_LOCAL ? cv_l_became(job->view, sym->sec)->base + sym->value
                                            : job->osym->value;
    return true;
}

static uint64_t shared_offset(const relocate_job *job, const cv_isym *sym)
{
    if (job->view->options->relocatable)
        return sym->value;
    if (cv_l_shared(job->view, sym->id)->placed)
        return cv_l_shared(job->view, sym->id)->off;
    if (sym->sec != CV_NONE)
        return 0;
    if (job->view->options->debug) /* one place for all */
        return cv_l_shared(job->view, cv_l_entry(job->view, sym->name)->first)->off;
    return job->target->fn == CV_NONE ? UINT64_MAX : cv_l_fn_memory(job->view, job->target->fn)->extern_off;
}

bool cv_link_is_dead(const cv_check_scan_relocs *view, const cv_osym *osym)
{
    return osym && osym->fn != CV_NONE && !cv_l_fn_calls(view, osym->fn)->live;
}

/* A weak variable may lose against one of a later link: its place is not known, which the reference minds as
 * well. */
static bool may_lose(const relocate_job *job)
{
    return job->view->options->relocatable && cv_l_bind(job->sym) != CV_STB_LOCAL &&
           cv_l_bind(cv_l_isym(job->view, cv_l_definition(job->view, job->rel->sym))) == CV_STB_WEAK;
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
               ? cv_l_shared(job->view, cv_l_entry(job->view, job->osym->name)->first)->off
               : UINT64_MAX;
}

/* In the exact form of a relocatable link an array is at 0 wherever it is not the instance of a kernel. */
static bool is_given_up(const relocate_job *job)
{
    if (!is_exact_partial(job))
        return false;
    return job->target->group == CV_G_DEBUG ||
           (job->target->group == CV_G_CODE &&
            !cv_link_has_instance(job->view->options, cv_l_fn(job->view, job->target->fn)));
}

/* A texture, a shared variable without a place or without a symbol, a branch table that is in the banks of
 * kernels, or what is counted in a table that is not there. */
static bool names_nothing(const relocate_job *job)
{
    const cv_isym *definition = cv_l_isym(job->view, cv_l_definition(job->view, job->rel->sym));

    if (cv_reloc_has(job->facts, CV_USE_TABLE) || cv_l_is_texture(job->sym) ||
        (job->sym->sec != CV_NONE && cv_l_became(job->view, job->sym->sec)->table))
        return true;
    if (!cv_l_is_shared(job->sym) || (definition->sec != CV_NONE && job->view->options->relocatable))
        return false;
    if (definition->sec != CV_NONE)
        return !cv_l_shared(job->view, definition->id)->placed;
    if (is_given_up(job))
        return false;
    /* An array is its symbol, where that stays: for a debugger, in debug data, where no kernel gets to. */
    return (!job->view->options->debug && job->target->fn != CV_NONE &&
            cv_l_fn_memory(job->view, job->target->fn)->extern_off != UINT64_MAX) ||
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
    job->known.use = CV_USE_OFFSET;
    job->known.value = value;
    return class;
}

/* A shared variable or array. */
static cv_reloc_class shared_variable(relocate_job *job)
{
    const cv_isym *definition = cv_l_isym(job->view, cv_l_definition(job->view, job->rel->sym));
    uint64_t value = shared_offset(job, definition);

    if (is_exact_partial(job) && definition->sec == CV_NONE && !cv_l_is_array(job->view, definition))
        return give_up(job, CV_CLASS_SHARED, CV_USE_OFFSET, UINT64_MAX);
    if (job->view->options->relocatable) {
        if (!job->view->options->compat || (definition->sec == CV_NONE && !is_given_up(job)) || may_lose(job))
            return left_alone(job);
        if (definition->sec == CV_NONE)
            value = cv_l_shared(job->view, cv_l_entry(job->view, definition->name)->first)->off;
    } else if (job->target->group == CV_G_DEBUG) {
        value = shown_offset(job, definition);
    }
    return offset_in(job, CV_CLASS_SHARED, value);
}

/* A variable in the shared memory of the system. */
static cv_reloc_class reserved_variable(relocate_job *job)
{
    const cv_isym *definition = cv_l_isym(job->view, cv_l_definition(job->view, job->rel->sym));

    if (job->view->options->relocatable)
        return left_alone(job);
    return offset_in(job,
                     cv_l_shared(job->view, definition->id)->placed ? CV_CLASS_SHARED : CV_CLASS_NO_PLACE,
                     cv_l_shared(job->view, definition->id)->off);
}

static cv_reloc_class constant_or_address(relocate_job *job)
{
    if (is_exact_partial(job) && cv_l_is_constant(job->sym) &&
        cv_l_isym(job->view, cv_l_definition(job->view, job->rel->sym))->sec == CV_NONE)
        return give_up(job, CV_CLASS_CONSTANT, CV_USE_BANK, UINT64_MAX);
    if (may_lose(job) || !constant(job, &job->known.value, &job->known.bank))
        return left_alone(job);
    job->known.use = CV_USE_BANK;
    return CV_CLASS_CONSTANT;
}

/* A variable that has no place as an address: in no section at all, in shared memory, in a bank. */
static cv_reloc_class variable(relocate_job *job)
{
    bool later = job->view->options->relocatable && !job->view->options->compat;

    if (cv_l_is_undefined_local(job->sym)) {
        if (later && cv_link_is_bank_size(job->view, job->sym)) /* the bank may grow */
            return left_alone(job);
        return offset_in(job, CV_CLASS_UNDEFINED_LOCAL, cv_link_undefined_local(job->view, job->sym));
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

    bool later = job->view->options->relocatable && !job->view->options->compat,
         debug = in_debug_section(job);

    if (debug && !later)
        return offset_in(job, CV_CLASS_DEBUG_SECTION, base);
    if (!job->view->options->relocatable &&
        in_shared_section(job)) /* its variables do not stay beside each other */
        return CV_CLASS_NO_PLACE;
    if (!later || job->sym->sec == CV_NONE || !(debug || in_bank(section_of(job->view, job->sym)))) {
        cv_reloc_class class = constant_or_address(job);

        if (class == CV_CLASS_CONSTANT)
            return class;
        job->known.moved = base; /* whoever applies it counts from the begin of the output's section */
        /* without an addend it would count by its field, which a loader finds empty in code (CV-ELF-138) */
        return base != 0 && !job->rela && job->facts->insn ? CV_CLASS_NO_PLACE : class;
    }
    job->known.moved = base; /* a later link counts from there */
    job->known.bank = debug ? 0 : section_of(job->view, job->sym)->bank;
    return base != 0 && !job->rela ? CV_CLASS_LATER_BANK : CV_CLASS_LATER;
}

/* What the symbol of a relocation is to the link. */
static cv_reloc_class classify(relocate_job *job)
{
    if (job->known.dead)
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
        if (is_exact_partial(job) && !is_remade(job))
            return give_up(job, CV_CLASS_GIVEN_UP,
                           cv_reloc_has(job->facts, CV_USE_BANK) ? CV_USE_BANK : CV_USE_SLOT, 0);
        if (job->view->options->relocatable || !job->osym || !job->osym->has_slot)
            return constant_or_address(job);
        job->known.use = CV_USE_SLOT;
        job->known.value = job->osym->slot;
        return CV_CLASS_SLOT;
    default:
        if (job->target->group == CV_G_DEBUG && cv_l_is_gone_label(job->sym))
            return offset_in(job, CV_CLASS_UNDEFINED_LOCAL, 0);
        return constant_or_address(job);
    }
}

/* What a relocation without an addend counts from is in its field, which has to have room for all of it. */
static bool add_to_field(relocate_job *job)
{
    const cv_reloc_facts *facts = job->facts;

    if (facts->bits < 32 || facts->shift != 0)
        return false;
    field(job->fix, facts->pos, facts->bits, job->known.moved, true);
    return true;
}

/* What nothing is left of names nothing, or the function of which a size is cleared. The reference keeps it,
 * or writes zeros, where it names something else, which no compiler has there. */
static bool names_too_much(const relocate_job *job, cv_reloc_class class)
{
    bool function = class == CV_CLASS_FUNCTION || class == CV_CLASS_LATER_FUNCTION;

    if (job->sym->index == 0 || class == CV_CLASS_DEAD)
        return false;
    return !cv_reloc_has(job->facts, CV_USE_CLEARS) || !function;
}

/* Where no input counts on it, an instruction that lets others go first becomes one that does nothing. */
static bool drop(relocate_job *job, cv_reloc_class class)
{
    bool zero = cv_reloc_has(job->facts, CV_USE_ZERO);
    uint64_t value = zero ? 0 : job->addend;

    if (cv_reloc_has(job->facts, CV_USE_DROPS | CV_USE_CLEARS) && names_too_much(job, class))
        return false;
    if (!cv_reloc_has(job->facts, CV_USE_DROPS) || job->view->inputs->progress || !(zero || job->rela))
        return true;
    field(job->fix, job->facts->pos, job->facts->bits, value, false);
    CV_ARRAY_AT(job->fix->field, job->fix->count - 1)->cut = value > ones(job->facts->bits); /* no number */
    return true;
}

/* What the table says is done. @return false: refused. */
static bool decide_one(relocate_job *job)
{
    uint32_t type = job->rel->type;
    cv_reloc_class class = (cv_reloc_class)job->known.class;
    cv_fix *fix = job->fix;

    /* Debug data has no instruction that reads a slot, and a kernel whose code reads none has none. */
    if (class == CV_CLASS_SLOT && job->facts->insn && job->target->group == CV_G_DEBUG)
        return false;
    /* A later link writes zeros where the function turns out to be dead; the reference gives that up. */
    if (class == CV_CLASS_LATER_FUNCTION && cv_reloc_has(job->facts, CV_USE_CLEARS) &&
        !job->view->options->compat) {
        fix->keep = true;
        return true;
    }
    switch (cv_reloc_action_of(type, class)) {
    case CV_RELOC_KEEP:
        fix->keep = true;
        fix->addend = job->rela ? job->known.moved : 0;
        return job->rela || job->known.moved == 0 || add_to_field(job);
    case CV_RELOC_ADD:
        fix->keep = true;
        return cv_link_field(fix, type, CV_USE_OFFSET, job->known.moved, 0, true) ||
               cv_link_field(fix, type, CV_USE_BANK, job->known.moved, job->known.bank, true);
    case CV_RELOC_APPLY:
        fix->given_up = job->known.given_up;
        return cv_link_field(fix, type, job->known.use, cv_wrap_add(job->known.value, job->addend),
                             job->known.bank, !job->rela);
    case CV_RELOC_CLEAR: field(fix, 0, 64, 0, false); return true;
    case CV_RELOC_DROP: return drop(job, class);
    case CV_RELOC_REFUSE:
    default: return false;
    }
}

/* Types that name memory of either kind become plain addresses. */
static uint32_t final_type(const relocate_job *job)
{
    return job->view->options->relocatable || job->facts->final == 0 ? job->rel->type : job->facts->final;
}

/* What the symbol is: found out now, unless an entry before this one named it in the same way. */
static void learn(relocate_job *job, cv_symbol_fixes *known)
{
    const cv_symbol_fix *last = cv_link_known(known, job->rel, job->target, job->rela);
    cv_id out;

    if (last) {
        job->known = *last;
        return;
    }
    out = cv_l_out_of(job->view, job->sym->id);
    job->osym = out == CV_NONE ? NULL : cv_l_osym(job->view, out);
    job->known.dead = cv_link_is_dead(job->view, job->osym);
    job->known.class = (uint8_t)classify(job);
    if (cv_l_is_shared(job->sym))
        return;
    job->known.sym = job->rel->sym;
    job->known.kind = cv_link_kind(job->facts, job->target, job->rela);
    job->known.out = CV_NONE;
    *cv_symbol_fixes_at(known, job->rel->sym % CV_KNOWN_SYMBOLS) = job->known;
}

/* Applied, and worth a record of that? Debug data of code with capsules is made again, after the records. */
static bool is_recorded(const relocate_job *job)
{
    return !job->fix->keep && !job->known.dead &&
           !(job->target->group == CV_G_DEBUG && cv_l_has(job->view, CV_GEN_REMAKES_DEBUG)) &&
           (cv_l_is_shared(job->sym) || cv_l_has(job->view, CV_GEN_RESOLVED_ALL)) &&
           (job->fix->count != 0 || !cv_reloc_has(job->facts, CV_USE_DROPS)) &&
           !cv_reloc_has(job->facts, CV_USE_CLEARS) && !cv_l_is_undefined_local(job->sym) &&
           (job->fix->given_up || !names_nothing(job));
}

/* One that the link made. */
static void keep_made(relocate_job *job, cv_id out)
{
    if (out == CV_NONE)
        out = cv_l_out_of(job->view, job->sym->id);
    job->fix->dead = cv_link_is_dead(job->view, out == CV_NONE ? NULL : cv_l_osym(job->view, out));
    job->fix->keep = !job->fix->dead;
    job->fix->type = final_type(job);
}

bool cv_link_fix(const cv_check_scan_relocs *view, const cv_rel_cur *cur, const cv_osec *osec,
                 cv_symbol_fixes *known, cv_fix *fix)
{
    const cv_irel *irel = cur->rel;
    relocate_job job = { .view = view,
                         .rel = irel,
                         .facts = cv_reloc_of(irel->type),
                         .sym = cv_l_isym(view, irel->sym),
                         .target = cv_l_osec(view, osec->target),
                         .rela = osec->type == CV_SHT_RELA,
                         .fix = fix };
    bool decided;

    *fix = (cv_fix){ .type = irel->type };
    if (cur->target == CV_NONE) {
        keep_made(&job, cv_rel_osym(view->out, cur));
        return true;
    }
    if (job.target->group == CV_G_CODE && !cv_l_fn_calls(view, job.target->fn)->live)
        return true; /* the code goes */
    job.addend = job.rela ? (uint64_t)irel->addend : 0;
    learn(&job, known);
    decided = decide_one(&job);
    fix->dead = job.known.dead;
    fix->type = final_type(&job);
    fix->resolved = is_recorded(&job);
    return decided;
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
