/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inside libcuvet-worker: processes, who has one, and one exchange with it. */
#ifndef CLI_WORKER_POOL_H
#define CLI_WORKER_POOL_H

#include <pthread.h>
#include <time.h>

#include "wire.h"

/* A worker's process. Whoever has acquired it may touch it, and nobody else. */
typedef struct worker_slot {
    bool busy, alive;
    bool began; /* a request was sent since it was acquired */
    int channel, pidfd, pid;
    clockid_t clock;      /* its processor time */
    uint64_t memory;      /* the limit that it has; 0: none was set */
    uint64_t cpu_allowed; /* milliseconds, the same */
    uint64_t base;
    bool limited;
} worker_slot;

struct cuvet_workers {
    cuvet_workers_options options; /* no field is 0 but flags and queue */
    char *program;
    pthread_mutex_t lock;
    pthread_cond_t free;
    cuvet_workers_counters counters;
    uint64_t number; /* of the last request */
    char cage[WIRE_CAGE];
    worker_slot *slot;
};

/* One exchange: what goes there, and what becomes of it. */
typedef struct worker_exchange {
    void *packet;
    size_t size;
    const int *file;
    uint32_t n_files;
    uint64_t number, deadline; /* point of time, milliseconds */
    uint64_t cpu_ms, memory;
    cuvet_worker_end end;
    int signal, exit_code;
} worker_exchange;

uint64_t worker_now(void);

/* process.c: */
/** Start the process of a slot and wait for its hello. @return OK · IO · UNSUPPORTED */
cuvet_status worker_start(cuvet_workers *workers, worker_slot *slot);
/** Kill it, if there is one. */
void worker_stop(worker_slot *slot);
/** Is it there, and silent? */
bool worker_is_idle(const worker_slot *slot);
/** Send a request and wait for the word that the answer is there. What does not end well is killed. */
void worker_ask(const cuvet_workers *workers, worker_slot *slot, worker_exchange *exchange);

/* pool.c: */
/** @return OK with a process that is there · BUSY · as worker_start() */
cuvet_status worker_acquire(cuvet_workers *workers, uint64_t deadline, worker_slot **out);
/** Give it back; one that was killed is started again. */
void worker_release(cuvet_workers *workers, worker_slot *slot, cuvet_worker_end end);

#endif
