/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* JUnit's XML, as CI services read it: a test case for each file or package, a failure in it for what is
 * wrong. */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Cases, until it is known how many there are. */
static FILE *cases;
static char *text;
static size_t n_text;
static uint64_t n_cases, n_failures;

static bool begin(const cli_args *args)
{
    (void)args;
    cases = open_memstream(&text, &n_text);
    if (!cases)
        cli_complain(NULL, "out of memory");
    return cases != NULL;
}

/* Escaped twice: what no terminal should see, and what XML has a meaning for. */
static void put_xml(FILE *to, const char *bytes)
{
    static char escaped[4 * CLI_TEXT_CAP + 64];

    cli_escape(bytes, strlen(bytes), CLI_TEXT_CAP, escaped, sizeof(escaped));
    for (const char *at = escaped; *at; at++)
        switch (*at) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        default: fputc(*at, to); break;
        }
}

static void put_problem(const check_problem *problem)
{
    fprintf(cases, "%s: ", check_rule_title(problem->rule));
    put_xml(cases, problem->text);
    if (*problem->where) {
        fputs(" in ", cases);
        put_xml(cases, problem->where);
    }
    if (problem->count > 1)
        fprintf(cases, " and %" PRIu64 " more", problem->count - 1);
    fputc('\n', cases);
}

static void add_case(const check_subject *subject)
{
    n_cases++;
    fputs("    <testcase classname=\"cuvet check\" name=\"", cases);
    put_xml(cases, subject->name);
    if (subject->n_problems == 0) {
        fputs("\"/>\n", cases);
        return;
    }
    n_failures++;
    fprintf(cases, "\">\n      <failure type=\"%s\" message=\"%s: ", check_rule_id(subject->problem[0].rule),
            check_rule_title(subject->problem[0].rule));
    put_xml(cases, subject->problem[0].text);
    fputs("\">", cases);
    for (size_t i = 0; i < subject->n_problems; i++)
        put_problem(&subject->problem[i]);
    fputs("</failure>\n    </testcase>\n", cases);
}

static void end(int rc)
{
    /* What failed as a whole is no success, whatever its cases say, and neither is nothing. */
    bool failed = rc > CLI_X_FINDINGS || n_cases == 0;

    if (fclose(cases) != 0)
        (void)cli_json_failed();
    printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"cuvet check\" "
           "tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%d\">\n",
           n_cases + failed, n_failures, failed);
    if (text)
        fputs(text, stdout);
    if (failed)
        printf("    <testcase classname=\"cuvet check\" name=\"the run\">\n      <error message=\"exit code "
               "%d\"/>\n    </testcase>\n",
               rc);
    fputs("  </testsuite>\n</testsuites>\n", stdout);
    free(text);
}

const check_report check_junit = { .name = "junit", .begin = begin, .subject = add_case, .end = end };
