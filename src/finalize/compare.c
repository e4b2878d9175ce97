/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Do two files hold the same program? Sections are matched by name, each exactly once, and compared: code
 * first, then debug information, relocations, and the rest. */
#include "finalize/compare.h"

#include "bytes/intern.h"

typedef struct walk {
    cv_ctx *x;
    const cv_final_same *q;
    cv_final *code;
    cv_keys a, b;
    cv_u8s used; /* by place in b */
} walk;

cv_span cv_final_plain_name(const cv_sec *s)
{
    cv_span rest;

    return cv_span_after(s->name, ".nv.merc", &rest) && cv_u8_at(rest, 0) == '.' ? rest : s->name;
}

/* The part that a section has in the comparison; false: it is not compared here. */
static bool counts(const walk *w, const cv_cubin *c, uint64_t i, cv_part *p)
{
    *p = cv_final_part(c, i);
    if (w->q->made_again && *p == CV_PART_OTHER && !cv_final_stays_again(c, i))
        return false;
    return *p != CV_PART_STRINGS && *p != CV_PART_SYMBOLS && cv_cubin_sec(c, i)->h.type != CV_SHT_NULL;
}

static cuvet_status differ(walk *w, cv_part p, uint64_t a, uint64_t b)
{
    const cv_cubin *c = b ? w->q->b : w->q->a;
    uint64_t at = c->image.off + cv_cubin_sec(c, b ? b : a)->h.off;
    cv_rule rule = CV_R_FINAL_OUTPUT_CONTENT;

    *w->code = CV_FINAL_BACKEND_BAD_OUTPUT;
    if (p == CV_PART_CODE) {
        *w->code = CV_FINAL_CHECK_TEXT;
        rule = CV_R_FINAL_CHECK_TEXT;
    } else if (p == CV_PART_DEBUG) {
        *w->code = CV_FINAL_CHECK_DEBUG;
        rule = CV_R_FINAL_CHECK_DEBUG;
    } else if (p == CV_PART_RELOC) {
        *w->code = CV_FINAL_CHECK_RELOC;
        rule = CV_R_FINAL_CHECK_RELOC;
    }
    return cv_reject(w->x, rule, at, b, a);
}

static cuvet_status out_of(walk *w, bool nomem)
{
    *w->code = nomem ? CV_FINAL_MEMORY : CV_FINAL_LIMIT;
    return nomem ? cv_nomem(w->x, 0) : CUVET_E_LIMIT;
}

/* Sections of one part, with the hashes of their names. */
static cuvet_status gather(walk *w, const cv_cubin *c, cv_part want, cv_keys *out)
{
    cv_part p;

    cv_keys_clear(out);
    for (uint64_t i = 1; i < c->sec.n; i++) {
        cv_span name;

        if (!counts(w, c, i, &p) || p != want)
            continue;
        name = cv_final_plain_name(cv_cubin_sec(c, i));
        if (!cv_work(w->x, name.len / 4 + 1, name.off))
            return out_of(w, false);
        if (!cv_keys_push(&w->x->mem, out, (cv_key){ cv_siphash(w->q->key, name), i }))
            return out_of(w, true);
    }
    cv_keys_sort(out);
    return CUVET_OK;
}

/* One of b that was not taken yet, of the same name and with the same contents. */
static bool take(walk *w, uint64_t i, uint64_t from, uint64_t hash)
{
    const cv_sec *s = cv_cubin_sec(w->q->a, i);

    for (uint64_t k = from; k < w->b.n && cv_keys_at(&w->b, k)->key == hash; k++) {
        uint64_t other = cv_keys_at(&w->b, k)->index;

        if (!cv_work(w->x, s->name.len / 16 + 1, s->name.off))
            return false;
        if (*cv_u8s_at(&w->used, k) ||
            !cv_span_eq(cv_final_plain_name(s), cv_final_plain_name(cv_cubin_sec(w->q->b, other))))
            continue;
        if (!cv_final_section_same(w->x, w->q, i, other))
            continue;
        *cv_u8s_at(&w->used, k) = 1;
        return true;
    }
    return false;
}

/* The section of b that i was to be, for the message: one of its name, or none. */
static uint64_t like(const walk *w, uint64_t from, uint64_t hash)
{
    return from < w->b.n && cv_keys_at(&w->b, from)->key == hash ? cv_keys_at(&w->b, from)->index : 0;
}

static cuvet_status match(walk *w, cv_part p)
{
    uint64_t from = 0;

    for (uint64_t k = 0; k < w->a.n; k++) {
        const cv_key *e = cv_keys_at(&w->a, k);

        /* Names repeat, by the thousand in a hostile file: what was taken is not looked at again. */
        while (from < w->b.n && (cv_keys_at(&w->b, from)->key < e->key || *cv_u8s_at(&w->used, from)))
            from++;
        if (!take(w, e->index, from, e->key))
            return w->x->work_out ? out_of(w, false) : differ(w, p, e->index, like(w, from, e->key));
    }
    for (uint64_t k = 0; k < w->b.n; k++)
        if (!*cv_u8s_at(&w->used, k))
            return differ(w, p, 0, cv_keys_at(&w->b, k)->index);
    return CUVET_OK;
}

static cuvet_status compare_part(walk *w, cv_part p)
{
    cuvet_status s = gather(w, w->q->a, p, &w->a);

    if (s == CUVET_OK)
        s = gather(w, w->q->b, p, &w->b);
    if (s != CUVET_OK)
        return s;
    cv_u8s_clear(&w->used);
    if (w->b.n != 0 && !cv_u8s_fill(&w->x->mem, &w->used, w->b.n))
        return out_of(w, true);
    return match(w, p);
}

cuvet_status cv_final_compare(cv_ctx *x, const cv_final_same *q, cv_final *code)
{
    static const cv_part PARTS[] = { CV_PART_CODE,  CV_PART_OTHER,   CV_PART_DEBUG,
                                     CV_PART_RELOC, CV_PART_CAPSULE, CV_PART_TWIN };
    walk w = { .x = x, .q = q, .code = code };
    /* Code that was made again has other contents, and debug information and records of its own: names of
     * code, and data. */
    size_t n = q->made_again ? 2 : q->stripped ? 4 : CV_COUNT(PARTS);
    cuvet_status s =
        cv_work(x, cv_sat_mul(cv_sat_add(q->a->sec.n, q->b->sec.n), n), 0) ? CUVET_OK : out_of(&w, false);

    for (size_t i = 0; i < n && s == CUVET_OK; i++)
        s = compare_part(&w, CV_AT(PARTS, i));
    if (s == CUVET_OK)
        s = cv_final_symbols_same(x, q, code);
    if (s == CUVET_OK && q->made_again)
        s = cv_final_references_kept(x, q, code);
    cv_keys_free(&x->mem, &w.a);
    cv_keys_free(&x->mem, &w.b);
    cv_u8s_free(&x->mem, &w.used);
    return s;
}
