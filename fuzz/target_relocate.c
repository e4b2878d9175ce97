/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What becomes of a relocation, without files: a small picture of a link is made here, with a symbol of each
 * kind, and the input is a program of relocations: type, offset, addend, symbol. What a fix says is compared
 * with spec/relocs.def, and what applying it does to the bytes with a loop over bits. First byte: 0
 * relocatable, 1 reference's form, 2 preserve, 3 RELA, 4..5 what is patched. Second: symbol of a dead
 * function, third: bank. Then per relocation: symbol and how, type, offset, addend, bases; see step(). */
#include <stdlib.h>
#include <string.h>

#include "format/elf/names.h"
#include "linking.h"

enum { TEXT = 1, CONST = 2, TABLE = 3, SHARED = 4, DEBUG = 5, GLOBAL = 6, N_SECTIONS = 7, Q = 7 };
enum { PATCHED = 48 }; /* bytes of each section */

/* A symbol of the picture. */
static const struct {
    const char *name;
    uint8_t info, other;
    uint32_t sec; /* 0: none */
    bool placed, dead, slot;
} SYMBOLS[] = {
    { "", 0, 0, 0, false, false, false },
    { ".text.k", CV_STT_SECTION, 0, TEXT, false, false, false },
    { ".nv.constant3", CV_STT_SECTION, 0, CONST, false, false, false },
    { ".nv.constant2.f", CV_STT_SECTION, 0, TABLE, false, false, false },
    { ".nv.shared.k", CV_STT_SECTION, 0, SHARED, false, false, false },
    { ".debug_info", CV_STT_SECTION, 0, DEBUG, false, false, false },
    { ".nv.global", CV_STT_SECTION, 0, GLOBAL, false, false, false },
    { "k", CV_STB_GLOBAL << 4 | CV_STT_FUNC, CV_STO_ENTRY, TEXT, false, false, false },
    { "f", CV_STB_GLOBAL << 4 | CV_STT_FUNC, 0, TEXT, false, true, false },
    { "in_bank", CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT, 0x80, CONST, false, false, false },
    { "in_bank_local", CV_STT_CUDA_OBJECT, 0x81, CONST, false, false, false },
    { "shared", CV_STT_CUDA_OBJECT, CV_STO_SPACE_SHARED, SHARED, true, false, false },
    { "shared_global", CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT, CV_STO_SPACE_SHARED, SHARED, false, false,
      false },
    { "shared_extern", CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT, CV_STO_SPACE_SHARED, 0, false, false, false },
    { "variable", CV_STB_GLOBAL << 4 | CV_STT_OBJECT, 0, GLOBAL, false, false, false },
    { "texture", CV_STB_GLOBAL << 4 | 10, 0, 0, false, false, true },
    { "surface", CV_STB_GLOBAL << 4 | 12, 0, 0, false, false, false },
    { "__UFT_OFFSET", CV_STB_GLOBAL << 4, 0, 0, false, false, false },
};

static const struct {
    cv_role role;
    cv_group group;
} SECTIONS[N_SECTIONS] = { { CV_ROLE_NULL_SECTION, CV_G_FIXED }, { CV_ROLE_TEXT, CV_G_CODE },
                           { CV_ROLE_CONSTANT, CV_G_CONST },     { CV_ROLE_CONSTANT_FN, CV_G_CONST },
                           { CV_ROLE_SHARED_FN, CV_G_NOBITS },   { CV_ROLE_DEBUG, CV_G_DEBUG },
                           { CV_ROLE_GLOBAL, CV_G_INIT } };

typedef struct world {
    fz *f;
    fz_ops ops;
    cv_link l;
    cv_id target;
} world;

static bool add_sections(world *w, uint32_t bank)
{
    cv_mem *m = &w->f->x.mem;
    cv_cubin *c = &cv_l_obj(&w->l, 0)->cubin;

    for (uint32_t i = 0; i < N_SECTIONS; i++) {
        cv_sec s = { .role = SECTIONS[i].role, .bank = i == TABLE ? 2 : bank % 18 };
        cv_isec in = { .index = i, .size = PATCHED, .out = i == TABLE ? CV_NONE : i, .table = i == TABLE };
        cv_osec out = {
            .group = SECTIONS[i].group, .fn = 0, .size = PATCHED, .resolved = CV_NONE, .rels = CV_NONE
        };

        if (!cv_secs_push(m, &c->sec, s) || !cv_isecs_push(m, &w->l.isec, in) ||
            !cv_osecs_push(m, &w->l.osec, out))
            return false;
    }
    return true;
}

static bool add_symbols(world *w)
{
    cv_mem *m = &w->f->x.mem;

    for (uint32_t i = 0; i < CV_COUNT(SYMBOLS); i++) {
        cv_id name = cv_l_name(&w->l, cv_span_of(SYMBOLS[i].name, strlen(SYMBOLS[i].name), 0));
        cv_id sec = SYMBOLS[i].sec ? SYMBOLS[i].sec : CV_NONE;
        bool function = (SYMBOLS[i].info & 15) == CV_STT_FUNC;
        cv_isym s = { .index = i,
                      .name = name,
                      .sec = sec,
                      .info = SYMBOLS[i].info,
                      .other = SYMBOLS[i].other,
                      .defined = sec != CV_NONE,
                      .out = i,
                      .placed = SYMBOLS[i].placed };
        cv_osym y = { .name = name,
                      .sec = sec,
                      .win = sec == CV_NONE ? CV_NONE : i,
                      .src = i,
                      .fn = !function ? CV_NONE : SYMBOLS[i].dead,
                      .info = SYMBOLS[i].info,
                      .has_slot = SYMBOLS[i].slot };

        if (name == CV_NONE || !cv_isyms_push(m, &w->l.isym, s) || !cv_osyms_push(m, &w->l.osym, y))
            return false;
        cv_l_mean(&w->l, name)->first = cv_l_mean(&w->l, name)->last = i;
        cv_l_mean(&w->l, name)->win = sec == CV_NONE ? CV_NONE : i;
    }
    return true;
}

static bool build(world *w)
{
    cv_mem *m = &w->f->x.mem;
    uint8_t how = fz_u8(&w->ops);
    cv_link_options o = { .relocatable = how & 1, .compat = (how & 3) == 3, .preserve = how & 4 };
    cv_osec q = {
        .group = CV_G_REL, .type = how & 8 ? CV_SHT_RELA : CV_SHT_REL, .resolved = CV_NONE, .rels = CV_NONE
    };
    static const uint8_t TARGETS[] = { TEXT, DEBUG, GLOBAL, CONST };

    cv_link_begin(&w->l, &w->f->x, &o);
    w->target = q.target = TARGETS[how >> 4 & 3];
    if (!cv_lobjs_reserve(m, &w->l.obj, 1))
        return false;
    w->l.obj.n = 1;
    *cv_l_obj(&w->l, 0) = (cv_lobj){ .n_sec = N_SECTIONS, .n_sym = CV_COUNT(SYMBOLS) };
    cv_cubin_init(&cv_l_obj(&w->l, 0)->cubin);
    return add_sections(w, fz_u8(&w->ops)) && add_symbols(w) && cv_osecs_push(m, &w->l.osec, q) &&
           cv_lfns_push(m, &w->l.fn, (cv_lfn){ .live = true, .kernel = true, .extern_off = 0x40 }) &&
           cv_lfns_push(m, &w->l.fn, (cv_lfn){ .live = false });
}

static bool bit(const uint8_t *p, uint64_t i)
{
    return p[i / 8] >> i % 8 & 1;
}

static uint64_t read_bits(const uint8_t *p, uint64_t off, const cv_field *e)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < e->bits; i++)
        v |= (uint64_t)bit(p, 8 * off + e->pos + i) << i;
    return v;
}

static bool in_field(const cv_fix *f, uint64_t off, uint64_t i)
{
    for (unsigned k = 0; k < f->n; k++)
        if (i >= 8 * off + f->field[k].pos && i < 8 * off + f->field[k].pos + f->field[k].bits)
            return true;
    return false;
}

/* Applied to a block of exactly the section's size. Fields of one fix do not overlap. */
static void check_apply(world *w, const cv_fix *f, uint64_t off)
{
    uint8_t *before = malloc(PATCHED), *after = malloc(PATCHED);
    bool fits = true, done;

    FZ_CHECK(before && after, "memory");
    for (unsigned i = 0; i < PATCHED; i++)
        before[i] = after[i] = fz_u8(&w->ops);
    for (unsigned i = 0; i < f->n; i++)
        fits =
            fits && off <= PATCHED && ((uint64_t)f->field[i].pos + f->field[i].bits + 7) / 8 <= PATCHED - off;
    done = true;
    for (unsigned i = 0; i < f->n && done; i++)
        done = cv_link_put_field(&f->field[i], after, PATCHED, off);
    FZ_CHECK(done == fits, "applied when all of it lies in the section");
    for (uint64_t i = 0; done && i < 8 * PATCHED; i++)
        FZ_CHECK(in_field(f, off, i) || bit(before, i) == bit(after, i), "no other bit changes");
    for (unsigned k = 0; done && k < f->n; k++) {
        const cv_field *e = &f->field[k];
        uint64_t mask = e->bits == 64 ? UINT64_MAX : (UINT64_C(1) << e->bits) - 1;
        uint64_t want = e->value + (e->add ? read_bits(before, off, e) : 0);

        FZ_CHECK(read_bits(after, off, e) == (want & mask), "the field holds the value");
    }
    for (unsigned i = 0; i < PATCHED; i++)
        fz_note(w->f, after[i]);
    free(before);
    free(after);
}

static bool overlap(const cv_field *a, const cv_field *b)
{
    return a->pos < b->pos + b->bits && b->pos < a->pos + a->bits;
}

static void check_fix(const world *w, const cv_irel *r, const cv_fix *f)
{
    uint32_t bytes = cv_reloc_of(r->type)->bytes;

    FZ_CHECK(f->n <= 2, "two fields at most");
    for (unsigned i = 0; i < f->n; i++) {
        const cv_field *e = &f->field[i];

        FZ_CHECK(e->bits >= 1 && e->bits <= 64 && e->pos + e->bits <= 128, "a field of an instruction");
        FZ_CHECK((uint32_t)(e->pos + e->bits + 7) / 8 <= bytes, "no more than its type has");
    }
    FZ_CHECK(f->n < 2 || !overlap(&f->field[0], &f->field[1]), "apart from each other");
    FZ_CHECK(!f->keep || f->n == 0 || w->l.o.relocatable, "applied or kept in a program, not both");
    FZ_CHECK(!f->keep || !f->resolved, "what stays is not resolved");
    FZ_CHECK(!f->keep || !f->dead, "nothing stays of a dead function");
    FZ_CHECK(f->keep || f->addend == 0, "an addend of what stays");
}

/* Applying does not look at what a field means: any field is the same. */
static void any_field(world *w)
{
    uint8_t a = fz_u8(&w->ops), b = fz_u8(&w->ops);
    cv_fix f = { .n = 1u + (a >> 7) };

    f.field[0] = (cv_field){ .pos = a & 127, .bits = 1 + b % 64, .add = b >> 7, .value = fz_u64(&w->ops) };
    if (f.n == 2)
        f.field[1] = (cv_field){ .pos = (uint8_t)(f.field[0].pos + f.field[0].bits),
                                 .bits = 1 + a % 16,
                                 .value = fz_u64(&w->ops) };
    check_apply(w, &f, fz_edge(&w->ops, PATCHED));
}

static uint32_t type_of(world *w)
{
    uint8_t t = fz_u8(&w->ops);

    return t == 255 ? (uint32_t)fz_u64(&w->ops) : t % 124;
}

static void step(world *w)
{
    uint8_t what = fz_u8(&w->ops);
    cv_irel r = { .sym = what & 31, .osym = CV_NONE, .target = w->target };
    cv_osec *q = cv_l_osec(&w->l, Q);
    cv_fix f, again;
    bool known;

    if (r.sym >= CV_COUNT(SYMBOLS)) {
        any_field(w);
        return;
    }
    r.type = type_of(w);
    r.off = fz_edge(&w->ops, PATCHED);
    r.addend = (int64_t)(what & 32 ? fz_u64(&w->ops) : fz_u8(&w->ops));
    if (what & 64) {
        cv_l_isec(&w->l, 1 + what % GLOBAL)->base = fz_edge(&w->ops, 0x10000);
        cv_l_isec(&w->l, TABLE)->bank_off = cv_l_isym(&w->l, r.sym)->shared_off = fz_edge(&w->ops, 0x10000);
        cv_l_osym(&w->l, r.sym)->value = cv_l_osym(&w->l, r.sym)->slot = fz_edge(&w->ops, 0x10000);
        cv_l_isym(&w->l, r.sym)->value = fz_u8(&w->ops);
    }
    /* The examination lets through what lies inside of the section that it patches. */
    if (r.off >= PATCHED || cv_reloc_of(r.type)->bytes > PATCHED - r.off || !cv_l_add_rel(&w->l, Q, &r))
        return;
    known = cv_link_fix(&w->l, q->rels, q, &f);
    fz_note(w->f, known);
    if (!known)
        return;
    check_fix(w, &r, &f);
    check_apply(w, &f, r.off);
    FZ_CHECK(cv_link_fix(&w->l, q->rels, q, &again) && again.n == f.n && again.keep == f.keep, "asked twice");
}

/* All of them together, as the stage decides. */
static void decide(world *w)
{
    uint64_t kept = 0, errors = w->f->x.n_errors;
    cuvet_status s = cv_link_decide(&w->l);

    fz_note(w->f, (uint64_t)s);
    FZ_CHECK(s == CUVET_OK || s == CUVET_E_REFUSED, "decided or refused");
    FZ_CHECK(s == CUVET_OK || w->f->x.n_errors > errors, "a refusal is reported");
    for (cv_id r = cv_l_osec(&w->l, Q)->rels; r != CV_NONE && s == CUVET_OK; r = cv_l_irel(&w->l, r)->next)
        kept += cv_l_irel(&w->l, r)->keep;
    FZ_CHECK(kept == (s == CUVET_OK ? cv_l_osec(&w->l, Q)->n_kept : 0), "what stays is counted");
    FZ_CHECK(s != CUVET_OK || cv_link_decide_holds(&w->l), "the checker agrees");
}

static void on_diag(void *user, const cuvet_diag *d)
{
    fz_note(user, fz_diag(d, 0, UINT64_MAX)); /* there is no file */
    FZ_CHECK(d->rule == CV_R_LINK_RELOC || d->rule == CV_R_LINK_FIELD || d->rule == CV_R_LINK_REFERENCE ||
                 d->rule == CV_R_LINK_UNREACHED || cuvet_diag_verdict(d) == CUVET_V_LIMIT,
             "a rule of this stage");
}

static void run(fz *f)
{
    world w = { .f = f, .ops = { .p = f->in->bytes, .n = f->in->len } };

    f->x.emit = on_diag;
    if (build(&w)) {
        while (fz_ops_left(&w.ops))
            step(&w);
        decide(&w);
    }
    f->x.verdict = CUVET_V_CLEAN;
    cv_link_end(&w.l);
}

CV_FUZZ_TARGET(relocate)
{
    return fz_twice(data, size, 0, run);
}
