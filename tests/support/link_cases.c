/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/link_cases.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { MOST_CASES = 800, BLOCK = 512, SIZE_AT = 124 };

static char index_text[1 << 16];
static lc_case cases[MOST_CASES];
static unsigned n_cases;
static uint8_t archive[16 << 20];
static size_t n_archive;

/* Not ck_assert, which is for tests only, and writes where it holds, too. */
static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s (tests run from the root of the repository)\n", what);
    abort();
}

static size_t read_file(const char *path, void *to, size_t most)
{
    FILE *file = fopen(path, "rb");
    size_t got;

    need(file != NULL, path);
    got = fread(to, 1, most, file);
    fclose(file);
    need(got > 0 && got < most, path);
    return got;
}

static void read_row(char *line)
{
    lc_case *lcase = &cases[n_cases++];
    char *field[5] = { NULL }, *rest = line, *inputs;
    unsigned count = 0;

    need(n_cases <= MOST_CASES, "room for all rows");
    while (count < 5 && (field[count] = strsep(&rest, "\t")) != NULL)
        count++;
    need(count == 5 && rest == NULL, "a row of five columns");
    *lcase = (lc_case){ .name = field[0], .target = field[1], .options = field[2], .output = field[4] };
    inputs = field[3];
    while (inputs) {
        need(lcase->count < LC_INPUTS, "room for all inputs");
        lcase->input[lcase->count++] = strsep(&inputs, " ");
    }
}

static void load(void)
{
    static uint8_t packed[1 << 20];
    char *rest = index_text, *line;
    size_t count;

    if (n_cases)
        return;
    index_text[read_file("corpus/link/index.tsv", index_text, sizeof(index_text) - 1)] = 0;
    strsep(&rest, "\n"); /* the titles */
    while ((line = strsep(&rest, "\n")) != NULL && *line)
        read_row(line);
    count = read_file("corpus/link/golden.tar.zst", packed, sizeof(packed));
    n_archive = ZSTD_decompress(archive, sizeof(archive), packed, count);
    need(!ZSTD_isError(n_archive), ZSTD_getErrorName(n_archive));
}

/* Asked for before the first test forks: what is unpacked here is not unpacked in each of them. */
int lc_rows(void)
{
    FILE *file = fopen("corpus/link/index.tsv", "rb");
    int rows = -1, ch; /* the titles are none */

    while (file && (ch = getc(file)) != EOF)
        rows += ch == '\n';
    if (file) {
        fclose(file);
        load();
    }
    return rows;
}

unsigned lc_count(void)
{
    load();
    return n_cases;
}

const lc_case *lc_get(unsigned index)
{
    ck_assert_uint_lt(index, lc_count());
    return &cases[index];
}

const lc_case *lc_find(const char *name, const char *target)
{
    for (unsigned i = 0; i < lc_count(); i++)
        if (strcmp(cases[i].name, name) == 0 && strcmp(cases[i].target, target) == 0)
            return &cases[i];
    ck_abort_msg("no case %s for %s", name, target);
}

const uint8_t *lc_file(const char *name, size_t *len)
{
    load();
    for (size_t at = 0; at + BLOCK <= n_archive && archive[at];) {
        *len = strtoul((const char *)archive + at + SIZE_AT, NULL, 8);
        if (*len > n_archive - at - BLOCK)
            ck_abort_msg("the archive ends in %s", name);
        if (strcmp((const char *)archive + at, name) == 0)
            return archive + at + BLOCK;
        at += BLOCK + (*len + BLOCK - 1) / BLOCK * BLOCK;
    }
    ck_abort_msg("no file %s in the archive", name);
}
