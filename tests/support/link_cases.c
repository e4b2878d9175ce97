/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/link_cases.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { MOST_CASES = 400, BLOCK = 512, SIZE_AT = 124 };

static char index_text[1 << 16];
static lc_case cases[MOST_CASES];
static unsigned n_cases;
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

static void read_row(char *line)
{
    lc_case *c = &cases[n_cases++];
    char *field[5] = { NULL }, *rest = line, *inputs;
    unsigned n = 0;

    ck_assert_uint_le(n_cases, MOST_CASES);
    while (n < 5 && (field[n] = strsep(&rest, "\t")) != NULL)
        n++;
    ck_assert_msg(n == 5 && rest == NULL, "a row of five columns: %s", line);
    *c = (lc_case){ .name = field[0], .target = field[1], .options = field[2], .output = field[4] };
    inputs = field[3];
    while (inputs) {
        ck_assert_uint_lt(c->n, LC_INPUTS);
        c->input[c->n++] = strsep(&inputs, " ");
    }
}

static void load(void)
{
    static uint8_t packed[1 << 20];
    char *rest = index_text, *line;
    size_t n;

    if (n_cases)
        return;
    index_text[read_file("corpus/link/index.tsv", index_text, sizeof(index_text) - 1)] = 0;
    strsep(&rest, "\n"); /* the titles */
    while ((line = strsep(&rest, "\n")) != NULL && *line)
        read_row(line);
    n = read_file("corpus/link/golden.tar.zst", packed, sizeof(packed));
    n_archive = ZSTD_decompress(archive, sizeof(archive), packed, n);
    ck_assert_msg(!ZSTD_isError(n_archive), "%s", ZSTD_getErrorName(n_archive));
}

int lc_rows(void)
{
    FILE *f = fopen("corpus/link/index.tsv", "rb");
    int rows = -1, c; /* the titles are none */

    while (f && (c = getc(f)) != EOF)
        rows += c == '\n';
    if (f)
        fclose(f);
    return rows;
}

unsigned lc_count(void)
{
    load();
    return n_cases;
}

const lc_case *lc_get(unsigned i)
{
    ck_assert_uint_lt(i, lc_count());
    return &cases[i];
}

const lc_case *lc_find(const char *name, const char *target)
{
    for (unsigned i = 0; i < lc_count(); i++)
        if (strcmp(cases[i].name, name) == 0 && strcmp(cases[i].target, target) == 0)
            return &cases[i];
    ck_abort_msg("no case %s for %s", name, target);
}

const uint8_t *lc_file(const char *name, size_t *n)
{
    load();
    for (size_t at = 0; at + BLOCK <= n_archive && archive[at];) {
        *n = strtoul((const char *)archive + at + SIZE_AT, NULL, 8);
        ck_assert_uint_le(*n, n_archive - at - BLOCK);
        if (strcmp((const char *)archive + at, name) == 0)
            return archive + at + BLOCK;
        at += BLOCK + (*n + BLOCK - 1) / BLOCK * BLOCK;
    }
    ck_abort_msg("no file %s in the archive", name);
}
