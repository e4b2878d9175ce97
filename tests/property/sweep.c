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

static const char *wanted_suffix;

static int wanted(const struct dirent *e)
{
    size_t n = strlen(e->d_name), k = wanted_suffix ? strlen(wanted_suffix) : 0;

    if (e->d_name[0] == '.' || strstr(e->d_name, "MANIFEST") || strstr(e->d_name, "README"))
        return 0;
    return n >= k && (k == 0 || strcmp(e->d_name + n - k, wanted_suffix) == 0);
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

/* CV_SAMPLES=FROM-TO: only these of the sorted samples, so that a long sweep can be split over processes. */
static bool in_range(int i)
{
    const char *v = getenv("CV_SAMPLES");
    int from = 0, to = 0;

    return !v || (sscanf(v, "%d-%d", &from, &to) == 2 && i >= from && i <= to);
}

size_t sweep_load(const char *dir, const char *suffix, sample **out)
{
    const char *root = getenv("CV_SRC");
    struct dirent **names;
    char path[512];
    size_t kept = 0;
    int n;

    snprintf(path, sizeof(path), "%s/corpus/%s", root ? root : ".", dir);
    wanted_suffix = suffix;
    n = scandir(path, &names, wanted, alphasort);
    ck_assert_msg(n > 0, "no samples in %s", path);
    *out = calloc((size_t)n, sizeof(**out));
    ck_assert_ptr_nonnull(*out);
    for (int i = 0; i < n; i++) {
        if (in_range(i))
            load(&(*out)[kept++], path, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    ck_assert_msg(kept > 0, "CV_SAMPLES leaves nothing");
    return kept;
}

void sweep_free(sample *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(s[i].bytes);
    free(s);
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

    /* ck_assert writes a mark to a file each time: here only the failure is worth one. */
    if (d->file_off > k->length || (!d->inner && d->length > k->length - d->file_off))
        ck_abort_msg("a diagnostic of rule %u lies outside of the file", (unsigned)d->rule);
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
        if (!k->v)
            ck_abort_msg("out of memory");
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
    cuvet_source src;
    cuvet_item item;
    cuvet_ctx *ctx;
    cuvet_scan s;

    ck_assert_int_eq(cuvet_ctx_create(&opt, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_source_memory(bytes, n, &src), CUVET_OK);
    o.status = cuvet_scan_open(ctx, &src, &how, &s);
    if (o.status == CUVET_E_LIMIT) { /* not even the scan itself fits the memory limit */
        cuvet_ctx_destroy(ctx);
        o.sum.verdict = CUVET_V_LIMIT;
        return o;
    }
    ck_assert_int_eq(o.status, CUVET_OK);
    while ((o.status = cuvet_scan_next(ctx, s, &item)) == CUVET_OK) {
        mix(&k, item.header_off);
        mix(&k, item.size);
        mix(&k, (uint64_t)item.kind << 32 | item.arch);
        mix(&k, item.kernels);
    }
    ck_assert_int_eq(cuvet_scan_summary(ctx, s, &o.sum), CUVET_OK);
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
