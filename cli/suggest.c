/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* "Did you mean": the known word that is nearest to one that is not known. */
#include "cli.h"

#include <string.h>

#define WORD_CAP 48 /* longer words are compared to this length only */

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c == '_' ? '-' : c);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Letters to insert, leave out, replace, or exchange with their neighbour until a is b. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned row[3][WORD_CAP + 1];

    for (size_t j = 0; j <= m; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);

            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

void cli_suggest_word(cli_suggestion *s, const char *word, size_t m)
{
    size_t n = strlen(s->given);
    unsigned d;

    if (n == 0 || m == 0 || n > WORD_CAP || m > WORD_CAP || m >= sizeof(s->best))
        return;
    d = distance(s->given, n, word, m);
    /* A beginning is what somebody typed who stopped early. */
    if (n >= 3 && m > n && distance(s->given, n, word, n) == 0)
        d = 1;
    if (d > 1 + (n > m ? n : m) / 4 || d >= (n > m ? n : m) || (*s->best && d >= s->distance))
        return;
    s->distance = d;
    memcpy(s->best, word, m);
    s->best[m] = '\0';
}

void cli_suggest_choices(cli_suggestion *s, const char *choices)
{
    for (size_t n; *choices; choices += n + (choices[n] == '|')) {
        n = strcspn(choices, "|");
        cli_suggest_word(s, choices, n);
    }
}

void cli_suggest_target(cli_suggestion *s)
{
    cuvet_target t;

    for (size_t i = 0; cuvet_target_get(i, &t) == CUVET_OK; i++) {
        char name[32];
        int n = snprintf(name, sizeof(name), "sm_%u%.1s", (unsigned)t.sm, t.suffix ? &t.suffix : "");

        cli_suggest_word(s, name, n > 0 ? (size_t)n : 0);
    }
}

void cli_suggest_end(const cli_suggestion *s, const char *before)
{
    if (*s->best)
        fprintf(stderr, "Did you mean '%s%s'?\n", before, s->best);
}

int cli_no_target(const char *given)
{
    cli_suggestion s = { .given = given };

    cli_complain(given, "no such target; sm_75 to sm_121, with a or f where there is one");
    cli_suggest_target(&s);
    cli_suggest_end(&s, "");
    return CLI_X_USAGE;
}
