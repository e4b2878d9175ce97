/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage resolve: for every global name, do its declarations agree, and which definition wins? Strong before
 * weak before common; of weak functions the one with the fewest registers, else the first. */
#include "link/in/stages.h"
#include "target/provided.h"

static cv_id number(const cv_link *l, const cv_isym *s)
{
    return cv_l_obj(l, s->obj)->first_sym + s->index;
}

/* s does not agree with the earlier f. */
static void say(cv_link *l, const cv_isym *s, const cv_isym *f, cv_rule rule, uint64_t got, uint64_t want)
{
    cv_link_say_two(l, number(l, s), number(l, f), rule, got, want);
}

/* Text of a prototype up to the bar: what is behind it is not compared. */
static bool same_proto(const cv_link *l, cv_id a, cv_id b)
{
    cv_span p = cv_l_text(l, a), q = cv_l_text(l, b);

    if (a == b || !cv_work(l->x, 1 + (p.len + q.len) / 16, 0))
        return true; /* without work the link ends anyway */
    p.len = cv_span_find_byte(p, '|');
    q.len = cv_span_find_byte(q, '|');
    return cv_span_eq(p, q);
}

static bool is_reserved(const cv_link *l, const cv_isym *s)
{
    cv_span name = cv_l_text(l, s->name);

    return (cv_l_type(s) == CV_STT_OBJECT || cv_l_type(s) == CV_STT_CUDA_OBJECT) &&
           (cv_span_starts(name, "__U") || cv_span_starts(name, ".nv.res"));
}

/* A common variable that is smaller than an initialised one of its name is a part of that, as in the
 * reference. */
static bool is_part(const cv_link *l, const cv_isym *common, const cv_isym *s)
{
    const cv_isec *sec = s->sec == CV_NONE ? NULL : cv_l_isec(l, s->sec);

    return common->common && sec && common->size < s->size &&
           cv_cubin_sec(&cv_l_obj(l, sec->obj)->cubin, sec->index)->role == CV_ROLE_GLOBAL_INIT;
}

/* Sizes that cannot be those of one variable. */
static bool sizes_differ(const cv_link *l, const cv_isym *s, const cv_isym *f)
{
    return s->size != f->size && s->size && f->size && !(s->common && f->common) && !is_part(l, s, f) &&
           !is_part(l, f, s);
}

/* Where there is a definition, a common variable is compared with that, when all declarations are known. */
static bool is_judged_later(const cv_link *l, const cv_isym *s, const cv_isym *f)
{
    cv_id win = cv_l_mean(l, s->name)->win;

    return (s->common || f->common) && win != CV_NONE && !cv_l_isym(l, win)->common;
}

static void compare(cv_link *l, const cv_isym *s, const cv_isym *f)
{
    uint8_t space = s->other & CV_STO_SPACE, first = f->other & CV_STO_SPACE;

    if (cv_l_type(s) == CV_STT_FUNC && cv_l_type(f) == CV_STT_FUNC) {
        if ((s->other ^ f->other) & CV_STO_ENTRY)
            say(l, s, f, CV_R_LINK_ENTRY, s->other & CV_STO_ENTRY, f->obj);
        else if (s->proto != CV_NONE && f->proto != CV_NONE && !same_proto(l, s->proto, f->proto))
            say(l, s, f, CV_R_LINK_PROTOTYPE, s->obj, f->obj);
    } else if (is_reserved(l, s)) {
        return;
    } else if (cv_l_type(s) != cv_l_type(f) || space != first) {
        say(l, s, f, CV_R_LINK_SPACE, s->other, f->other);
    } else if ((s->other ^ f->other) & CV_STO_MANAGED) { /* type and space are the same: two variables */
        say(l, s, f, CV_R_LINK_MANAGED, s->other & CV_STO_MANAGED, f->obj);
    } else if (sizes_differ(l, s, f) && !is_judged_later(l, s, f)) {
        say(l, s, f, CV_R_LINK_SIZE, s->size, f->size);
    }
}

static void consider(cv_link *l, cv_meaning *m, cv_id id, const cv_isym *s)
{
    if (!s->defined)
        return;
    if (s->common) {
        if (m->common == CV_NONE)
            m->common = id;
    } else if (cv_l_bind(s) == CV_STB_GLOBAL) {
        if (m->strong == CV_NONE)
            m->strong = id;
        else
            say(l, s, cv_l_isym(l, m->strong), CV_R_LINK_MULTIPLE, s->obj, cv_l_isym(l, m->strong)->obj);
    } else if (m->weak == CV_NONE ||
               (cv_l_type(cv_l_isym(l, m->weak)) == CV_STT_FUNC && s->regs < cv_l_isym(l, m->weak)->regs)) {
        m->weak = id;
    } else {
        cv_l_isym(l, id)->beaten = true;
    }
    if (m->strong != CV_NONE && m->strong != id)
        cv_l_isym(l, id)->beaten = true;
    m->win = m->strong != CV_NONE ? m->strong : m->weak != CV_NONE ? m->weak : m->common;
}

static bool takes_part(const cv_link *l, const cv_isym *s)
{
    return s->index != 0 && cv_l_bind(s) != CV_STB_LOCAL && cv_l_type(s) != CV_STT_SECTION &&
           cv_l_text(l, s->name).len != 0;
}

static void resolve_symbol(cv_link *l, cv_id id)
{
    cv_isym *s = cv_l_isym(l, id);
    cv_meaning *m;

    if (!takes_part(l, s)) {
        l->unnamed = l->unnamed || (s->index != 0 && cv_l_bind(s) != CV_STB_LOCAL);
        return;
    }
    m = cv_l_mean(l, s->name);
    if (m->first == CV_NONE) {
        m->first = id;
    } else {
        if (cv_l_isym(l, m->last)->obj == s->obj)
            say(l, s, cv_l_isym(l, m->last), CV_R_LINK_TWICE, s->index, cv_l_isym(l, m->last)->index);
        compare(l, s, cv_l_isym(l, m->first));
        m->loose_size = m->loose_size || s->common || cv_l_isym(l, m->first)->common ||
                        (cv_l_isym(l, m->first)->size == 0 && s->size != 0);
        cv_l_isym(l, m->last)->next = id;
    }
    m->last = id;
    consider(l, m, id, s);
}

void cv_link_largest_common(const cv_link *l, const cv_meaning *m, uint64_t *size, uint64_t *align)
{
    *size = *align = 0;
    for (cv_id i = m->first; i != CV_NONE; i = cv_l_isym(l, i)->next) {
        const cv_isym *s = cv_l_isym(l, i);

        if (s->common) {
            *size = cv_max(*size, s->size);
            *align = cv_max(*align, s->value);
        }
    }
}

/* The area that sm_90 and later set aside: every kernel with shared memory has it once an input names it. */
static bool mentions_reserved(const cv_link *l)
{
    for (cv_id n = 0; n < l->mean.n; n++)
        if (cv_l_mean(l, n)->first != CV_NONE && cv_span_eq_str(cv_l_text(l, n), ".nv.reservedSmem.offset0"))
            return true;
    for (cv_id i = 0; i < l->obj.n; i++)
        if (cv_l_obj(l, i)->cubin.legacy) /* had no name for it yet */
            return true;
    return false;
}

/* Where the definition lies, what was compiled for the common variable finds its alignment. */
static bool is_aligned(const cv_link *l, const cv_isym *win, uint64_t align)
{
    uint64_t sec = win->sec == CV_NONE ? 0 : cv_l_isec(l, win->sec)->align;

    return align < 2 || (cv_max(sec, 1) % align == 0 && win->value % align == 0);
}

/* The first declaration of a name says nothing of its size where it has none, or where it is common: others
 * that agree with it may disagree with the definition. */
static void compare_with_winner(cv_link *l, const cv_meaning *m)
{
    const cv_isym *win = cv_l_isym(l, m->win);

    for (cv_id i = m->first; i != CV_NONE; i = cv_l_isym(l, i)->next) {
        const cv_isym *s = cv_l_isym(l, i);

        if (i == m->win || cv_l_type(s) != CV_STT_CUDA_OBJECT)
            continue;
        if (!win->common && sizes_differ(l, s, win))
            say(l, s, win, CV_R_LINK_SIZE, s->size, win->size);
        else if (s->common && !win->common && !is_aligned(l, win, s->value))
            say(l, s, win, CV_R_LINK_COMMON_ALIGN, s->value, cv_l_isec(l, win->sec)->align);
    }
}

/* All that is wrong with one input is said before the link ends. */
cuvet_status cv_link_resolve(cv_link *l)
{
    uint64_t before;

    for (cv_id o = 0; o < l->obj.n; o++) {
        const cv_lobj *obj = cv_l_obj(l, o);

        before = l->x->n_errors;
        for (cv_id i = 0; i < obj->n_sym; i++)
            resolve_symbol(l, obj->first_sym + i);
        if (l->x->n_errors != before)
            return CUVET_E_REFUSED;
    }
    before = l->x->n_errors;
    for (cv_id n = 0; n < l->mean.n; n++) {
        const cv_meaning *m = cv_l_mean(l, n);

        if (m->loose_size && m->win != CV_NONE && cv_l_type(cv_l_isym(l, m->win)) == CV_STT_CUDA_OBJECT &&
            !is_reserved(l, cv_l_isym(l, m->win)))
            compare_with_winner(l, m);
    }
    l->reserved = mentions_reserved(l);
    return l->x->n_errors == before ? CUVET_OK : CUVET_E_REFUSED;
}

/* Checker: the winner of a name is one of its definitions, and no better one is left. */
bool cv_link_resolve_holds(const cv_link *l)
{
    for (cv_id n = 0; n < l->mean.n; n++) {
        const cv_meaning *m = cv_l_mean(l, n);
        bool strong = false, any = false;

        for (cv_id i = m->first; i != CV_NONE; i = cv_l_isym(l, i)->next) {
            const cv_isym *s = cv_l_isym(l, i);

            if (s->name != n || (i == m->win && !s->defined))
                return false;
            any = any || s->defined;
            strong = strong || (s->defined && !s->common && cv_l_bind(s) == CV_STB_GLOBAL);
        }
        if (any != (m->win != CV_NONE))
            return false;
        if (strong && cv_l_bind(cv_l_isym(l, m->win)) != CV_STB_GLOBAL)
            return false;
    }
    return true;
}

bool cv_link_may_stay_undefined(const cv_link *l, const cv_isym *s)
{
    const cv_isym *f = cv_l_isym(l, cv_l_mean(l, s->name)->first);

    if (cv_l_mean(l, s->name)->win != CV_NONE)
        return true;
    return (cv_l_type(f) == CV_STT_FUNC && cv_is_provided(cv_l_text(l, s->name))) ||
           cv_l_bind(f) == CV_STB_WEAK || cv_l_is_texture(f) ||
           ((f->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED && f->size == 0); /* an array of any size */
}
