/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From a command line of the reference linker to one of `cuvet link`. How options are spelled and which there
 * are is spec/nvlink.def, as for that; here is what the reference says of them, and where it differs. */
#include "nvlink.h"

#include <stdlib.h>
#include <string.h>

typedef struct line_reader {
    nvlink_line *line;
    size_t at; /* next word */
    unsigned files;
} line_reader;

static bool nomem(void)
{
    return nvlink_fatal("out of memory");
}

static bool keep(link_words *words, const char *text)
{
    return link_words_append(words, text, strlen(text)) || nomem();
}

/* "--name=value" for the other parser. */
static bool hand_on(nvlink_line *line, const char *name, const char *value)
{
    size_t room = strlen(name) + (value ? strlen(value) : 0) + sizeof("--=");
    char *text = malloc(room);
    bool ok;

    if (!text)
        return nomem();
    (void)snprintf(text, room, "--%s%s%s", name, value ? "=" : "", value ? value : "");
    ok = keep(&line->argv, text);
    free(text);
    return ok;
}

/* A file is a file there, whatever its name: "-" is none of the standard streams, and no option begins so. */
static char *path_of(const char *name)
{
    bool plain = name[0] != '-';
    size_t room = strlen(name) + sizeof("./");
    char *path = malloc(room);

    if (path)
        (void)snprintf(path, room, "%s%s", plain ? "" : "./", name);
    return path;
}

static bool hand_on_path(nvlink_line *line, const char *name, const char *value)
{
    char *path = path_of(value);
    bool ok = path ? (name ? hand_on(line, name, path) : keep(&line->argv, path)) : nomem();

    free(path);
    return ok;
}

static bool read_options_file(line_reader *reader, const char *file)
{
    link_words words = { 0 };
    const char *why;
    int rc;
    bool ok = true;

    if (reader->files++ == LINK_OPTIONS_FILES)
        return nvlink_fatal("more than %d options files", LINK_OPTIONS_FILES);
    why = link_options_file_read(file, &words, &rc);
    if (why)
        ok = nvlink_fatal("Could not open options file '%s' (%s)", file, why);
    for (size_t i = 0; i < words.count && ok; i++)
        ok = link_words_insert(&reader->line->word, reader->at + i, words.items[i], strlen(words.items[i])) ||
             nomem();
    link_words_free(&words);
    return ok;
}

/* Each is put in front of what is still to be read, so the last goes first. */
static bool read_options_files(line_reader *reader, const char *list)
{
    link_words names = { 0 };
    bool ok = link_words_append_list(&names, list) || nomem();

    for (size_t left = names.count; ok && left > 0; left--)
        ok = read_options_file(reader, names.items[left - 1]);
    link_words_free(&names);
    return ok;
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static bool check_value(const link_option_row *row, const char *value)
{
    if (row->form == LINK_FORM_YES_NO)
        return link_is_choice(row->arg, value) || nvlink_fatal("'%s': expected true or false", value);
    if ((strchr(row->arg, '|') || strcmp(row->arg, "64") == 0) && !link_is_choice(row->arg, value))
        return nvlink_fatal("Value '%s' is not defined for option '%s'", value, row->name);
    if (strcmp(row->arg, "N") == 0 && !is_number(value))
        return nvlink_fatal("'%s': expected a number", value);
    return true;
}

/* Lists add up; of the others the last one counts, and goes on at the end. */
static bool take_value(line_reader *reader, link_option id, const char *value)
{
    const link_option_row *row = link_option_get(id);
    nvlink_line *line = reader->line;

    if (value && !check_value(row, value))
        return false;
    if (value && row->form == LINK_FORM_ONE && line->set[id] && strcmp(line->value[id], value) != 0)
        nvlink_warn("incompatible redefinition for option '%s', the last value of this option was used",
                    row->name);
    line->set[id] = true;
    line->value[id] = value;
    if (id == LINK_O_OPTIONS_FILE)
        return read_options_files(reader, value);
    if (id == LINK_O_LIBRARY)
        return link_words_append_list(&line->library, value) || nomem();
    if (id == LINK_O_LIBRARY_PATH)
        return link_words_append_list(&line->dir, value) || nomem();
    if (id == LINK_O_KERNELS_USED || id == LINK_O_VARIABLES_USED || id == LINK_O_XPTXAS)
        return hand_on(line, row->name, value);
    return true;
}

/* An option that the reference does not have, but `cuvet link` does: a compiler, a limit, the sandbox. */
static bool take_ours(nvlink_line *line, const cli_option_info *option, const char *value)
{
    line->compiler = line->compiler || option->id == CLI_O_COMPILER;
    line->generator = line->generator || option->id == CLI_O_GENERATOR;
    return hand_on(line, option->name, value);
}

static bool take_option(line_reader *reader, const char *word)
{
    const char *value;
    link_option id = link_option_find(word, &value);
    const cli_option_info *ours = id == LINK_O_COUNT ? link_ours_find(word) : NULL;
    int len = (int)strcspn(word, "=");
    bool wants;

    if (id == LINK_O_COUNT && !ours)
        return nvlink_fatal("Unknown option '%s'", word + 1);
    wants = ours ? *ours->arg != '\0' : link_option_get(id)->form != LINK_FORM_FLAG;
    if (!wants && value)
        return nvlink_fatal("no argument expected after '%.*s'", len, word);
    if (wants && !value) {
        if (reader->at == reader->line->word.count)
            return nvlink_fatal("argument expected after '%s'", word);
        value = reader->line->word.items[reader->at++];
    }
    return ours ? take_ours(reader->line, ours, value) : take_value(reader, id, value);
}

static bool read_words(line_reader *reader)
{
    nvlink_line *line = reader->line;

    while (reader->at < line->word.count) {
        const char *word = line->word.items[reader->at++];
        bool ok = word[0] == '-' && word[1] ? take_option(reader, word) : keep(&line->file, word);

        if (!ok)
            return false;
    }
    return true;
}

/* What it refuses for the want of link-time optimization, and what we refuse. */
static bool check_refused(const nvlink_line *line)
{
    for (size_t i = 0; i < LINK_O_COUNT; i++) {
        const link_option_row *row = link_option_get((link_option)i);

        if (!line->set[i] || row->fate != LINK_FATE_REFUSED)
            continue;
        if (i == LINK_O_EMIT_PTX)
            return nvlink_fatal("Conflicting options '-emit-ptx' and 'no -dlto'");
        return nvlink_fatal("--%s is not supported: %s", row->name, row->text);
    }
    if (line->set[LINK_O_OFAST_COMPILE])
        return nvlink_fatal("Conflicting options '--Ofast-compile' and 'no -dlto'");
    return true;
}

static bool parse_arch(const char *arch, nvlink_line *line, char *real, size_t room)
{
    cuvet_target target;

    line->is_virtual = strncmp(arch, "compute_", 8) == 0;
    if (strncmp(arch, "lto_", 4) == 0)
        return nvlink_fatal("Link target of '%s' is virtual target that is not JIT-able; use 'sm_' target "
                            "instead",
                            arch);
    (void)snprintf(real, room, "%s%s", line->is_virtual ? "sm_" : "", arch + (line->is_virtual ? 8 : 0));
    return (strncmp(real, "sm_", 3) == 0 && cuvet_target_parse(real, &target) == CUVET_OK) ||
           nvlink_fatal("Value '%s' is not defined for option 'arch'", arch);
}

static bool check_line(const nvlink_line *line)
{
    const char *output = line->value[LINK_O_OUTPUT];

    if (line->set[LINK_O_USE_HOST_INFO] && line->set[LINK_O_IGNORE_HOST_INFO])
        return nvlink_fatal("Conflicting options '--use-host-info' and '--ignore-host-info'");
    if (line->set[LINK_O_DUMP_CALLGRAPH] && line->set[LINK_O_DUMP_CALLGRAPH_RAW])
        return nvlink_fatal("Conflicting options '--dump-callgraph' and '--dump-callgraph-no-demangle'");
    if (!check_refused(line))
        return false;
    if (!output && !line->is_virtual)
        return nvlink_fatal("Must specify output file with -o option");
    if (output && line->is_virtual && !line->value[LINK_O_REGISTER_BINARIES])
        return nvlink_fatal("nothing is linked for %s, and '%s' would not be written; use an 'sm_' target",
                            line->arch, output);
    return line->file.count > 0 ||
           nvlink_fatal("No input files specified; use option --help for more information");
}

/* What -l names goes behind the files; where there is no archive it is a library of the host. */
static bool hand_on_libraries(nvlink_line *line)
{
    for (size_t i = 0; i < line->library.count; i++) {
        char *path = NULL;
        link_library found = link_library_find(&line->dir, line->library.items[i], &path);
        bool ok = found == LINK_LIBRARY_NOMEM ? nomem() : !path || hand_on_path(line, NULL, path);

        free(path);
        if (!ok)
            return false;
    }
    return true;
}

/* Who compiles and who makes code again can be named from outside: a build system has no place for it. */
static bool hand_on_environment(nvlink_line *line)
{
    const char *compiler = getenv("CUVET_COMPILER"), *generator = getenv("CUVET_CODE_GENERATOR");

    return (line->compiler || !compiler || !*compiler || hand_on(line, "compiler", compiler)) &&
           (line->generator || !generator || !*generator || hand_on(line, "code-generator", generator));
}

/* The reference prints warnings with -w as well. */
static bool goes_on(link_option id)
{
    static const link_option OTHERWISE[] = {
        LINK_O_ARCH,           LINK_O_OUTPUT,      LINK_O_REGISTER_BINARIES, LINK_O_KERNELS_USED,
        LINK_O_VARIABLES_USED, LINK_O_XPTXAS,      LINK_O_LIBRARY,           LINK_O_LIBRARY_PATH,
        LINK_O_OPTIONS_FILE,   LINK_O_NO_WARNINGS, LINK_O_NO_INFOS,          LINK_O_HELP,
        LINK_O_VERSION
    };

    for (size_t i = 0; i < sizeof(OTHERWISE) / sizeof(OTHERWISE[0]); i++) {
        if (OTHERWISE[i] == id)
            return false;
    }
    return link_option_get(id)->fate == LINK_FATE_DONE || link_option_get(id)->fate == LINK_FATE_PTX;
}

static bool translate(nvlink_line *line, const char *arch)
{
    bool ok =
        hand_on(line, "arch", arch) && hand_on(line, "disable-infos", NULL) && hand_on_environment(line);

    if (line->set[LINK_O_OUTPUT] && !line->is_virtual)
        ok = ok && hand_on_path(line, "output-file", line->value[LINK_O_OUTPUT]);
    if (line->set[LINK_O_REGISTER_BINARIES])
        ok = ok && hand_on_path(line, "register-link-binaries", line->value[LINK_O_REGISTER_BINARIES]);
    for (size_t i = 0; i < LINK_O_COUNT && ok; i++) {
        if (line->set[i] && goes_on((link_option)i))
            ok = hand_on(line, link_option_get((link_option)i)->name, line->value[i]);
    }
    ok = ok && keep(&line->argv, "--");
    for (size_t i = 0; i < line->file.count && ok; i++)
        ok = hand_on_path(line, NULL, line->file.items[i]);
    return ok && hand_on_libraries(line);
}

bool nvlink_line_read(nvlink_line *line, int argc, char **argv)
{
    line_reader reader = { .line = line };
    char real[32];

    *line = (nvlink_line){ 0 };
    for (int i = 1; i < argc; i++) {
        if (!keep(&line->word, argv[i]))
            return false;
    }
    if (!keep(&line->argv, "link") || !read_words(&reader))
        return false;
    line->help = line->set[LINK_O_HELP];
    line->version = line->set[LINK_O_VERSION];
    line->arch = line->value[LINK_O_ARCH];
    line->time = line->value[LINK_O_TIME];
    if (line->help || line->version)
        return true;
    if (!line->arch)
        return nvlink_fatal("Unknown arch name '(null)'");
    return parse_arch(line->arch, line, real, sizeof(real)) && check_line(line) && translate(line, real);
}

void nvlink_line_release(nvlink_line *line)
{
    link_words_free(&line->argv);
    link_words_free(&line->word);
    link_words_free(&line->file);
    link_words_free(&line->library);
    link_words_free(&line->dir);
}
