/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parser of link, driven by spec/nvlink.def. What is ours goes on to the parser of all commands. */
#include "link_args.h"

#include "input_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_FILES 64                 /* in one command line: a file may name itself */
#define OPTIONS_BYTES ((size_t)16 << 20) /* of one of them */

typedef enum form { FLAG, ONE, LIST, YES_NO, JOINED } form;
typedef enum fate { DONE, IGNORED, REFUSED } fate;

typedef struct row {
    const char *name, *letter;
    form form;
    const char *arg;
    fate fate;
    const char *text;
} row;

static const row ROWS[LINK_O_COUNT] = {
#define LINK_OPTION(id, name, letter, form, arg, fate, text)                                                 \
    [LINK_O_##id] = { name, letter, form, arg, fate, text },
#include "../spec/nvlink.def"
};

typedef struct parser {
    link_args *a;
    size_t at; /* next word */
    unsigned files;
    bool variables; /* --variables-used names one */
    int *rc;
} parser;

static bool fail(parser *p, int rc)
{
    *p->rc = rc;
    if (rc == CLI_X_USAGE)
        fputs("Try 'cuvet link --help'.\n", stderr);
    return false;
}

static bool nomem(parser *p)
{
    cli_complain(NULL, "out of memory");
    return fail(p, CLI_X_LIMIT);
}

static bool insert(link_words *w, size_t at, const char *text, size_t n)
{
    char *copy;

    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 16;
        char **v = realloc(w->v, cap * sizeof(*v));

        if (!v)
            return false;
        w->v = v;
        w->cap = cap;
    }
    copy = strndup(text, n);
    if (!copy)
        return false;
    memmove(w->v + at + 1, w->v + at, (w->n - at) * sizeof(*w->v));
    w->v[at] = copy;
    w->n++;
    return true;
}

static bool append(link_words *w, const char *text, size_t n)
{
    return insert(w, w->n, text, n);
}

static void words_free(link_words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->v[i]);
    free(w->v);
    *w = (link_words){ 0 };
}

void link_args_release(link_args *a)
{
    words_free(&a->word);
    words_free(&a->ours);
    words_free(&a->operand);
    words_free(&a->kind);
    words_free(&a->dir);
    words_free(&a->argv);
    words_free(&a->kernels);
    words_free(&a->options_file);
    free(a->library);
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* Elements between commas, without the blanks around them; empty ones say nothing. */
static bool append_list(link_words *w, const char *text)
{
    for (size_t n; *text; text += n + (text[n] == ',')) {
        size_t begin = 0, end = n = strcspn(text, ",");

        while (begin < end && blank(text[begin]))
            begin++;
        while (end > begin && blank(text[end - 1]))
            end--;
        if (end > begin && !append(w, text + begin, end - begin))
            return false;
    }
    return true;
}

static bool operand(parser *p, const char *text, bool library)
{
    return (append(&p->a->operand, text, strlen(text)) && append(&p->a->kind, library ? "l" : "f", 1)) ||
           nomem(p);
}

/* Words of a file, put in front of those that are still to be read. The text is rewritten in its place. */
static bool split(parser *p, const char *file, char *text, size_t n)
{
    size_t at = p->at, i = 0;

    for (;;) {
        size_t to = 0, begin = i;
        bool quoted = false, any = false;

        while (i < n && blank(text[i]))
            begin = ++i;
        for (; i < n && (quoted || !blank(text[i])); i++) {
            any = true;
            if (text[i] == '"') {
                quoted = !quoted;
                continue;
            }
            i += text[i] == '\\' && i + 1 < n;
            text[begin + to++] = text[i];
        }
        if (quoted) {
            cli_complain(file, "a quotation does not end");
            return fail(p, CLI_X_USAGE);
        }
        if (!any)
            return true;
        if (!insert(&p->a->word, at++, text + begin, to))
            return nomem(p);
    }
}

static bool read_options(parser *p, const char *file)
{
    char *text = malloc(OPTIONS_BYTES + 1);
    const char *why = NULL;
    FILE *f;
    size_t n = 0;
    bool bad = true, ok;
    int fd;

    if (!text)
        return nomem(p);
    fd = cli_open_list(file, &why);
    f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !f)
        (void)close(fd); /* read only: nothing can be lost */
    if (f) {
        n = fread(text, 1, OPTIONS_BYTES + 1, f);
        bad = ferror(f) != 0;
        bad = fclose(f) != 0 || bad;
    }
    if (bad)
        cli_complain(file, "options file cannot be read: %s", why ? why : strerror(errno));
    else if (n > OPTIONS_BYTES || memchr(text, 0, n))
        cli_complain(file,
                     n > OPTIONS_BYTES ? "options file with more than 16 MiB" : "options file with NUL");
    ok = bad || n > OPTIONS_BYTES || memchr(text, 0, n) ? fail(p, bad ? CLI_X_IO : CLI_X_USAGE)
                                                        : split(p, file, text, n);
    free(text);
    return ok;
}

static bool options_files(parser *p, const char *list)
{
    link_words names = { 0 };
    bool ok = append_list(&names, list) || nomem(p);

    /* Each is put in front, so the last goes first. */
    for (size_t left = names.n; ok && left > 0; left--) {
        size_t i = left - 1;

        if (p->files++ == OPTIONS_FILES) {
            cli_complain(names.v[i], "more than %d options files", OPTIONS_FILES);
            ok = fail(p, CLI_X_USAGE);
        } else {
            ok = append(&p->a->options_file, names.v[i], strlen(names.v[i])) || nomem(p);
            ok = ok && read_options(p, names.v[i]);
        }
    }
    words_free(&names);
    return ok;
}

static bool among(const char *choices, const char *value)
{
    size_t n = strlen(value);

    for (const char *c = choices;; c++) {
        if (strncmp(c, value, n) == 0 && (c[n] == '|' || c[n] == '\0'))
            return true;
        c = strchr(c, '|');
        if (!c)
            return false;
    }
}

static bool check_value(parser *p, const row *r, const char *value)
{
    uint64_t number;

    if ((strchr(r->arg, '|') || strcmp(r->arg, "64") == 0) && !among(r->arg, value)) {
        cli_complain(value, "--%s takes one of %s", r->name, r->arg);
        return fail(p, CLI_X_USAGE);
    }
    if (strcmp(r->arg, "N") == 0 && !cli_number(value, &number)) {
        cli_complain(value, "--%s takes a number", r->name);
        return fail(p, CLI_X_USAGE);
    }
    return true;
}

/* The library is looked for when all directories are known. */
static bool take_list(parser *p, link_option id, const char *value)
{
    link_words names = { 0 };
    bool ok;

    if (id == LINK_O_KERNELS_USED)
        return append_list(&p->a->kernels, value) || nomem(p);
    if (id == LINK_O_LIBRARY_PATH)
        return append_list(&p->a->dir, value) || nomem(p);
    if (id == LINK_O_OPTIONS_FILE)
        return options_files(p, value);
    if (id == LINK_O_VARIABLES_USED)
        p->variables = p->variables || value[strspn(value, ",")] != '\0';
    if (id != LINK_O_LIBRARY)
        return true;
    ok = append_list(&names, value) || nomem(p);
    for (size_t i = 0; i < names.n && ok; i++)
        ok = operand(p, names.v[i], true);
    words_free(&names);
    return ok;
}

static bool take(parser *p, link_option id, const char *value)
{
    const row *r = &ROWS[id];
    link_args *a = p->a;

    if (r->fate == REFUSED) {
        cli_complain(NULL, "--%s is not supported: %s", r->name, r->text);
        return fail(p, CLI_X_USAGE);
    }
    if (value && !check_value(p, r, value))
        return false;
    if (value && r->form == ONE && a->set[id] && strcmp(a->value[id], value) != 0)
        cli_complain(NULL, "warning: incompatible redefinition for option '%s', the last value is used",
                     r->name);
    a->set[id] = true;
    a->value[id] = value;
    return take_list(p, id, value);
}

/* One of ours, in the form that the other parser reads whatever the value is. */
static bool take_ours(parser *p, const char *name, const char *value)
{
    char *text;
    size_t n = strlen(name) + (value ? strlen(value) : 0) + 4;
    bool ok;

    text = malloc(n);
    if (!text)
        return nomem(p);
    (void)snprintf(text, n, "--%s%s%s", name, value ? "=" : "", value ? value : "");
    ok = append(&p->a->ours, text, strlen(text)) || nomem(p);
    free(text);
    return ok;
}

static bool same(const char *name, const char *word, size_t n)
{
    return strlen(name) == n && memcmp(name, word, n) == 0;
}

/* @return LINK_O_COUNT: none of the reference's. *value: what stands behind '=', or is joined. */
static link_option find(const char *word, const char **value)
{
    bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    size_t n = strcspn(name, "=");

    *value = name[n] ? name + n + 1 : NULL;
    for (size_t i = 0; i < LINK_O_COUNT; i++) {
        if (n && same(is_long ? ROWS[i].name : ROWS[i].letter, name, n))
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

static const cli_option_info *find_ours(const char *word)
{
    const cli_option_info *o;
    size_t n;

    if (word[1] != '-')
        return NULL;
    n = strcspn(word + 2, "=");
    for (size_t i = 0; (o = cli_option_get(i)) != NULL; i++) {
        if ((o->commands & (1u << CLI_C_LINK)) && same(o->name, word + 2, n))
            return o;
    }
    return NULL;
}

static bool unknown_option(parser *p, const char *word)
{
    const cli_option_info *o;
    char given[64];
    cli_suggestion s = { .given = given };

    cli_complain(word, "no such option");
    word += strspn(word, "-");
    snprintf(given, sizeof(given), "%.*s", (int)strnlen(word, sizeof(given)), word);
    given[strcspn(given, "=")] = '\0';
    for (size_t i = 0; strlen(given) > 1 && i < LINK_O_COUNT; i++)
        cli_suggest_word(&s, ROWS[i].name, strlen(ROWS[i].name));
    for (size_t i = 0; strlen(given) > 1 && (o = cli_option_get(i)) != NULL; i++) {
        if (o->commands & (1u << CLI_C_LINK))
            cli_suggest_word(&s, o->name, strlen(o->name));
    }
    cli_suggest_end(&s, "--");
    return fail(p, CLI_X_USAGE);
}

static bool option(parser *p, const char *word)
{
    const char *value;
    link_option id = find(word, &value);
    const cli_option_info *o = id == LINK_O_COUNT ? find_ours(word) : NULL;
    bool wants;

    if (id == LINK_O_COUNT && !o) {
        return unknown_option(p, word);
    }
    wants = o ? *o->arg != '\0' : ROWS[id].form != FLAG;
    if (!wants && value) {
        cli_complain(word, "this option takes no argument");
        return fail(p, CLI_X_USAGE);
    }
    if (wants && !value) {
        if (p->at == p->a->word.n) {
            cli_complain(word, "this option needs an argument");
            return fail(p, CLI_X_USAGE);
        }
        value = p->a->word.v[p->at++];
    }
    return o ? take_ours(p, o->name, value) : take(p, id, value);
}

static bool parse_words(parser *p)
{
    bool options = true;

    while (p->at < p->a->word.n) {
        const char *word = p->a->word.v[p->at++];

        if (options && strcmp(word, "--") == 0)
            options = false;
        else if (!options || word[0] != '-' || word[1] == '\0') {
            if (!operand(p, word, false))
                return false;
        } else if (!option(p, word)) {
            return false;
        }
        if (p->a->set[LINK_O_HELP] || p->a->set[LINK_O_VERSION])
            return true;
    }
    return true;
}

/* libNAME.a becomes its path; a library of the host goes. *gone: it went. */
static bool find_library(parser *p, size_t i, bool *gone)
{
    char **name = &p->a->operand.v[i], *path = NULL;
    link_library found = link_library_find(&p->a->dir, *name, &path);

    *gone = found == LINK_LIBRARY_HOST;
    if (found == LINK_LIBRARY_NOMEM)
        return nomem(p);
    if (found == LINK_LIBRARY_ARCHIVE) {
        free(*name);
        *name = path;
        return true;
    }
    if (*gone && p->a->set[LINK_O_NO_INFOS])
        return true;
    fputs(*gone ? "cuvet: note: Library '" : "cuvet: error: Library file '", stderr);
    cli_put_str(stderr, *name);
    fputs(*gone
              ? "' is one of the host, a shared object: nothing in it is linked\n"
              : "' not found in paths: no lib*.a of this name in the directories of -L, and no lib*.so there "
                "or in those of the system\n",
          stderr);
    return *gone || fail(p, CLI_X_FINDINGS);
}

/* What -l names is linked behind the files, wherever it stands. */
static bool libraries_last(parser *p)
{
    link_words *o = &p->a->operand, *k = &p->a->kind, sorted = { 0 }, kinds = { 0 };
    bool ok = true;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < o->n && ok; i++) {
            if ((k->v[i][0] == 'l') == (pass == 1))
                ok = append(&sorted, o->v[i], strlen(o->v[i])) && append(&kinds, k->v[i], 1);
        }
    }
    words_free(ok ? o : &sorted);
    words_free(ok ? k : &kinds);
    if (!ok)
        return nomem(p);
    *o = sorted;
    *k = kinds;
    return true;
}

static bool find_libraries(parser *p)
{
    link_words *o = &p->a->operand;
    bool ok = true;
    size_t n = 0;

    if (!libraries_last(p))
        return false;

    p->a->library = calloc(o->n + 1, sizeof(bool));
    if (!p->a->library)
        return nomem(p);
    for (size_t i = 0; i < o->n; i++) {
        bool library = p->a->kind.v[i][0] == 'l', gone = false;

        if (library)
            ok = find_library(p, i, &gone) && ok; /* all that are missing are named */
        if (gone) {
            free(o->v[i]);
            continue;
        }
        p->a->library[n] = library;
        o->v[n++] = o->v[i];
    }
    o->n = n;
    return ok;
}

/* The other parser reads what is ours, and keeps the operands. */
static bool parse_ours(parser *p)
{
    link_args *a = p->a;
    bool ok = append(&a->argv, "link", 4);

    for (size_t i = 0; i < a->ours.n && ok; i++)
        ok = append(&a->argv, a->ours.v[i], strlen(a->ours.v[i]));
    if (a->set[LINK_O_VERSION])
        ok = ok && append(&a->argv, "--version", 9);
    ok = ok && append(&a->argv, "--", 2);
    for (size_t i = 0; i < a->operand.n && ok; i++)
        ok = append(&a->argv, a->operand.v[i], strlen(a->operand.v[i]));
    ok = ok && append(&a->argv, "", 0); /* room for the NULL behind the last */
    if (!ok)
        return nomem(p);
    free(a->argv.v[--a->argv.n]);
    a->argv.v[a->argv.n] = NULL;
    return cli_parse(CLI_C_LINK, (int)a->argv.n, a->argv.v, &a->common, p->rc);
}

static bool check_arch(parser *p)
{
    const char *arch = p->a->value[LINK_O_ARCH];

    if (arch && cuvet_target_parse(arch, &p->a->target) == CUVET_OK)
        return true;
    if (arch && (strncmp(arch, "compute_", 8) == 0 || strncmp(arch, "lto_", 4) == 0))
        cli_complain(arch, "a virtual architecture is compiled for, not linked for; sm_75 to sm_121 can be");
    else if (arch)
        (void)cli_no_target(arch); /* a usage error, as what follows */
    else
        cli_complain(NULL, "link needs -arch, such as -arch=sm_90");
    return fail(p, CLI_X_USAGE);
}

static bool check(parser *p)
{
    link_args *a = p->a;

    if (!check_arch(p))
        return false;
    if (!a->set[LINK_O_OUTPUT])
        cli_complain(NULL, "must specify an output file with -o");
    else if (a->value[LINK_O_REGISTER_BINARIES] && strcmp(a->value[LINK_O_OUTPUT], "-") == 0 &&
             strcmp(a->value[LINK_O_REGISTER_BINARIES], "-") == 0)
        cli_complain(NULL, "two results cannot both go to standard output");
    else if (a->operand.n == 0)
        cli_complain(NULL, "no input; name files, or - for standard input");
    else if (a->common.set[CLI_O_COMPAT_R] && !a->set[LINK_O_RELOCATABLE])
        cli_complain(NULL, "--compat-r is for -r");
    else if (a->set[LINK_O_USE_HOST_INFO] && a->set[LINK_O_IGNORE_HOST_INFO])
        cli_complain(NULL, "conflicting options: --use-host-info and --ignore-host-info");
    else if (a->set[LINK_O_DUMP_CALLGRAPH] && a->set[LINK_O_DUMP_CALLGRAPH_RAW])
        cli_complain(NULL, "conflicting options: --dump-callgraph and --dump-callgraph-no-demangle");
    else
        return true;
    return fail(p, CLI_X_USAGE);
}

static void notes(const link_args *a)
{
    for (size_t i = 0; i < LINK_O_COUNT && !a->set[LINK_O_NO_INFOS]; i++) {
        if (a->set[i] && ROWS[i].fate == IGNORED)
            cli_complain(NULL, "note: --%s means nothing here: %s", ROWS[i].name, ROWS[i].text);
    }
    if (a->set[LINK_O_SUPPRESS_DEBUG] && !a->set[LINK_O_DEBUG] && !a->set[LINK_O_NO_INFOS])
        cli_complain(NULL, "note: --suppress-debug-info does nothing without -g");
    if (a->set[LINK_O_USE_HOST_INFO] && a->kernels.n && !a->set[LINK_O_NO_INFOS])
        cli_complain(NULL,
                     "note: --use-host-info is ignored, because --kernels-used or --variables-used is given");
}

bool link_parse(int argc, char **argv, link_args *a, int *rc)
{
    parser p = { .a = a, .rc = rc };

    *a = (link_args){ 0 };
    *rc = CLI_X_USAGE;
    for (int i = 1; i < argc; i++) {
        if (!append(&a->word, argv[i], strlen(argv[i])))
            return nomem(&p);
    }
    if (!parse_words(&p))
        return false;
    if (a->set[LINK_O_HELP]) {
        cmd_link_help(stdout);
        *rc = CLI_X_CLEAN;
        return false;
    }
    if (a->set[LINK_O_VERSION])
        return parse_ours(&p);
    if (!find_libraries(&p) || !parse_ours(&p) || !check(&p))
        return false;
    /* The reference keeps no kernel then. No compiler gives one a name with this character. */
    if (p.variables && a->kernels.n == 0 && !append(&a->kernels, "\x01", 1))
        return nomem(&p);
    notes(a);
    return true;
}

static void put_fate(FILE *to, fate which, const char *title)
{
    fprintf(to, "\n%s\n", title);
    for (size_t i = 0; i < LINK_O_COUNT; i++) {
        const row *r = &ROWS[i];

        if (r->fate == which)
            fprintf(to, "  %s%s%s--%s%s%s\n      %s\n", *r->letter ? "-" : "", r->letter,
                    *r->letter ? ", " : "", r->name, *r->arg ? " " : "", r->arg, r->text);
    }
}

void cmd_link_help(FILE *to)
{
    cli_help_command(to, CLI_C_LINK);
    put_fate(to, DONE,
             "options of the reference linker (value as next word or behind '='; -lNAME, -LDIR, -m64 too):");
    put_fate(to, IGNORED, "accepted, without a meaning here:");
    put_fate(to, REFUSED, "not supported:");
}
