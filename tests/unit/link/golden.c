/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "golden.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { BLOCK = 512, SIZE_AT = 124 };

static char rows[1 << 16];
static uint8_t archive[8 << 20];
static size_t n_archive;

static size_t read_file(const char *path, void *to, size_t most)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    ck_assert_msg(f != NULL, "%s: run from the root of the repository", path);
    n = fread(to, 1, most, f);
    fclose(f);
    ck_assert(n > 0 && n < most);
    return n;
}

static void load(void)
{
    static uint8_t packed[1 << 20];
    size_t n;

    if (n_archive)
        return;
    rows[read_file("corpus/link/index.tsv", rows, sizeof(rows) - 1)] = 0;
    n = read_file("corpus/link/golden.tar.zst", packed, sizeof(packed));
    n_archive = ZSTD_decompress(archive, sizeof(archive), packed, n);
    ck_assert_msg(!ZSTD_isError(n_archive), "%s", ZSTD_getErrorName(n_archive));
}

static const uint8_t *member(const char *name, size_t *n)
{
    for (size_t at = 0; at + BLOCK <= n_archive && archive[at];) {
        const char *path = (const char *)archive + at, *base = strrchr(path, '/');
        size_t size = strtoul(path + SIZE_AT, NULL, 8);

        if (strcmp(base && base[1] ? base + 1 : path, name) == 0) {
            *n = size;
            return archive + at + BLOCK;
        }
        at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    }
    ck_abort_msg("no member %s", name);
}

const uint8_t *golden_input(const char *name, const char *target, unsigned i, size_t *n)
{
    char head[128], file[64];
    const char *row, *at;

    load();
    snprintf(head, sizeof(head), "\n%s\t%s\t", name, target);
    row = strstr(rows, head);
    ck_assert_msg(row != NULL, "no case %s for %s", name, target);
    at = strchr(row + strlen(head), '\t') + 1; /* behind the options */
    for (; i > 0; i--) {
        at += strcspn(at, " \t");
        if (*at++ != ' ')
            return NULL;
    }
    snprintf(file, sizeof(file), "%.*s", (int)strcspn(at, " \t"), at);
    return member(file, n);
}
