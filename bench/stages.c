/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the time of a link goes: what comes before it for each input, then each stage, and how much of that
 * are the checks behind it. Beside it the floor: all inputs read and as many bytes written as the result has,
 * without a look at them. usage: stages ROUNDS ARCH OUTPUT FILE...; lines of "name us
 * us-of-its-check", medians of processor time. A stage's check is asked once more to be timed alone. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/linker_int.h"
#include "cubin/admit.h"

#define MOST_ROUNDS 200
#define MOST_STAGES 64

typedef struct stage_file {
    const char *name;
    uint8_t *bytes;
    size_t size;
} stage_file;

/* Microseconds of each round. */
typedef struct stage_times {
    double us[MOST_ROUNDS];
} stage_times;

typedef struct stage_bench {
    stage_file *files;
    size_t count;
    cuvet_target target;
    const char *output;
    size_t rounds, round;
    cv_ctx ctx;
    cv_link link;
    cv_block out;
    cv_slices slices;
    uint64_t out_size;
    stage_times read, examine, stage[MOST_STAGES], check[MOST_STAGES], end;
} stage_bench;

static double cpu_us(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_value(const void *left, const void *right)
{
    double first = *(const double *)left, second = *(const double *)right;

    return (first > second) - (first < second);
}

static double median(stage_times *times, size_t count)
{
    qsort(times->us, count, sizeof(times->us[0]), by_value);
    return times->us[count / 2];
}

static int fetch(stage_file *file)
{
    int fd = open(file->name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    int bad = fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0;

    if (!bad && !file->bytes) {
        file->size = (size_t)st.st_size;
        file->bytes = malloc(file->size);
    }
    bad = bad || !file->bytes || read(fd, file->bytes, file->size) != (ssize_t)file->size;
    return (fd >= 0 && close(fd) != 0) || bad;
}

/* What any linker does at least. The bytes of the inputs, again and again, are as good as a result. */
static int floor_of(stage_bench *bench)
{
    double start = cpu_us();
    uint64_t left = bench->out_size;
    int bad = 0, fd;

    for (size_t i = 0; i < bench->count && !bad; i++)
        bad = fetch(&bench->files[i]);
    fd = open(bench->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (size_t i = 0; fd >= 0 && left > 0 && !bad; i++) {
        const stage_file *file = &bench->files[i % bench->count];
        size_t size = file->size < left ? file->size : (size_t)left;

        bad = write(fd, file->bytes, size) != (ssize_t)size;
        left -= size;
    }
    bad = fd < 0 || close(fd) != 0 || bad;
    bench->read.us[bench->round] = cpu_us() - start;
    return bad;
}

/* Rules and admission, as the public linker asks them. */
static int take(stage_bench *bench, const stage_file *file)
{
    const cv_admit_for wanted = { .target = bench->link.options->target,
                                  .policy = bench->link.options->policy,
                                  .toolkit = bench->link.options->toolkit,
                                  .finished = true };
    cv_span image = cv_span_of(file->bytes, file->size, 0);
    uint64_t extent = 0;
    cuvet_status status;
    cv_cubin parsed;

    cv_ctx_unit(&bench->ctx, image.len);
    cv_cubin_init(&parsed);
    status = cv_cubin_examine(&bench->ctx, &parsed, image, NULL, &extent);
    if (status == CUVET_OK)
        cv_cubin_check_tail(&bench->ctx, image, extent, 0);
    if (status == CUVET_OK)
        status = cv_verdict_status(bench->ctx.verdict);
    if (status == CUVET_OK)
        status = cv_admit(&bench->ctx, &parsed, &wanted);
    if (status == CUVET_OK)
        status = cv_link_add(&bench->link, image, &parsed, file->name);
    if (status != CUVET_OK)
        cv_cubin_free(&bench->ctx, &parsed);
    return status != CUVET_OK;
}

static int link_once(stage_bench *bench)
{
    const cuvet_linker_options public_options = { .size = sizeof(public_options), .target = bench->target };
    cv_link_options options = cv_linker_options_of(&public_options);
    size_t in = 0, bad = 0;
    double start = cpu_us();

    options.key[0] = 1;
    cv_link_begin(&bench->link, &bench->ctx, &options);
    for (size_t i = 0; i < bench->count && !bad; i++) {
        bad = (size_t)take(bench, &bench->files[i]);
        in += bench->files[i].size;
    }
    bench->examine.us[bench->round] = cpu_us() - start;
    cv_ctx_unit(&bench->ctx, 2 * in);
    bench->link.file->block = &bench->out;
    bench->link.file->slices = &bench->slices;
    bench->link.names->empty = cv_l_name(&bench->link, cv_span_of(NULL, 0, 0));
    for (size_t i = 0; cv_link_stage(i) && i < MOST_STAGES && !bad; i++) {
        start = cpu_us();
        bad = cv_link_run(&bench->link, i) != CUVET_OK;
        bench->stage[i].us[bench->round] = cpu_us() - start;
        start = cpu_us();
        bad = bad || cv_link_check(&bench->link, i) != CUVET_OK;
        bench->check[i].us[bench->round] = cpu_us() - start;
        if (bad)
            fprintf(stderr, "stages: %s refuses\n", cv_link_stage(i));
    }
    bench->out_size = bench->out.span.len;
    start = cpu_us();
    cv_link_end(&bench->link);
    cv_slices_free(&bench->ctx.mem, &bench->slices);
    cv_block_free(&bench->ctx, &bench->out);
    bench->end.us[bench->round] = cpu_us() - start;
    return bad != 0;
}

static void row(const char *name, double us, double check)
{
    printf("%s %.1f %.1f\n", name, us, check);
}

static void report(stage_bench *bench)
{
    row("floor", median(&bench->read, bench->rounds), 0);
    row("examine", median(&bench->examine, bench->rounds), 0);
    for (size_t i = 0; cv_link_stage(i) && i < MOST_STAGES; i++)
        row(cv_link_stage(i), median(&bench->stage[i], bench->rounds),
            cv_link_is_checked(i) ? median(&bench->check[i], bench->rounds) : 0);
    row("end", median(&bench->end, bench->rounds), 0);
}

int main(int argc, char **argv)
{
    static stage_bench bench;
    cuvet_limits strict = { .size = sizeof(strict) };

    bench.rounds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    if (argc < 5 || bench.rounds < 1 || bench.rounds > MOST_ROUNDS ||
        cuvet_limits_preset("strict", &strict) != CUVET_OK ||
        cuvet_target_parse(argv[2], &bench.target) != CUVET_OK) {
        fprintf(stderr, "usage: stages ROUNDS ARCH OUTPUT FILE...\n");
        return 2;
    }
    bench.output = argv[3];
    bench.count = (size_t)argc - 4;
    bench.files = calloc(bench.count, sizeof(*bench.files));
    for (size_t i = 0; bench.files && i < bench.count; i++)
        bench.files[i].name = argv[4 + i];
    if (!bench.files)
        return 3;
    for (size_t i = 0; i < bench.count; i++)
        if (fetch(&bench.files[i])) {
            fprintf(stderr, "stages: cannot read %s\n", bench.files[i].name);
            return 3;
        }
    cv_ctx_init(&bench.ctx, NULL, &strict);
    for (int warm = 1; warm >= 0; warm--)
        for (bench.round = 0; bench.round < (warm ? 1 : bench.rounds); bench.round++)
            if (link_once(&bench) || floor_of(&bench)) {
                fprintf(stderr, "stages: it does not link\n");
                return 1;
            }
    report(&bench);
    return 0;
}
