/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SARIF 2.1.0: one result for each rule and file or package, with the places in its text. */
#include "../sarif.h"
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static json_t *results;
static bool any; /* file or package */
static uint64_t left_out;

static bool begin(const cli_args *args)
{
    results = sarif_begin(args) ? json_array() : NULL;
    if (!results)
        cli_complain(NULL, "out of memory");
    return results != NULL;
}

/* All problems of one rule, in one text. */
static json_t *message_of(const check_subject *subject, check_rule rule)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    const char *sep = ": ";
    json_t *message = NULL;

    if (to) {
        fputs(check_rule_title(rule), to);
        for (size_t i = 0; i < subject->n_problems; i++) {
            const check_problem *problem = &subject->problem[i];

            if (problem->rule != rule)
                continue;
            fprintf(to, "%s%s", sep, problem->text);
            if (*problem->where)
                fprintf(to, " in %s", problem->where);
            if (problem->count > 1)
                fprintf(to, " and %" PRIu64 " more", problem->count - 1);
            sep = "; ";
        }
        fprintf(to, " (%s)", subject->name);
        if (fclose(to) == 0)
            message = sarif_message(text);
    }
    if (!message)
        (void)cli_json_failed();
    free(text);
    return message;
}

static json_t *location_of(const check_subject *subject, check_rule rule)
{
    json_t *location = json_object(), *physical = json_object();
    const char *where = sarif_inner(subject->name, subject->entry);

    for (size_t i = 0; i < subject->n_problems && !*where; i++)
        if (subject->problem[i].rule == rule)
            where = subject->problem[i].where;
    cli_json_set(physical, "artifactLocation", sarif_file(subject->name, subject->entry));
    cli_json_set(physical, "region", sarif_first_line());
    cli_json_set(location, "physicalLocation", physical);
    if (*where)
        cli_json_set(location, "logicalLocations",
                     json_pack("[{s:o}]", "fullyQualifiedName", cli_json_text(where)));
    return location;
}

static void add_result(const check_subject *subject, check_rule rule)
{
    json_t *result;
    char id[64];

    if (json_array_size(results) >= SARIF_MOST_RESULTS) {
        left_out++;
        return;
    }
    result = json_object();
    snprintf(id, sizeof(id), "policy/%s", check_rule_id(rule));
    cli_json_set(result, "ruleId", json_string(id));
    cli_json_set(result, "ruleIndex", json_integer(rule));
    cli_json_set(result, "level", json_string("error"));
    cli_json_set(result, "message", message_of(subject, rule));
    cli_json_set(result, "locations", json_pack("[o]", location_of(subject, rule)));
    cli_json_set(result, "partialFingerprints", sarif_fingerprints(id, subject->name, subject->entry));
    cli_json_append(results, result);
}

static void add_subject(const check_subject *subject)
{
    any = true;
    for (check_rule rule = CHECK_ARCHITECTURE; rule < CHECK_N_RULES; rule++)
        for (size_t i = 0; i < subject->n_problems; i++)
            if (subject->problem[i].rule == rule) {
                add_result(subject, rule);
                break;
            }
}

/* Only what a scan finds, or could not look at, is about security. */
static json_t *rule_list(void)
{
    json_t *all = json_array();

    for (check_rule id = CHECK_ARCHITECTURE; id < CHECK_N_RULES; id++) {
        char name[64];
        const sarif_rule rule = { .id = name,
                                  .title = check_rule_title(id),
                                  .why = "cuvet check was asked for it: --require, --forbid, or a policy "
                                         "(docs/policy.md).",
                                  .level = "error",
                                  .tag = "policy",
                                  .score = id == CHECK_VERDICT  ? "8.0"
                                           : id == CHECK_UNREAD ? "5.0"
                                                                : NULL };

        snprintf(name, sizeof(name), "policy/%s", check_rule_id(id));
        cli_json_append(all, sarif_rule_object(&rule));
    }
    return all;
}

static json_t *notifications(void)
{
    json_t *list = json_array(), *object;
    char text[120];

    if (left_out == 0)
        return list;
    snprintf(text, sizeof(text), "%" PRIu64 " results are left out: a run has %d", left_out,
             SARIF_MOST_RESULTS);
    cli_complain(NULL, "%s", text);
    object = json_pack("{s:s}", "level", "warning");
    cli_json_set(object, "message", sarif_message(text));
    cli_json_append(list, object);
    return list;
}

static void end(int rc)
{
    json_t *log =
        json_pack("{s:s,s:s,s:[{s:{s:{s:s,s:s,s:s,s:o}},s:{s:s},s:[{s:b,s:i,s:o}],s:o,s:o}]}", "$schema",
                  CLI_SARIF_SCHEMA, "version", "2.1.0", "runs", "tool", "driver", "name", "cuvet", "version",
                  cuvet_version(), "semanticVersion", cuvet_version(), "rules", rule_list(),
                  "automationDetails", "id", "cuvet-check/", "invocations", "executionSuccessful",
                  any && rc <= CLI_X_FINDINGS, "exitCode", rc, "toolExecutionNotifications", notifications(),
                  "originalUriBaseIds", sarif_bases(), "results", results);

    if (!log || !cli_json_ok()) {
        cli_complain(NULL, "out of memory; no SARIF log is printed");
        (void)cli_json_failed();
    } else {
        (void)json_dumpf(log, stdout, JSON_INDENT(1)); /* a failed write stays in ferror(stdout) */
        putchar('\n');
    }
    json_decref(log);
    sarif_end();
}

const check_report check_sarif = { .name = "sarif", .begin = begin, .subject = add_subject, .end = end };
