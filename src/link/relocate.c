/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage relocate: what an offset in a bank or a section becomes is written into the code, what needs an
 * address stays for the loader. One function says what happens to a relocation; it is asked before the
 * layout, which needs to know what stays, and once more when the bytes are there. */
#include "base/arith.h"
#include "link/stages.h"

/* Types by their numbers in spec/relocs.def. */
enum {
    R_32 = 1,
    R_64 = 2,
    R_G64 = 4,
    R_ABS32_32 = 55,
    R_ABS16_32 = 59,
    R_ABS24_32 = 60,
    R_BINDLESSOFF13_40 = 64,
    R_BINDLESSOFF14_40 = 65,
    R_CONST_FIELD21_38 = 66,
    R_YIELD_OPCODE9_0 = 68,
    R_YIELD_CLEAR_PRED4_87 = 69,
    R_UNUSED_CLEAR64 = 73,
    R_ABS24_40 = 74,
    R_UNIFIED = 102,
    R_UNIFIED_32 = 103,
    R_UNIFIED_LO = 112,
    R_UNIFIED_HI = 113,
    R_ABS56_16_34 = 114,
    R_CONST_FIELD22_37 = 115,
    BANK_POS = 54,
    BANK_BITS = 5
};

static void field(cv_fix *f, unsigned pos, unsigned bits, uint64_t value, bool add)
{
    cv_field e = { (uint8_t)pos, (uint8_t)bits, add, value };

    CV_ARRAY_SET(f->field, f->n, e);
    f->n++;
}

/* Field of a plain offset. */
static bool offset_field(cv_fix *f, uint32_t type, uint64_t value, bool add)
{
    switch (type) {
    case R_ABS32_32: field(f, 32, 32, value, add); return true;
    case R_ABS16_32: field(f, 32, 16, value, add); return true;
    case R_ABS24_32: field(f, 32, 24, value, add); return true;
    case R_ABS24_40: field(f, 40, 24, value, add); return true;
    default: return false;
    }
}

/* The bank number goes along where the instruction has a place for it. */
static bool bank_field(cv_fix *f, uint32_t type, uint64_t value, uint64_t bank, bool add)
{
    switch (type) {
    case R_ABS32_32:
    case R_ABS16_32: return offset_field(f, type, value, add);
    case R_BINDLESSOFF13_40: field(f, 40, 14, value >> 2, add); break;
    case R_CONST_FIELD21_38: field(f, 38, 16, value, add); break;
    case R_CONST_FIELD22_37: field(f, 37, 17, value, add); break;
    default: return false;
    }
    field(f, BANK_POS, BANK_BITS, bank, false);
    return true;
}

static bool slot_field(cv_fix *f, uint32_t type, uint64_t slot)
{
    switch (type) {
    case R_BINDLESSOFF14_40: field(f, 40, 14, slot >> 2, false); return true;
    case R_CONST_FIELD21_38: field(f, 38, 16, slot, false); return true;
    case R_CONST_FIELD22_37: field(f, 37, 17, slot, false); return true;
    default: return false;
    }
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
    else if (!offset_field(f, j->r->type, base, true))
        return bank_field(f, j->r->type, base, section_of(j->l, j->s)->bank, true);
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
    if (cv_l_type(s) != CV_STT_CUDA_OBJECT || !(s->other & 0x80) || !j->y || j->y->sec == CV_NONE)
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
    if (j->l->o.relocatable)
        return s->value;
    if (s->placed)
        return s->shared_off;
    return s->sec == CV_NONE ? cv_l_fn(j->l, j->target->fn)->extern_off : 0;
}

static bool dead_function(const job *j)
{
    return j->y && j->y->fn != CV_NONE && !cv_l_fn(j->l, j->y->fn)->live;
}

/* Relocations of which nothing is left, whatever their symbol. */
static bool vanishes(const job *j)
{
    switch (j->r->type) {
    case R_UNUSED_CLEAR64:
        if (dead_function(j))
            field(j->f, 0, 64, 0, false);
        return true;
    case R_YIELD_OPCODE9_0:
    case R_YIELD_CLEAR_PRED4_87: return true;
    case R_ABS56_16_34: return cv_span_eq_str(cv_l_text(j->l, j->s->name), "__UFT_OFFSET");
    default: return false;
    }
}

static bool is_address(uint32_t type)
{
    return type == R_32 || type == R_64 || type == R_G64;
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
    return cv_l_type(s) == CV_STT_CUDA_OBJECT && (s->other & 0x80) != 0;
}

/* Types that no loader applies: ranges from spec/relocs.def, first and last. */
static bool is_linkers(uint32_t type)
{
    static const struct {
        uint32_t first, last;
    } RANGES[] = { { 0, 0 },   { 15, 30 }, { 36, 41 }, { 45, 46 }, { 50, 51 },   { 54, 54 },
                   { 59, 60 }, { 64, 66 }, { 68, 69 }, { 72, 74 }, { 100, 100 }, { 115, UINT32_MAX } };

    for (size_t i = 0; i < CV_COUNT(RANGES); i++)
        if (type >= CV_AT(RANGES, i).first && type <= CV_AT(RANGES, i).last)
            return true;
    return false;
}

/* Its shared memory has no place. */
static bool in_dead_kernel(const cv_link *l, const cv_isym *s)
{
    cv_id out = s->sec == CV_NONE ? CV_NONE : cv_l_isec(l, s->sec)->out,
          code = out == CV_NONE ? CV_NONE : cv_l_osec(l, out)->infosec,
          fn = code == CV_NONE ? CV_NONE : cv_l_osec(l, code)->fn;

    return cv_l_is_shared(s) && fn != CV_NONE && !cv_l_fn(l, fn)->live;
}

/* *kept: stays for the loader. @return false: not known how. */
static bool resolve(const job *j, bool *kept)
{
    uint32_t type = j->r->type;
    const cv_isym *canon = cv_l_isym(j->l, cv_l_canon(j->l, j->r->sym));
    uint64_t value, bank;
    unsigned bits = type == R_64 ? 64 : 32;

    *kept = false;
    if (vanishes(j))
        return true;
    if (cv_l_is_texture(j->s) && !j->l->o.relocatable && j->y && j->y->has_slot &&
        slot_field(j->f, type, j->y->slot))
        return true;
    if (cv_l_type(j->s) == CV_STT_SECTION && j->s->sec != CV_NONE &&
        cv_l_isec(j->l, j->s->sec)->out != CV_NONE &&
        cv_l_osec(j->l, cv_l_isec(j->l, j->s->sec)->out)->group == CV_G_DEBUG) {
        field(j->f, 0, bits, cv_wrap_add(cv_l_isec(j->l, j->s->sec)->base, j->addend), !j->rela);
        return true;
    }
    if (is_address(type) && !cv_l_is_shared(j->s)) {
        *kept = true;
        return true;
    }
    if ((type == R_32 || type == R_64) && !j->l->o.relocatable) {
        uint64_t base = j->s->placed ? j->s->shared_off : in_dead_kernel(j->l, j->s) ? UINT64_MAX : 0;

        field(j->f, 0, bits, cv_wrap_add(base, j->addend), false);
        return true;
    }
    if (cv_l_is_shared(j->s) && !(j->l->o.relocatable && (!j->l->o.compat || canon->sec == CV_NONE)))
        return offset_field(j->f, type, cv_wrap_add(shared_offset(j, canon), j->addend), !j->rela);
    if (keep_for_later(j)) {
        *kept = true;
        return true;
    }
    *kept =
        !constant(j, &value, &bank) || !bank_field(j->f, type, cv_wrap_add(value, j->addend), bank, !j->rela);
    return true;
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
    default: return type;
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
    j.rela = q->type == CV_SHT_RELA;
    j.addend = j.rela ? (uint64_t)r->addend : 0;
    if (r->target == CV_NONE)
        f->keep = true; /* the link made it */
    else
        known = resolve(&j, &f->keep) &&
                !(f->keep && !dead_function(&j) &&
                  (l->o.relocatable ? r->type == 0 || r->type > R_CONST_FIELD22_37 : is_linkers(r->type)));
    if (f->keep && dead_function(&j))
        f->keep = false;
    f->dead = dead_function(&j);
    f->type = final_type(l, r->type);
    f->resolved = !f->keep && !f->dead && r->type != R_UNUSED_CLEAR64 && r->type != R_YIELD_OPCODE9_0 &&
                  r->type != R_YIELD_CLEAR_PRED4_87;
    return known;
}

static cuvet_status decide(cv_link *l, cv_id q)
{
    cv_fix f;

    cv_l_osec(l, q)->n_kept = 0;
    for (cv_id r = cv_l_osec(l, q)->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
        if (!cv_link_fix(l, r, cv_l_osec(l, q), &f)) {
            cv_link_say(l, cv_l_irel(l, r)->sym, CV_R_LINK_RELOC, cv_l_irel(l, r)->type, 0);
            return CUVET_E_REFUSED;
        }
        if (f.keep && cv_l_irel(l, r)->osym == CV_NONE &&
            cv_link_symbol_of(l, cv_l_irel(l, r)->sym) == CV_NONE) {
            cv_link_say(l, cv_l_irel(l, r)->sym, CV_R_LINK_RELOC, f.type, 0); /* against nothing */
            return CUVET_E_REFUSED;
        }
        cv_l_irel(l, r)->keep = f.keep;
        cv_l_osec(l, q)->n_kept += f.keep;
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
static uint64_t get_bits(const uint8_t *p, unsigned pos, unsigned bits)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bits; i++)
        v |= (uint64_t)(p[(pos + i) / 8] >> (pos + i) % 8 & 1) << i;
    return v;
}

static void put_bits(uint8_t *p, unsigned pos, unsigned bits, uint64_t value)
{
    for (unsigned i = 0; i < bits; i++) {
        uint8_t bit = (uint8_t)(1u << (pos + i) % 8);

        if (value >> i & 1)
            p[(pos + i) / 8] |= bit;
        else
            p[(pos + i) / 8] &= (uint8_t)~bit;
    }
}

/* Write the fields into the bytes of the section; every field lies inside of it. */
bool cv_link_apply(const cv_fix *f, uint8_t *bytes, uint64_t size, uint64_t off)
{
    for (unsigned i = 0; i < f->n; i++) {
        const cv_field *e = CV_ARRAY_AT(f->field, i);
        uint64_t end = ((uint64_t)e->pos + e->bits + 7) / 8, value = e->value;

        if (off > size || end > size - off)
            return false;
        if (e->add)
            value = cv_wrap_add(value, get_bits(bytes + off, e->pos, e->bits));
        put_bits(bytes + off, e->pos, e->bits, value);
    }
    return true;
}
CV_BUF_END
