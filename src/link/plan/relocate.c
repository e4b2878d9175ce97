/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage relocate: what an offset in a bank or a section becomes is written into the code, what needs an
 * address stays for the loader. One function says what happens to a relocation; it is asked once, before the
 * layout, which needs to know what stays. */
#include "base/arith.h"
#include "link/in/stages.h"

/* Types by their numbers in spec/relocs.def. */
enum {
    R_32 = 1,
    R_64 = 2,
    R_YIELD_OPCODE9_0 = 68,
    R_YIELD_CLEAR_PRED4_87 = 69,
    R_UNUSED_CLEAR64 = 73,
    R_8_0 = 76,
    R_UNIFIED = 102,
    R_UNIFIED_32 = 103,
    R_UNIFIED_8_0 = 104,
    R_UNIFIED_8_56 = 111,
    R_UNIFIED_LO = 112,
    R_UNIFIED_HI = 113,
    R_ABS56_16_34 = 114,
    R_LAST = 115,
    BANK_POS = 54,
    BANK_BITS = 5
};

/* The fields that the link writes. Types that have none are kept for the loader, dropped, or refused. */
typedef struct form {
    uint8_t pos, bits, low, uses;
} form;

enum {
    OFFSET = CV_LINK_OFFSET,
    BANK = CV_LINK_BANK,
    SLOT = CV_LINK_SLOT,
    NUMBER = CV_LINK_NUMBER,
    PART = CV_LINK_PART
};

static const form FORMS[R_LAST + 1] = {
#define RELOC_FORM(number, pos, bits, low, uses) [number] = { pos, bits, low, uses },
#include "relocs.def"
};

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

bool cv_link_field(cv_fix *f, uint32_t type, cv_link_use use, uint64_t value, uint64_t bank, bool add)
{
    const form *e = type < CV_COUNT(FORMS) ? &CV_AT(FORMS, type) : NULL;
    cv_field *last;

    if (!e || !(e->uses & use))
        return false;
    field(f, e->pos, e->bits, value >> e->low, add);
    last = CV_ARRAY_AT(f->field, f->n - 1);
    last->part = (e->uses & CV_LINK_PART) != 0;
    if (last->part)
        last->value &= ones(e->bits);
    else
        last->cut = (value & ones(e->low)) != 0;
    if (use == CV_LINK_BANK && (e->uses & CV_LINK_NUMBER)) /* the instruction has a place for it */
        field(f, BANK_POS, BANK_BITS, bank, false);
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
    const cv_isym *s;
    const cv_osym *y; /* NULL: none */
    const cv_osec *target;
    bool rela;
    uint64_t addend; /* 0 for REL */
    bool dead;       /* its symbol is a function that nothing reaches */
    cv_fix *f;
} job;

/* The field or the addend of a relocation against a section that begins elsewhere now. */
static bool move_base(const job *j, uint64_t base)
{
    cv_fix *f = j->f;

    if (base == 0)
        return true;
    if (j->rela)
        f->addend = base;
    else
        return cv_link_field(f, j->r->type, CV_LINK_OFFSET, base, 0, true) ||
               cv_link_field(f, j->r->type, CV_LINK_BANK, base, section_of(j->l, j->s)->bank, true);
    return true;
}

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

/* Relocations of which nothing is left, whatever their symbol. */
static bool vanishes(const job *j)
{
    switch (j->r->type) {
    case R_UNUSED_CLEAR64:
        if (j->dead)
            field(j->f, 0, 64, 0, false);
        return true;
    case R_YIELD_OPCODE9_0:
    case R_YIELD_CLEAR_PRED4_87: return true;
    case R_ABS56_16_34: return cv_span_eq_str(cv_l_text(j->l, j->s->name), "__UFT_OFFSET");
    default: return false;
    }
}

/* A relocatable link keeps what a later one has to apply; offsets into a section move with its contents. */
static bool keep_for_later(const job *j)
{
    const cv_isym *s = j->s;

    if (!j->l->o.relocatable || j->l->o.compat)
        return false;
    if (cv_l_is_shared(s))
        return true;
    if (cv_l_type(s) == CV_STT_SECTION)
        return s->sec != CV_NONE && in_bank(section_of(j->l, s)) &&
               move_base(j, cv_l_isec(j->l, s->sec)->base);
    return cv_l_is_constant(s);
}

/* A weak variable may lose against one of a later link: its place is not known, which the reference minds as
 * well. */
static bool may_lose(const job *j)
{
    return j->l->o.relocatable && cv_l_bind(j->s) != CV_STB_LOCAL &&
           cv_l_bind(cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym))) == CV_STB_WEAK;
}

/* Nobody but this link would apply it to a symbol that the link does not know the place of. */
static bool is_for_nobody(const job *j)
{
    uint32_t type = j->r->type;

    switch ((cv_reloc_who)cv_reloc_of(type)->who) {
    case CV_RELOC_DRIVER:
    case CV_RELOC_EITHER: return false;
    case CV_RELOC_DESC: return cv_l_type(j->s) != CV_STT_FUNC;
    case CV_RELOC_LINKER: return !j->l->o.relocatable;
    case CV_RELOC_OLD:
    case CV_RELOC_NONE:
    default: return true;
    }
}

/* A section that the link puts together itself, without a place in memory. */
static bool in_debug_section(const job *j)
{
    cv_id out = j->s->sec == CV_NONE ? CV_NONE : cv_l_isec(j->l, j->s->sec)->out;

    return cv_l_type(j->s) == CV_STT_SECTION && out != CV_NONE && cv_l_osec(j->l, out)->group == CV_G_DEBUG;
}

static bool in_shared_section(const job *j)
{
    cv_role role = cv_l_type(j->s) == CV_STT_SECTION && j->s->sec != CV_NONE ? section_of(j->l, j->s)->role
                                                                             : CV_ROLE_NONE;

    return role == CV_ROLE_SHARED_FN || role == CV_ROLE_NV_DEBUG_SHARED;
}

/* What debug data says of a shared variable without a place: all ones; of an array what its symbol says. */
static uint64_t shown_offset(const job *j, const cv_isym *s)
{
    if (s->placed)
        return s->shared_off;
    return s->sec == CV_NONE && j->l->o.debug && j->y ? j->y->value : UINT64_MAX;
}

/* A shared variable or array. */
static bool resolve_shared(const job *j, bool *kept)
{
    const cv_isym *canon = cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym));
    bool debug = j->target->group == CV_G_DEBUG;
    uint64_t value = shared_offset(j, canon);

    if (j->l->o.relocatable) {
        *kept = !j->l->o.compat || (canon->sec == CV_NONE && !debug) || may_lose(j);
        value = canon->sec == CV_NONE ? 0 : value;
    } else if (debug) {
        value = shown_offset(j, canon);
    }
    return *kept ||
           cv_link_field(j->f, j->r->type, CV_LINK_OFFSET, cv_wrap_add(value, j->addend), 0, !j->rela);
}

/* A texture, a shared variable without a place or without a symbol, or what is counted in a table that is not
 * there. */
static bool names_nothing(const job *j)
{
    const cv_isym *canon = cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym));

    if (j->r->type == R_ABS56_16_34 || cv_l_is_texture(j->s))
        return true;
    if (!cv_l_is_shared(j->s) || (canon->sec != CV_NONE && j->l->o.relocatable))
        return false;
    if (canon->sec != CV_NONE)
        return !canon->placed;
    /* an array has its place with the kernels that get there; elsewhere it is its symbol, where that stays */
    return j->target->fn == CV_NONE || cv_l_fn(j->l, j->target->fn)->extern_off != UINT64_MAX ||
           j->s->out == CV_NONE || cv_link_drops(j->l, j->s->out);
}

/* *kept: stays for the loader. @return false: not known how. */
static bool resolve(const job *j, bool *kept)
{
    uint32_t type = j->r->type;
    uint64_t value, bank;

    *kept = false;
    if (vanishes(j))
        return true;
    if (cv_l_is_texture(j->s) && !j->l->o.relocatable && j->y && j->y->has_slot &&
        cv_link_field(j->f, type, CV_LINK_SLOT, cv_wrap_add(j->y->slot, j->addend), 0, false))
        return true;
    if (in_debug_section(j))
        return cv_link_field(j->f, type, CV_LINK_OFFSET,
                             cv_wrap_add(cv_l_isec(j->l, j->s->sec)->base, j->addend), 0, !j->rela);
    if (in_shared_section(j) && !j->l->o.relocatable) /* its variables do not stay beside each other */
        return false;
    if (cv_link_is_bank_size(j->l, j->s) && j->l->o.relocatable && !j->l->o.compat) {
        *kept = true; /* the bank may grow */
        return true;
    }
    if (cv_l_is_nowhere(j->s))
        return cv_link_field(j->f, type, CV_LINK_OFFSET, cv_wrap_add(cv_link_nowhere(j->l, j->s), j->addend),
                             0, !j->rela);
    if (cv_l_is_reserved(j->s)) {
        const cv_isym *canon = cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym));

        *kept = j->l->o.relocatable;
        return *kept ||
               (canon->placed && cv_link_field(j->f, type, CV_LINK_OFFSET,
                                               cv_wrap_add(canon->shared_off, j->addend), 0, !j->rela));
    }
    if (cv_l_is_shared(j->s))
        return resolve_shared(j, kept);
    *kept = keep_for_later(j) || may_lose(j) || !constant(j, &value, &bank) ||
            (cv_reloc_who)cv_reloc_of(type)->who == CV_RELOC_DRIVER;
    return *kept || cv_link_field(j->f, type, CV_LINK_BANK, cv_wrap_add(value, j->addend), bank, !j->rela);
}

/* Types that name memory of either kind become plain addresses. */
static uint32_t final_type(const cv_link *l, uint32_t type)
{
    if (l->o.relocatable)
        return type;
    switch (type) {
    case R_UNIFIED: return R_64;
    case R_UNIFIED_32: return R_32;
    case R_UNIFIED_LO: return 56;
    case R_UNIFIED_HI: return 57;
    default: return type >= R_UNIFIED_8_0 && type <= R_UNIFIED_8_56 ? type - R_UNIFIED_8_0 + R_8_0 : type;
    }
}

bool cv_link_fix(const cv_link *l, cv_id rel, const cv_osec *q, cv_fix *f)
{
    const cv_irel *r = cv_l_irel(l, rel);
    cv_id out;
    job j = { .l = l, .r = r, .s = cv_l_isym(l, r->sym), .target = cv_l_osec(l, q->target), .f = f };
    bool known = true;

    *f = (cv_fix){ .type = r->type };
    out = r->osym != CV_NONE ? r->osym : j.s->out;
    j.y = out == CV_NONE ? NULL : cv_l_osym(l, out);
    j.dead = dead_function(l, j.y);
    j.rela = q->type == CV_SHT_RELA;
    j.addend = j.rela ? (uint64_t)r->addend : 0;
    if (r->target == CV_NONE)
        f->keep = true; /* the link made it */
    else if (j.target->group == CV_G_CODE && !cv_l_fn(l, j.target->fn)->live)
        return true; /* the code goes */
    else
        known = resolve(&j, &f->keep) && !(f->keep && !j.dead && is_for_nobody(&j));
    if (j.dead)
        f->keep = false;
    f->dead = j.dead;
    f->type = final_type(l, r->type);
    f->resolved = !f->keep && !f->dead && !cv_l_is_nowhere(j.s) && !names_nothing(&j) &&
                  (cv_l_has(l, CV_GEN_RESOLVED_ALL) || cv_l_is_shared(j.s)) && r->type != R_UNUSED_CLEAR64 &&
                  r->type != R_YIELD_OPCODE9_0 && r->type != R_YIELD_CLEAR_PRED4_87;
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
        const cv_field *e = CV_ARRAY_AT(f->field, i);
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
    return out != CV_NONE && dead_function(l, cv_l_osym(l, out)) && r->type != R_UNUSED_CLEAR64;
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

bool cv_link_apply(const cv_link *l, const cv_irel *r, uint8_t *bytes, uint64_t size)
{
    bool ok = true;

    for (unsigned i = 0; i < r->n_fields && ok; i++)
        ok = cv_link_put_field(cv_fields_at(&l->field, (uint64_t)r->field + i), bytes, size, r->off);
    return ok;
}
