/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One link in this process, from bytes in memory to bytes in memory, warm; beside it the same by libnvJitLink
 * when a library is named, the two in turn. A second library, which is cuvet in the first one's place, is
 * measured instead of cuvet's own functions. usage: link ROUNDS ARCH DIR [LIBRARY [FACE]]; one line of words
 * and values: medians of processor time, and of the ratios of the rounds; alone_us and lanes_us by the clock,
 * with one thread and with two, in turn. */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "lanes.h"
#include "timing.h"

#define MAX_ROUNDS 1000
#define KEPT       (UINT64_C(1) << 30)

typedef struct link_file {
    char *name;
    uint8_t *bytes;
    size_t size;
} link_file;

typedef struct link_program {
    link_file *files;
    size_t size, cap;
    uint64_t in, out; /* bytes */
    cuvet_target target;
    char arch[32]; /* "-arch=sm_90" */
    bool lanes;
} link_program;

/* libnvJitLink by its documented functions. */
typedef struct jit_calls {
    int (*create)(void **link, uint32_t size, const char **options);
    int (*add)(void *link, int type, const void *bytes, size_t size, const char *name);
    int (*complete)(void *link);
    int (*size)(void *link, size_t *len);
    int (*get)(void *link, void *out);
    int (*destroy)(void **link);
} jit_calls;

#define JIT_CUBIN 1

static int by_name(const void *left, const void *right)
{
    return strcmp(((const link_file *)left)->name, ((const link_file *)right)->name);
}

static int load(link_program *program, const char *dir, const char *name)
{
    char path[4096];
    link_file file = { .name = strdup(name) };
    FILE *in;
    long count = -1;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    in = fopen(path, "rb");
    if (in && fseek(in, 0, SEEK_END) == 0)
        count = ftell(in);
    if (!in || count <= 0 || fseek(in, 0, SEEK_SET) != 0)
        return 1;
    file.size = (size_t)count;
    file.bytes = malloc(file.size);
    if (!file.bytes || fread(file.bytes, 1, file.size, in) != file.size)
        return 1;
    (void)fclose(in);
    if (program->size == program->cap) {
        program->cap = program->cap ? 2 * program->cap : 64;
        program->files = realloc(program->files, program->cap * sizeof(*program->files));
        if (!program->files)
            return 1;
    }
    program->in += file.size;
    program->files[program->size++] = file;
    return 0;
}

static int load_all(link_program *program, const char *dir)
{
    DIR *stream = opendir(dir);
    struct dirent *entry;

    if (!stream)
        return 1;
    while ((entry = readdir(stream)) != NULL)
        if (entry->d_name[0] != '.' && load(program, dir, entry->d_name))
            return 1;
    (void)closedir(stream);
    qsort(program->files, program->size, sizeof(*program->files), by_name);
    return program->size == 0;
}

static int link_in(cuvet_ctx *ctx, link_program *program)
{
    const cuvet_linker_options lo = { .size = sizeof(lo),
                                      .target = program->target,
                                      .executor = program->lanes ? &BENCH_LANES : NULL };
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_linker linker = { 0 };
    cuvet_status status = cuvet_linker_create(ctx, &lo, &linker);

    for (size_t i = 0; i < program->size && status == CUVET_OK; i++)
        status = cuvet_linker_add_borrowed(ctx, linker, program->files[i].bytes, program->files[i].size,
                                           program->files[i].name);
    if (status == CUVET_OK)
        status = cuvet_linker_complete(ctx, linker);
    if (status == CUVET_OK)
        status = cuvet_linker_get_result(ctx, linker, &result);
    program->out = result.n;
    if (status == CUVET_OK)
        status = cuvet_linker_destroy(ctx, &linker);
    if (status != CUVET_OK)
        fprintf(stderr, "link: %s\n", cuvet_status_name(status));
    return status != CUVET_OK;
}

static int link_ours(link_program *program, unsigned flags, uint64_t *peak)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .flags = flags };
    cuvet_ctx *ctx = NULL;
    int bad = cuvet_ctx_create(&co, &ctx) != CUVET_OK || link_in(ctx, program);

    if (peak)
        *peak = cuvet_ctx_peak(ctx);
    cuvet_ctx_destroy(ctx);
    return bad;
}

static int link_jit(const link_program *program, const jit_calls *jit)
{
    const char *options[] = { program->arch };
    void *link = NULL, *out;
    size_t count = 0;
    int bad = jit->create(&link, 1, options);

    for (size_t i = 0; i < program->size && !bad; i++)
        bad = jit->add(link, JIT_CUBIN, program->files[i].bytes, program->files[i].size,
                       program->files[i].name);
    bad = bad || jit->complete(link) || jit->size(link, &count);
    out = malloc(count ? count : 1);
    bad = bad || !out || jit->get(link, out);
    free(out);
    return bad || jit->destroy(&link);
}

/* A function by its name, whatever version the library gives it. */
static int symbol(void *lib, const char *name, void *to, size_t size)
{
    void *found = dlsym(lib, name);

    memcpy(to, &found, size);
    return found == NULL;
}

static int open_jit(const char *path, jit_calls *jit)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    return !lib || symbol(lib, "nvJitLinkCreate", &jit->create, sizeof(jit->create)) ||
           symbol(lib, "nvJitLinkAddData", &jit->add, sizeof(jit->add)) ||
           symbol(lib, "nvJitLinkComplete", &jit->complete, sizeof(jit->complete)) ||
           symbol(lib, "nvJitLinkGetLinkedCubinSize", &jit->size, sizeof(jit->size)) ||
           symbol(lib, "nvJitLinkGetLinkedCubin", &jit->get, sizeof(jit->get)) ||
           symbol(lib, "nvJitLinkDestroy", &jit->destroy, sizeof(jit->destroy));
}

static double least(const double *value, size_t count)
{
    double most = value[0];

    for (size_t i = 1; i < count; i++)
        most = value[i] < most ? value[i] : most;
    return most;
}

/* Median of links by what a context may do with memory: each has a context of its own, or all one that keeps
 * what they give back. The first is not counted. */
static int measure_memory(link_program *program, uint64_t keep, unsigned flags, size_t rounds, double *us)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .keep = keep, .flags = flags };
    static double took[MAX_ROUNDS];
    cuvet_ctx *ctx = NULL;
    int bad = cuvet_ctx_create(&co, &ctx) != CUVET_OK || link_in(ctx, program);

    for (size_t i = 0; i < rounds && !bad; i++) {
        double start = bench_cpu_us();

        bad = keep ? link_in(ctx, program) : link_ours(program, flags, NULL);
        took[i] = bench_cpu_us() - start;
    }
    cuvet_ctx_destroy(ctx);
    if (!bad)
        *us = bench_median(took, rounds);
    return bad;
}

/* One context that keeps memory, and by the clock: alone, and in lanes. */
static int measure_lanes(link_program *program, size_t rounds, double *alone, double *lanes)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .keep = KEPT };
    static double took[2][MAX_ROUNDS];
    cuvet_ctx *ctx = NULL;
    int bad = cuvet_ctx_create(&co, &ctx) != CUVET_OK || link_in(ctx, program);

    for (size_t i = 0; i < 2 * rounds && !bad; i++) {
        double start = bench_wall_us();

        program->lanes = i % 2 != 0;
        bad = link_in(ctx, program);
        took[i % 2][i / 2] = bench_wall_us() - start;
    }
    program->lanes = false;
    cuvet_ctx_destroy(ctx);
    if (!bad) {
        *alone = bench_median(took[0], rounds);
        *lanes = bench_median(took[1], rounds);
    }
    return bad;
}

static int measure(link_program *program, const jit_calls *face, const jit_calls *jit, size_t rounds)
{
    static double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], ratio[MAX_ROUNDS];
    double kept = 0, huge = 0, both = 0, alone = 0, lanes = 0;
    uint64_t peak = 0;

    /* The first of each warms its code. */
    if (link_ours(program, 0, &peak) || (face && link_jit(program, face)) || (jit && link_jit(program, jit)))
        return 1;
    for (size_t i = 0; i < rounds; i++) {
        double start = bench_cpu_us();

        if (face ? link_jit(program, face) : link_ours(program, 0, NULL))
            return 1;
        ours[i] = bench_cpu_us() - start;
        start = bench_cpu_us();
        if (jit && link_jit(program, jit))
            return 1;
        theirs[i] = bench_cpu_us() - start;
        ratio[i] = theirs[i] / (ours[i] > 0 ? ours[i] : 1);
    }
    if (!face && (measure_memory(program, 0, CUVET_CTX_HUGE_PAGES, rounds, &huge) ||
                  measure_memory(program, KEPT, 0, rounds, &kept) ||
                  measure_memory(program, KEPT, CUVET_CTX_HUGE_PAGES, rounds, &both) ||
                  measure_lanes(program, rounds, &alone, &lanes)))
        return 1;
    printf("objects %zu in %" PRIu64 " out %" PRIu64 " peak %" PRIu64 " ours_us %.1f best_us %.1f",
           program->size, program->in, program->out, peak, bench_median(ours, rounds), least(ours, rounds));
    if (jit)
        printf(" jit_us %.1f ratio %.2f", bench_median(theirs, rounds), bench_median(ratio, rounds));
    if (!face)
        printf(" huge_us %.1f kept_us %.1f both_us %.1f alone_us %.1f lanes_us %.1f", huge, kept, both, alone,
               lanes);
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    link_program program = { 0 };
    jit_calls jit, face;

    if (argc < 4 || argc > 6 || rounds < 1 || rounds > MAX_ROUNDS ||
        cuvet_target_parse(argv[2], &program.target) != CUVET_OK) {
        fprintf(stderr, "usage: link ROUNDS ARCH DIR [LIBRARY [FACE]]\n");
        return 2;
    }
    (void)snprintf(program.arch, sizeof(program.arch), "-arch=%s", argv[2]);
    if (load_all(&program, argv[3])) {
        fprintf(stderr, "link: cannot read %s\n", argv[3]);
        return 3;
    }
    if ((argc > 4 && open_jit(argv[4], &jit)) || (argc > 5 && open_jit(argv[5], &face))) {
        fprintf(stderr, "link: %s\n", dlerror());
        return 3;
    }
    return measure(&program, argc > 5 ? &face : NULL, argc > 4 ? &jit : NULL, rounds);
}
