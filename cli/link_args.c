/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parser of link, driven by spec/nvlink.def. What is ours goes on to the parser of all commands. */
#include "link_args.h"

#include <stdlib.h>
#include <string.h>

#define FLAG    LINK_FORM_FLAG
#define ONE     LINK_FORM_ONE
#define LIST    LINK_FORM_LIST
#define YES_NO  LINK_FORM_YES_NO
#define JOINED  LINK_FORM_JOINED
#define DONE    LINK_FATE_DONE
#define PTX     LINK_FATE_PTX
#define IGNORED LINK_FATE_IGNORED
#define REFUSED LINK_FATE_REFUSED

static const link_option_row ROWS[LINK_O_COUNT] = {
#define LINK_OPTION(id, name, letter, form, arg, fate, text)                                                 \
    [LINK_O_##id] = { name, letter, form, arg, fate, text },
#include "../spec/nvlink.def"
};

typedef struct arg_parser {
    link_args *args;
    size_t at; /* next word */
    unsigned files;
    bool variables; /* --variables-used names one */
    int *rc;
} arg_parser;

static bool fail_with(arg_parser *parser, int rc)
{
    *parser->rc = rc;
    if (rc == CLI_X_USAGE)
        fputs("Try 'cuvet link --help'.\n", stderr);
    return false;
}

static bool nomem(arg_parser *parser)
{
    cli_complain(NULL, "out of memory");
    return fail_with(parser, CLI_X_LIMIT);
}

void link_args_release(link_args *args)
{
    link_words_free(&args->word);
    link_words_free(&args->ours);
    link_words_free(&args->operand);
    link_words_free(&args->kind);
    link_words_free(&args->dir);
    link_words_free(&args->argv);
    link_words_free(&args->kernels);
    link_words_free(&args->options_file);
    link_words_free(&args->ptx);
    free(args->library);
}

static bool take_operand(arg_parser *parser, const char *text, bool library)
{
    return (link_words_append(&parser->args->operand, text, strlen(text)) &&
            link_words_append(&parser->args->kind, library ? "l" : "f", 1)) ||
           nomem(parser);
}

/* Put in front of the words that are still to be read. */
static bool read_options(arg_parser *parser, const char *file)
{
    link_words words = { 0 };
    const char *why = link_options_file_read(file, &words, parser->rc);
    bool ok = why == NULL;

    if (why && *parser->rc == CLI_X_LIMIT) {
        ok = nomem(parser);
    } else if (why) {
        cli_complain(file, "options file cannot be read: %s", why);
        ok = fail_with(parser, *parser->rc);
    }
    for (size_t i = 0; i < words.count && ok; i++)
        ok = link_words_insert(&parser->args->word, parser->at + i, words.items[i], strlen(words.items[i])) ||
             nomem(parser);
    link_words_free(&words);
    return ok;
}

static bool options_files(arg_parser *parser, const char *list)
{
    link_words names = { 0 };
    bool ok = link_words_append_list(&names, list) || nomem(parser);

    /* Each is put in front, so the last goes first. */
    for (size_t left = names.count; ok && left > 0; left--) {
        size_t i = left - 1;

        if (parser->files++ == LINK_OPTIONS_FILES) {
            cli_complain(names.items[i], "more than %d options files", LINK_OPTIONS_FILES);
            ok = fail_with(parser, CLI_X_USAGE);
        } else {
            ok = link_words_append(&parser->args->options_file, names.items[i], strlen(names.items[i])) ||
                 nomem(parser);
            ok = ok && read_options(parser, names.items[i]);
        }
    }
    link_words_free(&names);
    return ok;
}

bool link_is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);

    for (const char *at = choices;; at++) {
        if (strncmp(at, value, len) == 0 && (at[len] == '|' || at[len] == '\0'))
            return true;
        at = strchr(at, '|');
        if (!at)
            return false;
    }
}

static bool check_value(arg_parser *parser, const link_option_row *row, const char *value)
{
    uint64_t number;

    if ((strchr(row->arg, '|') || strcmp(row->arg, "64") == 0) && !link_is_choice(row->arg, value)) {
        cli_complain(value, "--%s takes one of %s", row->name, row->arg);
        return fail_with(parser, CLI_X_USAGE);
    }
    if (strcmp(row->arg, "N") == 0 && !cli_number(value, &number)) {
        cli_complain(value, "--%s takes a number", row->name);
        return fail_with(parser, CLI_X_USAGE);
    }
    return true;
}

/* The reference linker makes one text of it for its compiler: blanks are between options, as commas are. */
static bool take_ptx_options(arg_parser *parser, const char *list)
{
    link_words elements = { 0 };
    bool ok = link_words_append_list(&elements, list) || nomem(parser);

    for (size_t i = 0; i < elements.count && ok; i++) {
        const char *at = elements.items[i];

        while (ok && *at) {
            size_t len = 0;

            while (at[len] && !link_words_blank(at[len]))
                len++;
            ok = len == 0 || link_words_append(&parser->args->ptx, at, len) || nomem(parser);
            at += len + (at[len] != '\0');
        }
    }
    link_words_free(&elements);
    return ok;
}

/* Options of the link that the reference linker hands to its compiler, behind those of -Xptxas: the last one
 * counts. */
static bool add_ptx_options(arg_parser *parser)
{
    static const link_option GIVEN[] = { LINK_O_MAXRREGCOUNT, LINK_O_STACK_PROTECTOR };
    link_args *args = parser->args;
    char text[64];

    if (!args->common.set[CLI_O_COMPILER]) {
        link_words_free(&args->ptx);
        args->ptx = (link_words){ 0 };
        return true;
    }
    for (size_t i = 0; i < sizeof(GIVEN) / sizeof(GIVEN[0]); i++) {
        const link_option id = GIVEN[i];

        if (!args->set[id])
            continue;
        (void)snprintf(text, sizeof(text), "--%s=%s", ROWS[id].name, args->value[id]);
        if (!link_words_append(&args->ptx, text, strlen(text)))
            return nomem(parser);
    }
    return true;
}

/* The library is looked for when all directories are known. */
static bool take_list(arg_parser *parser, link_option id, const char *value)
{
    link_words names = { 0 };
    bool ok;

    if (id == LINK_O_KERNELS_USED)
        return link_words_append_list(&parser->args->kernels, value) || nomem(parser);
    if (id == LINK_O_LIBRARY_PATH)
        return link_words_append_list(&parser->args->dir, value) || nomem(parser);
    if (id == LINK_O_OPTIONS_FILE)
        return options_files(parser, value);
    if (id == LINK_O_XPTXAS)
        return take_ptx_options(parser, value);
    if (id == LINK_O_VARIABLES_USED)
        parser->variables = parser->variables || value[strspn(value, ",")] != '\0';
    if (id != LINK_O_LIBRARY)
        return true;
    ok = link_words_append_list(&names, value) || nomem(parser);
    for (size_t i = 0; i < names.count && ok; i++)
        ok = take_operand(parser, names.items[i], true);
    link_words_free(&names);
    return ok;
}

static bool take_value(arg_parser *parser, link_option id, const char *value)
{
    const link_option_row *row = &ROWS[id];
    link_args *args = parser->args;

    if (row->fate == REFUSED) {
        cli_complain(NULL, "--%s is not supported: %s", row->name, row->text);
        return fail_with(parser, CLI_X_USAGE);
    }
    if (value && !check_value(parser, row, value))
        return false;
    if (value && row->form == ONE && args->set[id] && strcmp(args->value[id], value) != 0)
        cli_complain(NULL, "warning: incompatible redefinition for option '%s', the last value is used",
                     row->name);
    args->set[id] = true;
    args->value[id] = value;
    return take_list(parser, id, value);
}

/* One of ours, in the form that the other parser reads whatever the value is. */
static bool take_ours(arg_parser *parser, const char *name, const char *value)
{
    char *text;
    size_t len = strlen(name) + (value ? strlen(value) : 0) + 4;
    bool ok;

    text = malloc(len);
    if (!text)
        return nomem(parser);
    (void)snprintf(text, len, "--%s%s%s", name, value ? "=" : "", value ? value : "");
    ok = link_words_append(&parser->args->ours, text, strlen(text)) || nomem(parser);
    free(text);
    return ok;
}

static bool is_same_word(const char *name, const char *word, size_t len)
{
    return strlen(name) == len && memcmp(name, word, len) == 0;
}

const link_option_row *link_option_get(link_option id)
{
    return &ROWS[id];
}

link_option link_option_find(const char *word, const char **value)
{
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t len = strcspn(name, "=");

    *value = name[len] ? name + len + 1 : NULL;
    for (size_t i = 0; i < LINK_O_COUNT; i++) {
        if (len && is_same_word(is_long ? ROWS[i].name : ROWS[i].letter, name, len))
            return (link_option)i;
    }
    for (size_t i = 0; i < LINK_O_COUNT; i++) {
        if (!is_long && ROWS[i].form == JOINED && name[0] && name[0] == ROWS[i].letter[0]) {
            *value = name + 1;
            return (link_option)i;
        }
    }
    return LINK_O_COUNT;
}

/* By its letter, which its value may follow at once. */
static const cli_option_info *find_letter(char letter)
{
    const cli_option_info *option;

    for (size_t i = 0; (option = cli_option_get(i)) != NULL; i++) {
        if ((option->commands & (1u << CLI_C_LINK)) && *option->arg && option->letter &&
            option->letter == letter)
            return option;
    }
    return NULL;
}

const cli_option_info *link_ours_find(const char *word)
{
    const cli_option_info *option;
    size_t len;

    if (word[1] != '-')
        return find_letter(word[1]);
    len = strcspn(word + 2, "=");
    for (size_t i = 0; (option = cli_option_get(i)) != NULL; i++) {
        if ((option->commands & (1u << CLI_C_LINK)) && is_same_word(option->name, word + 2, len))
            return option;
    }
    return NULL;
}

static bool unknown_option(arg_parser *parser, const char *word)
{
    const cli_option_info *option;
    char given[64];
    cli_suggestion suggestion = { .given = given };

    cli_complain(word, "no such option");
    word += strspn(word, "-");
    snprintf(given, sizeof(given), "%.*s", (int)strnlen(word, sizeof(given)), word);
    given[strcspn(given, "=")] = '\0';
    for (size_t i = 0; strlen(given) > 1 && i < LINK_O_COUNT; i++)
        cli_suggest_word(&suggestion, ROWS[i].name, strlen(ROWS[i].name));
    for (size_t i = 0; strlen(given) > 1 && (option = cli_option_get(i)) != NULL; i++) {
        if (option->commands & (1u << CLI_C_LINK))
            cli_suggest_word(&suggestion, option->name, strlen(option->name));
    }
    cli_suggest_end(&suggestion, "--");
    return fail_with(parser, CLI_X_USAGE);
}

static bool take_option(arg_parser *parser, const char *word)
{
    const char *value;
    link_option id = link_option_find(word, &value);
    const cli_option_info *option = id == LINK_O_COUNT ? link_ours_find(word) : NULL;
    bool wants;

    if (id == LINK_O_COUNT && !option) {
        return unknown_option(parser, word);
    }
    if (option && word[1] != '-' && word[2] != '\0')
        value = word + (word[2] == '=' ? 3 : 2);
    wants = option ? *option->arg != '\0' : ROWS[id].form != FLAG;
    if (!wants && value) {
        cli_complain(word, "this option takes no argument");
        return fail_with(parser, CLI_X_USAGE);
    }
    if (wants && !value) {
        if (parser->at == parser->args->word.count) {
            cli_complain(word, "this option needs an argument");
            return fail_with(parser, CLI_X_USAGE);
        }
        value = parser->args->word.items[parser->at++];
    }
    return option ? take_ours(parser, option->name, value) : take_value(parser, id, value);
}

static bool parse_words(arg_parser *parser)
{
    bool options = true;

    while (parser->at < parser->args->word.count) {
        const char *word = parser->args->word.items[parser->at++];

        if (options && strcmp(word, "--") == 0)
            options = false;
        else if (!options || word[0] != '-' || word[1] == '\0') {
            if (!take_operand(parser, word, false))
                return false;
        } else if (!take_option(parser, word)) {
            return false;
        }
        if (parser->args->set[LINK_O_HELP] || parser->args->set[LINK_O_VERSION])
            return true;
    }
    return true;
}

/* libNAME.a becomes its path; a library of the host goes. *gone: it went. */
static bool find_library(arg_parser *parser, size_t index, bool *gone)
{
    char **name = &parser->args->operand.items[index], *path = NULL;
    link_library found = link_library_find(&parser->args->dir, *name, &path);

    *gone = found == LINK_LIBRARY_HOST;
    if (found == LINK_LIBRARY_NOMEM)
        return nomem(parser);
    if (found == LINK_LIBRARY_ARCHIVE) {
        free(*name);
        *name = path;
        return true;
    }
    if (*gone && parser->args->set[LINK_O_NO_INFOS])
        return true;
    fputs(*gone ? "cuvet: note: Library '" : "cuvet: error: Library file '", stderr);
    cli_put_str(stderr, *name);
    fputs(*gone
              ? "' is one of the host, a shared object: nothing in it is linked\n"
              : "' not found in paths: no lib*.a of this name in the directories of -L, and no lib*.so there "
                "or in those of the system\n",
          stderr);
    return *gone || fail_with(parser, CLI_X_FINDINGS);
}

/* What -l names is linked behind the files, wherever it stands. */
static bool libraries_last(arg_parser *parser)
{
    link_words *words = &parser->args->operand, *kept = &parser->args->kind, sorted = { 0 }, kinds = { 0 };
    bool ok = true;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < words->count && ok; i++) {
            if ((kept->items[i][0] == 'l') == (pass == 1))
                ok = link_words_append(&sorted, words->items[i], strlen(words->items[i])) &&
                     link_words_append(&kinds, kept->items[i], 1);
        }
    }
    link_words_free(ok ? words : &sorted);
    link_words_free(ok ? kept : &kinds);
    if (!ok)
        return nomem(parser);
    *words = sorted;
    *kept = kinds;
    return true;
}

static bool find_libraries(arg_parser *parser)
{
    link_words *words = &parser->args->operand;
    bool ok = true;
    size_t count = 0;

    if (!libraries_last(parser))
        return false;

    parser->args->library = calloc(words->count + 1, sizeof(bool));
    if (!parser->args->library)
        return nomem(parser);
    for (size_t i = 0; i < words->count; i++) {
        bool library = parser->args->kind.items[i][0] == 'l', gone = false;

        if (library)
            ok = find_library(parser, i, &gone) && ok; /* all that are missing are named */
        if (gone) {
            free(words->items[i]);
            continue;
        }
        parser->args->library[count] = library;
        words->items[count++] = words->items[i];
    }
    words->count = count;
    return ok;
}

/* The other parser reads what is ours, and keeps the operands. */
static bool parse_ours(arg_parser *parser)
{
    link_args *args = parser->args;
    bool ok = link_words_append(&args->argv, "link", 4);

    for (size_t i = 0; i < args->ours.count && ok; i++)
        ok = link_words_append(&args->argv, args->ours.items[i], strlen(args->ours.items[i]));
    if (args->set[LINK_O_VERSION])
        ok = ok && link_words_append(&args->argv, "--version", 9);
    ok = ok && link_words_append(&args->argv, "--", 2);
    for (size_t i = 0; i < args->operand.count && ok; i++)
        ok = link_words_append(&args->argv, args->operand.items[i], strlen(args->operand.items[i]));
    ok = ok && link_words_append(&args->argv, "", 0); /* room for the NULL behind the last */
    if (!ok)
        return nomem(parser);
    free(args->argv.items[--args->argv.count]);
    args->argv.items[args->argv.count] = NULL;
    return cli_parse(CLI_C_LINK, (int)args->argv.count, args->argv.items, &args->common, parser->rc);
}

static bool check_arch(arg_parser *parser)
{
    const char *arch = parser->args->value[LINK_O_ARCH];

    if (arch && cuvet_target_parse(arch, &parser->args->target) == CUVET_OK)
        return true;
    if (arch && (strncmp(arch, "compute_", 8) == 0 || strncmp(arch, "lto_", 4) == 0))
        cli_complain(arch, "a virtual architecture is compiled for, not linked for; sm_75 to sm_121 can be");
    else if (arch)
        (void)cli_no_target(arch); /* a usage error, as what follows */
    else
        cli_complain(NULL, "link needs -arch, such as -arch=sm_90");
    return fail_with(parser, CLI_X_USAGE);
}

static bool check_options(arg_parser *parser)
{
    link_args *args = parser->args;

    if (!check_arch(parser))
        return false;
    if (!args->set[LINK_O_OUTPUT] && !args->role->modules_only)
        cli_complain(NULL, "must specify an output file with -o");
    else if (args->value[LINK_O_REGISTER_BINARIES] && args->set[LINK_O_OUTPUT] &&
             strcmp(args->value[LINK_O_OUTPUT], "-") == 0 &&
             strcmp(args->value[LINK_O_REGISTER_BINARIES], "-") == 0)
        cli_complain(NULL, "two results cannot both go to standard output");
    else if (args->operand.count == 0)
        cli_complain(NULL, "no input; name files, or - for standard input");
    else if (args->common.set[CLI_O_COMPAT_R] && !args->set[LINK_O_RELOCATABLE])
        cli_complain(NULL, "--compat-r is for -r");
    else if (args->set[LINK_O_USE_HOST_INFO] && args->set[LINK_O_IGNORE_HOST_INFO])
        cli_complain(NULL, "conflicting options: --use-host-info and --ignore-host-info");
    else if (args->set[LINK_O_DUMP_CALLGRAPH] && args->set[LINK_O_DUMP_CALLGRAPH_RAW])
        cli_complain(NULL, "conflicting options: --dump-callgraph and --dump-callgraph-no-demangle");
    else
        return true;
    return fail_with(parser, CLI_X_USAGE);
}

static void note_options(const link_args *args)
{
    for (size_t i = 0; i < LINK_O_COUNT && !args->set[LINK_O_NO_INFOS]; i++) {
        if (args->set[i] &&
            (ROWS[i].fate == IGNORED || (ROWS[i].fate == PTX && !args->common.set[CLI_O_COMPILER])))
            cli_complain(NULL, "note: --%s means nothing here: %s", ROWS[i].name, ROWS[i].text);
    }
    if (args->set[LINK_O_SUPPRESS_DEBUG] && !args->set[LINK_O_DEBUG] && !args->set[LINK_O_NO_INFOS])
        cli_complain(NULL, "note: --suppress-debug-info does nothing without -g");
    if (args->set[LINK_O_USE_HOST_INFO] && args->kernels.count && !args->set[LINK_O_NO_INFOS])
        cli_complain(NULL,
                     "note: --use-host-info is ignored, because --kernels-used or --variables-used is given");
}

bool link_parse(int argc, char **argv, const link_role *role, link_args *args, int *rc)
{
    arg_parser parser = { .args = args, .rc = rc };

    *args = (link_args){ .role = role };
    *rc = CLI_X_USAGE;
    for (int i = 1; i < argc; i++) {
        if (!link_words_append(&args->word, argv[i], strlen(argv[i])))
            return nomem(&parser);
    }
    if (!parse_words(&parser))
        return false;
    if (args->set[LINK_O_HELP]) {
        cmd_link_help(stdout);
        *rc = CLI_X_CLEAN;
        return false;
    }
    if (args->set[LINK_O_VERSION])
        return parse_ours(&parser);
    if (!find_libraries(&parser) || !parse_ours(&parser) || !check_options(&parser))
        return false;
    /* The reference keeps no kernel then. No compiler gives one a name with this character. */
    if (parser.variables && args->kernels.count == 0 && !link_words_append(&args->kernels, "\x01", 1))
        return nomem(&parser);
    note_options(args);
    return add_ptx_options(&parser);
}

static void put_fate(FILE *to, link_fate which, const char *title)
{
    fprintf(to, "\n%s\n", title);
    for (size_t i = 0; i < LINK_O_COUNT; i++) {
        const link_option_row *row = &ROWS[i];

        if (row->fate == which)
            fprintf(to, "  %s%s%s--%s%s%s\n      %s\n", *row->letter ? "-" : "", row->letter,
                    *row->letter ? ", " : "", row->name, *row->arg ? " " : "", row->arg, row->text);
    }
}

void link_options_help(FILE *to)
{
    put_fate(to, DONE,
             "options of the reference linker (value as next word or behind '='; -lNAME, -LDIR, -m64 too):");
    put_fate(to, PTX, "for the compiler of PTX (--compiler); without one they mean nothing here:");
    put_fate(to, IGNORED, "accepted, without a meaning here:");
    put_fate(to, REFUSED, "not supported:");
}

void cmd_link_help(FILE *to)
{
    cli_help_command(to, CLI_C_LINK);
    link_options_help(to);
}
