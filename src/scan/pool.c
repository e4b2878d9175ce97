/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads: each takes the next unit that nobody has taken, and that there is room for. They share the source,
 * the units and the slots of the results, and nothing else; they end before anything is delivered. */
#include <pthread.h>

#include "intake/place.h"
#include "intake/region.h"
#include "scan/scan.h"

/* A unit of this size takes longer than the threads can be apart at the end of a batch. */
#define LARGE CV_MIB

/* Bytes of large units, packed and unpacked, that are examined at the same time: more than one of them is
 * never needed for a verdict. What is larger than that is examined while nobody has another large one. */
#define ROOM (144 * CV_MIB)
#define KEPT (16 * CV_MIB)

typedef struct scan_pool {
    cv_level *level;
    bool link; /* what stands alone is to be linked */
    cv_examine_options opt;
    uint64_t from, count; /* units [from, from + count) */
    cv_keys order;        /* in which the units are taken; empty: as they are */
    uint64_t next;        /* atomic: of those that are not large */
    pthread_mutex_t lock; /* of the large ones, which the order begins with: */
    pthread_cond_t ended; /* one of them */
    uint64_t first, left; /* the largest, and how many: nobody has these; left: atomic for who has no lock */
    uint64_t busy;        /* bytes of those that somebody has */
    uint64_t work;        /* atomic: spent so far … */
    uint64_t most; /* … and what the file has left: then nobody takes another one, and delivery decides */
} scan_pool;

typedef struct scan_seat {
    scan_pool *pool;
    cv_worker *worker;
    pthread_t thread;
    bool started;
    uint64_t wrong; /* indexes: see base/trap.h */
} scan_seat;

CV_VEC(cv_seats, scan_seat);

/* A device ELF of its own goes into the link as it was examined, if nothing is wrong with it. What is, is
 * said as a scan says it. *spent: on an examination whose result is not kept. */
static bool examine_to_link(const scan_pool *pool, cv_worker *worker, const cv_unit *unit,
                            const cv_examine_options *opt, cv_result *result, uint64_t *spent)
{
    cv_examine_options own = *opt;
    cv_rule rule;

    if (!pool->link || cv_unit_is_member(unit) || unit->embedded || unit->row->kind != CUVET_K_CUBIN ||
        cv_place_part(unit->place, &rule) != CV_TAKEN)
        return false;
    own.own = own.strict = true;
    own.admit = NULL;
    cv_examine(worker, &pool->level->src, unit, &own, result);
    if (result->status == CUVET_OK && result->cubin && !result->nested &&
        result->item.errors + result->item.warnings == 0) {
        cv_islands_keep(&worker->islands); /* other pieces may be delivered before it */
        return true;
    }
    *spent = result->work;
    cv_result_free(result);
    return false;
}

/* What a unit claims to cost. A lie changes who waits for whom and nothing else. */
static uint64_t weight_of(const cv_unit *unit)
{
    cv_span head = cv_span_of(&unit->head, sizeof(unit->head), 0);

    return cv_max(unit->payload_size, cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS) & CV_FB_COMPRESSED
                                          ? cv_fatbin_get(head, CV_FB_FIELD_MEMBER_UNPACKED_SIZE)
                                          : 0);
}

static uint64_t room_of(const cv_unit *unit)
{
    uint64_t weight = weight_of(unit);

    return weight == unit->payload_size ? weight : cv_sat_add(weight, unit->payload_size);
}

static const cv_unit *in_order(scan_pool *pool, uint64_t i, uint64_t *at)
{
    *at = pool->from + (pool->order.count ? cv_keys_at(&pool->order, i)->index : i);
    return cv_units_at(&pool->level->units, *at);
}

/* The largest that fits, or the smallest. Whoever has none of them may have the largest. @return its bytes;
 * 0: none fits. For who has the lock, where some are left */
static uint64_t take_fitting(scan_pool *pool, uint64_t *at)
{
    uint64_t last = pool->first + pool->left - 1, room = room_of(in_order(pool, pool->first, at));

    if (pool->busy == 0 || room <= ROOM - cv_min(pool->busy, ROOM)) {
        pool->first++;
    } else {
        room = room_of(in_order(pool, last, at));
        if (room > ROOM - cv_min(pool->busy, ROOM))
            return 0;
    }
    __atomic_store_n(&pool->left, pool->left - 1, __ATOMIC_RELAXED);
    pool->busy = cv_sat_add(pool->busy, room);
    return room;
}

static uint64_t take_large(scan_pool *pool, bool wait, uint64_t *at)
{
    uint64_t room = 0;

    if (__atomic_load_n(&pool->left, __ATOMIC_RELAXED) == 0 || pthread_mutex_lock(&pool->lock) != 0)
        return 0;
    while (pool->left > 0 && (room = take_fitting(pool, at)) == 0 && wait)
        (void)pthread_cond_wait(&pool->ended, &pool->lock); /* it cannot fail for whoever has the lock */
    (void)pthread_mutex_unlock(&pool->lock);                /* neither */
    return room;
}

/* What was read and unpacked for a unit stays for the next one, unless it is so much that whoever gets the
 * room would need it beside this. Nobody has the bytes of a unit where there are several threads, but a
 * link. */
static void give_back(scan_pool *pool, cv_worker *worker, uint64_t room)
{
    if (room > KEPT && !pool->link) {
        cv_block_free(&worker->ctx, &worker->stored);
        cv_block_free(&worker->ctx, &worker->unpacked);
    }
    if (room == 0 || pthread_mutex_lock(&pool->lock) != 0)
        return;
    pool->busy -= cv_min(room, pool->busy);
    (void)pthread_cond_broadcast(&pool->ended);
    (void)pthread_mutex_unlock(&pool->lock); /* it cannot fail for whoever has the lock */
}

/* @return false: there is nothing more to do. *room: to be given back */
static bool take_unit(scan_pool *pool, uint64_t *at, uint64_t *room)
{
    uint64_t i;

    *room = take_large(pool, false, at);
    if (*room > 0)
        return true;
    i = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
    if (i < pool->count) {
        (void)in_order(pool, i, at);
        return true;
    }
    *room = take_large(pool, true, at);
    return *room > 0;
}

static void work_on_units(scan_pool *pool, cv_worker *worker)
{
    cv_examine_options opt = pool->opt;

    for (;;) {
        uint64_t i, room, spent = 0;
        cv_result *result;

        if (__atomic_load_n(&pool->work, __ATOMIC_RELAXED) > pool->most || !take_unit(pool, &i, &room))
            return;
        result = cv_results_at(&pool->level->results, i);
        if (!examine_to_link(pool, worker, cv_units_at(&pool->level->units, i), &opt, result, &spent))
            cv_examine(worker, &pool->level->src, cv_units_at(&pool->level->units, i), &opt, result);
        result->work = cv_sat_add(result->work, spent);
        (void)__atomic_fetch_add(&pool->work, result->work, __ATOMIC_RELAXED);
        give_back(pool, worker, room);
        opt.follows = true;
    }
}

static void *run_thread(void *arg)
{
    scan_seat *seat = arg;

    work_on_units(seat->pool, seat->worker);
    cv_islands_drop(); /* of this thread */
    seat->wrong = cv_trap_count();
    return NULL;
}

/* Large units first, the largest at the very beginning: everybody would wait for one that was begun last. The
 * others as they lie in the file, where small ones are read together. */
static void put_in_order(cv_scan *scan, scan_pool *pool)
{
    bool ok = true;

    for (uint64_t i = 0; ok && i < pool->count; i++) {
        uint64_t weight = weight_of(cv_units_at(&pool->level->units, pool->from + i));

        ok = cv_keys_push(&scan->mem, &pool->order, (cv_key){ weight < LARGE ? UINT64_MAX : ~weight, i });
        pool->left += weight >= LARGE;
    }
    if (ok) {
        cv_keys_sort(&pool->order);
    } else {
        cv_keys_free(&scan->mem, &pool->order); /* slower, with more memory, and as right */
        pool->left = 0;
    }
    pool->next = pool->left;
}

void cv_scan_examine(cv_scan *scan, cv_level *level, uint64_t from, uint64_t to, bool all_workers)
{
    uint64_t count = to - from, workers = all_workers && count > 1 ? scan->workers.count : 1;
    scan_pool pool = { .level = level,
                       .link = scan->link,
                       .from = from,
                       .count = count,
                       .lock = PTHREAD_MUTEX_INITIALIZER,
                       .ended = PTHREAD_COND_INITIALIZER };
    cv_seats seats = { 0 };
    uint64_t most = cv_budget_work_most(&scan->budget, scan->budget.unpacked_most);
    bool inner = level->ctx.inner;

    /* Nobody changes the counts before all threads have ended. */
    pool.opt = (cv_examine_options){ .seen = scan->seen,
                                     .depth = scan->opt.depth,
                                     .admit = &scan->admit,
                                     .ledger = scan->opt.claim != NULL,
                                     .near = level->walk.window.block.span, /* the walk waits meanwhile */
                                     .inner = inner,
                                     .anchor = inner ? level->ctx.anchor : 0 };
    pool.most = most - cv_min(most, scan->budget.work);
    if (workers > 1)
        put_in_order(scan, &pool);
    for (uint64_t i = 1; i < workers; i++) {
        scan_seat one = { .pool = &pool, .worker = *cv_workers_at(&scan->workers, i) };

        /* A thread that cannot be had is no failure: the others do its share. */
        if (!cv_seats_push(&scan->mem, &seats, one))
            break;
    }
    for (uint64_t i = 0; i < seats.count; i++) {
        scan_seat *one = cv_seats_at(&seats, i);

        one->started = pthread_create(&one->thread, NULL, run_thread, one) == 0;
    }
    work_on_units(&pool, *cv_workers_at(&scan->workers, 0));
    for (uint64_t i = 0; i < seats.count; i++) {
        const scan_seat *one = cv_seats_at(&seats, i);

        if (!one->started)
            continue;
        (void)pthread_join(one->thread, NULL); /* fails only for a thread that is not there */
        cv_trap_add(one->wrong);
    }
    cv_seats_free(&scan->mem, &seats);
    cv_keys_free(&scan->mem, &pool.order);
}
