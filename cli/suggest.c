/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* "Did you mean": the known word that is nearest to one that is not known. */
#include "cli.h"

#include <string.h>

#define WORD_CAP 48 /* longer words are compared to this length only */

static char lower_char(char ch)
{
    return (char)(ch >= 'A' && ch <= 'Z' ? ch | 0x20 : ch == '_' ? '-' : ch);
}

static unsigned least_of(unsigned left, unsigned right)
{
    return left < right ? left : right;
}

/* Letters to insert, leave out, replace, or exchange with their neighbour until a is b. */
static unsigned distance(const char *left, size_t len, const char *right, size_t other_len)
{
    unsigned row[3][WORD_CAP + 1];

    for (size_t j = 0; j <= other_len; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= len; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= other_len; j++) {
            bool same = lower_char(left[i - 1]) == lower_char(right[j - 1]);

            now[j] = least_of(least_of(last[j], now[j - 1]) + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && lower_char(left[i - 1]) == lower_char(right[j - 2]) &&
                lower_char(left[i - 2]) == lower_char(right[j - 1]))
                now[j] = least_of(now[j], before[j - 2] + 1);
        }
    }
    return row[len % 3][other_len];
}

void cli_suggest_word(cli_suggestion *suggestion, const char *word, size_t word_len)
{
    size_t len = strlen(suggestion->given);
    unsigned steps;

    if (len == 0 || word_len == 0 || len > WORD_CAP || word_len > WORD_CAP ||
        word_len >= sizeof(suggestion->best))
        return;
    steps = distance(suggestion->given, len, word, word_len);
    /* A beginning is what somebody typed who stopped early. */
    if (len >= 3 && word_len > len && distance(suggestion->given, len, word, len) == 0)
        steps = 1;
    if (steps > 1 + (len > word_len ? len : word_len) / 4 || steps >= (len > word_len ? len : word_len) ||
        (*suggestion->best && steps >= suggestion->distance))
        return;
    suggestion->distance = steps;
    memcpy(suggestion->best, word, word_len);
    suggestion->best[word_len] = '\0';
}

void cli_suggest_choices(cli_suggestion *suggestion, const char *choices)
{
    for (size_t len; *choices; choices += len + (choices[len] == '|')) {
        len = strcspn(choices, "|");
        cli_suggest_word(suggestion, choices, len);
    }
}

void cli_suggest_target(cli_suggestion *suggestion)
{
    cuvet_target target;

    for (size_t i = 0; cuvet_target_get(i, &target) == CUVET_OK; i++) {
        char name[32];
        int len = snprintf(name, sizeof(name), "sm_%u%.1s", (unsigned)target.sm,
                           target.suffix ? &target.suffix : "");

        cli_suggest_word(suggestion, name, len > 0 ? (size_t)len : 0);
    }
}

void cli_suggest_end(const cli_suggestion *suggestion, const char *before)
{
    if (*suggestion->best)
        fprintf(stderr, "Did you mean '%s%s'?\n", before, suggestion->best);
}

int cli_no_target(const char *given)
{
    cli_suggestion suggestion = { .given = given };

    cli_complain(given, "no such target; sm_75 to sm_121, with a or f where there is one");
    cli_suggest_target(&suggestion);
    cli_suggest_end(&suggestion, "");
    return CLI_X_USAGE;
}
