/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two threads for a link. */
#ifndef CV_BENCH_LANES_H
#define CV_BENCH_LANES_H

#include <cuvet/executor.h>
#include <pthread.h>

typedef struct bench_lane {
    pthread_t thread;
    void (*work)(void *arg, uint32_t index);
    void *arg;
    uint32_t index;
} bench_lane;

static void *bench_run_lane(void *arg)
{
    const bench_lane *lane = arg;

    lane->work(lane->arg, lane->index);
    return NULL;
}

/* A thread for each part but the first: what starting them costs is a part of what is measured. */
static void bench_run_lanes(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    bench_lane lane[CUVET_LANES_MOST];
    uint32_t started = 1;

    (void)user;
    for (; started < count; started++) {
        lane[started] = (bench_lane){ .work = work, .arg = arg, .index = started };
        if (pthread_create(&lane[started].thread, NULL, bench_run_lane, &lane[started]) != 0)
            break; /* the library does what is left out */
    }
    work(arg, 0);
    while (--started > 0)
        (void)pthread_join(lane[started].thread, NULL);
}

static const cuvet_executor BENCH_LANES = { .size = sizeof(BENCH_LANES), .lanes = 2, .run = bench_run_lanes };

#endif
