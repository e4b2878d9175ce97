/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/choose.h"

static cuvet_reason judge_kind(const cuvet_candidate *candidate, const cv_wanted *wanted)
{
    bool asked = false;

    switch (candidate->kind) {
    case CUVET_K_CUBIN:
        asked = wanted->request == CUVET_REQUEST_LINK || wanted->request == CUVET_REQUEST_SASS;
        break;
    case CUVET_K_PTX:
        asked = wanted->request == CUVET_REQUEST_LINK || wanted->request == CUVET_REQUEST_PTX;
        break;
    case CUVET_K_LTOIR:
        asked = wanted->request == CUVET_REQUEST_LTOIR ||
                (wanted->direct && wanted->request == CUVET_REQUEST_LINK);
        break;
    case CUVET_K_FATBIN: asked = wanted->request != CUVET_REQUEST_LTOIR; break;
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

cuvet_reason cv_select_judge(const cuvet_candidate *candidate, const cv_wanted *wanted)
{
    cuvet_reason reason = judge_kind(candidate, wanted);

    if (reason != CUVET_REASON_NONE)
        return reason;
    if (!wanted->direct && !wanted->address32 && !(candidate->member_flags & CV_FB_64BIT))
        return CUVET_REASON_ADDRESS;
    if (candidate->kind == CUVET_K_CUBIN)
        return cv_arch_sass(candidate->sm, candidate->suffix, wanted->target, wanted->policy);
    if (candidate->kind == CUVET_K_PTX)
        return cv_arch_ptx(candidate->sm, candidate->suffix, wanted->target);
    /* IR goes to any target that is not older, like PTX; NVVM of the old form names none. */
    return candidate->sm == 0 && wanted->direct
               ? CUVET_REASON_NONE
               : cv_arch_ptx(candidate->sm, candidate->suffix, wanted->target);
}

static int suffix_rank(char suffix)
{
    return suffix == 'a' ? 2 : suffix == 'f' ? 1 : 0;
}

int cv_select_compare(const cuvet_candidate *left, const cuvet_candidate *right)
{
    if (left->sm != right->sm)
        return left->sm > right->sm ? -1 : 1;
    if ((left->kind == CUVET_K_CUBIN) != (right->kind == CUVET_K_CUBIN))
        return left->kind == CUVET_K_CUBIN ? -1 : 1;
    return suffix_rank(right->suffix) - suffix_rank(left->suffix);
}

/* Order of the candidates that fit in one number, small is good: sorting by it ranks them all at once. What
 * lies in the data or the offload binaries of a host object comes last: neither a linker nor a dumper reads
 * it. */
static uint64_t order_of(const cv_candidate *in)
{
    const cuvet_candidate *candidate = &in->pub;
    uint64_t sm = UINT32_MAX - candidate->sm, suffix = (uint64_t)(2 - suffix_rank(candidate->suffix));
    bool hidden = in->unit.place == CUVET_PLACE_DATA || in->unit.place == CUVET_PLACE_OFFLOAD;

    return (uint64_t)hidden << 35 | sm << 3 | (uint64_t)(candidate->kind != CUVET_K_CUBIN) << 2 | suffix;
}

/* Of members that are equal in everything the first one wins; but of PTX without suffix for the very number
 * of the target the last one, as in the reference linker. */
static bool last_wins(const cuvet_candidate *candidate, const cv_wanted *wanted)
{
    return candidate->kind == CUVET_K_PTX && candidate->suffix == 0 && candidate->sm == wanted->target.sm;
}

/* Turn the runs of equal ones round where the last one wins; each container for itself. */
static void settle_ties(cv_keys *fit, cv_candidates *all, const cv_wanted *wanted)
{
    for (uint64_t i = 0, end; i < fit->count; i = end) {
        const cv_key first = *cv_keys_at(fit, i);
        const cuvet_candidate *candidate = &cv_candidates_at(all, first.index)->pub;

        for (end = i + 1; end < fit->count && cv_keys_at(fit, end)->key == first.key; end++)
            if (cv_candidates_at(all, cv_keys_at(fit, end)->index)->pub.container_off !=
                candidate->container_off)
                break;
        for (uint64_t head = i, tail = end - 1; head < tail && last_wins(candidate, wanted); head++, tail--) {
            cv_key swapped = *cv_keys_at(fit, head);

            *cv_keys_at(fit, head) = *cv_keys_at(fit, tail);
            *cv_keys_at(fit, tail) = swapped;
        }
    }
}

cuvet_status cv_select(cv_ctx *ctx, cv_candidates *all, uint64_t from, const cv_wanted *wanted,
                       uint64_t *best, uint64_t *reference)
{
    cv_keys fit = { 0 };
    cuvet_status status = CUVET_OK;

    *best = *reference = all->count;
    for (uint64_t i = from; i < all->count && status == CUVET_OK; i++) {
        cv_candidate *one = cv_candidates_at(all, i);
        cuvet_candidate *candidate = &one->pub;

        candidate->rank = 0;
        candidate->reason = cv_select_judge(candidate, wanted);
        if (candidate->reason == CUVET_REASON_NONE &&
            !cv_keys_push(&ctx->mem, &fit, (cv_key){ .key = order_of(one), .index = i }))
            status = cv_nomem(ctx, candidate->header_off);
    }
    cv_keys_sort(&fit);
    settle_ties(&fit, all, wanted);
    for (uint64_t i = 0; i < fit.count && status == CUVET_OK; i++) {
        uint64_t at = cv_keys_at(&fit, i)->index;
        cuvet_candidate *candidate = &cv_candidates_at(all, at)->pub;

        candidate->rank = (uint32_t)(i + 1);
        if (i == 0)
            *best = at;
        if (*reference == all->count && (candidate->flags & CUVET_CANDIDATE_FIRST_CONTAINER) != 0)
            *reference = at;
    }
    cv_keys_free(&ctx->mem, &fit);
    return status;
}
