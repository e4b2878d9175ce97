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

/* What a file says by one rule. */
typedef struct cli_rule_group {
    uint64_t n;              /* delivered; in the end those above the cap too */
    cuvet_severity severity; /* the worst of them */
    cuvet_diag first;
} cli_rule_group;

bool cli_text_begin(cli_text_report *r, const cli_args *a)
{
    *r = (cli_text_report){ .notes = a->set[CLI_O_NOTES],
                            .quiet = a->set[CLI_O_QUIET],
                            .all = a->set[CLI_O_ALL],
                            .only_findings = a->set[CLI_O_ONLY_FINDINGS],
                            .colour = cli_use_colour() };
    while (cuvet_rule_get((cuvet_rule)r->n_rules))
        r->n_rules++;
    r->group = calloc(r->n_rules, sizeof(*r->group));
    r->order = calloc(r->n_rules, sizeof(*r->order));
    if (r->group && r->order)
        return true;
    cli_complain(NULL, "out of memory");
    free(r->group);
    free(r->order);
    return false;
}

static void on_begin(void *user, const cli_session *s)
{
    cli_text_report *r = user;

    (void)s;
    r->heading = false;
    r->n_order = 0;
}

static void put_heading(cli_text_report *r, const cli_session *s)
{
    if (!r->heading) {
        cli_put_str(stdout, s->in->name);
        putchar('\n');
    }
    r->heading = true;
}

static void put_place(const cuvet_diag *d)
{
    char path[CLI_PATH_CAP];

    cli_path(&d->where, path, sizeof(path));
    cli_put_str(stdout, *path ? path : "file");
    printf("  at 0x%" PRIx64, d->file_off);
    if (d->inner)
        printf(", unpacked 0x%" PRIx64, d->inner_off);
}

static void put_rule(const cli_text_report *r, cuvet_severity severity, const cuvet_rule_info *rule)
{
    fputs("  ", stdout);
    put_coloured(r, SEVERITY_COLOUR[severity], cuvet_severity_name(severity), 7);
    printf("  %s  ", rule ? rule->id : "?");
}

static void put_finding(cli_text_report *r, const cli_session *s, const cuvet_diag *d)
{
    char message[CLI_MESSAGE_CAP];

    put_heading(r, s);
    cli_message(d, message, sizeof(message));
    put_rule(r, d->severity, cuvet_rule_get(d->rule));
    put_place(d);
    fputs("\n           ", stdout);
    cli_put_str(stdout, message);
    putchar('\n');
}

static void on_finding(void *user, const cli_session *s, const cuvet_diag *d)
{
    cli_text_report *r = user;
    cli_rule_group *g;

    if (r->quiet || d->rule >= r->n_rules || (d->severity == CUVET_NOTE && !r->notes))
        return;
    if (r->all) {
        put_finding(r, s, d);
        return;
    }
    g = &r->group[d->rule];
    if (g->n++ == 0) {
        g->severity = d->severity;
        g->first = *d;
        r->order[r->n_order++] = d->rule;
    } else if (d->severity > g->severity) { /* what is shown has the severity that it is shown with */
        g->severity = d->severity;
        g->first = *d;
    }
}

/* Not called where a filter leaves something out. */
static void on_closing(void *user, const cli_session *s)
{
    cli_text_report *r = user;

    for (size_t i = 0; i < r->n_order; i++) {
        cli_rule_group *g = &r->group[r->order[i]];
        uint64_t n;

        if (cuvet_scan_rule_count(s->ctx, s->scan, r->order[i], &n) == CUVET_OK && n > g->n)
            g->n = n;
    }
}

static void put_group(cli_text_report *r, const cli_session *s, const cli_rule_group *g)
{
    const cuvet_rule_info *rule = cuvet_rule_get(g->first.rule);
    char message[CLI_MESSAGE_CAP];
    put_heading(r, s);
    put_rule(r, g->severity, rule);
    cli_put_str(stdout, rule ? rule->title : "?");
    if (g->n > 1)
        printf(" (%" PRIu64 " times)", g->n);
    fputs(g->n > 1 ? "\n           first: " : "\n           ", stdout);
    put_place(&g->first);
    fputs("\n           ", stdout);
    (void)cuvet_diag_message(&g->first, message, sizeof(message)); /* a cut message is still a message */
    cli_put_str(stdout, message);
    putchar('\n');
}

/* The worst first; rules of one severity in the order in which they were met. */
static void put_groups(cli_text_report *r, const cli_session *s)
{
    for (int severity = CUVET_ERROR; severity >= CUVET_NOTE; severity--) {
        for (size_t i = 0; i < r->n_order; i++) {
            const cli_rule_group *g = &r->group[r->order[i]];

            if ((int)g->severity == severity)
                put_group(r, s, g);
        }
    }
    for (size_t i = 0; i < r->n_order; i++)
        r->group[r->order[i]].n = 0;
    r->n_order = 0;
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
    put_some(m->bitcode, "bitcode", "bitcode", &inner);
    put_some(m->other, "other", "other", &inner);
    if (*inner == ',')
        putchar(')');
}

void cli_put_filtered(const cli_result *r)
{
    const char *sep = "; by filter not shown: ";

    put_some(r->left_out, "piece", "pieces", &sep);
    if (r->left_out > 0)
        sep = " with ";
    put_some(r->left_out_findings, "finding", "findings", &sep);
}

static void put_verdict(const cli_text_report *r, const cli_session *s, const cli_result *res)
{
    const cuvet_summary *m = &res->sum;
    const char *sep = "; ";

    cli_put_str(stdout, s->in->name);
    fputs(": ", stdout);
    put_coloured(r, VERDICT_COLOUR[res->verdict], cuvet_verdict_name(res->verdict), 0);
    if (r->quiet) {
        putchar('\n');
        return;
    }
    if (res->why)
        printf(": %s", res->why);
    fputs("; ", stdout);
    cli_put_counts(m);
    put_some(m->errors, "error", "errors", &sep);
    put_some(m->warnings, "warning", "warnings", &sep);
    put_some(m->notes, "note", "notes", &sep);
    if (r->all)
        put_some(m->suppressed, "of them above the cap, only counted", "of them above the cap, only counted",
                 &sep);
    put_some(m->opaque, "not looked into", "not looked into", &sep);
    put_some(m->unreferenced, "unreferenced container", "unreferenced containers", &sep);
    cli_put_filtered(res);
    sep = "; of the pieces shown, above the cap and only counted: ";
    put_some(res->above, "finding", "findings", &sep);
    putchar('\n');
}

static void on_end(void *user, const cli_session *s, const cli_result *res)
{
    cli_text_report *r = user;

    put_groups(r, s);
    if (r->quiet ? res->rc != CLI_X_CLEAN : !r->only_findings || cli_is_finding(res))
        put_verdict(r, s, res);
}

/* One line for each verdict that a file got. */
static void put_summary(const cli_text_report *r, const cli_tally *t, uint64_t all)
{
    printf("%" PRIu64 " file%s\n", all, all == 1 ? "" : "s");
    for (size_t v = 0; v <= CUVET_V_ERROR; v++) {
        const char *sep = "  ";

        if (t->files[v] == 0)
            continue;
        printf("%8" PRIu64 " ", t->files[v]);
        put_coloured(r, VERDICT_COLOUR[v], cuvet_verdict_name((cuvet_verdict)v), 0);
        put_some(t->errors[v], "error", "errors", &sep);
        put_some(t->warnings[v], "warning", "warnings", &sep);
        putchar('\n');
    }
}

void cli_text_end(cli_text_report *r, const cli_session *s)
{
    uint64_t all = s->n_inputs;

    if (r->notes && !r->quiet && all > 0)
        printf("sandbox: %s\n", cli_cage_state());
    if (!r->quiet && !s->cut_short && (all > 1 || (all == 1 && r->only_findings)))
        put_summary(r, &s->tally, all);
    free(r->group);
    free(r->order);
}

const cli_sink cli_text_sink = {
    .begin = on_begin, .finding = on_finding, .closing = on_closing, .end = on_end
};
