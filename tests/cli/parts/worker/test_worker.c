/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Workers from outside: good jobs, and what becomes of those that a worker does not survive. The
 * planted worker (tests/programs/worker_plant.c) does on demand what one would that an input took
 * over. CV_BUILD names the build, CV_SRC the repository. */
#include <check.h>
#include <cuvet/worker.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sandbox.h"

enum { PATH = 4096, MOST = 1 << 20 };

#define MIB (UINT64_C(1) << 20)

/* Limits of memory, and death by a forbidden system call, are those of builds that have a cage. */
#define CAGED cli_cage_possible()

static uint8_t object[MOST];
static size_t object_size;

static void path_of(char path[PATH], const char *variable, const char *other, const char *name)
{
    const char *base = getenv(variable);

    ck_assert_int_lt(snprintf(path, PATH, "%s/%s", base ? base : other, name), PATH);
}

static void load(const char *name)
{
    char path[PATH], relative[PATH];
    FILE *file;

    ck_assert_int_lt(snprintf(relative, sizeof(relative), "corpus/samples/%s", name), PATH);
    path_of(path, "CV_SRC", ".", relative);
    file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    object_size = fread(object, 1, sizeof(object), file);
    ck_assert(object_size > 0 && object_size < sizeof(object));
    (void)fclose(file);
}

static cuvet_workers *open_workers(const char *program, const cuvet_workers_options *given)
{
    cuvet_workers_options options = *given;
    cuvet_workers *workers = NULL;
    char path[PATH], full[PATH];

    path_of(path, "CV_BUILD", "build", program);
    ck_assert_ptr_nonnull(realpath(path, full));
    options.size = sizeof(options);
    options.program = full;
    ck_assert_int_eq(cuvet_workers_open(&options, &workers), CUVET_OK);
    return workers;
}

static cuvet_workers *planted(cuvet_worker_mode mode)
{
    const cuvet_workers_options options = { .mode = mode, .deadline_ms = 60000 };

    return open_workers("tests/worker_planted", &options);
}

/* ---- jobs ---- */

typedef struct test_outcome {
    cuvet_answer answer;
    cuvet_job *job;
} test_outcome;

static cuvet_job *link_job(cuvet_workers *workers, const cuvet_job_options *given, const char *name)
{
    const cuvet_linker_options link = { .size = sizeof(link), .target = { .sm = 90 } };
    cuvet_job_options options = *given;
    cuvet_job *job;

    options.size = sizeof(options);
    options.kind = CUVET_JOB_LINK;
    options.link = &link;
    ck_assert_int_eq(cuvet_job_create(workers, &options, &job), CUVET_OK);
    ck_assert_int_eq(cuvet_job_add_memory(job, object, object_size, name, 0), CUVET_OK);
    return job;
}

static cuvet_answer run(cuvet_job *job)
{
    cuvet_answer answer = { .size = sizeof(answer) };

    ck_assert_int_eq(cuvet_job_run(job), CUVET_OK);
    ck_assert_int_eq(cuvet_job_get_answer(job, &answer), CUVET_OK);
    return answer;
}

static cuvet_answer act(cuvet_workers *workers, const cuvet_job_options *options, const char *name)
{
    cuvet_job *job = link_job(workers, options, name);
    cuvet_answer answer = run(job);

    cuvet_job_destroy(job);
    answer.bytes = NULL;
    return answer;
}

static const cuvet_job_options PLAIN = { .size = sizeof(PLAIN) };

static void check_good(cuvet_workers *workers)
{
    cuvet_job *job = link_job(workers, &PLAIN, "good");
    cuvet_answer answer = run(job);
    cuvet_event event = { .size = sizeof(event) };

    ck_assert_int_eq(answer.end, CUVET_WORKER_ANSWERED);
    ck_assert_int_eq(answer.status, CUVET_OK);
    ck_assert_uint_gt(answer.n, 1000);
    ck_assert_mem_eq(answer.bytes, "\177ELF", 4);
    ck_assert_uint_eq(answer.events, 1);
    ck_assert_int_eq(cuvet_job_get_event(job, 0, &event), CUVET_OK);
    ck_assert_int_eq(event.kind, CUVET_EVENT_TAKEN);
    ck_assert_str_eq(event.file, "good");
    ck_assert_int_eq(cuvet_job_get_event(job, 1, &event), CUVET_END);
    cuvet_job_destroy(job);
}

static void setup(void)
{
    load("branchy.sm_90.rdc.cubin");
}

/* ---- good jobs ---- */

START_TEST(a_link)
{
    const cuvet_workers_options options = { .mode = (cuvet_worker_mode)_i };
    cuvet_workers *workers = open_workers("cuvet-worker", &options);
    cuvet_workers_counters counters = { .size = sizeof(counters) };

    for (int i = 0; i < 10; i++)
        check_good(workers);
    ck_assert_int_eq(cuvet_workers_get_counters(workers, &counters), CUVET_OK);
    ck_assert_uint_eq(counters.jobs, 10);
    ck_assert_uint_eq(counters.answered, 10);
    ck_assert_uint_eq(counters.started, 1);
    ck_assert_uint_gt(strlen(cuvet_workers_cage(workers)), 0);
    cuvet_workers_close(workers);
}
END_TEST

/* The file of an answer cannot be changed by anybody, and has what the bytes are. */
START_TEST(the_answer_is_sealed)
{
    const cuvet_workers_options options = { .mode = (cuvet_worker_mode)_i };
    cuvet_workers *workers = open_workers("cuvet-worker", &options);
    cuvet_job *job = link_job(workers, &PLAIN, "good");
    cuvet_answer answer = run(job);
    uint8_t first[4];

    ck_assert_int_eq(pread(answer.fd, first, sizeof(first), (off_t)answer.result_off), sizeof(first));
    ck_assert_mem_eq(first, "\177ELF", 4);
    ck_assert_int_eq(fcntl(answer.fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    ck_assert_int_lt(pwrite(answer.fd, first, 1, 0), 0);
    cuvet_job_destroy(job);
    cuvet_workers_close(workers);
}
END_TEST

START_TEST(sealed_files_and_others)
{
    cuvet_workers *workers = open_workers("cuvet-worker", &(cuvet_workers_options){ .workers = 1 });
    int fd = memfd_create("input", MFD_ALLOW_SEALING);

    ck_assert_int_eq(pwrite(fd, object, object_size, 100), (ssize_t)object_size);
    for (int sealed = 0; sealed < 2; sealed++) {
        cuvet_job *job = link_job(workers, &PLAIN, "first");

        ck_assert_int_eq(cuvet_job_add_fd(job, fd, 100, object_size + 1, "second", 0), CUVET_E_IO);
        ck_assert_int_eq(cuvet_job_add_fd(job, fd, 100, object_size, "second", 0), CUVET_OK);
        /* The same function twice is what a link refuses: it has seen both. */
        ck_assert_int_eq(run(job).status, CUVET_E_REFUSED);
        cuvet_job_destroy(job);
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    }
    (void)close(fd);
    cuvet_workers_close(workers);
}
END_TEST

START_TEST(a_refusal_says_why)
{
    cuvet_workers *workers = open_workers("cuvet-worker", &(cuvet_workers_options){ .workers = 1 });
    cuvet_job_finding finding = { .size = sizeof(finding) };
    cuvet_answer answer;
    cuvet_job *job;

    object[object_size - 10] ^= 0x55; /* in its tables */
    memset(object + 0x28, 0xff, 8);   /* where its sections are */
    job = link_job(workers, &PLAIN, "bad");
    answer = run(job);
    ck_assert_int_eq(answer.end, CUVET_WORKER_ANSWERED);
    ck_assert_int_eq(answer.status, CUVET_E_MALFORMED);
    ck_assert_ptr_null(answer.bytes);
    ck_assert_int_eq(answer.fd, -1);
    ck_assert_uint_gt(answer.findings, 0);
    ck_assert_int_eq(cuvet_job_get_finding(job, 0, &finding), CUVET_OK);
    ck_assert_int_eq(strncmp(finding.rule, "CV-ELF-", 7), 0);
    ck_assert_int_eq(finding.severity, CUVET_ERROR);
    ck_assert_uint_gt(strlen(finding.text), 10);
    ck_assert_int_eq(cuvet_job_get_finding(job, answer.findings, &finding), CUVET_END);
    cuvet_job_destroy(job);
    cuvet_workers_close(workers);
}
END_TEST

static cuvet_answer run_kind(cuvet_workers *workers, const cuvet_job_options *options, cuvet_job **job)
{
    ck_assert_int_eq(cuvet_job_create(workers, options, job), CUVET_OK);
    ck_assert_int_eq(cuvet_job_run(*job), CUVET_E_USAGE); /* without an input */
    ck_assert_int_eq(cuvet_job_add_memory(*job, object, object_size, "input", 0), CUVET_OK);
    return run(*job);
}

START_TEST(scan_select_finalize)
{
    const cuvet_workers_options options = { .mode = (cuvet_worker_mode)_i };
    cuvet_workers *workers = open_workers("cuvet-worker", &options);
    const cuvet_select_options select = { .size = sizeof(select), .target = { .sm = 90 } };
    const cuvet_finalize_options finalize = { .size = sizeof(finalize) };
    cuvet_answer answer;
    cuvet_job *job;

    answer = run_kind(workers, &(cuvet_job_options){ .size = sizeof(PLAIN), .kind = CUVET_JOB_SCAN }, &job);
    ck_assert_int_eq(answer.status, CUVET_OK);
    ck_assert_int_eq(answer.verdict, CUVET_V_CLEAN);
    ck_assert_uint_eq(answer.images, 1);
    cuvet_job_destroy(job);
    answer = run_kind(
        workers, &(cuvet_job_options){ .size = sizeof(PLAIN), .kind = CUVET_JOB_SELECT, .select = &select },
        &job);
    ck_assert_int_eq(answer.status, CUVET_OK);
    ck_assert_int_eq(answer.kind, CUVET_K_CUBIN);
    ck_assert_uint_eq(answer.n, object_size);
    ck_assert_mem_eq(answer.bytes, object, object_size);
    ck_assert_uint_eq(answer.target.sm, 90);
    cuvet_job_destroy(job);
    load("branchy.sm_100.cubin");
    answer = run_kind(
        workers,
        &(cuvet_job_options){ .size = sizeof(PLAIN), .kind = CUVET_JOB_FINALIZE, .finalize = &finalize },
        &job);
    ck_assert_int_eq(answer.status, CUVET_OK);
    ck_assert_int_eq(answer.code, CUVET_FINAL_NOT_NEEDED); /* a copy */
    ck_assert_uint_eq(answer.n, object_size);
    ck_assert_mem_eq(answer.bytes, object, object_size);
    ck_assert_uint_eq(answer.target.sm, 100);
    cuvet_job_destroy(job);
    cuvet_workers_close(workers);
}
END_TEST

START_TEST(an_answer_that_is_too_large)
{
    cuvet_workers *workers = open_workers("cuvet-worker", &(cuvet_workers_options){ .mode = _i });
    const cuvet_job_options small = { .output = 4096 };
    cuvet_answer answer = act(workers, &small, "good");

    ck_assert_int_eq(answer.end, CUVET_WORKER_ANSWERED);
    ck_assert_int_eq(answer.status, CUVET_E_LIMIT);
    check_good(workers);
    cuvet_workers_close(workers);
}
END_TEST

/* ---- those that a worker does not survive ---- */

typedef struct test_row {
    const char *name;
    cuvet_job_options options;
    cuvet_worker_end end, fork_end;
    int signal; /* -1: any */
    int exit_code;
} test_row;

#define SOON                                                                                                 \
    {                                                                                                        \
        .deadline_ms = 300                                                                                   \
    }

static const test_row ROWS[] = {
    { "plant:crash", { .size = 0 }, CUVET_WORKER_LOST, CUVET_WORKER_LOST, -1, 0 },
    { "plant:hang", SOON, CUVET_WORKER_DEADLINE, CUVET_WORKER_DEADLINE, 0, 0 },
    { "plant:sleep", SOON, CUVET_WORKER_DEADLINE, CUVET_WORKER_DEADLINE, 0, 0 },
    { "plant:hang", { .cpu_ms = 100 }, CUVET_WORKER_CPU, CUVET_WORKER_CPU, 0, 0 },
    { "plant:stubborn", { .cpu_ms = 100 }, CUVET_WORKER_CPU, CUVET_WORKER_LOST, -1, 0 },
    { "plant:exit", { .size = 0 }, CUVET_WORKER_LOST, CUVET_WORKER_PROTOCOL, 0, 0 },
    { "plant:code", { .size = 0 }, CUVET_WORKER_LOST, CUVET_WORKER_LOST, 0, 7 },
    { "plant:nonsense", { .size = 0 }, CUVET_WORKER_LOST, CUVET_WORKER_PROTOCOL, 0, 0 },
    { "plant:flood", { .output = 1 << 20 }, CUVET_WORKER_LOST, CUVET_WORKER_PROTOCOL, 0, 0 },
    { "plant:close", SOON, CUVET_WORKER_PROTOCOL, CUVET_WORKER_DEADLINE, 0, 0 },
};

static const test_row CAGED_ROWS[] = {
    { "plant:fork", { .size = 0 }, CUVET_WORKER_LOST, CUVET_WORKER_LOST, SIGSYS, 0 },
    { "plant:write", { .size = 0 }, CUVET_WORKER_LOST, CUVET_WORKER_LOST, SIGSYS, 0 },
    { "plant:leak", { .memory = 64 * MIB }, CUVET_WORKER_MEMORY, CUVET_WORKER_MEMORY, 0, 0 },
};

static void check_row(cuvet_workers *workers, const test_row *row, bool forked)
{
    cuvet_answer answer = act(workers, &row->options, row->name);
    cuvet_worker_end want = forked ? row->fork_end : row->end;

    ck_assert_msg(answer.end == want, "%s: %s instead of %s", row->name, cuvet_worker_end_name(answer.end),
                  cuvet_worker_end_name(want));
    if (answer.end == CUVET_WORKER_LOST) {
        ck_assert_msg(row->signal < 0 || answer.signal == row->signal, "%s: signal %d", row->name,
                      answer.signal);
        ck_assert_msg(!CAGED || answer.exit_code == row->exit_code, "%s: code %d", row->name,
                      answer.exit_code);
    }
    check_good(workers);
}

START_TEST(each_loss_is_an_answer)
{
    cuvet_workers *workers = planted((cuvet_worker_mode)_i);
    cuvet_workers_counters counters = { .size = sizeof(counters) };
    const size_t plain = sizeof(ROWS) / sizeof(ROWS[0]), caged = sizeof(CAGED_ROWS) / sizeof(CAGED_ROWS[0]);
    const char *left = "/tmp/cuvet-worker-was-here";

    for (size_t i = 0; i < plain; i++)
        check_row(workers, &ROWS[i], _i == CUVET_WORKER_FORK);
    for (size_t i = 0; CAGED && i < caged; i++)
        check_row(workers, &CAGED_ROWS[i], _i == CUVET_WORKER_FORK);
    ck_assert_int_ne(access(left, F_OK), 0);
    ck_assert_int_eq(cuvet_workers_get_counters(workers, &counters), CUVET_OK);
    ck_assert_uint_eq(counters.answered, plain + (CAGED ? caged : 0));
    ck_assert_uint_eq(counters.jobs, counters.answered + counters.lost + counters.deadline + counters.cpu +
                                         counters.memory + counters.protocol);
    ck_assert_uint_eq(counters.jobs, 2 * counters.answered);
    cuvet_workers_close(workers);
}
END_TEST

/* Words for requests to come: nobody takes them for an answer, and the next job has a worker of its own. */
START_TEST(forged_words)
{
    cuvet_workers *workers = planted(CUVET_WORKER_PERSISTENT);
    cuvet_answer answer = act(workers, &PLAIN, "plant:forge");

    ck_assert_int_eq(answer.end, CUVET_WORKER_PROTOCOL);
    check_good(workers);
    cuvet_workers_close(workers);
}
END_TEST

/* ---- several at once ---- */

typedef struct test_client {
    cuvet_workers *workers;
    unsigned good, busy;
} test_client;

static void *client(void *arg)
{
    test_client *one = arg;

    for (int i = 0; i < 50; i++) {
        cuvet_job *job = link_job(one->workers, &PLAIN, "good");
        cuvet_answer answer = { .size = sizeof(answer) };
        cuvet_status status = cuvet_job_run(job);

        if (status == CUVET_OK && cuvet_job_get_answer(job, &answer) == CUVET_OK &&
            answer.end == CUVET_WORKER_ANSWERED && answer.status == CUVET_OK)
            one->good++;
        one->busy += status == CUVET_E_BUSY;
        cuvet_job_destroy(job);
    }
    return NULL;
}

START_TEST(several_threads)
{
    enum { THREADS = 4 };
    const cuvet_workers_options options = { .mode = (cuvet_worker_mode)_i, .workers = 2, .queue = THREADS };
    cuvet_workers *workers = open_workers("cuvet-worker", &options);
    test_client one[THREADS] = { 0 };
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++) {
        one[i].workers = workers;
        ck_assert_int_eq(pthread_create(&thread[i], NULL, client, &one[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        ck_assert_uint_eq(one[i].good, 50);
        ck_assert_uint_eq(one[i].busy, 0);
    }
    cuvet_workers_close(workers);
}
END_TEST

static void *sleeper(void *arg)
{
    const cuvet_job_options soon = { .deadline_ms = 1500 };

    ck_assert_int_eq(act(arg, &soon, "plant:sleep").end, CUVET_WORKER_DEADLINE);
    return NULL;
}

/* One worker sleeps, nobody may wait: busy, at once. */
START_TEST(nobody_may_wait)
{
    cuvet_workers *workers = planted(CUVET_WORKER_PERSISTENT);
    cuvet_workers_counters counters = { .size = sizeof(counters) };
    pthread_t thread;
    cuvet_job *job;

    ck_assert_int_eq(pthread_create(&thread, NULL, sleeper, workers), 0);
    do {
        ck_assert_int_eq(cuvet_workers_get_counters(workers, &counters), CUVET_OK);
    } while (counters.busy == 0);
    job = link_job(workers, &PLAIN, "good");
    ck_assert_int_eq(cuvet_job_run(job), CUVET_E_BUSY);
    ck_assert_int_eq(cuvet_job_run(job), CUVET_E_STATE);
    cuvet_job_destroy(job);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    check_good(workers);
    ck_assert_int_eq(cuvet_workers_get_counters(workers, &counters), CUVET_OK);
    ck_assert_uint_eq(counters.refused, 1);
    cuvet_workers_close(workers);
}
END_TEST

/* ---- wrong calls ---- */

START_TEST(wrong_options)
{
    const cuvet_workers_options good = { .size = sizeof(good) };
    cuvet_workers_options options = good;
    const cuvet_linker_options link = { .size = sizeof(link), .event = (cuvet_link_event_fn *)(uintptr_t)1 };
    cuvet_workers *workers;
    cuvet_job *job;

    ck_assert_int_eq(cuvet_workers_open(NULL, &workers), CUVET_E_NULL);
    options.size = 0;
    ck_assert_int_eq(cuvet_workers_open(&options, &workers), CUVET_E_USAGE);
    options = good;
    options.workers = 257;
    ck_assert_int_eq(cuvet_workers_open(&options, &workers), CUVET_E_USAGE);
    options = good;
    options.program = "cuvet-worker";
    ck_assert_int_eq(cuvet_workers_open(&options, &workers), CUVET_E_USAGE);
    options.program = "/nowhere/cuvet-worker";
    ck_assert_int_eq(cuvet_workers_open(&options, &workers), CUVET_E_IO);
    options.program = "/bin/true"; /* says nothing */
    ck_assert_int_eq(cuvet_workers_open(&options, &workers), CUVET_E_IO);
    ck_assert_ptr_null(workers);
    workers = open_workers("cuvet-worker", &good);
    ck_assert_int_eq(
        cuvet_job_create(workers, &(cuvet_job_options){ .size = sizeof(PLAIN), .link = &link }, &job),
        CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_job_create(workers, &(cuvet_job_options){ .size = sizeof(PLAIN) }, &job),
                     CUVET_E_NULL);
    job = link_job(workers, &PLAIN, "good");
    ck_assert_int_eq(cuvet_job_add_memory(job, object, 1, "x", 4), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_job_get_answer(job, &(cuvet_answer){ .size = sizeof(cuvet_answer) }),
                     CUVET_E_STATE);
    cuvet_job_destroy(job);
    cuvet_workers_close(workers);
}
END_TEST

Suite *suite_worker(void);
Suite *suite_worker(void)
{
    Suite *suite = suite_create("worker");
    TCase *tcase = tcase_create("worker");

    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, a_link, 0, 2);
    tcase_add_loop_test(tcase, the_answer_is_sealed, 0, 2);
    tcase_add_test(tcase, sealed_files_and_others);
    tcase_add_test(tcase, a_refusal_says_why);
    tcase_add_loop_test(tcase, scan_select_finalize, 0, 2);
    tcase_add_loop_test(tcase, an_answer_that_is_too_large, 0, 2);
    tcase_add_loop_test(tcase, each_loss_is_an_answer, 0, 2);
    tcase_add_test(tcase, forged_words);
    tcase_add_loop_test(tcase, several_threads, 0, 2);
    tcase_add_test(tcase, nobody_may_wait);
    tcase_add_test(tcase, wrong_options);
    suite_add_tcase(suite, tcase);
    return suite;
}
