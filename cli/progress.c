/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "session.h"
#include "whole.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_MS 100

void cli_progress_begin(cli_session *session)
{
    const char *term = getenv("TERM");

    if (session->n_inputs > 1)
        return; /* known */
    session->progress.on =
        !session->args->set[CLI_O_NO_PROGRESS] && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    if (session->progress.on && session->progress.at == 0)
        session->progress.at = cli_now_ms();
}

void cli_progress_step(cli_session *session, uint64_t at)
{
    uint64_t all = session->in->source.length;
    int64_t now;

    if (!session->progress.on)
        return;
    now = cli_now_ms();
    if (now - session->progress.at < STEP_MS)
        return;
    session->progress.at = now;
    session->progress.shown = true;
    fputs("\r\033[K", stderr);
    cli_put(stderr, session->in->name, strnlen(session->in->name, 60));
    fprintf(stderr, "  %" PRIu64 " %%  %" PRIu64 " members", all >= 100 && at < all ? at / (all / 100) : 0,
            session->members);
    fflush(stderr);
}

void cli_progress_clear(cli_session *session)
{
    if (!session->progress.shown)
        return;
    session->progress.shown = false;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
