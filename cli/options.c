/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Command line parser, driven by options.def. */
#include "cli.h"

#include <getopt.h>
#include <string.h>

#define IN(id) (1u << CLI_C_##id)
#define IN_INPUT                                                                                             \
    (IN(SCAN) | IN(LIST) | IN(CHECK) | IN(DIFF) | IN(INVENTORY) | IN(KNOWN) | IN(REPORT) | IN(UNPACK) |      \
     IN(MAP) | IN(SELECT) | IN(FINALIZE))
#define IN_ANY       ((1u << CLI_C_COUNT) - 1)
#define ROWS(table)  (sizeof(table) / sizeof((table)[0]))
#define MAX_SETTINGS 64
#define LONG_BASE                                                                                            \
    256 /* getopt_long returns LONG_BASE + row for every option, so that letters cannot collide */

static const cli_command_info COMMANDS[] = {
#define COMMAND(id, name, operands, brief, text) [CLI_C_##id] = { name, operands, brief, text },
#include "options.def"
};

static const cli_option_info OPTIONS[] = {
#define OPTION(commands, id, letter, name, arg, help) { commands, CLI_O_##id, letter, name, arg, help },
#define ALSO(commands, id, letter, name, arg, help)   { commands, CLI_O_##id, letter, name, arg, help },
#include "options.def"
};

const cli_command_info *cli_command_get(size_t index)
{
    return index < ROWS(COMMANDS) ? &COMMANDS[index] : NULL;
}

const cli_option_info *cli_option_get(size_t index)
{
    return index < ROWS(OPTIONS) ? &OPTIONS[index] : NULL;
}

bool cli_takes(cli_command command, cli_option option)
{
    for (size_t i = 0; i < ROWS(OPTIONS); i++)
        if (OPTIONS[i].id == option && (OPTIONS[i].commands & (1u << command)) != 0)
            return true;
    return false;
}

bool cli_each_word(const char *list, cli_word_fn *each, void *user)
{
    for (const char *at = list;;) {
        size_t len = strcspn(at, ",");
        char word[64];

        snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word)), at);
        if (!each(user, word))
            return false;
        if (at[len] == '\0')
            return true;
        at += len + 1;
    }
}

/* Is value one of the choices "a|b|c"? An argument without '|' in its description is free text. */
static bool choice_ok(const char *choices, const char *value)
{
    size_t len = strlen(value);

    if (!strchr(choices, '|'))
        return true;
    for (const char *at = choices;; at++) {
        if (strncmp(at, value, len) == 0 && (at[len] == '|' || at[len] == '\0'))
            return true;
        at = strchr(at, '|');
        if (!at)
            return false;
    }
}

static bool unknown_limit(const cuvet_limits *limits, const char *name)
{
    cli_suggestion suggestion = { .given = name };
    const cuvet_limit_info *info;
    uint64_t value;

    cli_complain(name, "no such limit; --list-limits shows them");
    for (size_t i = 0; cuvet_limits_get(limits, i, &info, &value) == CUVET_OK; i++)
        cli_suggest_word(&suggestion, info->name, strlen(info->name));
    cli_suggest_end(&suggestion, "");
    return false;
}

static bool set_limit(cuvet_limits *limits, const char *arg)
{
    char name[32];
    const char *eq = strchr(arg, '=');
    size_t count = eq ? (size_t)(eq - arg) : 0;
    uint64_t value;

    if (count == 0 || count >= sizeof(name) || !cli_number(eq + 1, &value)) {
        cli_complain(arg, "--limit needs NAME=VALUE, a whole number with an optional K, M or G");
        return false;
    }
    memcpy(name, arg, count);
    name[count] = '\0';
    return cuvet_limits_set(limits, name, value) == CUVET_OK || unknown_limit(limits, name);
}

/* Presets come first wherever they stand on the command line, so that `--limit x=1 --limits=roomy` keeps
 * x. */
static bool apply_limits(cli_args *args, char **settings, int len)
{
    const char *preset = args->value[CLI_O_LIMITS] ? args->value[CLI_O_LIMITS] : "strict";

    args->limits.size = sizeof(args->limits);
    if (cuvet_limits_preset(preset, &args->limits) != CUVET_OK)
        return false;
    for (int i = 0; i < len; i++) {
        if (!set_limit(&args->limits, settings[i]))
            return false;
    }
    return true;
}

static bool usage_of(cli_command command)
{
    fprintf(stderr, "Try 'cuvet %s --help'.\n", COMMANDS[command].name);
    return false;
}

/* "--formt=text": which option was meant? */
static bool unknown_option(cli_command command, const char *given)
{
    char word[64];
    cli_suggestion suggestion = { .given = word };

    given += strspn(given, "-");
    snprintf(word, sizeof(word), "%.*s", (int)strnlen(given, sizeof(word)), given);
    word[strcspn(word, "=")] = '\0';
    for (size_t i = 0; strlen(word) > 1 && i < ROWS(OPTIONS); i++) {
        if (OPTIONS[i].commands & (1u << command))
            cli_suggest_word(&suggestion, OPTIONS[i].name, strlen(OPTIONS[i].name));
    }
    cli_suggest_end(&suggestion, "--");
    return usage_of(command);
}

static bool wrong_choice(const cli_option_info *option, const char *value)
{
    cli_suggestion suggestion = { .given = value };

    cli_complain(value, "--%s takes one of %s", option->name, option->arg);
    cli_suggest_choices(&suggestion, option->arg);
    cli_suggest_end(&suggestion, "");
    return false;
}

static bool take_option(cli_args *args, const cli_option_info *option, const char *value)
{
    uint64_t count;

    if (value && !choice_ok(option->arg, value))
        return wrong_choice(option, value);
    /* The one before would ask for nothing any more. */
    if (args->set[option->id] &&
        (option->id == CLI_O_POLICY_FILE || option->id == CLI_O_BASELINE || option->id == CLI_O_YARA)) {
        cli_complain(NULL, "--%s is given twice", option->name);
        return false;
    }
    args->set[option->id] = true;
    args->value[option->id] = value;
    if (option->id != CLI_O_JOBS)
        return true;
    if (!value || !cli_number(value, &count) || count < 1 || count > CLI_JOBS_MAX) {
        cli_complain(value, "--jobs takes a number from 1 to 256");
        return false;
    }
    args->jobs = (uint32_t)count;
    return true;
}

/* The rows of one command in the form getopt_long wants. */
static void build_tables(cli_command command, struct option *longs, char *letters)
{
    size_t count = 0, at = 0;

    letters[at++] = ':';
    for (size_t i = 0; i < ROWS(OPTIONS); i++) {
        const cli_option_info *row = &OPTIONS[i];

        if (!(row->commands & (1u << command)))
            continue;
        longs[count++] = (struct option){ row->name, *row->arg ? required_argument : no_argument, NULL,
                                          LONG_BASE + (int)i };
        if (row->letter) {
            letters[at++] = row->letter;
            if (*row->arg)
                letters[at++] = ':';
        }
    }
    longs[count] = (struct option){ NULL, 0, NULL, 0 };
    letters[at] = '\0';
}

static const cli_option_info *row_of(cli_command command, int code)
{
    if (code >= LONG_BASE)
        return &OPTIONS[code - LONG_BASE];
    for (size_t i = 0; i < ROWS(OPTIONS); i++) {
        if ((OPTIONS[i].commands & (1u << command)) && OPTIONS[i].letter && OPTIONS[i].letter == code)
            return &OPTIONS[i];
    }
    return NULL;
}

/* @param settings receives the --limit arguments, which are applied later. */
static bool parse_loop(cli_args *args, int argc, char **argv, char **settings, int *n_settings)
{
    struct option longs[ROWS(OPTIONS) + 1];
    char letters[2 * ROWS(OPTIONS) + 2];
    int code, before;

    build_tables(args->command, longs, letters);
    opterr = 0;
    optind = 0; /* glibc: start over, also for a second command line in one process */
    for (;;) {
        const cli_option_info *option;

        before = optind > 0 ? optind : 1;
        code = getopt_long(argc, argv, letters, longs, NULL);
        if (code == -1)
            return true;
        option = code == '?' || code == ':' ? NULL : row_of(args->command, code);
        if (!option) {
            const char *given = argv[optind > before ? optind - 1 : before];

            cli_complain(given, code == ':' ? "this option needs an argument"
                                            : "no such option, or it takes no argument");
            return code == ':' ? usage_of(args->command) : unknown_option(args->command, given);
        }
        if (!take_option(args, option, *option->arg ? optarg : NULL))
            return usage_of(args->command);
        if (option->id != CLI_O_LIMIT)
            continue;
        if (*n_settings == MAX_SETTINGS) {
            cli_complain(NULL, "more than %d times --limit", MAX_SETTINGS);
            return usage_of(args->command);
        }
        settings[(*n_settings)++] = optarg;
    }
}

bool cli_has_inputs(const cli_args *args)
{
    if (args->n_operands > 0 || args->value[CLI_O_FILES_FROM])
        return true;
    cli_complain(NULL, "no input; name files, or - for standard input");
    return false;
}

static bool standard_input_twice(const cli_args *args)
{
    bool twice = false;

    if (!args->value[CLI_O_FILES_FROM] || strcmp(args->value[CLI_O_FILES_FROM], "-") != 0)
        return false;
    for (int i = 0; i < args->n_operands; i++)
        twice = twice || strcmp(args->operands[i], "-") == 0;
    if (twice)
        cli_complain(NULL, "standard input cannot be both an input and the list of --files-from");
    return twice;
}

bool cli_parse(cli_command command, int argc, char **argv, cli_args *out, int *rc)
{
    char *settings[MAX_SETTINGS];
    int n_settings = 0;

    memset(out, 0, sizeof(*out));
    out->command = command;
    out->jobs = 1;
    *rc = CLI_X_USAGE;
    if (!parse_loop(out, argc, argv, settings, &n_settings) || !apply_limits(out, settings, n_settings))
        return false;
    if (command == CLI_C_SCAN && !out->set[CLI_O_JOBS])
        out->jobs = cli_default_jobs(&out->limits);
    if (out->set[CLI_O_NO_SANDBOX] && out->value[CLI_O_SANDBOX] &&
        strcmp(out->value[CLI_O_SANDBOX], "required") == 0) {
        cli_complain(NULL, "--no-sandbox and --sandbox=required exclude each other");
        return usage_of(command);
    }
    *rc = CLI_X_CLEAN;
    if (out->set[CLI_O_HELP])
        cli_help_command(stdout, command);
    else if (out->set[CLI_O_VERSION])
        cli_print_version();
    else if (out->set[CLI_O_LIST_LIMITS])
        cli_print_limits(&out->limits);
    else {
        out->operands = argv + optind;
        out->n_operands = argc - optind;
        if (standard_input_twice(out)) {
            *rc = CLI_X_USAGE;
            return false;
        }
        if (!out->value[CLI_O_FORMAT] || cli_load_for(out->value[CLI_O_FORMAT]))
            return true;
        *rc = CLI_X_IO;
        return false;
    }
    *rc = cli_finish_stdout(CLI_X_CLEAN);
    return false;
}
