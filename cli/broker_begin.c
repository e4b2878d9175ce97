/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The broker of a command: for programs that the user named, with complaints for people. */
#include "broker.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX (UINT64_C(1) << 16) /* bytes of what a program says */

enum { LINE_CAP = 512 };

/* What the broker runs: who makes device ELFs again is another one than who compiles. */
typedef struct external_pair {
    cuvet_compiler compiler, generator;
    /* whose result has not been given back yet: one request at a time */
    void (*release)(cuvet_compile_result *result, void *user);
    void *user;
} external_pair;

static void release_by_kind(cuvet_compile_result *result, void *user)
{
    const external_pair *pair = user;

    pair->release(result, pair->user);
}

static cuvet_status compile_by_kind(void *user, const cuvet_compile_request *request,
                                    cuvet_compile_result *out)
{
    external_pair *pair = user;
    const cuvet_compiler *one = request->kind == CUVET_K_CUBIN ? &pair->generator : &pair->compiler;
    cuvet_status status;

    if (!one->compile) {
        *out = (cuvet_compile_result){ .size = sizeof(*out), .end = CUVET_COMPILE_UNSUPPORTED };
        return CUVET_OK;
    }
    status = one->compile(one->user, request, out);
    pair->release = out->release;
    pair->user = one->user;
    out->release = out->release ? release_by_kind : NULL;
    return status;
}

static cuvet_status make_external(const char *path, cuvet_compiler *out)
{
    const char *tmp = getenv("TMPDIR");
    const char *where =
        tmp && *tmp == '/' ? tmp : NULL; /* a relative one would be another place for the child */
    const cuvet_external ext = { .size = sizeof(ext), .path = path, .directory = where };

    *out = (cuvet_compiler){ .size = sizeof(*out) };
    return path ? cuvet_compiler_external(&ext, NULL, out) : CUVET_OK;
}

static cuvet_status complain_of(const char *what, const char *path, cuvet_status status)
{
    if (status == CUVET_E_USAGE)
        cli_complain(path, "a %s is named by its absolute path", what);
    else if (status != CUVET_OK)
        cli_complain(path, "%s", cli_status_text(status));
    return status;
}

static cuvet_status start_external(cli_broker *broker, const cli_broker_tools *tools,
                                   const cuvet_limits *limits)
{
    const cli_broker_rules rules = { .input = limits->member,
                                     .options = limits->options,
                                     .option_bytes = limits->option_bytes,
                                     .output = limits->member,
                                     .log = LOG_MAX,
                                     .option = tools->option,
                                     .n_option = tools->n_option };
    const char *first = tools->compiler ? tools->compiler : tools->generator;
    external_pair pair;
    const cuvet_compiler real = { .size = sizeof(real), .compile = compile_by_kind, .user = &pair };
    cuvet_status status =
        complain_of("compiler", tools->compiler, make_external(tools->compiler, &pair.compiler));

    if (status != CUVET_OK)
        return status;
    status =
        complain_of("code generator", tools->generator, make_external(tools->generator, &pair.generator));
    if (status == CUVET_OK && first)
        status = complain_of("program", first, cli_broker_start(broker, &real, &rules));
    cuvet_compiler_destroy(&pair.compiler);
    cuvet_compiler_destroy(&pair.generator);
    return status;
}

int cli_broker_begin(cli_broker *broker, const cli_broker_tools *tools, const cuvet_limits *limits, int *fd)
{
    cuvet_status status;

    *broker = (cli_broker){ .fd = -1 };
    status = start_external(broker, tools, limits);
    *fd = broker->fd;
    return status == CUVET_E_USAGE   ? CLI_X_USAGE
           : status == CUVET_E_NOMEM ? CLI_X_LIMIT
                                     : cli_exit_of(status);
}

void cli_broker_log(const char *what, const char *file, const char *text)
{
    char line[LINE_CAP];

    for (size_t len; *text; text += len + (text[len] != 0)) {
        len = strcspn(text, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ? len : sizeof(line) - 1), text);
        (void)fprintf(stderr, "cuvet: %s: ", what);
        if (file) {
            cli_put_str(stderr, file);
            fputs(": ", stderr);
        }
        cli_put_str(stderr, line);
        fputc('\n', stderr);
    }
}
