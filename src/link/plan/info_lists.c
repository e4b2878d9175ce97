/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Of stage describe: the lists of called symbols that the records of a function keep, and what a kernel hears
 * of from below. */
#include "link/plan/info_records.h"

/* Symbol of the output that a symbol index of an input's record becomes. */
cv_id cv_d_output_symbol(const cv_link *l, const cv_lobj *o, uint32_t index)
{
    const cv_isym *s;
    const cv_lfn *f;

    if (index >= o->n_sym)
        return CV_NONE;
    s = cv_l_isym(l, o->first_sym + index);
    if (cv_l_type(s) == CV_STT_SECTION)
        return s->sec == CV_NONE || cv_l_isec(l, s->sec)->out == CV_NONE
                   ? CV_NONE
                   : cv_l_osec(l, cv_l_isec(l, s->sec)->out)->sym;
    if (s->fn == CV_NONE)
        return s->out;
    f = cv_l_fn(l, s->fn);
    if (f->sec != CV_NONE && cv_l_osec(l, f->sec)->fn != s->fn)
        return cv_l_fn(l, cv_l_osec(l, f->sec)->fn)->sym; /* an alias: the function that owns the code */
    return s->out;
}

cv_id cv_link_symbol_of(const cv_link *l, cv_id isym)
{
    const cv_isym *s = cv_l_isym(l, isym);

    return cv_d_output_symbol(l, cv_l_obj(l, s->obj), s->index);
}

cv_span cv_d_info_body(const cv_link *l, const cv_lfn *f)
{
    return cv_l_body(l, cv_l_isec(l, cv_l_isec(l, cv_l_isym(l, f->def)->sec)->info_sec));
}

static bool in_list(const describer *d, cv_id osym)
{
    return *cv_u32s_get(&d->mark, osym) == d->stamp;
}

static bool list_once(describer *d, cv_id osym)
{
    if (in_list(d, osym))
        return true;
    *cv_u32s_at(&d->mark, osym) = d->stamp;
    return cv_u32s_push(&d->l->x->mem, &d->list, osym);
}

void cv_d_new_list(describer *d)
{
    cv_u32s_clear(&d->list);
    d->stamp++;
}

/* A called symbol stays in the list when nobody defines it, or when it is a kernel to be launched. */
static bool stays(const cv_link *l, cv_id osym)
{
    const cv_osym *y = cv_l_osym(l, osym);

    return y->win == CV_NONE || (y->fn != CV_NONE && cv_l_fn(l, y->fn)->kernel);
}

typedef struct extern_walk {
    cv_span s;
    uint64_t pos, at, end; /* entries that are left of the record at hand */
} extern_walk;

static bool begin_externs(const cv_link *l, const cv_lfn *f, extern_walk *w)
{
    *w = (extern_walk){ .s = cv_d_info_body(l, f) };
    w->s.len = f->has_info ? w->s.len : 0;
    return cv_work(l->x, 1 + w->s.len / 16, 0);
}

/* The next symbol that a function's EXTERNS records name. */
static bool next_extern(const cv_lobj *o, extern_walk *w, cv_id *isym)
{
    cv_tlv t;

    for (;;) {
        while (w->at + 4 <= w->end) {
            uint32_t index = cv_u32_at(w->s, w->at);

            w->at += 4;
            *isym = o->first_sym + index;
            if (index < o->n_sym)
                return true;
        }
        if (cv_tlv_at(w->s, w->pos, &t) != CV_TLV_OK)
            return false;
        w->pos = t.next;
        if (t.code == CV_ATTR_EXTERNS && t.format == CV_TLV_SVAL) {
            w->at = t.payload;
            w->end = t.payload + t.value;
        }
    }
}

bool cv_d_list_kept(describer *d, const cv_lfn *f)
{
    cv_link *l = d->l;
    const cv_lobj *o = cv_l_obj(l, cv_l_isym(l, f->def)->obj);
    extern_walk w;
    cv_id isym;
    bool ok = begin_externs(l, f, &w);

    while (ok && next_extern(o, &w, &isym)) {
        cv_id y = cv_l_isym(l, isym)->out;

        ok = y == CV_NONE || !stays(l, y) || list_once(d, y);
    }
    return ok;
}

bool cv_d_look_at_lists(describer *d, const cv_lfn *f, uint8_t *tells)
{
    cv_link *l = d->l;
    cv_id obj = cv_l_isym(l, f->def)->obj, isym;
    extern_walk w;
    bool ok = begin_externs(l, f, &w);

    while (ok && next_extern(cv_l_obj(l, obj), &w, &isym)) {
        cv_id y = cv_l_isym(l, isym)->out;

        if (y != CV_NONE && stays(l, y))
            *tells |= CV_D_KEEPS;
    }
    return ok;
}

static bool has_externs(const cv_link *l, const cv_lfn *f)
{
    cv_span s = cv_d_info_body(l, f);
    uint64_t pos = 0;
    cv_tlv t;

    for (; f->has_info && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next)
        if (t.code == CV_ATTR_EXTERNS)
            return true;
    return false;
}

cv_id cv_d_place(const cv_link *l, const cv_lfn *f)
{
    return cv_l_isec(l, cv_l_isym(l, f->def)->sec)->info_sec;
}

/* All that stays is taken to be below the only kernel. */
static bool take_all(describer *d)
{
    cv_u32s_clear(&d->below);
    for (cv_id i = 0; i < d->l->fn.n; i++)
        if (cv_l_fn(d->l, i)->live && !cv_u32s_push(&d->l->x->mem, &d->below, i))
            return false;
    return true;
}

static bool find_below(describer *d, cv_id k, kernel_facts *f)
{
    cv_link *l = d->l;
    bool ok = true;

    if (d->n_kernels == 1)
        ok = take_all(d);
    else if (*cv_u32s_at(&d->only, k) == 0)
        return true;
    else
        ok = cv_link_below(l, k, &d->only, &d->below, &d->seen) == CUVET_OK;
    for (uint64_t i = 0; i < d->below.n && ok; i++) {
        cv_id g = *cv_u32s_at(&d->below, i);
        const cv_lfn *h = cv_l_fn(l, g);

        if (g != k && !h->kernel && h->def != CV_NONE && h->has_info)
            ok = cv_keys_push(&l->x->mem, &f->below, (cv_key){ .key = cv_d_place(l, h), .index = g });
    }
    cv_keys_sort(&f->below);
    return ok;
}

/* With a single kernel the reference collects the list anew, from all functions that stay, reached or not, in
 * the order of their records; what comes later is put in front. */
static bool list_all(describer *d)
{
    cv_link *l = d->l;
    cv_keys order = { 0 };
    bool ok = true;

    for (cv_id i = 0; i < l->fn.n && ok; i++) {
        const cv_lfn *g = cv_l_fn(l, i);

        if (g->def != CV_NONE && g->live && g->has_info)
            ok = cv_keys_push(&l->x->mem, &order, (cv_key){ .key = cv_d_place(l, g), .index = i });
    }
    cv_keys_sort(&order);
    cv_d_new_list(d);
    for (uint64_t i = 0; i < order.n && ok; i++)
        ok = cv_d_list_kept(d, cv_l_fn(l, (cv_id)cv_keys_at(&order, i)->index));
    cv_keys_free(&l->x->mem, &order);
    for (uint64_t a = 0, b = d->list.n; b > a + 1; a++, b--) {
        uint32_t t = *cv_u32s_at(&d->list, a);

        *cv_u32s_at(&d->list, a) = *cv_u32s_at(&d->list, b - 1);
        *cv_u32s_at(&d->list, b - 1) = t;
    }
    return ok;
}

bool cv_d_find_facts(describer *d, cv_id k, kernel_facts *f)
{
    cv_link *l = d->l;
    const cv_lfn *fn = cv_l_fn(l, k);
    uint64_t own;
    bool ok;

    cv_d_new_list(d);
    ok = cv_d_list_kept(d, fn) && find_below(d, k, f);
    own = d->list.n;
    if (ok && d->n_kernels == 1)
        ok = list_all(d);
    for (uint64_t i = 0; i < f->below.n && ok && d->n_kernels != 1; i++) {
        uint64_t g = cv_keys_at(&f->below, i)->index;

        ok = !(*cv_u8s_at(&d->tells, g) & CV_D_KEEPS) || cv_d_list_kept(d, cv_l_fn(l, g));
    }
    f->own_externs = has_externs(l, fn);
    f->grown = d->list.n != own;
    f->in_place = f->own_externs && !(d->n_kernels == 1 && f->grown);
    if (ok && d->n_kernels == 1 && !f->grown) { /* its own, in its own order */
        cv_d_new_list(d);
        ok = cv_d_list_kept(d, fn);
    }
    return ok;
}
