/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 100

static int64_t now_ms(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 : 0;
}

void cli_progress_begin(cli_session *s)
{
    const char *term = getenv("TERM");

    if (s->n_inputs > 1)
        return; /* known */
    s->progress =
        !s->args->set[CLI_O_NO_PROGRESS] && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    if (s->progress && s->progress_at == 0)
        s->progress_at = now_ms();
}

void cli_progress_step(cli_session *s, uint64_t at)
{
    uint64_t all = s->in->source.length;
    int64_t now;

    if (!s->progress)
        return;
    now = now_ms();
    if (now - s->progress_at < STEP_MS)
        return;
    s->progress_at = now;
    s->progress_shown = true;
    fputs("\r\033[K", stderr);
    cli_put(stderr, s->in->name, strnlen(s->in->name, 60));
    fprintf(stderr, "  %" PRIu64 " %%  %" PRIu64 " members", all >= 100 && at < all ? at / (all / 100) : 0,
            s->members);
    fflush(stderr);
}

void cli_progress_clear(cli_session *s)
{
    if (!s->progress_shown)
        return;
    s->progress_shown = false;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
