/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to the stage "resolve": which definition of a name wins. Compared with a search through all
 * symbols, and with the inputs in the other order. Parameters: see linking.h. */
#include "linking.h"

/* More symbols than this are not searched through: it takes the square of their number. */
#define MANY 300

static bool is_ours(cv_rule r)
{
    return r == CV_R_LINK_MULTIPLE || r == CV_R_LINK_SIZE || r == CV_R_LINK_SPACE ||
           r == CV_R_LINK_PROTOTYPE || r == CV_R_LINK_ENTRY || r == CV_R_LINK_MANAGED;
}

/* What admission asks of an input alone, and what is said of all inputs. */
static bool is_admission(cv_rule r)
{
    return r == CV_R_LINK_CODE || r == CV_R_LINK_TWICE || r == CV_R_LINK_PLACE || r == CV_R_LINK_EXTENT ||
           r == CV_R_LINK_ALIGN || r == CV_R_LINK_SECTION || r == CV_R_SYM_RANGE ||
           r == CV_R_TLV_NO_REGCOUNT || r == CV_R_LINK_CAPSULE || r == CV_R_LINK_OTHER_DEBUG;
}

typedef struct listener {
    fz *f;
    const fz_link *k;
    uint64_t refused; /* diagnostics that name a symbol */
} listener;

static bool names_other(const cv_link *l, const cv_isym *s, const cuvet_path *w)
{
    const cv_isym *o;

    if (w->step[3].kind != CUVET_P_MEMBER || w->step[4].kind != CUVET_P_SYMBOL ||
        w->step[3].index >= l->obj.n || w->step[4].index >= cv_l_obj(l, w->step[3].index)->n_sym)
        return false;
    o = cv_l_isym(l, cv_l_obj(l, w->step[3].index)->first_sym + w->step[4].index);
    return o != s && o->name == s->name;
}

/* What is wrong is said with its file and its symbol; of two definitions, with both. */
static void on_diag(void *user, const cuvet_diag *d)
{
    listener *who = user;
    const cv_link *l = &who->k->l;
    const cv_isym *s;

    fz_note(who->f, fz_diag(d, 0, who->f->in->len));
    if (cuvet_diag_verdict(d) == CUVET_V_LIMIT)
        return;
    if (is_admission((cv_rule)d->rule)) {
        FZ_CHECK(d->severity == CUVET_NOTE || d->where.step[0].kind == CUVET_P_MEMBER, "an input is named");
        who->refused += d->severity != CUVET_NOTE;
        return;
    }
    FZ_CHECK(is_ours((cv_rule)d->rule), "a rule of this stage");
    FZ_CHECK((d->where.n == 3 || d->where.n == 5) && d->where.step[0].kind == CUVET_P_MEMBER &&
                 d->where.step[2].kind == CUVET_P_SYMBOL,
             "input and symbol are named");
    FZ_CHECK(d->where.step[0].index < l->obj.n, "an input");
    FZ_CHECK(d->where.step[2].index < cv_l_obj(l, d->where.step[0].index)->n_sym, "a symbol of it");
    s = cv_l_isym(l, cv_l_obj(l, d->where.step[0].index)->first_sym + d->where.step[2].index);
    FZ_CHECK(d->rule == CV_R_LINK_SPACE || (cv_l_bind(s) != CV_STB_LOCAL && cv_l_text(l, s->name).len),
             "which others can see");
    FZ_CHECK(d->where.n == 3 || names_other(l, s, &d->where), "and another of that name");
    who->refused++;
}

static bool takes_part(const cv_link *l, const cv_isym *s)
{
    return s->index && cv_l_bind(s) != CV_STB_LOCAL && cv_l_type(s) != CV_STT_SECTION &&
           cv_l_text(l, s->name).len;
}

static bool same_name(const cv_link *l, const cv_isym *a, const cv_isym *b)
{
    return cv_span_eq(cv_l_text(l, a->name), cv_l_text(l, b->name));
}

/* 3 strong, 2 weak, 1 common, 0 no definition. */
static int strength(const cv_isym *s)
{
    return !s->defined ? 0 : s->common ? 1 : cv_l_bind(s) == CV_STB_GLOBAL ? 3 : 2;
}

typedef struct group {
    uint64_t n, strong; /* symbols of the name, strong definitions */
    cv_id best; /* first of the strongest definitions; of weak functions that with the fewest registers */
    bool odd, twice; /* reserved, or not all of one type; more than one in an object */
} group;

/* All symbols with the name of symbol 'first'. */
static group gather(const cv_link *l, cv_id first)
{
    const cv_isym *f = cv_l_isym(l, first);
    cv_span name = cv_l_text(l, f->name);
    group g = { .best = CV_NONE, .odd = cv_span_starts(name, "__U") || cv_span_starts(name, ".nv.res") };

    for (cv_id i = first; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i), *b = g.best == CV_NONE ? NULL : cv_l_isym(l, g.best);

        if (!takes_part(l, s) || !same_name(l, s, f))
            continue;
        g.twice = g.twice || (i != first && s->obj == f->obj);
        g.n++;
        g.strong += strength(s) == 3;
        g.odd = g.odd || cv_l_type(s) != cv_l_type(f);
        if (!b || strength(s) > strength(b) ||
            (strength(s) == 2 && strength(b) == 2 && cv_l_type(b) == CV_STT_FUNC && s->regs < b->regs))
            g.best = i;
    }
    if (g.best != CV_NONE && strength(cv_l_isym(l, g.best)) == 0)
        g.best = CV_NONE;
    return g;
}

static bool is_first(const cv_link *l, cv_id id)
{
    if (!takes_part(l, cv_l_isym(l, id)))
        return false;
    for (cv_id i = 0; i < id; i++)
        if (takes_part(l, cv_l_isym(l, i)) && same_name(l, cv_l_isym(l, i), cv_l_isym(l, id)))
            return false;
    return true;
}

static void check_winners(const cv_link *l, cuvet_status s, bool *plain)
{
    *plain = true;
    for (cv_id i = 0; i < l->isym.n; i++) {
        group g;

        if (!is_first(l, i))
            continue;
        g = gather(l, i);
        *plain = *plain && g.n <= 2 && !g.odd && !g.twice;
        FZ_CHECK(g.strong < 2 || s != CUVET_OK, "two strong definitions are refused");
        if (s != CUVET_OK)
            continue;
        FZ_CHECK(cv_l_mean(l, cv_l_isym(l, i)->name)->first == i, "the first of a name");
        FZ_CHECK(cv_l_mean(l, cv_l_isym(l, i)->name)->win == g.best, "the best definition wins");
    }
}

/* Number of a name in another link; CV_NONE: it has none. */
static cv_id name_in(const cv_link *l, cv_span text)
{
    for (cv_id n = 0; n < l->mean.n; n++)
        if (cv_span_eq(cv_l_text(l, n), text))
            return n;
    return CV_NONE;
}

/* The order decides between equals only. */
static void check_turned(const fz_link *a, const fz_link *b)
{
    for (cv_id n = 0; n < a->l.mean.n; n++) {
        const cv_meaning *p = cv_l_mean(&a->l, n), *q;
        const cv_isym *s, *t;
        cv_id m;

        if (p->first == CV_NONE)
            continue;
        m = name_in(&b->l, cv_l_text(&a->l, n));
        FZ_CHECK(m != CV_NONE, "the same names");
        q = cv_l_mean(&b->l, m);
        FZ_CHECK((p->win == CV_NONE) == (q->win == CV_NONE), "defined in both orders or in none");
        if (p->win == CV_NONE)
            continue;
        s = cv_l_isym(&a->l, p->win);
        t = cv_l_isym(&b->l, q->win);
        FZ_CHECK(strength(s) == strength(t), "as strong");
        if (strength(s) == 3)
            FZ_CHECK(a->from[s->obj] == b->from[t->obj] && s->index == t->index, "the only strong one");
        if (strength(s) == 2 && cv_l_type(s) == CV_STT_FUNC && cv_l_type(t) == CV_STT_FUNC)
            FZ_CHECK(s->regs == t->regs, "with as few registers");
    }
}

/* With at most two symbols of a name, one in each of two inputs, it is said of the other one what is wrong.
 */
static void check_said(const uint32_t *a, const uint32_t *b)
{
    for (size_t i = 0; i < CV_N_RULES; i++)
        FZ_CHECK(!is_ours((cv_rule)i) || a[i] == b[i], "the same is wrong in both orders");
}

static void turn(fz *f, const fz_link *k, cuvet_status s, bool plain)
{
    uint32_t seen[CV_N_RULES];
    uint64_t hash = f->hash;
    cuvet_status t;
    fz_link b;

    for (size_t i = 0; i < CV_N_RULES; i++)
        seen[i] = f->x.seen[i];
    f->x.emit = NULL;
    fz_link_open(&b, f, true, 0x5EED);
    t = fz_link_run(&b, "resolve");
    if (s != CUVET_E_LIMIT && t != CUVET_E_LIMIT && b.l.obj.n == k->l.obj.n) {
        check_winners(&b.l, t, &plain);
        FZ_CHECK(!plain || s == t, "linked in both orders or in none");
        if (plain && b.l.obj.n <= 2)
            check_said(seen, f->x.seen);
        if (s == CUVET_OK && t == CUVET_OK)
            check_turned(k, &b);
    }
    fz_link_close(&b);
    f->hash = hash;
}

static void run(fz *f)
{
    listener who = { .f = f };
    bool plain = false;
    cuvet_status s;
    fz_link k;

    fz_link_open(&k, f, false, f->pass + 1);
    who.k = &k;
    f->x.emit = on_diag;
    f->x.emit_user = &who;
    s = fz_link_run(&k, "resolve");
    fz_note(f, (uint64_t)s);
    FZ_CHECK(s != CUVET_E_REFUSED || who.refused || f->x.lim.diagnostics < 4, "a refusal names a symbol");
    if (k.l.isym.n <= MANY && s != CUVET_E_LIMIT) {
        check_winners(&k.l, s, &plain);
        if (f->pass == 0 && k.l.obj.n > 1)
            turn(f, &k, s, plain);
    }
    for (cv_id n = 0; n < k.l.mean.n; n++)
        fz_note(f, cv_l_mean(&k.l, n)->win);
    f->x.verdict = CUVET_V_CLEAN;
    fz_link_close(&k);
}

CV_FUZZ_TARGET(resolve)
{
    return fz_some_twice(data, size, 0, run);
}

CV_FUZZ_LINK_MUTATOR
