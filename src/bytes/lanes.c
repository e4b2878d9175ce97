/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/lanes.h"

#include <sched.h>

#include "base/arith.h"

/* What threads that have to be woken up are worth. */
enum { LEAST = 8192 };

uint32_t cv_lanes_for(const cuvet_executor *executor, uint64_t units)
{
    uint64_t count;

    if (!executor || !executor->run || executor->lanes < 2)
        return 0;
    count = cv_min(units / (executor->least ? executor->least : LEAST),
                   cv_min(executor->lanes, CUVET_LANES_MOST));
    return count < 2 ? 0 : (uint32_t)count;
}

/* An executor that asks twice, or returns too early, is somebody else's mistake. */
typedef struct cv_lanes_turn {
    cv_lane_fn *work;
    void *user;
    uint32_t count;
    uint64_t begun, done, failed; /* a bit for each part */
    uint64_t wrong;               /* indexes, in threads of the executor */
} cv_lanes_turn;

static void take_part(void *arg, uint32_t index)
{
    cv_lanes_turn *turn = arg;
    uint64_t bit, before = cv_trap_count();
    cv_islands others = { 0 }; /* of this thread */

    if (index >= turn->count)
        return;
    bit = UINT64_C(1) << index;
    if (__atomic_fetch_or(&turn->begun, bit, __ATOMIC_ACQ_REL) & bit)
        return;
    cv_islands_keep(&others);
    if (!turn->work(turn->user, index))
        __atomic_fetch_or(&turn->failed, bit, __ATOMIC_RELAXED);
    cv_islands_drop();
    cv_islands_take(&others);
    __atomic_fetch_add(&turn->wrong, cv_trap_count() - before, __ATOMIC_RELAXED);
    __atomic_fetch_or(&turn->done, bit, __ATOMIC_RELEASE);
}

bool cv_lanes_run_plain(const cuvet_executor *executor, uint32_t count, cv_lane_fn *work, void *user)
{
    cv_lanes_turn turn = { .work = work, .user = user, .count = count };
    const uint64_t all = UINT64_MAX >> (64 - count);

    executor->run(executor->user, take_part, &turn, count);
    for (uint32_t index = 0; index < count; index++)
        take_part(&turn, index);
    while (__atomic_load_n(&turn.done, __ATOMIC_ACQUIRE) != all)
        (void)sched_yield(); /* they are at it, elsewhere */
    cv_trap_add(turn.wrong);
    return turn.failed == 0;
}

static void *lane_alloc(void *user, size_t size)
{
    cv_lanes *lanes = user;
    void *block;

    pthread_mutex_lock(&lanes->lock);
    block = lanes->ctx->mem.alloc.alloc(lanes->ctx->mem.alloc.user, size);
    pthread_mutex_unlock(&lanes->lock);
    return block;
}

static void *lane_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    cv_lanes *lanes = user;
    void *moved;

    pthread_mutex_lock(&lanes->lock);
    moved = lanes->ctx->mem.alloc.resize(lanes->ctx->mem.alloc.user, block, old_size, new_size);
    pthread_mutex_unlock(&lanes->lock);
    return moved;
}

static void lane_release(void *user, void *block, size_t size)
{
    cv_lanes *lanes = user;

    pthread_mutex_lock(&lanes->lock);
    lanes->ctx->mem.alloc.release(lanes->ctx->mem.alloc.user, block, size);
    pthread_mutex_unlock(&lanes->lock);
}

cv_lane *cv_lanes_at(const cv_lanes *lanes, uint32_t index)
{
    if (CV_NEVER(index >= lanes->count)) {
        cv_trap_note();
        return lanes->lane;
    }
    return lanes->lane + index;
}

bool cv_lanes_open(cv_lanes *lanes, cv_ctx *ctx, const cuvet_executor *executor, uint32_t count)
{
    const cuvet_alloc alloc = { sizeof(alloc), lane_alloc, lane_resize, lane_release, lanes };
    uint64_t room;

    *lanes = (cv_lanes){ .ctx = ctx, .executor = executor, .count = count };
    lanes->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    lanes->lane = cv_mem_get_raw(&ctx->mem, count * sizeof(cv_lane));
    if (!lanes->lane) {
        ctx->mem.limited = false; /* nobody else would have asked for it */
        pthread_mutex_destroy(&lanes->lock);
        return false;
    }
    room = (ctx->mem.limit - cv_min(ctx->mem.limit, ctx->mem.live)) / (count == 1 ? 1 : 4 * count);
    for (uint32_t index = 0; index < count; index++) {
        cv_lane *lane = cv_lanes_at(lanes, index);

        lane->ctx = *ctx;
        cv_mem_init(&lane->ctx.mem, &alloc, room);
        lane->ctx.emit = NULL;
        lane->ctx.n_errors = lane->ctx.n_warnings = lane->ctx.n_notes = 0;
        lane->work = cv_ctx_work(ctx);
    }
    return true;
}

/* Most that was held at the same time, as far as it is known. */
static void note_peak(const cv_lanes *lanes)
{
    cv_mem *mem = &lanes->ctx->mem;
    uint64_t peak = mem->live;

    for (uint32_t index = 0; index < lanes->count; index++)
        peak += cv_lanes_at(lanes, index)->ctx.mem.peak;
    mem->peak = cv_max(mem->peak, peak);
}

/* Did none say anything, or run out of work? */
static bool is_silent(const cv_lanes *lanes)
{
    bool good = true;

    for (uint32_t index = 0; index < lanes->count && good; index++) {
        const cv_ctx *ctx = &cv_lanes_at(lanes, index)->ctx;

        good = ctx->n_errors + ctx->n_warnings + ctx->n_notes == 0 && !ctx->work_out;
    }
    return good;
}

/* False: there is not enough of memory or of work. */
static bool join(cv_lanes *lanes)
{
    cv_ctx *ctx = lanes->ctx;
    uint64_t work = 0, live = 0;

    for (uint32_t index = 0; index < lanes->count; index++) {
        const cv_lane *lane = cv_lanes_at(lanes, index);

        work = cv_sat_add(work, lane->work - cv_min(lane->work, cv_ctx_work(&lane->ctx)));
        live += lane->ctx.mem.live;
    }
    if (work > cv_ctx_work(ctx) || live > ctx->mem.limit - cv_min(ctx->mem.limit, ctx->mem.live) ||
        CV_NEVER(work != 0 && !cv_work(ctx, work, 0)))
        return false;
    ctx->mem.live += live;
    ctx->mem.peak = cv_max(ctx->mem.peak, ctx->mem.live);
    for (uint32_t index = 0; index < lanes->count; index++)
        cv_lanes_at(lanes, index)->ctx.mem.live = 0;
    lanes->joined = true;
    return true;
}

bool cv_lanes_run(cv_lanes *lanes, cv_lane_fn *work, void *user)
{
    bool done =
        lanes->count == 1 ? work(user, 0) : cv_lanes_run_plain(lanes->executor, lanes->count, work, user);

    note_peak(lanes);
    return done && is_silent(lanes) && join(lanes);
}

cv_mem *cv_lanes_memory(const cv_lanes *lanes, uint32_t index)
{
    return lanes->joined ? &lanes->ctx->mem : &cv_lanes_at(lanes, index)->ctx.mem;
}

void cv_lanes_close(cv_lanes *lanes)
{
    cv_mem_put(&lanes->ctx->mem, lanes->lane, lanes->count * sizeof(cv_lane));
    pthread_mutex_destroy(&lanes->lock);
    lanes->lane = NULL;
    lanes->count = 0;
}

void cv_shares_begin(cv_shares *shares, uint32_t count, uint32_t first, uint64_t all)
{
    *shares = (cv_shares){ .count = count, .all = all };
    CV_ARRAY_SET(shares->first, 0, first);
}

void cv_shares_add(cv_shares *shares, uint32_t index, uint64_t weight)
{
    uint32_t end = (uint32_t)cv_max(index + UINT64_C(1), CV_ARRAY_GET(shares->first, shares->open));

    shares->given = cv_sat_add(shares->given, weight);
    if (shares->open + 1 < shares->count && shares->given / (shares->open + 1) >= shares->all / shares->count)
        CV_ARRAY_SET(shares->first, ++shares->open, end);
}

void cv_shares_end(cv_shares *shares, uint32_t end)
{
    while (shares->open < shares->count)
        CV_ARRAY_SET(shares->first, ++shares->open, end);
}
