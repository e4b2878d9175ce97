/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lanes: who gets how many, that each part is done once whatever an executor does, and what is left of a lane
 * in the context of the whole. */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/vec.h"
#include "bytes/lanes.h"

enum { PARTS = 5 };

static unsigned n_done[CUVET_LANES_MOST];

static uint32_t fails = UINT32_MAX; /* the part that does */

static bool count_part(void *user, uint32_t index)
{
    ck_assert_ptr_eq(user, n_done);
    n_done[index]++;
    return index != fails;
}

static void run_in_order(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    (void)user;
    for (uint32_t i = 0; i < count; i++)
        work(arg, i);
}

static void run_nothing(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    (void)user, (void)work, (void)arg, (void)count;
}

static void run_too_much(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    (void)user;
    for (uint32_t i = 2 * count; i > 0; i--)
        work(arg, i - 1);
    work(arg, UINT32_MAX);
    run_in_order(user, work, arg, count);
}

static cuvet_executor executor_of(void (*run)(void *, void (*)(void *, uint32_t), void *, uint32_t))
{
    return (cuvet_executor){ .size = sizeof(cuvet_executor), .lanes = PARTS, .least = 10, .run = run };
}

START_TEST(how_many)
{
    cuvet_executor executor = executor_of(run_in_order);

    ck_assert_uint_eq(cv_lanes_for(NULL, UINT64_MAX), 0);
    ck_assert_uint_eq(cv_lanes_for(&executor, 0), 0);
    ck_assert_uint_eq(cv_lanes_for(&executor, 19), 0);
    ck_assert_uint_eq(cv_lanes_for(&executor, 20), 2);
    ck_assert_uint_eq(cv_lanes_for(&executor, 49), 4);
    ck_assert_uint_eq(cv_lanes_for(&executor, UINT64_MAX), PARTS);
    executor.lanes = UINT32_MAX;
    ck_assert_uint_eq(cv_lanes_for(&executor, UINT64_MAX), CUVET_LANES_MOST);
    executor.lanes = 1;
    ck_assert_uint_eq(cv_lanes_for(&executor, UINT64_MAX), 0);
    executor.lanes = 2;
    executor.least = 0;
    ck_assert_uint_eq(cv_lanes_for(&executor, 100), 0);
    ck_assert_uint_eq(cv_lanes_for(&executor, 100000), 2);
    executor.run = NULL;
    ck_assert_uint_eq(cv_lanes_for(&executor, UINT64_MAX), 0);
}
END_TEST

START_TEST(each_part_once)
{
    const cuvet_executor executors[] = { executor_of(run_in_order), executor_of(run_nothing),
                                         executor_of(run_too_much) };

    for (unsigned i = 0; i < sizeof(executors) / sizeof(executors[0]); i++)
        for (uint32_t count = 1; count <= CUVET_LANES_MOST; count++) {
            memset(n_done, 0, sizeof(n_done));
            fails = count % 3 == 0 ? count - 1 : UINT32_MAX;
            ck_assert_int_eq(cv_lanes_run_plain(&executors[i], count, count_part, n_done), count % 3 != 0);
            for (uint32_t k = 0; k < CUVET_LANES_MOST; k++)
                ck_assert_uint_eq(n_done[k], k < count);
        }
}
END_TEST

/* A part that takes its time, in a thread that nobody waits for but the library. */
static pthread_t slow;
static unsigned begun, ended;

static bool take_long(void *user, uint32_t index)
{
    (void)user, (void)index;
    __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < 1000; i++)
        (void)sched_yield();
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    return true;
}

typedef struct slow_part {
    void (*work)(void *arg, uint32_t index);
    void *arg;
} slow_part;

static void *run_slow(void *arg)
{
    const slow_part *part = arg;

    part->work(part->arg, 0);
    return NULL;
}

static void run_without_waiting(void *user, void (*work)(void *arg, uint32_t index), void *arg,
                                uint32_t count)
{
    slow_part *part = user;

    ck_assert_uint_eq(count, 1);
    *part = (slow_part){ work, arg };
    ck_assert_int_eq(pthread_create(&slow, NULL, run_slow, part), 0);
    while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
        (void)sched_yield();
}

START_TEST(nobody_waits)
{
    static slow_part part;
    cuvet_executor executor = executor_of(run_without_waiting);

    executor.user = &part;
    ck_assert(cv_lanes_run_plain(&executor, 1, take_long, NULL));
    ck_assert_uint_eq(__atomic_load_n(&ended, __ATOMIC_ACQUIRE), 1);
    ck_assert_int_eq(pthread_join(slow, NULL), 0);
}
END_TEST

static cv_ctx *make(void)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.mem.limit = 1000000;
    cv_ctx_set_work(&ctx, 1000);
    return &ctx;
}

typedef struct lane_test {
    cv_lanes lanes;
    uint64_t bytes, work; /* that each lane takes */
    bool reports, fails;  /* the last one does */
    bool ends;            /* it has no work left, and has said so before */
    void *block[PARTS];
} lane_test;

static bool work_in_lane(void *user, uint32_t index)
{
    lane_test *test = user;
    cv_ctx *ctx = &cv_lanes_at(&test->lanes, index)->ctx;

    test->block[index] = cv_mem_get(&ctx->mem, test->bytes + index);
    (void)!cv_work(ctx, test->work, 0);
    if (test->reports && index == PARTS - 1)
        cv_report(ctx, CV_R_LINK_SLOT, 0, 0, 0, 0);
    ctx->work_out = ctx->work_out || (test->ends && index == PARTS - 1);
    return !test->fails || index != PARTS - 1;
}

static bool run_test(lane_test *test, cv_ctx *ctx, const cuvet_executor *executor)
{
    ck_assert(cv_lanes_open(&test->lanes, ctx, executor, PARTS));
    return cv_lanes_run(&test->lanes, work_in_lane, test);
}

static void free_lanes(lane_test *test)
{
    for (uint32_t i = 0; i < PARTS; i++)
        cv_mem_put(&cv_lanes_at(&test->lanes, i)->ctx.mem, test->block[i], test->bytes + i);
    cv_lanes_close(&test->lanes);
}

START_TEST(joined)
{
    const cuvet_executor executor = executor_of(run_too_much);
    lane_test test = { .bytes = 100, .work = 20 };
    cv_ctx *ctx = make();
    uint64_t before;

    ck_assert(cv_lanes_open(&test.lanes, ctx, &executor, PARTS));
    before = ctx->mem.live;
    ck_assert(cv_lanes_run(&test.lanes, work_in_lane, &test));
    ck_assert_uint_eq(ctx->mem.live, before + 510);
    ck_assert_uint_ge(ctx->mem.peak, before + 510);
    ck_assert_uint_eq(cv_ctx_work(ctx), 1000 - 5 * 20);
    for (uint32_t i = 0; i < PARTS; i++) {
        ck_assert_ptr_eq(cv_lanes_memory(&test.lanes, i), &ctx->mem);
        cv_mem_put(&ctx->mem, test.block[i], 100 + i);
    }
    cv_lanes_close(&test.lanes);
    ck_assert_uint_eq(ctx->mem.live, 0);
}
END_TEST

/* All lanes together have a quarter of what is left, one alone has all of it, and works on this thread. */
START_TEST(room_of_lanes)
{
    const cuvet_executor executor = executor_of(run_nothing);
    cv_ctx *ctx = make();
    cv_lanes lanes;
    uint64_t left;

    for (uint32_t count = 1; count <= PARTS; count++) {
        ck_assert(cv_lanes_open(&lanes, ctx, &executor, count));
        left = ctx->mem.limit - ctx->mem.live;
        for (uint32_t i = 0; i < count; i++) {
            ck_assert_uint_eq(cv_lanes_at(&lanes, i)->ctx.mem.limit, count == 1 ? left : left / (4 * count));
            ck_assert_ptr_eq(cv_lanes_memory(&lanes, i), &cv_lanes_at(&lanes, i)->ctx.mem);
        }
        cv_lanes_close(&lanes);
    }
}
END_TEST

static cv_ctx *hungry;
static void *held;
enum { HELD = 900000 };

static void run_and_hold(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    run_in_order(user, work, arg, count);
    held = cv_mem_get(&hungry->mem, HELD);
    ck_assert_ptr_nonnull(held);
}

START_TEST(thrown_away)
{
    const cuvet_executor executor = executor_of(run_in_order);
    lane_test said = { .bytes = 1, .reports = true }, failed = { .bytes = 1, .fails = true },
              busy = { .bytes = 1, .work = 300 }, idle = { .bytes = 1, .work = 2000 },
              large = { .bytes = 40000 }, over = { .bytes = 1, .ends = true };
    const cuvet_executor greedy = executor_of(run_and_hold);
    cv_ctx *ctx = make();

    ck_assert(!run_test(&said, ctx, &executor));
    free_lanes(&said);
    ck_assert(!run_test(&failed, ctx, &executor));
    free_lanes(&failed);
    ck_assert(!run_test(&busy, ctx, &executor)); /* each has enough, and all together not */
    free_lanes(&busy);
    ck_assert(!run_test(&idle, ctx, &executor));
    free_lanes(&idle);
    ck_assert(!run_test(&over, ctx, &executor));
    free_lanes(&over);
    ck_assert_uint_eq(cv_ctx_work(ctx), 1000);
    ck_assert_uint_eq(ctx->n_errors + ctx->n_warnings + ctx->n_notes, 0);
    /* The whole has taken memory before lanes have done their work. */
    hungry = ctx;
    ck_assert(cv_lanes_open(&large.lanes, ctx, &greedy, PARTS));
    ck_assert(!cv_lanes_run(&large.lanes, work_in_lane, &large));
    cv_mem_put(&ctx->mem, held, HELD);
    free_lanes(&large);
    ck_assert_uint_eq(ctx->mem.live, 0);
}
END_TEST

/* Each element belongs to one share, whatever the elements weigh and in which order they come. */
START_TEST(shares)
{
    static const uint64_t WEIGHTS[][6] = {
        { 1, 1, 1, 1, 1, 1 },
        { 0, 0, 0, 0, 0, 0 },
        { 100, 1, 1, 1, 1, 1 },
        { 1, 1, 1, 1, 1, 100 },
        { UINT64_MAX, UINT64_MAX, 1, 0, 5, UINT64_MAX },
    };
    static const uint32_t ORDERS[][6] = { { 0, 1, 2, 3, 4, 5 }, { 5, 4, 3, 2, 1, 0 }, { 3, 3, 0, 5, 1, 3 } };
    cv_shares list;

    for (unsigned w = 0; w < sizeof(WEIGHTS) / sizeof(WEIGHTS[0]); w++)
        for (unsigned order = 0; order < 3; order++)
            for (uint32_t count = 1; count <= CUVET_LANES_MOST; count++) {
                uint64_t all = 0;

                for (unsigned i = 0; i < 6; i++)
                    all += WEIGHTS[w][i] > 1000 ? 1000 : WEIGHTS[w][i];
                cv_shares_begin(&list, count, 2, all);
                for (unsigned i = 0; i < 6; i++)
                    cv_shares_add(&list, 2 + ORDERS[order][i], WEIGHTS[w][i]);
                cv_shares_end(&list, 8);
                ck_assert_uint_eq(cv_share_first(&list, 0), 2);
                ck_assert_uint_eq(cv_share_end(&list, count - 1), 8);
                for (uint32_t lane = 1; lane < count; lane++) {
                    ck_assert_uint_eq(cv_share_first(&list, lane), cv_share_end(&list, lane - 1));
                    ck_assert_uint_le(cv_share_first(&list, lane), cv_share_end(&list, lane));
                }
            }
    cv_shares_begin(&list, 3, 0, 6);
    for (uint32_t i = 0; i < 6; i++)
        cv_shares_add(&list, i, 1);
    cv_shares_end(&list, 6);
    ck_assert(cv_share_end(&list, 0) == 2 && cv_share_end(&list, 1) == 4);
}
END_TEST

START_TEST(no_room)
{
    const cuvet_executor executor = executor_of(run_in_order);
    cv_ctx *ctx = make();
    cv_lanes lanes;

    ctx->mem.limit = 100;
    ck_assert(!cv_lanes_open(&lanes, ctx, &executor, PARTS));
    ck_assert(!ctx->mem.limited);
    ck_assert_uint_eq(ctx->mem.live, 0);
}
END_TEST

Suite *suite_lanes(void);
Suite *suite_lanes(void)
{
    Suite *suite = suite_create("lanes");
    TCase *tcase = tcase_create("lanes");

    tcase_add_test(tcase, how_many);
    tcase_add_test(tcase, each_part_once);
    tcase_add_test(tcase, nobody_waits);
    tcase_add_test(tcase, joined);
    tcase_add_test(tcase, room_of_lanes);
    tcase_add_test(tcase, thrown_away);
    tcase_add_test(tcase, shares);
    tcase_add_test(tcase, no_room);
    suite_add_tcase(suite, tcase);
    return suite;
}
