/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Has workers link what it is sent: the same words on standard input and output as link_server, so that
 * tests/hostile/link_mutants.py drives both. At the end it says on standard error what the workers counted,
 * and ends badly when a job was not answered or a worker had to be started again.
 *
 *   worker_client persistent|fork PROGRAM */
#include <cuvet/worker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS 1u
#define OBJECTS 8u
#define MOST    (32u << 20)
#define SAID    1024u

typedef struct client_head {
    uint32_t target, flags, count;
} client_head;

typedef struct client_answer {
    uint32_t end, code, status, step, ns_low, ns_high, n_said, n_out;
} client_answer;

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

static bool get(void *to, size_t size)
{
    return fread(to, 1, size, stdin) == size;
}

static void add_object(cuvet_job *job)
{
    uint32_t len;
    uint8_t *bytes;

    must(get(&len, sizeof(len)) && len <= MOST, "length");
    bytes = malloc(len + 1);
    must(bytes && get(bytes, len), "object");
    must(cuvet_job_add_memory(job, bytes, len, "object", 0) == CUVET_OK, "add");
    free(bytes);
}

static cuvet_job *job_of(cuvet_workers *workers, const client_head *head)
{
    const cuvet_linker_options options = { .size = sizeof(options),
                                           .target = { .sm = (uint16_t)head->target },
                                           .flags =
                                               ((head->flags & 1) ? CUVET_LINK_RELOCATABLE : 0) |
                                               ((head->flags & 3) == 3 ? CUVET_LINK_EXACT_RELOCATABLE : 0) |
                                               ((head->flags & 4) ? CUVET_LINK_DEBUG : 0) |
                                               ((head->flags & 8) ? CUVET_LINK_PRESERVE_RELOCS : 0) };
    const cuvet_job_options job_options = { .size = sizeof(job_options),
                                            .kind = CUVET_JOB_LINK,
                                            .link = &options };
    cuvet_job *job;

    must(cuvet_job_create(workers, &job_options, &job) == CUVET_OK, "job");
    for (uint32_t i = 0; i < head->count; i++)
        add_object(job);
    return job;
}

static uint32_t say_word(char *said, uint32_t len, const char *word)
{
    size_t count = strlen(word);

    if (len + count + 1 >= SAID)
        return len;
    memcpy(said + len, word, count);
    said[len + count] = ' ';
    return len + (uint32_t)count + 1;
}

/* The rules of errors, and inputs without device code, which a link goes on without. */
static uint32_t said_in(const cuvet_job *job, char *said)
{
    cuvet_job_finding finding = { .size = sizeof(finding) };
    cuvet_event event = { .size = sizeof(event) };
    uint32_t len = 0;

    for (uint64_t i = 0; cuvet_job_get_finding(job, i, &finding) == CUVET_OK; i++) {
        if (finding.severity == CUVET_ERROR)
            len = say_word(said, len, finding.rule);
    }
    for (uint64_t i = 0; cuvet_job_get_event(job, i, &event) == CUVET_OK; i++) {
        if (event.kind == CUVET_EVENT_NO_DEVICE_CODE)
            len = say_word(said, len, "left-out");
    }
    return len;
}

static uint64_t now(void)
{
    struct timespec time;

    must(clock_gettime(CLOCK_MONOTONIC, &time) == 0, "clock");
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void run(cuvet_workers *workers, const client_head *head)
{
    cuvet_job *job = job_of(workers, head);
    cuvet_answer answer = { .size = sizeof(answer) };
    client_answer reply = { .step = 1 };
    uint64_t begin = now();
    char said[SAID];

    must(cuvet_job_run(job) == CUVET_OK && cuvet_job_get_answer(job, &answer) == CUVET_OK, "run");
    begin = now() - begin;
    if (answer.end == CUVET_WORKER_DEADLINE || answer.end == CUVET_WORKER_CPU)
        reply.end = 3;
    else if (answer.end != CUVET_WORKER_ANSWERED && answer.end != CUVET_WORKER_MEMORY)
        reply.end = answer.signal ? 1 : 2;
    reply.code = (uint32_t)(answer.signal ? answer.signal : answer.exit_code);
    reply.status = (uint32_t)answer.status;
    reply.ns_low = (uint32_t)begin;
    reply.ns_high = (uint32_t)(begin >> 32);
    reply.n_said = said_in(job, said);
    reply.n_out = (uint32_t)answer.n;
    must(fwrite(&reply, sizeof(reply), 1, stdout) == 1 &&
             fwrite(said, 1, reply.n_said, stdout) == reply.n_said,
         "answer");
    must((answer.n == 0 || fwrite(answer.bytes, answer.n, 1, stdout) == 1) && fflush(stdout) == 0, "answer");
    cuvet_job_destroy(job);
}

int main(int argc, char **argv)
{
    cuvet_workers_options options = { .size = sizeof(options) };
    cuvet_workers_counters counters = { .size = sizeof(counters) };
    cuvet_workers *workers;
    client_head head;

    must(argc == 3, "worker_client persistent|fork PROGRAM");
    options.mode = strcmp(argv[1], "fork") == 0 ? CUVET_WORKER_FORK : CUVET_WORKER_PERSISTENT;
    options.program = argv[2];
    options.workers = WORKERS;
    must(cuvet_workers_open(&options, &workers) == CUVET_OK, argv[2]);
    while (get(&head, sizeof(head)) && head.count <= OBJECTS)
        run(workers, &head);
    must(cuvet_workers_get_counters(workers, &counters) == CUVET_OK, "counters");
    (void)fprintf(stderr,
                  "workers (%s): %llu jobs, %llu answered, %llu lost, %llu deadline, %llu memory, %llu "
                  "protocol, %llu started\n",
                  cuvet_workers_cage(workers), (unsigned long long)counters.jobs,
                  (unsigned long long)counters.answered, (unsigned long long)counters.lost,
                  (unsigned long long)counters.deadline, (unsigned long long)counters.memory,
                  (unsigned long long)counters.protocol, (unsigned long long)counters.started);
    cuvet_workers_close(workers);
    return counters.answered == counters.jobs && counters.started == WORKERS ? EXIT_SUCCESS : EXIT_FAILURE;
}
