/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to the stage "fill": what is in the file, where, with which numbers. In the other order,
 * inputs that have no name in common give sections of the same sizes. Parameters: see linking.h. */
#include <stdlib.h>

#include "linking.h"

#define MANY 400

typedef struct range {
    uint64_t off, end;
} range;

static int by_off(const void *a, const void *b)
{
    const range *p = a, *q = b;

    return p->off != q->off ? (p->off < q->off ? -1 : 1) : (p->end > q->end) - (p->end < q->end);
}

/* No byte belongs to two of them, and none lies outside of [from, to). */
static void check_ranges(range *v, uint64_t n, uint64_t from, uint64_t to)
{
    if (n)
        qsort(v, n, sizeof(*v), by_off);
    for (uint64_t i = 0; i < n; i++) {
        FZ_CHECK(v[i].off >= from && v[i].end >= v[i].off, "nothing overlaps");
        from = v[i].end;
    }
    FZ_CHECK(from <= to, "nothing lies behind the end");
}

static void check_string(cv_span table, uint64_t off, cv_span want)
{
    cv_span got;

    FZ_CHECK(cv_span_cstr(table, off, &got) && cv_span_eq(got, want), "a name stands where it is said to be");
}

static void check_sections(const cv_link *l)
{
    cv_span names = cv_builder_span(&cv_l_osec(l, l->shstrtab)->bytes);
    range *v = calloc(l->order.n + 1, sizeof(*v));
    uint64_t n = 0, alive = 0;

    FZ_CHECK(v != NULL, "memory");
    for (uint64_t i = 0; i < l->order.n; i++) {
        const cv_osec *q = cv_l_osec(l, *cv_u32s_at(&l->order, i));

        FZ_CHECK(!q->dead && q->index == i, "sections are numbered in their order");
        FZ_CHECK(q->align < 2 || (cv_is_pow2(q->align) && q->off % q->align == 0), "aligned");
        check_string(names, cv_l_mean(l, q->name)->sh_off, cv_l_text(l, q->name));
        if (q->group != CV_G_NOBITS && i)
            v[n++] = (range){ q->off, cv_sat_add(q->off, q->size) };
    }
    check_ranges(v, n, 64, l->shoff);
    free(v);
    FZ_CHECK(l->shoff % 8 == 0 && l->phoff == l->shoff + 64 * l->order.n, "tables follow");
    for (cv_id i = 0; i < l->osec.n; i++)
        alive += !cv_l_osec(l, i)->dead;
    FZ_CHECK(alive == l->order.n, "every section once");
}

/* Pieces of a section: aligned, one after the other, each whole. */
static void check_parts(const cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t end = 0;

        if (q->dead || q->bytes.len)
            continue;
        for (cv_id p = q->first_part; p != CV_NONE; p = cv_lparts_at(&l->part, p)->next) {
            const cv_lpart *e = cv_lparts_at(&l->part, p);
            const cv_isec *s = cv_l_isec(l, e->isec);

            FZ_CHECK(s->out == i && !s->lost, "a part of its section");
            FZ_CHECK(e->base >= end && s->size <= q->size && e->base <= q->size - s->size, "in its section");
            FZ_CHECK(e->base == s->base && (s->align < 2 || e->base % s->align == 0),
                     "aligned as it asked for");
            FZ_CHECK(q->align >= s->align, "as its section is");
            end = e->base + s->size;
        }
    }
}

static void check_symbols(const cv_link *l)
{
    cv_span names = cv_builder_span(&cv_l_osec(l, l->strtab)->bytes);

    FZ_CHECK(l->n_locals >= 1 && l->n_locals <= l->sym_order.n + 1, "locals first");
    for (uint64_t i = 0; i < l->sym_order.n; i++) {
        const cv_osym *y = cv_l_osym(l, *cv_u32s_at(&l->sym_order, i));
        const cv_osec *q = y->sec == CV_NONE ? NULL : cv_l_osec(l, y->sec);

        FZ_CHECK(!y->dead && y->index == i + 1, "symbols are numbered in their order");
        FZ_CHECK(!y->is_section || i + 1 < l->n_locals, "sections are local");
        check_string(names, cv_l_mean(l, y->name)->str_off, cv_l_text(l, y->name));
        FZ_CHECK(!q || (!q->dead && q->index < l->order.n), "in a section of the file");
        if (q && q->group == CV_G_CODE && !y->is_section)
            FZ_CHECK(y->value <= q->size && y->size <= q->size - y->value, "a function lies in its code");
    }
}

/* Shared variables of one kernel. */
static void check_shared(const cv_link *l)
{
    range *v = calloc(l->isym.n + 1, sizeof(*v));

    FZ_CHECK(v != NULL, "memory");
    for (cv_id q = 0; q < l->osec.n && !l->o.relocatable; q++) {
        uint64_t n = 0;

        if (cv_l_osec(l, q)->group != CV_G_NOBITS || cv_l_osec(l, q)->dead)
            continue;
        for (cv_id i = 0; i < l->isym.n; i++) {
            const cv_isym *s = cv_l_isym(l, i);

            if (s->placed && s->shared_sec == q && s->size && cv_l_canon(l, i) == i)
                v[n++] = (range){ s->shared_off, cv_sat_add(s->shared_off, s->size) };
        }
        check_ranges(v, n, 0, cv_l_osec(l, q)->size);
    }
    free(v);
}

static void check_relocations(const cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);

        if (q->group != CV_G_REL || q->dead)
            continue;
        FZ_CHECK(q->size == q->n_kept * q->entsize && q->n_kept, "room for what stays, and only for that");
        FZ_CHECK(!cv_l_osec(l, q->target)->dead && q->info == cv_l_osec(l, q->target)->index, "of a section");
    }
}

static bool is_name(const cv_isym *s)
{
    return s->index && cv_l_bind(s) != CV_STB_LOCAL && cv_l_type(s) != CV_STT_SECTION;
}

/* No input says anything about a name of another one, and none shares a section. */
static bool unrelated(const cv_link *l)
{
    if (l->isym.n > MANY)
        return false;
    for (cv_id i = 0; i < l->isym.n; i++)
        for (cv_id k = 0; k < i; k++)
            if (is_name(cv_l_isym(l, i)) && is_name(cv_l_isym(l, k)) &&
                cv_l_isym(l, i)->obj != cv_l_isym(l, k)->obj &&
                cv_span_eq(cv_l_text(l, cv_l_isym(l, i)->name), cv_l_text(l, cv_l_isym(l, k)->name)))
                return false;
    return true;
}

/* What has parts of several inputs has gaps between them that depend on their order. */
static bool has_gaps(const cv_link *l, cv_id i)
{
    const cv_osec *q = cv_l_osec(l, i);

    return q->group == CV_G_NOBITS || (q->first_part != q->last_part);
}

/* Sum over all sections: it does not depend on their order. */
static uint64_t sizes(const cv_link *l)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < l->order.n; i++) {
        cv_id id = *cv_u32s_at(&l->order, i);
        const cv_osec *q = cv_l_osec(l, id);
        cv_span name = cv_l_text(l, q->name);
        uint64_t h = fz_mix_bytes(q->type, name.base, name.len);

        h = fz_mix(fz_mix(h, q->flags), q->align);
        sum += fz_mix(h, has_gaps(l, id) ? 0 : q->size);
    }
    return sum;
}

static bool by_size(const fz *f)
{
    return f->x.seen[CV_R_LINK_BANK] || f->x.seen[CV_R_LINK_SHARED];
}

static void turn(fz *f, const fz_link *k, cuvet_status s)
{
    bool big = by_size(f);
    cuvet_status t;
    fz_link b;

    f->x.emit = NULL;
    fz_link_open(&b, f, true, 0x5EED);
    t = fz_link_run(&b, "fill");
    if (s != CUVET_E_LIMIT && t != CUVET_E_LIMIT && b.l.obj.n == k->l.obj.n) {
        FZ_CHECK(s == t || big || by_size(f), "linked in both orders or in none");
        if (s == CUVET_OK && t == CUVET_OK) {
            FZ_CHECK(k->l.order.n == b.l.order.n, "the same number of sections");
            FZ_CHECK(k->l.sym_order.n == b.l.sym_order.n, "and of symbols");
            FZ_CHECK(sizes(&k->l) == sizes(&b.l), "and the same sizes");
        }
    }
    fz_link_close(&b);
}

static void run(fz *f)
{
    cuvet_status s;
    fz_link k;

    fz_link_open(&k, f, false, f->pass + 1);
    s = fz_link_run(&k, "fill");
    fz_note(f, (uint64_t)s);
    if (s == CUVET_OK) {
        fz_note(f, sizes(&k.l));
        fz_note(f, k.l.shoff);
        check_sections(&k.l);
        check_parts(&k.l);
        check_symbols(&k.l);
        check_shared(&k.l);
        check_relocations(&k.l);
    }
    if (f->pass == 0 && s != CUVET_E_LIMIT && k.l.obj.n > 1 && fz_one_in(f->in, 3) && unrelated(&k.l))
        turn(f, &k, s);
    f->x.verdict = CUVET_V_CLEAN;
    fz_link_close(&k);
}

CV_FUZZ_TARGET(layout)
{
    return fz_some_twice(data, size, 0, run);
}

CV_FUZZ_LINK_MUTATOR
