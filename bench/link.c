/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One link in this process, from bytes in memory to bytes in memory, warm; beside it the same by libnvJitLink
 * when a library is named, the two in turn. usage: link ROUNDS ARCH DIR [LIBRARY]; one line of words and
 * values: medians of processor time, and of the ratios of the rounds. */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuvet/cuvet.h>

#define MAX_ROUNDS 1000

typedef struct file {
    char *name;
    uint8_t *bytes;
    size_t n;
} file;

typedef struct program {
    file *f;
    size_t n, cap;
    uint64_t in, out; /* bytes */
    cuvet_target target;
    char arch[32]; /* "-arch=sm_90" */
} program;

/* libnvJitLink by its documented functions. */
typedef struct jit {
    int (*create)(void **link, uint32_t n, const char **options);
    int (*add)(void *link, int type, const void *bytes, size_t n, const char *name);
    int (*complete)(void *link);
    int (*size)(void *link, size_t *n);
    int (*get)(void *link, void *out);
    int (*destroy)(void **link);
} jit;

#define JIT_CUBIN 1

static int by_name(const void *a, const void *b)
{
    return strcmp(((const file *)a)->name, ((const file *)b)->name);
}

static int load(program *p, const char *dir, const char *name)
{
    char path[4096];
    file f = { .name = strdup(name) };
    FILE *in;
    long n = -1;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    in = fopen(path, "rb");
    if (in && fseek(in, 0, SEEK_END) == 0)
        n = ftell(in);
    if (!in || n <= 0 || fseek(in, 0, SEEK_SET) != 0)
        return 1;
    f.n = (size_t)n;
    f.bytes = malloc(f.n);
    if (!f.bytes || fread(f.bytes, 1, f.n, in) != f.n)
        return 1;
    (void)fclose(in);
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 64;
        p->f = realloc(p->f, p->cap * sizeof(*p->f));
        if (!p->f)
            return 1;
    }
    p->in += f.n;
    p->f[p->n++] = f;
    return 0;
}

static int load_all(program *p, const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    if (!d)
        return 1;
    while ((e = readdir(d)) != NULL)
        if (e->d_name[0] != '.' && load(p, dir, e->d_name))
            return 1;
    (void)closedir(d);
    qsort(p->f, p->n, sizeof(*p->f), by_name);
    return p->n == 0;
}

static int link_ours(program *p, uint64_t *peak)
{
    const cuvet_ctx_options co = { .size = sizeof(co) };
    const cuvet_linker_options lo = { .size = sizeof(lo), .target = p->target };
    cuvet_link_result r = { .size = sizeof(r) };
    cuvet_linker l = { 0 };
    cuvet_ctx *ctx = NULL;
    cuvet_status s = cuvet_ctx_create(&co, &ctx);

    if (s == CUVET_OK)
        s = cuvet_linker_create(ctx, &lo, &l);
    for (size_t i = 0; i < p->n && s == CUVET_OK; i++)
        s = cuvet_linker_add(ctx, l, p->f[i].bytes, p->f[i].n, p->f[i].name);
    if (s == CUVET_OK)
        s = cuvet_linker_complete(ctx, l);
    if (s == CUVET_OK)
        s = cuvet_linker_result(ctx, l, &r);
    p->out = r.n;
    if (s == CUVET_OK)
        s = cuvet_linker_destroy(ctx, &l);
    if (peak)
        *peak = cuvet_ctx_peak(ctx);
    cuvet_ctx_destroy(ctx);
    if (s != CUVET_OK)
        fprintf(stderr, "link: %s\n", cuvet_status_name(s));
    return s != CUVET_OK;
}

static int link_jit(const program *p, const jit *j)
{
    const char *options[] = { p->arch };
    void *link = NULL, *out;
    size_t n = 0;
    int bad = j->create(&link, 1, options);

    for (size_t i = 0; i < p->n && !bad; i++)
        bad = j->add(link, JIT_CUBIN, p->f[i].bytes, p->f[i].n, p->f[i].name);
    bad = bad || j->complete(link) || j->size(link, &n);
    out = malloc(n ? n : 1);
    bad = bad || !out || j->get(link, out);
    free(out);
    return bad || j->destroy(&link);
}

/* A function by its name, whatever version the library gives it. */
static int symbol(void *lib, const char *name, void *to, size_t size)
{
    void *f = dlsym(lib, name);

    memcpy(to, &f, size);
    return f == NULL;
}

static int open_jit(const char *path, jit *j)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    return !lib || symbol(lib, "nvJitLinkCreate", &j->create, sizeof(j->create)) ||
           symbol(lib, "nvJitLinkAddData", &j->add, sizeof(j->add)) ||
           symbol(lib, "nvJitLinkComplete", &j->complete, sizeof(j->complete)) ||
           symbol(lib, "nvJitLinkGetLinkedCubinSize", &j->size, sizeof(j->size)) ||
           symbol(lib, "nvJitLinkGetLinkedCubin", &j->get, sizeof(j->get)) ||
           symbol(lib, "nvJitLinkDestroy", &j->destroy, sizeof(j->destroy));
}

static double cpu_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double least(const double *v, size_t n)
{
    double m = v[0];

    for (size_t i = 1; i < n; i++)
        m = v[i] < m ? v[i] : m;
    return m;
}

static int measure(program *p, const jit *j, size_t rounds)
{
    static double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], ratio[MAX_ROUNDS];
    uint64_t peak = 0;

    if (link_ours(p, &peak) || (j && link_jit(p, j))) /* the first of each warms its code */
        return 1;
    for (size_t i = 0; i < rounds; i++) {
        double start = cpu_us();

        if (link_ours(p, NULL))
            return 1;
        ours[i] = cpu_us() - start;
        start = cpu_us();
        if (j && link_jit(p, j))
            return 1;
        theirs[i] = cpu_us() - start;
        ratio[i] = theirs[i] / (ours[i] > 0 ? ours[i] : 1);
    }
    printf("objects %zu in %" PRIu64 " out %" PRIu64 " peak %" PRIu64 " ours_us %.1f best_us %.1f", p->n,
           p->in, p->out, peak, median(ours, rounds), least(ours, rounds));
    if (j)
        printf(" jit_us %.1f ratio %.2f", median(theirs, rounds), median(ratio, rounds));
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    program p = { 0 };
    jit j;

    if (argc < 4 || argc > 5 || rounds < 1 || rounds > MAX_ROUNDS ||
        cuvet_target_parse(argv[2], &p.target) != CUVET_OK) {
        fprintf(stderr, "usage: link ROUNDS ARCH DIR [LIBRARY]\n");
        return 2;
    }
    (void)snprintf(p.arch, sizeof(p.arch), "-arch=%s", argv[2]);
    if (load_all(&p, argv[3])) {
        fprintf(stderr, "link: cannot read %s\n", argv[3]);
        return 3;
    }
    if (argc == 5 && open_jit(argv[4], &j)) {
        fprintf(stderr, "link: %s: %s\n", argv[4], dlerror());
        return 3;
    }
    return measure(&p, argc == 5 ? &j : NULL, rounds);
}
