/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Diagnostics of a link in the words of the reference linker, with the rule behind them. */
#include "link_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_CAP 512

/* %s symbol, %f its input; %S and %F the other one's, where a diagnostic points to two: " 'X'" and "in 'X'",
 * or words instead. %K: for which kernel, where there is one. %g %w decimal, %x %y the same in hexadecimal.
 */
static const struct {
    const char *id, *text;
} TEXTS[] = {
    { "CV-LINK-001", "Multiple definition of '%s' in '%f', first defined %F" },
    { "CV-LINK-002", "Size doesn't match for '%s' in '%f', first specified %F: %g bytes, first %w" },
    { "CV-LINK-003", "Memory space doesn't match for '%s' in '%f', first specified %F" },
    { "CV-LINK-004", "Prototype doesn't match for '%s' in '%f', first defined %F" },
    { "CV-LINK-005", "Function '%s' not declared __global__ in all source files: in '%f' otherwise than %F" },
    { "CV-LINK-006", "Undefined reference to '%s' in '%f'" },
    { "CV-LINK-007", "entry function%S with max regcount of %w calls function '%s' with regcount of %g" },
    { "CV-LINK-026", "Managed attribute doesn't match for '%s' in '%f', first specified %F" },
    { "CV-LINK-008", "Stack size for entry function '%s' cannot be statically determined" },
    { "CV-LINK-009", "File uses too much global constant data (%x bytes, 0x10000 max) in bank %w%K" },
    { "CV-LINK-010", "Entry function '%s' uses too much shared data (%x bytes, %y max)" },
};

/* Where a diagnostic points: an input, and maybe a symbol in it. */
typedef struct party {
    const char *file, *symbol; /* NULL: none */
    size_t n_symbol;
} party;

int link_exit_of(cuvet_status s)
{
    return s == CUVET_E_NOMEM ? CLI_X_LIMIT : cli_exit_of(s);
}

void link_on_diag(void *user, const cuvet_diag *d)
{
    link_run *r = user;

    if (r->n_diag == r->cap_diag) {
        size_t cap = r->cap_diag ? 2 * r->cap_diag : 64;
        cuvet_diag *v = realloc(r->diag, cap * sizeof(*v));

        if (!v) {
            r->lost_diag = true;
            return;
        }
        r->diag = v;
        r->cap_diag = cap;
    }
    r->diag[r->n_diag++] = *d;
}

void link_drop(link_run *r)
{
    r->n_diag = 0;
}

static void begin(const char *severity, const char *file)
{
    fprintf(stderr, "cuvet: %s: ", severity);
    if (file) {
        cli_put_str(stderr, file);
        fputs(": ", stderr);
    }
}

void link_error(link_run *r, const char *file, int rc, const char *text)
{
    begin("error", file);
    fprintf(stderr, "%s\n", text);
    r->rc = cli_worse(r->rc, rc);
}

void link_warn(link_run *r, const char *file, const char *text)
{
    if (r->args->set[LINK_O_WERROR]) {
        link_error(r, file, CLI_X_FINDINGS, text);
    } else if (!r->args->set[LINK_O_NO_WARNINGS]) {
        begin("warning", file);
        fprintf(stderr, "%s\n", text);
    }
}

void link_note(const link_run *r, const char *file, const char *text)
{
    if (r->args->set[LINK_O_NO_INFOS])
        return;
    begin("note", file);
    fprintf(stderr, "%s\n", text);
}

static const char *name_of(link_run *r, uint64_t index)
{
    const char *name;

    return cuvet_linker_name(r->ctx, r->linker, index, &name) == CUVET_OK ? name : NULL;
}

/* The which-th input that the path names, and the symbol behind it. */
static party party_of(link_run *r, const cuvet_diag *d, uint32_t which)
{
    party p = { 0 };
    uint32_t seen = 0;
    cuvet_status s;

    for (uint32_t i = 0; i < d->where.n && i < CUVET_PATH_MAX; i++) {
        if (d->where.step[i].kind == CUVET_P_MEMBER && seen++ == which)
            p.file = name_of(r, d->where.step[i].index);
    }
    s = which ? cuvet_linker_other_symbol(r->ctx, r->linker, d, &p.symbol, &p.n_symbol)
              : cuvet_linker_symbol(r->ctx, r->linker, d, &p.symbol, &p.n_symbol);
    if (s != CUVET_OK)
        p.symbol = NULL;
    return p;
}

static void put_symbol(const party *p)
{
    if (p->symbol)
        cli_put(stderr, p->symbol, p->n_symbol);
    else
        fputc('?', stderr);
}

static void put_place(char what, const party *a, const party *b)
{
    switch (what) {
    case 's': put_symbol(a); break;
    case 'f': cli_put_str(stderr, a->file ? a->file : "?"); break;
    case 'K':
        if (a->symbol) {
            fputs(" for entry function '", stderr);
            put_symbol(a);
            fputc('\'', stderr);
        }
        break;
    case 'S':
        if (b->symbol) {
            fputs(" '", stderr);
            put_symbol(b);
            fputc('\'', stderr);
        }
        break;
    default:
        fputs(b->file ? "in '" : "in another input", stderr);
        if (b->file) {
            cli_put_str(stderr, b->file);
            fputc('\'', stderr);
        }
        break;
    }
}

static void put_words(const char *text, const cuvet_diag *d, const party *a, const party *b)
{
    for (; *text; text++) {
        if (*text != '%') {
            fputc(*text, stderr);
            continue;
        }
        switch (*++text) {
        case 'g': fprintf(stderr, "%" PRIu64, d->got); break;
        case 'w': fprintf(stderr, "%" PRIu64, d->want); break;
        case 'x': fprintf(stderr, "0x%" PRIx64, d->got); break;
        case 'y': fprintf(stderr, "0x%" PRIx64, d->want); break;
        default: put_place(*text, a, b); break;
        }
    }
}

/* Where in its file: a diagnostic without a file is about the whole of them. */
static void put_offset(const cuvet_diag *d, const char *file)
{
    if (file)
        fprintf(stderr, " (at 0x%" PRIx64 ")", d->file_off);
}

static void put_generic(const cuvet_diag *d, const cuvet_rule_info *rule, const party *a)
{
    char text[TEXT_CAP];

    (void)cuvet_diag_message(d, text, sizeof(text)); /* a cut message is still a message */
    fprintf(stderr, "%s: ", rule->title);
    if (a->symbol) {
        fputc('\'', stderr);
        put_symbol(a);
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

static void say(link_run *r, const cuvet_diag *d, const char *file, bool linked)
{
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    bool error = d->severity == CUVET_ERROR || (d->severity == CUVET_WARNING && r->args->set[LINK_O_WERROR]);
    party a = { 0 }, b = { 0 };
    const char *text = NULL;

    if (!rule || (!error && r->args->set[d->severity == CUVET_NOTE ? LINK_O_NO_INFOS : LINK_O_NO_WARNINGS]))
        return;
    if (linked) {
        a = party_of(r, d, 0);
        b = party_of(r, d, 1);
        file = a.file;
    }
    if (r->member)
        a = (party){ .symbol = r->member, .n_symbol = strlen(r->member) };
    for (size_t i = 0; linked && i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        if (strcmp(TEXTS[i].id, rule->id) == 0)
            text = TEXTS[i].text;
    }
    begin(error ? "error" : cuvet_severity_name(d->severity), file);
    if (text)
        put_words(text, d, &a, &b);
    else
        put_generic(d, rule, &a);
    put_offset(d, file);
    if (r->args->set[LINK_O_REPORT_ARCH] && strcmp(rule->id, "CV-LINK-006") == 0)
        fprintf(stderr, " (target: %s)", r->args->value[LINK_O_ARCH]);
    fprintf(stderr, " [%s]\n", rule->id);
    if (error)
        r->rc = cli_worse(r->rc, exit_of(rule));
}

void link_say_input(link_run *r, const char *file)
{
    for (size_t i = 0; i < r->n_diag; i++)
        say(r, &r->diag[i], file, false);
    link_drop(r);
}

void link_say_link(link_run *r)
{
    for (size_t i = 0; i < r->n_diag; i++)
        say(r, &r->diag[i], NULL, true);
    link_drop(r);
}
