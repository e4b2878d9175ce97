/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the time of a link goes: what comes before it for each input, then each stage, and how much of
 * that are the checks behind it. Beside it the floor: all inputs read and as many bytes written as the
 * result has, without a look at them. usage: stages cpu|wall|lanes ROUNDS ARCH OUTPUT FILE...; lines of
 * "name us us-of-its-check", medians: of processor time, of time by the clock, of that with two threads.
 * A stage's check is asked once more to be timed alone. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/linker_int.h"
#include "lanes.h"
#include "timing.h"

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
    double (*now)(void);
    bool lanes;
    size_t rounds, round;
    uint64_t out_size;
    stage_times read, examine, stage[MOST_STAGES], check[MOST_STAGES], end;
} stage_bench;

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
    double start = bench->now();
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
    bench->read.us[bench->round] = bench->now() - start;
    return bad;
}

/* The stages of a linker that has its inputs, as its completion runs them. */
static int run_stages(stage_bench *bench, linker_state *linker, uint64_t bytes)
{
    cv_link *link = &linker->link;

    cv_ctx_unit(&linker->ctx, 2 * bytes);
    link->file->block = &linker->out;
    link->file->slices = &linker->file;
    link->names->empty = cv_l_name(link, cv_span_of(NULL, 0, 0));
    for (size_t i = 0; cv_link_stage(i) && i < MOST_STAGES; i++) {
        double start = bench->now();
        bool good = cv_link_run(link, i) == CUVET_OK;

        bench->stage[i].us[bench->round] = bench->now() - start;
        start = bench->now();
        good = good && cv_link_check(link, i) == CUVET_OK;
        bench->check[i].us[bench->round] = bench->now() - start;
        if (!good) {
            fprintf(stderr, "stages: %s refuses\n", cv_link_stage(i));
            return 1;
        }
    }
    bench->out_size = linker->out.span.len;
    return 0;
}

static int link_once(stage_bench *bench)
{
    const cuvet_linker_options options = { .size = sizeof(options),
                                           .target = bench->target,
                                           .executor = bench->lanes ? &BENCH_LANES : NULL };
    cuvet_status status = CUVET_OK;
    cuvet_linker handle = { 0 };
    cuvet_ctx *ctx = NULL;
    linker_state *linker = NULL;
    uint64_t bytes = 0;
    double start;
    int bad =
        cuvet_ctx_create(NULL, &ctx) != CUVET_OK || cuvet_linker_create(ctx, &options, &handle) != CUVET_OK;

    start = bench->now();
    for (size_t i = 0; i < bench->count && status == CUVET_OK && !bad; i++) {
        const stage_file *file = &bench->files[i];

        status = cuvet_linker_add_borrowed(ctx, handle, file->bytes, file->size, file->name);
        bytes += file->size;
    }
    bench->examine.us[bench->round] = bench->now() - start;
    bad = bad || status != CUVET_OK || cv_linker_use(ctx, handle, &linker) != CUVET_OK ||
          run_stages(bench, linker, bytes) || cv_linker_done(ctx, handle, CUVET_OK) != CUVET_OK;
    start = bench->now();
    cuvet_ctx_destroy(ctx);
    bench->end.us[bench->round] = bench->now() - start;
    return bad;
}

static void row(const char *name, double us, double check)
{
    printf("%s %.1f %.1f\n", name, us, check);
}

static void report(stage_bench *bench)
{
    row("floor", bench_median(bench->read.us, bench->rounds), 0);
    row("examine", bench_median(bench->examine.us, bench->rounds), 0);
    for (size_t i = 0; cv_link_stage(i) && i < MOST_STAGES; i++)
        row(cv_link_stage(i), bench_median(bench->stage[i].us, bench->rounds),
            cv_link_is_checked(i) ? bench_median(bench->check[i].us, bench->rounds) : 0);
    row("end", bench_median(bench->end.us, bench->rounds), 0);
}

int main(int argc, char **argv)
{
    static stage_bench bench;

    bench.rounds = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    if (argc < 6 || bench.rounds < 1 || bench.rounds > MOST_ROUNDS ||
        cuvet_target_parse(argv[3], &bench.target) != CUVET_OK) {
        fprintf(stderr, "usage: stages cpu|wall|lanes ROUNDS ARCH OUTPUT FILE...\n");
        return 2;
    }
    bench.lanes = strcmp(argv[1], "lanes") == 0;
    bench.now = strcmp(argv[1], "cpu") == 0 ? bench_cpu_us : bench_wall_us;
    bench.output = argv[4];
    bench.count = (size_t)argc - 5;
    bench.files = calloc(bench.count, sizeof(*bench.files));
    for (size_t i = 0; bench.files && i < bench.count; i++)
        bench.files[i].name = argv[5 + i];
    if (!bench.files)
        return 3;
    for (size_t i = 0; i < bench.count; i++)
        if (fetch(&bench.files[i])) {
            fprintf(stderr, "stages: cannot read %s\n", bench.files[i].name);
            return 3;
        }
    for (int warm = 1; warm >= 0; warm--)
        for (bench.round = 0; bench.round < (warm ? 1 : bench.rounds); bench.round++)
            if (link_once(&bench) || floor_of(&bench)) {
                fprintf(stderr, "stages: it does not link\n");
                return 1;
            }
    report(&bench);
    return 0;
}
