/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The Nth allocation of a scan, or of an examination, fails: the status says so, nothing stays, nothing
 * crashes. Parameters: bits 8..23 the number of the allocation (0: one of the first, by a hash of the bytes;
 * in the replay driver all of these in turn), 24 every later one fails as well, 25 claims, 26 headers only.
 */
#include "mutate.h"
#include "scanner.h"

#define IN_TURN 48u

/* True when the failure was met. */
static bool one(const fz_input *in, const cuvet_limits *lim, uint64_t count, bool on)
{
    fz_alloc alloc = { .fail_at = count, .fail_on = on };
    fz_scan scan = { .in = in,
                     .jobs = 1,
                     .depth = in->param >> 26 & 1 ? CUVET_DEPTH_HEADERS : CUVET_DEPTH_FULL,
                     .claims = in->param >> 25 & 1 };
    bool limit = lim->live < CV_MIB;

    fz_scan_run(&scan, lim, &alloc);
    if (alloc.failed)
        FZ_CHECK(scan.status == CUVET_E_NOMEM || (limit && scan.status == CUVET_E_LIMIT),
                 "a failed allocation is told");
    else
        FZ_CHECK(scan.status == CUVET_END || (limit && scan.status == CUVET_E_LIMIT),
                 "without one the scan comes to its end");
    fz_scan_free(&scan);
    return alloc.failed;
}

static bool one_elf(const fz_input *in, const cuvet_limits *lim, uint64_t count, bool on)
{
    fz_alloc other_alloc = { .fail_at = count, .fail_on = on };
    cuvet_alloc alloc = fz_alloc_of(&other_alloc);
    cuvet_ctx_options opt = { .size = sizeof(opt), .alloc = &alloc, .limits = lim };
    cuvet_ctx *ctx = NULL;
    cuvet_status st = cuvet_ctx_create(&opt, &ctx);
    cuvet_elf elf = { 0 };

    if (st == CUVET_OK)
        st = cuvet_elf_create(ctx, in->bytes, in->len, &elf);
    if (other_alloc.failed)
        FZ_CHECK(st == CUVET_E_NOMEM || (lim->live < CV_MIB && st == CUVET_E_LIMIT),
                 "a failed allocation is told");
    else
        FZ_CHECK(st != CUVET_E_NOMEM, "only a failed one");
    FZ_CHECK((st == CUVET_OK) == (elf.bits != 0), "a handle comes with OK");
    if (st == CUVET_OK)
        FZ_CHECK(cuvet_elf_destroy(ctx, &elf) == CUVET_OK, "close");
    cuvet_ctx_destroy(ctx);
    FZ_CHECK(other_alloc.live == 0, "nothing stays allocated");
    return other_alloc.failed;
}

/* Each of the first allocations fails once. */
static void in_turn(const fz_input *in, const cuvet_limits *lim, bool on)
{
    for (uint64_t i = 1; i <= IN_TURN && one(in, lim, i, on); i++)
        ;
    for (uint64_t i = 1; i <= IN_TURN && one_elf(in, lim, i, on); i++)
        ;
}

CV_FUZZ_TARGET(alloc_fault)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;
    uint64_t count;
    bool on;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    count = in.param >> 8 & 0xFFFF;
    on = (in.param >> 24 & 1) != 0;
    if (count == 0 && fz_thorough) {
        in_turn(&in, &lim, on);
    } else {
        if (count == 0)
            count = 1 + fz_mix_bytes(0, in.bytes, in.len) % IN_TURN;
        (void)one(&in, &lim, count, on); /* met or not: both are checked */
        (void)one_elf(&in, &lim, count, on);
    }
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)
