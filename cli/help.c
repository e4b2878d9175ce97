/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --help, --version and --list-limits, out of the tables. */
#include "cli.h"
#include "sandbox.h"

#include <inttypes.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>

#define WIDTH 78

/* Words of text, filled to WIDTH columns; the first line begins at column `indent`, the others are
 * indented to it. */
static void put_filled(FILE *to, const char *text, size_t indent)
{
    size_t column = indent;

    for (bool first = true; *text; first = false) {
        size_t len = strcspn(text, " ");

        if (!first && column + 1 + len > WIDTH) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", (int)len, text);
        column += len;
        text += len + strspn(text + len, " ");
    }
    fputc('\n', to);
}

static void put_verdicts(FILE *to)
{
#define VERDICT(verdict, name, meaning)                                                                      \
    fprintf(to, "  %-11s  ", name);                                                                          \
    put_filled(to, meaning, 15);
#include "options.def"
}

void cli_help(FILE *to)
{
    fputs("usage: cuvet COMMAND [OPTION...] [FILE...]\n\nVets CUDA device code that nobody should "
          "trust.\n\ncommands:\n",
          to);
    for (size_t i = 0; i < CLI_C_COUNT; i++) {
        const cli_command_info *info = cli_command_get(i);

        fprintf(to, "  %-8s ", info->name);
        put_filled(to, info->brief, 11);
    }
    fputs("\nverdicts, of which a file gets the worst that applies:\n", to);
    put_verdicts(to);
    fputs("\n'cuvet COMMAND --help' shows the options of a command. Exit codes:\n", to);
#define EXIT(code, name, meaning) fprintf(to, "  %d  %s\n", code, meaning);
#include "options.def"
}

static void put_option(FILE *to, const cli_option_info *option)
{
    char head[80], letter[8] = "    ";

    if (option->letter)
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    snprintf(head, sizeof(head), "  %s--%s%s%s", letter, option->name, *option->arg ? "=" : "", option->arg);
    fprintf(to, "%-28s", head);
    if (strlen(head) >= 28)
        fprintf(to, "\n%28s", "");
    put_filled(to, option->help, 28);
}

void cli_help_command(FILE *to, cli_command command)
{
    const cli_command_info *info = cli_command_get(command);
    const cli_option_info *option;
    bool any = false;

    fprintf(to, "usage: cuvet %s [OPTION...] %s\n\n", info->name, info->operands);
    put_filled(to, info->text, 0);
    fputs("\noptions:\n", to);
    for (size_t i = 0; (option = cli_option_get(i)) != NULL; i++) {
        if (option->commands & (1u << command))
            put_option(to, option);
    }
    if (command == CLI_C_SCAN) {
        fputs("\nverdicts:\n", to);
        put_verdicts(to);
    }
#define EXAMPLE(cmd, line, what)                                                                             \
    if (CLI_C_##cmd == command) {                                                                            \
        fprintf(to, "%s  %s\n      %s\n", any ? "" : "\nexamples:\n", line, what);                           \
        any = true;                                                                                          \
    }
#include "options.def"
}

/* Not what a kernel claims to have, but what entering the cage leads to. */
void cli_print_version(void)
{
    char sandbox[320];

    cli_cage_probe(sandbox, sizeof(sandbox));
    printf("cuvet %s\nlz4 %s, zstd %s\nsandbox: %s\n", cuvet_version(), LZ4_versionString(),
           ZSTD_versionString(), sandbox);
}

void cli_print_limits(const cuvet_limits *limits)
{
    const cuvet_limit_info *info;
    uint64_t value;

    for (size_t i = 0; cuvet_limits_get(limits, i, &info, &value) == CUVET_OK; i++)
        printf("%-12s %20" PRIu64 "  %-10s  %s\n", info->name, value, info->unit, info->what);
}
