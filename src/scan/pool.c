/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads: each takes the next unit that nobody has taken. They share the source, the units and the slots of
 * the results, and nothing else; they end before anything is delivered. */
#include <pthread.h>

#include "scan/scan.h"

/* A unit of this size takes longer than the threads can be apart at the end of a batch. */
#define LARGE CV_MIB

typedef struct pool {
    cv_level *lv;
    cv_examine_options opt;
    uint64_t from, n; /* units [from, from + n) */
    cv_keys order;    /* in which the units are taken; empty: as they are */
    uint64_t next;    /* atomic */
    uint64_t work;    /* atomic: spent so far … */
    uint64_t most; /* … and what the file has left: then nobody takes another one, and delivery decides */
} pool;

typedef struct seat {
    pool *p;
    cv_worker *w;
    pthread_t thread;
    bool started;
    uint64_t wrong; /* indexes: see base/trap.h */
} seat;

CV_VEC(cv_seats, seat);

static void work(pool *p, cv_worker *w)
{
    cv_examine_options opt = p->opt;

    for (;;) {
        uint64_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);

        if (i >= p->n || __atomic_load_n(&p->work, __ATOMIC_RELAXED) > p->most)
            return;
        i = p->from + (p->order.n ? cv_keys_at(&p->order, i)->index : i);
        cv_examine(w, &p->lv->src, cv_units_at(&p->lv->units, i), &opt, cv_results_at(&p->lv->results, i));
        (void)__atomic_fetch_add(&p->work, cv_results_at(&p->lv->results, i)->work, __ATOMIC_RELAXED);
        opt.follows = true;
    }
}

static void *run(void *arg)
{
    seat *s = arg;

    work(s->p, s->w);
    cv_islands_drop(); /* of this thread */
    s->wrong = cv_trap_count();
    return NULL;
}

/* What a unit claims to cost. A lie changes who waits for whom and nothing else. */
static uint64_t weight_of(const cv_unit *u)
{
    cv_span head = cv_span_of(&u->head, sizeof(u->head), 0);

    return cv_max(u->payload_size, cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS) & CV_FB_COMPRESSED
                                       ? cv_fatbin_get(head, CV_FB_FIELD_MEMBER_UNPACKED_SIZE)
                                       : 0);
}

/* Large units first, the largest at the very beginning: everybody would wait for one that was begun last. The
 * others as they lie in the file, where small ones are read together. */
static void put_in_order(cv_scan *s, pool *p)
{
    bool ok = true;

    for (uint64_t i = 0; ok && i < p->n; i++) {
        uint64_t weight = weight_of(cv_units_at(&p->lv->units, p->from + i));

        ok = cv_keys_push(&s->mem, &p->order, (cv_key){ weight < LARGE ? UINT64_MAX : ~weight, i });
    }
    if (ok)
        cv_keys_sort(&p->order);
    else
        cv_keys_free(&s->mem, &p->order); /* slower, and as right */
}

void cv_scan_examine(cv_scan *s, cv_level *lv, uint64_t from, uint64_t to, bool all_workers)
{
    uint64_t n = to - from, workers = all_workers && n > 1 ? s->workers.n : 1;
    pool p = { .lv = lv, .from = from, .n = n };
    cv_seats seats = { 0 };
    uint64_t most = cv_budget_work_most(&s->budget, s->budget.unpacked_most);
    bool inner = lv->x.inner;

    /* Nobody changes the counts before all threads have ended. */
    p.opt = (cv_examine_options){ .seen = s->seen,
                                  .depth = s->opt.depth,
                                  .admit = &s->admit,
                                  .ledger = s->opt.claim != NULL,
                                  .near = lv->walk.window.block.span, /* the walk waits meanwhile */
                                  .inner = inner,
                                  .anchor = inner ? lv->x.anchor : 0 };
    p.most = most - cv_min(most, s->budget.work);
    if (workers > 1)
        put_in_order(s, &p);
    for (uint64_t i = 1; i < workers; i++) {
        seat one = { .p = &p, .w = *cv_workers_at(&s->workers, i) };

        /* A thread that cannot be had is no failure: the others do its share. */
        if (!cv_seats_push(&s->mem, &seats, one))
            break;
    }
    for (uint64_t i = 0; i < seats.n; i++) {
        seat *one = cv_seats_at(&seats, i);

        one->started = pthread_create(&one->thread, NULL, run, one) == 0;
    }
    work(&p, *cv_workers_at(&s->workers, 0));
    for (uint64_t i = 0; i < seats.n; i++) {
        const seat *one = cv_seats_at(&seats, i);

        if (!one->started)
            continue;
        (void)pthread_join(one->thread, NULL); /* fails only for a thread that is not there */
        cv_trap_add(one->wrong);
    }
    cv_seats_free(&s->mem, &seats);
    cv_keys_free(&s->mem, &p.order);
}
