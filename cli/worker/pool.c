/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pool.h"

#include "sized.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORKERS 256u
#define DEADLINE_MS  10000u
#define MEMORY       (UINT64_C(2) << 30)
#define OUTPUT       (UINT64_C(1) << 30)
#define LEAST_OUTPUT 4096u

/* ---- who has one ---- */

static void lock(cuvet_workers *workers)
{
    (void)pthread_mutex_lock(&workers->lock); /* a plain one, that nobody locks twice */
}

static void unlock(cuvet_workers *workers)
{
    (void)pthread_mutex_unlock(&workers->lock); /* ours */
}

static worker_slot *free_slot(const cuvet_workers *workers)
{
    for (uint32_t i = 0; i < workers->options.workers; i++) {
        if (!workers->slot[i].busy)
            return &workers->slot[i];
    }
    return NULL;
}

static worker_slot *wait_for_slot(cuvet_workers *workers, uint64_t deadline)
{
    const struct timespec until = { .tv_sec = (time_t)(deadline / 1000),
                                    .tv_nsec = (long)(deadline % 1000) * 1000000 };
    worker_slot *slot = free_slot(workers);
    int rc = 0;

    if (slot || workers->counters.waiting >= workers->options.queue)
        return slot;
    workers->counters.waiting++;
    while (!slot && rc == 0) {
        rc = pthread_cond_timedwait(&workers->free, &workers->lock, &until);
        slot = free_slot(workers);
    }
    workers->counters.waiting--;
    return slot;
}

static cuvet_status start_counted(cuvet_workers *workers, worker_slot *slot)
{
    cuvet_status status = worker_start(workers, slot);

    if (status == CUVET_OK) {
        lock(workers);
        workers->counters.started++;
        unlock(workers);
    }
    return status;
}

cuvet_status worker_acquire(cuvet_workers *workers, uint64_t deadline, worker_slot **out)
{
    cuvet_status status = CUVET_OK;
    worker_slot *slot;

    lock(workers);
    slot = wait_for_slot(workers, deadline);
    if (slot) {
        slot->busy = true;
        workers->counters.busy++;
    } else {
        workers->counters.refused++;
    }
    unlock(workers);
    if (!slot)
        return CUVET_E_BUSY;
    /* It may have died since, or say what nobody asked it. */
    if (!worker_is_idle(slot)) {
        worker_stop(slot);
        status = start_counted(workers, slot);
    }
    if (status == CUVET_OK)
        *out = slot;
    else
        worker_release(workers, slot, CUVET_WORKER_ANSWERED);
    return status;
}

static void count_end(cuvet_workers_counters *counters, cuvet_worker_end end)
{
    uint64_t *const COUNTER[] = {
        [CUVET_WORKER_ANSWERED] = &counters->answered, [CUVET_WORKER_LOST] = &counters->lost,
        [CUVET_WORKER_DEADLINE] = &counters->deadline, [CUVET_WORKER_CPU] = &counters->cpu,
        [CUVET_WORKER_MEMORY] = &counters->memory,     [CUVET_WORKER_PROTOCOL] = &counters->protocol
    };

    counters->jobs++;
    ++*COUNTER[end];
}

void worker_release(cuvet_workers *workers, worker_slot *slot, cuvet_worker_end end)
{
    bool began = slot->began;

    slot->began = false;
    /* What cannot be started now is tried again by the next job, which says so. */
    if (began && !slot->alive)
        (void)!start_counted(workers, slot);
    lock(workers);
    if (began)
        count_end(&workers->counters, end);
    workers->counters.busy--;
    slot->busy = false;
    (void)pthread_cond_signal(&workers->free); /* is there */
    unlock(workers);
}

/* ---- open, close ---- */

static bool options_ok(const cuvet_workers_options *opt)
{
    return opt->mode <= CUVET_WORKER_FORK && (opt->flags & ~CUVET_WORKER_REQUIRE_CAGE) == 0 &&
           opt->workers <= MOST_WORKERS && (!opt->program || opt->program[0] == '/') &&
           opt->deadline_ms <= INT32_MAX && opt->memory <= UINT64_MAX / 4 && opt->output <= INT64_MAX &&
           (opt->output == 0 || opt->output >= LEAST_OUTPUT);
}

static bool make_locks(cuvet_workers *workers)
{
    pthread_condattr_t monotonic;
    bool ok = false;

    if (pthread_condattr_init(&monotonic) != 0)
        return false;
    if (pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
        pthread_cond_init(&workers->free, &monotonic) == 0) {
        ok = pthread_mutex_init(&workers->lock, NULL) == 0;
        if (!ok)
            (void)pthread_cond_destroy(&workers->free); /* nobody waits for it */
    }
    (void)pthread_condattr_destroy(&monotonic); /* ours */
    return ok;
}

static cuvet_workers *make_workers(const cuvet_workers_options *opt)
{
    cuvet_workers *workers = calloc(1, sizeof(*workers));

    if (!workers)
        return NULL;
    workers->options = *opt;
    workers->options.workers = opt->workers ? opt->workers : 1;
    workers->options.deadline_ms = opt->deadline_ms ? opt->deadline_ms : DEADLINE_MS;
    workers->options.memory = opt->memory ? opt->memory : MEMORY;
    workers->options.output = opt->output ? opt->output : OUTPUT;
    workers->program = strdup(opt->program ? opt->program : CLI_WORKER_PROGRAM);
    workers->slot = calloc(workers->options.workers, sizeof(*workers->slot));
    if (!workers->program || !workers->slot || !make_locks(workers)) {
        free(workers->program);
        free(workers->slot);
        free(workers);
        return NULL;
    }
    return workers;
}

cuvet_status cuvet_workers_open(const cuvet_workers_options *opt, cuvet_workers **out)
{
    cuvet_status status = CUVET_OK;
    cuvet_workers_options options;
    cuvet_workers *workers;
    int error;

    if (!out)
        return CUVET_E_NULL;
    *out = NULL;
    if (!opt)
        return CUVET_E_NULL;
    if (!sized_take(&options, sizeof(options), opt) || !options_ok(&options))
        return CUVET_E_USAGE;
    workers = make_workers(&options);
    if (!workers)
        return CUVET_E_NOMEM;
    for (uint32_t i = 0; i < workers->options.workers && status == CUVET_OK; i++)
        status = start_counted(workers, &workers->slot[i]);
    if (status != CUVET_OK) {
        error = errno;
        cuvet_workers_close(workers);
        errno = error;
        return status;
    }
    *out = workers;
    return CUVET_OK;
}

void cuvet_workers_close(cuvet_workers *workers)
{
    if (!workers)
        return;
    for (uint32_t i = 0; i < workers->options.workers; i++)
        worker_stop(&workers->slot[i]);
    (void)pthread_mutex_destroy(&workers->lock); /* nobody has it */
    (void)pthread_cond_destroy(&workers->free);
    free(workers->program);
    free(workers->slot);
    free(workers);
}

const char *cuvet_workers_cage(const cuvet_workers *workers)
{
    return workers ? workers->cage : "";
}

cuvet_status cuvet_workers_get_counters(cuvet_workers *workers, cuvet_workers_counters *out)
{
    cuvet_workers_counters counters;

    if (!workers || !out)
        return CUVET_E_NULL;
    lock(workers);
    counters = workers->counters;
    unlock(workers);
    return sized_give(out, &counters, sizeof(counters)) ? CUVET_OK : CUVET_E_USAGE;
}

/* ---- names ---- */

#define NAME_OF(table, value)                                                                                \
    ((size_t)(value) < sizeof(table) / sizeof((table)[0]) ? (table)[(size_t)(value)] : "?")

const char *cuvet_worker_end_name(cuvet_worker_end end)
{
    static const char *const NAMES[] = { "answered", "lost", "deadline", "cpu", "memory", "protocol" };

    return NAME_OF(NAMES, end);
}

const char *cuvet_worker_mode_name(cuvet_worker_mode mode)
{
    static const char *const NAMES[] = { "persistent", "fork" };

    return NAME_OF(NAMES, mode);
}

const char *cuvet_job_kind_name(cuvet_job_kind kind)
{
    static const char *const NAMES[] = { "link", "scan", "select", "finalize" };

    return NAME_OF(NAMES, kind);
}
