/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"
#include "sandbox.h"
#include "yara/yara.h"

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

static void put_coloured(const cli_text_report *report, const char *colour, const char *word, int width)
{
    printf("%s%-*s%s", report->colour ? colour : "", width, word, report->colour ? "\033[0m" : "");
}

/* What a file says by one rule. */
typedef struct cli_rule_group {
    uint64_t count;          /* delivered; in the end those above the cap too */
    cuvet_severity severity; /* the worst of them */
    cuvet_diag first;
} cli_rule_group;

/* The same of a rule of the user's. */
typedef struct cli_hit_group {
    uint64_t count;
    cuvet_severity severity;
    char rule[YARA_RULE_CAP], text[YARA_TEXT_CAP], string[YARA_NAME_CAP], path[CLI_PATH_CAP];
    char section[4 * CLI_MEMBER_CAP + 1];
    uint64_t file_off, inner_off;
} cli_hit_group;

bool cli_text_begin(cli_text_report *report, const cli_args *args)
{
    *report = (cli_text_report){ .notes = args->set[CLI_O_NOTES],
                                 .quiet = args->set[CLI_O_QUIET],
                                 .all = args->set[CLI_O_ALL],
                                 .only_findings = args->set[CLI_O_ONLY_FINDINGS],
                                 .colour = cli_use_colour() };
    while (cuvet_rule_get((cuvet_rule)report->n_rules))
        report->n_rules++;
    report->group =
        malloc(report->n_rules * sizeof(*report->group)); /* large, and most of it is never used */
    report->group_of = calloc(report->n_rules, sizeof(*report->group_of));
    if (report->group && report->group_of)
        return true;
    cli_complain(NULL, "out of memory");
    free(report->group);
    free(report->group_of);
    return false;
}

static void forget_groups(cli_text_report *report)
{
    for (size_t i = 0; i < report->n_groups; i++)
        report->group_of[report->group[i].first.rule] = 0;
    report->n_groups = report->n_hits = 0;
}

static void on_begin(void *user, const cli_session *session)
{
    cli_text_report *report = user;

    (void)session;
    report->heading = false;
    forget_groups(report);
}

static void put_heading(cli_text_report *report, const cli_session *session)
{
    if (!report->heading) {
        cli_put_str(stdout, session->in->name);
        putchar('\n');
    }
    report->heading = true;
}

static void put_place(const cuvet_diag *diag)
{
    char path[CLI_PATH_CAP];

    cli_path(&diag->where, path, sizeof(path));
    cli_put_str(stdout, *path ? path : "file");
    printf("  at 0x%" PRIx64, diag->file_off);
    if ((diag->flags & CUVET_DIAG_INNER) != 0)
        printf(", unpacked 0x%" PRIx64, diag->inner_off);
}

static void put_rule(const cli_text_report *report, cuvet_severity severity, const cuvet_rule_info *rule)
{
    fputs("  ", stdout);
    put_coloured(report, SEVERITY_COLOUR[severity], cuvet_severity_name(severity), 7);
    printf("  %s  ", rule ? rule->id : "?");
}

static void put_finding(cli_text_report *report, const cli_session *session, const cuvet_diag *diag)
{
    char message[CLI_MESSAGE_CAP];

    put_heading(report, session);
    cli_message(diag, message, sizeof(message));
    put_rule(report, diag->severity, cuvet_rule_get(diag->rule));
    put_place(diag);
    fputs("\n           ", stdout);
    cli_put_str(stdout, message);
    putchar('\n');
}

/* A note is for who asks for notes, but for what makes a file unsupported: a verdict has its reason. */
static bool is_wanted(const cli_text_report *report, const cuvet_diag *diag)
{
    if (diag->severity != CUVET_NOTE || report->notes)
        return true;
    return !report->only_findings && cuvet_rule_get(diag->rule)->cls == CUVET_C_UNSUPPORTED;
}

static void on_finding(void *user, const cli_session *session, const cuvet_diag *diag)
{
    cli_text_report *report = user;
    cli_rule_group *group;
    uint32_t *number;

    if (report->quiet || diag->rule >= report->n_rules || !is_wanted(report, diag))
        return;
    if (report->all) {
        put_finding(report, session, diag);
        return;
    }
    number = &report->group_of[diag->rule];
    if (*number == 0) {
        *number = (uint32_t)++report->n_groups;
        report->group[*number - 1] = (cli_rule_group){ 1, diag->severity, *diag };
        return;
    }
    group = &report->group[*number - 1];
    group->count++;
    if (diag->severity > group->severity) { /* what is shown has the severity that it is shown with */
        group->severity = diag->severity;
        group->first = *diag;
    }
}

/* ---- rules of the user's ---- */

static void put_hit(cli_text_report *report, const cli_session *session, const cli_hit_group *group)
{
    put_heading(report, session);
    fputs("  ", stdout);
    put_coloured(report, SEVERITY_COLOUR[group->severity], cuvet_severity_name(group->severity), 7);
    printf("  %s  ", group->rule);
    cli_put_str(stdout, group->text);
    if (group->count > 1)
        printf(" (%" PRIu64 " times)", group->count);
    fputs(group->count > 1 ? "\n           first: " : "\n           ", stdout);
    cli_put_str(stdout, *group->path ? group->path : "file");
    printf("%s%s  at 0x%" PRIx64 ", unpacked 0x%" PRIx64, *group->section ? ", section " : "", group->section,
           group->file_off, group->inner_off);
    printf("%s%s\n", *group->string ? ", " : "", group->string);
}

static void fill_group(cli_hit_group *group, const cli_hit *hit)
{
    *group = (cli_hit_group){ .count = 1,
                              .severity = hit->severity,
                              .file_off = cli_hit_file_off(hit, hit->inner_off),
                              .inner_off = hit->inner_off };
    snprintf(group->rule, sizeof(group->rule), "%s", hit->rule);
    snprintf(group->text, sizeof(group->text), "%s", cli_hit_text(hit));
    snprintf(group->section, sizeof(group->section), "%s", hit->section);
    if (hit->what->n_places > 0)
        snprintf(group->string, sizeof(group->string), "%s", hit->what->place[0].string);
    cli_path(&hit->item->where, group->path, sizeof(group->path));
}

static cli_hit_group *add_group(cli_text_report *report)
{
    if (report->n_hits == report->cap_hits) {
        size_t cap = report->cap_hits ? 2 * report->cap_hits : 16;
        cli_hit_group *more = reallocarray(report->hit, cap, sizeof(*more));

        if (!more)
            return NULL;
        report->hit = more;
        report->cap_hits = cap;
    }
    return &report->hit[report->n_hits++];
}

/* Of one rule all hits have its severity. What there is no room for is put at once. */
static void on_hit(void *user, const cli_session *session, const cli_hit *hit)
{
    cli_text_report *report = user;
    cli_hit_group single, *group = NULL;

    if (report->quiet || (hit->severity == CUVET_NOTE && !report->notes))
        return;
    for (size_t i = 0; !report->all && i < report->n_hits; i++)
        if (strcmp(report->hit[i].rule, hit->rule) == 0) {
            report->hit[i].count++;
            return;
        }
    if (!report->all)
        group = add_group(report);
    fill_group(group ? group : &single, hit);
    if (!group)
        put_hit(report, session, &single);
}

/* Not called where a filter leaves something out. */
static void on_closing(void *user, const cli_session *session)
{
    cli_text_report *report = user;

    for (size_t i = 0; i < report->n_groups; i++) {
        cli_rule_group *group = &report->group[i];
        uint64_t count = cli_session_count(session, group->first.rule);

        group->count = count > group->count ? count : group->count;
    }
}

static void put_group(cli_text_report *report, const cli_session *session, const cli_rule_group *group)
{
    const cuvet_rule_info *rule = cuvet_rule_get(group->first.rule);
    char message[CLI_MESSAGE_CAP];
    put_heading(report, session);
    put_rule(report, group->severity, rule);
    cli_put_str(stdout, rule ? rule->title : "?");
    if (group->count > 1)
        printf(" (%" PRIu64 " times)", group->count);
    fputs(group->count > 1 ? "\n           first: " : "\n           ", stdout);
    put_place(&group->first);
    fputs("\n           ", stdout);
    (void)cuvet_diag_message(&group->first, message, sizeof(message)); /* a cut message is still a message */
    cli_put_str(stdout, message);
    putchar('\n');
}

/* The worst first; rules of one severity in the order in which they were met. */
static void put_groups(cli_text_report *report, const cli_session *session)
{
    for (int severity = CUVET_ERROR; severity >= CUVET_NOTE; severity--) {
        for (size_t i = 0; i < report->n_groups; i++) {
            const cli_rule_group *group = &report->group[i];

            if ((int)group->severity == severity)
                put_group(report, session, group);
        }
        for (size_t i = 0; i < report->n_hits; i++)
            if ((int)report->hit[i].severity == severity)
                put_hit(report, session, &report->hit[i]);
    }
    forget_groups(report);
}

static void put_some(uint64_t count, const char *one, const char *many, const char **separator)
{
    if (count == 0)
        return;
    printf("%s%" PRIu64 " %s", *separator, count, count == 1 ? one : many);
    *separator = ", ";
}

void cli_put_counts(const cuvet_summary *summary)
{
    const char *sep = "", *inner = " (";

    put_some(summary->containers, "container", "containers", &sep);
    put_some(summary->members, "member", "members", &sep);
    put_some(summary->images, "image", "images", &sep);
    if (summary->members + summary->images == 0) {
        printf("%sno device code", *sep ? ", " : "");
        return;
    }
    put_some(summary->elf, "elf", "elf", &inner);
    put_some(summary->ptx, "ptx", "ptx", &inner);
    put_some(summary->ltoir, "lto-ir", "lto-ir", &inner);
    put_some(summary->bitcode, "bitcode", "bitcode", &inner);
    put_some(summary->other, "other", "other", &inner);
    if (*inner == ',')
        putchar(')');
}

void cli_put_filtered(const cli_result *result)
{
    const char *sep = "; by filter not shown: ";

    put_some(result->left_out, "piece", "pieces", &sep);
    if (result->left_out > 0)
        sep = " with ";
    put_some(result->left_out_findings, "finding", "findings", &sep);
}

static void put_fate(const cli_input *in)
{
    char text[CLI_FATE_CAP];

    cli_fate_text(in, text);
    printf("%s%s", *text ? "; " : "", text);
}

static void put_verdict(const cli_text_report *report, const cli_session *session, const cli_result *res)
{
    const cuvet_summary *summary = &res->sum;
    const char *sep = "; ";

    cli_put_str(stdout, session->in->name);
    fputs(": ", stdout);
    put_coloured(report, VERDICT_COLOUR[res->verdict], cuvet_verdict_name(res->verdict), 0);
    if (report->quiet) {
        putchar('\n');
        return;
    }
    if (res->why)
        printf(": %s", res->why);
    fputs("; ", stdout);
    cli_put_counts(summary);
    put_some(summary->errors, "error", "errors", &sep);
    put_some(summary->warnings, "warning", "warnings", &sep);
    put_some(summary->notes, "note", "notes", &sep);
    put_some(res->hits, "of them by a rule of YARA", "of them by rules of YARA", &sep);
    if (report->all)
        put_some(summary->suppressed, "of them above the cap, only counted",
                 "of them above the cap, only counted", &sep);
    put_some(summary->opaque, "not looked into", "not looked into", &sep);
    put_some(res->unseen, "piece that no rule could look at", "pieces that no rule could look at", &sep);
    put_some(summary->unreferenced, "unreferenced container", "unreferenced containers", &sep);
    cli_put_filtered(res);
    put_fate(session->in);
    sep = "; of the pieces shown, above the cap and only counted: ";
    put_some(res->above, "finding", "findings", &sep);
    putchar('\n');
}

void cli_put_package(const cli_session *session)
{
    cli_put_str(stdout, session->in->name);
    printf(": package of %" PRIu64 " %s\n", session->in->entries,
           session->in->entries == 1 ? "entry" : "entries");
}

/* Of most entries of a package there is nothing to say. */
static bool is_silent(const cli_text_report *report, const cli_session *session, const cli_result *res)
{
    return session->in->what == CLI_ENTRY && !report->all && res->verdict == CUVET_V_CLEAN &&
           !cli_is_finding(res) && res->sum.containers + res->sum.members + res->sum.images == 0;
}

static void on_end(void *user, const cli_session *session, const cli_result *res)
{
    cli_text_report *report = user;

    if (session->in->what == CLI_PACKAGE) {
        if (!report->quiet && !report->only_findings && (session->in->rc == 0 || report->all))
            cli_put_package(session);
        return;
    }
    put_groups(report, session);
    if (is_silent(report, session, res))
        return;
    if (report->quiet ? res->rc != CLI_X_CLEAN : !report->only_findings || cli_is_finding(res))
        put_verdict(report, session, res);
}

/* One line for each verdict that a file got. */
static void put_summary(const cli_text_report *report, const cli_tally *tally, uint64_t all)
{
    printf("%" PRIu64 " file%s\n", all, all == 1 ? "" : "s");
    for (size_t verdict = 0; verdict <= CUVET_V_ERROR; verdict++) {
        const char *sep = "  ";

        if (tally->files[verdict] == 0)
            continue;
        printf("%8" PRIu64 " ", tally->files[verdict]);
        put_coloured(report, VERDICT_COLOUR[verdict], cuvet_verdict_name((cuvet_verdict)verdict), 0);
        put_some(tally->errors[verdict], "error", "errors", &sep);
        put_some(tally->warnings[verdict], "warning", "warnings", &sep);
        putchar('\n');
    }
}

void cli_text_end(cli_text_report *report, const cli_session *session)
{
    uint64_t all = session->n_inputs;

    if (report->notes && !report->quiet && all > 0)
        printf("sandbox: %s\n", cli_cage_state());
    if (report->notes && !report->quiet && session->cache.any)
        printf("cache: %" PRIu64 " of %" PRIu64 " files were scanned before\n", session->cache.inputs, all);
    if (!report->quiet && !session->cut_short && (all > 1 || (all == 1 && report->only_findings)))
        put_summary(report, &session->tally, all);
    free(report->group);
    free(report->group_of);
    free(report->hit);
}

const cli_sink cli_text_sink = {
    .begin = on_begin, .finding = on_finding, .hit = on_hit, .closing = on_closing, .end = on_end
};
