/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Validation alone: every uncompressed cubin of the given files, copied into memory first, then examined
 * again and again by the model's checks. Prints bytes per second and nanoseconds per section; the ledger is
 * kept, as in a scan. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cubin/cubin.h"
#include "timing.h"

#define FLAGS_COMPRESSED UINT64_C(0xf000)
#define KIND_ELF         2
#define MIN_SECONDS      0.5

typedef struct image {
    uint8_t *bytes;
    uint64_t size;
} image;

typedef struct images {
    image *at;
    size_t count, room;
    uint64_t bytes;
} images;

static uint64_t load(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, bytes, size);
    return value;
}

static int keep(images *all, const uint8_t *bytes, uint64_t size)
{
    if (all->count == all->room) {
        size_t room = all->room ? all->room * 2 : 64;
        image *grown = realloc(all->at, room * sizeof *grown);

        if (!grown)
            return -1;
        all->at = grown;
        all->room = room;
    }
    uint8_t *copy = malloc(size);
    if (!copy)
        return -1;
    memcpy(copy, bytes, size);
    all->at[all->count++] = (image){ copy, size };
    all->bytes += size;
    return 0;
}

/* Members of good files only; see bare.c. */
static int collect(images *all, const uint8_t *base, uint64_t size)
{
    static const uint8_t header[8] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0 };
    uint64_t at = 0;

    while (at + 16 <= size) {
        if (memcmp(base + at, header, sizeof header) != 0) {
            at += 8;
            continue;
        }
        uint64_t end = at + 16 + load(base + at + 8, 8);
        for (at += 16; at + 64 <= end && end <= size;) {
            uint64_t head = load(base + at + 4, 4), stored = load(base + at + 8, 8);

            if (head > end - at || stored > end - at - head)
                return -1;
            if (load(base + at, 2) == KIND_ELF && !(load(base + at + 0x28, 8) & FLAGS_COMPRESSED) &&
                keep(all, base + at + head, stored))
                return -1;
            at += head + stored;
        }
    }
    return 0;
}

static int examine_all(cv_ctx *ctx, cv_cubin *cubin, const images *all, uint64_t *sections)
{
    cv_ledger ledger = { 0 };

    for (size_t i = 0; i < all->count; i++) {
        uint64_t extent;

        cv_ctx_unit(ctx, all->at[i].size);
        ledger.claims.count = 0;
        if (cv_cubin_examine(ctx, cubin, cv_span_of(all->at[i].bytes, all->at[i].size, 0), &ledger,
                             &extent) != CUVET_OK) {
            fprintf(stderr, "validate: cubin %zu was rejected\n", i);
            return 1;
        }
        *sections += cubin->sec.count;
    }
    cv_ledger_free(ctx, &ledger);
    return 0;
}

int main(int argc, char **argv)
{
    static cv_ctx ctx;
    static cv_cubin cubin;
    images all = { 0 };
    cuvet_limits lim = { .size = sizeof(lim) };
    uint64_t sections = 0, rounds = 0;

    for (int i = 1; i < argc; i++) {
        struct stat st;
        int fd = open(argv[i], O_RDONLY);
        void *most;

        if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0)
            return 3;
        most = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (most == MAP_FAILED || collect(&all, most, (uint64_t)st.st_size) != 0)
            return 3;
        munmap(most, (size_t)st.st_size);
        close(fd);
    }
    if (cuvet_limits_preset("strict", &lim) != CUVET_OK)
        return 5;
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    cv_cubin_init(&cubin);
    double start = (double)bench_cpu_ns() * 1e-9, spent = 0;
    while (all.count && spent < MIN_SECONDS) {
        if (examine_all(&ctx, &cubin, &all, &sections) != 0)
            return 1;
        rounds++;
        spent = (double)bench_cpu_ns() * 1e-9 - start;
    }
    printf("cubins %zu bytes %" PRIu64 " sections %" PRIu64 " rounds %" PRIu64
           " gb_per_s %.3f ns_per_section %.1f\n",
           all.count, all.bytes, rounds ? sections / rounds : 0, rounds,
           spent > 0 ? (double)(all.bytes * rounds) / spent / 1e9 : 0.0,
           sections ? spent * 1e9 / (double)sections : 0.0);
    cv_cubin_free(&ctx, &cubin);
    return 0;
}
