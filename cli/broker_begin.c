/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The broker of a command: for a program that the user named, with complaints for people. */
#include "broker.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX (UINT64_C(1) << 16) /* bytes of what a program says */

enum { LINE_CAP = 512 };

static cuvet_status start_external(cli_broker *b, const char *path, const cuvet_limits *l)
{
    const char *tmp = getenv("TMPDIR");
    const char *where =
        tmp && *tmp == '/' ? tmp : NULL; /* a relative one would be another place for the child */
    const cuvet_external ext = { .size = sizeof(ext), .path = path, .directory = where };
    const cli_broker_rules rules = { .input = l->member,
                                     .options = l->options,
                                     .option_bytes = l->option_bytes,
                                     .output = l->member,
                                     .log = LOG_MAX };
    cuvet_compiler real = { .size = sizeof(real) };
    cuvet_status st = cuvet_compiler_external(&ext, NULL, &real);

    if (st == CUVET_OK) {
        st = cli_broker_start(b, &real, &rules);
        cuvet_compiler_destroy(&real);
    }
    return st;
}

int cli_broker_begin(cli_broker *b, const char *what, const char *path, const cuvet_limits *l, int *fd)
{
    cuvet_status s = CUVET_OK;

    *b = (cli_broker){ .fd = -1 };
    if (path)
        s = start_external(b, path, l);
    *fd = b->fd;
    if (s == CUVET_E_USAGE)
        cli_complain(path, "a %s is named by its absolute path", what);
    else if (s != CUVET_OK)
        cli_complain(path, "%s", cli_status_text(s));
    return s == CUVET_E_USAGE ? CLI_X_USAGE : s == CUVET_E_NOMEM ? CLI_X_LIMIT : cli_exit_of(s);
}

void cli_broker_log(const char *file, const char *text)
{
    char line[LINE_CAP];

    for (size_t n; *text; text += n + (text[n] != 0)) {
        n = strcspn(text, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line) - 1), text);
        fputs("cuvet: code generator: ", stderr);
        if (file) {
            cli_put_str(stderr, file);
            fputs(": ", stderr);
        }
        cli_put_str(stderr, line);
        fputc('\n', stderr);
    }
}
