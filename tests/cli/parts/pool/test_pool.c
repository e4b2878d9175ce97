/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ordered pool: every item is worked on once and delivered once, in order, whatever the numbers of
 * threads and of items; never more are held than were allowed; while it is paused nobody works; nothing is
 * left when it stops early. */
#include "pool.h"

#include <check.h>
#include <stdlib.h>

#define ITEMS 600

typedef struct run {
    unsigned worked[ITEMS], delivered[ITEMS], dropped[ITEMS];
    unsigned next, held, most_held, stop_at, pause_every;
    int at_work; /* threads that are at an item */
    bool paused;
    cli_pool *pool;
} run;

typedef struct item {
    run *r;
    unsigned number, spin;
    bool worked;
} item;

static void work(void *p)
{
    item *it = p;

    __atomic_add_fetch(&it->r->at_work, 1, __ATOMIC_SEQ_CST);
    ck_assert(!__atomic_load_n(&it->r->paused, __ATOMIC_SEQ_CST));
    for (volatile unsigned i = 0; i < it->spin; i++)
        continue;
    ck_assert(!it->worked);
    it->worked = true;
    __atomic_add_fetch(&it->r->worked[it->number], 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&it->r->at_work, 1, __ATOMIC_SEQ_CST);
}

static bool deliver(void *user, void *p)
{
    run *r = user;
    const item *it = p;

    ck_assert(it->worked);
    ck_assert_uint_eq(it->number, r->next);
    r->next++;
    r->held--;
    r->delivered[it->number]++;
    if (r->pause_every && it->number % r->pause_every == 0) {
        cli_pool_pause(r->pool);
        ck_assert_int_eq(__atomic_load_n(&r->at_work, __ATOMIC_SEQ_CST), 0);
        __atomic_store_n(&r->paused, true, __ATOMIC_SEQ_CST);
        for (volatile unsigned i = 0; i < 2000; i++)
            continue;
        ck_assert_int_eq(__atomic_load_n(&r->at_work, __ATOMIC_SEQ_CST), 0);
        __atomic_store_n(&r->paused, false, __ATOMIC_SEQ_CST);
    }
    return it->number + 1 != r->stop_at;
}

static void drop(void *p)
{
    const item *it = p;

    it->r->held--;
    it->r->dropped[it->number]++;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* @return how many were put in. */
static unsigned drive(run *r, uint32_t threads, size_t most, uint64_t seed)
{
    static const cli_pool_calls CALLS = { work, deliver, drop };
    uint64_t state = seed;
    unsigned n = 0;
    bool go_on = true;

    r->pool = cli_pool_open(threads, sizeof(item), most, &CALLS, r);
    ck_assert_ptr_nonnull(r->pool);
    while (go_on && n < ITEMS) {
        item *it = cli_pool_room(r->pool);

        if (!it)
            break;
        ck_assert_uint_eq(it->number, 0);
        *it = (item){ .r = r, .number = n++, .spin = (unsigned)(next_random(&state) % 3000) };
        r->held++;
        r->most_held = r->held > r->most_held ? r->held : r->most_held;
        go_on =
            cli_pool_put(r->pool, next_random(&state) % 5 == 0 ? UINT64_MAX : next_random(&state) % 100000);
        while (go_on && next_random(&state) % 16 == 0)
            go_on = cli_pool_step(r->pool) || r->held == 0;
        if (go_on && next_random(&state) % 64 == 0)
            go_on = cli_pool_drain(r->pool);
    }
    if (r->stop_at == 0) {
        ck_assert(cli_pool_drain(r->pool));
        ck_assert_uint_eq(r->next, ITEMS);
    } else {
        ck_assert(!cli_pool_drain(r->pool));
        ck_assert(!cli_pool_step(r->pool));
        ck_assert_ptr_null(cli_pool_room(r->pool));
        ck_assert_uint_eq(r->next, r->stop_at);
    }
    cli_pool_close(r->pool);
    return n;
}

static void check(uint32_t threads, size_t most, unsigned stop_at, unsigned pause_every)
{
    run *r = calloc(1, sizeof(*r));
    unsigned n;

    ck_assert_ptr_nonnull(r);
    r->stop_at = stop_at;
    r->pause_every = pause_every;
    n = drive(r, threads, most, threads * 1000 + most);
    ck_assert_uint_le(r->most_held, most);
    ck_assert_uint_eq(r->held, 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        ck_assert_uint_le(r->worked[i], 1);
        ck_assert_uint_eq(r->delivered[i], i < r->next);
        ck_assert_uint_eq(r->delivered[i] + r->dropped[i], i < n);
    }
    free(r);
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
    run r = { .next = 0 };
    cli_pool *p = cli_pool_open(3, sizeof(item), 10, &CALLS, &r);

    ck_assert_ptr_nonnull(p);
    ck_assert(!cli_pool_step(p));
    ck_assert(cli_pool_drain(p));
    cli_pool_close(p);
    cli_pool_close(NULL);
}
END_TEST

Suite *suite_pool(void);
Suite *suite_pool(void)
{
    Suite *s = suite_create("pool");
    TCase *t = tcase_create("pool");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_item_once_and_in_order);
    tcase_add_test(t, stops_when_nobody_wants_more);
    tcase_add_test(t, pauses);
    tcase_add_test(t, nothing_to_do);
    suite_add_tcase(s, t);
    return s;
}
