/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The broker of a command: for a program that the user named, with complaints for people. */
#include "broker.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX (UINT64_C(1) << 16) /* bytes of what a program says */

enum { LINE_CAP = 512 };

static cuvet_status start_external(cli_broker *broker, const char *path, const cuvet_limits *limits)
{
    const char *tmp = getenv("TMPDIR");
    const char *where =
        tmp && *tmp == '/' ? tmp : NULL; /* a relative one would be another place for the child */
    const cuvet_external ext = { .size = sizeof(ext), .path = path, .directory = where };
    const cli_broker_rules rules = { .input = limits->member,
                                     .options = limits->options,
                                     .option_bytes = limits->option_bytes,
                                     .output = limits->member,
                                     .log = LOG_MAX };
    cuvet_compiler real = { .size = sizeof(real) };
    cuvet_status status = cuvet_compiler_external(&ext, NULL, &real);

    if (status == CUVET_OK) {
        status = cli_broker_start(broker, &real, &rules);
        cuvet_compiler_destroy(&real);
    }
    return status;
}

int cli_broker_begin(cli_broker *broker, const char *what, const char *path, const cuvet_limits *limits,
                     int *fd)
{
    cuvet_status status = CUVET_OK;

    *broker = (cli_broker){ .fd = -1 };
    if (path)
        status = start_external(broker, path, limits);
    *fd = broker->fd;
    if (status == CUVET_E_USAGE)
        cli_complain(path, "a %s is named by its absolute path", what);
    else if (status != CUVET_OK)
        cli_complain(path, "%s", cli_status_text(status));
    return status == CUVET_E_USAGE   ? CLI_X_USAGE
           : status == CUVET_E_NOMEM ? CLI_X_LIMIT
                                     : cli_exit_of(status);
}

void cli_broker_log(const char *file, const char *text)
{
    char line[LINE_CAP];

    for (size_t len; *text; text += len + (text[len] != 0)) {
        len = strcspn(text, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ? len : sizeof(line) - 1), text);
        fputs("cuvet: code generator: ", stderr);
        if (file) {
            cli_put_str(stderr, file);
            fputs(": ", stderr);
        }
        cli_put_str(stderr, line);
        fputc('\n', stderr);
    }
}
