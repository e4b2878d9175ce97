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
    const char *value = getenv("CV_FULL");

    return value && *value;
}

size_t sweep_step(void)
{
    const char *value = getenv("CV_STEP");
    unsigned step = 1;
    char rest;

    ck_assert_msg(!value || (sscanf(value, "%u%c", &step, &rest) == 1 && step != 0),
                  "CV_STEP=%s is no number", value);
    return step;
}

static int wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !strstr(entry->d_name, "MANIFEST") && !strstr(entry->d_name, "README");
}

static void load(sweep_piece *sample, const char *dir, const char *name)
{
    char path[1024];
    struct stat st;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    snprintf(sample->name, sizeof(sample->name), "%.120s", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL && stat(path, &st) == 0, "cannot read %s", path);
    sample->size = (size_t)st.st_size;
    sample->bytes = malloc(sample->size + 1);
    ck_assert_ptr_nonnull(sample->bytes);
    ck_assert_uint_eq(fread(sample->bytes, 1, sample->size, file), sample->size);
    fclose(file);
}

bool sweep_is_part(void)
{
    return getenv("CV_PART") != NULL;
}

/* Neighbours in the list are much alike: taking every Nth gives parts that take about the same time. */
static bool in_part(size_t index)
{
    const char *value = getenv("CV_PART");
    unsigned at = 0, count = 1;
    char rest;

    ck_assert_msg(!value || (sscanf(value, "%u/%u%c", &at, &count, &rest) == 2 && at < count),
                  "CV_PART=%s is not K/N", value);
    return index % count == at;
}

sweep_state sweep_load(const char *dir)
{
    const char *root = getenv("CV_SRC");
    struct dirent **names;
    sweep_state sweep = { 0 };
    char path[512];
    int count;

    snprintf(path, sizeof(path), "%s/corpus/%s", root ? root : ".", dir);
    count = scandir(path, &names, wanted, alphasort);
    ck_assert_msg(count > 0, "no samples in %s", path);
    sweep.of = (size_t)count;
    sweep.samples = calloc(sweep.of, sizeof(*sweep.samples));
    ck_assert_ptr_nonnull(sweep.samples);
    for (size_t i = 0; i < sweep.of; i++) {
        if (in_part(i))
            load(&sweep.samples[sweep.count++], path, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    ck_assert_msg(sweep.count > 0, "CV_PART leaves no sample");
    return sweep;
}

size_t sweep_bytes(const sweep_state *sweep)
{
    size_t sum = 0;

    for (size_t i = 0; i < sweep->count; i++)
        sum += sweep->samples[i].size;
    return sum;
}

void sweep_end(sweep_state *sweep, const char *what, size_t looked_at, size_t cases)
{
    printf("swept %s: %zu of %zu samples, %zu cases\n", what, looked_at, sweep->of, cases);
    fflush(stdout); /* a forked test does not run the handlers at exit */
    for (size_t i = 0; i < sweep->count; i++)
        free(sweep->samples[i].bytes);
    free(sweep->samples);
}

typedef struct sweep_claim {
    uint64_t off, len;
} sweep_claim;

typedef struct sweep_notes {
    uint64_t hash, length;
    sweep_claim *items;
    size_t count, cap;
} sweep_notes;

static void mix(sweep_notes *notes, uint64_t value)
{
    notes->hash = (notes->hash ^ value ^ notes->hash >> 31) * UINT64_C(0x9E3779B97F4A7C15);
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    sweep_notes *notes = user;

    SWEEP_CHECK(diag->file_off <= notes->length &&
                    ((diag->flags & CUVET_DIAG_INNER) != 0 || diag->length <= notes->length - diag->file_off),
                "a diagnostic of %s at %llu lies outside of the file", cuvet_rule_get(diag->rule)->id,
                (unsigned long long)diag->file_off);
    mix(notes, diag->rule);
    mix(notes, diag->file_off);
    mix(notes, diag->inner_off);
    mix(notes, diag->got);
    mix(notes, diag->want);
}

static void on_claim(void *user, const cuvet_claim_info *claim)
{
    sweep_notes *notes = user;

    if ((claim->flags & CUVET_CLAIM_INNER) != 0 || (claim->flags & CUVET_CLAIM_SHARED) != 0)
        return;
    if (notes->count == notes->cap) {
        notes->cap = notes->cap ? 2 * notes->cap : 64;
        notes->items = realloc(notes->items, notes->cap * sizeof(*notes->items));
        SWEEP_CHECK(notes->items, "out of memory");
    }
    notes->items[notes->count++] = (sweep_claim){ claim->off, claim->length };
}

static int by_off(const void *left, const void *right)
{
    const sweep_claim *claim = left, *other_claim = right;

    return claim->off < other_claim->off ? -1 : claim->off > other_claim->off;
}

static bool covered(sweep_notes *notes)
{
    uint64_t at = 0;

    if (notes->count)
        qsort(notes->items, notes->count, sizeof(*notes->items), by_off);
    for (size_t i = 0; i < notes->count; i++) {
        if (notes->items[i].off != at)
            return false;
        at += notes->items[i].len;
    }
    return at == notes->length;
}

sweep_outcome sweep_scan(const uint8_t *bytes, size_t size, const cuvet_limits *lim, bool claims)
{
    sweep_notes notes = { .length = size };
    cuvet_ctx_options opt = { .size = sizeof(opt), .limits = lim, .diag = on_diag, .diag_user = &notes };
    cuvet_scan_options how = { .size = sizeof(how),
                               .depth = CUVET_DEPTH_FULL,
                               .jobs = 1,
                               .claim = claims ? on_claim : NULL,
                               .claim_user = &notes };
    sweep_outcome outcome = { 0 };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_item item = { .size = sizeof(item) };
    cuvet_ctx *ctx;
    cuvet_scan scan;

    SWEEP_CHECK(cuvet_ctx_create(&opt, &ctx) == CUVET_OK, "no context");
    SWEEP_CHECK(cuvet_source_memory(bytes, size, &src) == CUVET_OK, "no source");
    outcome.status = cuvet_scan_create(ctx, &src, &how, &scan);
    if (outcome.status == CUVET_E_LIMIT) { /* not even the scan itself fits the memory limit */
        cuvet_ctx_destroy(ctx);
        outcome.sum.verdict = CUVET_V_LIMIT;
        return outcome;
    }
    SWEEP_CHECK(outcome.status == CUVET_OK, "no scan: status %d", outcome.status);
    while ((outcome.status = cuvet_scan_next(ctx, scan, &item)) == CUVET_OK) {
        mix(&notes, item.header_off);
        mix(&notes, item.unpacked_size);
        mix(&notes, (uint64_t)item.kind << 32 | item.arch);
        mix(&notes, item.kernels);
    }
    outcome.sum.size = sizeof(outcome.sum);
    SWEEP_CHECK(cuvet_scan_summary(ctx, scan, &outcome.sum) == CUVET_OK, "no summary");
    cuvet_ctx_destroy(ctx);
    mix(&notes, outcome.sum.verdict);
    outcome.hash = notes.hash;
    outcome.covered = !claims || covered(&notes);
    free(notes.items);
    return outcome;
}

bool sweep_accepted(const sweep_outcome *outcome)
{
    return outcome->status == CUVET_END && outcome->sum.verdict == CUVET_V_CLEAN &&
           outcome->sum.members + outcome->sum.images > 0;
}
