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

typedef struct group {
    unsigned char *items;
    size_t n;
    uint64_t weight;
    bool done;
} group;

/* Groups are numbered from the beginning; the one with number i lies in group[i % n_groups].
 * delivered <= taken <= closed <= delivered + n_groups, and only the owner moves `delivered` and `closed`. */
struct cli_pool {
    cli_pool_calls calls;
    void *user;
    size_t item_size, group_items, n_groups;
    group *group;
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

static group *group_at(const cli_pool *p, size_t i)
{
    return &p->group[p->n_groups ? i % p->n_groups : 0]; /* there is one at least */
}

static void work_on(const cli_pool *p, group *g)
{
    for (size_t i = 0; i < g->n; i++)
        p->calls.work(g->items + i * p->item_size);
}

static void *run(void *arg)
{
    cli_pool *p = arg;

    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        group *g;

        if (p->paused || p->taken == p->closed) {
            pthread_cond_wait(&p->more, &p->lock);
            continue;
        }
        g = group_at(p, p->taken++);
        p->working++;
        pthread_mutex_unlock(&p->lock);
        work_on(p, g);
        pthread_mutex_lock(&p->lock);
        p->working--;
        g->done = true;
        pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

cli_pool *cli_pool_open(uint32_t threads, size_t item_size, size_t most, const cli_pool_calls *calls,
                        void *user)
{
    cli_pool *p = calloc(1, sizeof(*p));
    bool ok;

    if (!p)
        return NULL;
    *p = (cli_pool){ .calls = *calls, .user = user, .item_size = item_size, .most_threads = threads - 1 };
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    pthread_cond_init(&p->done, NULL);
    p->group_items = most < GROUP_ITEMS ? most : GROUP_ITEMS;
    p->n_groups = (size_t)threads * GROUPS;
    if (p->n_groups > most / p->group_items)
        p->n_groups = most / p->group_items;
    p->group = calloc(p->n_groups, sizeof(*p->group));
    p->thread = calloc(threads, sizeof(*p->thread));
    ok = p->group && p->thread;
    for (size_t i = 0; ok && i < p->n_groups; i++) {
        p->group[i].items = calloc(p->group_items, item_size);
        ok = p->group[i].items != NULL;
    }
    if (ok)
        return p;
    cli_pool_close(p);
    return NULL;
}

/* Take the oldest group that nobody has taken, as any other thread would. Called with the lock, which is free
 * meanwhile. */
static void lend_a_hand(cli_pool *p)
{
    group *g = group_at(p, p->taken++);

    pthread_mutex_unlock(&p->lock);
    work_on(p, g);
    pthread_mutex_lock(&p->lock);
    g->done = true;
}

static bool deliver_group(cli_pool *p, group *g)
{
    for (size_t i = 0; i < g->n; i++) {
        void *item = g->items + i * p->item_size;

        if (p->stopped)
            p->calls.drop(item);
        else
            p->stopped = !p->calls.deliver(p->user, item);
        if (p->paused) {
            pthread_mutex_lock(&p->lock);
            p->paused = false;
            pthread_cond_broadcast(&p->more);
            pthread_mutex_unlock(&p->lock);
        }
    }
    g->n = 0;
    g->weight = 0;
    g->done = false;
    return !p->stopped;
}

/* Deliver the oldest group, after what there is to do until it is done; false: it cannot be delivered now,
 * and nobody is to wait for it. */
static bool deliver_oldest(cli_pool *p, bool wait)
{
    group *g = group_at(p, p->delivered);
    bool done;

    pthread_mutex_lock(&p->lock);
    while (wait && !g->done) {
        if (p->taken < p->closed)
            lend_a_hand(p);
        else
            pthread_cond_wait(&p->done, &p->lock);
    }
    done = p->delivered < p->closed && g->done;
    pthread_mutex_unlock(&p->lock);
    if (done && deliver_group(p, g))
        p->delivered++;
    return done;
}

/* Deliver groups until at most `keep` are left, and beyond that what is done already. */
static bool deliver_down_to(cli_pool *p, size_t keep)
{
    while (!p->stopped && p->delivered < p->closed) {
        if (!deliver_oldest(p, p->closed - p->delivered > keep))
            break;
    }
    return !p->stopped;
}

/* A thread for each group that waits, as far as there may be that many. */
static void start_thread(cli_pool *p)
{
    if (p->n_threads < p->most_threads && pthread_create(&p->thread[p->n_threads], NULL, run, p) == 0)
        p->n_threads++;
}

/* The group that is filled, if there is one, is for whoever comes first. */
static void close_group(cli_pool *p)
{
    if (p->closed - p->delivered == p->n_groups || group_at(p, p->closed)->n == 0)
        return;
    pthread_mutex_lock(&p->lock);
    p->closed++;
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
}

void *cli_pool_room(cli_pool *p)
{
    group *g = group_at(p, p->closed);
    void *item;

    if (!deliver_down_to(p, p->n_groups - 1))
        return NULL;
    item = g->items + g->n * p->item_size;
    memset(item, 0, p->item_size);
    return item;
}

bool cli_pool_put(cli_pool *p, uint64_t weight)
{
    group *g = group_at(p, p->closed);

    g->n++;
    g->weight += weight < GROUP_WEIGHT ? weight : GROUP_WEIGHT;
    if (g->n < p->group_items && g->weight < GROUP_WEIGHT)
        return !p->stopped;
    close_group(p);
    start_thread(p);
    return !p->stopped;
}

bool cli_pool_step(cli_pool *p)
{
    if (p->stopped)
        return false;
    if (p->delivered < p->closed)
        return deliver_oldest(p, true);
    if (group_at(p, p->closed)->n == 0)
        return false;
    close_group(p); /* no more than this has come, and whoever sees the results wants to see them */
    return true;
}

bool cli_pool_drain(cli_pool *p)
{
    if (!p->stopped)
        close_group(p); /* starts no thread: a run of one group needs no second one */
    return deliver_down_to(p, 0);
}

void cli_pool_pause(cli_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->paused = true;
    while (p->working > 0)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void cli_pool_close(cli_pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->n_threads; i++)
        (void)pthread_join(p->thread[i], NULL); /* fails only for a thread that is not there */
    for (size_t i = 0; p->group && i < p->n_groups; i++) {
        for (size_t k = 0; k < p->group[i].n; k++)
            p->calls.drop(p->group[i].items + k * p->item_size);
        free(p->group[i].items);
    }
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    free(p->thread);
    free(p->group);
    free(p);
}
