/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage relocate: what an offset in a bank or a section becomes is written into the code, what needs an
 * address stays for the loader. One function says what happens to a relocation; it is asked once, before the
 * layout, which needs to know what stays. */
#include "base/arith.h"
#include "link/in/stages.h"
#include "link/plan/reloc_table.h"

static void field(cv_fix *f, unsigned pos, unsigned bits, uint64_t value, bool add)
{
    cv_field e = { (uint8_t)pos, (uint8_t)bits, add, false, false, value };

    CV_ARRAY_SET(f->field, f->n, e);
    f->n++;
}

static uint64_t ones(unsigned bits)
{
    return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

bool cv_link_field(cv_fix *f, uint32_t type, cv_reloc_use use, uint64_t value, uint64_t bank, bool add)
{
    const cv_reloc_facts *facts = cv_reloc_of(type);
    cv_field *last;

    if (!cv_reloc_has(facts, use))
        return false;
    field(f, facts->pos, facts->bits, value >> facts->shift, add);
    last = CV_ARRAY_AT(f->field, f->n - 1);
    last->part = cv_reloc_has(facts, CV_USE_PART);
    if (last->part)
        last->value &= ones(facts->bits);
    else
        last->cut = (value & ones(facts->shift)) != 0;
    if (use == CV_USE_BANK && cv_reloc_has(facts, CV_USE_NUMBER)) /* the instruction has a place for it */
        field(f, CV_R_NUMBER_POS, CV_R_NUMBER_BITS, bank, false);
    return true;
}

static const cv_sec *section_of(const cv_link *l, const cv_isym *s)
{
    return cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, cv_l_isec(l, s->sec)->index);
}

static bool in_bank(const cv_sec *s)
{
    return s->role == CV_ROLE_CONSTANT || s->role == CV_ROLE_CONSTANT_FN;
}

typedef struct job {
    const cv_link *l;
    const cv_irel *r;
    const cv_reloc_facts *facts; /* of its type */
    const cv_isym *s;
    const cv_osym *y; /* NULL: none */
    const cv_osec *target;
    bool rela;
    uint64_t addend; /* 0 for REL */
    bool dead;       /* its symbol is a function that nothing reaches */
    cv_fix *f;
    /* Of its symbol: what is written for it, and of a section where it begins now. */
    cv_reloc_use use;
    uint64_t value, bank, moved;
} job;

/* Offset in a constant bank, where the symbol is in one. */
static bool constant(const job *j, uint64_t *value, uint64_t *bank)
{
    const cv_isym *s = j->s, *w;

    if (s->sec != CV_NONE && cv_l_isec(j->l, s->sec)->table) {
        *bank = 2;
        *value = cv_l_isec(j->l, s->sec)->bank_off + s->value;
        return true;
    }
    if (cv_l_type(s) == CV_STT_SECTION && s->sec != CV_NONE && in_bank(section_of(j->l, s))) {
        *bank = section_of(j->l, s)->bank;
        *value = cv_l_isec(j->l, s->sec)->base;
        return true;
    }
    if (!cv_l_is_constant(s) || !j->y || j->y->sec == CV_NONE)
        return false;
    w = cv_l_isym(j->l, cv_l_canon(j->l, (cv_id)(j->r->sym)));
    if (w->sec == CV_NONE)
        return false;
    *bank = section_of(j->l, w)->bank;
    *value = cv_l_bind(s) == CV_STB_LOCAL ? cv_l_isec(j->l, s->sec)->base + s->value : j->y->value;
    return true;
}

static uint64_t shared_offset(const job *j, const cv_isym *s)
{
    uint64_t off = j->target->fn == CV_NONE ? 0 : cv_l_fn(j->l, j->target->fn)->extern_off;

    if (j->l->o.relocatable)
        return s->value;
    if (s->placed)
        return s->shared_off;
    if (s->sec != CV_NONE)
        return 0;
    if (off == UINT64_MAX && j->l->o.debug) /* where no kernel gets to */
        off = cv_l_isym(j->l, cv_l_mean(j->l, s->name)->first)->shared_off;
    return off;
}

static bool dead_function(const cv_link *l, const cv_osym *y)
{
    return y && y->fn != CV_NONE && !cv_l_fn(l, y->fn)->live;
}

/* A weak variable may lose against one of a later link: its place is not known, which the reference minds as
 * well. */
static bool may_lose(const job *j)
{
    return j->l->o.relocatable && cv_l_bind(j->s) != CV_STB_LOCAL &&
           cv_l_bind(cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym))) == CV_STB_WEAK;
}

/* A section that the link puts together itself, without a place in memory. */
static bool in_debug_section(const job *j)
{
    cv_id out = j->s->sec == CV_NONE ? CV_NONE : cv_l_isec(j->l, j->s->sec)->out;

    return out != CV_NONE && cv_l_osec(j->l, out)->group == CV_G_DEBUG;
}

static bool in_shared_section(const job *j)
{
    cv_role role = j->s->sec != CV_NONE ? section_of(j->l, j->s)->role : CV_ROLE_NONE;

    return role == CV_ROLE_SHARED_FN || role == CV_ROLE_NV_DEBUG_SHARED;
}

/* What debug data says of a shared variable without a place: all ones; of an array what its symbol says. */
static uint64_t shown_offset(const job *j, const cv_isym *s)
{
    if (s->placed)
        return s->shared_off;
    return s->sec == CV_NONE && j->l->o.debug && j->y ? j->y->value : UINT64_MAX;
}

/* A texture, a shared variable without a place or without a symbol, or what is counted in a table that is not
 * there. */
static bool names_nothing(const job *j)
{
    const cv_isym *canon = cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym));

    if (cv_reloc_has(j->facts, CV_USE_TABLE) || cv_l_is_texture(j->s))
        return true;
    if (!cv_l_is_shared(j->s) || (canon->sec != CV_NONE && j->l->o.relocatable))
        return false;
    if (canon->sec != CV_NONE)
        return !canon->placed;
    /* an array has its place with the kernels that get there; elsewhere it is its symbol, where that stays */
    return j->target->fn == CV_NONE || cv_l_fn(j->l, j->target->fn)->extern_off != UINT64_MAX ||
           j->s->out == CV_NONE || cv_link_drops(j->l, j->s->out);
}

static cv_reloc_class left_alone(const job *j)
{
    bool function = cv_l_type(j->s) == CV_STT_FUNC;

    if (j->l->o.relocatable)
        return function ? CV_CLASS_LATER_FUNCTION : CV_CLASS_LATER;
    return function ? CV_CLASS_FUNCTION : CV_CLASS_ADDRESS;
}

static cv_reloc_class offset_in(job *j, cv_reloc_class class, uint64_t value)
{
    j->use = CV_USE_OFFSET;
    j->value = value;
    return class;
}

/* A shared variable or array. */
static cv_reloc_class shared_variable(job *j)
{
    const cv_isym *canon = cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym));
    bool debug = j->target->group == CV_G_DEBUG;
    uint64_t value = shared_offset(j, canon);

    if (j->l->o.relocatable) {
        if (!j->l->o.compat || (canon->sec == CV_NONE && !debug) || may_lose(j))
            return left_alone(j);
        value = canon->sec == CV_NONE ? 0 : value;
    } else if (debug) {
        value = shown_offset(j, canon);
    }
    return offset_in(j, CV_CLASS_SHARED, value);
}

/* A variable in the shared memory of the system. */
static cv_reloc_class reserved_variable(job *j)
{
    const cv_isym *canon = cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym));

    if (j->l->o.relocatable)
        return left_alone(j);
    return offset_in(j, canon->placed ? CV_CLASS_SHARED : CV_CLASS_NO_PLACE, canon->shared_off);
}

static cv_reloc_class constant_or_address(job *j)
{
    if (may_lose(j) || !constant(j, &j->value, &j->bank))
        return left_alone(j);
    j->use = CV_USE_BANK;
    return CV_CLASS_CONSTANT;
}

/* A variable that has no place as an address: in no section at all, in shared memory, in a bank. */
static cv_reloc_class variable(job *j)
{
    bool later = j->l->o.relocatable && !j->l->o.compat;

    if (cv_l_is_nowhere(j->s)) {
        if (later && cv_link_is_bank_size(j->l, j->s)) /* the bank may grow */
            return left_alone(j);
        return offset_in(j, CV_CLASS_UNDEFINED_LOCAL, cv_link_nowhere(j->l, j->s));
    }
    if (cv_l_is_reserved(j->s))
        return reserved_variable(j);
    if (cv_l_is_shared(j->s))
        return shared_variable(j);
    return later && cv_l_is_constant(j->s) ? left_alone(j) : constant_or_address(j);
}

/* The begin of an input's section, in that of the output. */
static cv_reloc_class section(job *j)
{
    uint64_t base = j->s->sec == CV_NONE ? 0 : cv_l_isec(j->l, j->s->sec)->base;

    if (in_debug_section(j))
        return offset_in(j, CV_CLASS_DEBUG_SECTION, base);
    if (!j->l->o.relocatable && in_shared_section(j)) /* its variables do not stay beside each other */
        return CV_CLASS_NO_PLACE;
    if (!j->l->o.relocatable || j->l->o.compat || j->s->sec == CV_NONE || !in_bank(section_of(j->l, j->s)))
        return constant_or_address(j);
    j->moved = base; /* a later link counts from there */
    j->bank = section_of(j->l, j->s)->bank;
    return base != 0 && !j->rela ? CV_CLASS_LATER_BANK : CV_CLASS_LATER;
}

/* What the symbol of a relocation is to the link. */
static cv_reloc_class classify(job *j)
{
    if (j->dead)
        return CV_CLASS_DEAD;
    if (cv_reloc_has(j->facts, CV_USE_TABLE) && cv_span_eq_str(cv_l_text(j->l, j->s->name), "__UFT_OFFSET"))
        return CV_CLASS_NO_TABLE; /* which the link does not make */
    switch (cv_l_type(j->s)) {
    case CV_STT_SECTION: return section(j);
    case CV_STT_OBJECT:
    case CV_STT_CUDA_OBJECT: return variable(j);
    case CV_STT_CUDA_TEXTURE:
    case CV_STT_CUDA_SAMPLER:
    case CV_STT_CUDA_SURFACE:
        if (j->l->o.relocatable || !j->y || !j->y->has_slot)
            return constant_or_address(j);
        j->use = CV_USE_SLOT;
        j->value = j->y->slot;
        return CV_CLASS_SLOT;
    default: return constant_or_address(j);
    }
}

/* What the table says is done. @return false: refused. */
static bool decide_one(job *j)
{
    uint32_t type = j->r->type;
    cv_fix *f = j->f;

    switch (cv_reloc_action_of(type, classify(j))) {
    case CV_RELOC_KEEP:
        f->keep = true;
        f->addend = j->rela ? j->moved : 0;
        return true;
    case CV_RELOC_ADD:
        f->keep = true;
        return cv_link_field(f, type, CV_USE_OFFSET, j->moved, 0, true) ||
               cv_link_field(f, type, CV_USE_BANK, j->moved, j->bank, true);
    case CV_RELOC_APPLY:
        return cv_link_field(f, type, j->use, cv_wrap_add(j->value, j->addend), j->bank,
                             !j->rela && j->use != CV_USE_SLOT);
    case CV_RELOC_CLEAR: field(f, 0, 64, 0, false); return true;
    case CV_RELOC_DROP: return true;
    case CV_RELOC_REFUSE:
    default: return false;
    }
}

/* Types that name memory of either kind become plain addresses. */
static uint32_t final_type(const job *j)
{
    return j->l->o.relocatable || j->facts->final == 0 ? j->r->type : j->facts->final;
}

bool cv_link_fix(const cv_link *l, cv_id rel, const cv_osec *q, cv_fix *f)
{
    const cv_irel *r = cv_l_irel(l, rel);
    cv_id out;
    job j = { .l = l,
              .r = r,
              .facts = cv_reloc_of(r->type),
              .s = cv_l_isym(l, r->sym),
              .target = cv_l_osec(l, q->target),
              .f = f };
    bool known = true;

    *f = (cv_fix){ .type = r->type };
    out = r->osym != CV_NONE ? r->osym : j.s->out;
    j.y = out == CV_NONE ? NULL : cv_l_osym(l, out);
    j.dead = dead_function(l, j.y);
    j.rela = q->type == CV_SHT_RELA;
    j.addend = j.rela ? (uint64_t)r->addend : 0;
    if (r->target == CV_NONE)
        f->keep = !j.dead; /* the link made it */
    else if (j.target->group == CV_G_CODE && !cv_l_fn(l, j.target->fn)->live)
        return true; /* the code goes */
    else
        known = decide_one(&j);
    f->dead = j.dead;
    f->type = final_type(&j);
    f->resolved = !f->keep && !f->dead && !cv_l_is_nowhere(j.s) && !names_nothing(&j) &&
                  (cv_l_has(l, CV_GEN_RESOLVED_ALL) || cv_l_is_shared(j.s)) &&
                  !cv_reloc_has(j.facts, CV_USE_DROPS | CV_USE_CLEARS);
    return known;
}

/* What was found out stays with the relocation: its fields, or its final form. */
static bool keep_fix(cv_link *l, cv_irel *r, const cv_fix *f)
{
    r->keep = f->keep;
    r->resolved = f->resolved;
    if (f->keep) {
        r->type = f->type;
        r->addend = (int64_t)cv_wrap_add((uint64_t)r->addend, f->addend);
    }
    r->field = (cv_id)l->field.n;
    if (r->target == CV_NONE) /* the link made it: nothing is written */
        return true;
    for (unsigned i = 0; i < f->n; i++)
        if (l->field.n >= CV_NONE || !cv_fields_push(&l->x->mem, &l->field, CV_ARRAY_GET(f->field, i)))
            return false;
    r->n_fields = (uint8_t)f->n;
    return true;
}

/* Do the values fit, as numbers with or without a sign? Where the field holds the addend, that counts. */
bool cv_link_fits(const cv_fix *f, cv_span body, uint64_t off)
{
    for (unsigned i = 0; i < f->n; i++) {
        const cv_field *e = &CV_ARRAY_GET(f->field, i);
        uint64_t value = e->value, old = 0, end = cv_sat_add(off, ((uint64_t)e->pos + e->bits + 7) / 8);

        if (end > body.len || e->cut || e->bits == 0)
            return false;
        for (unsigned k = 0; e->add && k < e->bits; k++)
            old |= (uint64_t)(cv_u8_at(body, off + (e->pos + k) / 8) >> (e->pos + k) % 8 & 1) << k;
        if (e->part && old != 0) /* the sum of a part is none of the sum */
            return false;
        value = cv_wrap_add(value, old);
        if (e->bits < 64 && value >> e->bits != 0 && value < UINT64_MAX - (UINT64_C(1) << (e->bits - 1)) + 1)
            return false;
    }
    return true;
}

/* A value that does not fit: nobody would get what was meant. */
static bool overflows(const cv_link *l, const cv_irel *r, const cv_fix *f)
{
    const cv_isec *t;

    if (f->n == 0 || r->target == CV_NONE)
        return false;
    t = cv_l_isec(l, r->target);
    return r->off < t->base || !cv_link_fits(f, cv_l_body(l, t), r->off - t->base);
}

/* A slot and an addend that lead behind the slots: so the code has it, and so the reference links it. */
static void tell_slot(cv_link *l, const cv_irel *r, const cv_fix *f)
{
    if (!l->o.relocatable && f->n == 1 && r->target != CV_NONE && cv_l_is_texture(cv_l_isym(l, r->sym)) &&
        r->addend != 0 && cv_l_osym(l, cv_l_isym(l, r->sym)->out)->has_slot)
        cv_link_say(l, r->sym, CV_R_LINK_SLOT, (uint64_t)r->addend, 0);
}

/* The function whose code or bank a section is; CV_NONE: data of all. */
static cv_id function_of(const cv_link *l, const cv_osec *t)
{
    if (t->group == CV_G_CODE)
        return t->fn;
    return t->infosec == CV_NONE ? CV_NONE : cv_l_osec(l, t->infosec)->fn;
}

static bool is_loaded(const cv_osec *t)
{
    return t->group == CV_G_CODE || t->group == CV_G_INIT || t->group == CV_G_CONST || t->group == CV_G_PARAM;
}

/* The function that it names is gone, and nothing is left of it. */
static bool is_dropped(const cv_link *l, const cv_irel *r)
{
    cv_id out;

    if (r->keep || r->n_fields != 0) /* nearly all */
        return false;
    out = r->osym != CV_NONE || r->sym == CV_NONE ? r->osym : cv_l_isym(l, r->sym)->out;
    return out != CV_NONE && dead_function(l, cv_l_osym(l, out)) &&
           !cv_reloc_has(cv_reloc_of(r->type), CV_USE_CLEARS);
}

bool cv_link_is_lost(const cv_link *l, const cv_osec *q, const cv_irel *r)
{
    const cv_osec *t;
    cv_id fn;

    if (!is_dropped(l, r))
        return false;
    t = cv_l_osec(l, q->target);
    if (!is_loaded(t))
        return false;
    fn = function_of(l, t);
    return fn == CV_NONE || cv_l_fn(l, fn)->reachable;
}

/* An undefined function that nothing is known to call, or one that is gone: code that runs would call nobody.
 * What stays because its address is taken, while no kernel reaches it, calls nobody in what the reference
 * makes as well; that is said once for each function. */
static cuvet_status lost(cv_link *l, const cv_osec *q, const cv_irel *r)
{
    const cv_osec *t = cv_l_osec(l, q->target);
    cv_id fn = CV_NONE;

    if (!is_dropped(l, r))
        return CUVET_OK;
    if (is_loaded(t))
        fn = function_of(l, t);
    if (cv_link_is_lost(l, q, r)) {
        cv_link_say(l, r->sym, CV_R_LINK_REFERENCE, cv_l_isym(l, r->sym)->index, 0);
        return CUVET_E_REFUSED;
    }
    if (fn != CV_NONE && cv_l_fn(l, fn)->live && !cv_l_fn(l, fn)->cut) {
        cv_l_fn(l, fn)->cut = true;
        cv_link_say(l, r->sym, CV_R_LINK_UNREACHED, cv_l_isym(l, r->sym)->index, 0);
    }
    return CUVET_OK;
}

static cuvet_status decide(cv_link *l, cv_id q)
{
    cv_fix f;

    cv_l_osec(l, q)->n_kept = cv_l_osec(l, q)->n_applied = 0;
    for (cv_id r = cv_l_osec(l, q)->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
        if (!cv_link_fix(l, r, cv_l_osec(l, q), &f)) {
            cv_link_say(l, cv_l_irel(l, r)->sym, CV_R_LINK_RELOC, cv_l_irel(l, r)->type, 0);
            return CUVET_E_REFUSED;
        }
        if (overflows(l, cv_l_irel(l, r), &f)) {
            cv_link_say(l, cv_l_irel(l, r)->sym, CV_R_LINK_FIELD, cv_l_irel(l, r)->type,
                        CV_ARRAY_AT(f.field, 0)->value);
            return CUVET_E_REFUSED;
        }
        if (f.keep && cv_l_irel(l, r)->osym == CV_NONE) {
            cv_l_irel(l, r)->osym = cv_link_symbol_of(l, cv_l_irel(l, r)->sym);
            if (cv_l_irel(l, r)->osym == CV_NONE) {
                cv_link_say(l, cv_l_irel(l, r)->sym, CV_R_LINK_RELOC, f.type, 0); /* against nothing */
                return CUVET_E_REFUSED;
            }
        }
        tell_slot(l, cv_l_irel(l, r), &f);
        if (!keep_fix(l, cv_l_irel(l, r), &f))
            return cv_l_nomem(l);
        if (f.dead && lost(l, cv_l_osec(l, q), cv_l_irel(l, r)) != CUVET_OK)
            return CUVET_E_REFUSED;
        cv_l_osec(l, q)->n_kept += f.keep;
        cv_l_osec(l, q)->n_applied += cv_l_irel(l, r)->n_fields != 0;
        if (f.resolved && l->o.preserve && cv_l_osec(l, cv_l_osec(l, q)->target)->resolved != CV_NONE)
            cv_l_osec(l, cv_l_osec(l, cv_l_osec(l, q)->target)->resolved)->n_kept++;
    }
    if (cv_l_osec(l, q)->n_kept == 0)
        cv_l_osec(l, q)->dead = true;
    return CUVET_OK;
}

cuvet_status cv_link_decide(cv_link *l)
{
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->osec.n && st == CUVET_OK; i++)
        if (cv_l_osec(l, i)->group == CV_G_REL && !cv_l_osec(l, i)->is_resolved)
            st = decide(l, i);
    return st;
}

CV_BUF_BEGIN
/* Bits of the byte in which bit 'at' lies that belong to a field with 'left' bits from there on. */
static unsigned bits_in_byte(unsigned at, unsigned left)
{
    return left < 8 - at % 8 ? left : 8 - at % 8;
}

static uint64_t get_bits(const uint8_t *p, unsigned pos, unsigned bits)
{
    uint64_t v = 0;

    for (unsigned done = 0, n; done < bits; done += n) {
        unsigned at = pos + done;

        n = bits_in_byte(at, bits - done);
        v |= (uint64_t)((unsigned)p[at / 8] >> at % 8 & ((1u << n) - 1)) << done;
    }
    return v;
}

static void put_bits(uint8_t *p, unsigned pos, unsigned bits, uint64_t value)
{
    for (unsigned done = 0, n; done < bits; done += n) {
        unsigned at = pos + done, ones;

        n = bits_in_byte(at, bits - done);
        ones = (1u << n) - 1;
        p[at / 8] = (uint8_t)(((unsigned)p[at / 8] & ~(ones << at % 8)) |
                              ((unsigned)(value >> done & ones) << at % 8));
    }
}

bool cv_link_put_field(const cv_field *e, uint8_t *bytes, uint64_t size, uint64_t off)
{
    uint64_t end = ((uint64_t)e->pos + e->bits + 7) / 8, value = e->value;

    if (off > size || end > size - off)
        return false;
    if (e->add)
        value = cv_wrap_add(value, get_bits(bytes + off, e->pos, e->bits));
    put_bits(bytes + off, e->pos, e->bits, value);
    return true;
}
CV_BUF_END

uint64_t cv_link_reach_of(const cv_link *l, const cv_irel *r)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < r->n_fields; i++) {
        const cv_field *e = cv_fields_get(&l->field, (uint64_t)r->field + i);

        most = cv_max(most, ((uint64_t)e->pos + e->bits + 7) / 8);
    }
    return most;
}

bool cv_link_apply(const cv_link *l, const cv_irel *r, uint8_t *bytes, uint64_t size)
{
    bool ok = true;

    for (unsigned i = 0; i < r->n_fields && ok; i++)
        ok = cv_link_put_field(cv_fields_get(&l->field, (uint64_t)r->field + i), bytes, size, r->off);
    return ok;
}
