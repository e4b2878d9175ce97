/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Workers under load. Processor time is that of this process and of its workers.
 *
 *   worker cpu PROGRAM MODE ROUNDS ARCH FILE...      microseconds of processor time for each link
 *   worker clients PROGRAM MODE CLIENTS ROUNDS ARCH FILE...    links per second, so many threads and workers
 *   worker mixed PROGRAM MODE ROUNDS HOSTILE ARCH FILE... -- HOSTILE-FILE...
 *       ROUNDS good links, HOSTILE of the others among them: p50 and p99 of the good ones, how many were lost
 *       or are not what the first one was */
#include <cuvet/worker.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { FILES = 4096, THREADS = 64 };

typedef struct bench_file {
    char *bytes;
    size_t size;
} bench_file;

typedef struct bench_case {
    cuvet_workers *workers;
    bench_file file[FILES];
    int count, hostile; /* files of the link, and those behind them */
    cuvet_target target;
    int rounds;
} bench_case;

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

static bench_file load(const char *path)
{
    FILE *file = fopen(path, "rb");
    bench_file out = { .size = 0 };
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    must(size >= 0 && fseek(file, 0, SEEK_SET) == 0, path);
    out.size = (size_t)size;
    out.bytes = malloc(out.size + 1);
    must(out.bytes && fread(out.bytes, 1, out.size, file) == out.size, path);
    (void)fclose(file);
    return out;
}

static double now(void)
{
    struct timespec time;

    must(clock_gettime(CLOCK_MONOTONIC, &time) == 0, "clock");
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double cpu_of(int who)
{
    struct rusage use;

    must(getrusage(who, &use) == 0, "rusage");
    return ((double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec) * 1e6 + (double)use.ru_utime.tv_usec +
           (double)use.ru_stime.tv_usec;
}

static cuvet_job *job_of(const bench_case *bench, const bench_file *file, int count)
{
    const cuvet_linker_options link = { .size = sizeof(link), .target = bench->target };
    const cuvet_job_options options = { .size = sizeof(options), .kind = CUVET_JOB_LINK, .link = &link };
    cuvet_job *job;

    must(cuvet_job_create(bench->workers, &options, &job) == CUVET_OK, "job");
    for (int i = 0; i < count; i++)
        must(cuvet_job_add_memory(job, file[i].bytes, file[i].size, "file", 0) == CUVET_OK, "add");
    return job;
}

static cuvet_answer run(cuvet_job *job)
{
    cuvet_answer answer = { .size = sizeof(answer) };

    must(cuvet_job_run(job) == CUVET_OK && cuvet_job_get_answer(job, &answer) == CUVET_OK, "run");
    return answer;
}

static void link_once(const bench_case *bench)
{
    cuvet_job *job = job_of(bench, bench->file, bench->count);

    must(run(job).status == CUVET_OK, "link");
    cuvet_job_destroy(job);
}

static cuvet_workers *start(const char *program, const char *mode, uint32_t workers)
{
    const cuvet_workers_options options = { .size = sizeof(options),
                                            .program = program,
                                            .mode = strcmp(mode, "fork") == 0 ? CUVET_WORKER_FORK
                                                                              : CUVET_WORKER_PERSISTENT,
                                            .workers = workers,
                                            .queue = THREADS };
    cuvet_workers *out;

    must(cuvet_workers_open(&options, &out) == CUVET_OK, program);
    return out;
}

/* A process that ends gives its time to who waits for it: the start of workers, alone, is measured first. */
static void measure_cpu(bench_case *bench, const char *program, const char *mode)
{
    double children = cpu_of(RUSAGE_CHILDREN), begin, self;

    cuvet_workers_close(start(program, mode, 1));
    begin = cpu_of(RUSAGE_CHILDREN) - children; /* what a start costs */
    bench->workers = start(program, mode, 1);
    children = cpu_of(RUSAGE_CHILDREN);
    self = cpu_of(RUSAGE_SELF);
    for (int i = 0; i < bench->rounds; i++)
        link_once(bench);
    self = cpu_of(RUSAGE_SELF) - self;
    cuvet_workers_close(bench->workers);
    children = cpu_of(RUSAGE_CHILDREN) - children - begin;
    printf("us %.2f self_us %.2f workers_us %.2f\n", (self + children) / bench->rounds, self / bench->rounds,
           children / bench->rounds);
}

static void *client(void *arg)
{
    const bench_case *bench = arg;

    for (int i = 0; i < bench->rounds; i++)
        link_once(bench);
    return NULL;
}

static void measure_clients(bench_case *bench, const char *program, const char *mode, int clients)
{
    pthread_t thread[THREADS];
    double begin;

    must(clients > 0 && clients <= THREADS, "clients");
    bench->workers = start(program, mode, (uint32_t)clients);
    begin = now();
    for (int i = 0; i < clients; i++)
        must(pthread_create(&thread[i], NULL, client, bench) == 0, "thread");
    for (int i = 0; i < clients; i++)
        must(pthread_join(thread[i], NULL) == 0, "thread");
    printf("per_second %.0f\n", clients * bench->rounds / (now() - begin) * 1e6);
    cuvet_workers_close(bench->workers);
}

static int ascending(const void *left, const void *right)
{
    double first = *(const double *)left, second = *(const double *)right;

    return first < second ? -1 : first > second;
}

static void measure_mixed(bench_case *bench, const char *program, const char *mode, int hostile)
{
    double *time = calloc((size_t)bench->rounds, sizeof(*time));
    int lost = 0, wrong = 0, unanswered = 0, asked = 0;
    cuvet_answer first;
    cuvet_job *model;

    must(time && bench->hostile > 0 && hostile > 0, "mixed");
    bench->workers = start(program, mode, 1);
    model = job_of(bench, bench->file, bench->count);
    first = run(model);
    must(first.status == CUVET_OK, "link");
    for (int i = 0; i < bench->rounds; i++) {
        cuvet_job *job = job_of(bench, bench->file, bench->count);
        cuvet_answer answer;

        time[i] = now();
        answer = run(job);
        time[i] = now() - time[i];
        lost += answer.end != CUVET_WORKER_ANSWERED || answer.status != CUVET_OK;
        wrong += answer.n != first.n || memcmp(answer.bytes, first.bytes, first.n) != 0;
        cuvet_job_destroy(job);
        for (; asked < (int)((long)hostile * (i + 1) / bench->rounds); asked++) {
            job = job_of(bench, &bench->file[bench->count + asked % bench->hostile], 1);
            unanswered += run(job).end != CUVET_WORKER_ANSWERED;
            cuvet_job_destroy(job);
        }
    }
    qsort(time, (size_t)bench->rounds, sizeof(*time), ascending);
    printf("p50_us %.0f p99_us %.0f good %d lost %d wrong %d hostile %d unanswered %d\n",
           time[bench->rounds / 2], time[bench->rounds - 1 - bench->rounds / 100], bench->rounds, lost, wrong,
           asked, unanswered);
    cuvet_job_destroy(model);
    cuvet_workers_close(bench->workers);
    free(time);
}

static int number(const char *text)
{
    int value = 0;

    must(sscanf(text, "%d", &value) == 1 && value > 0, text);
    return value;
}

int main(int argc, char **argv)
{
    static bench_case bench;
    bool cpu = argc > 6 && strcmp(argv[1], "cpu") == 0;
    bool mixed = argc > 7 && strcmp(argv[1], "mixed") == 0;
    int at = cpu ? 5 : 6, *count = &bench.count;

    must(cpu || mixed || (argc > 7 && strcmp(argv[1], "clients") == 0), "usage");
    bench.rounds = number(argv[cpu || mixed ? 4 : 5]);
    must(sscanf(argv[at], "sm_%u", &bench.target.sm) == 1, argv[at]);
    for (at++; at < argc; at++) {
        if (strcmp(argv[at], "--") == 0) {
            count = &bench.hostile;
            continue;
        }
        must(bench.count + bench.hostile < FILES, "files");
        bench.file[bench.count + bench.hostile] = load(argv[at]);
        ++*count;
    }
    if (cpu)
        measure_cpu(&bench, argv[2], argv[3]);
    else if (mixed)
        measure_mixed(&bench, argv[2], argv[3], number(argv[5]));
    else
        measure_clients(&bench, argv[2], argv[3], number(argv[4]));
    return EXIT_SUCCESS;
}
