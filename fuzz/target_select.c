/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which member of several goes to a target: cv_select() on members that the input chooses, compared with
 * tests/model/select.c. Bytes: target, request; then three for each member. */
#include "common.h"

#include "format/fatbin/read.h"
#include "intake/choose.h"
#include "model/select.h"

#define MEMBERS 24

static const uint32_t NUMBERS[16] = { 0,  70,  75,  80,  86,  87,  88,  89,
                                      90, 100, 103, 110, 120, 121, 101, 4000000000u };

static char suffix_of(uint8_t byte)
{
    return "\0af\0"[byte & 3];
}

static void draw_target(fz_ops *ops, cv_wanted *wanted, md_target *target)
{
    uint8_t which = fz_u8(ops), how = fz_u8(ops);
    uint64_t count = 0;

    while (cuvet_target_get(count, &wanted->target) == CUVET_OK)
        count++;
    FZ_CHECK(cuvet_target_get(which % count, &wanted->target) == CUVET_OK, "a target");
    wanted->request = (cuvet_request)(how % 3);
    wanted->policy = how & 0x10 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE;
    wanted->address32 = (how & 0x20) != 0;
    *target = (md_target){ .sm = wanted->target.sm,
                           .suffix = wanted->target.suffix,
                           .exact = (how & 0x10) != 0,
                           .sass = wanted->request != CUVET_REQUEST_PTX,
                           .ptx = wanted->request != CUVET_REQUEST_SASS };
}

static unsigned draw_members(fz_ops *ops, cv_ctx *ctx, cv_candidates *all, md_member *member, bool narrow)
{
    unsigned count = 0;
    uint32_t container = 0;

    for (; count < MEMBERS && fz_ops_left(ops); count++) {
        uint8_t first = fz_u8(ops), second = fz_u8(ops);
        cv_candidate candidate = { .pub = { .size = sizeof(candidate.pub) } };
        md_member *one = &member[count];

        container += (second & 0x70) == 0x70;
        *one = (md_member){ .ptx = (first & 0x40) != 0,
                            .wide = narrow || (second & 7) != 7,
                            .hidden = (second & 0x80) != 0,
                            .sm = NUMBERS[first & 15],
                            .suffix = suffix_of(first >> 4),
                            .container = container };
        candidate.pub.kind = one->ptx ? CUVET_K_PTX : CUVET_K_CUBIN;
        candidate.pub.sm = one->sm;
        candidate.pub.suffix = one->suffix;
        candidate.pub.member_flags = (second & 7) != 7 ? CV_FB_64BIT : 0;
        candidate.pub.container_off = container;
        candidate.pub.flags = container == 0 ? CUVET_CANDIDATE_FIRST_CONTAINER : 0;
        candidate.unit.place = one->hidden ? CUVET_PLACE_DATA : (cuvet_place)0;
        FZ_CHECK(cv_candidates_push(&ctx->mem, all, candidate), "memory");
    }
    return count;
}

static void compare(const cv_candidates *all, const md_member *member, unsigned count,
                    const md_target *target, uint64_t best, uint64_t reference)
{
    uint64_t first = count;

    for (unsigned i = 0; i < count; i++) {
        const cuvet_candidate *candidate = &cv_candidates_get(all, i)->pub;
        bool fits = md_fits(&member[i], target);
        unsigned rank = 1;

        FZ_CHECK((candidate->reason == CUVET_REASON_NONE) == fits, "which fit");
        for (unsigned k = 0; k < count; k++)
            rank += k != i && fits && md_fits(&member[k], target) &&
                    md_is_before(&member[k], k, &member[i], i, target);
        FZ_CHECK(candidate->rank == (fits ? rank : 0), "and how good they are");
        FZ_CHECK((best == i) == (fits && rank == 1), "the best is taken");
        if (fits && member[i].container == 0 &&
            (first == count || md_is_before(&member[i], i, &member[first], (unsigned)first, target)))
            first = i;
    }
    FZ_CHECK(reference == first, "of the first container, which is all that the reference sees");
    FZ_CHECK(best < count || reference == count, "none, where none fits");
}

CV_FUZZ_TARGET(select)
{
    fz_ops ops = { .bytes = data, .size = size };
    cuvet_limits lim = { .size = sizeof(lim) };
    md_member member[MEMBERS];
    cv_candidates all = { 0 };
    cv_wanted wanted = { 0 };
    md_target target;
    uint64_t best, reference;
    unsigned count;
    cv_ctx ctx;

    fz_limits(0, &lim);
    cv_ctx_init(&ctx, &fz_pool, &lim);
    cv_ctx_unit(&ctx, size);
    draw_target(&ops, &wanted, &target);
    count = draw_members(&ops, &ctx, &all, member, wanted.address32);
    FZ_CHECK(cv_select(&ctx, &all, 0, &wanted, &best, &reference) == CUVET_OK, "there is memory for a few");
    compare(&all, member, count, &target, best, reference);
    cv_candidates_free(&ctx.mem, &all);
    FZ_CHECK(ctx.mem.live == 0, "nothing stays allocated");
    return 0;
}
