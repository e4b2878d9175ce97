/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet: vets CUDA device code that nobody should trust. */
#include "cli.h"
#include "heap.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef int command_fn(int argc, char **argv);

static int find_command(const char *name)
{
    for (size_t i = 0; i < CLI_C_COUNT; i++) {
        if (strcmp(cli_command_get(i)->name, name) == 0)
            return (int)i;
    }
    return -1;
}

static int unknown_command(const char *name)
{
    cli_suggestion suggestion = { .given = name };

    cli_complain(name, "no such command; 'cuvet help' lists them");
    for (size_t i = 0; i < CLI_C_COUNT; i++)
        cli_suggest_word(&suggestion, cli_command_get(i)->name, strlen(cli_command_get(i)->name));
    cli_suggest_end(&suggestion, "");
    return CLI_X_USAGE;
}

static int cmd_help(int argc, char **argv)
{
    cli_args args;
    int rc, command;

    if (!cli_parse(CLI_C_HELP, argc, argv, &args, &rc))
        return rc;
    if (args.n_operands == 0) {
        cli_help(stdout);
        return CLI_X_CLEAN;
    }
    command = find_command(args.operands[0]);
    if (command < 0 || args.n_operands > 1)
        return unknown_command(args.operands[command < 0 ? 0 : 1]);
    if (command == CLI_C_LINK)
        cmd_link_help(stdout);
    else
        cli_help_command(stdout, (cli_command)command);
    return CLI_X_CLEAN;
}

static command_fn *const RUN[] = {
    [CLI_C_SCAN] = cmd_scan,         [CLI_C_LIST] = cmd_list,     [CLI_C_UNPACK] = cmd_unpack,
    [CLI_C_CHECK] = cmd_check,       [CLI_C_DUMP] = cmd_dump,     [CLI_C_MAP] = cmd_map,
    [CLI_C_RULES] = cmd_rules,       [CLI_C_SELECT] = cmd_select, [CLI_C_LINK] = cmd_link,
    [CLI_C_FINALIZE] = cmd_finalize, [CLI_C_SERVE] = cmd_serve,   [CLI_C_TOOLKIT] = cmd_toolkit,
    [CLI_C_DIFF] = cmd_diff,         [CLI_C_HELP] = cmd_help,     [CLI_C_INVENTORY] = cmd_inventory,
    [CLI_C_KNOWN] = cmd_known,       [CLI_C_REPORT] = cmd_report,
};

static int run_command(int argc, char **argv)
{
    int command;

    if (argc < 2) {
        cli_help(stderr);
        return CLI_X_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_help(stdout);
        return CLI_X_CLEAN;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        cli_print_version();
        return CLI_X_CLEAN;
    }
    command = find_command(argv[1]);
    return command < 0 ? unknown_command(argv[1]) : RUN[command](argc - 1, argv + 1);
}

/* A closed standard descriptor would be given to the next file that is opened, and output would go there.
 * Opened for reading only, so that writing to a closed standard output is still an error. */
static bool hold_standard_descriptors(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return false;
    }
    return true;
}

/* The C library looks at the file behind a stream when it is used first: is it a terminal? The call that it
 * does that by takes names as well, and is refused in the cage; then it takes it for a file. So terminals are
 * told apart before. */
static void choose_buffer(void)
{
    static char buffer[1024];

    if (isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, buffer, _IOLBF, sizeof(buffer));
}

/* Under the name of another tool the command is that tool. */
static int run_named(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = argc == 0 ? "" : slash ? slash + 1 : argv[0];

    return strcmp(name, "nvlink") == 0 ? cmd_nvlink(argc, argv) : run_command(argc, argv);
}

int main(int argc, char **argv)
{
    if (!hold_standard_descriptors())
        return CLI_X_IO;
    /* A reader that went away ends us in our own time, without half a file left behind: see
     * cli_finish_stdout(). */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* nor is a file that grew beyond its limit */
    cli_heap_ready();
    choose_buffer();
    return cli_finish_stdout(run_named(argc, argv));
}
