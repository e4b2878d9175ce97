/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Diagnostics of a link in the words of the reference linker, with the rule behind them. */
#include "link_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_CAP 512

/* %s symbol, %f its input; %S and %F the other one's, where a diagnostic points to two: " 'X'" and "in 'X'",
 * or words instead. %K: for which kernel, where there is one. %T: the target. %g %w decimal, %x %y the same
 * in hexadecimal. */
static const link_text TEXTS[] = {
    { "CV-LINK-001", "Multiple definition of '%s' in '%f', first defined %F", false },
    { "CV-LINK-002", "Size doesn't match for '%s' in '%f', first specified %F: %g bytes, first %w", false },
    { "CV-LINK-003", "Memory space doesn't match for '%s' in '%f', first specified %F", false },
    { "CV-LINK-004", "Prototype doesn't match for '%s' in '%f', first defined %F", false },
    { "CV-LINK-005", "Function '%s' not declared __global__ in all source files: in '%f' otherwise than %F",
      false },
    { "CV-LINK-135", "Two kernels named '%s': in '%f', first defined %F", false },
    { "CV-LINK-006", "Undefined reference to '%s' in '%f'", false },
    { "CV-LINK-007", "entry function%S with max regcount of %w calls function '%s' with regcount of %g",
      false },
    { "CV-LINK-026", "Managed attribute doesn't match for '%s' in '%f', first specified %F", false },
    { "CV-LINK-008", "Stack size for entry function '%s' cannot be statically determined", false },
    { "CV-LINK-009", "File uses too much global constant data (%x bytes, 0x10000 max) in bank %w%K", false },
    { "CV-LINK-010", "Entry function '%s' uses too much shared data (%x bytes, %y max)", false },
};

/* Where a diagnostic points: an input, and maybe a symbol in it. */
typedef struct link_party {
    const char *file, *symbol; /* NULL: none */
    size_t n_symbol;
} link_party;

int link_exit_of(cuvet_status status)
{
    return status == CUVET_E_NOMEM ? CLI_X_LIMIT : cli_exit_of(status);
}

void link_on_diag(void *user, const cuvet_diag *diag)
{
    link_run *run = user;

    if (run->n_diag == run->cap_diag) {
        size_t cap = run->cap_diag ? 2 * run->cap_diag : 64;
        cuvet_diag *diags = realloc(run->diag, cap * sizeof(*diags));

        if (!diags) {
            run->lost_diag = true;
            return;
        }
        run->diag = diags;
        run->cap_diag = cap;
    }
    run->diag[run->n_diag++] = *diag;
}

void link_drop(link_run *run)
{
    run->n_diag = 0;
}

static void begin_ours(const char *severity, const char *file, bool own)
{
    (void)own;
    fprintf(stderr, "cuvet: %s: ", severity);
    if (file) {
        cli_put_str(stderr, file);
        fputs(": ", stderr);
    }
}

const link_voice LINK_OURS = { begin_ours, TEXTS, sizeof(TEXTS) / sizeof(TEXTS[0]), false };

static void begin_line(const link_run *run, const char *severity, const char *file)
{
    run->args->role->voice->begin(severity, file, false);
}

void link_end_line(const link_run *run)
{
    if (run->args->role->stand_in && run->args->set[LINK_O_REPORT_ARCH])
        fprintf(stderr, " (target: %s)", run->args->value[LINK_O_ARCH]);
    fputc('\n', stderr);
}

void link_error(link_run *run, const char *file, int rc, const char *text)
{
    begin_line(run, "error", file);
    fputs(text, stderr);
    link_end_line(run);
    run->end.other = true;
    run->rc = cli_worse(run->rc, rc);
}

void link_warn(link_run *run, const char *file, const char *text)
{
    if (run->args->set[LINK_O_WERROR]) {
        link_error(run, file, CLI_X_FINDINGS, text);
    } else if (!run->args->set[LINK_O_NO_WARNINGS]) {
        begin_line(run, "warning", file);
        fputs(text, stderr);
        link_end_line(run);
    }
}

void link_note(const link_run *run, const char *file, const char *text)
{
    if (run->args->set[LINK_O_NO_INFOS])
        return;
    begin_line(run, "note", file);
    fputs(text, stderr);
    link_end_line(run);
}

static const char *name_of(link_run *run, uint64_t index)
{
    const char *name;

    return cuvet_linker_get_name(run->ctx, run->linker, index, &name) == CUVET_OK ? name : NULL;
}

/* The which-th input that the path names, and the symbol behind it. */
static link_party party_of(link_run *run, const cuvet_diag *diag, uint32_t which)
{
    link_party party = { 0 };
    uint32_t seen = 0;
    cuvet_status status;

    for (uint32_t i = 0; i < diag->where.n && i < CUVET_PATH_MAX; i++) {
        if (diag->where.step[i].kind == CUVET_P_MEMBER && seen++ == which)
            party.file = name_of(run, diag->where.step[i].index);
    }
    status = cuvet_linker_get_symbol(run->ctx, run->linker, diag, which, &party.symbol, &party.n_symbol);
    if (status != CUVET_OK)
        party.symbol = NULL;
    return party;
}

static void put_symbol(const link_party *party)
{
    if (party->symbol)
        cli_put(stderr, party->symbol, party->n_symbol);
    else
        fputc('?', stderr);
}

static void put_place(char what, const link_party *left, const link_party *right)
{
    switch (what) {
    case 's': put_symbol(left); break;
    case 'f': cli_put_str(stderr, left->file ? left->file : "?"); break;
    case 'K':
        if (left->symbol) {
            fputs(" for entry function '", stderr);
            put_symbol(left);
            fputc('\'', stderr);
        }
        break;
    case 'S':
        if (right->symbol) {
            fputs(" '", stderr);
            put_symbol(right);
            fputc('\'', stderr);
        }
        break;
    default:
        fputs(right->file ? "in '" : "in another input", stderr);
        if (right->file) {
            cli_put_str(stderr, right->file);
            fputc('\'', stderr);
        }
        break;
    }
}

static void put_words(const link_run *run, const char *text, const cuvet_diag *diag, const link_party *left,
                      const link_party *right)
{
    for (; *text; text++) {
        if (*text != '%') {
            fputc(*text, stderr);
            continue;
        }
        switch (*++text) {
        case 'T': fputs(run->args->value[LINK_O_ARCH], stderr); break;
        case 'g': fprintf(stderr, "%" PRIu64, diag->got); break;
        case 'w': fprintf(stderr, "%" PRIu64, diag->want); break;
        case 'x': fprintf(stderr, "0x%" PRIx64, diag->got); break;
        case 'y': fprintf(stderr, "0x%" PRIx64, diag->want); break;
        default: put_place(*text, left, right); break;
        }
    }
}

/* Where in its file: a diagnostic without a file is about the whole of them. */
static void put_offset(const cuvet_diag *diag, const char *file)
{
    if (file)
        fprintf(stderr, " (at 0x%" PRIx64 ")", diag->file_off);
}

static void put_generic(const cuvet_diag *diag, const cuvet_rule_info *rule, const link_party *party)
{
    char text[TEXT_CAP];

    (void)cuvet_diag_message(diag, text, sizeof(text)); /* a cut message is still a message */
    fprintf(stderr, "%s: ", rule->title);
    if (party->symbol) {
        fputc('\'', stderr);
        put_symbol(party);
        fputs("': ", stderr);
    }
    cli_put_str(stderr, text);
}

/* The exit code stands for the class: one limit that was reached is not a refusal. */
static int exit_of(const cuvet_rule_info *rule)
{
    return rule->cls == CUVET_C_LIMIT      ? CLI_X_LIMIT
           : rule->cls == CUVET_C_INTERNAL ? CLI_X_INTERNAL
           : rule->cls == CUVET_C_IO       ? CLI_X_IO
                                           : CLI_X_FINDINGS;
}

static const link_text *text_for(const link_voice *voice, const char *id)
{
    for (size_t i = 0; i < voice->n_text; i++) {
        if (strcmp(voice->text[i].id, id) == 0)
            return &voice->text[i];
    }
    return NULL;
}

/* Behind the words: where it is, for which target, and by which rule. */
static void end_diag(const link_run *run, const cuvet_diag *diag, const cuvet_rule_info *rule,
                     const char *file, bool bare)
{
    if (!bare)
        put_offset(diag, file);
    if (!run->args->role->stand_in && run->args->set[LINK_O_REPORT_ARCH] &&
        strcmp(rule->id, "CV-LINK-006") == 0)
        fprintf(stderr, " (target: %s)", run->args->value[LINK_O_ARCH]);
    if (!bare)
        fprintf(stderr, " [%s]", rule->id);
    link_end_line(run);
}

/* Of the declarations of a name that do not agree the reference says more; the others it says late. */
static void count_error(link_run *run, const char *id, bool own)
{
    static const char MERGE[] = "CV-LINK-001 CV-LINK-002 CV-LINK-003 CV-LINK-004 CV-LINK-005 CV-LINK-026";
    bool merge = strstr(MERGE, id) != NULL;

    run->end.merge = run->end.merge || merge;
    run->end.late = run->end.late || (own && !merge && strncmp(id, "CV-LINK-", 8) == 0);
    run->end.other = run->end.other || !own;
}

static void say_diag(link_run *run, const cuvet_diag *diag, const char *file, bool linked)
{
    const link_voice *voice = run->args->role->voice;
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    bool error =
        diag->severity == CUVET_ERROR || (diag->severity == CUVET_WARNING && run->args->set[LINK_O_WERROR]);
    link_party left = { 0 }, right = { 0 };
    const link_text *text = NULL;
    bool own;

    if (!rule ||
        (!error && run->args->set[diag->severity == CUVET_NOTE ? LINK_O_NO_INFOS : LINK_O_NO_WARNINGS]))
        return;
    if (linked) {
        left = party_of(run, diag, 0);
        right = party_of(run, diag, 1);
        file = left.file;
    }
    if (run->member)
        left = (link_party){ .symbol = run->member, .n_symbol = strlen(run->member) };
    if (linked || voice->bare)
        text = text_for(voice, rule->id);
    if (!left.file)
        left.file = file;
    own = text && voice->bare;
    voice->begin(own && text->fatal ? "fatal"
                 : error            ? "error"
                                    : cuvet_severity_name(diag->severity),
                 file, own);
    if (text)
        put_words(run, text->text, diag, &left, &right);
    else
        put_generic(diag, rule, &left);
    end_diag(run, diag, rule, file, own);
    if (error) {
        run->rc = cli_worse(run->rc, exit_of(rule));
        count_error(run, rule->id, own && !text->fatal);
    }
}

void link_unreadable(link_run *run, const cli_input *in)
{
    if (!run->args->role->stand_in) {
        link_error(run, in->name, in->rc, in->why);
        return;
    }
    run->args->role->voice->begin("fatal", NULL, true);
    fputs("Could not open input file '", stderr);
    cli_put_str(stderr, in->name);
    fprintf(stderr, "' (%s)", in->why);
    link_end_line(run);
    run->rc = cli_worse(run->rc, in->rc);
    run->end.other = true;
}

void link_warn_arch(link_run *run, const char *file)
{
    bool error = run->args->set[LINK_O_WERROR];

    run->args->role->voice->begin(error ? "error" : "warning", NULL, true);
    fprintf(stderr, "SM Arch ('%s') not found in '", run->args->value[LINK_O_ARCH]);
    cli_put_str(stderr, file);
    fputc('\'', stderr);
    link_end_line(run);
    if (error) {
        run->rc = cli_worse(run->rc, CLI_X_FINDINGS);
        run->end.late = true;
    }
}

void link_say_input(link_run *run, const char *file)
{
    for (size_t i = 0; i < run->n_diag; i++)
        say_diag(run, &run->diag[i], file, false);
    link_drop(run);
}

void link_say_link(link_run *run)
{
    for (size_t i = 0; i < run->n_diag; i++)
        say_diag(run, &run->diag[i], NULL, true);
    link_drop(run);
}
