/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ordered pool: every item is worked on once and delivered once, in order, whatever the numbers of
 * threads and of items; never more are held than were allowed; while it is paused nobody works; nothing is
 * left when it stops early. */
#include "pool.h"

#include <check.h>
#include <stdlib.h>

#define ITEMS 600

typedef struct pool_run {
    unsigned worked[ITEMS], delivered[ITEMS], dropped[ITEMS];
    unsigned next, held, most_held, stop_at, pause_every;
    int at_work; /* threads that are at an item */
    bool paused;
    cli_pool *pool;
} pool_run;

typedef struct item {
    pool_run *run;
    unsigned number, spin;
    bool worked;
} item;

static void work(void *block)
{
    item *it = block;

    __atomic_add_fetch(&it->run->at_work, 1, __ATOMIC_SEQ_CST);
    ck_assert(!__atomic_load_n(&it->run->paused, __ATOMIC_SEQ_CST));
    for (volatile unsigned i = 0; i < it->spin; i++)
        continue;
    ck_assert(!it->worked);
    it->worked = true;
    __atomic_add_fetch(&it->run->worked[it->number], 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&it->run->at_work, 1, __ATOMIC_SEQ_CST);
}

static bool deliver(void *user, void *block)
{
    pool_run *run = user;
    const item *it = block;

    ck_assert(it->worked);
    ck_assert_uint_eq(it->number, run->next);
    run->next++;
    run->held--;
    run->delivered[it->number]++;
    if (run->pause_every && it->number % run->pause_every == 0) {
        cli_pool_pause(run->pool);
        ck_assert_int_eq(__atomic_load_n(&run->at_work, __ATOMIC_SEQ_CST), 0);
        __atomic_store_n(&run->paused, true, __ATOMIC_SEQ_CST);
        for (volatile unsigned i = 0; i < 2000; i++)
            continue;
        ck_assert_int_eq(__atomic_load_n(&run->at_work, __ATOMIC_SEQ_CST), 0);
        __atomic_store_n(&run->paused, false, __ATOMIC_SEQ_CST);
    }
    return it->number + 1 != run->stop_at;
}

static void drop(void *block)
{
    const item *it = block;

    it->run->held--;
    it->run->dropped[it->number]++;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* @return how many were put in. */
static unsigned drive(pool_run *run, uint32_t threads, size_t most, uint64_t seed)
{
    static const cli_pool_calls CALLS = { work, deliver, drop };
    uint64_t state = seed;
    unsigned count = 0;
    bool go_on = true;

    run->pool = cli_pool_open(threads, sizeof(item), most, &CALLS, run);
    ck_assert_ptr_nonnull(run->pool);
    while (go_on && count < ITEMS) {
        item *it = cli_pool_room(run->pool);

        if (!it)
            break;
        ck_assert_uint_eq(it->number, 0);
        *it = (item){ .run = run, .number = count++, .spin = (unsigned)(next_random(&state) % 3000) };
        run->held++;
        run->most_held = run->held > run->most_held ? run->held : run->most_held;
        go_on =
            cli_pool_put(run->pool, next_random(&state) % 5 == 0 ? UINT64_MAX : next_random(&state) % 100000);
        while (go_on && next_random(&state) % 16 == 0)
            go_on = cli_pool_step(run->pool) || run->held == 0;
        if (go_on && next_random(&state) % 64 == 0)
            go_on = cli_pool_drain(run->pool);
    }
    if (run->stop_at == 0) {
        ck_assert(cli_pool_drain(run->pool));
        ck_assert_uint_eq(run->next, ITEMS);
    } else {
        ck_assert(!cli_pool_drain(run->pool));
        ck_assert(!cli_pool_step(run->pool));
        ck_assert_ptr_null(cli_pool_room(run->pool));
        ck_assert_uint_eq(run->next, run->stop_at);
    }
    cli_pool_close(run->pool);
    return count;
}

static void check(uint32_t threads, size_t most, unsigned stop_at, unsigned pause_every)
{
    pool_run *run = calloc(1, sizeof(*run));
    unsigned count;

    ck_assert_ptr_nonnull(run);
    run->stop_at = stop_at;
    run->pause_every = pause_every;
    count = drive(run, threads, most, threads * 1000 + most);
    ck_assert_uint_le(run->most_held, most);
    ck_assert_uint_eq(run->held, 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        ck_assert_uint_le(run->worked[i], 1);
        ck_assert_uint_eq(run->delivered[i], i < run->next);
        ck_assert_uint_eq(run->delivered[i] + run->dropped[i], i < count);
    }
    free(run);
}

START_TEST(every_item_once_and_in_order)
{
    for (uint32_t threads = 1; threads <= 5; threads++) {
        for (size_t most = 1; most <= 160; most = most < 20 ? most + 1 : most + 35)
            check(threads, most, 0, 0);
    }
}
END_TEST

START_TEST(stops_when_nobody_wants_more)
{
    for (uint32_t threads = 1; threads <= 4; threads++) {
        for (unsigned at = 1; at < ITEMS; at += 37)
            check(threads, 5 + at % 60, at, 0);
    }
}
END_TEST

START_TEST(pauses)
{
    for (uint32_t threads = 1; threads <= 5; threads += 2)
        check(threads, 64, 0, 7);
}
END_TEST

START_TEST(nothing_to_do)
{
    static const cli_pool_calls CALLS = { work, deliver, drop };
    pool_run run = { .next = 0 };
    cli_pool *pool = cli_pool_open(3, sizeof(item), 10, &CALLS, &run);

    ck_assert_ptr_nonnull(pool);
    ck_assert(!cli_pool_step(pool));
    ck_assert(cli_pool_drain(pool));
    cli_pool_close(pool);
    cli_pool_close(NULL);
}
END_TEST

Suite *suite_pool(void);
Suite *suite_pool(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("pool");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_item_once_and_in_order);
    tcase_add_test(tcase, stops_when_nobody_wants_more);
    tcase_add_test(tcase, pauses);
    tcase_add_test(tcase, nothing_to_do);
    suite_add_tcase(suite, tcase);
    return suite;
}
