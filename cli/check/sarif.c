/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* SARIF 2.1.0: one result for each rule and file, with the places in its text. Viewers show results at a line
 * of a file of the repository; binary files have none, so that it is the first. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static json_t *results;
static bool any; /* file or package */

static bool begin(void)
{
    results = json_array();
    if (!results)
        cli_complain(NULL, "out of memory");
    return results != NULL;
}

/* The file of a package's entry is the package: viewers know files of the repository. */
static json_t *location_of(const char *name)
{
    const char *inner = strstr(name, "!/");
    size_t len = inner ? (size_t)(inner - name) : strlen(name);
    char *uri = malloc(3 * len + 1);
    json_t *location = NULL;

    if (uri) {
        cli_uri(name, len, uri, 3 * len + 1);
        location = json_pack("{s:{s:{s:s},s:{s:i}}}", "physicalLocation", "artifactLocation", "uri", uri,
                             "region", "startLine", 1);
    }
    free(uri);
    if (!location)
        (void)cli_json_failed();
    return location;
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
            message = json_object();
    }
    cli_json_set(message, "text", cli_json_text(text ? text : ""));
    free(text);
    return message;
}

static json_t *fingerprint_of(const check_subject *subject, check_rule rule)
{
    char hex[CLI_SHA256_CAP];

    cli_fingerprint_of(check_rule_id(rule), subject->name, hex);
    return json_pack("{s:s}", "ruleSubject/v1", hex);
}

static void add_result(const check_subject *subject, check_rule rule)
{
    json_t *result = json_object();
    char id[64];

    snprintf(id, sizeof(id), "policy/%s", check_rule_id(rule));
    cli_json_set(result, "ruleId", json_string(id));
    cli_json_set(result, "level", json_string("error"));
    cli_json_set(result, "message", message_of(subject, rule));
    cli_json_set(result, "locations", json_pack("[o]", location_of(subject->name)));
    cli_json_set(result, "partialFingerprints", fingerprint_of(subject, rule));
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

static json_t *rule_list(void)
{
    json_t *all = json_array();

    for (check_rule rule = CHECK_ARCHITECTURE; rule < CHECK_N_RULES; rule++) {
        char id[64];

        snprintf(id, sizeof(id), "policy/%s", check_rule_id(rule));
        cli_json_append(all,
                        json_pack("{s:s,s:{s:s},s:{s:s},s:{s:s}}", "id", id, "shortDescription", "text",
                                  check_rule_title(rule), "defaultConfiguration", "level", "error",
                                  "properties", "security-severity", rule == CHECK_VERDICT ? "8.0" : "5.0"));
    }
    return all;
}

static void end(int rc)
{
    json_t *log =
        json_pack("{s:s,s:s,s:[{s:{s:{s:s,s:s,s:o}},s:[{s:b,s:i}],s:o}]}", "$schema", CLI_SARIF_SCHEMA,
                  "version", "2.1.0", "runs", "tool", "driver", "name", "cuvet", "version", cuvet_version(),
                  "rules", rule_list(), "invocations", "executionSuccessful", any && rc <= CLI_X_FINDINGS,
                  "exitCode", rc, "results", results);

    if (!log || !cli_json_ok()) {
        cli_complain(NULL, "out of memory; no SARIF log is printed");
        (void)cli_json_failed();
    } else {
        (void)json_dumpf(log, stdout, JSON_INDENT(1)); /* a failed write stays in ferror(stdout) */
        putchar('\n');
    }
    json_decref(log);
}

const check_report check_sarif = { .name = "sarif", .begin = begin, .subject = add_subject, .end = end };
