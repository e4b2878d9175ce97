/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "printing.h"

/* Of a tiny piece: names that the demangler makes long, and a line for each. */
#define FLOOR (UINT64_C(128) << 10)
/* Units of work that a printed byte costs. */
#define BYTE_WORK 8

static uint64_t work_for(uint64_t size, uint64_t work, uint64_t least)
{
    uint64_t most = work > 0 && size > UINT64_MAX / work ? UINT64_MAX : size * work;

    return most > least ? most : least;
}

void cli_printing_begin(cli_printing *printing, const cli_session *session)
{
    const cuvet_limits *limits = &session->args->limits;

    *printing = (cli_printing){ .file_left = work_for(session->in->why ? 0 : session->in->source.length,
                                                      limits->work, limits->budget) };
    printing->left = printing->file_left;
}

void cli_printing_next(cli_printing *printing, const cli_session *session)
{
    uint64_t before = printing->file_left, more = work_for(session->in->why ? 0 : session->in->source.length,
                                                           session->args->limits.work, 0);

    *printing = (cli_printing){ .file_left = before > UINT64_MAX - more ? UINT64_MAX : before + more };
    printing->left = printing->file_left;
}

void cli_printing_piece(cli_printing *printing, const cli_session *session, uint64_t size)
{
    uint64_t own = work_for(size, session->args->limits.work, BYTE_WORK * FLOOR) / BYTE_WORK;

    printing->by_file = printing->file_left < own;
    printing->left = printing->by_file ? printing->file_left : own;
    printing->cut = false;
}

bool cli_printing_spend(cli_printing *printing, uint64_t count)
{
    if (printing->cut || count > printing->left || count > printing->file_left)
        printing->cut = true;
    if (printing->cut)
        return false;
    printing->left -= count;
    printing->file_left -= count;
    return true;
}

int cli_printing_end(cli_printing *printing, const cli_session *session, const cuvet_path *where,
                     const char *what)
{
    char path[CLI_PATH_CAP];

    if (!printing->cut)
        return CLI_X_CLEAN;
    printing->cut = false;
    cli_path(where, path, sizeof(path));
    cli_complain(session->in->name, "%s: the limit '%s' ended %s", *path ? path : "file",
                 printing->by_file ? "budget" : "work", what);
    return CLI_X_LIMIT;
}
