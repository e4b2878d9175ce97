/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A group goes to a thread when it has this many items, or items of this weight. */
#define GROUP_ITEMS  8u
#define GROUP_WEIGHT ((uint64_t)256 * 1024)
/* Groups for each thread: one in work, others ready or waiting to be delivered. */
#define GROUPS 3u

typedef struct input_group {
    unsigned char *items;
    size_t size;
    uint64_t weight;
    bool done;
} input_group;

/* Groups are numbered from the beginning; the one with number i lies in group[i % n_groups].
 * delivered <= taken <= closed <= delivered + n_groups, and only the owner moves `delivered` and `closed`. */
struct cli_pool {
    cli_pool_calls calls;
    void *user;
    size_t item_size, group_items, n_groups;
    input_group *group;
    pthread_t *thread;
    uint32_t n_threads, most_threads; /* without the owner's */
    pthread_mutex_t lock;
    pthread_cond_t more,
        done; /* for threads: something to take; for the owner: a group is done, or all rest */
    size_t closed, taken, delivered;
    uint32_t working; /* threads that are at a group */
    bool paused, ending;
    bool stopped; /* no more are wanted */
};

static input_group *group_at(const cli_pool *pool, size_t index)
{
    return &pool->group[pool->n_groups ? index % pool->n_groups : 0]; /* there is one at least */
}

static void work_on(const cli_pool *pool, input_group *group)
{
    for (size_t i = 0; i < group->size; i++)
        pool->calls.work(group->items + i * pool->item_size);
}

static void *run_thread(void *arg)
{
    cli_pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->ending) {
        input_group *group;

        if (pool->paused || pool->taken == pool->closed) {
            pthread_cond_wait(&pool->more, &pool->lock);
            continue;
        }
        group = group_at(pool, pool->taken++);
        pool->working++;
        pthread_mutex_unlock(&pool->lock);
        work_on(pool, group);
        pthread_mutex_lock(&pool->lock);
        pool->working--;
        group->done = true;
        pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

cli_pool *cli_pool_open(uint32_t threads, size_t item_size, size_t most, const cli_pool_calls *calls,
                        void *user)
{
    cli_pool *pool = calloc(1, sizeof(*pool));
    bool ok;

    if (!pool)
        return NULL;
    *pool = (cli_pool){ .calls = *calls, .user = user, .item_size = item_size, .most_threads = threads - 1 };
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->more, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->group_items = most < GROUP_ITEMS ? most : GROUP_ITEMS;
    pool->n_groups = (size_t)threads * GROUPS;
    if (pool->n_groups > most / pool->group_items)
        pool->n_groups = most / pool->group_items;
    pool->group = calloc(pool->n_groups, sizeof(*pool->group));
    pool->thread = calloc(threads, sizeof(*pool->thread));
    ok = pool->group && pool->thread;
    for (size_t i = 0; ok && i < pool->n_groups; i++) {
        pool->group[i].items = calloc(pool->group_items, item_size);
        ok = pool->group[i].items != NULL;
    }
    if (ok)
        return pool;
    cli_pool_close(pool);
    return NULL;
}

/* Take the oldest group that nobody has taken, as any other thread would. Called with the lock, which is free
 * meanwhile. */
static void lend_a_hand(cli_pool *pool)
{
    input_group *group = group_at(pool, pool->taken++);

    pthread_mutex_unlock(&pool->lock);
    work_on(pool, group);
    pthread_mutex_lock(&pool->lock);
    group->done = true;
}

static bool deliver_group(cli_pool *pool, input_group *group)
{
    for (size_t i = 0; i < group->size; i++) {
        void *item = group->items + i * pool->item_size;

        if (pool->stopped)
            pool->calls.drop(item);
        else
            pool->stopped = !pool->calls.deliver(pool->user, item);
        if (pool->paused) {
            pthread_mutex_lock(&pool->lock);
            pool->paused = false;
            pthread_cond_broadcast(&pool->more);
            pthread_mutex_unlock(&pool->lock);
        }
    }
    group->size = 0;
    group->weight = 0;
    group->done = false;
    return !pool->stopped;
}

/* Deliver the oldest group, after what there is to do until it is done; false: it cannot be delivered now,
 * and nobody is to wait for it. */
static bool deliver_oldest(cli_pool *pool, bool wait)
{
    input_group *group = group_at(pool, pool->delivered);
    bool done;

    pthread_mutex_lock(&pool->lock);
    while (wait && !group->done) {
        if (pool->taken < pool->closed)
            lend_a_hand(pool);
        else
            pthread_cond_wait(&pool->done, &pool->lock);
    }
    done = pool->delivered < pool->closed && group->done;
    pthread_mutex_unlock(&pool->lock);
    if (done && deliver_group(pool, group))
        pool->delivered++;
    return done;
}

/* Deliver groups until at most `keep` are left, and beyond that what is done already. */
static bool deliver_down_to(cli_pool *pool, size_t keep)
{
    while (!pool->stopped && pool->delivered < pool->closed) {
        if (!deliver_oldest(pool, pool->closed - pool->delivered > keep))
            break;
    }
    return !pool->stopped;
}

/* A thread for each group that waits, as far as there may be that many. */
static void start_thread(cli_pool *pool)
{
    if (pool->n_threads < pool->most_threads &&
        pthread_create(&pool->thread[pool->n_threads], NULL, run_thread, pool) == 0)
        pool->n_threads++;
}

/* The group that is filled, if there is one, is for whoever comes first. */
static void close_group(cli_pool *pool)
{
    if (pool->closed - pool->delivered == pool->n_groups || group_at(pool, pool->closed)->size == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closed++;
    pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}

void *cli_pool_room(cli_pool *pool)
{
    input_group *group = group_at(pool, pool->closed);
    void *item;

    if (!deliver_down_to(pool, pool->n_groups - 1))
        return NULL;
    item = group->items + group->size * pool->item_size;
    memset(item, 0, pool->item_size);
    return item;
}

bool cli_pool_put(cli_pool *pool, uint64_t weight)
{
    input_group *group = group_at(pool, pool->closed);

    group->size++;
    group->weight += weight < GROUP_WEIGHT ? weight : GROUP_WEIGHT;
    if (group->size < pool->group_items && group->weight < GROUP_WEIGHT)
        return !pool->stopped;
    close_group(pool);
    start_thread(pool);
    return !pool->stopped;
}

bool cli_pool_step(cli_pool *pool)
{
    if (pool->stopped)
        return false;
    if (pool->delivered < pool->closed)
        return deliver_oldest(pool, true);
    if (group_at(pool, pool->closed)->size == 0)
        return false;
    close_group(pool); /* no more than this has come, and whoever sees the results wants to see them */
    return true;
}

bool cli_pool_drain(cli_pool *pool)
{
    if (!pool->stopped)
        close_group(pool); /* starts no thread: a run of one group needs no second one */
    return deliver_down_to(pool, 0);
}

void cli_pool_pause(cli_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->paused = true;
    while (pool->working > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void cli_pool_close(cli_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->n_threads; i++)
        (void)pthread_join(pool->thread[i], NULL); /* fails only for a thread that is not there */
    for (size_t i = 0; pool->group && i < pool->n_groups; i++) {
        for (size_t k = 0; k < pool->group[i].size; k++)
            pool->calls.drop(pool->group[i].items + k * pool->item_size);
        free(pool->group[i].items);
    }
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    free(pool->thread);
    free(pool->group);
    free(pool);
}
