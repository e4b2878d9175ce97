/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sweep.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool sweep_full(void)
{
    const char *v = getenv("CV_FULL");

    return v && *v;
}

static int wanted(const struct dirent *e)
{
    return e->d_name[0] != '.' && !strstr(e->d_name, "MANIFEST") && !strstr(e->d_name, "README");
}

static void load(sample *s, const char *dir, const char *name)
{
    char path[1024];
    struct stat st;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    snprintf(s->name, sizeof(s->name), "%.120s", name);
    f = fopen(path, "rb");
    ck_assert_msg(f != NULL && stat(path, &st) == 0, "cannot read %s", path);
    s->n = (size_t)st.st_size;
    s->bytes = malloc(s->n + 1);
    ck_assert_ptr_nonnull(s->bytes);
    ck_assert_uint_eq(fread(s->bytes, 1, s->n, f), s->n);
    fclose(f);
}

bool sweep_is_part(void)
{
    return getenv("CV_PART") != NULL;
}

/* Neighbours in the list are much alike: taking every Nth gives parts that take about the same time. */
static bool in_part(size_t i)
{
    const char *v = getenv("CV_PART");
    unsigned k = 0, n = 1;
    char rest;

    ck_assert_msg(!v || (sscanf(v, "%u/%u%c", &k, &n, &rest) == 2 && k < n), "CV_PART=%s is not K/N", v);
    return i % n == k;
}

sweep sweep_load(const char *dir)
{
    const char *root = getenv("CV_SRC");
    struct dirent **names;
    sweep w = { 0 };
    char path[512];
    int n;

    snprintf(path, sizeof(path), "%s/corpus/%s", root ? root : ".", dir);
    n = scandir(path, &names, wanted, alphasort);
    ck_assert_msg(n > 0, "no samples in %s", path);
    w.of = (size_t)n;
    w.v = calloc(w.of, sizeof(*w.v));
    ck_assert_ptr_nonnull(w.v);
    for (size_t i = 0; i < w.of; i++) {
        if (in_part(i))
            load(&w.v[w.n++], path, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    ck_assert_msg(w.n > 0, "CV_PART leaves no sample");
    return w;
}

size_t sweep_bytes(const sweep *w)
{
    size_t sum = 0;

    for (size_t i = 0; i < w->n; i++)
        sum += w->v[i].n;
    return sum;
}

void sweep_end(sweep *w, const char *what, size_t looked_at, size_t cases)
{
    printf("swept %s: %zu of %zu samples, %zu cases\n", what, looked_at, w->of, cases);
    fflush(stdout); /* a forked test does not run the handlers at exit */
    for (size_t i = 0; i < w->n; i++)
        free(w->v[i].bytes);
    free(w->v);
}

typedef struct claim {
    uint64_t off, len;
} claim;

typedef struct notes {
    uint64_t hash, length;
    claim *v;
    size_t n, cap;
} notes;

static void mix(notes *k, uint64_t v)
{
    k->hash = (k->hash ^ v ^ k->hash >> 31) * UINT64_C(0x9E3779B97F4A7C15);
}

static void on_diag(void *user, const cuvet_diag *d)
{
    notes *k = user;

    SWEEP_CHECK(d->file_off <= k->length && (d->inner || d->length <= k->length - d->file_off),
                "a diagnostic of rule %u lies outside of the file", (unsigned)d->rule);
    mix(k, d->rule);
    mix(k, d->file_off);
    mix(k, d->inner_off);
    mix(k, d->got);
    mix(k, d->want);
}

static void on_claim(void *user, const cuvet_claim_info *c)
{
    notes *k = user;

    if (c->inner || c->shared)
        return;
    if (k->n == k->cap) {
        k->cap = k->cap ? 2 * k->cap : 64;
        k->v = realloc(k->v, k->cap * sizeof(*k->v));
        SWEEP_CHECK(k->v, "out of memory");
    }
    k->v[k->n++] = (claim){ c->off, c->length };
}

static int by_off(const void *a, const void *b)
{
    const claim *p = a, *q = b;

    return p->off < q->off ? -1 : p->off > q->off;
}

static bool covered(notes *k)
{
    uint64_t at = 0;

    if (k->n)
        qsort(k->v, k->n, sizeof(*k->v), by_off);
    for (size_t i = 0; i < k->n; i++) {
        if (k->v[i].off != at)
            return false;
        at += k->v[i].len;
    }
    return at == k->length;
}

outcome sweep_scan(const uint8_t *bytes, size_t n, const cuvet_limits *lim, bool claims)
{
    notes k = { .length = n };
    cuvet_ctx_options opt = { sizeof(opt), NULL, lim, on_diag, &k };
    cuvet_scan_options how = { .size = sizeof(how),
                               .depth = CUVET_DEPTH_FULL,
                               .jobs = 1,
                               .claim = claims ? on_claim : NULL,
                               .claim_user = &k };
    outcome o = { 0 };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_item item = { .size = sizeof(item) };
    cuvet_ctx *ctx;
    cuvet_scan s;

    SWEEP_CHECK(cuvet_ctx_create(&opt, &ctx) == CUVET_OK, "no context");
    SWEEP_CHECK(cuvet_source_memory(bytes, n, &src) == CUVET_OK, "no source");
    o.status = cuvet_scan_create(ctx, &src, &how, &s);
    if (o.status == CUVET_E_LIMIT) { /* not even the scan itself fits the memory limit */
        cuvet_ctx_destroy(ctx);
        o.sum.verdict = CUVET_V_LIMIT;
        return o;
    }
    SWEEP_CHECK(o.status == CUVET_OK, "no scan: status %d", o.status);
    while ((o.status = cuvet_scan_next(ctx, s, &item)) == CUVET_OK) {
        mix(&k, item.header_off);
        mix(&k, item.unpacked_size);
        mix(&k, (uint64_t)item.kind << 32 | item.arch);
        mix(&k, item.kernels);
    }
    o.sum.size = sizeof(o.sum);
    SWEEP_CHECK(cuvet_scan_summary(ctx, s, &o.sum) == CUVET_OK, "no summary");
    cuvet_ctx_destroy(ctx);
    mix(&k, o.sum.verdict);
    o.hash = k.hash;
    o.covered = !claims || covered(&k);
    free(k.v);
    return o;
}

bool sweep_accepted(const outcome *o)
{
    return o->status == CUVET_END && o->sum.verdict == CUVET_V_CLEAN && o->sum.members + o->sum.images > 0;
}
