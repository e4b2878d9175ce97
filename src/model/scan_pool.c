/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads: each takes the next unit that nobody has taken. They share the source, the units and the slots of
 * the results, and nothing else; they end before anything is delivered. */
#include <pthread.h>

#include "model/scan.h"

typedef struct pool {
    cv_level *lv;
    cv_examine_options opt;
    uint64_t n;
    uint64_t next; /* atomic */
} pool;

typedef struct seat {
    pool *p;
    cv_worker *w;
    pthread_t thread;
    bool started;
} seat;

CV_VEC(cv_seats, seat);

static void work(pool *p, cv_worker *w)
{
    for (;;) {
        uint64_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);

        if (i >= p->n)
            return;
        cv_examine(w, &p->lv->src, cv_units_at(&p->lv->units, i), &p->opt, cv_results_at(&p->lv->results, i));
    }
}

static void *run(void *arg)
{
    seat *s = arg;

    work(s->p, s->w);
    cv_islands_drop(); /* of this thread */
    return NULL;
}

void cv_scan_examine_all(cv_scan *s, cv_level *lv, uint64_t n)
{
    pool p = { .lv = lv, .n = n };
    cv_seats seats = { 0 };
    bool inner = lv->x.inner;

    /* Nobody changes the counts before all threads have ended. */
    p.opt = (cv_examine_options){ .seen = s->seen,
                                  .depth = s->opt.depth,
                                  .ledger = s->opt.claim != NULL,
                                  .inner = inner,
                                  .anchor = inner ? lv->x.anchor : 0 };
    for (uint64_t i = 1; n > 1 && i < s->workers.n; i++) {
        seat one = { &p, *cv_workers_at(&s->workers, i), 0, false };

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
        if (cv_seats_at(&seats, i)->started)
            (void)pthread_join(cv_seats_at(&seats, i)->thread,
                               NULL); /* fails only for a thread that is not there */
    }
    cv_seats_free(&s->mem, &seats);
}
