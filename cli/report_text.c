/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"
#include "sandbox.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const VERDICT_COLOUR[] = {
    [CUVET_V_CLEAN] = "\033[32m",     [CUVET_V_UNSUPPORTED] = "\033[36m", [CUVET_V_SUSPICIOUS] = "\033[33m",
    [CUVET_V_MALFORMED] = "\033[31m", [CUVET_V_LIMIT] = "\033[35m",       [CUVET_V_ERROR] = "\033[31m",
};
static const char *const SEVERITY_COLOUR[] = {
    [CUVET_NOTE] = "\033[36m", [CUVET_WARNING] = "\033[33m", [CUVET_ERROR] = "\033[31m"
};

bool cli_use_colour(void)
{
    const char *off = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(off && *off) && term && strcmp(term, "dumb") != 0;
}

static void put_coloured(const cli_text_report *r, const char *colour, const char *word, int width)
{
    printf("%s%-*s%s", r->colour ? colour : "", width, word, r->colour ? "\033[0m" : "");
}

void cli_text_begin(cli_text_report *r, const cli_args *a)
{
    *r = (cli_text_report){ .notes = a->set[CLI_O_NOTES], .colour = cli_use_colour() };
}

static void on_begin(void *user, const cli_session *s)
{
    cli_text_report *r = user;

    (void)s;
    r->heading = false;
}

static void on_finding(void *user, const cli_session *s, const cuvet_diag *d)
{
    cli_text_report *r = user;
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    char path[CLI_PATH_CAP], message[CLI_MESSAGE_CAP];

    if (d->severity == CUVET_NOTE && !r->notes)
        return;
    if (!r->heading) {
        cli_put_str(stdout, s->in->name);
        putchar('\n');
        r->heading = true;
    }
    cli_path(&d->where, path, sizeof(path));
    cli_message(d, message, sizeof(message));
    fputs("  ", stdout);
    put_coloured(r, SEVERITY_COLOUR[d->severity], cuvet_severity_name(d->severity), 7);
    printf("  %s  ", rule ? rule->id : "?");
    cli_put_str(stdout, *path ? path : "file");
    printf("  at 0x%" PRIx64, d->file_off);
    if (d->inner)
        printf(", unpacked 0x%" PRIx64, d->inner_off);
    fputs("\n           ", stdout);
    cli_put_str(stdout, message);
    putchar('\n');
}

static void put_some(uint64_t n, const char *one, const char *many, const char **separator)
{
    if (n == 0)
        return;
    printf("%s%" PRIu64 " %s", *separator, n, n == 1 ? one : many);
    *separator = ", ";
}

void cli_put_counts(const cuvet_summary *m)
{
    const char *sep = "", *inner = " (";

    put_some(m->containers, "container", "containers", &sep);
    put_some(m->members, "member", "members", &sep);
    put_some(m->images, "image", "images", &sep);
    if (m->members + m->images == 0) {
        printf("%sno device code", *sep ? ", " : "");
        return;
    }
    put_some(m->elf, "elf", "elf", &inner);
    put_some(m->ptx, "ptx", "ptx", &inner);
    put_some(m->ltoir, "lto-ir", "lto-ir", &inner);
    put_some(m->other, "other", "other", &inner);
    if (*inner == ',')
        putchar(')');
}

static void on_end(void *user, const cli_session *s, const cli_result *res)
{
    cli_text_report *r = user;
    const cuvet_summary *m = &res->sum;
    const char *sep = "; ";

    r->files[res->verdict]++;
    cli_put_str(stdout, s->in->name);
    fputs(": ", stdout);
    put_coloured(r, VERDICT_COLOUR[res->verdict], cuvet_verdict_name(res->verdict), 0);
    if (res->why)
        printf(": %s", res->why);
    fputs("; ", stdout);
    cli_put_counts(m);
    put_some(m->errors, "error", "errors", &sep);
    put_some(m->warnings, "warning", "warnings", &sep);
    put_some(m->notes, "note", "notes", &sep);
    put_some(m->suppressed, "of them above the cap, only counted", "of them above the cap, only counted",
             &sep);
    put_some(m->opaque, "not looked into", "not looked into", &sep);
    put_some(m->unreferenced, "unreferenced container", "unreferenced containers", &sep);
    putchar('\n');
}

void cli_text_end(const cli_text_report *r)
{
    uint64_t all = 0;
    const char *sep = ": ";

    for (size_t v = 0; v <= CUVET_V_ERROR; v++)
        all += r->files[v];
    if (r->notes && all > 0)
        printf("sandbox: %s\n", cli_cage_state());
    if (all < 2)
        return;
    printf("%" PRIu64 " files", all);
    for (size_t v = 0; v <= CUVET_V_ERROR; v++) {
        const char *name = cuvet_verdict_name((cuvet_verdict)v);

        put_some(r->files[v], name, name, &sep);
    }
    putchar('\n');
}

const cli_sink cli_text_sink = { .begin = on_begin, .finding = on_finding, .end = on_end };
