/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ledger of bytes and the budget of a file, compared with tests/model/ledger.c: claims on 64 bytes, then
 * pieces that a file is charged for. */
#include "common.h"

#include "bytes/ledger.h"
#include "intake/budget.h"
#include "model/ledger.h"

/* As large as the tables of any file: what a smaller one may cost. */
#define LEAST (UINT64_C(16) << 20)

static void run_ledger(fz_ops *ops, cv_ctx *ctx)
{
    unsigned off = fz_u8(ops) % 32, len = fz_u8(ops) % 32, claims = fz_u8(ops) % 24;
    uint64_t bad = 0, last = 0;
    cv_ledger ledger = { 0 };
    md_ledger model = { 0 };
    bool whole;

    for (unsigned i = 0, next = off; i < claims; i++) {
        uint8_t how = fz_u8(ops), much = fz_u8(ops);
        unsigned at = how & 0x80 ? how % 48 : next, n = much % (MD_BYTES - 48 + 1);
        bool shared = (much & 0xE0) == 0xE0;

        if ((how & 0x60) == 0x60 && at < off + len) /* up to the end */
            n = off + len - at;
        if (at + n > MD_BYTES)
            n = MD_BYTES - at;
        cv_ledger_claim(ctx, &ledger, at, n, CV_CLAIM_HOST, i, shared);
        md_ledger_claim(&model, at, n, shared);
        next = shared ? next : at + n;
        if (next >= MD_BYTES)
            next = off;
    }
    whole = md_ledger_complete(&model, off, len);
    FZ_CHECK(cv_ledger_complete(ctx, &ledger, off, len, &bad) == whole, "each byte has one owner");
    FZ_CHECK(!whole || bad == off + len, "up to the end");
    FZ_CHECK(cv_ledger_sort(ctx, &ledger), "memory");
    for (uint64_t i = 0; i < ledger.claims.count; i++) {
        FZ_CHECK(cv_claims_get(&ledger.claims, i)->off >= last, "in order");
        last = cv_claims_get(&ledger.claims, i)->off;
    }
    cv_ledger_free(ctx, &ledger);
}

/* A number of any size below 2^62. */
static uint64_t number(fz_ops *ops)
{
    uint8_t shift = fz_u8(ops), value = fz_u8(ops);

    return (uint64_t)value << shift % 55;
}

static void run_budget(fz_ops *ops)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    uint64_t file = number(ops) >> 20, got, want;
    md_wide most;
    cv_budget budget;
    md_budget model;
    cv_rule rule;

    fz_limits(0, &lim);
    lim.budget = number(ops);
    lim.budget_ratio = number(ops) >> 32;
    lim.total = number(ops);
    lim.effort = number(ops) >> 32;
    cv_budget_open(&budget, &lim, file);
    most = (md_wide)file * lim.budget_ratio;
    most = most > lim.budget ? most : lim.budget;
    model = (md_budget){
        .file = file, .least = LEAST, .effort = lim.effort, .most = most < lim.total ? most : lim.total
    };
    for (unsigned i = 0; i < 8 && fz_ops_left(ops); i++) {
        uint64_t bytes = number(ops), work = number(ops);

        rule = (cv_rule)0;
        FZ_CHECK(cv_budget_fits(&budget, bytes, &rule, &got, &want) == md_budget_fits(&model, bytes),
                 "what may be decompressed");
        FZ_CHECK(md_budget_fits(&model, bytes) || rule == CV_R_LIMIT_EFFORT || got > want,
                 "what is said of it is too much");
        cv_budget_charge(&budget, bytes, work);
        model.unpacked += bytes;
        model.work += work;
    }
}

CV_FUZZ_TARGET(ledger)
{
    fz_ops ops = { .bytes = data, .size = size };
    cuvet_limits lim = { .size = sizeof(lim) };
    cv_ctx ctx;

    fz_limits(0, &lim);
    cv_ctx_init(&ctx, &fz_pool, &lim);
    cv_ctx_unit(&ctx, size);
    run_ledger(&ops, &ctx);
    run_budget(&ops);
    FZ_CHECK(ctx.mem.live == 0, "nothing stays allocated");
    return 0;
}
