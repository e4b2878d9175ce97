/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/choose.h"

static cuvet_reason judge_kind(const cuvet_candidate *c, const cv_wanted *w)
{
    bool asked = false;

    switch (c->kind) {
    case CUVET_K_CUBIN: asked = w->request == CUVET_REQUEST_LINK || w->request == CUVET_REQUEST_SASS; break;
    case CUVET_K_PTX: asked = w->request == CUVET_REQUEST_LINK || w->request == CUVET_REQUEST_PTX; break;
    case CUVET_K_LTOIR:
        asked = w->request == CUVET_REQUEST_LTOIR || (w->direct && w->request == CUVET_REQUEST_LINK);
        break;
    case CUVET_K_FATBIN: asked = w->request != CUVET_REQUEST_LTOIR; break;
    case CUVET_K_NVVM:
    case CUVET_K_WRAPPER:
    case CUVET_K_ARCHIVE:
    case CUVET_K_HOST_ELF:
    case CUVET_K_NONE:
    case CUVET_K_BITCODE:
    case CUVET_K_MERCURY: return CUVET_REASON_KIND;
    }
    return asked ? CUVET_REASON_NONE : CUVET_REASON_REQUEST;
}

cuvet_reason cv_select_judge(const cuvet_candidate *c, const cv_wanted *w)
{
    cuvet_reason r = judge_kind(c, w);

    if (r != CUVET_REASON_NONE)
        return r;
    if (!w->direct && !w->address32 && !(c->flags & CV_FB_64BIT))
        return CUVET_REASON_ADDRESS;
    if (c->kind == CUVET_K_CUBIN)
        return cv_arch_sass(c->sm, c->suffix, w->target, w->policy);
    if (c->kind == CUVET_K_PTX)
        return cv_arch_ptx(c->sm, c->suffix, w->target);
    /* IR goes to any target that is not older, like PTX; NVVM of the old form names none. */
    return c->sm == 0 && w->direct ? CUVET_REASON_NONE : cv_arch_ptx(c->sm, c->suffix, w->target);
}

static int suffix_rank(char s)
{
    return s == 'a' ? 2 : s == 'f' ? 1 : 0;
}

int cv_select_compare(const cuvet_candidate *a, const cuvet_candidate *b)
{
    if (a->sm != b->sm)
        return a->sm > b->sm ? -1 : 1;
    if ((a->kind == CUVET_K_CUBIN) != (b->kind == CUVET_K_CUBIN))
        return a->kind == CUVET_K_CUBIN ? -1 : 1;
    return suffix_rank(b->suffix) - suffix_rank(a->suffix);
}

/* Order of the candidates that fit in one number, small is good: sorting by it ranks them all at once. What
 * lies in the data of a host object comes last: neither a linker nor a dumper reads it. */
static uint64_t order_of(const cv_candidate *in)
{
    const cuvet_candidate *c = &in->pub;
    uint64_t sm = UINT32_MAX - c->sm, suffix = (uint64_t)(2 - suffix_rank(c->suffix));

    return (uint64_t)(in->unit.place == CUVET_PLACE_DATA) << 35 | sm << 3 |
           (uint64_t)(c->kind != CUVET_K_CUBIN) << 2 | suffix;
}

/* Of members that are equal in everything the first one wins; but of PTX without suffix for the very number
 * of the target the last one, as in the reference linker. */
static bool last_wins(const cuvet_candidate *c, const cv_wanted *w)
{
    return c->kind == CUVET_K_PTX && c->suffix == 0 && c->sm == w->target.sm;
}

/* Turn the runs of equal ones round where the last one wins; each container for itself. */
static void settle_ties(cv_keys *fit, cv_candidates *all, const cv_wanted *w)
{
    for (uint64_t i = 0, end; i < fit->n; i = end) {
        const cv_key first = *cv_keys_at(fit, i);
        const cuvet_candidate *c = &cv_candidates_at(all, first.index)->pub;

        for (end = i + 1; end < fit->n && cv_keys_at(fit, end)->key == first.key; end++)
            if (cv_candidates_at(all, cv_keys_at(fit, end)->index)->pub.container_off != c->container_off)
                break;
        for (uint64_t a = i, b = end - 1; a < b && last_wins(c, w); a++, b--) {
            cv_key t = *cv_keys_at(fit, a);

            *cv_keys_at(fit, a) = *cv_keys_at(fit, b);
            *cv_keys_at(fit, b) = t;
        }
    }
}

cuvet_status cv_select(cv_ctx *x, cv_candidates *all, uint64_t from, const cv_wanted *w, uint64_t *best,
                       uint64_t *reference)
{
    cv_keys fit = { 0 };
    cuvet_status s = CUVET_OK;

    *best = *reference = all->n;
    for (uint64_t i = from; i < all->n && s == CUVET_OK; i++) {
        cv_candidate *one = cv_candidates_at(all, i);
        cuvet_candidate *c = &one->pub;

        c->rank = 0;
        c->reason = cv_select_judge(c, w);
        if (c->reason == CUVET_REASON_NONE &&
            !cv_keys_push(&x->mem, &fit, (cv_key){ .key = order_of(one), .index = i }))
            s = cv_nomem(x, c->header_off);
    }
    cv_keys_sort(&fit);
    settle_ties(&fit, all, w);
    for (uint64_t i = 0; i < fit.n && s == CUVET_OK; i++) {
        uint64_t at = cv_keys_at(&fit, i)->index;
        cuvet_candidate *c = &cv_candidates_at(all, at)->pub;

        c->rank = (uint32_t)(i + 1);
        if (i == 0)
            *best = at;
        if (*reference == all->n && c->first_container)
            *reference = at;
    }
    cv_keys_free(&x->mem, &fit);
    return s;
}
